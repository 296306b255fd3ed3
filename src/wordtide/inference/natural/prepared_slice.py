"""The expected log likelihood of a slice under the mean field: value, gradients, and precision.

With m, s2, e and r of each pair as in `pair_kernels`, row i has

    g_i = sum_j e mu_j - mu_i sum_j r s_j          the gradient by the mean
    h_i = sum_j r (mu_j^2 + s_j)                   the precision that the data contribute

where j runs over the vectors on the other side: contexts for words and words for contexts; with tied contexts
S u_j for all other words j. Positive pairs are sparse and always exact. Negative pairs are all pairs of
active words (`negatives`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from wordtide.inference.compute import Compute, balanced_bounds
from wordtide.inference.natural.negatives import Expectation, NegativePairs, sample_size_for
from wordtide.inference.natural.pair_kernels import add_positives, positive_moments
from wordtide.inference.natural.schedule import NaturalOptions
from wordtide.inference.problem import SliceData
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.logistic import expected_log_sigmoids, log_expected_sigmoids
from wordtide.types import Array

_PAIRS_PER_ROW = 32  # the cost of the dense work of a row, in sparse pairs
_EFFORT = 24_000  # of a part, in pairs, at least: less takes a thread longer to start than to do
_MOST_PARTS = 32

_add_positives: Any = add_positives  # compiled functions accept any arrays and are not typed
_positive_moments: Any = positive_moments
#: Numbers that seed the draw of columns for the negative pairs.
Seed = Sequence[int]


@dataclass(frozen=True)
class Gradient:
    """The gradient g by the means of one side, and the precision h that the data add, (a, d) each."""

    g: Array
    h: Array


class PreparedSlice:
    """A slice with everything its sums need besides the counts.

    Args:
        part: The counts of the slice.
        compute: Precision and threads.
        sample_size: Columns to draw for the negative pairs; None: all; AUTO: a number that suits the slice.
        signs: The diagonal of S (d,) for tied contexts; None: words and contexts have separate vectors.
        alone: Compute the slice in one part, because other slices run in parallel.
    """

    def __init__(
        self,
        part: SliceData,
        compute: Compute,
        sample_size: int | None,
        signs: Array | None = None,
        alone: bool = False,
    ) -> None:
        self.part, self.compute, self.signs = part, compute, signs
        self.parts = [range(len(part))] if alone else row_parts(part.indptr)
        self._values = np.asarray(part.values, dtype=compute.dtype)
        size = sample_size_for(len(part), len(part.values), sample_size)
        tied = signs is not None
        self._negatives = [NegativePairs(part, side, size, tied, compute) for side in range(1 if tied else 2)]

    def gradients(self, sides: list[GaussianVectors], seed: Seed) -> list[Gradient]:
        """Compute g and h of each side, in work arrays that are valid until this thread's next call."""
        return self.gradients_of_parts(self.parts, sides, seed)

    def word_gradient(self, words: GaussianVectors, contexts: GaussianVectors, seed: Seed) -> Gradient:
        """Compute g and h of the words alone, of a slice with separate contexts."""
        return self._gradients(self.parts, [words], [contexts], seed)[0]

    def gradients_of_parts(
        self, parts: list[range], sides: list[GaussianVectors], seed: Seed
    ) -> list[Gradient]:
        """Compute g and h for the rows of some parts only."""
        return self._gradients(parts, sides, self._others(sides), seed)

    def _gradients(
        self, parts: list[range], sides: list[GaussianVectors], others: list[GaussianVectors], seed: Seed
    ) -> list[Gradient]:
        """Compute g and h of the first sides of pairs, given the vectors at their other ends."""
        work, (size, dim) = self.compute.work, sides[0].mean.shape
        generator = np.random.default_rng(seed)
        negatives = [
            pairs.with_columns(other, generator)
            for pairs, other in zip(self._negatives, others, strict=False)
        ]
        g = [work.empty(f"g {side}", size, dim) for side in range(len(sides))]
        h = [work.empty(f"h {side}", size, dim) for side in range(len(sides))]
        sums = work.empty("sums", size, 2 * dim)

        def complete(rows: range) -> None:
            for side, (vectors, other) in enumerate(zip(sides, others, strict=True)):
                negatives[side].set_gradients(rows, vectors, g[side], sums)
                _add_positives(
                    *(self.part.indptr, self.part.indices, self._values, vectors.mean, vectors.variance),
                    *(other.mean, other.variance, rows.start, rows.stop, g[side], sums, h[side]),
                )

        self.compute.map(complete, parts)
        return [Gradient(*pair) for pair in zip(g, h, strict=True)]

    def expected_log_likelihood(self, sides: list[GaussianVectors], seed: Seed) -> float:
        """Compute E_q[log p(n | U, V)], with Gaussian x, by one-dimensional Gauss-Hermite quadrature."""
        return self._log_likelihood(sides, seed, expected_log_sigmoids)

    def predictive_log_likelihood(self, sides: list[GaussianVectors], seed: Seed) -> float:
        """Compute log E_q[p(n | U, V)] pair by pair: how well beliefs formed without the slice predict it."""
        return self._log_likelihood(sides, seed, log_expected_sigmoids)

    def _log_likelihood(self, sides: list[GaussianVectors], seed: Seed, expectation: Expectation) -> float:
        words, other = sides[0], self._others(sides)[0]
        negatives = self._negatives[0].with_columns(other, np.random.default_rng(seed))
        indptr, work, tied = self.part.indptr, self.compute.work, self.signs is not None

        def of_rows(rows: range) -> float:
            most = int(indptr[rows.stop] - indptr[rows.start])
            m, s2, out, weights = (work.empty(name, most) for name in ("m", "s2", "out", "weights"))
            number = _positive_moments(
                *(indptr, self.part.indices, self._values, words.mean, words.variance),
                *(other.mean, other.variance, rows.start, rows.stop, tied, m, s2, weights),
            )
            expectation(m[:number], s2[:number], 1.0, out[:number])
            positive = float(weights[:number].astype(np.float64) @ out[:number].astype(np.float64))
            negative = negatives.log_likelihood(rows, words, expectation)
            return positive + (0.5 * negative if tied else negative)  # tied: each negative pair occurs twice

        return float(sum(self.compute.map(of_rows, self.parts)))

    def _others(self, sides: list[GaussianVectors]) -> list[GaussianVectors]:
        """Return for each side the vectors at the other ends of its pairs."""
        if self.signs is None:
            return [sides[1], sides[0]]
        mean = self.compute.work.empty("S u", *sides[0].mean.shape)
        np.multiply(sides[0].mean, self.signs.astype(self.compute.dtype), out=mean)
        return [GaussianVectors(mean, sides[0].variance)]


class SliceWork:
    """Computes slices by number. Each slice is a single part of work, because slices run in parallel.

    Args:
        slices: The data of all slices.
        options: How they are fitted.
        signs: The diagonal of S for tied contexts, else None.
        compute: Precision and threads.
        keep: Prepare all slices at once and keep them in memory.
    """

    def __init__(
        self,
        slices: Sequence[SliceData],
        options: NaturalOptions,
        signs: Array | None,
        compute: Compute,
        keep: bool = True,
    ) -> None:
        self._slices, self._options, self._signs, self._compute = slices, options, signs, compute
        self._kept: dict[int, PreparedSlice] = {}
        if keep:
            self._kept = {t: self._prepared(t) for t in range(len(slices))}

    def finish(self) -> None:
        """Free what was prepared."""
        self._kept.clear()

    def pairs(self, t: int) -> float:
        """Return the number of pairs of a slice."""
        return self._slices[t].pairs

    def gradients(self, t: int, sides: list[GaussianVectors], step: int) -> list[Gradient]:
        """Compute g and h of a slice at a step of the fit."""
        return self._slice(t).gradients(sides, [self._options.seed, t, step])

    def log_likelihood(self, t: int, sides: list[GaussianVectors], predictive: bool) -> float:
        """Compute the expected log likelihood of a slice, or the predictive one under other beliefs."""
        seed, slice = [self._options.seed, t], self._slice(t)
        if predictive:
            return slice.predictive_log_likelihood(sides, seed)
        return slice.expected_log_likelihood(sides, seed)

    def _slice(self, t: int) -> PreparedSlice:
        return self._kept[t] if t in self._kept else self._prepared(t)

    def _prepared(self, t: int) -> PreparedSlice:
        return PreparedSlice(
            self._slices[t], self._compute, self._options.sample_size, self._signs, alone=True
        )


def row_parts(indptr: Array) -> list[range]:
    """Divide the rows of a slice into parts of similar cost: 1, 2, 4, ... as many as are worthwhile.

    They depend only on the slice, so results have the same bits for any number of threads or workers.
    """
    effort = np.diff(indptr) + _PAIRS_PER_ROW
    worthwhile = max(1, int(effort.sum()) // _EFFORT)
    cuts = balanced_bounds(effort, min(_MOST_PARTS, 1 << (worthwhile.bit_length() - 1))).tolist()
    return [range(a, b) for a, b in pairwise(cuts) if b > a]
