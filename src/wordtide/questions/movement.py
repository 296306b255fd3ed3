"""How far words moved between two times, over which period, and when they were half-way.

**Change** is the expected cosine distance of a word's vectors at two times. A posterior mean moves less than
the vector itself, so with x = u / sqrt(E[|u|^2]) at each time, m and s the mean and variance of x, and r the
covariance of x_a and x_b, the cosine is about

    c = E[x_a . x_b] = sum_k m_ak m_bk + r_k,    Var = Var[x_a . x_b - c (|x_a|^2 + |x_b|^2) / 2]

because lengths do not count. All are those under the corpus's own prior and noise
(`embeddings.calibration`), which shrink the change of a word with little data toward that of other words. The
high end of the interval is the 95% point of a normal distribution with this mean and variance. If the word
may not have moved, the interval begins at 0 and leaves nothing out below, so its high end is the 90% point.

A change is **significant** if two lower bounds of it are positive. With x = u / |mean|, the cosine distance
of the means is |E[x_b] - E[x_a]|^2 / 2. In its direction e the word moved by e . (x_b - x_a), which is normal
under the fitted posterior; its variance includes the covariance between the times. The bounds are

- the low end of that normal interval;
- the movement that sampling does not explain. Noise determines e, so along e every frequent word seems to
  have moved, even one that is stationary: sampling moves its means, and their squared movement is a weighted
  sum of chi-squares, with the sampling variances of the coordinates as weights. Its mean plus 1.645 standard
  deviations is subtracted.

The smaller one is the low end of the interval, which is above 0 only if the word moved by more than noise.

**Half-way**: the time from which a word is nearer to its end than to its start. By cosine similarity, a
vector u is nearer to the end b than to the start a if u . (b/|b| - a/|a|) > 0. This is linear in u, so its
posterior at each time is normal, and the probability of being past half-way has a closed form. The interval
begins with the last slice before this probability first reaches 5 % and ends with the slice from which it
stays above 95 %: it inverts the 90% band of the curve, and the word may have crossed anywhere between two
slices. Only slices in which the word occurs count, so the interval spans gaps in which it does not occur, and
is never narrower than the step between two of its slices.
"""

import math
from dataclasses import dataclass, fields

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.trajectories import Years
from wordtide.questions.answers import QuestionTimes, empty_intervals, question_period
from wordtide.questions.similarity import SIDES
from wordtide.questions.vectors import STILL, Vectors, lengths_of
from wordtide.timeline import Time
from wordtide.types import Flags, Floats, Integers, Reals

#: A word's lifetime is from the slice of this occurrence to that of the same one counted from the end, so
#: that a few stray uses far from the others do not count.
STRAY = 5


def starts_and_ends(
    model: Embeddings, words: Integers, since: Time | None, until: Time | None
) -> tuple[Floats, Floats, list[str]]:
    """Return the start and end of each word in float years, (n,) each, and notes.

    A given time applies to all words. Otherwise a word starts at the slice of its fifth occurrence and ends
    at that of its fifth from last. If the two are out of order, the first or last slice is used.
    """
    if since is not None and until is not None:
        start, end, notes = question_period(model, since, until)
        return np.full(len(words), start), np.full(len(words), end), notes
    first, last = lifetimes(model, words)
    starts = first if since is None else np.full(len(words), model.year(since))
    ends = last if until is None else np.full(len(words), model.year(until))
    backward = starts >= ends
    if since is None:
        starts = np.where(backward, model.times[0], starts)
    if until is None:
        ends = np.where(backward, model.times[-1], ends)
    given = [time for time in (since, until) if time is not None]
    notes = list(QuestionTimes.of(model, given).notes) if given else []
    if (starts >= ends).any():
        question_period(
            model, "first" if since is None else since, "last" if until is None else until
        )  # raises the error
    return starts, ends, notes


def lifetimes(model: Embeddings, words: Integers) -> tuple[Floats, Floats]:
    """The times of the first and last slice of each word, except for a few stray occurrences, (n,) each."""
    places, values = model.fitted.occurrences.places, model.fitted.occurrences.values
    total = np.concatenate([np.zeros(1), np.cumsum(values, dtype=np.float64)])
    begin, end = places.starts[words], places.starts[words + 1]
    occurrences = total[end] - total[begin]
    few = occurrences < 2 * STRAY
    wanted = np.where(few, np.minimum(1.0, occurrences), STRAY)
    last_row = max(len(values) - 1, 0)
    first = np.clip(np.searchsorted(total, total[begin] + wanted, side="left") - 1, 0, last_row)
    last = np.clip(np.searchsorted(total, total[end] - wanted, side="right") - 1, 0, last_row)
    if not len(values):
        return np.full(len(words), model.times[0]), np.full(len(words), model.times[-1])
    seen = occurrences > 0
    slices = np.asarray(places.slices)
    return (
        np.where(seen, model.times[slices[first]], model.times[0]),
        np.where(seen, model.times[slices[last]], model.times[-1]),
    )


#: The 90% point of a standard normal distribution.
ONE_SIDE = 1.2815515655446004
#: The standard deviation of a change is larger by this factor, because the corpus's pace is an estimate too.
_PACE_ESTIMATED = 1.08
_OPPOSITE = 2.0  # the cosine distance of opposite vectors; rounding must not exceed it
_WORDS_AT_ONCE = 64  # words whose curves are in memory together


@dataclass(frozen=True)
class Halfway:
    """When the mean last crosses half-way, in float years, and the 90% interval; NaN where unknown."""

    date: float
    earliest: float
    latest: float


def halfway(model: Embeddings, vectors: Vectors, words: Integers, start: Years, end: Years) -> list[Halfway]:
    """Find when each word was half-way between its vectors at two times in order.

    Times are the same for all words, or given for each.
    """
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


def shown_halfway(
    model: Embeddings, vectors: Vectors, words: Integers, start: Years, end: Years
) -> list[Halfway]:
    """The half-way dates that answers show: none for filters.

    A filter learns of a movement after it took place, so its intervals seldom hold the date
    (docs/evidence.md).
    """
    if model.kind == "filter":
        return [Halfway(math.nan, math.nan, math.nan)] * len(words)
    return halfway(model, vectors, words, start, end)


def _slices_between(model: Embeddings, word: int, start: float, end: float) -> Floats:
    """The times of the slices between two times in which a word occurs, and both ends."""
    places = model.fitted.occurrences.places
    seen = model.times[places.slices[places.rows_of(int(word))]]
    return np.concatenate([[start], seen[(seen > start) & (seen < end)], [end]])


def _halfway(times: Floats, means: Floats, variances: Floats | None) -> Halfway:
    """The crossing of one word from its means and variances (n, d); no interval without variances."""
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
    """When the curve crosses zero for the last time, interpolated linearly between two slices."""
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


@dataclass(frozen=True)
class Movement:
    """How far the means of words moved between two times, in units of their lengths; fields are (n,).

    `squared`: the squared movement of the means. `least`: a lower bound of the squared movement in that
    direction; negative for a word that may not have moved. `spread`: the standard deviation of the movement
    in that direction. `noise`: the variance of the movement, summed over all directions.
    """

    squared: Floats
    least: Floats
    spread: Floats
    noise: Floats

    def __getitem__(self, rows: Integers) -> "Movement":
        return Movement(*(getattr(self, field.name)[rows] for field in fields(self)))

    def joined(self, other: "Movement") -> "Movement":
        """The movement of these words followed by that of others."""
        return Movement(
            *(np.concatenate([getattr(one, field.name) for one in (self, other)]) for field in fields(self))
        )

    @property
    def distance(self) -> Floats:
        """The cosine distance of the means."""
        return np.minimum(self.squared / 2.0, _OPPOSITE)

    @property
    def significant(self) -> Flags:
        """Whether words moved by more than the noise."""
        return np.asarray(self.least > 0.0)


@dataclass(frozen=True)
class Change:
    """The cosine distance between a word's vectors at two times; fields are (n,).

    Its expected value, its standard deviation, and its 90% interval, which begins at 0 if the word may not
    have moved.
    """

    expected: Floats
    deviation: Floats
    low: Floats
    high: Floats


def movement(vectors: Vectors, words: Integers, start: Years, end: Years) -> Movement:
    """Measure how far words moved between two times in order.

    Times are the same for all words, or given for each, (n,).
    """
    times = (np.broadcast_to(np.asarray(time, np.float64), len(words)) for time in (start, end))
    first, last = (vectors.means_of_each(words, time) for time in times)
    first_length, last_length = lengths_of(first), lengths_of(last)
    difference = last / last_length[:, None] - first / first_length[:, None]
    squared = np.einsum("nk,nk->n", difference, difference)
    if not vectors.uncertain:
        return Movement(squared, *(empty_intervals(len(words)) for _ in range(3)))
    moved = vectors.movement(words, start, end, 1.0 / first_length, 1.0 / last_length)
    length = np.sqrt(squared)
    spread = np.sqrt(np.einsum("nk,nk->n", _shares(difference, squared), moved.posterior))
    nearest = length - SIDES * spread
    beyond_sampling = (
        squared - moved.sampling.sum(axis=1) - SIDES * _squared_spread(difference, moved.sampling)
    )
    return Movement(
        squared=squared,
        least=np.minimum(nearest * np.abs(nearest), beyond_sampling),
        spread=spread,
        noise=moved.posterior.sum(axis=1).astype(np.float64),
    )


def change_of(vectors: Vectors, words: Integers, start: Years, end: Years, moved: Movement) -> Change:
    """The change of words with this movement; without a posterior it is the cosine distance itself."""
    if not vectors.uncertain:
        return Change(moved.distance, *(empty_intervals(len(words)) for _ in range(3)))
    expected, deviation = expected_change(vectors, words, start, end)
    low = np.maximum(moved.least / 2.0, 0.0)
    expected = np.maximum(expected, low)
    high = np.minimum(expected + np.where(moved.significant, SIDES, ONE_SIDE) * deviation, _OPPOSITE)
    return Change(expected, deviation, low, high)


def expected_change(vectors: Vectors, words: Integers, start: Years, end: Years) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the cosine distance between a word's vectors at two times, (n,) each."""
    own, every, share = vectors.recalibrated(words), np.arange(len(words)), vectors.noise_share
    ends = []
    for time in (start, end):
        times = np.broadcast_to(np.asarray(time, np.float64), len(words))
        mean = own.means_of_each(every, times)
        variances = [side.variances_of_each(every, times) for side in own.sides]
        variance, uneven = own.summed(variances, 2), own.uneven(variances)
        length = np.sqrt((mean**2).sum(axis=1) + share * own.together * variance.sum(axis=1))[:, None]
        of_units = own.together / length**2
        ends.append((mean / length, variance * of_units, uneven * of_units, 1.0 / length))
    (first, first_variance, first_uneven, first_weight), (last, last_variance, last_uneven, last_weight) = (
        ends
    )
    moved = own.movement(every, start, end, first_weight[:, 0], last_weight[:, 0]).posterior
    both = (first_variance + last_variance - moved) / 2.0
    cosine = (first * last).sum(axis=1) + share * both.sum(axis=1)
    c = cosine[:, None]
    first_variance, last_variance = first_variance + first_uneven, last_variance + last_uneven
    turned, turned_back = last - c * first, first - c * last
    known = turned**2 * first_variance + 2.0 * turned * turned_back * both + turned_back**2 * last_variance
    unknown = (both - c * first_variance) ** 2 + (both - c * last_variance) ** 2
    unknown += 2.0 * (last_variance - c * both) * (first_variance - c * both)
    variance = known.sum(axis=1) + share * unknown.sum(axis=1) / 2.0
    return np.minimum(1.0 - cosine, _OPPOSITE), _PACE_ESTIMATED * np.sqrt(np.maximum(variance, 0.0))


def _squared_spread(mean: Floats, variance: Reals) -> Floats:
    """The standard deviation of |x|^2 for normal vectors x with these means and variances (n, d), (n,)."""
    return np.asarray(np.sqrt(np.einsum("nk,nk->n", 2.0 * variance + 4.0 * mean**2, variance)))


def _shares(difference: Floats, squared: Floats) -> Floats:
    """The share of each coordinate in the direction of the movement, (n, d); 0 for a stationary word."""
    still = (squared < STILL**2)[:, None]
    return np.where(still, 1.0 / difference.shape[1], difference**2 / np.where(still, 1.0, squared[:, None]))
