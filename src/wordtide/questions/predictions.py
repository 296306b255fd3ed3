"""What was believed of words just before a slice, and just after it."""

from dataclasses import dataclass

import numpy as np

from wordtide.embeddings.filtered import FilteredTrajectories
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.embeddings.states import Embeddings
from wordtide.model.knots import Integers
from wordtide.model.prior import Floats
from wordtide.model.variances import passages


@dataclass(frozen=True)
class Beliefs:
    """Means and variances of some words before and after a slice was seen, each (n, d)."""

    before_mean: Floats
    before_variance: Floats
    after_mean: Floats
    after_variance: Floats


def beliefs_at(model: Embeddings, words: Integers, number: int) -> Beliefs:
    """Beliefs about the word vectors of words that have a knot at slice `number`."""
    trajectories = model.sides[0]
    if isinstance(trajectories, FilteredTrajectories):
        return _filtered(trajectories, words, number)
    if isinstance(trajectories, SmoothedTrajectories):
        return _smoothed(trajectories, words, number)
    raise TypeError("point estimates hold no beliefs")


def _filtered(trajectories: FilteredTrajectories, words: Integers, number: int) -> Beliefs:
    knots = trajectories.knots
    here = knots.rows_after(number, words) - 1
    before = np.where(here > knots.starts[words], here - 1, -1)
    mean, variance = trajectories.predicted(before, np.full(len(words), trajectories.grid[number]))
    return Beliefs(
        mean,
        variance,
        *(array[here].astype(np.float64) for array in (trajectories.mean, trajectories.variance)),
    )


def _smoothed(trajectories: SmoothedTrajectories, words: Integers, number: int) -> Beliefs:
    """Pass the messages of the knots forward, word by word all at once, up to the slice."""
    knots = trajectories.knots
    places = trajectories.prior.slices[knots.slices]
    gain, noise = passages(knots.starts, places)
    starts, here = knots.starts[words], knots.rows_after(number, words) - 1
    mean, variance = np.zeros((2, len(words), trajectories.mean.shape[1]))
    beliefs = Beliefs(*(np.empty_like(mean) for _ in range(4)))
    for k in range(int((here - starts).max(initial=-1)) + 1):
        some = np.flatnonzero(starts + k <= here)
        rows = starts[some] + k
        before_mean = gain[rows, None] * mean[some]
        before_variance = gain[rows, None] ** 2 * variance[some] + noise[rows, None]
        precision, pull = _message(trajectories, rows, knots.starts[words[some] + 1], gain, noise)
        after_variance = before_variance / (1.0 + precision * before_variance)
        mean[some] = before_mean + after_variance * (pull - precision * before_mean)
        variance[some] = after_variance
        last = rows == here[some]
        beliefs.before_mean[some[last]], beliefs.before_variance[some[last]] = (
            before_mean[last],
            before_variance[last],
        )
    beliefs.after_mean[:], beliefs.after_variance[:] = mean, variance
    return beliefs


def _message(
    trajectories: SmoothedTrajectories, rows: Integers, stops: Integers, gain: Floats, noise: Floats
) -> tuple[Floats, Floats]:
    """What the data at knots say of them: precision h, and h times the place, which solves (Pi + diag(h)) mean = pull."""
    precision = trajectories.precision[rows].astype(np.float64)
    mean = trajectories.mean[rows].astype(np.float64)
    has_before, has_after = gain[rows] > 0, rows + 1 < stops
    previous = np.where(has_before[:, None], trajectories.mean[rows - has_before], 0.0)
    following = rows + has_after
    ahead = np.where(has_after, gain[following] / noise[following], 0.0)[:, None]
    step = gain[following, None] * mean
    pull = (mean - gain[rows, None] * previous) / noise[rows, None] + precision * mean
    return precision, pull - ahead * (trajectories.mean[following] - step)
