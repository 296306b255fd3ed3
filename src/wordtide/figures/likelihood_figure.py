"""How well methods predict: predictive log-likelihood per pair over time (the paper's last figure)."""

import csv
import io
import math
from collections.abc import Iterator
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from wordtide.errors import InputError, SettingsError
from wordtide.figures.curves import Table, draw_time_axis, running_mean
from wordtide.figures.labels import end_labels
from wordtide.figures.style import WIDTH, NotebookFigure, method_style, shown, styled
from wordtide.storage.cells import text_of_cell
from wordtide.system import read_regular_file
from wordtide.types import Floats

COLUMNS = ("method", "time", "log_likelihood", "pairs")
_LARGEST_FILE = 1 << 28  # bytes of scores
_REMEDY = f"The columns must be {', '.join(COLUMNS)}: a name, a year, and two numbers."


def likelihood_figure(scores: Table) -> Figure:
    """Draw a thin line per method through the slices, a thick one through its running mean, and its mean
    beside the end.

    Args:
        scores: A table with the columns method, time, log_likelihood (per pair) and pairs. The running mean
            weights slices by pairs. The mean in the label is over the slices that all methods predict, with
            equal weights, so that labels can be compared; labels have no means if there is no such slice.

    Returns:
        The figure.
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
    columns = [np.asarray(scores[name], dtype=np.float64) for name in COLUMNS[1:]]
    if not len(methods):
        raise SettingsError("There are no scores to draw.", "Give at least one row.")
    lines = {}
    for method in dict.fromkeys(methods.tolist()):
        rows = np.flatnonzero(methods == method)
        order = rows[np.argsort(columns[0][rows], kind="stable")]
        lines[method] = (columns[0][order], columns[1][order], columns[2][order])
    return lines


def read_scores(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a CSV file of scores.

    Returns:
        The columns method (a list), time, log_likelihood (per pair) and pairs (arrays).

    Raises:
        InputError: The file cannot be read, or a row is invalid.
    """
    file = Path(path)
    try:
        text = read_regular_file(file, _LARGEST_FILE, _REMEDY).decode("utf-8-sig")
        rows = list(_score_rows(file, io.StringIO(text, newline="")))
    except UnicodeDecodeError:
        raise InputError(
            f"{file} is not a text file in UTF-8.", "Give the scores as a CSV file in UTF-8."
        ) from None
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
        missing = [name for name in COLUMNS if name not in header]
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
        raise InputError(f"{place}: the method has no name.", "Fill the field `method`.")
    numbers = {name: _number(values[name]) for name in COLUMNS[1:]}
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
