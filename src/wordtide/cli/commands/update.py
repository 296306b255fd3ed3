"""`wordtide update`: later slices for a model fitted by filtering."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from wordtide.cli.fit_progress import FitProgress
from wordtide.cli.progress import ProgressBar
from wordtide.questions.change import MIN_OCCURRENCES

Option = typer.Option
_SHOWN = 10  # new words that are named


def update(
    model: Annotated[Path, typer.Argument(help="A model folder, made with --method filtering.")],
    sources: Annotated[
        list[str],
        typer.Argument(help="A counts folder; or texts, as for count: folders, files, quoted globs, or -."),
    ],
    grow: Annotated[int, Option(help="Let in at most this many new words, the most frequent ones.")] = 0,
    grow_min_count: Annotated[
        int, Option(help="A new word must occur this often in what is added.")
    ] = MIN_OCCURRENCES,
    every: Annotated[
        str | None, Option(help="Texts: length of a slice. Default: as the model was counted.")
    ] = None,
    since: Annotated[
        str | None, Option(help="Texts: first date to count: 1800, 1862-12 or 1862-12-01.")
    ] = None,
    until: Annotated[str | None, Option(help="Texts: last date to count, itself included.")] = None,
    format: Annotated[
        str | None, Option(help="Texts: auto, text, csv, tsv, jsonl, parquet or ngrams.")
    ] = None,
    date_field: Annotated[
        str | None, Option(help="Texts: column with the date; found by its name if not given.")
    ] = None,
    text_field: Annotated[
        str | None, Option(help="Texts: column with the text; found by its name if not given.")
    ] = None,
    date_format: Annotated[
        str | None, Option(help="Texts: pattern of dates ('%d/%m/%Y'), or epoch, epoch-ms, year.")
    ] = None,
    tokenizer: Annotated[
        str | None,
        Option(help="Texts: the model's own tokeniser (module:function), if it was counted with one."),
    ] = None,
    skip_bad: Annotated[
        bool, Option("--skip-bad", help="Texts: leave out bad rows, and report how many and why.")
    ] = False,
    max_expansion: Annotated[
        int | None,
        Option(
            help="Texts: how many times longer a compressed file may become when it is read. Default: 200."
        ),
    ] = None,
    threads: Annotated[int | None, Option(help="Threads on the CPU. Default: all processors.")] = None,
) -> None:
    """Append later slices to a model fitted by filtering, as if they had been there from the start.

    Example: wordtide update model/ posts.jsonl --every day
    """
    from wordtide.streaming.additions import count_for_update  # brings the solvers, which --help does without
    from wordtide.streaming.update import read_filtered, update_model

    counts = count_for_update(
        read_filtered(model),
        sources,
        grow,
        ProgressBar(),
        threads,
        every=every,
        since=since,
        until=until,
        format=format,
        date_field=date_field,
        text_field=text_field,
        date_format=date_format,
        tokenizer=tokenizer,
        skip_bad=skip_bad,
        max_expansion=max_expansion,
    )
    report = update_model(
        model, counts, grow=grow, grow_min_count=grow_min_count, observer=FitProgress(), threads=threads
    )
    lines = [
        f"skipped {number:,} row{'s' * (number != 1)}: {why}"
        for why, number in sorted(counts.summary.skipped.items())
    ]
    new = len(report.slices)
    span = report.slices[0] if new == 1 else f"{report.slices[0]} to {report.slices[-1]}"
    lines.append(f"{new} slice{'s' * (new != 1)} added ({span}) in {report.seconds:.1f} s")
    if report.left_out:
        named = ", ".join(report.left_out[:_SHOWN]) + (", ..." if len(report.left_out) > _SHOWN else "")
        lines.append(f"left out, because no two of the model's words meet there: {named}")
    if report.admitted:
        named = ", ".join(report.admitted[:_SHOWN]) + (", ..." if len(report.admitted) > _SHOWN else "")
        lines.append(f"{len(report.admitted):,} word{'s' * (len(report.admitted) != 1)} let in: {named}")
    if report.unknown:
        lines.append(
            f"{report.unknown:,} words that the model does not know were left out, "
            f"{report.unknown_share:.1%} of what was counted (--grow lets words in)"
        )
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in [*lines, f"written to {model}"]:
        stderr.print(line, markup=False)
