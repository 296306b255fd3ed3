"""The skip-gram likelihood of one slice on its active words: its value and gradients (Eqs. 2, S12 and S17).

n+ is sparse and n- has rank one, so neither is ever dense. The scores u_i . v_j are computed some rows at a
time, in blocks that stay in the processor's cache. All functions are pure and compute in the precision of
their `ActiveSlice`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wordtide.compiled import arithmetic
from wordtide.errors import SettingsError
from wordtide.model.logistic import integrate_sigmoids, log_sigmoid, sigmoid
from wordtide.types import Array, Floats, Indices, Reals

_ELEMENTS, _FEWEST_ROWS = 1 << 18, 128  # of a block of rows of the (a, a) matrix of scores


class _SliceData(Protocol):
    """The attributes of inference's SliceData that are needed here; this layer must not import it."""

    @property
    def words(self) -> Indices: ...
    @property
    def indptr(self) -> Indices: ...
    @property
    def indices(self) -> Indices: ...
    @property
    def values(self) -> Reals: ...
    @property
    def word_probability(self) -> Floats: ...
    @property
    def context_probability(self) -> Floats: ...
    @property
    def negatives(self) -> float: ...


@dataclass(frozen=True)
class GaussianVectors:
    """Independent Gaussian beliefs about vectors: the mean and variance of each coordinate, (a, d)."""

    mean: Reals
    variance: Reals

    def __getitem__(self, rows: slice | Indices) -> "GaussianVectors":
        return GaussianVectors(self.mean[rows], self.variance[rows])


@dataclass(frozen=True)
class ActiveSlice:
    """One slice on its a active words, with z stored pairs of n+ (in both directions), sorted by row.

    Attributes:
        words: Word numbers in the vocabulary, ascending, (a,).
        starts: Where the pairs of each row begin, (a + 1,).
        columns: The context of each pair as an index into `words`, (z,).
        values: n+ of each pair, (z,).
        excess: n+ / n- of each pair, (z,).
        word_weight: |n-| P, (a,).
        context_weight: P', (a,). The outer product of the two weights is n- (Eq. S3).
    """

    words: Indices
    starts: Indices
    columns: Indices
    values: Reals
    excess: Reals
    word_weight: Reals
    context_weight: Reals

    def __len__(self) -> int:
        return len(self.words)

    @staticmethod
    def of(part: _SliceData, dtype: npt.DTypeLike = np.float32) -> "ActiveSlice":
        """Prepare a slice.

        Args:
            part: The counts of the slice.
            dtype: float32 or float64, the precision of all computations.

        Raises:
            SettingsError: If the slice has no negative pairs, because its likelihood has no maximum then.
        """
        if not part.negatives > 0:
            raise SettingsError(
                "The ratio of negative to positive pairs is not positive.", "Give a ratio like 1."
            )
        word_weight, context_weight = part.negatives * part.word_probability, part.context_probability
        rows = np.repeat(np.arange(len(part.words)), np.diff(part.indptr))
        excess = part.values / (word_weight[rows] * context_weight[part.indices])
        reals = (array.astype(dtype) for array in (part.values, excess, word_weight, context_weight))
        return ActiveSlice(part.words, part.indptr, part.indices, *reals)


def block_rows(columns: int) -> int:
    """The rows of scores to compute at a time: few for the cache, enough for matrix products."""
    return max(_FEWEST_ROWS, _ELEMENTS // max(1, columns))


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Split the rows of a (rows, columns) matrix into blocks."""
    step = block_rows(columns)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def log_likelihood(
    part: ActiveSlice, u: Reals, v: Reals, shift: float = 0.0, self_pairs: bool = True
) -> float:
    """Compute log p(n+, n- | U, V), Eq. 2.

    Args:
        part: The slice.
        u: Word vectors, (a, d).
        v: Context vectors, (a, d).
        shift: Added to every score u_i . v_j.
        self_pairs: Whether to include the pairs of a word with itself.
    """
    u, v = (np.asarray(vectors, dtype=part.values.dtype) for vectors in (u, v))
    total = 0.0
    for rows in row_blocks(len(u), len(v)):
        total += _sum_log_sigmoids(
            u[rows] @ v.T,
            rows.start,
            (part.starts, part.columns, part.values),
            (part.word_weight, part.context_weight),
            part.values.dtype.type(shift),
            self_pairs,
        )
    return total


@arithmetic
def _sum_log_sigmoids(
    scores: Array, first: int, positives: Any, weights: Any, shift: Any, self_pairs: bool
) -> float:
    """Eq. 2 over a block of rows (n, a) that begins with row `first`."""
    starts, columns, values = positives
    word_weight, context_weight = weights
    total = 0.0
    for i in range(scores.shape[0]):
        x, row = scores[i], first + i
        negative = scores.dtype.type(0)
        for j in range(len(x)):
            x[j] += shift
            negative += context_weight[j] * log_sigmoid(-x[j])
        if not self_pairs:
            negative -= context_weight[row] * log_sigmoid(-x[row])
        total += word_weight[row] * negative
        for place in range(starts[row], starts[row + 1]):
            if self_pairs or columns[place] != row:
                total += values[place] * log_sigmoid(x[columns[place]])
    return total


def integrated_log_likelihood(
    part: ActiveSlice, u: GaussianVectors, v: GaussianVectors, shift: float, self_pairs: bool
) -> float:
    """Compute the log likelihood with the uncertainty of the vectors integrated out, pair by pair.

    log E[sigmoid(x)] replaces log sigmoid(x) in Eq. 2. x = u . v is a sum over dimensions and is treated as
    Gaussian, with its exact mean and variance. Computes in float32.
    """
    u_mean, u_variance, v_mean, v_variance = (
        np.asarray(array, dtype=np.float32) for array in (u.mean, u.variance, v.mean, v.variance)
    )
    u_squares = np.hstack([u_mean**2 + u_variance, u_variance])
    v_squares = np.hstack([v_variance, v_mean**2])
    total = 0.0
    for rows in row_blocks(len(u_mean), len(v_mean)):
        total += _sum_log_expected_sigmoids(
            u_mean[rows] @ v_mean.T + np.float32(shift),
            u_squares[rows] @ v_squares.T,
            rows.start,
            (part.starts, part.columns, part.values),
            (part.word_weight, part.context_weight),
            self_pairs,
        )
    return total


@arithmetic
def _sum_log_expected_sigmoids(
    mean: Array, variance: Array, first: int, positives: Any, weights: Any, self_pairs: bool
) -> float:
    """Eq. 2 with log E[sigmoid] over a block of rows (n, a) that begins with row `first`."""
    starts, columns, values = positives
    word_weight, context_weight = weights
    size = mean.shape[1]
    found = np.empty(size, dtype=mean.dtype)
    at_positives = np.empty((2, size), dtype=mean.dtype)
    total = 0.0
    for i in range(mean.shape[0]):
        x, s2, row = mean[i], variance[i], first + i
        begin, count = starts[row], starts[row + 1] - starts[row]
        for place in range(count):
            at_positives[0, place] = x[columns[begin + place]]
            at_positives[1, place] = s2[columns[begin + place]]
        integrate_sigmoids(at_positives[0, :count], at_positives[1, :count], 1.0, found[:count])
        for place in range(count):
            if self_pairs or columns[begin + place] != row:
                total += values[begin + place] * found[place]
        integrate_sigmoids(x, s2, -1.0, found)
        negative = mean.dtype.type(0)
        for j in range(size):
            negative += context_weight[j] * found[j]
        if not self_pairs:
            negative -= context_weight[row] * found[row]
        total += word_weight[row] * negative
    return total


def gradients(part: ActiveSlice, u: Reals, v: Reals) -> tuple[Reals, Reals]:
    """Compute the derivatives Gamma_u, Gamma_v (a, d) of the log-likelihood (Eq. S12). `u`, `v`: (a, d)."""
    everyone = np.arange(len(part))
    return minibatch_gradients(part, everyone, everyone, u, v, scale=1.0)


def minibatch_gradients(
    part: ActiveSlice, words: Indices, contexts: Indices, u: Reals, v: Reals, scale: float
) -> tuple[Reals, Reals]:
    """Estimate Gamma_u (m, d) and Gamma_v (n, d) from a minibatch (Eq. S17).

    With p = sigmoid(u_i . v_j), the bracket of Eq. S12 is n+ (1 - p) - n- p = -n- [p - (n+ / n-) (1 - p)].
    The weights of n-, which has rank one, multiply the vectors before and after the matrix products; only the
    sigmoid is dense.

    Args:
        part: The slice.
        words: The active words of the minibatch as indices into `part.words`, (m,).
        contexts: Its active contexts as indices into `part.words`, (n,).
        u: Vectors of these words, (m, d).
        v: Vectors of these contexts, (n, d).
        scale: L / L', the ratio of the whole vocabulary to the whole minibatch, inactive words included.
    """
    column_of = np.full(len(part), -1, dtype=np.int64)
    column_of[contexts] = np.arange(len(contexts))
    word_weight, context_weight = part.word_weight[words, None], part.context_weight[contexts, None]
    weighted_u, weighted_v = word_weight * u, context_weight * v
    gamma_u, gamma_v, share_v = np.empty_like(u), np.zeros_like(v), np.empty_like(v)
    work = np.empty((block_rows(len(v)), len(v)), dtype=u.dtype)  # of all blocks: fresh memory is slow
    for rows in row_blocks(len(u), len(v)):
        residual = np.matmul(u[rows], v.T, out=work[: rows.stop - rows.start])
        _to_residuals(residual, words[rows], part.starts, part.columns, part.excess, column_of)
        np.matmul(residual, weighted_v, out=gamma_u[rows])
        gamma_v += np.matmul(residual.T, weighted_u[rows], out=share_v)
    gamma_u *= -part.values.dtype.type(scale) * word_weight
    gamma_v *= -part.values.dtype.type(scale) * context_weight
    return gamma_u, gamma_v


@arithmetic
def _to_residuals(
    scores: Array, words: Array, starts: Array, columns: Array, excess: Array, column_of: Array
) -> None:
    """Replace scores (m, n) by p - (n+ / n-) (1 - p). `column_of` (a,) is -1 outside the minibatch."""
    one = scores.dtype.type(1)
    for i in range(scores.shape[0]):
        x = scores[i]
        for j in range(len(x)):
            x[j] = sigmoid(x[j])
        for place in range(starts[words[i]], starts[words[i] + 1]):
            j = column_of[columns[place]]
            if j >= 0:
                x[j] -= excess[place] * (one - x[j])
