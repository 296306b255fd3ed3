"""`wordtide update`: later slices for a model fitted by filtering."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wordtide.cli.fit_progress import FitProgress
from wordtide.cli.options import takes
from wordtide.cli.progress import ProgressBar
from wordtide.counts.settings import CountSettings
from wordtide.streaming.settings import GrowthSettings

Option = typer.Option
_SHOWN = 10  # new words that are named
MODELS_OWN = "none; required if the model was counted with one"
#: How texts are read; everything else is as the model was counted.
OF_TEXTS = (
    *("every", "since", "until", "format", "date_field", "text_field", "date_format"),
    *("tokenizer", "skip_bad"),
)


@takes(GrowthSettings, after="sources")
@takes(
    CountSettings,
    after="sources",
    only=OF_TEXTS,
    prefix="Texts",
    defaults={"every": "as the model was counted", "format": "", "tokenizer": MODELS_OWN},
)
def update(
    model: Annotated[Path, typer.Argument(help="A model folder, made with --method filtering.")],
    sources: Annotated[
        list[str],
        typer.Argument(help="A counts folder; or texts, as for count: folders, files, quoted globs, or -."),
    ],
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

    growth = {one.name: settings.pop(one.name) for one in fields(GrowthSettings) if one.name in settings}
    counts = count_for_update(
        read_filtered(model),
        sources,
        growth.get("grow", 0),
        ProgressBar(),
        threads,
        max_expansion=max_expansion,
        **settings,
    )
    report = update_model(model, counts, observer=FitProgress(), threads=threads, **growth)
    lines = [
        f"skipped {number:,} row{'s' * (number != 1)}: {why}"
        for why, number in sorted(counts.summary.skipped.items())
    ]
    new = len(report.slices)
    span = report.slices[0] if new == 1 else f"{report.slices[0]} to {report.slices[-1]}"
    lines.append(f"{new} slice{'s' * (new != 1)} added ({span}) in {report.seconds:.1f} s")
    if report.left_out:
        named = ", ".join(report.left_out[:_SHOWN]) + (", ..." if len(report.left_out) > _SHOWN else "")
        lines.append(f"left out, because they have no pair of the model's words: {named}")
    if report.admitted:
        named = ", ".join(report.admitted[:_SHOWN]) + (", ..." if len(report.admitted) > _SHOWN else "")
        lines.append(f"{len(report.admitted):,} word{'s' * (len(report.admitted) != 1)} admitted: {named}")
    if report.unknown:
        lines.append(
            f"{report.unknown:,} word{'s' * (report.unknown != 1)} unknown to the model left out, "
            f"{report.unknown_share:.1%} of all counted occurrences (--grow admits new words)"
        )
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in [*lines, f"written to {model}"]:
        stderr.print(line, markup=False)
