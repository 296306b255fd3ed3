"""Many smoothed trajectories at once: their variances at one moment, and how sure their movement between two moments is.

Every knot is visited a fixed number of times. All of it adds, multiplies and divides positive numbers (only the two ends of a
movement have opposite signs), so nothing cancels and single precision is enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.model.knots import Integers, Knots
from wordtide.model.prior import Diffusion, Floats, Places, slice_before
from wordtide.model.variances import passages

Singles = npt.NDArray[np.float32]
Reals = npt.NDArray[np.floating]
#: One moment in float years for all words, or one for each, (n,).
Moments = float | npt.NDArray[np.float64]

_WORDS_AT_ONCE = 256  # fewer cost more in calls, more in memory


@dataclass(frozen=True)
class MovementVariance:
    """How sure a movement, the difference of scaled vectors at two times, is: variances of each coordinate, (n, d).

    `posterior`: of the movement, given the data. `sampling`: of its posterior mean, from one sample of the data to another.
    """

    posterior: Reals
    sampling: Reals


class ChainMoments:
    """Answers for chains with knots `knots` to which the data add `precision` (K, d)."""

    def __init__(self, knots: Knots, prior: Diffusion, precision: Singles) -> None:
        self.knots, self.prior, self.precision = knots, prior, precision
        gain, noise = passages(knots.starts, prior.slices[knots.slices])
        self.gain, self.noise = gain.astype(np.float32), noise.astype(np.float32)

    def variances(self, words: Integers, time: float) -> Singles:
        """Variances of some words at one time, (n, d)."""
        variances = np.empty((len(words), self.precision.shape[1]), np.float32)
        moment = self.prior.at(np.array([time]))
        for block in self._blocks(words):
            starts, stops = self.knots.starts[words[block]], self.knots.starts[words[block] + 1]
            middle = self.rows_until(words[block], time)
            before = self._variance_before(starts, middle, moment)
            variances[block] = before / (1.0 + before * self._precision_after(middle, stops, moment))
        return variances

    def movement(
        self, words: Integers, earlier: Moments, later: Moments, first_weight: Reals, last_weight: Reals
    ) -> MovementVariance:
        """Variances of last_weight x(later) - first_weight x(earlier) for some words, with weights (n,).

        With S the posterior's covariance and c the weights at the two times, y = S c: the posterior variance is c . y. The
        posterior mean is S times what the data say, whose variance is the data's precision h: that of c . mean is sum h y^2.
        """
        shape = (len(words), self.precision.shape[1])
        moved = MovementVariance(np.empty(shape, np.float32), np.empty(shape, np.float32))
        first, last = (np.broadcast_to(np.asarray(time, np.float64), len(words)) for time in (earlier, later))
        for block in self._blocks(words):
            weights = (-first_weight[block].astype(np.float32), last_weight[block].astype(np.float32))
            chains = _chains(self, words[block], first[block], last[block])
            moved.posterior[block], moved.sampling[block] = chains.solved(weights)
        return moved

    def _blocks(self, words: Integers) -> Iterator[Integers]:
        """Places in `words`, some at a time; words alike in their number of knots are worked on together."""
        order = np.argsort(-(self.knots.starts[words + 1] - self.knots.starts[words]), kind="stable")
        for first in range(0, len(words), _WORDS_AT_ONCE):
            yield order[first : first + _WORDS_AT_ONCE]

    def rows_until(self, words: Integers, time: Moments) -> Integers:
        """For each word the row after its last knot at or before a time, (n,)."""
        slices = slice_before(self.prior.times, np.atleast_1d(np.asarray(time, np.float64)))
        return self.knots.rows_until_each(words, np.broadcast_to(slices, len(words)))

    def _variance_before(self, starts: Integers, stops: Integers, moment: Places) -> Singles:
        """The variance at a moment given the knots in rows `starts` to `stops`, all of them before it, (n, d)."""
        variance = np.zeros((len(starts), self.precision.shape[1]), np.float32)
        for k, some in enumerate(_with_more_than(stops - starts)):
            rows = starts[some] + k
            one, added = variance[some], self.precision[rows]
            one *= self.gain[rows, None] ** 2
            one += self.noise[rows, None]
            added *= one
            added += 1.0
            one /= added
            variance[some] = one
        known = stops > starts
        gain, noise = self._places(stops - 1, known).to(moment[np.zeros(len(stops), dtype=np.int64)])
        variance *= np.where(known, gain, 0.0)[:, None] ** 2
        variance += np.where(known, noise, moment.marginal)[:, None]
        return variance

    def _precision_after(self, starts: Integers, stops: Integers, moment: Places) -> Singles:
        """The precision that the knots in rows `starts` to `stops`, all of them after a moment, put on it, (n, d)."""
        precision = np.zeros((len(starts), self.precision.shape[1]), np.float32)
        first_gain, first_noise = moment[np.zeros(len(starts), dtype=np.int64)].to(
            self._places(starts, stops > starts)
        )
        for k, some in enumerate(_with_more_than(stops - starts)):
            rows = stops[some] - 1 - k
            is_first = rows == starts[some]
            one = precision[some] + self.precision[rows]
            scale = (
                1.0
                + one * np.where(is_first, first_noise[some], self.noise[rows]).astype(np.float32)[:, None]
            )
            one *= np.where(is_first, first_gain[some], self.gain[rows]).astype(np.float32)[:, None] ** 2
            one /= scale
            precision[some] = one
        return precision

    def _places(self, rows: Integers, there: npt.NDArray[np.bool_]) -> Places:
        """The prior at knots; where there is none, at slice 0, which nobody then looks at."""
        slices = np.zeros(len(rows), dtype=np.int64)
        slices[there] = self.knots.slices[rows[there]]
        return self.prior.slices[slices]


@dataclass(frozen=True)
class _Chains:
    """Some words' chains of knots and two moments, the longest first: step by step, (steps, n) and (steps, n, d).

    `gain`, `noise`: of the prior from the step before; `precision`: what the data add. `active`: how many of the words have
    each step, (steps,). `ends`: the steps of the two moments, (2, n).
    """

    active: Integers
    gain: Singles
    noise: Singles
    precision: Singles
    ends: Integers

    def solved(self, weights: tuple[Singles, Singles]) -> tuple[Singles, Singles]:
        """With c the weights (n,) at the two moments and y = S c: c . y and sum h y^2, each (n, d).

        y is the mean of a Kalman smoother to which c is what the data say: forward, then back (Rauch, Tung and Striebel).
        """
        steps, words, dim = self.precision.shape
        mean, back = np.zeros((2, steps, words, dim), np.float32)
        variance = np.zeros((words, dim), np.float32)
        for k in range(steps):
            now = self.active[k]
            predicted = variance[:now] * self.gain[k, :now, None] ** 2
            predicted += self.noise[k, :now, None]
            if k > 0:
                np.divide(variance[:now], predicted, out=back[k - 1, :now])
                back[k - 1, :now] *= self.gain[k, :now, None]
                np.multiply(mean[k - 1, :now], self.gain[k, :now, None], out=mean[k, :now])
            shrink = self.precision[k, :now] * predicted
            shrink += 1.0
            mean[k, :now] /= shrink
            np.divide(predicted, shrink, out=variance[:now])
            for end, weight in zip(self.ends, weights, strict=True):
                here = np.flatnonzero(end[:now] == k)
                mean[k, here] += variance[here] * weight[here, None]
        return self._backward(mean, back, weights)

    def _backward(
        self, mean: Singles, back: Singles, weights: tuple[Singles, Singles]
    ) -> tuple[Singles, Singles]:
        steps, words, dim = self.precision.shape
        answer, posterior, sampling = np.zeros((3, words, dim), np.float32)
        later = 0
        for k in range(steps - 1, -1, -1):
            now = self.active[k]
            step = answer[:later]
            step -= mean[k, :later] * self.gain[k + 1, :later, None] if later else 0.0
            step *= back[k, :later]
            step += mean[k, :later]
            answer[later:now] = mean[k, later:now]
            sampling[:now] += self.precision[k, :now] * answer[:now] ** 2
            for end, weight in zip(self.ends, weights, strict=True):
                here = np.flatnonzero(end[:now] == k)
                posterior[here] += answer[here] * weight[here, None]
            later = now
        return posterior, sampling


def _chains(source: ChainMoments, words: Integers, earlier: Floats, later: Floats) -> _Chains:
    """Chains of knots and two moments. A moment is a step of its own also where the word has a knot: the noise between is 0."""
    starts, stops = source.knots.starts[words], source.knots.starts[words + 1]
    first, second = (source.rows_until(words, time) - starts for time in (earlier, later))
    ends = np.stack([first, second + 1])
    lengths = stops - starts + 2
    number = np.arange(int(lengths.max(initial=2)))[:, None]
    is_knot = (number < lengths) & (number != ends[0]) & (number != ends[1])
    rows = np.where(is_knot, starts + number - (number > ends[0]) - (number > ends[1]), 0)
    places = source.prior.slices[source.knots.slices[rows] if len(source.knots) else np.zeros_like(rows)]
    moments = (source.prior.at(earlier), source.prior.at(later))
    logs, marginals = places.log_correlation, places.marginal
    for moment, end in zip(moments, ends, strict=True):
        logs = np.where(number == end, moment.log_correlation, logs)
        marginals = np.where(number == end, moment.marginal, marginals)
    gain, noise = np.zeros(logs.shape), marginals.copy()
    gain[1:], noise[1:] = Places(logs[:-1], marginals[:-1]).to(Places(logs[1:], marginals[1:]))
    precision = np.zeros((*rows.shape, source.precision.shape[1]), np.float32)
    precision[is_knot] = source.precision[rows[is_knot]]
    active = np.count_nonzero(number < lengths, axis=1)
    return _Chains(active, gain.astype(np.float32), noise.astype(np.float32), precision, ends)


def _with_more_than(counts: Integers) -> Iterator[Integers]:
    """For k = 0, 1, ...: which words have more than k knots."""
    order = np.argsort(-counts, kind="stable")
    for k in range(int(counts.max(initial=0))):
        yield order[: np.searchsorted(-counts[order], -k, side="left")]
