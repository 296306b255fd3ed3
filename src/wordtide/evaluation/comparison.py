"""The comparison of methods: by prediction, paired slice by slice, with a verdict in words; and by motion.

Motion is how words move: smoothly or in jumps, along a path or around a point. All models are measured on the
same words at the same slices, to which all of them were fitted.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.evaluation.scores import METHODS, SliceScore
from wordtide.inference.problem import Problem
from wordtide.types import Floats, Integers

Row = dict[str, Any]

#: The columns of the table, with their titles in the report.
TITLES = {
    "method": "method",
    "mean": "mean",
    "standard_error": "standard error",
    "difference": "difference to the best",
    "difference_error": "its standard error",
    "wins": "wins",
    "slices": "slices",
    "mean_of_all": "mean of all",
    "standard_error_of_all": "standard error",
    "all_slices": "all slices",
    "seconds": "training, s",
}
COLUMNS = tuple(TITLES)


def compare(scores: Sequence[SliceScore], held_out: Sequence[int], seconds: Mapping[str, float]) -> list[Row]:
    """Compare methods on the held-out slices, which all of them predict.

    Returns a row per method, in the order of the scores. `mean`, `standard_error`: over the held-out slices.
    `difference`: to the best of the paper's predictors; `difference_error`: its standard error, from the
    differences slice by slice. `wins`: the number of slices on which the method is best (None for predictors
    that are not the paper's). `mean_of_all`, `standard_error_of_all`: over all slices that the method
    predicts. `seconds`: the time of its fit. Unknown values are None.
    """
    by_method: dict[str, dict[int, float]] = {}
    for score in scores:
        by_method.setdefault(score.method, {})[score.slice] = score.log_likelihood
    common = {name: np.array([found[t] for t in held_out]) for name, found in by_method.items()}
    rivals = {name: values for name, values in common.items() if name in METHODS}
    best = max(rivals, key=lambda name: float(rivals[name].mean()))
    winners = np.argmax(list(rivals.values()), axis=0)
    wins = dict(zip(rivals, np.bincount(winners, minlength=len(rivals)).tolist(), strict=True))
    rows = []
    for name, values in common.items():
        difference, every = values - rivals[best], np.array(list(by_method[name].values()))
        rows.append(
            {
                "method": name,
                "mean": float(values.mean()),
                "standard_error": standard_error(values),
                "difference": float(difference.mean()),
                "difference_error": None if name == best else standard_error(difference),
                "wins": wins.get(name),
                "slices": len(values),
                "mean_of_all": float(every.mean()),
                "standard_error_of_all": standard_error(every),
                "all_slices": len(every),
                "seconds": seconds.get(name),
            }
        )
    return rows


def standard_error(values: Floats) -> float | None:
    """The standard error of the mean of independent values; None for a single value."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None


def verdict(rows: Sequence[Row]) -> str:
    """Sum up the comparison: which method is best, and which others cannot be distinguished from it."""
    rivals = sorted((row for row in rows if row["method"] in METHODS), key=lambda row: -row["mean"])
    best, *others = rivals
    if not others:
        reached = f"{best['method']} reaches {best['mean']:.4f} per pair."
        return f"{reached} There is no other method to compare it with."
    first = (
        f"{best['method']} predicts best: {best['mean']:.4f} per pair. "
        f"It is the best method on {best['wins']} of {best['slices']} slices."
    )
    unclear = [row["method"] for row in others if not _is_clear(row)]
    if unclear:
        named = " and ".join(unclear)
        return f"{first} The difference to {named} is within two standard errors: it may be noise."
    return f"{first} All others are worse by more than two standard errors."


def _is_clear(row: Row) -> bool:
    error: float | None = row["difference_error"]
    return error is not None and abs(row["difference"]) > 2.0 * error


Distances = dict[int, Floats]

FURTHEST = 10
MOTION_COLUMNS = (
    "method",
    "words",
    "slices",
    "first_distance",
    "last_distance",
    "directedness",
    "relative_step",
)


@dataclass(frozen=True)
class MotionWindow:
    """The times (n,) of consecutive slices, and the words that have pairs in each of them."""

    times: Floats
    words: Integers


def windows_of(problem: Problem, held_out: Sequence[int], furthest: int = FURTHEST) -> list[MotionWindow]:
    """Adjacent windows of `furthest` + 1 slices that were not left out; a single shorter one if need be."""
    left_out = set(held_out)
    kept = [t for t in range(len(problem)) if t not in left_out]
    length = min(furthest + 1, len(kept))
    windows = []
    for stop in range(len(kept), length - 1, -length):
        slices = kept[stop - length : stop]
        words = problem.slices[slices[0]].words
        for t in slices[1:]:
            words = np.intersect1d(words, problem.slices[t].words, assume_unique=True)
        windows.append(MotionWindow(problem.times[slices], words.astype(np.int64)))
    return [window for window in windows[::-1] if len(window.words)]


def distances_in(model: Embeddings, windows: Sequence[MotionWindow]) -> Distances:
    """The distances of words from the start of their window, over all windows (n,), by number of slices."""
    found: dict[int, list[Floats]] = {}
    for window in windows:
        origin = model.sides[0].means_at(float(window.times[0]), window.words)
        for delta, time in enumerate(window.times[1:], start=1):
            there = model.sides[0].means_at(float(time), window.words)
            found.setdefault(delta, []).append(np.linalg.norm(there - origin, axis=1))
    return {delta: np.concatenate(parts) for delta, parts in found.items()}


def motion_row(
    method: str, model: Embeddings, windows: Sequence[MotionWindow], distances: Mapping[int, Floats]
) -> dict[str, Any]:
    """Summarize the motion of a model, by the distances found in these windows.

    `words`: the number of words, counted once per window. `first_distance`, `last_distance`: the median
    distance after one slice and after `slices` slices. `directedness`: their ratio; with ten slices it is 1
    for words that jump around one place, 3.2 (the root of ten) for a random walk, and 10 on a straight path.
    `relative_step`: the median distance after one slice in units of the vector's length, small for smooth
    motion.
    """
    first, last = (float(np.median(distances[delta])) for delta in (min(distances), max(distances)))
    lengths = np.concatenate(
        [
            np.linalg.norm(model.sides[0].means_at(float(window.times[0]), window.words), axis=1)
            for window in windows
        ]
    )
    moving = lengths > 0.0
    relative = float(np.median(distances[min(distances)][moving] / lengths[moving])) if moving.any() else None
    ratio = last / first if max(distances) > 1 and first > 0.0 else None
    return {
        "method": method,
        "words": len(lengths),
        "slices": max(distances),
        "first_distance": first,
        "last_distance": last,
        "directedness": ratio,
        "relative_step": relative,
    }
