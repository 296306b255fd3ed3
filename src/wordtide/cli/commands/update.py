"""`wordtide update`: later slices for a model fitted by filtering."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from wordtide.cli.options import takes
from wordtide.cli.progress import ProgressBar, say
from wordtide.counts.settings import CountSettings
from wordtide.spelling import counted
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
        Option(help="Texts: largest ratio by which a compressed file may expand. Default: 200."),
    ] = None,
    threads: Annotated[int | None, Option(help="Threads on the CPU. Default: all processors.")] = None,
    **settings: Any,
) -> None:
    """Append later slices to a model fitted by filtering, as if they had been there from the start.

    Example: wordtide update model/ posts.jsonl --every day
    """
    from wordtide.streaming.additions import count_for_update
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
    report = update_model(model, counts, observer=ProgressBar(), threads=threads, **growth)
    lines = [
        f"skipped {counted(number, 'row')}: {reason}"
        for reason, number in sorted(counts.summary.skipped.items())
    ]
    new = len(report.slices)
    span = report.slices[0] if new == 1 else f"{report.slices[0]} to {report.slices[-1]}"
    lines.append(f"{counted(new, 'slice')} added ({span}) in {report.seconds:.1f} s")
    if report.left_out:
        lines.append(f"left out, because they have no pair of the model's words: {_named(report.left_out)}")
    if report.admitted:
        lines.append(f"{counted(len(report.admitted), 'word')} admitted: {_named(report.admitted)}")
    if report.unknown:
        lines.append(
            f"{counted(report.unknown, 'word')} unknown to the model left out, "
            f"{report.unknown_share:.1%} of all counted occurrences (--grow admits new words)"
        )
    say(*lines, f"written to {model}")


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
