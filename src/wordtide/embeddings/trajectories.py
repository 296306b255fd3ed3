"""The interface of trajectories, common to all kinds of posterior, and the trajectories of point estimates.

One object represents the word vectors, another the context vectors.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from wordtide.errors import SettingsError
from wordtide.model.knots import Knots
from wordtide.model.prior import slice_before
from wordtide.types import Array, Floats, Integers, Reals, Singles

#: One time in float years for all words, or one for each, (n,).
Years = float | Floats


@dataclass(frozen=True)
class MovementVariance:
    """Variances of a movement, the difference of scaled vectors at two times, by coordinate, (n, d).

    `posterior`: of the movement, given the data. `sampling`: of its posterior mean, under resampling of the
    data.
    """

    posterior: Floats
    sampling: Floats


@dataclass(frozen=True)
class Beliefs:
    """Means and variances of some words before and after the data of a slice, each (n, d)."""

    before_mean: Floats
    before_variance: Floats
    after_mean: Floats
    after_variance: Floats


class Trajectories(Protocol):
    """The trajectories of all words on one side of the model.

    `times` (n,) are float years, on the grid of slices or off it, in any order.
    """

    def word_means(self, word: int, times: Floats) -> Floats:
        """Means of one word, (n, d)."""

    def word_variances(self, word: int, times: Floats) -> Floats:
        """Variances of one word, (n, d)."""

    def variance_curves(self, words: Integers, times: Floats) -> Floats:
        """Variances of some words at several times, (number of words, n, d)."""

    def means_at(self, time: float, words: Integers | None = None) -> Floats:
        """Means of some words, or of all, at one time, (n, d)."""

    def variances_at(self, time: float, words: Integers | None = None) -> Floats:
        """Variances of some words, or of all, at one time, (n, d)."""

    def means_of_each(self, words: Integers, times: Floats) -> Floats:
        """Means of words at times, pair by pair, (n, d)."""

    def variances_of_each(self, words: Integers, times: Floats) -> Floats:
        """Variances of words at times, pair by pair, (n, d)."""

    def means_at_places(self, words: Integers, slices: Integers) -> Floats:
        """Means of words at slices, pair by pair, (n, d)."""

    def variances_at_places(self, words: Integers, slices: Integers) -> Floats:
        """Variances of words at slices, pair by pair, (n, d)."""

    def means_at_slices(self, words: Integers) -> Iterator[Floats]:
        """Means of some words at each slice, (n, d), in order of time."""

    def variances_at_slices(self, words: Integers) -> Iterator[Floats]:
        """Variances of some words at each slice, (n, d), in order of time."""

    def movement(
        self, words: Integers, earlier: Years, later: Years, first_weight: Reals, last_weight: Reals
    ) -> MovementVariance:
        """Variances of last_weight x(later) - first_weight x(earlier) for some words, with weights (n,)."""

    def covariance(self, word: int, one: float, other: float) -> Floats:
        """Covariance of each coordinate between two different times, (d,)."""

    def draw(self, word: int, size: int, times: Floats, generator: np.random.Generator) -> Floats:
        """Joint draws of a trajectory at the times, (size, n, d)."""

    def beliefs(self, words: Integers, number: int) -> Beliefs:
        """Beliefs about words just before and after slice `number`, at which they all have knots."""


def rows_or_zeros(array: Array, rows: Integers) -> Floats:
    """Rows of an array as float64, (n, d); a negative row number gives zeros."""
    taken = np.zeros((len(rows), array.shape[1]))
    there = rows >= 0
    taken[there] = array[rows[there]]
    return taken


class PointTrajectories:
    """Answers as in `Trajectories`, from point estimates (K, d) at the knots. All variances are 0.

    A word keeps its last fitted vector, and has its first one before that was fitted. A word that was never
    fitted has the zero vector.
    """

    def __init__(self, knots: Knots, grid: Floats, mean: Singles) -> None:
        self.knots, self.grid, self.mean = knots, grid, mean

    def word_means(self, word: int, times: Floats) -> Floats:
        return self._carried(*self.knots.around_one(word, slice_before(self.grid, times)))

    def word_variances(self, word: int, times: Floats) -> Floats:
        return np.zeros((len(times), self.mean.shape[1]))

    def variance_curves(self, words: Integers, times: Floats) -> Floats:
        return np.zeros((len(words), len(times), self.mean.shape[1]))

    def means_at(self, time: float, words: Integers | None = None) -> Floats:
        return self._carried(*self.knots.around(int(slice_before(self.grid, np.array([time]))[0]), words))

    def variances_at(self, time: float, words: Integers | None = None) -> Floats:
        return np.zeros((len(self.knots.starts) - 1 if words is None else len(words), self.mean.shape[1]))

    def means_at_places(self, words: Integers, slices: Integers) -> Floats:
        return self._carried(*self.knots.around_each(words, slices))

    def means_of_each(self, words: Integers, times: Floats) -> Floats:
        return self._carried(*self.knots.around_each(words, slice_before(self.grid, times)))

    def _carried(self, before: Integers, after: Integers) -> Floats:
        """The means at the knots before some times, or after them where there is none before, (n, d)."""
        return rows_or_zeros(self.mean, np.where(before >= 0, before, after))

    def variances_of_each(self, words: Integers, times: Floats) -> Floats:
        return np.zeros((len(words), self.mean.shape[1]))

    def variances_at_places(self, words: Integers, slices: Integers) -> Floats:
        return np.zeros((len(words), self.mean.shape[1]))

    def means_at_slices(self, words: Integers) -> Iterator[Floats]:
        return (self.means_at(float(time), words) for time in self.grid)

    def variances_at_slices(self, words: Integers) -> Iterator[Floats]:
        return (self.variances_at(float(time), words) for time in self.grid)

    def movement(
        self, words: Integers, earlier: Years, later: Years, first_weight: Reals, last_weight: Reals
    ) -> MovementVariance:
        return MovementVariance(*np.zeros((2, len(words), self.mean.shape[1])))

    def covariance(self, word: int, one: float, other: float) -> Floats:
        return np.zeros(self.mean.shape[1])

    def draw(self, word: int, size: int, times: Floats, generator: np.random.Generator) -> Floats:
        """Repeat the only trajectory, (size, n, d)."""
        return np.repeat(self.word_means(word, times)[None], size, axis=0)

    def beliefs(self, words: Integers, number: int) -> Beliefs:
        """Raise an error: without a posterior there is nothing to compare."""
        raise SettingsError(
            "Point estimates have no uncertainty, so no slice can surprise them.",
            "Fit the model by filtering or smoothing.",
        )


class ShiftedTrajectories:
    """Trajectories plus a constant offset with mean and variance (L, d) for each word."""

    def __init__(self, base: Trajectories, mean: Floats, variance: Floats) -> None:
        self.base, self._mean, self._variance = base, mean, variance

    def taken(self, base: Trajectories, words: Integers) -> "ShiftedTrajectories":
        """Other trajectories of some of the words, with their offsets."""
        return ShiftedTrajectories(base, self._mean[words], self._variance[words])

    def word_means(self, word: int, times: Floats) -> Floats:
        return np.asarray(self.base.word_means(word, times) + self._mean[word])

    def word_variances(self, word: int, times: Floats) -> Floats:
        return np.asarray(self.base.word_variances(word, times) + self._variance[word])

    def variance_curves(self, words: Integers, times: Floats) -> Floats:
        return self.base.variance_curves(words, times) + self._variance[words][:, None]

    def means_at(self, time: float, words: Integers | None = None) -> Floats:
        return self.base.means_at(time, words) + self._mean[slice(None) if words is None else words]

    def variances_at(self, time: float, words: Integers | None = None) -> Floats:
        return self.base.variances_at(time, words) + self._variance[slice(None) if words is None else words]

    def means_of_each(self, words: Integers, times: Floats) -> Floats:
        return self.base.means_of_each(words, times) + self._mean[words]

    def variances_of_each(self, words: Integers, times: Floats) -> Floats:
        return self.base.variances_of_each(words, times) + self._variance[words]

    def means_at_places(self, words: Integers, slices: Integers) -> Floats:
        return self.base.means_at_places(words, slices) + self._mean[words]

    def variances_at_places(self, words: Integers, slices: Integers) -> Floats:
        return self.base.variances_at_places(words, slices) + self._variance[words]

    def means_at_slices(self, words: Integers) -> Iterator[Floats]:
        return (means + self._mean[words] for means in self.base.means_at_slices(words))

    def variances_at_slices(self, words: Integers) -> Iterator[Floats]:
        return (variances + self._variance[words] for variances in self.base.variances_at_slices(words))

    def movement(
        self, words: Integers, earlier: Years, later: Years, first_weight: Reals, last_weight: Reals
    ) -> MovementVariance:
        moved = self.base.movement(words, earlier, later, first_weight, last_weight)
        difference = np.asarray(last_weight) - np.asarray(first_weight)
        added = difference.reshape(-1, 1) ** 2 * self._variance[words]
        return MovementVariance(moved.posterior + added, moved.sampling + added)

    def covariance(self, word: int, one: float, other: float) -> Floats:
        return np.asarray(self.base.covariance(word, one, other) + self._variance[word])

    def draw(self, word: int, size: int, times: Floats, generator: np.random.Generator) -> Floats:
        drawn = self.base.draw(word, size, times, generator)
        offset = generator.standard_normal((size, 1, drawn.shape[2]))
        return np.asarray(drawn + self._mean[word] + np.sqrt(self._variance[word]) * offset)

    def beliefs(self, words: Integers, number: int) -> Beliefs:
        return self.base.beliefs(words, number)
