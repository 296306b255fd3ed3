"""The figures of an experiment, and the tables behind them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from wordtide.api import DynamicEmbeddings, load
from wordtide.cli.output import ProgressBar
from wordtide.figures.map_figure import map_of
from wordtide.figures.similarity_figure import similarity_figure, similarity_of
from wordtide.figures.style import save_figure
from wordtide.figures.timeline_figure import timeline_figure, timeline_of
from wordtide.questions.change import changed

if TYPE_CHECKING:
    from experiment import Experiment

_COMPARED = ("smoothing", "filtering", "warm-start", "independent")
#: The methods whose words are mapped, as in the paper's figure.
_MAPPED = ("filtering", "independent")
_IN_THE_FIGURE = 10
#: The paper ranks words by cosine distance. Words rarer than this head such a list by chance.
_OCCURRENCES = 100


def draw(experiment: "Experiment", paper: Path, default: Path, folder: Path) -> None:
    """Draw what has not been drawn: similarity across methods, the words that changed most, maps.

    The models are those of two evaluations: with the paper's settings, and with ours, which smooths.
    Smoothing has not seen the held-out slices.
    """
    models = {method: load(paper / "models" / method) for method in _COMPARED}
    _draw_similarity(experiment, models, folder)
    _draw_changed(experiment, models["filtering"], folder)
    _list_changed(experiment, load(default / "models" / "smoothing"), folder)
    for method in _MAPPED:
        _draw_map(experiment, models[method], folder / f"map-{method}.png")


def _draw_similarity(experiment: "Experiment", models: Mapping[str, DynamicEmbeddings], folder: Path) -> None:
    target = folder / "similarity.png"
    if target.exists():
        return
    pairs = [(word, other) for word, others in experiment.pairs.items() for other in others]
    table: dict[str, Any] = similarity_of(models, pairs)
    pd.DataFrame(table).to_csv(folder / "similarity.csv", index=False)
    save_figure(similarity_figure(table), target)


def _draw_changed(experiment: "Experiment", model: DynamicEmbeddings, folder: Path) -> None:
    target = folder / "timeline.png"
    if target.exists():
        return
    since, until = experiment.between
    answer = changed(
        model, since, until, _IN_THE_FIGURE, by="change", min_occurrences=_OCCURRENCES, vectors="word"
    )
    pd.DataFrame(answer.columns).to_csv(folder / "changed.csv", index=False)
    words = [str(word) for word in answer.columns["word"]]
    figure = timeline_figure(timeline_of(model, words, since, until, observer=ProgressBar()))
    save_figure(figure, target)


def _list_changed(experiment: "Experiment", model: DynamicEmbeddings, folder: Path) -> None:
    """The words that changed most by our own ranking."""
    target = folder / "changed-default.csv"
    if not target.exists():
        answer = changed(model, *experiment.between, _IN_THE_FIGURE)
        pd.DataFrame(answer.columns).to_csv(target, index=False)


def _draw_map(experiment: "Experiment", model: DynamicEmbeddings, target: Path) -> None:
    if target.exists():
        return
    figure, rows = map_of(model, labelled=experiment.labelled, top=experiment.mapped, observer=ProgressBar())
    pd.DataFrame(rows).to_csv(target.with_suffix(".csv"), index=False)
    save_figure(figure, target)
