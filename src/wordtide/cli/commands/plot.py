"""`wordtide plot`: figures."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordtide.api import load
from wordtide.cli.answer_tables import print_notes
from wordtide.cli.options import ModelFolder, WordsFile, at_least_one, listed_words
from wordtide.cli.output import ProgressBar
from wordtide.questions.answers import QuestionTimes
from wordtide.questions.divided import group_views

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Option = typer.Option

Output = Annotated[Path, Option("--output", "-o", help="The image file to create: .png, .svg or .pdf.")]
ByGroup = Annotated[bool, Option("--by-group", help="Draw one curve per group of texts.")]
Dpi = Annotated[int, Option("--dpi", help="Dots per inch of a .png, 7 inches wide.")]
Time = Annotated[str, Option(help="A time: 1850, 1850.5, 1862-12, first or last.")]


def timeline(
    model: ModelFolder,
    words: Annotated[
        list[str] | None, typer.Argument(help="Words to draw. Default: those that changed most.")
    ] = None,
    *,
    output: Output,
    file: WordsFile = None,
    since: Time = "first",
    until: Time = "last",
    top: Annotated[int, Option(help="Number of words, if none are given.")] = 10,
    by_group: ByGroup = False,
    dpi: Dpi = 300,
) -> None:
    """Draw how words changed: similarity over time to their nearest words at start and end.

    Example: wordtide plot timeline model/ --since 1850 -o timeline.png
    """

    def draw(bar: ProgressBar) -> "Figure":
        from wordtide.figures import plots  # loads matplotlib

        chosen = listed_words(words, file) or None
        return plots.timeline(load(model), chosen, since, until, top, bar, by_group)

    _draw_to(output, dpi, draw)
    print_notes(QuestionTimes.of(load(model), [since, until]).notes)


def similarity(
    model: ModelFolder,
    word: Annotated[str, typer.Argument(help="A word.")],
    others: Annotated[list[str] | None, typer.Argument(help="One or more words to compare it with.")] = None,
    *,
    output: Output,
    file: WordsFile = None,
    models: Annotated[list[Path] | None, Option("--with", help="Another model. Repeatable.")] = None,
    by_group: ByGroup = False,
    dpi: Dpi = 300,
) -> None:
    """Draw how similar a word is to others over time, by one model or by several.

    Example: wordtide plot similarity model/ energy oil conservation -o energy.png
    """

    compared = at_least_one(listed_words(others, file), f"compare {word!r} with")

    def draw(_: ProgressBar) -> "Figure":
        from wordtide.figures import plots

        named = plots.named_by_method([load(path) for path in [model, *(models or [])]])
        return plots.similarity(named, word, compared, by_group)

    _draw_to(output, dpi, draw)
    if by_group:
        print_notes(group_views(load(model), word)[1])


def displacement(
    models: Annotated[list[Path], typer.Argument(help="One or more model folders.")],
    output: Output,
    start: Annotated[
        str | None, Option(help="First slice. Default: the last with ten slices after it.")
    ] = None,
    dpi: Dpi = 300,
) -> None:
    """Draw how far words move within 1 to 10 slices, for each model.

    Example: wordtide plot displacement smoothing/ filtering/ -o displacement.png
    """

    def draw(bar: ProgressBar) -> "Figure":
        from wordtide.figures import plots

        return plots.displacement(plots.named_by_method([load(path) for path in models]), start, bar)

    _draw_to(output, dpi, draw)


def likelihood(
    scores: Annotated[
        Path, typer.Argument(help="A CSV file with columns method, time, log_likelihood, pairs.")
    ],
    output: Output,
    dpi: Dpi = 300,
) -> None:
    """Draw the predictive likelihood over time by method.

    Example: wordtide plot likelihood scores.csv -o likelihood.png
    """

    def draw(_: ProgressBar) -> "Figure":
        from wordtide.figures import plots

        return plots.likelihood(scores)

    _draw_to(output, dpi, draw)


def map_words(
    model: ModelFolder,
    labels: Annotated[
        list[str] | None, typer.Argument(help="Words to label. Default: some that moved.")
    ] = None,
    *,
    output: Output,
    file: WordsFile = None,
    at: Annotated[
        list[str] | None,
        Option(help="A time. Repeatable. Default: four, spread over the model."),
    ] = None,
    top: Annotated[int, Option(help="Map only this many of the most frequent words.")] = 10_000,
    seed: Annotated[int, Option(help="Random seed.")] = 0,
    dpi: Dpi = 300,
) -> None:
    """Draw a map of the words at four times, with trails (dynamic t-SNE; takes a few minutes).

    Example: wordtide plot map model/ energy women war -o map.png
    """

    def draw(bar: ProgressBar) -> "Figure":
        from wordtide.figures.map_figure import map_of

        return map_of(
            load(model), at, labelled=listed_words(labels, file) or None, top=top, seed=seed, observer=bar
        )[0]

    _draw_to(output, dpi, draw)
    print_notes(QuestionTimes.of(load(model), at).notes)


#: The figures by the names of their commands.
FIGURES: dict[str, Callable[..., None]] = {
    "timeline": timeline,
    "similarity": similarity,
    "displacement": displacement,
    "likelihood": likelihood,
    "map": map_words,
}


def _draw_to(output: Path, dpi: int, draw: Callable[[ProgressBar], "Figure"]) -> None:
    """Check that the figure can be written, draw it, and write it."""
    bar = ProgressBar()
    with bar.stage("drawing"):
        from wordtide.figures.style import check_figure_path, save_figure

        check_figure_path(output, dpi)
        save_figure(draw(bar), output, dpi)
    typer.echo(f"written to {output}", err=True)
