"""`wordtide info`: what a counts folder holds."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from wordtide.cli.output import Format, console, print_json, print_rows
from wordtide.counts.counts import Counts

_COLUMNS = ("slice", "time", "date", "documents", "tokens", "in_vocabulary", "active_words", "pairs")
_SHOWN = 24  # rows of the table before the middle is left out


def info(
    folder: Annotated[Path, typer.Argument(help="A counts folder.")],
    format: Annotated[Format, typer.Option(help="table, csv or json.")] = Format.table,
    all_slices: Annotated[bool, typer.Option("--all", help="Show every slice in the table.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare all checksums first.")] = False,
) -> None:
    """Show slices, dates, tokens, active words, pairs and settings of counts.

    Example: wordtide info counts/
    """
    counts = Counts.load(folder, check=check)
    rows = _slices(counts)
    if format is Format.csv:
        print_rows(rows, format, _COLUMNS)
    elif format is Format.json:
        print_json({**_facts(counts), "settings": counts.settings.as_json(), "slices": rows})
    else:
        for name, value in _facts(counts).items():
            if isinstance(value, dict):
                value = ", ".join(f"{number:,} ({reason})" for reason, number in value.items()) or 0
            shown = f"{value:,}" if isinstance(value, int) else f"{value:.4f}" if isinstance(value, float) else str(value)
            console().print(Text.assemble((f"{name.replace('_', ' '):22}", "bold"), shown))
        default = type(counts.settings)().as_json()
        changed = {name: value for name, value in counts.settings.as_json().items() if value != default[name]}
        settings = "  ".join(f"{name}={value}" for name, value in changed.items()) or "all as by default"
        console().print(Text.assemble((f"{'settings':22}", "bold"), settings))
        console().print()
        cut = len(rows) - _SHOWN if len(rows) > _SHOWN and not all_slices else 0
        half = _SHOWN // 2
        print_rows([*rows[:half], *rows[half + cut :]] if cut else rows, format, _COLUMNS)
        if cut:
            console().print(f"({cut} slices between the {half}th and the last {half} are not shown: --all shows them)")


def _facts(counts: Counts) -> dict[str, Any]:
    summary = counts.summary
    return {
        "path": str(counts.path),
        "slice_count": len(counts),
        "first": counts.shown_dates()[0],
        "last": counts.shown_dates()[-1],
        "words": len(counts.words),
        "distinct_words": summary.distinct_words,
        "documents": summary.documents,
        "tokens": summary.tokens,
        "coverage": summary.tokens_in_vocabulary / max(1, summary.tokens),
        "window": counts.window,
        "pairs": int(counts.stored_pairs().sum()),
        "skipped": summary.skipped,
    }


def _slices(counts: Counts) -> list[dict[str, Any]]:
    columns = (
        counts.labels,
        counts.times.tolist(),
        counts.shown_dates(),
        counts.slices.documents.tolist(),
        counts.tokens.tolist(),
        [int(number) if number.is_integer() else float(number) for number in counts.tokens_in_vocabulary()],
        counts.active_words().tolist(),
        counts.stored_pairs().tolist(),
    )
    return [dict(zip(_COLUMNS, values, strict=True)) for values in zip(*columns, strict=True)]
