"""`wordtide merge`: add up counts."""

from pathlib import Path
from typing import Annotated

import typer

from wordtide.cli.commands.count import print_summary
from wordtide.counts.counts import Counts
from wordtide.errors import SettingsError


def merge(
    parts: Annotated[list[Path], typer.Argument(help="Counts folders with the same vocabulary.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The counts folder to make.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the counts folder if it exists.")
    ] = False,
) -> None:
    """Add up counts that have the same vocabulary.

    Example: wordtide merge counts-a/ counts-b/ -o counts/
    """
    from wordtide.counts.counts import merge_counts  # loads the compiler

    if len({part.resolve() for part in parts}) < len(parts):
        raise SettingsError("A counts folder is given twice.", "Give each folder once.")
    merged = merge_counts([Counts.load(part) for part in parts], output, overwrite)
    print_summary(merged)
