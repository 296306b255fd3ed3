"""Trajectories of the filter: at each slice a Gaussian given the data of that slice and those before it.

Between knots the belief is carried forward by Eq. 13, slice by slice; between slices, and after the last, it only diffuses.
Before a word's first knot, and before the first slice, there is the prior.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wordtide.diffusion import Diffusion, Floats, Passage
from wordtide.embeddings.chain_moments import Moments, MovementVariance, Reals
from wordtide.embeddings.knots import Integers, Knots, narrowed
from wordtide.embeddings.prior_places import PriorPlaces, slice_before
from wordtide.embeddings.trajectories import rows_or_zeros
from wordtide.errors import SettingsError

Singles = npt.NDArray[np.float32]


class PassageTable:
    """The filter's passage between any two slices, put together from those over 1, 2, 4, 8, ... slices."""

    def __init__(self, diffusion: Diffusion) -> None:
        self.diffusion = diffusion

    @cached_property
    def _doublings(self) -> list[Passage]:
        """Element j: from slice t over 2^j slices, for all t where that is possible; fields (T - 2^j,)."""
        steps = [self.diffusion.step(t) for t in range(len(self.diffusion) - 1)]  # Eq. 13
        level = Passage(*(np.array([getattr(step, name) for step in steps]) for name in ("pull", "gain", "noise")))
        levels = []
        while len(level.pull):
            levels.append(level)
            length = 1 << (len(levels) - 1)
            level = _rows(level, slice(None, -length)).then(_rows(level, slice(length, None)))
        return levels

    def between(self, start: Integers, stop: Integers) -> Passage:
        """From slices `start` to slices `stop`, none earlier, with nothing observed between; fields (n,)."""
        pull, gain, noise = np.zeros(len(start)), np.ones(len(start)), np.zeros(len(start))
        place = start.copy()
        for j, level in enumerate(self._doublings):
            n = np.flatnonzero((stop - start) >> j & 1)
            longer = Passage(pull[n], gain[n], noise[n]).then(_rows(level, place[n]))
            pull[n], gain[n], noise[n] = longer.pull, longer.gain, longer.noise
            place[n] += 1 << j
        return Passage(pull, gain, noise)


class FilteredTrajectories:
    """Answers from mean and variance (K, d) at the knots."""

    def __init__(self, knots: Knots, table: PassageTable, mean: Singles, variance: Singles) -> None:
        self.knots, self.table, self.mean, self.variance = knots, table, mean, variance
        self.diffusion, self.grid = table.diffusion, table.diffusion.times

    def word_means(self, word: int, times: Floats) -> Floats:
        """Means of one word, (n, d)."""
        return self._word(word, times)[0]

    def word_variances(self, word: int, times: Floats) -> Floats:
        """Variances of one word, (n, d)."""
        return self._word(word, times)[1]

    def variance_curves(self, words: Integers, times: Floats) -> Floats:
        """Variances of some words at several times, (number of words, n, d)."""
        slices = slice_before(self.grid, times)
        curves = [self._moments(self.knots.around_one(int(word), slices)[0], slices, times)[1] for word in words]
        return np.array(curves).reshape(len(words), len(times), self.mean.shape[1])

    def means_at(self, time: float, words: Integers | None = None) -> Floats:
        """Means of some words, or of all, at one time, (n, d)."""
        return self._some_words(time, words)[0]

    def variances_at(self, time: float, words: Integers | None = None) -> Floats:
        """Variances of some words, or of all, at one time, (n, d)."""
        return self._some_words(time, words)[1]

    def means_at_places(self, words: Integers, slices: Integers) -> Floats:
        """Means of words at slices, pair by pair, (n, d)."""
        return self._at_places(words, slices)[0]

    def means_of_each(self, words: Integers, times: Floats) -> Floats:
        """Means of words at times, pair by pair, (n, d)."""
        return self._each(words, times)[0]

    def variances_of_each(self, words: Integers, times: Floats) -> Floats:
        """Variances of words at times, pair by pair, (n, d)."""
        return self._each(words, times)[1]

    def means_at_slices(self, words: Integers) -> Iterator[Floats]:
        """For each slice the means of words whose numbers follow each other, (n, d): one array, which is filled anew each time.

        The knots are gone through in order of time, and what lies between is worked out in arrays that stay in the cache.
        """
        first, last = int(self.knots.starts[words[0]]), int(self.knots.starts[words[-1] + 1])
        slices = np.asarray(self.knots.slices[first:last])
        order = np.argsort(narrowed(slices), kind="stable")
        ends = np.searchsorted(slices[order], np.arange(len(self.grid) + 1))
        place = (self.knots.words_of(first + order) - words[0]).astype(np.int64)
        at_knots, spread_at_knots = self.mean[first:last], self.variance[first:last]
        mean, variance, means, shrink = np.zeros((4, len(words), self.mean.shape[1]))
        passage = Passage.none(len(words))
        for t in range(len(self.grid)):
            if t > 0:
                passage = passage.then(self.diffusion.step(t - 1))  # Eq. 13
            rows, here = order[ends[t] : ends[t + 1]], place[ends[t] : ends[t + 1]]
            passage.begin_anew(here)
            mean[here], variance[here] = at_knots[rows], spread_at_knots[rows]
            np.multiply(variance, passage.pull[:, None], out=shrink)
            shrink += 1.0
            np.divide(passage.gain[:, None], shrink, out=shrink)
            yield np.multiply(mean, shrink, out=means)

    def variances_at_places(self, words: Integers, slices: Integers) -> Floats:
        """Variances of words at slices, pair by pair, (n, d)."""
        return self._at_places(words, slices)[1]

    def movement(
        self, words: Integers, earlier: Moments, later: Moments, first_weight: Reals, last_weight: Reals
    ) -> MovementVariance:
        """Variances of last_weight x(later) - first_weight x(earlier) for some words, with weights (n,).

        What the two times have in common is not known, so the sum of both variances stands for both: more than the truth.
        """
        times = (np.broadcast_to(np.asarray(time, np.float64), len(words)) for time in (earlier, later))
        first, last = (self._each(words, time)[1] for time in times)
        total = first_weight[:, None] ** 2 * first + last_weight[:, None] ** 2 * last
        return MovementVariance(total, total)

    def prior_variances(self, times: Floats) -> Floats:
        """The variance of a coordinate under the prior of all slices, (n,), which the filter itself comes to know late."""
        return PriorPlaces(self.diffusion).at(times).marginal

    def covariance(self, word: int, one: float, other: float) -> Floats:
        """An error: the filter's posterior is one for each time."""
        raise SettingsError(
            "A model fitted by filtering knows each time on its own, not how two times go together.",
            "Fit the model by smoothing for questions about two times at once.",
        )

    def draw(self, word: int, size: int, times: Floats, generator: np.random.Generator) -> Floats:
        """Joint draws at the times, (size, n, d): filter forward, sample backward.

        The last slice is drawn from the filter; each moment before it from the filter's belief there times the kernel of
        Eq. 13 to the moment after it. So a draw looks back from the end with all data, and early moments scatter less than
        the filter's variance, which knows the past only.
        """
        if times.min() < self.grid[0]:
            raise SettingsError(
                f"A filtered trajectory begins with the first slice, {self.grid[0]:.2f}; {times.min():.2f} is before it.",
                "Ask for later times, or fit the model by smoothing.",
            )
        chain = np.unique(np.concatenate([self.grid[self.knots.slices[self.knots.rows_of(word)]], self.grid[-1:], times]))
        mean, variance = self._word(word, chain)
        pull, gain, noise = self._steps(chain)
        states = generator.standard_normal((len(chain), size, self.mean.shape[1]))
        states[-1] = mean[-1] + np.sqrt(variance[-1]) * states[-1]
        for k in range(len(chain) - 2, -1, -1):
            shrink = 1.0 / (1.0 + pull[k] * variance[k])
            predicted = gain[k] ** 2 * shrink * variance[k] + noise[k]
            back = gain[k] * shrink * variance[k] / predicted
            center = shrink * mean[k] + back * (states[k + 1] - gain[k] * shrink * mean[k])
            states[k] = center + np.sqrt(shrink * variance[k] * noise[k] / predicted) * states[k]
        return np.ascontiguousarray(states[np.searchsorted(chain, times)].transpose(1, 0, 2))

    def _steps(self, chain: Floats) -> tuple[Floats, Floats, Floats]:
        """Pull, gain and noise from each moment of a chain to the next, (n - 1,)."""
        t = slice_before(self.grid, chain)
        here, there = t[:-1], t[1:]
        following = np.minimum(here + 1, len(self.grid) - 1)
        crossing = here < there
        rest = np.where(crossing, self.diffusion.constant * (self.grid[following] - chain[:-1]), 1.0)
        noise = 1.0 / (1.0 / rest + 1.0 / self.diffusion.prior_variance)
        to_slice = Passage(1.0 / (self.diffusion.prior_variance + rest), noise / rest, noise)  # Eq. 13 over the rest of a step
        whole = to_slice.then(self.table.between(np.where(crossing, following, 0), np.where(crossing, there, 0)))
        since = np.where(crossing, self.grid[there], chain[:-1])
        return (
            np.where(crossing, whole.pull, 0.0),
            np.where(crossing, whole.gain, 1.0),
            np.where(crossing, whole.noise, 0.0) + self.diffusion.constant * (chain[1:] - since),
        )

    def _word(self, word: int, times: Floats) -> tuple[Floats, Floats]:
        t = slice_before(self.grid, times)
        return self._moments(self.knots.around_one(word, t)[0], t, times)

    def _some_words(self, time: float, words: Integers | None) -> tuple[Floats, Floats]:
        times = np.full(len(self.knots.starts) - 1 if words is None else len(words), time)
        t = slice_before(self.grid, times)
        return self._moments(self.knots.around(int(t[0]), words)[0] if len(t) else t, t, times)

    def _each(self, words: Integers, times: Floats) -> tuple[Floats, Floats]:
        t = slice_before(self.grid, times)
        after = self.knots.rows_until_each(words, t)
        return self._moments(np.where(after > self.knots.starts[words], after - 1, -1), t, times)

    def _at_places(self, words: Integers, slices: Integers) -> tuple[Floats, Floats]:
        after = self.knots.rows_until_each(words, slices)
        return self.predicted(np.where(after > self.knots.starts[words], after - 1, -1), slices)

    def predicted(self, rows: Integers, t: Integers) -> tuple[Floats, Floats]:
        """Mean and variance (n, d) at slices t from the knots in `rows` (-1: none yet, so from the prior), by Eq. 13."""
        seen = rows >= 0
        mean, variance = rows_or_zeros(self.mean, rows), rows_or_zeros(self.variance, rows)
        variance[~seen] = self.diffusion.prior_variance  # Eq. 13 begins with N(0, sigma_0^2) at the first slice
        start = np.zeros(len(rows), dtype=np.int64)
        start[seen] = self.knots.slices[rows[seen]]
        return self.table.between(start, t).predict(mean, variance)

    def _moments(self, rows: Integers, t: Integers, times: Floats) -> tuple[Floats, Floats]:
        """Mean and variance (n, d) at times whose slices are t, from the last knots' rows; without one (-1) from the prior."""
        mean, variance = self.predicted(rows, np.maximum(t, 0))
        since = np.where(t >= 0, times - self.grid[np.maximum(t, 0)], 0.0)
        return mean, variance + self.diffusion.constant * since[:, None]


def _rows(passage: Passage, rows: Integers | slice) -> Passage:
    return Passage(passage.pull[rows], passage.gain[rows], passage.noise[rows])
