"""Trajectories of the smoother: a Gaussian over all times at once, given all data.

It is stored as mean and data precision h at the knots. Everything else is the prior's: a moment between two knots hangs on both
of them (and on their covariance), one before the first or after the last knot on that knot alone. Further moments are knots
without data, so marginal variances, covariances and joint draws at any set of moments take time linear in their number.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.trajectories import rows_or_zeros
from wordtide.model.bridges import Bridge, backward_step, bridge
from wordtide.model.chain_moments import ChainMoments, Moments, MovementVariance, Reals
from wordtide.model.knots import Integers, Knots
from wordtide.model.prior import Diffusion, Floats, Places, slice_before
from wordtide.model.variances import marginal_variances, passages

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SliceWeights:
    """Means at slices as sums over knots: rows of the knot before and of the one after (-1: none), and weights, each (n, T)."""

    before: Integers
    after: Integers
    before_weight: Floats
    after_weight: Floats


class SmoothedTrajectories:
    """Answers from mean and data precision (K, d) at the knots."""

    def __init__(self, knots: Knots, prior: Diffusion, mean: Singles, precision: Singles) -> None:
        self.knots, self.prior = knots, prior
        self.mean, self.precision = (
            np.asarray(mean),
            np.asarray(precision),
        )  # a memory map is slow to take rows from
        self.grid = prior.times

    @cached_property
    def moments(self) -> ChainMoments:
        """Answers for many words at once."""
        return ChainMoments(self.knots, self.prior, self.precision)

    def word_means(self, word: int, times: Floats) -> Floats:
        """Means of one word, (n, d)."""
        before, after = self.knots.around_one(word, slice_before(self.grid, times))
        weights = self._bridge(before, after, self.prior.at(times))
        return weights.mean(rows_or_zeros(self.mean, before), rows_or_zeros(self.mean, after))

    def word_variances(self, word: int, times: Floats) -> Floats:
        """Variances of one word, (n, d)."""
        curves: Floats = self.variance_curves(np.array([word]), times)[0]
        return curves

    def variance_curves(self, words: Integers, times: Floats) -> Floats:
        """Variances of some words at several times, (number of words, n, d)."""
        variances, shifts = self._knot_variances(words)
        curves, at = np.empty((len(words), len(times), self.mean.shape[1])), self.prior.at(times)
        for place, word in enumerate(words):
            before, after = self.knots.around_one(int(word), slice_before(self.grid, times))
            left, right = (
                rows_or_zeros(variances, np.where(side >= 0, side + shifts[place], -1))
                for side in (before, after)
            )
            curves[place] = self._bridge(before, after, at).variance(left, right)
        return curves

    def means_at_places(self, words: Integers, slices: Integers) -> Floats:
        """Means of words at slices, pair by pair, (n, d)."""
        before, after = self._around_places(words, slices)
        weights = self._bridge(before, after, self.prior.slices[slices])
        return weights.mean(rows_or_zeros(self.mean, before), rows_or_zeros(self.mean, after))

    def means_of_each(self, words: Integers, times: Floats) -> Floats:
        """Means of words at times, pair by pair, (n, d)."""
        before, after = self._around_places(words, slice_before(self.grid, times))
        weights = self._bridge(before, after, self.prior.at(times))
        return weights.mean(rows_or_zeros(self.mean, before), rows_or_zeros(self.mean, after))

    def variances_at_places(self, words: Integers, slices: Integers) -> Floats:
        """Variances of words at slices, pair by pair, (n, d)."""
        return self._variances(words, slices, self.prior.slices[slices])

    def variances_of_each(self, words: Integers, times: Floats) -> Floats:
        """Variances of words at times, pair by pair, (n, d)."""
        return self._variances(words, slice_before(self.grid, times), self.prior.at(times))

    def _variances(self, words: Integers, slices: Integers, at: Places) -> Floats:
        """Variances of words at moments, pair by pair, each at one of `slices` or between it and the next, (n, d)."""
        distinct, place = np.unique(words, return_inverse=True)
        variances, shifts = self._knot_variances(distinct)
        before, after = self._around_places(words, slices)
        left, right = (
            rows_or_zeros(variances, np.where(side >= 0, side + shifts[place], -1))
            for side in (before, after)
        )
        return self._bridge(before, after, at).variance(left, right)

    def weights_at_slices(self, words: Integers) -> SliceWeights:
        """How the means of words at all slices are put together from those at their knots."""
        number, total = np.repeat(words, len(self.grid)), np.tile(np.arange(len(self.grid)), len(words))
        before, after = self._around_places(number, total)
        weights = self._bridge(before, after, self.prior.slices[total])
        shape = (len(words), len(self.grid))
        return SliceWeights(
            before.reshape(shape),
            after.reshape(shape),
            weights.before_weight.reshape(shape),
            weights.after_weight.reshape(shape),
        )

    def _knot_variances(self, words: Integers) -> tuple[Floats, Integers]:
        """Variances of some words at all their knots, one word after the other, and what to add to a row to find it there."""
        starts = np.concatenate([[0], np.cumsum(self.knots.starts[words + 1] - self.knots.starts[words])])
        rows = np.concatenate(
            [np.zeros(0, np.int64), *(np.r_[self.knots.rows_of(int(word))] for word in words)]
        )
        gain, noise = passages(starts, self.prior.slices[self.knots.slices[rows]])
        return marginal_variances(starts, gain, noise, self.precision[rows]).astype(np.float64, copy=False), (
            starts[:-1] - self.knots.starts[words]
        )

    def _around_places(self, words: Integers, slices: Integers) -> tuple[Integers, Integers]:
        """Pair by pair the rows of the last knot until a slice and of the first one after it; -1: none."""
        after = self.knots.rows_until_each(words, slices)
        return (
            np.where(after > self.knots.starts[words], after - 1, -1),
            np.where(after < self.knots.starts[words + 1], after, -1),
        )

    def means_at(self, time: float, words: Integers | None = None) -> Floats:
        """Means of some words, or of all, at one time, (n, d)."""
        moment = np.array([time])
        before, after = self.knots.around(int(slice_before(self.grid, moment)[0]), words)
        weights = self._bridge(before, after, self.prior.at(np.repeat(moment, len(before))))
        return weights.mean(rows_or_zeros(self.mean, before), rows_or_zeros(self.mean, after))

    def variances_at(self, time: float, words: Integers | None = None) -> Floats:
        """Variances of some words, or of all, at one time, (n, d)."""
        chosen = np.arange(len(self.knots.starts) - 1) if words is None else words
        return self.moments.variances(chosen, time).astype(np.float64)

    def movement(
        self, words: Integers, earlier: Moments, later: Moments, first_weight: Reals, last_weight: Reals
    ) -> MovementVariance:
        """Variances of last_weight x(later) - first_weight x(earlier) for some words, with weights (n,)."""
        return self.moments.movement(words, earlier, later, first_weight, last_weight)

    def covariance(self, word: int, one: float, other: float) -> Floats:
        """Covariance of each coordinate between two different times, (d,): gain by gain along the chain."""
        earlier, later = sorted((one, other))
        times, variance, _, gain = self._chain(word, np.array([earlier, later]))
        first, last = np.searchsorted(times, [earlier, later])
        product: Floats = gain[first:last].prod(axis=0) * variance[last]
        return product

    def draw(self, word: int, size: int, times: Floats, generator: np.random.Generator) -> Floats:
        """Joint draws at the times, (size, n, d): the last moment first, then each given the one after it."""
        chain, variance, conditional, gain = self._chain(word, times)
        mean = self.word_means(word, chain)
        offsets = generator.standard_normal((len(chain), size, self.mean.shape[1]))
        offsets[-1] *= np.sqrt(variance[-1])
        for k in range(len(chain) - 2, -1, -1):
            offsets[k] = gain[k] * offsets[k + 1] + np.sqrt(conditional[k]) * offsets[k]
        offsets += mean[:, None]
        return np.ascontiguousarray(offsets[np.searchsorted(chain, times)].transpose(1, 0, 2))

    def _bridge(self, before: Integers, after: Integers, at: Places) -> Bridge:
        """Weights of the knots in rows `before` and `after` (-1: none) for moments between them, fields (n,)."""
        left, right = (self.prior.slices[rows_or_first(self.knots.slices, rows)] for rows in (before, after))
        return bridge(left, before >= 0, at, right, after >= 0)

    def _chain(self, word: int, times: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The word's knots and further moments as one chain in order of time, of n moments.

        Times (n,), marginal variances (n, d), and of each moment given the next: variance and gain, (n - 1, d).
        """
        rows = self.knots.rows_of(word)
        knots = self.grid[self.knots.slices[rows]]
        chain = np.unique(np.concatenate([knots, times]))
        precision = np.zeros((len(chain), self.mean.shape[1]))
        precision[np.searchsorted(chain, knots)] = self.precision[rows]
        variance, link = self._chain_variances(self.prior.at(chain), precision)
        conditional, gain = backward_step(variance[:-1], variance[1:], link[:, None])
        return chain, variance, conditional, gain

    def _chain_variances(self, places: Places, precision: npt.NDArray[np.floating]) -> tuple[Floats, Floats]:
        """Marginal variances (n, d) at the places of one chain, and the prior's precision between neighbours (n - 1,)."""
        ends = np.array([0, len(precision)])
        gain, noise = passages(ends, places)
        return marginal_variances(ends, gain, noise, precision).astype(np.float64, copy=False), gain[
            1:
        ] / noise[1:]


def rows_or_first(slices: npt.NDArray[np.int32], rows: Integers) -> npt.NDArray[np.int32]:
    """The slices of knots; a negative row number gives slice 0, whose weight will be nought."""
    taken = np.zeros(len(rows), dtype=np.int32)
    taken[rows >= 0] = slices[rows[rows >= 0]]
    return taken
