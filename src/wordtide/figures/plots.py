"""The figures: from models or scores to a matplotlib Figure, which `save_figure` writes to a file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from matplotlib.figure import Figure

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.figures.method_figures import displacement_figure, displacements, likelihood_figure, read_scores
from wordtide.figures.similarity_figure import similarity_figure, similarity_of
from wordtide.figures.style import DPI, check_figure_path, save_figure
from wordtide.figures.timeline_figure import timeline_by_group, timeline_figure, timeline_of
from wordtide.progress import Observer
from wordtide.questions.divided import group_views
from wordtide.timeline import Time

#: A model, or several models by their names in the figure.
Models = Embeddings | Mapping[str, Embeddings]


def timeline(
    model: Embeddings,
    words: Sequence[str] | None = None,
    since: Time = "first",
    until: Time = "last",
    top: int = 10,
    observer: Observer | None = None,
    by_group: bool = False,
) -> Figure:
    """Draw the similarity of words over time to their five nearest neighbors at the start and at the end.

    Args:
        model: The model.
        words: The words to draw; None for those that changed most, or that groups use most differently.
        since: The first time.
        until: The last time.
        top: How many words to draw if `words` is None.
        observer: Receives the progress, word by word.
        by_group: Draw a panel for each group that uses a word in its own way.

    Returns:
        The figure.
    """
    if by_group:
        return timeline_figure(timeline_by_group(model, words, since, until, top))
    return timeline_figure(timeline_of(model, words, since, until, top, observer))


def similarity(models: Models, word: str, others: Sequence[str], by_group: bool = False) -> Figure:
    """Draw the similarity of a word to others over time.

    Args:
        models: A model, or several by name; then each of the other words has a panel with a line per model.
        word: The word.
        others: The words to compare it with.
        by_group: Draw a line for each group of one model, as it uses the word.

    Returns:
        The figure.
    """
    if not others:
        raise SettingsError(f"There is no word to compare {word!r} with.", "Give at least one more word.")
    if by_group:
        named = _by_name(models)
        if len(named) > 1:
            raise SettingsError("Groups of several models cannot be drawn together.", "Give one model.")
        views, _ = group_views(next(iter(named.values())), word)
        models = views
    return similarity_figure(similarity_of(_by_name(models), [(word, other) for other in others]))


def displacement(models: Models, start: Time | None = None, observer: Observer | None = None) -> Figure:
    """Draw histograms of how far words move within 1 to 10 slices, for each model.

    Args:
        models: A model, or several by name.
        start: The slice to start from; None for the last that ten slices follow.
        observer: Receives the progress, model by model.

    Returns:
        The figure.
    """
    named, distances, observer = _by_name(models), {}, observer or Observer()
    with observer.stage("drawing", len(named), "models"):
        for name, model in named.items():
            distances[name] = displacements(model, start)
            observer.step()
    return displacement_figure(distances)


def likelihood(scores: str | PathLike[str]) -> Figure:
    """Draw the predictive log-likelihood of methods over time.

    Args:
        scores: A CSV file with columns method, time, log_likelihood, pairs, such as `scores.csv` of an
            evaluation.

    Returns:
        The figure.
    """
    return likelihood_figure(read_scores(scores))


def _by_name(models: Models) -> Mapping[str, Embeddings]:
    return {models.method: models} if isinstance(models, Embeddings) else models


def named_by_method(models: Sequence[Embeddings]) -> dict[str, Embeddings]:
    """Models by method.

    Models of the same method are distinguished by the names of their folders or parent folders.
    """
    choices = [
        (model.method, *(f"{model.method} ({Path(*model.path.parts[-parts:])})" for parts in (1, 2)))
        if model.path is not None
        else (model.method,) * 3
        for model in models
    ]
    taken = Counter(name for names in choices for name in set(names))
    chosen = [next((name for name in names if taken[name] == 1), names[-1]) for names in choices]
    for name, uses in Counter(chosen).items():
        if uses > 1:
            raise SettingsError(
                f"Two models have the same name: {name}.", "Give each model once, or rename a folder."
            )
    return dict(zip(chosen, models, strict=True))


class ModelPlots:
    """The figures of one model: `model.plot.timeline(...)` is `wordtide plot timeline` for Python.

    Each method returns a matplotlib figure, which notebooks display. With `output` it is also written to that
    .png, .svg or .pdf file, `dpi` dots per inch.
    """

    def __init__(self, model: Embeddings) -> None:
        self._model = model

    def timeline(
        self,
        *words: str,
        since: Time = "first",
        until: Time = "last",
        top: int = 10,
        by_group: bool = False,
        output: str | PathLike[str] | None = None,
        dpi: float = DPI,
    ) -> Figure:
        """Draw how words changed: their similarity to their nearest words at the start and at the end.

        Without words, the `top` that changed most are drawn, or `by_group` those that groups use most
        differently.
        """
        figure = timeline(self._model, words or None, since, until, top, by_group=by_group)
        return _written(figure, output, dpi)

    def similarity(
        self,
        word: str,
        *others: str,
        by_group: bool = False,
        output: str | PathLike[str] | None = None,
        dpi: float = DPI,
    ) -> Figure:
        """Draw how similar a word is to others over time, with a line for each group if `by_group`."""
        return _written(similarity(self._model, word, others, by_group), output, dpi)

    def displacement(
        self, start: Time | None = None, output: str | PathLike[str] | None = None, dpi: float = DPI
    ) -> Figure:
        """Draw how far words move within 1 to 10 slices of the slice of `start`."""
        return _written(displacement(self._model, start), output, dpi)

    def map(
        self,
        *labels: str,
        at: Sequence[Time] | None = None,
        top: int = 10_000,
        seed: int = 0,
        output: str | PathLike[str] | None = None,
        dpi: float = DPI,
    ) -> Figure:
        """Draw a map of the `top` most frequent words at some times, with these words labelled.

        Takes a few minutes for a large vocabulary.
        """
        from wordtide.figures.map_figure import map_of  # imports openTSNE

        figure = map_of(self._model, at, labelled=list(labels) or None, top=top, seed=seed)[0]
        return _written(figure, output, dpi)


def _written(figure: Figure, output: str | PathLike[str] | None, dpi: float) -> Figure:
    if output is not None:
        check_figure_path(output, dpi)
        save_figure(figure, output, dpi)
    return figure
