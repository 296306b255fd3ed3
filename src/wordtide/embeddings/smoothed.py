"""Trajectories of the smoother: a Gaussian over all times at once, given all data.

The posterior is stored as the mean and the data precision h at the knots. The prior determines the rest: the
state between two knots depends on both, the state before the first or after the last knot on that knot alone.
So the cost of variances, covariances and joint samples is linear in the number of knots and times.

Means are weighted sums of the means at the knots. The variances of a few words are computed in NumPy, those
of many words by the compiled passes of `model`, which are imported on first use.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from wordtide.embeddings.dynamics import Jumps
from wordtide.embeddings.messages import smoothed
from wordtide.embeddings.state_rows import CheckedRows, PatchedRows, SignedRows
from wordtide.embeddings.trajectories import Beliefs, MovementVariance, Years
from wordtide.model.gaussians import condition, look_back, predict
from wordtide.model.knots import Bridges, Knots, messages, transitions
from wordtide.model.prior import Diffusion, TimePoints, slice_before
from wordtide.types import Floats, Indices, Integers, Reals, Singles

_ROWS_AT_ONCE = 256  # float64 rows that stay in the processor's cache
_FEW_WORDS = 8  # words whose curves NumPy computes faster than the compiler loads
#: The number of means from which on a compiled pass computes them.
MANY_ROWS = 2000
#: Memory for the variances of slices that are computed together.
BYTES_AT_ONCE = 1 << 27


@dataclass(frozen=True)
class SliceWeights:
    """Means at slices as weighted sums of the means at the knots before and after.

    The fields are the rows of these knots (-1 if there is none) and their weights, each (n, T).
    """

    before: Integers
    after: Integers
    before_weight: Floats
    after_weight: Floats


class SmoothedTrajectories:
    """Answers as in `Trajectories`, from means and data precisions (K, d) at the knots, and from jumps."""

    def __init__(
        self, knots: Knots, prior: Diffusion, mean: Singles, precision: Singles, jumps: Jumps | None = None
    ) -> None:
        self.knots, self.prior, self.jumps = knots, prior, jumps
        # plain views of memory maps, because indexing a map itself is slow
        self.fitted_mean, self.precision = (
            np.asarray(rows) if isinstance(rows, np.ndarray) else rows for rows in (mean, precision)
        )
        self.grid = prior.times

    @cached_property
    def mean(self) -> Any:
        """Means at the knots, like an array (K, d): as fitted, or smoothed again for words that change."""
        if self.jumps is None:
            return self.fitted_mean
        itself = copy(self)  # a reference cycle would keep the arrays of a discarded model in memory
        return PatchedRows(self.fitted_mean, self.knots, self.jumps.words, itself._smoothed_again)

    def _smoothed_again(self, words: Integers) -> Singles:
        """Smooth the messages of some words again, with the jumps that were found, and return their means."""
        rows = np.concatenate([np.r_[self.knots.rows_of(int(word))] for word in words])
        starts = np.concatenate([[0], np.cumsum(self.knots.starts[words + 1] - self.knots.starts[words])])
        precision = self.precision[rows].astype(np.float64)
        fitted = transitions(starts, self.prior.slices[self.knots.slices[rows]])
        means = messages(starts, *fitted, self.fitted_mean[rows].astype(np.float64), precision)
        points = self._at_knots(rows, np.repeat(words, np.diff(starts)))
        if len(words) > _FEW_WORDS:
            return smoothed(starts, points, precision, means)[0].astype(np.float32)
        gain, noise = transitions(starts, points)
        for begin, end in pairwise(starts):
            own = slice(begin, end)
            means[own], variances = _filtered(gain[own], noise[own], precision[own], means[own])
            for k in range(end - 2, begin - 1, -1):
                before, after = (gain[k + 1], noise[k + 1], means[k]), (means[k + 1], 0.0)
                means[k] = look_back(*before, variances[k - begin], *after)[0]
        return means.astype(np.float32)

    @cached_property
    def transitions(self) -> tuple[Floats, Floats]:
        """Gain and noise of the prior from knot to knot, (K,) each, with jumps."""
        return transitions(self.knots.starts, self._at_slices(self.knots.words, self.knots.slices))

    def _at_knots(self, rows: Integers, words: Integers) -> TimePoints:
        """The prior of words at the knots in some rows; where a row is negative, any point."""
        there = np.maximum(rows, 0)
        return self._at_slices(words, self.knots.slices[there] if len(self.knots) else there)

    def _at_slices(self, words: Integers, slices: Indices) -> TimePoints:
        points = self.prior.slices[slices]
        return points if self.jumps is None else self.jumps.applied(points, words, self.grid[slices])

    def _at(self, words: Integers, times: Floats) -> TimePoints:
        points = self.prior.at(times)
        return points if self.jumps is None else self.jumps.applied(points, words, times)

    def word_means(self, word: int, times: Floats) -> Floats:
        before, after = self.knots.around_one(word, slice_before(self.grid, times))
        words = np.full(len(times), word)
        return self._means(words, before, after, self._at(words, times))

    def means_at(self, time: float, words: Integers | None = None) -> Floats:
        times = np.array([time])
        before, after = self.knots.around(int(slice_before(self.grid, times)[0]), words)
        chosen = np.arange(len(before)) if words is None else words
        return self._means(chosen, before, after, self._at(chosen, np.repeat(times, len(before))))

    def means_of_each(self, words: Integers, times: Floats) -> Floats:
        before, after = self.knots.around_each(words, slice_before(self.grid, times))
        return self._means(words, before, after, self._at(words, times))

    def means_at_places(self, words: Integers, slices: Integers) -> Floats:
        before, after = self.knots.around_each(words, slices)
        return self._means(words, before, after, self._at_slices(words, slices))

    def word_variances(self, word: int, times: Floats) -> Floats:
        chain, gain, noise, variances = self._filtered_chain(word, times)
        for k in range(len(chain) - 2, -1, -1):
            later = variances[k + 1]
            variances[k] = look_back(gain[k + 1], noise[k + 1], 0.0, variances[k], 0.0, later)[1]
        return np.asarray(variances[np.searchsorted(chain, times)])

    def variance_curves(self, words: Integers, times: Floats) -> Floats:
        if 0 < len(words) <= _FEW_WORDS:
            return np.stack([self.word_variances(int(word), times) for word in words])
        found = self.variances_of_each(np.repeat(words, len(times)), np.tile(times, len(words)))
        return found.reshape(len(words), len(times), self.mean.shape[1])

    def variances_at(self, time: float, words: Integers | None = None) -> Floats:
        chosen = np.arange(len(self.knots.starts) - 1) if words is None else words
        return self.variances_of_each(chosen, np.full(len(chosen), time))

    def variances_of_each(self, words: Integers, times: Floats) -> Floats:
        return self._variances(words, slice_before(self.grid, times), self._at(words, times))

    def variances_at_places(self, words: Integers, slices: Integers) -> Floats:
        return self._variances(words, slices, self._at_slices(words, slices))

    def means_at_slices(self, words: Integers) -> Iterator[Floats]:
        return (self.means_at_places(words, np.full(len(words), t)) for t in range(len(self.grid)))

    def variances_at_slices(self, words: Integers) -> Iterator[Floats]:
        """Variances of some words at each slice, (n, d), in order of time.

        Each pass over the knots serves as many slices as fit into `BYTES_AT_ONCE`.
        """
        at_once = max(1, BYTES_AT_ONCE // (8 * max(1, len(words)) * self.mean.shape[1]))
        for first in range(0, len(self.grid), at_once):
            slices = np.arange(first, min(first + at_once, len(self.grid)))
            found = self.variances_at_places(np.tile(words, len(slices)), np.repeat(slices, len(words)))
            yield from found.reshape(len(slices), len(words), self.mean.shape[1])

    def weights_at_slices(self, words: Integers) -> SliceWeights:
        """The weights by which the means of words at all slices follow from those at their knots."""
        pairs, slices = np.repeat(words, len(self.grid)), np.tile(np.arange(len(self.grid)), len(words))
        before, after = self.knots.around_each(pairs, slices)
        weights = self._bridges(pairs, before, after, self._at_slices(pairs, slices)).weights()
        shape = (len(words), len(self.grid))
        reshaped = (weight.reshape(shape) for weight in weights)
        return SliceWeights(before.reshape(shape), after.reshape(shape), *reshaped)

    def movement(
        self, words: Integers, earlier: Years, later: Years, first_weight: Reals, last_weight: Reals
    ) -> MovementVariance:
        from wordtide.model import chain_queries

        run: Any = chain_queries.contrasts_of_chains
        moved = MovementVariance(*np.empty((2, len(words), self.mean.shape[1])))
        times = [np.broadcast_to(np.asarray(time, np.float64), len(words)) for time in (earlier, later)]
        starts, rows, gain, noise, ends = self._chains_with(words, *times)
        weights = np.zeros(len(rows))
        weights[ends[0]], weights[ends[1]] = -first_weight, last_weight
        precision = self._of_words(self.precision, words)
        run(starts, gain, noise, rows, weights, precision, moved.posterior, moved.sampling)
        return moved

    def covariance(self, word: int, one: float, other: float) -> Floats:
        """Covariance of each coordinate between two different times, (d,), propagated along the chain."""
        earlier, later = sorted((one, other))
        times, gain, noise, filtered = self._filtered_chain(word, np.array([earlier, later]))
        first, last = np.searchsorted(times, [earlier, later])
        covariance: Floats = self.word_variances(word, np.array([later]))[0]
        for k in range(first, last):
            covariance *= look_back(gain[k + 1], noise[k + 1], 0.0, filtered[k], 1.0, 0.0)[0]
        return covariance

    def draw(self, word: int, size: int, times: Floats, generator: np.random.Generator) -> Floats:
        """Joint draws at the times, (size, n, d): the last time first, then each given its successor."""
        chain, gain, noise, filtered = self._filtered_chain(word, times)
        offsets = generator.standard_normal((len(chain), size, self.mean.shape[1]))
        offsets[-1] *= np.sqrt(filtered[-1])
        for k in range(len(chain) - 2, -1, -1):
            center, variance = look_back(gain[k + 1], noise[k + 1], 0.0, filtered[k], offsets[k + 1], 0.0)
            offsets[k] = center + np.sqrt(variance) * offsets[k]
        offsets += self.word_means(word, chain)[:, None]
        return np.ascontiguousarray(offsets[np.searchsorted(chain, times)].transpose(1, 0, 2))

    def beliefs(self, words: Integers, number: int) -> Beliefs:
        from wordtide.model import chain_queries

        run: Any = chain_queries.beliefs_around_knots
        found = Beliefs(*np.empty((4, len(words), self.mean.shape[1])))
        here = self.knots.rows_after(number, words) - 1
        run(
            self.knots.starts,
            *transitions(self.knots.starts, self.prior.slices[self.knots.slices]),
            *(self._of_words(rows, words) for rows in (self.fitted_mean, self.precision)),
            words,
            here,
            *vars(found).values(),
        )
        return found

    def _of_words(self, rows: Any, words: Integers) -> Any:
        """The array (K, d) itself, for compiled code that reads the rows of some words."""
        return rows.with_words(self.knots, words) if isinstance(rows, CheckedRows) else rows

    def _means(self, words: Integers, before: Integers, after: Integers, at: TimePoints) -> Floats:
        """Means of words at points between their knots in rows `before` and `after` (-1: none), (n, d)."""
        if not len(self.mean):
            return np.zeros((len(before), self.mean.shape[1]))
        weights = self._bridges(words, before, after, at).weights()
        means = np.zeros((len(before), self.mean.shape[1]))
        if len(means) >= MANY_ROWS and isinstance(self.fitted_mean, np.ndarray):
            from wordtide.model import chain_queries

            run: Any = chain_queries.means_at_times
            unchanged = self.mean, np.zeros(0, dtype=np.int32), np.zeros((0, 0), dtype=np.float32)
            run(*(unchanged if self.jumps is None else self.mean.parts), before, after, *weights, means)
            return means
        rows = np.maximum([before, after], 0)  # missing knots have weight 0
        for first in range(0, len(means), _ROWS_AT_ONCE):
            some = slice(first, first + _ROWS_AT_ONCE)
            for row, weight in zip(rows, weights, strict=True):
                part = self.mean[row[some]].astype(np.float64)
                part *= weight[some, None]
                means[some] += part
        return means

    def _variances(self, words: Integers, slices: Integers, at: TimePoints) -> Floats:
        """Variances of each word at its point, which is in its slice or before the next, (n, d)."""
        from wordtide.model import chain_queries

        run: Any = chain_queries.variances_at_times
        order = np.argsort(words, kind="stable")
        distinct, asked = np.unique(words[order], return_index=True)
        before, after = self.knots.around_each(words[order], slices[order])
        bridges = self._bridges(words[order], before, after, at[order])
        rows = np.where(after >= 0, after, self.knots.starts[words[order] + 1])
        out = np.empty((len(words), self.mean.shape[1]))
        run(
            *(self.knots.starts, *self.transitions, self._of_words(self.precision, distinct)),
            *(distinct, np.append(asked, len(words)), rows),
            *vars(bridges).values(),
            *(order, out),
        )
        return out

    def _bridges(self, words: Integers, before: Integers, after: Integers, at: TimePoints) -> Bridges:
        knots = (self._at_knots(rows, words) for rows in (before, after))
        return Bridges.over(next(knots), before >= 0, at, next(knots), after >= 0)

    def _filtered_chain(self, word: int, times: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The chain of a word's knots and further times without data, n points in order of time.

        Returns times, gains and noises (n,), and the variances (n, d) given the data up to each point.
        """
        rows = self.knots.rows_of(word)
        knots = self.grid[self.knots.slices[rows]]
        chain = np.unique(np.concatenate([knots, times]))
        precision = np.zeros((len(chain), self.mean.shape[1]))
        precision[np.searchsorted(chain, knots)] = self.precision[rows]
        gain, noise = transitions(np.array([0, len(chain)]), self._at(np.full(len(chain), word), chain))
        return chain, gain, noise, _filtered(gain, noise, precision, np.zeros_like(precision))[1]

    def _chains_with(
        self, words: Integers, earlier: Floats, later: Floats
    ) -> tuple[Integers, Integers, Floats, Floats, tuple[Integers, Integers]]:
        """Chains of the knots of words and two times each, for `chain_queries.contrasts_of_chains`.

        Returns starts (n + 1,); rows, gains and noises of all steps; and the steps of the two times, (n,)
        each. A time is a separate step even where the word has a knot.
        """
        begin = self.knots.starts[words]
        starts = np.concatenate([[0], np.cumsum(self.knots.starts[words + 1] - begin + 2)])
        first, second = (
            self.knots.rows_until_each(words, slice_before(self.grid, time)) - begin + added
            for added, time in enumerate((earlier, later))
        )
        sizes = np.diff(starts)
        number = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        behind = (number > np.repeat(first, sizes)).astype(np.int64) + (number > np.repeat(second, sizes))
        rows = np.repeat(begin, sizes) + number - behind
        ends = starts[:-1] + first, starts[:-1] + second
        rows[ends[0]] = rows[ends[1]] = -1
        points = self._at_knots(rows, np.repeat(words, sizes))
        for end, time in zip(ends, (earlier, later), strict=True):
            own = self._at(words, time)
            points.log_correlation[end], points.marginal[end] = own.log_correlation, own.marginal
        return starts, rows, *transitions(starts, points), ends


class SignedTrajectories(SmoothedTrajectories):
    """The context vectors S u of a model with tied contexts: words with means times `signs` (d,)."""

    def __init__(self, words: SmoothedTrajectories, signs: Singles) -> None:
        mean: Any = SignedRows(words.fitted_mean, signs)
        super().__init__(words.knots, words.prior, mean, words.precision, words.jumps)
        self._words, self._signs = words, signs

    @cached_property
    def mean(self) -> Any:
        return SignedRows(self._words.mean, self._signs)

    def _means(self, words: Integers, before: Integers, after: Integers, at: TimePoints) -> Floats:
        return self._words._means(words, before, after, at) * self._signs


def _filtered(gain: Floats, noise: Floats, precision: Floats, message: Floats) -> tuple[Floats, Floats]:
    """Means and variances along one chain, given the messages up to each step, (n, d) each."""
    means, variances = np.zeros_like(message), np.zeros_like(precision)
    for k in range(len(means)):  # the gain of the first step is 0
        before = predict(gain[k], noise[k], means[k - 1], variances[k - 1])
        means[k], variances[k] = condition(*before, precision[k], message[k])
    return means, variances
