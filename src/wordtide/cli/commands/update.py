"""`wordtide update`: later slices for a model fitted by filtering."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wordtide.cli.fit_progress import FitProgress
from wordtide.cli.options import takes
from wordtide.cli.progress import ProgressBar
from wordtide.counts.settings import CountSettings
from wordtide.questions.change import MIN_OCCURRENCES

Option = typer.Option
_SHOWN = 10  # new words that are named
#: How texts are read; what else decides a count is as the model was counted.
OF_TEXTS = (
    *("every", "since", "until", "format", "date_field", "text_field", "date_format"),
    *("tokenizer", "skip_bad"),
)


@takes(
    CountSettings,
    after="grow_min_count",
    only=OF_TEXTS,
    prefix="Texts",
    defaults={"every": "as the model was counted", "format": ""},
)
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
    max_expansion: Annotated[
        int | None,
        Option(
            help="Texts: how many times longer a compressed file may become when it is read. Default: 200."
        ),
    ] = None,
    threads: Annotated[int | None, Option(help="Threads on the CPU. Default: all processors.")] = None,
    **settings: Any,
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
        max_expansion=max_expansion,
        **settings,
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
