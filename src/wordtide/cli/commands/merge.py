"""`wordtide merge`: the sum of several counts."""

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
    """Add counts with the same vocabulary; slices are united.

    Example: wordtide merge counts-a/ counts-b/ -o counts/
    """
    from wordtide.counts.counts import merge_counts  # brings the compiler

    if len({part.resolve() for part in parts}) < len(parts):
        raise SettingsError("A counts folder is named twice and would count twice.", "Name each folder once.")
    merged = merge_counts([Counts.load(part) for part in parts], output, overwrite)
    print_summary(merged)
