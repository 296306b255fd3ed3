"""How probable a slice is under vectors estimated without it (Eq. 16), over all pairs of active words.

Word and context vectors enter only through their inner products, so rotating both together changes nothing. A
`shift` is added to all inner products: a model fitted with eta' in place of the slice's eta states odds of n+
against n- that are eta / eta' times those of the slice, and log(eta' / eta) corrects them.
"""

from typing import Any

import numpy as np

from wordtide.compiled import arithmetic
from wordtide.inference.problem import SliceData
from wordtide.model.likelihood import ActiveSlice, GaussianVectors, log_likelihood, row_blocks
from wordtide.model.logistic import log_expected_sigmoids
from wordtide.types import Array, Reals


def log_likelihood_per_pair(
    part: SliceData, u: Reals, v: Reals, shift: float = 0.0, self_pairs: bool = True
) -> float:
    """Compute log p(n+, n- | U, V) / |n+ + n-| of a slice.

    Args:
        part: The slice.
        u: Vectors of its words, (a, d).
        v: Vectors of its contexts, (a, d).
        shift: Added to every inner product.
        self_pairs: Whether to include the pairs of a word with itself, positive and negative.
    """
    return log_likelihood(ActiveSlice.of(part), u, v, shift, self_pairs) / _pairs(part, self_pairs)


def integrated_log_likelihood_per_pair(
    part: SliceData, u: GaussianVectors, v: GaussianVectors, shift: float = 0.0, self_pairs: bool = True
) -> float:
    """Compute the same with the uncertainty of the vectors integrated out pair by pair.

    log E[sigmoid(x)] replaces log sigmoid(x). x = u . v is a sum over dimensions and treated as Gaussian,
    with its exact mean and variance.
    """
    active = ActiveSlice.of(part)
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
            (active.starts, active.columns, active.values),
            (active.word_weight, active.context_weight),
            self_pairs,
        )
    return total / _pairs(part, self_pairs)


def _pairs(part: SliceData, self_pairs: bool) -> float:
    """|n+ + n-|, over both directions of a pair."""
    if self_pairs:
        return part.positives + part.negatives
    negatives = part.negatives * float(part.word_probability @ part.context_probability)
    return part.positives + part.negatives - float(part.positive_matrix().diagonal().sum()) - negatives


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
        log_expected_sigmoids(at_positives[0, :count], at_positives[1, :count], 1.0, found[:count])
        for place in range(count):
            if self_pairs or columns[begin + place] != row:
                total += values[begin + place] * found[place]
        log_expected_sigmoids(x, s2, -1.0, found)
        negative = mean.dtype.type(0)
        for j in range(size):
            negative += context_weight[j] * found[j]
        if not self_pairs:
            negative -= context_weight[row] * found[row]
        total += word_weight[row] * negative
    return total
