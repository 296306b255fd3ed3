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

#: The methods whose words are mapped, as in the paper's figure.
_MAPPED = ("filtering", "independent")
_IN_THE_FIGURE = 10


def models_by_method(model: DynamicEmbeddings, evaluation: Path) -> dict[str, DynamicEmbeddings]:
    """The models of all slices: that of smoothing, and those of the evaluation that saw every slice."""
    return {"smoothing": model} | {
        method: load(evaluation / "models" / method) for method in ("filtering", "warm-start", "independent")
    }


def draw(experiment: "Experiment", model: DynamicEmbeddings, evaluation: Path, folder: Path) -> None:
    """Draw what is not drawn yet: similarity across methods, the words that changed most, maps."""
    models = models_by_method(model, evaluation)
    _draw_similarity(experiment, models, folder)
    _draw_changed(experiment, models["filtering"], folder)
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
    answer = changed(model, since, until, top=2 * _IN_THE_FIGURE)
    pd.DataFrame(answer.columns).to_csv(folder / "changed.csv", index=False)
    figure = timeline_figure(timeline_of(model, None, since, until, _IN_THE_FIGURE, ProgressBar()))
    save_figure(figure, target)


def _draw_map(experiment: "Experiment", model: DynamicEmbeddings, target: Path) -> None:
    if target.exists():
        return
    figure, rows = map_of(model, labelled=experiment.labelled, top=experiment.mapped, observer=ProgressBar())
    pd.DataFrame(rows).to_csv(target.with_suffix(".csv"), index=False)
    save_figure(figure, target)
