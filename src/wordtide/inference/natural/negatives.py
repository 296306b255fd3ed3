"""The negative pairs of a slice: all pairs of active words, with weights n-_ij of rank one (tied: two).

Their sums run over all columns j, or over a sample of them that only serves as a correction. With c = SLOPE,

    log sigmoid(-x) = -log 2 - x / 2 - c x^2 / 2 + remainder

and under weights of rank one the sum of the quadratic part over all pairs is exact in Theta(a d^2). Only the
remainder is sampled, with much less noise than the whole: a quarter of the columns leaves 40 % of the noise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.inference.compute import Compute, Workspace
from wordtide.inference.natural.pair_kernels import (
    add_expansion,
    sum_expansion,
    sum_negatives,
    weigh_negatives,
)
from wordtide.inference.problem import SliceData
from wordtide.model.likelihood import GaussianVectors
from wordtide.types import Array, Floats, Integers

AUTO = -1
_FEWEST = 32
_BLOCK = 1 << 17  # elements of a block of the (a, columns) matrices: two of them stay in a core's cache

_add_expansion: Any = add_expansion  # compiled functions accept any arrays and are not typed
_sum_expansion: Any = sum_expansion
_sum_negatives: Any = sum_negatives
_weigh_negatives: Any = weigh_negatives
#: Writes E[log sigmoid(sign x)] or log E[sigmoid(sign x)] for x ~ N(m, s2) into its last argument.
Expectation = Callable[[Array, Array, float, Array], None]


def sample_size_for(words: int, pairs: int, wanted: int | None) -> int | None:
    """Return the number of columns to draw, given the active words and stored pairs of a slice; None: all.

    Sampling noise matters more the more data a slice has, and a denser slice also spends longer on its
    positive pairs. AUTO therefore draws as many columns as a word has partners on average.
    """
    number = max(_FEWEST, pairs // max(1, words)) if wanted == AUTO else wanted
    return None if number is None or number >= words else number


class WeightedSampler:
    """Draws items so that sums over the sample are unbiased estimates of weighted sums over all items.

    An item is drawn with probability min(1, weight / threshold), with the threshold chosen so that `size`
    items are expected. Heavy items are always drawn; the tail is sampled systematically, in the given order.
    """

    def __init__(self, weights: Floats, size: int) -> None:
        self._number = len(weights)
        self._probability: Floats | None = None
        if size < len(weights):
            self._probability = np.minimum(1.0, weights / _threshold(weights, size))
            self._ends = np.cumsum(self._probability)

    def draw(self, generator: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw items. Returns them in ascending order, each with its inclusion probability."""
        if self._probability is None:
            return np.arange(self._number), np.ones(self._number)
        ticks = np.floor(self._ends + generator.random())
        drawn: npt.NDArray[np.int64] = np.flatnonzero(np.diff(ticks, prepend=0.0) >= 1.0)
        return drawn, self._probability[drawn]


def _threshold(weights: Floats, size: int) -> float:
    """Return the threshold at which the inclusion probabilities sum to `size`."""
    descending = np.sort(weights)[::-1]
    rest = np.cumsum(descending[::-1])[::-1]  # the sum of this weight and all lighter ones
    heavy = np.arange(size)
    candidates = rest[:size] / (size - heavy)  # the threshold, if exactly this many items are heavy
    return float(candidates[np.flatnonzero(descending[:size] <= candidates)[0]])


class NegativePairs:
    """The negative pairs of one side of a slice: of words with contexts, of contexts with words, or tied.

    n-_ij = rows[i, 0] columns[0, j] + rows[i, 1] columns[1, j]. The weights of the expansion have rank one,
    rows[i, 2] columns[2, j]: those of n- for separate contexts, and their geometric mean over both directions
    for tied ones.

    Args:
        part: The counts of the slice.
        side: 0 for words, 1 for contexts.
        size: Columns to draw; None: all.
        tied: Contexts are tied: a pair has both directions, and pairs of a word with itself are left out.
        compute: Precision and threads.
    """

    def __init__(self, part: SliceData, side: int, size: int | None, tied: bool, compute: Compute) -> None:
        self._tied, self._compute, self._number = tied, compute, len(part)
        self._exact = size is None
        p, p_context = part.word_probability, part.context_probability
        if tied:
            even = np.sqrt(p * p_context)
            rows, columns = [p / 2.0, p_context / 2.0, even], [p_context, p, even]
            sampled = (p + p_context) / 2.0
        else:
            own, sampled = (p, p_context) if side == 0 else (p_context, p)
            rows, columns = [own, np.zeros_like(p), own], [sampled, np.zeros_like(p), sampled]
        self._sampler = WeightedSampler(sampled, len(part) if size is None else size)
        self._rows = (part.negatives * np.stack(rows, axis=1)).astype(compute.dtype)
        self._columns = np.stack(columns)
        self._even = columns[2].astype(compute.dtype)
        self._roots = np.sqrt(self._even)

    def with_columns(self, other: GaussianVectors, generator: np.random.Generator) -> "NegativeSums":
        """Draw columns from the vectors at the other end of the pairs, (a, d)."""
        drawn, probability = self._sampler.draw(generator)
        own = np.full(self._number, -1, dtype=np.int64)
        if self._tied:
            own[drawn] = np.arange(len(drawn))
        weights = np.ascontiguousarray(self._columns[:, drawn] / probability, dtype=self._compute.dtype)
        if self._exact:
            weights[2] = 0.0
        chosen = GaussianVectors(np.ascontiguousarray(other.mean[drawn]), other.variance[drawn])
        expansion = None if self._exact else self._expansion(other)
        return NegativeSums(
            self._rows, weights, own, chosen, _moments_of(chosen), expansion, self._compute.work
        )

    def _expansion(self, other: GaussianVectors) -> "_Expansion":
        scaled = self._compute.work.empty("scaled", *other.mean.shape)
        np.multiply(self._roots[:, None], other.mean, out=scaled)
        gram = scaled.T @ scaled  # the same array twice: BLAS computes half of a symmetric matrix
        moments = np.concatenate([self._even @ other.variance, np.diagonal(gram)])
        left_out = self._even if self._tied else np.zeros_like(self._even)
        total = float(self._even.sum(dtype=np.float64))
        return _Expansion(left_out, other, total, self._even @ other.mean, gram, moments)


@dataclass(frozen=True)
class _Expansion:
    """Sums over all columns j with the weights c_j of the expansion.

    Attributes:
        left_out: c of the row's own word, for tied contexts; else 0, (a,).
        other: The vectors of all columns.
        total: sum c_j.
        mean: sum c_j mu_j, (d,).
        gram: sum c_j mu_j mu_j^T, (d, d).
        moments: sum c_j s_j and sum c_j mu_j^2, (2 d,).
    """

    left_out: Array
    other: GaussianVectors
    total: float
    mean: Array
    gram: Array
    moments: Array


@dataclass(frozen=True)
class NegativeSums:
    """The sums over the negative pairs of a slice, with columns that are drawn for one step.

    Attributes:
        rows: Weights of the rows, (a, 3).
        columns: Weights of the columns, divided by the probability of being drawn, (3, n).
        own: The column of each row's own word, which is left out; -1 if it was not drawn, (a,).
        vectors: The vectors of the columns, (n, d).
        moments: Their variances and squared means, (n, 2 d).
        expansion: The exact part of the sums; None if all columns are drawn.
        work: Work arrays of each thread.
    """

    rows: Array
    columns: Array
    own: Array
    vectors: GaussianVectors
    moments: Array
    expansion: _Expansion | None
    work: Workspace

    def set_gradients(self, rows: range, vectors: GaussianVectors, g: Array, sums: Array) -> None:
        """Set rows of g (a, d) to the sums of -n- p mu_j, and of sums (a, 2 d) to r s_j and r mu_j^2."""
        for here in self._blocks(rows):
            m, s2 = self._scores(vectors[here])
            _weigh_negatives(m, s2, self.rows, self.columns, self.own, here.start)
            np.dot(m, self.vectors.mean, out=g[here])
            np.dot(s2, self.moments, out=sums[here])
        if (exact := self.expansion) is not None:
            _add_expansion(
                *(vectors.mean, vectors.variance, exact.other.mean, self.rows, exact.left_out, exact.mean),
                *(self._across(rows, vectors), exact.moments, rows.start, rows.stop, g, sums),
            )

    def log_likelihood(self, rows: range, vectors: GaussianVectors, expectation: Expectation) -> float:
        """Sum n- times the expectation of log sigmoid(-x), or the logarithm of that of sigmoid(-x)."""
        total = 0.0
        for here in self._blocks(rows):
            m, s2 = self._scores(vectors[here])
            out = self.work.empty("out", *m.shape)
            expectation(m.reshape(-1), s2.reshape(-1), -1.0, out.reshape(-1))
            total += _sum_negatives(out, m, s2, self.rows, self.columns, self.own, here.start)
        if (exact := self.expansion) is not None:
            total += _sum_expansion(
                *(vectors.mean, vectors.variance, exact.other.mean, exact.other.variance),
                *(self.rows, exact.left_out, exact.total, exact.mean),
                *(self._across(rows, vectors), exact.moments, rows.start, rows.stop),
            )
        return float(total)

    def _across(self, rows: range, vectors: GaussianVectors) -> Array:
        """Compute sum c_j x_ij mu_j for some rows i, in a work array."""
        assert self.expansion is not None
        mean = vectors.mean[rows.start : rows.stop]
        return np.dot(mean, self.expansion.gram, out=self.work.empty("across", *mean.shape))

    def _blocks(self, rows: range) -> Iterator[slice]:
        step = max(1, _BLOCK // self.columns.shape[1])
        return (slice(first, min(first + step, rows.stop)) for first in range(rows.start, rows.stop, step))

    def _scores(self, vectors: GaussianVectors) -> tuple[Array, Array]:
        """Compute mean and variance (n, c) of the scores of rows with all columns, in work arrays."""
        size, columns = len(vectors.mean), len(self.vectors.mean)
        m, s2 = (self.work.empty(name, size, columns) for name in ("m", "s2"))
        moments = self.work.empty("moments", size, 2 * vectors.mean.shape[1])
        np.dot(vectors.mean, self.vectors.mean.T, out=m)
        np.dot(_second_moments(vectors, moments), self.moments.T, out=s2)
        return m, s2


def _moments_of(vectors: GaussianVectors) -> Array:
    """Return s_j and mu_j^2 side by side, (n, 2 d)."""
    return np.concatenate([vectors.variance, vectors.mean * vectors.mean], axis=1)


def _second_moments(vectors: GaussianVectors, out: Array) -> Array:
    """Write mu_i^2 + s_i and s_i side by side, (n, 2 d): their product with `_moments_of` is s2."""
    dim = vectors.mean.shape[1]
    np.multiply(vectors.mean, vectors.mean, out=out[:, :dim])
    out[:, :dim] += vectors.variance
    out[:, dim:] = vectors.variance
    return out
