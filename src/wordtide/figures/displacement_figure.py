"""How far words move: histograms of ||u_t - u_{t+delta}|| over words for growing delta, by method (the
paper's `hist-gbooks`).

If motion is directed, the histograms move to the right as delta grows; if it is noise, all but the first
coincide.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.figures.style import WIDTH, NotebookFigure, shown, styled
from wordtide.spelling import counted
from wordtide.timeline import Time
from wordtide.types import Floats, Integers

Distances = Mapping[int, Floats]

_DELTAS = range(1, 11)
_BINS_PER_DECADE = 20
_LONG = 50.0  # the ratio of the ends beyond which powers of ten suffice as ticks
_LIGHTEST = 0.78  # of the color scale; lighter lines are too faint on white
_QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


def displacements(
    model: Embeddings,
    start: Time | None = None,
    deltas: Iterable[int] = _DELTAS,
    words: Sequence[str] | None = None,
    min_occurrences: int | None = None,
) -> dict[int, Floats]:
    """Measure the distances between the means of words at a slice and some slices later.

    Args:
        model: The model.
        start: The time of the first slice; None for the last one that enough slices follow.
        deltas: The numbers of slices to look ahead.
        words: The words to measure.
        min_occurrences: If `words` is None, measure words with at least this many occurrences in the corpus.
            If both are None, measure words that occur in each of the compared slices.

    Returns:
        Distances (n,) by delta.

    Raises:
        SettingsError: There is no such slice, or no word to measure.
    """
    steps = _checked_deltas(deltas)
    first = _start_slice(model, start, steps[-1])
    chosen = _chosen_words(model, [first, *(first + delta for delta in steps)], words, min_occurrences)
    origin = _means(model, first, chosen)
    return {delta: np.linalg.norm(_means(model, first + delta, chosen) - origin, axis=1) for delta in steps}


def displacement_rows(distances_by_method: Mapping[str, Distances]) -> list[dict[str, Any]]:
    """A row per method and delta: method, delta, words, mean, and quantiles of the distance over words."""
    return [
        {"method": method, "delta": delta, "words": len(found), "mean": float(np.mean(found))}
        | {name: float(np.quantile(found, share)) for name, share in _QUANTILES.items()}
        for method, distances in distances_by_method.items()
        for delta, found in distances.items()
    ]


def displacement_figure(distances_by_method: Mapping[str, Distances]) -> Figure:
    """Draw a panel per method with a histogram per delta, from dark (small) to light (large), the first and
    last labeled.

    The axis is logarithmic and the same for all methods, because a baseline can move a hundred times as far
    as a smoothed model. Words that do not move at all are counted beside it.
    """
    edges = _bin_edges(distances_by_method)
    with styled():
        rows = len(distances_by_method)
        figure = NotebookFigure(figsize=(WIDTH, 0.55 + 1.25 * rows), layout="constrained")
        grid = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
        for axes, (method, distances) in zip(grid, distances_by_method.items(), strict=True):
            _draw_histograms(axes, distances, edges)
            axes.set_title(shown(method), loc="left", parse_math=False)
        grid[-1].set_xlabel("distance of a word from where it was \u03b4 slices before")
        figure.supylabel("share of words", fontsize="medium")
    return figure


def _bin_edges(distances_by_method: Mapping[str, Distances]) -> Floats:
    """Edges of bins of equal width in the logarithm, for all methods, (n + 1,)."""
    found = [distances for by_delta in distances_by_method.values() for distances in by_delta.values()]
    if not found or not all(len(distances) for distances in found):
        raise SettingsError(
            "There are no distances to draw.", "Give at least one model with words that occur."
        )
    moved = np.concatenate(found)
    moved = moved[moved > 0.0]
    if not len(moved):
        raise SettingsError(
            "No word moves, so there is no histogram to draw.",
            "Choose a model of another method than static.",
        )
    low, high = np.quantile(moved, [0.001, 1.0])  # the stillest words would stretch the axis
    return np.geomspace(
        0.9 * low, 1.1 * high, 1 + max(12, int(np.log10(1.2 * high / low) * _BINS_PER_DECADE))
    )


def _draw_histograms(axes: Axes, distances: Distances, edges: Floats) -> None:
    colors = colormaps["viridis"](np.linspace(0.0, _LIGHTEST, len(distances)))
    ends = (min(distances), max(distances))
    highest = 0.0
    _draw_scale(axes, edges)
    for (delta, found), color in zip(sorted(distances.items()), colors, strict=True):
        shares = np.histogram(found, edges)[0] / len(found)
        highest = max(highest, float(shares.max()))
        axes.stairs(shares, edges, color=color, linewidth=1.4 if delta in ends else 0.8)
    axes.set_ylim(0.0, 1.25 * highest or 1.0)
    axes.set_yticks([])
    # both names at the top, where no bar is, each drawn away from the other
    for delta, color, side in ((ends[0], colors[0], "right"), (ends[1], colors[-1], "left"))[
        : len(set(ends))
    ]:
        moved = distances[delta][distances[delta] > 0.0]
        if len(moved):
            axes.text(float(np.median(moved)), 1.09 * highest, f"\u03b4 = {delta}", ha=side, color=color)
    still = max(float(np.mean(found == 0.0)) for found in distances.values())
    if still:
        axes.set_title(f"up to {still:.0%} of words do not move", loc="right", fontsize="medium")


def _draw_scale(axes: Axes, edges: Floats) -> None:
    """A logarithmic axis with plain numbers; where it is short, also at 2 and 5 times the powers of ten."""
    axes.set_xscale("log")
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if edges[-1] > _LONG * edges[0] else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _checked_deltas(deltas: Iterable[int]) -> list[int]:
    steps = sorted(set(deltas))
    if not steps or steps[0] < 1:
        raise SettingsError(f"{steps} are not valid numbers of slices.", "Give whole numbers of 1 or more.")
    return steps


def _start_slice(model: Embeddings, start: Time | None, furthest: int) -> int:
    last = len(model) - 1 - furthest
    if last < 0:
        raise SettingsError(
            f"The model has {counted(len(model), 'slice')}, too few to look {furthest} slices ahead.",
            "Give smaller deltas, or fit with shorter slices.",
        )
    if start is None:
        return last
    first = model.slice_at(start)
    if first is None:
        near = model.labels[int(np.argmin(np.abs(model.times - model.year(start))))]
        raise SettingsError(f"No slice lies at {start}.", f"Give the time of a slice; the nearest is {near}.")
    if first > last:
        raise SettingsError(
            f"Only {counted(len(model) - 1 - first, 'slice')} after {model.labels[first]}, not {furthest}.",
            f"Start at {model.labels[last]} or before, or give smaller deltas.",
        )
    return first


def _chosen_words(
    model: Embeddings, slices: Sequence[int], words: Sequence[str] | None, min_occurrences: int | None
) -> Integers:
    """The numbers of the words to measure, (n,)."""
    if words is not None:
        chosen = np.array([model.word_number(word) for word in words], dtype=np.int64)
    elif min_occurrences is not None:
        chosen = np.flatnonzero(model.total_occurrences >= min_occurrences)
    else:
        chosen = np.flatnonzero(np.all([model.fitted.occurrences.of_slice(t) > 0 for t in slices], axis=0))
    if not len(chosen):
        span = f"{model.labels[slices[0]]} to {model.labels[slices[-1]]}"
        raise SettingsError(
            f"There is no word to measure from {span}.", "Name the words, or give a smaller min_occurrences."
        )
    return chosen


def _means(model: Embeddings, t: int, chosen: Integers) -> Floats:
    return model.means_at(float(model.times[t]))[chosen].astype(np.float64)
