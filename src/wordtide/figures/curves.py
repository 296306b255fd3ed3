"""Curves of similarity over time: reading tables, and drawing common to all figures with lines.

A table is anything that gives a sequence for `table["column"]`: a DataFrame, or a dict of arrays.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from wordtide.errors import SettingsError
from wordtide.figures.style import WIDTH, Dashes, NotebookFigure
from wordtide.types import Flags, Floats

MOST_PANELS = 12
MOST_DASHED = 60  # slices: with more, dashes cannot be distinguished from fluctuations
_ERRATIC = 0.08  # the mean step of a curve that needs smoothing
_AVERAGED = 0.05  # the reach of running means to either side, as a share of the axis
_MOST_COVERED = 1.2  # the maximum area of all bands, in panels
_WHISKERS, _MOST_WHISKERS = 24, 8  # of all curves of a panel together, and at most of each
_WHISKER_GAP = 0.012  # between the whiskers of two curves, as a share of the axis
_FAINT, _LEVELS = 0.3, 4  # the opacity of a curve without observed slices; its steps up to 1
_INDISTINGUISHABLE = 0.02  # the distance between slices, as a share of the axis
_SHORT = 3.0  # years; ticks of shorter spans are days


class Table(Protocol):
    """Columns by name: a DataFrame, a dict of arrays."""

    def __getitem__(self, column: str, /) -> Any: ...

    def __contains__(self, column: object, /) -> bool: ...


class Curve(NamedTuple):
    """Similarity to `other` at `times` (T,), with its 90% band (T,), NaN where a method has none.

    `observed` (T,) is False where one of the two words does not occur, so that its position is inferred from
    other times.
    """

    other: str
    times: Floats
    similarity: Floats
    low: Floats
    high: Floats
    observed: Flags | None = None


def curves_of(table: Table) -> dict[tuple[str, str, str], Curve]:
    """The curves of a table by (method, word, other), in order of their first row.

    Without a column `method`, it is "".
    """
    size = len(table["time"])
    names = [list(table[name]) if name in table else [""] * size for name in ("method", "word", "other")]
    none = np.full(size, np.nan)
    times, heights = _numbers(table["time"]), _numbers(table["similarity"])
    low, high = (_numbers(table[name]) if name in table else none for name in ("low", "high"))
    observed = np.ones(size, dtype=bool)
    for name in ("occurrences", "other_occurrences"):
        if name in table:
            observed &= _numbers(table[name]) > 0
    rows: dict[tuple[str, str, str], list[int]] = {}
    for row, (method, word, other) in enumerate(zip(*names, strict=True)):
        rows.setdefault((str(method), str(word), str(other)), []).append(row)
    curves = {}
    for key, found in rows.items():
        order = np.array(found)[np.argsort(times[found], kind="stable")]
        curves[key] = Curve(key[2], times[order], heights[order], low[order], high[order], observed[order])
    return curves


def arrays_of(curve: Sequence[Any]) -> Curve:
    """A curve from a sequence of its fields, with arrays in place of lists."""
    other, *columns = curve
    observed = None if len(columns) < 5 or columns[4] is None else np.asarray(columns[4], dtype=bool)
    times, heights, low, high = (_numbers(column) for column in columns[:4])
    return Curve(other, times, heights, low, high, observed)


def _numbers(column: Any) -> Floats:
    """A column as floats, NaN where it is empty."""
    return np.array([np.nan if value is None else value for value in column], dtype=np.float64)


def end_of(curve: Curve, place: int) -> tuple[float, float]:
    """The first (0) or last (-1) point of a curve that is a number, NaN if there is none."""
    known = np.flatnonzero(np.isfinite(curve.similarity))
    if not len(known):
        return math.nan, math.nan
    return float(curve.times[known[place]]), float(curve.similarity[known[place]])


def draw_curve(
    axes: Axes, curve: Curve, color: str, dashes: Dashes = "-", width: float = 1.2, above: bool = True
) -> None:
    """Draw a curve, fainter where fewer of the slices nearby are observed (see `support`)."""
    levels = np.round(_LEVELS * support(curve.times, curve.observed)) / _LEVELS
    points = np.column_stack([with_middles(curve.times), with_middles(curve.similarity)])
    # a slice covers the interval between the midpoints to its neighbors
    bounds = [0, *(2 * np.flatnonzero(np.diff(levels)) + 1), len(points) - 1]
    strengths = levels[[(bound + 1) // 2 for bound in bounds[:-1]]]
    pieces = LineCollection(
        [points[first : last + 1] for first, last in itertools.pairwise(bounds)],
        colors=[to_rgba(color, float(_FAINT + (1.0 - _FAINT) * strength)) for strength in strengths],
        linewidths=width * (0.6 + 0.4 * strengths),
        linestyles=[dashes],
        capstyle="butt",
        zorder=3.0 if above else 2.0,
    )
    axes.add_collection(pieces, autolim=False)
    if len(points) == 1:
        axes.scatter(curve.times, curve.similarity, s=12.0, color=color)


def bands_fit(axes: Axes, curves: Sequence[Curve]) -> bool:
    """Whether bands leave the panel readable. One band always does; several wide ones cover each other."""
    bottom, top = axes.get_ylim()
    widths = [
        float(np.nanmean(np.clip(curve.high, bottom, top) - np.clip(curve.low, bottom, top)))
        for curve in curves
    ]
    return len(curves) <= 1 or sum(widths) <= _MOST_COVERED * (top - bottom)


def draw_band(axes: Axes, curve: Curve, color: str) -> None:
    """Shade the 90% band of a curve between thin edges."""
    axes.fill_between(curve.times, curve.low, curve.high, color=color, alpha=0.1, linewidth=0.0, zorder=1.5)
    for edge in (curve.low, curve.high):
        axes.plot(curve.times, edge, color=color, alpha=0.5, linewidth=0.5, zorder=1.6)


def draw_whiskers(axes: Axes, curve: Curve, color: str, number: int, of: int) -> None:
    """Draw the 90% interval of curve `number` (out of `of`) at a few times, where bands would overlap.

    The whiskers of several curves are side by side.
    """
    places = np.arange(count := min(_MOST_WHISKERS, _WHISKERS // of)) + 0.5
    shift = _WHISKER_GAP * (number - 0.5 * (of - 1))
    wanted = curve.times[0] + (curve.times[-1] - curve.times[0]) * (places / count + shift)
    at = np.unique(np.argmin(np.abs(curve.times[:, None] - wanted), axis=0))
    strength = _FAINT + (1.0 - _FAINT) * support(curve.times, curve.observed)[at]
    axes.vlines(
        curve.times[at],
        curve.low[at],
        curve.high[at],
        color=color,
        alpha=0.6 * strength,
        linewidth=1.0,
        zorder=1.5,
    )
    axes.scatter(
        curve.times[at], curve.similarity[at], s=5.0, color=color, alpha=strength, linewidth=0.0, zorder=3
    )


def running_mean(times: Floats, heights: Floats, weights: Floats) -> Floats:
    """The weighted mean of the slices within a twentieth of the span of each, (T,)."""
    near = np.abs(times[:, None] - times) <= _AVERAGED * (times[-1] - times[0])
    return np.asarray((near * weights) @ heights / (near @ weights))


def is_erratic(curve: Curve) -> bool:
    """Whether a curve fluctuates from slice to slice too much to be readable, as those of baselines do."""
    steps = np.abs(np.diff(curve.similarity[np.isfinite(curve.similarity)]))
    return len(steps) >= MOST_DASHED and bool(steps.mean() > _ERRATIC)


def averaged(curve: Curve) -> Curve:
    """The running mean of a curve; unknown values stay unknown."""
    known = np.isfinite(curve.similarity)
    heights = curve.similarity.copy()
    if known.any():
        heights[known] = running_mean(curve.times[known], curve.similarity[known], np.ones(known.sum()))
    return curve._replace(similarity=heights)


def support(times: Floats, observed: Flags | None) -> Floats:
    """The share of observed slices among those within a visually indistinguishable distance of each, (T,)."""
    if observed is None:
        return np.ones(len(times))
    reach = _INDISTINGUISHABLE * (times[-1] - times[0])
    first, after = np.searchsorted(times, times - reach), np.searchsorted(times, times + reach, side="right")
    seen = np.concatenate([[0], np.cumsum(observed)])
    return np.asarray((seen[after] - seen[first]) / (after - first))


def with_middles(values: Floats) -> Floats:
    """Values (T,) with the means of adjacent ones inserted, (2 T - 1,)."""
    filled = np.empty(2 * len(values) - 1)
    filled[::2], filled[1::2] = values, 0.5 * (values[1:] + values[:-1])
    return filled


def fit_heights(grid: Sequence[Axes], curves: Sequence[Curve], bands: bool = True) -> None:
    """Set the vertical limits of panels by the curves and typical bands.

    The widest bands would flatten everything.
    """
    ends = [curve.similarity for curve in curves]
    for curve in curves if bands else ():
        seen = np.isfinite(curve.low) & (True if curve.observed is None else curve.observed)
        if seen.any():
            ends += [np.quantile(curve.low[seen], [0.25]), np.quantile(curve.high[seen], [0.75])]
    heights = np.concatenate(ends)
    heights = heights[np.isfinite(heights)] if np.isfinite(heights).any() else np.array([0.0, 1.0])
    bottom, top = float(heights.min()), float(heights.max())
    margin = 0.05 * max(top - bottom, 0.2)
    for axes in grid:
        axes.set_ylim(max(bottom - margin, -1.05), min(top + margin, 1.05))


def draw_time_axis(axes: Axes, times: Floats, ticks: int = 5) -> None:
    """Set the limits and ticks of a time axis: whole years, or days if the span is short."""
    first, last = float(np.min(times)), float(np.max(times))
    years = last - first >= _SHORT or first == last
    if years:  # whole years at both ends too, so that 1850 is a tick of a curve that begins in mid-1850
        first, last = math.floor(first), max(math.ceil(last), math.floor(first) + 1)
    axes.set_xlim(first, last)
    axes.xaxis.set_major_locator(MaxNLocator(ticks if years else 3, integer=years, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda year, _: f"{year:.0f}" if years else day_of(year)))


def day_of(year: float) -> str:
    """The date of a float year: 2016-05-17."""
    whole = math.floor(year)
    first, after = (
        np.datetime64(number - 1970, "Y").astype("datetime64[D]") for number in (whole, whole + 1)
    )
    return str(first + np.timedelta64(int((year - whole) * (after - first).astype(int)), "D"))


def panel_grid(panels: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with panels of this height in inches, at most two side by side to leave room for names."""
    if not 1 <= panels <= MOST_PANELS:
        raise SettingsError(f"Cannot draw a figure with {panels} panels.", f"Choose 1 to {MOST_PANELS}.")
    columns = 1 if panels == 1 else 2
    rows = math.ceil(panels / columns)
    figure = NotebookFigure(figsize=(WIDTH, max(height * rows, 2.6)), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid[panels:]:
        axes.set_axis_off()
    return figure, list(grid[:panels])
