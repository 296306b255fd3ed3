"""Trajectories of the filter: at each slice a Gaussian given the data of that slice and those before it.

After a knot, the prior propagates the posterior forward (Eq. 13). Before a word's first knot, and before the
first slice, the prior applies.
"""

from collections.abc import Iterator

import numpy as np

from wordtide.embeddings.trajectories import Beliefs, MovementVariance, Years, rows_or_zeros
from wordtide.errors import SettingsError
from wordtide.model.gaussians import condition, look_back
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion, slice_before
from wordtide.types import Floats, Integers, Reals, Singles

_ROWS_AT_ONCE = 256  # float64 rows that stay in the processor's cache


class FilteredTrajectories:
    """Answers as in `Trajectories`, from mean and variance (K, d) at the knots."""

    def __init__(self, knots: Knots, diffusion: Diffusion, mean: Singles, variance: Singles) -> None:
        self.knots, self.diffusion, self.mean, self.variance = knots, diffusion, mean, variance
        self.grid = diffusion.times

    def word_means(self, word: int, times: Floats) -> Floats:
        return self._word(word, times)[0]

    def word_variances(self, word: int, times: Floats) -> Floats:
        return self._word(word, times)[1]

    def variance_curves(self, words: Integers, times: Floats) -> Floats:
        slices = slice_before(self.grid, times)
        curves = [self.predicted(self.knots.around_one(int(word), slices)[0], times)[1] for word in words]
        return np.array(curves).reshape(len(words), len(times), self.mean.shape[1])

    def means_at(self, time: float, words: Integers | None = None) -> Floats:
        return self._some_words(time, words)[0]

    def variances_at(self, time: float, words: Integers | None = None) -> Floats:
        return self._some_words(time, words)[1]

    def means_at_places(self, words: Integers, slices: Integers) -> Floats:
        return self._at_places(words, slices)[0]

    def means_of_each(self, words: Integers, times: Floats) -> Floats:
        return self._each(words, times)[0]

    def variances_of_each(self, words: Integers, times: Floats) -> Floats:
        return self._each(words, times)[1]

    def means_at_slices(self, words: Integers) -> Iterator[Floats]:
        return (mean for mean, _ in self._at_slices(words, variances=False))

    def variances_at_slices(self, words: Integers) -> Iterator[Floats]:
        return (variance for _, variance in self._at_slices(words, variances=True))

    def _at_slices(self, words: Integers, variances: bool) -> Iterator[tuple[Floats, Floats]]:
        """Means and variances at each slice; only means without `variances`, unless they depend on them."""
        place = np.full(len(self.knots.starts) - 1, -1)
        place[words] = np.arange(len(words))
        shape = (len(words), self.mean.shape[1])
        mean, variance = np.zeros(shape), np.full(shape, self.diffusion.prior_variance)
        since = np.full(len(words), self.grid[0])
        both = variances or self.diffusion.pulls
        for rows, time in zip(self.knots.rows_by_slice(len(self.grid)), self.grid, strict=True):
            here = place[self.knots.words_of(rows)]
            rows, here = rows[here >= 0], here[here >= 0]
            since[here] = time
            mean[here] = self.mean[rows]
            if both:
                variance[here] = self.variance[rows]
            transition = self.diffusion.transition(since, np.full(len(words), time))
            found = (np.empty(shape), np.empty(shape) if both else np.zeros((len(words), 1)))
            for first in range(0, len(words), _ROWS_AT_ONCE):
                some = slice(first, first + _ROWS_AT_ONCE)
                known = variance[some] if both else 0.0
                found[0][some], found[1][some] = transition[some].predict(mean[some], known)
            yield found

    def variances_at_places(self, words: Integers, slices: Integers) -> Floats:
        return self._at_places(words, slices)[1]

    def movement(
        self, words: Integers, earlier: Years, later: Years, first_weight: Reals, last_weight: Reals
    ) -> MovementVariance:
        """Variances of last_weight x(later) - first_weight x(earlier) for some words, with weights (n,).

        The covariance of the two times is unknown, so both are set to the sum of the variances, an upper
        bound.
        """
        times = (np.broadcast_to(np.asarray(time, np.float64), len(words)) for time in (earlier, later))
        first, last = (self._each(words, time)[1] for time in times)
        total = first_weight[:, None] ** 2 * first + last_weight[:, None] ** 2 * last
        return MovementVariance(total, total)

    def covariance(self, word: int, one: float, other: float) -> Floats:
        """Raise an error: the filter has a posterior for each time, not a joint one."""
        raise SettingsError(
            "A model fitted by filtering has a posterior for each time, not a joint one for two times.",
            "Fit the model by smoothing for questions about two times at once.",
        )

    def draw(self, word: int, size: int, times: Floats, generator: np.random.Generator) -> Floats:
        """Joint draws at the times, (size, n, d): filter forward, sample backward.

        The last slice is drawn from the filter; each earlier state from the filter's belief there times the
        kernel of Eq. 13 to the next state. So draws are conditioned on all data, and early states scatter
        less than the filter's variance, which is conditioned on the past alone.
        """
        if times.min() < self.grid[0]:
            raise SettingsError(
                f"A filtered trajectory begins with the first slice, {self.grid[0]:.2f}; "
                f"{times.min():.2f} is before it.",
                "Ask for later times, or fit the model by smoothing.",
            )
        chain = np.unique(
            np.concatenate([self.grid[self.knots.slices[self.knots.rows_of(word)]], self.grid[-1:], times])
        )
        mean, variance = self._word(word, chain)
        steps = self.diffusion.transition(chain[:-1], chain[1:])
        states = generator.standard_normal((len(chain), size, self.mean.shape[1]))
        states[-1] = mean[-1] + np.sqrt(variance[-1]) * states[-1]
        for k in range(len(chain) - 2, -1, -1):
            pulled = condition(mean[k], variance[k], steps.pull[k], 0.0)
            center, left = look_back(steps.gain[k], steps.noise[k], *pulled, states[k + 1], 0.0)
            states[k] = center + np.sqrt(left) * states[k]
        return np.ascontiguousarray(states[np.searchsorted(chain, times)].transpose(1, 0, 2))

    def beliefs(self, words: Integers, number: int) -> Beliefs:
        here = self.knots.rows_after(number, words) - 1
        before = np.where(here > self.knots.starts[words], here - 1, -1)
        predicted = self.predicted(before, np.full(len(words), self.grid[number]))
        return Beliefs(*predicted, *(array[here].astype(np.float64) for array in (self.mean, self.variance)))

    def _word(self, word: int, times: Floats) -> tuple[Floats, Floats]:
        return self.predicted(self.knots.around_one(word, slice_before(self.grid, times))[0], times)

    def _some_words(self, time: float, words: Integers | None) -> tuple[Floats, Floats]:
        rows = self.knots.around(int(slice_before(self.grid, np.array([time]))[0]), words)[0]
        return self.predicted(rows, np.full(len(rows), time))

    def _each(self, words: Integers, times: Floats) -> tuple[Floats, Floats]:
        return self.predicted(self.knots.around_each(words, slice_before(self.grid, times))[0], times)

    def _at_places(self, words: Integers, slices: Integers) -> tuple[Floats, Floats]:
        return self._each(words, self.grid[slices])

    def predicted(self, rows: Integers, times: Floats) -> tuple[Floats, Floats]:
        """Predict mean and variance (n, d) at times (n,) from earlier knots in `rows`; -1 is the prior."""
        seen = rows >= 0
        mean, variance = rows_or_zeros(self.mean, rows), rows_or_zeros(self.variance, rows)
        variance[~seen] = self.diffusion.prior_variance  # at the first slice (Eq. 13)
        since = np.full(len(rows), self.grid[0])
        since[seen] = self.grid[self.knots.slices[rows[seen]]]
        return self.diffusion.transition(since, np.maximum(times, since)).predict(mean, variance)
