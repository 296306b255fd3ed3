"""Similarity over time: pairs of words across methods (the paper's `timeline1`), or a word and others."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.figures.curves import (
    MOST_DASHED,
    Curve,
    Table,
    averaged,
    bands_fit,
    curves_of,
    draw_band,
    draw_curve,
    draw_time_axis,
    draw_whiskers,
    end_of,
    fit_heights,
    is_erratic,
    panel_grid,
)
from wordtide.figures.labels import end_labels
from wordtide.figures.style import Dashes, cycle_style, method_style, shown, styled
from wordtide.questions.similarity import similarity

_MOST_LINES = 7  # as many as there are colors


def similarity_figure(curves: Table) -> Figure:
    """Draw a table with the columns of `model.similarity`, and optionally `method`.

    With several methods there is a panel per pair with a line per method; else a panel per word with a line
    per other word. Columns used: time, word, other, similarity; where given low, high (NaN: no band),
    occurrences, other_occurrences, method.
    """
    found = curves_of(curves)
    panels, style = _panels(found), method_style if _has_methods(found) else _plain_style
    with styled():
        figure, grid = panel_grid(len(panels), height=2.1)
        fit_heights(grid, list(found.values()))
        for axes, (title, lines) in zip(grid, panels.items(), strict=True):
            axes.set_title(title, parse_math=False)
            draw_time_axis(axes, np.concatenate([curve.times for curve in lines.values()]))
            drawn = [(curve, *style(name, number)) for number, (name, curve) in enumerate(lines.items())]
            ends = _draw_lines(axes, drawn)
            end_labels(
                axes,
                [(*end, shown(name), line[1]) for end, name, line in zip(ends, lines, drawn, strict=True)],
            )
        has_intervals = any(np.isfinite(curve.low).any() for curve in found.values())
        figure.supylabel(
            "similarity, with 90% intervals" if has_intervals else "similarity", fontsize="medium"
        )
    return figure


def _draw_lines(axes: Axes, lines: Sequence[tuple[Curve, str, Dashes]]) -> list[tuple[float, float]]:
    """Draw lines over their bands, and return their ends. Lines without bands are thin and lie below.

    An erratic line is a shadow behind its running mean.
    """
    with_bands = [bool(np.isfinite(curve.low).any()) for curve, _, _ in lines]
    shaded = bands_fit(
        axes, [curve for (curve, _, _), has_band in zip(lines, with_bands, strict=True) if has_band]
    )
    ends = []
    for number, ((curve, color, dashes), has_band) in enumerate(zip(lines, with_bands, strict=True)):
        thin = any(with_bands) and not has_band
        if has_band and shaded:
            draw_band(axes, curve, color)
        elif has_band:
            draw_whiskers(axes, curve, color, number, len(lines))
        if is_erratic(curve):
            axes.plot(curve.times, curve.similarity, color=color, alpha=0.3, linewidth=0.5, zorder=1.8)
            curve = averaged(curve)
        pattern = dashes if len(curve.times) <= MOST_DASHED else "-"
        draw_curve(axes, curve, color, pattern, width=0.9 if thin else 1.3, above=not thin)
        ends.append(end_of(curve, -1))
    return ends


def similarity_of(models: Mapping[str, Embeddings], pairs: Sequence[tuple[str, str]]) -> dict[str, list[Any]]:
    """The table for `similarity_figure`: the similarity of each pair of words over time in each model."""
    columns = ("time", "word", "other", "similarity", "low", "high", "occurrences", "other_occurrences")
    table: dict[str, list[Any]] = {name: [] for name in ("method", *columns)}
    for method, model in models.items():
        for word, other in pairs:
            found = similarity(model, word, other).columns
            table["method"] += [method] * len(found["time"])
            for name in columns:
                table[name] += list(found[name])
    return table


def _panels(curves: Mapping[tuple[str, str, str], Curve]) -> dict[str, dict[str, Curve]]:
    """Lines by name in panels by title."""
    if not curves:
        raise SettingsError("There is no similarity to draw.", "Give at least one pair of words.")
    across_methods = _has_methods(curves)
    panels: dict[str, dict[str, Curve]] = {}
    for (method, word, other), curve in curves.items():
        title, name = (
            (f"{shown(word)} \u2013 {shown(other)}", method) if across_methods else (shown(word), other)
        )
        panels.setdefault(title, {})[name] = curve
    most = max(len(lines) for lines in panels.values())
    if most > _MOST_LINES:
        raise SettingsError(
            f"{most} lines in one panel cannot be distinguished.", f"Choose at most {_MOST_LINES}."
        )
    return panels


def _has_methods(curves: Mapping[tuple[str, str, str], Curve]) -> bool:
    return len({method for method, _, _ in curves}) > 1


def _plain_style(_: str, number: int) -> tuple[str, Dashes]:
    return cycle_style(number)
