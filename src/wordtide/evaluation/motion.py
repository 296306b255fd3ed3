"""How words move in each model: smoothly or in jumps, along a path or around one place.

All models are measured at the same slices, which no model was fitted without, and on the same words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.inference.problem import Problem
from wordtide.types import Floats, Integers

Distances = dict[int, Floats]

FURTHEST = 10
COLUMNS = ("method", "words", "slices", "first_distance", "last_distance", "directedness", "relative_step")


@dataclass(frozen=True)
class MotionWindow:
    """The times (n,) of consecutive slices, and the words that have pairs in each of them."""

    times: Floats
    words: Integers


def windows_of(problem: Problem, held_out: Sequence[int], furthest: int = FURTHEST) -> list[MotionWindow]:
    """Adjacent windows of `furthest` + 1 slices that were not left out, or one shorter window if there are
    fewer.
    """
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
    """Summarize the motion of a model.

    Args:
        method: The name of the model.
        model: The model.
        windows: Where to measure.
        distances: The distances found in these windows.

    Returns:
        `words`: the number of words, counted once per window. `first_distance`, `last_distance`: the median
        distance after one slice and after `slices` slices. `directedness`: their ratio; with ten slices it is
        1 for words that jump around one place, 3.2 (the root of ten) for a random walk, and 10 on a straight
        path. `relative_step`: the median distance after one slice in units of the vector's length, small for
        smooth motion.
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
    return dict(
        zip(COLUMNS, (method, len(lengths), max(distances), first, last, ratio, relative), strict=True)
    )
