"""`wordtide demo`: the State of the Union addresses, from texts to figures."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from wordtide.api import DynamicEmbeddings, load
from wordtide.cli.answer_tables import dated, print_story, shown_changes
from wordtide.cli.count_report import print_summary
from wordtide.cli.output import Format, ProgressBar, console, print_rows
from wordtide.counts.counts import Counts
from wordtide.errors import OutputError, SettingsError
from wordtide.questions.change import changed
from wordtide.questions.story import story
from wordtide.storage.header import kind_of

_STORIES = ("energy", "economy", "welfare", "america")
_BESIDE_ENERGY = ("vigor", "power", "conservation")
#: Words of the map that occur at all its times; some of them wander.
LABELLED = "energy want work power public information money health war treaty exports just".split()
_SINCE, _UNTIL = 1850, 2000
_MAP_WORDS = 1500  # on the map of the page: more would take minutes


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for all results.")] = Path(
        "wordtide-demo"
    ),
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Decades instead of single addresses, fewer dimensions: about a minute."),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")
    ] = False,
) -> None:
    """Run everything on the State of the Union addresses: count, fit, answer, draw. Takes a few minutes.

    Example: wordtide demo -o wordtide-demo
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The folder {output} cannot be created: {error.strerror or error}.", "Choose another --output."
        ) from None
    counts = _counted(output / "counts", fast, overwrite)
    model = _fitted(counts, output / "model", fast, overwrite)
    _print_answers(model)
    figures = _drawn(model, output, fast)
    page = _written_page(model, output, fast)
    _print_next(output, figures, page)


def _counted(folder: Path, fast: bool, overwrite: bool) -> Counts:
    every = "10-years" if fast else "document"
    if not overwrite and kind_of(folder) == "counts":
        counts = Counts.load(folder)
        if counts.settings.every != every:
            raise SettingsError(
                f"{folder} was made with other options.",
                "Use --overwrite, or another --output.",
            )
        typer.echo(f"counts: found in {folder}", err=True)
        return counts
    from wordtide.counts.count import count  # loads the compiler

    typer.echo("Counting word pairs in the State of the Union addresses, 1790 to 2026", err=True)
    merge = None if fast else "7d"  # the paper's rule: addresses within a week are one slice
    counts = count(
        "sotu",
        output=folder,
        overwrite=overwrite,
        every=every,
        merge_within=merge,
        examples=3,
        observer=ProgressBar(),
    )
    print_summary(counts)
    return counts


def _fitted(counts: Counts, folder: Path, fast: bool, overwrite: bool) -> DynamicEmbeddings:
    if not overwrite and kind_of(folder) == "model":
        typer.echo(f"model: found in {folder}", err=True)
        return load(folder)
    from wordtide.inference.checkpoints import has_checkpoint  # loads the solvers
    from wordtide.inference.fit import fit

    typer.echo("Fitting the model to all slices at once", err=True)
    options: dict[str, Any] = {"dim": 30 if fast else 100, "observer": ProgressBar()}
    fit(
        counts, output=folder, overwrite=overwrite, resume=not overwrite and has_checkpoint(folder), **options
    )
    typer.echo(f"written to {folder}", err=True)
    return load(folder)


def _print_answers(model: DynamicEmbeddings) -> None:
    """Print the words that changed most and a few summaries."""
    out = console()
    out.print(f"The words that changed most between {_SINCE} and {_UNTIL}\n", style="bold")
    answer = shown_changes(changed(model, _SINCE, _UNTIL, top=12))
    print_rows([dated(model, row) for row in answer.rows()], Format.table, tuple(answer.columns))
    for word in _STORIES:
        out.print()
        print_story(model, story(model, word))
    out.print()


def _drawn(model: DynamicEmbeddings, folder: Path, fast: bool) -> list[Path]:
    from wordtide.figures import plots
    from wordtide.figures.map_figure import map_of
    from wordtide.figures.style import save_figure

    typer.echo(f"Drawing figures{'' if fast else '; the map takes a minute or two'}", err=True)
    bar = ProgressBar()
    with bar.stage("drawing"):
        figure = plots.timeline(model, since=_SINCE, until=_UNTIL, observer=bar)
        timeline = save_figure(figure, folder / "timeline.png")
        energy = save_figure(plots.similarity(model, "energy", _BESIDE_ENERGY), folder / "energy.png")
    with bar.stage("drawing"):
        top = 1500 if fast else 10_000
        figure, _ = map_of(model, [1830, 1890, 1950, 2010], labelled=LABELLED, top=top, observer=bar)
        return [timeline, energy, save_figure(figure, folder / "map.png")]


def _written_page(model: DynamicEmbeddings, folder: Path, fast: bool) -> Path:
    """Write the explorer's page as one file, with example sentences, which are in the public domain."""
    from wordtide.explorer.explore import PageOptions, save_html

    typer.echo(f"Writing the page to explore{'' if fast else '; this takes a minute or two'}", err=True)
    options = PageOptions(
        title="State of the Union",
        licence="The addresses are in the public domain.",
        map_words=0 if fast else _MAP_WORDS,
        examples=folder / "counts",
    )
    return save_html(model, folder / "story.html", options, overwrite=True, observer=ProgressBar())


def _print_next(folder: Path, figures: list[Path], page: Path) -> None:
    model, counts = (shlex.quote(str(folder / name)) for name in ("model", "counts"))
    lines = [
        f"Everything is in {folder}: counts, model, {', '.join(figure.name for figure in figures)}.",
        f"Open this page in a browser and type a word: {page}",
        "What to type next:",
        f"  wordtide story {model} freedom",
        f"  wordtide neighbors {model} energy --at 1850",
        f"  wordtide changed {model} --since 1900 --until 1960",
        f"  wordtide surprises {model} --at 2002",
        f"  wordtide examples {counts} energy --at 1850",
        f"  wordtide plot timeline {model} freedom security -o freedom.png",
        "With texts of your own: wordtide count my-texts/ -o counts, then wordtide fit counts -o model.",
    ]
    typer.echo("\n".join(lines), err=True)
