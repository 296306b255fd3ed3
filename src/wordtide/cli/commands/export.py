"""`wordtide export`: write a model in the formats of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from wordtide.api import DynamicEmbeddings
from wordtide.cli.output import ProgressBar
from wordtide.exports.export import export as export_model
from wordtide.questions.vectors import DEFAULT_VECTORS
from wordtide.spelling import read_words
from wordtide.storage.folders import check_not_input, real_target

Option = typer.Option


def export(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    output: Annotated[
        Path,
        Option("--output", "-o", help="The file to create; for projector, the name of the pair of files."),
    ],
    to: Annotated[
        str,
        Option(
            help="gensim, excel, csv, parquet, word2vec, word2vec-binary, npz, projector or dwe (all slices "
            "in one npz)."
        ),
    ],
    at: Annotated[
        str | None,
        Option(
            help="A year, a date, first or last. Without it, parquet, csv and excel hold all slices, as does "
            "dwe."
        ),
    ] = None,
    vectors: Annotated[str, Option(help="word, context, or their sum.")] = DEFAULT_VECTORS,
    words: Annotated[
        Path | None, Option(help="Keep the words of this file, one per line. Default: all.")
    ] = None,
    top: Annotated[int | None, Option(help="Keep this many of the most frequent words.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a model, at one time or in all slices, to a file that other programs read.

    Example: wordtide export model/ --at 1950 --to word2vec -o 1950.txt
    """
    if words is not None:
        check_not_input(real_target(output), [words])
    kept = None if words is None else read_words(words)
    loaded = DynamicEmbeddings.load(model)
    written = export_model(loaded, output, to, at, vectors, kept, top, overwrite, ProgressBar())
    typer.echo(f"written to {' and '.join(map(str, written))}", err=True)
