"""`wordtide plot`: the figures."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordtide.cli.progress import ProgressBar
from wordtide.embeddings.embeddings import load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Option = typer.Option

Model = Annotated[Path, typer.Argument(help="A model folder.")]
Output = Annotated[Path, Option("--output", "-o", help="The picture to make: .png, .svg or .pdf.")]
Time = Annotated[str, Option(help="A time: 1850, 1850.5, 1862-12, first or last.")]

plot_app = typer.Typer(help="Draw a figure: timeline, similarity, displacement, likelihood or map.", no_args_is_help=True)


def timeline(
    model: Model,
    words: Annotated[list[str] | None, typer.Argument(help="Words to draw. Default: those that changed most.")] = None,
    *,
    output: Output,
    since: Time = "first",
    until: Time = "last",
    top: Annotated[int, Option(help="How many words, if none are given.")] = 10,
) -> None:
    """Draw words that changed: similarity over time to their nearest words at the start and at the end.

    Example: wordtide plot timeline model/ --since 1850 -o timeline.png
    """

    def draw() -> "Figure":
        from wordtide.figures import plots  # matplotlib, which --help must not wait for

        return plots.timeline(load(model), words or None, since, until, top)

    _drawn(output, draw)


def similarity(
    model: Model,
    word: Annotated[str, typer.Argument(help="A word.")],
    others: Annotated[list[str], typer.Argument(help="One or more words to compare it with.")],
    output: Output,
    models: Annotated[list[Path] | None, Option("--with", help="A further model; may be given several times.")] = None,
) -> None:
    """Draw how similar a word is to others over time, by one model or by several.

    Example: wordtide plot similarity model/ energy oil conservation -o energy.png
    """

    def draw() -> "Figure":
        from wordtide.figures import plots

        return plots.similarity(plots.named_by_method([load(path) for path in [model, *(models or [])]]), word, others)

    _drawn(output, draw)


def displacement(
    models: Annotated[list[Path], typer.Argument(help="One or more model folders.")],
    output: Output,
    start: Annotated[str | None, Option(help="The slice to start from. Default: the last that ten slices follow.")] = None,
) -> None:
    """Draw how far words are from where they were 1 to 10 slices before, for each model.

    Example: wordtide plot displacement smoothing/ filtering/ -o displacement.png
    """

    def draw() -> "Figure":
        from wordtide.figures import plots

        return plots.displacement(plots.named_by_method([load(path) for path in models]), start)

    _drawn(output, draw)


def likelihood(
    scores: Annotated[Path, typer.Argument(help="A CSV file with columns method, time, log_likelihood, pairs.")],
    output: Output,
) -> None:
    """Draw the predictive likelihood over time by method.

    Example: wordtide plot likelihood scores.csv -o likelihood.png
    """

    def draw() -> "Figure":
        from wordtide.figures import plots

        return plots.likelihood(scores)

    _drawn(output, draw)


def map_words(
    model: Model,
    labels: Annotated[list[str] | None, typer.Argument(help="Words to name. Default: some that moved.")] = None,
    *,
    output: Output,
    at: Annotated[list[str] | None, Option(help="A time; give several. Default: four, spread over the model.")] = None,
    top: Annotated[int, Option(help="How many words are on the map: the most frequent.")] = 10_000,
    seed: Annotated[int, Option(help="Decides all that is random.")] = 0,
) -> None:
    """Draw the words as a map at four times, with trails (dynamic t-SNE; takes a few minutes).

    Example: wordtide plot map model/ energy women war -o map.png
    """

    def draw() -> "Figure":
        from wordtide.figures.map_figure import map_of

        return map_of(load(model), at, labelled=labels or None, top=top, seed=seed, observer=StepBar("mapping"))[0]

    _drawn(output, draw)


#: The figures by the names of their commands.
FIGURES: dict[str, Callable[..., None]] = {
    "timeline": timeline,
    "similarity": similarity,
    "displacement": displacement,
    "likelihood": likelihood,
    "map": map_words,
}


class StepBar:
    """A progress bar for work that tells how many of its steps are done."""

    def __init__(self, stage: str) -> None:
        self._stage, self._bar, self._done = stage, ProgressBar(), 0

    def __call__(self, done: int, total: int) -> None:
        """Move the bar; it begins with the first step and goes with the last."""
        if self._done == 0:
            self._bar.start(self._stage, total, "steps")
        self._bar.advance(done - self._done)
        self._done = done
        if done >= total:
            self._bar.finish()


def _drawn(output: Path, draw: Callable[[], "Figure"]) -> None:
    """Make a figure and write it; whether it can be written is found out first."""
    from wordtide.figures.style import check_figure_path, save_figure

    check_figure_path(output)
    written = save_figure(draw(), output)
    typer.echo(f"written to {written}", err=True)
