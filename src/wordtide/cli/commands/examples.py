"""`wordtide examples`: the sentences behind the counts."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from wordtide.cli.output import Format, console, print_rows
from wordtide.counts.counts import Counts
from wordtide.counts.examples.concordance import Example, find_examples
from wordtide.storage.cells import spelled_out

_COLUMNS = ("time", "slice", "date", "document", "before", "word", "after")


def examples(
    folder: Annotated[Path, typer.Argument(help="A counts folder made with --examples.")],
    word: Annotated[str, typer.Argument(help="A word of the vocabulary.")],
    at: Annotated[
        str | None,
        typer.Option(help="A date (1850, 1862-12); its nearest slice is shown. Default: all slices."),
    ] = None,
    format: Annotated[Format, typer.Option(help="table, csv or json.")] = Format.table,
) -> None:
    """Show a word in context: sentences that were kept while counting.

    Example: wordtide examples counts/ energy --at 1850
    """
    counts = Counts.load(folder)
    found = find_examples(counts, word, range(len(counts)) if at is None else [counts.slice_at(at)])
    if format is not Format.table:
        print_rows([vars(example) for example in found], format, _COLUMNS)
        return
    if not found:
        near = counts.slices.labels[counts.slice_at(at)] if at else "any slice"
        typer.echo(f"No sentence with {word!r} was kept for {near}.", err=True)
    _print_in_context(found)


def _print_in_context(found: list[Example]) -> None:
    """Print one sentence per line, with the word in the middle of the line."""
    out = console()
    margin = 12
    side = max(16, (min(out.width, 160) - margin - 18) // 2)
    for example in found:
        before, after = spelled_out(example.before), spelled_out(example.after)
        before = before if len(before) <= side else "…" + before[-side + 1 :]
        after = after if len(after) <= side else after[: side - 1] + "…"
        word = (spelled_out(example.word), "bold")
        line = Text.assemble((f"{example.date:{margin}}", "dim"), f"{before:>{side}}", word, after)
        out.print(line, no_wrap=True, crop=False, overflow="ignore")
        out.print(Text(f"{'':{margin}}{spelled_out(example.document)}", "dim italic"), no_wrap=True)
