"""`wordtide explore` and `wordtide export`: a model as a page, or in the formats of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from wordtide.api import DynamicEmbeddings
from wordtide.cli.options import ModelFolder
from wordtide.cli.output import ProgressBar
from wordtide.errors import SettingsError
from wordtide.exports.export import export as export_model
from wordtide.questions.vectors import DEFAULT_VECTORS
from wordtide.spelling import read_words
from wordtide.storage.folders import check_not_input, real_target

Option = typer.Option
_LOOPBACK = "127.0.0.1"


def explore(
    model: ModelFolder,
    html: Annotated[
        Path | None, Option(help="Write the page to this file instead of starting a server.")
    ] = None,
    folder: Annotated[Path | None, Option(help="Write the page to this folder, for any web host.")] = None,
    words: Annotated[
        int | None, Option(help="Keep this many of the most frequent words. Default: all that fit.")
    ] = None,
    slices: Annotated[
        int | None, Option(help="Keep this many slices, evenly spaced in time. Default: as many as fit.")
    ] = None,
    max_mb: Annotated[float, Option(help="Maximum size of the file, in megabytes.")] = 40.0,
    title: Annotated[str | None, Option(help="Title of the page. Default: name of the model folder.")] = None,
    licence: Annotated[str | None, Option(help="Rights to the corpus.")] = None,
    with_map: Annotated[bool, Option("--map/--no-map", help="Include a map, which takes a while.")] = True,
    map_words: Annotated[int, Option(help="Map only this many of the most frequent words.")] = 3000,
    examples: Annotated[
        Path | None,
        Option(help="Counts folder made with --examples whose sentences are shown. Mind their copyright."),
    ] = None,
    host: Annotated[
        str,
        Option(help="Server address. Any but 127.0.0.1 exposes the model to the network."),
    ] = _LOOPBACK,
    port: Annotated[int, Option(help="Server port. Default: any free port.", show_default=False)] = 0,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    threads: Annotated[int | None, Option(help="Threads for the map. Default: all processors.")] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace the file or folder if it exists.")
    ] = False,
) -> None:
    """Open a page on a model in the browser, or write it as one file or a folder.

    Example: wordtide explore model/ --html story.html
    """
    if html is not None and folder is not None:
        raise SettingsError(
            "--html and --folder cannot be combined.", "Give one of them, and the other in a second run."
        )
    from wordtide.explorer.explore import PageOptions, save_html, save_site, serve

    options = PageOptions(
        words, slices, max_mb, title, licence, map_words if with_map else 0, examples, threads
    )
    loaded = DynamicEmbeddings.load(model)
    if html is not None:
        written = save_html(loaded, html, options, overwrite, ProgressBar())
        typer.echo(f"written to {html} ({written.stat().st_size / 1e6:.1f} MB)", err=True)
    elif folder is not None:
        written = save_site(loaded, folder, options, overwrite, ProgressBar())
        typer.echo(
            f"written to {written / 'index.html'}: a browser needs a web server to open it from a folder",
            err=True,
        )
    else:
        serve(loaded, options, host, port, browser, typer.echo, ProgressBar())


def export(
    model: ModelFolder,
    output: Annotated[
        Path,
        Option("--output", "-o", help="The file to create; for projector, the stem of two files."),
    ],
    to: Annotated[
        str,
        Option(
            help="gensim, excel, csv, parquet, word2vec, word2vec-binary, npz, projector or dwe (all slices)."
        ),
    ],
    at: Annotated[
        str | None,
        Option(help="A year, a date, first or last. Without it, parquet, csv and excel hold all slices."),
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
