"""The figures, each from models (or scores) to a matplotlib Figure, which `save_figure` writes as png, svg or pdf."""

from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from matplotlib.figure import Figure

from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.when import Time
from wordtide.errors import SettingsError
from wordtide.figures.displacement_figure import displacement_figure, displacements
from wordtide.figures.likelihood_figure import likelihood_figure, read_scores
from wordtide.figures.observing import Observer
from wordtide.figures.similarity_figure import similarity_figure, similarity_of
from wordtide.figures.timeline_figure import timeline_figure, timeline_of

#: A model, or several models by the names they have in a figure.
Models = Embeddings | Mapping[str, Embeddings]


def timeline(
    model: Embeddings,
    words: Sequence[str] | None = None,
    since: Time = "first",
    until: Time = "last",
    top: int = 10,
    observer: Observer | None = None,
) -> Figure:
    """Words on the move: similarity over time to their five nearest words at the start and at the end.

    Without `words` those that changed most between the two times, `top` of them. The observer is told (words done, of how
    many) before they are drawn.
    """
    return timeline_figure(timeline_of(model, words, since, until, top, observer))


def similarity(models: Models, word: str, others: Sequence[str]) -> Figure:
    """A word's similarity to others over time; with several models, a panel for each of the others with a line per model."""
    if not others:
        raise SettingsError(f"There is no word to compare {word!r} with.", "Give at least one more word.")
    return similarity_figure(similarity_of(_by_name(models), [(word, other) for other in others]))


def displacement(models: Models, start: Time | None = None, observer: Observer | None = None) -> Figure:
    """Histograms of how far words are from where they were 1 to 10 slices before, for each model.

    The observer is told (models done, of how many) before they are drawn.
    """
    named, distances = _by_name(models), {}
    for name, model in named.items():
        distances[name] = displacements(model, start)
        if observer is not None:
            observer(len(distances), len(named))
    return displacement_figure(distances)


def likelihood(scores: str | PathLike[str]) -> Figure:
    """Predictive log-likelihood over time by method, from a CSV file with columns method, time, log_likelihood, pairs."""
    return likelihood_figure(read_scores(scores))


def _by_name(models: Models) -> Mapping[str, Embeddings]:
    return {models.method: models} if isinstance(models, Embeddings) else models


def named_by_method(models: Sequence[Embeddings]) -> dict[str, Embeddings]:
    """Models by their methods; those of one method are told apart by their folders, or by the folders that these are in."""
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
                f"Two of the models have the same name: {name}.", "Give each model once, or rename a folder."
            )
    return dict(zip(chosen, models, strict=True))
