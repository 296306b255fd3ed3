"""The expected log likelihood of a slice under the mean field: value, gradients, and precision.

With m, s2, e and r of each pair as in `pair_kernels`, row i has

    g_i = sum_j e mu_j - mu_i sum_j r s_j          the gradient by the mean
    h_i = sum_j r (mu_j^2 + s_j)                   the precision that the data contribute

where j runs over the vectors on the other side: contexts for words and words for contexts; with tied contexts
S u_j for all other words j. Positive pairs are sparse and always exact. Negative pairs are all pairs of
active words, with weights of rank one (tied: two), summed exactly or over sampled columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from wordtide.inference.compute import Compute
from wordtide.inference.natural.negatives import WeightedSampler, sample_size_for
from wordtide.inference.natural.pair_kernels import (
    add_positives,
    positive_moments,
    weigh_negatives,
)
from wordtide.inference.problem import SliceData
from wordtide.inference.scale.shares import shared_out
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.logistic import expected_log_sigmoids, log_expected_sigmoids
from wordtide.types import Array

_BLOCK = 1 << 17  # elements of a block of the (a, columns) matrices: two of them stay in a core's cache
_PAIRS_PER_ROW = 32  # the cost of the dense work of a row, in sparse pairs
_EFFORT = 12_000  # of a part, in pairs, at least: less takes a thread longer to start than to do
_MOST_PARTS = 32

_add_positives: Any = add_positives  # compiled functions accept any arrays and are not typed
_weigh_negatives: Any = weigh_negatives
_positive_moments: Any = positive_moments
#: Writes E[log sigmoid(sign x)] or log E[sigmoid(sign x)] for x ~ N(m, s2) into its last argument.
Expectation = Callable[[Array, Array, float, Array], None]
#: Numbers that seed the draw of columns for the negative pairs.
Seed = Sequence[int]


@dataclass(frozen=True)
class Gradient:
    """The gradient g by the means of one side, and the precision h that the data add, (a, d) each."""

    g: Array
    h: Array


class _Columns:
    """The columns of the negative pairs: vectors (n, d), two weights each, each row's own column or -1."""

    def __init__(self, vectors: GaussianVectors, weights: Array, own: Array) -> None:
        self.mean = np.ascontiguousarray(vectors.mean)
        self.weights, self.own = weights, own
        squares = self.mean * self.mean
        self.moments = np.concatenate([vectors.variance, squares], axis=1)  # s_j and mu_j^2, (n, 2 d)


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
        size = sample_size_for(len(part), len(part.values), sample_size, signs is not None) or len(part)
        p, p_context = part.word_probability, part.context_probability
        # n-_ij = row weights[i] . column weights[:, j], for each side: words, then contexts
        if signs is None:
            nothing = np.zeros_like(p)
            self._samplers = [WeightedSampler(p_context, size), WeightedSampler(p, size)]
            self._row_weights = [part.negatives * np.stack([own, nothing], axis=1) for own in (p, p_context)]
            self._column_weights = [np.stack([other, nothing]) for other in (p_context, p)]
        else:
            self._samplers = [WeightedSampler((p + p_context) / 2.0, size)]
            self._row_weights = [part.negatives / 2.0 * np.stack([p, p_context], axis=1)]
            self._column_weights = [np.stack([p_context, p])]
        self._row_weights = [weights.astype(compute.dtype) for weights in self._row_weights]

    def gradients(self, sides: list[GaussianVectors], seed: Seed) -> list[Gradient]:
        """Compute g and h of each side, in work arrays that are valid until this thread's next call."""
        return self.gradients_of_parts(self.parts, sides, seed)

    def gradients_of_parts(
        self, parts: list[range], sides: list[GaussianVectors], seed: Seed
    ) -> list[Gradient]:
        """Compute g and h for the rows of some parts only."""
        work, (size, dim) = self.compute.work, sides[0].mean.shape
        others, generator = self._others(sides), np.random.default_rng(seed)
        columns = [self._columns(side, other, generator) for side, other in enumerate(others)]
        g = [work.empty(f"g {side}", size, dim) for side in range(len(sides))]
        h = [work.empty(f"h {side}", size, dim) for side in range(len(sides))]
        sums = work.empty("sums", size, 2 * dim)

        def complete(rows: range) -> None:
            for side, (vectors, other) in enumerate(zip(sides, others, strict=True)):
                self._set_negatives(rows, vectors, side, columns[side], g[side], sums)
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
        columns = self._columns(0, other, np.random.default_rng(seed))
        indptr, work = self.part.indptr, self.compute.work

        def of_rows(rows: range) -> float:
            stored = slice(int(indptr[rows.start]), int(indptr[rows.stop]))
            number = stored.stop - stored.start
            m, s2, out = (work.empty(name, number) for name in ("m", "s2", "out"))
            _positive_moments(
                *(indptr, self.part.indices, words.mean, words.variance, other.mean, other.variance),
                *(rows.start, rows.stop, m, s2),
            )
            expectation(m, s2, 1.0, out)
            total = float(self._values[stored].astype(np.float64) @ out.astype(np.float64))
            for here in self._blocks(rows, columns):
                m, s2 = self._moments(words[here], columns)
                out = work.empty("out", *m.shape)
                expectation(m.reshape(-1), s2.reshape(-1), -1.0, out.reshape(-1))
                own = columns.own[here]
                out[np.flatnonzero(own >= 0), own[own >= 0]] = 0.0
                total += float((self._row_weights[0][here] * (out @ columns.weights.T)).sum(dtype=np.float64))
            return total

        total = sum(self.compute.map(of_rows, self.parts))
        return float(total if self.signs is None else 0.5 * total)

    def _others(self, sides: list[GaussianVectors]) -> list[GaussianVectors]:
        """Return for each side the vectors at the other ends of its pairs."""
        if self.signs is None:
            return [sides[1], sides[0]]
        return [GaussianVectors(sides[0].mean * self.signs.astype(self.compute.dtype), sides[0].variance)]

    def _columns(self, side: int, other: GaussianVectors, generator: np.random.Generator) -> _Columns:
        drawn, probability = self._samplers[side].draw(generator)
        own = np.full(len(self.part), -1, dtype=np.int64)
        if self.signs is not None:
            own[drawn] = np.arange(len(drawn))
        weights = self._column_weights[side][:, drawn] / probability
        return _Columns(other[drawn], np.ascontiguousarray(weights, dtype=self.compute.dtype), own)

    def _set_negatives(
        self, rows: range, vectors: GaussianVectors, side: int, columns: _Columns, g: Array, sums: Array
    ) -> None:
        """Set rows of g (a, d) to the sums of -n- p mu_j, and of sums (a, 2 d) to r s_j and r mu_j^2."""
        for here in self._blocks(rows, columns):
            m, s2 = self._moments(vectors[here], columns)
            _weigh_negatives(m, s2, self._row_weights[side], columns.weights, columns.own, here.start)
            np.dot(m, columns.mean, out=g[here])
            np.dot(s2, columns.moments, out=sums[here])

    def _blocks(self, rows: range, columns: _Columns) -> list[slice]:
        step = max(1, _BLOCK // len(columns.mean))
        return [slice(first, min(first + step, rows.stop)) for first in range(rows.start, rows.stop, step)]

    def _moments(self, vectors: GaussianVectors, columns: _Columns) -> tuple[Array, Array]:
        """Compute mean and variance (n, c) of the scores of rows with all columns, in work arrays."""
        work, (size, dim) = self.compute.work, vectors.mean.shape
        m, s2 = (work.empty(name, size, len(columns.mean)) for name in ("m", "s2"))
        moments = work.empty("moments", size, 2 * dim)
        np.multiply(vectors.mean, vectors.mean, out=moments[:, :dim])
        moments[:, :dim] += vectors.variance
        moments[:, dim:] = vectors.variance
        np.dot(vectors.mean, columns.mean.T, out=m)
        np.dot(moments, columns.moments.T, out=s2)  # (mu_i^2 + s_i) . s_j + s_i . mu_j^2
        return m, s2


def row_parts(indptr: Array) -> list[range]:
    """Divide the rows of a slice into parts of similar cost: 1, 2, 4, ... as many as are worthwhile.

    They depend only on the slice, so results have the same bits for any number of threads or workers.
    """
    effort = np.diff(indptr) + _PAIRS_PER_ROW
    worthwhile = max(1, int(effort.sum()) // _EFFORT)
    cuts = shared_out(effort, min(_MOST_PARTS, 1 << (worthwhile.bit_length() - 1))).tolist()
    return [range(a, b) for a, b in pairwise(cuts) if b > a]
