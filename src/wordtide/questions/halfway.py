"""When a word was half-way: from when on it is nearer to where it ends than to where it began.

By the cosine a vector u is nearer to the end b than to the start a if u . (b/|b| - a/|a|) > 0. That is linear in u, so at each
time its posterior is normal and the probability to be past half-way has a closed form. The interval begins with the last slice
before that probability first reaches 5 % and ends with the slice at which it has passed 95 % for good: it inverts the 90 % band
of the curve, and the word may have crossed over anywhere between two slices. Only slices in which the word occurs count, so the
interval spans gaps in which it does not occur, and is never narrower than the step between two of its slices.
"""

import math
from dataclasses import dataclass

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.trajectories import Moments
from wordtide.questions.similarity import SIDES
from wordtide.questions.vectors import STILL, Vectors, lengths_of
from wordtide.types import Floats, Integers

_WORDS_AT_ONCE = 64  # their curves are in memory together


@dataclass(frozen=True)
class Halfway:
    """The date in float years at which the mean curve last crosses over, and its 90 % interval; NaN where unknown."""

    date: float
    earliest: float
    latest: float


def halfway(
    model: Embeddings, vectors: Vectors, words: Integers, start: Moments, end: Moments
) -> list[Halfway]:
    """When each of some words was half-way between its places at two times in order: the same for all, or two for each word."""
    starts, ends = (np.broadcast_to(np.asarray(time, np.float64), len(words)) for time in (start, end))
    found = []
    for first in range(0, len(words), _WORDS_AT_ONCE):
        some = slice(first, first + _WORDS_AT_ONCE)
        times = [
            _slices_between(model, *asked)
            for asked in zip(words[some], starts[some], ends[some], strict=True)
        ]
        sizes = [len(one) for one in times]
        pairs = np.repeat(words[some], sizes), np.concatenate(times)
        cuts = np.cumsum(sizes)[:-1]
        means = np.split(vectors.means_of_each(*pairs), cuts)
        variances = (
            np.split(vectors.variances_of_each(*pairs), cuts) if vectors.uncertain else [None] * len(times)
        )
        found += [_halfway(*curves) for curves in zip(times, means, variances, strict=True)]
    return found


def _slices_between(model: Embeddings, word: int, start: float, end: float) -> Floats:
    """The times of the slices between two times in which a word occurs, and these two."""
    places = model.fitted.occurrences.places
    seen = model.times[places.slices[places.rows_of(int(word))]]
    return np.concatenate([[start], seen[(seen > start) & (seen < end)], [end]])


def _halfway(times: Floats, means: Floats, variances: Floats | None) -> Halfway:
    """The crossing of one word from its means and variances (n, d); without variances there is no interval."""
    first, last = means[0] / lengths_of(means[0]), means[-1] / lengths_of(means[-1])
    direction = last - first
    lead = means @ direction
    if not np.isfinite(lead).all() or np.abs(direction).max() < STILL:
        return Halfway(math.nan, math.nan, math.nan)
    date = _last_crossing(times, lead)
    if variances is None:
        return Halfway(date, math.nan, math.nan)
    spread = np.sqrt(variances @ direction**2)
    could_be_past = np.flatnonzero(lead + SIDES * spread >= 0)
    could_be_before = np.flatnonzero(lead - SIDES * spread <= 0)
    earliest = float(times[max(could_be_past[0] - 1, 0)]) if len(could_be_past) else float(times[-1])
    latest = (
        float(times[min(could_be_before[-1] + 1, len(times) - 1)])
        if len(could_be_before)
        else float(times[0])
    )
    return Halfway(date, *_at_least_a_slice(times, min(earliest, date), max(latest, date)))


def _last_crossing(times: Floats, lead: Floats) -> float:
    """When the curve crosses zero for the last time, between two slices by the straight line."""
    below = np.flatnonzero(lead < 0)
    last = int(below[-1]) if len(below) else 0
    if last + 1 >= len(times):
        return float(times[-1])
    share = -lead[last] / (lead[last + 1] - lead[last]) if lead[last] < 0 else 0.0
    return float(times[last] + share * (times[last + 1] - times[last]))


def _at_least_a_slice(times: Floats, earliest: float, latest: float) -> tuple[float, float]:
    """Widen an interval to the slices around it."""
    first = max(int(np.searchsorted(times, earliest, side="right")) - 1, 0)
    last = min(int(np.searchsorted(times, latest, side="left")), len(times) - 1)
    if first == last:
        first, last = (first - 1, last) if last == len(times) - 1 else (first, last + 1)
    return float(times[first]), float(times[last])
