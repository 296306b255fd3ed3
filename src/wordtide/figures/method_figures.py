"""Figures that compare methods: how far words move, and how well methods predict.

The first (the paper's `hist-gbooks`) has histograms of ||u_t - u_{t+delta}|| over words for growing delta. If
motion is directed, they move to the right as delta grows; if it is noise, all but the first coincide. The
second (the paper's last figure) is the predictive log-likelihood per pair over time.
"""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from wordtide.embeddings.states import Embeddings
from wordtide.errors import InputError, SettingsError
from wordtide.figures.curves import Table, draw_time_axis, running_mean
from wordtide.figures.labels import end_labels
from wordtide.figures.style import WIDTH, NotebookFigure, method_style, shown, styled
from wordtide.spelling import counted
from wordtide.storage.cells import text_of_cell
from wordtide.system import read_text_file
from wordtide.timeline import Time
from wordtide.types import Floats, Integers

Distances = Mapping[int, Floats]

_DELTAS = range(1, 11)
_BINS_PER_DECADE = 20
_LONG = 50.0  # the ratio of the ends beyond which powers of ten suffice as ticks
_LIGHTEST = 0.78  # of the color scale; lighter lines are too faint on white
_QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


def displacements(
    model: Embeddings, start: Time | None = None, deltas: Sequence[int] = _DELTAS
) -> dict[int, Floats]:
    """Measure the distances between the means of words at a slice and some slices later, (n,) by delta.

    Only words that occur in each of the compared slices are measured. `start` None is the last slice that
    enough others follow; `deltas` are ascending.

    Raises:
        SettingsError: There is no such slice, or no word to measure.
    """
    first = _start_slice(model, start, deltas[-1])
    slices = [first, *(first + delta for delta in deltas)]
    words = np.flatnonzero(np.all([model.fitted.occurrences.of_slice(t) > 0 for t in slices], axis=0))
    if not len(words):
        raise SettingsError(
            f"No word occurs in all slices from {model.labels[first]} to {model.labels[slices[-1]]}.",
            "Start from another slice.",
        )
    origin = _means(model, first, words)
    return {delta: np.linalg.norm(_means(model, first + delta, words) - origin, axis=1) for delta in deltas}


def displacement_rows(distances_by_method: Mapping[str, Distances]) -> list[dict[str, Any]]:
    """A row per method and delta: method, delta, words, mean, and quantiles of the distance over words."""
    return [
        {"method": method, "delta": delta, "words": len(found), "mean": float(np.mean(found))}
        | {name: float(np.quantile(found, share)) for name, share in _QUANTILES.items()}
        for method, distances in distances_by_method.items()
        for delta, found in distances.items()
    ]


def displacement_figure(distances_by_method: Mapping[str, Distances]) -> Figure:
    """Draw a panel per method with a histogram per delta, from dark (small) to light (large).

    The first and the last are labeled.

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
    low, high = np.quantile(moved, [0.001, 1.0])  # words that hardly move would stretch the axis
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


def _start_slice(model: Embeddings, start: Time | None, furthest: int) -> int:
    last = len(model) - 1 - furthest
    if last < 0:
        raise SettingsError(
            f"The model has {counted(len(model), 'slice')}, too few to look {furthest} slices ahead.",
            "Count with shorter slices (--every), and fit again.",
        )
    if start is None:
        return last
    first = model.slice_at(start)
    if first is None:
        near = model.labels[int(np.argmin(np.abs(model.times - model.year(start))))]
        raise SettingsError(f"No slice lies at {start}.", f"Give the time of a slice; the nearest is {near}.")
    if first > last:
        later = counted(len(model) - 1 - first, "slice")
        raise SettingsError(
            f"{model.labels[first]} is followed by {later}, not {furthest}.",
            f"Start at {model.labels[last]} or before.",
        )
    return first


def _means(model: Embeddings, t: int, words: Integers) -> Floats:
    return model.means_at(float(model.times[t]))[words].astype(np.float64)


SCORE_COLUMNS = ("method", "time", "log_likelihood", "pairs")
_LARGEST_FILE = 1 << 28  # bytes of scores
_REMEDY = f"The columns must be {', '.join(SCORE_COLUMNS)}: a name, a year, and two numbers."


def likelihood_figure(scores: Table) -> Figure:
    """Draw a thin line per method through the slices, and a thick one through its running mean.

    The table has the columns method, time, log_likelihood (per pair) and pairs. The running mean weights
    slices by pairs. The mean beside the end of a line is over the slices that all methods predict, with equal
    weights, so that these can be compared; without such a slice there is none.
    """
    lines = _lines(scores)
    with styled():
        figure = NotebookFigure(figsize=(WIDTH, 3.2), layout="constrained")
        axes = figure.subplots()
        labels = []
        smoothed = {method: running_mean(*line) for method, line in lines.items()}
        common = reduce(np.intersect1d, (line[0] for line in lines.values()))
        for number, (method, (times, heights, _)) in enumerate(lines.items()):
            color, dashes = method_style(method, number)
            axes.plot(times, heights, color=color, alpha=0.35, linewidth=0.6)
            axes.plot(times, smoothed[method], color=color, linestyle=dashes, linewidth=1.6)
            mean = f" (mean {heights[np.isin(times, common)].mean():.3f})" if len(common) else ""
            labels.append((times[-1], smoothed[method][-1], shown(method) + mean, color))
        draw_time_axis(axes, np.concatenate([line[0] for line in lines.values()]), ticks=8)
        axes.set_ylabel("predictive log-likelihood per pair")
        end_labels(axes, labels)
    return figure


def _lines(scores: Table) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Times, log-likelihoods and pairs by method, in order of time."""
    methods = np.array([str(method) for method in scores["method"]])
    columns = [np.asarray(scores[name], dtype=np.float64) for name in SCORE_COLUMNS[1:]]
    if not len(methods):
        raise SettingsError("There are no scores to draw.", "Give at least one row.")
    lines = {}
    for method in dict.fromkeys(methods.tolist()):
        rows = np.flatnonzero(methods == method)
        order = rows[np.argsort(columns[0][rows], kind="stable")]
        lines[method] = (columns[0][order], columns[1][order], columns[2][order])
    return lines


def read_scores(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a CSV file of scores: the columns method (a list), time, log_likelihood (per pair) and pairs.

    Raises:
        InputError: The file cannot be read, or a row is invalid.
    """
    file = Path(path)
    text = read_text_file(file, _LARGEST_FILE, _REMEDY)
    rows = list(_score_rows(file, io.StringIO(text, newline="")))
    if not rows:
        raise InputError(f"{file} has no row of scores.", _REMEDY)
    methods, times, likelihoods, pairs = zip(*rows, strict=True)
    return {
        "method": list(methods),
        "time": np.array(times),
        "log_likelihood": np.array(likelihoods),
        "pairs": np.array(pairs),
    }


def _score_rows(file: Path, text: io.StringIO) -> Iterator[tuple[str, float, float, float]]:
    seen: dict[tuple[str, float], int] = {}
    lines = csv.reader(text, strict=True)
    try:
        header = next(lines, None)
        if header is None:
            raise InputError(f"{file} is empty.", _REMEDY)
        missing = [name for name in SCORE_COLUMNS if name not in header]
        if missing:
            raise InputError(f"{file}, line 1: there is no column {', '.join(missing)}.", _REMEDY)
        for fields in lines:
            if fields:
                row = _score(fields, header, f"{file}, line {lines.line_num}")
                before = seen.setdefault(row[:2], lines.line_num)
                if before != lines.line_num:
                    problem = f"{row[0]} has a score for {row[1]:g} in line {before} already."
                    raise InputError(
                        f"{file}, line {lines.line_num}: {problem}", "Keep one row per method and time."
                    )
                yield row
    except csv.Error as error:
        raise InputError(
            f"{file}, line {lines.line_num}: {error}.", "Correct the row (a quote may be missing)."
        ) from None


def _score(fields: list[str], header: list[str], place: str) -> tuple[str, float, float, float]:
    if len(fields) != len(header):
        problem = f"{place}: the row has {len(fields)} fields, the header {len(header)}."
        raise InputError(problem, "Correct the row (a quote may be missing).")
    values = dict(zip(header, fields, strict=True))
    if not values["method"]:
        raise InputError(f"{place}: the method has no name.", "Fill in the field `method`.")
    numbers = {name: _number(values[name]) for name in SCORE_COLUMNS[1:]}
    for name, number in numbers.items():
        if not math.isfinite(number):
            raise InputError(
                f"{place}: {name} is {values[name]!r}, not a number.", "Correct the field, or remove the row."
            )
    if numbers["pairs"] <= 0.0:
        raise InputError(
            f"{place}: pairs is {values['pairs']}, not above 0.", "Correct the field, or remove the row."
        )
    return text_of_cell(values["method"]), numbers["time"], numbers["log_likelihood"], numbers["pairs"]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
