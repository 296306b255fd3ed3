"""How probable a slice is under vectors estimated without it (Eq. 16), over all pairs of active words.

Word and context vectors enter only through their inner products, so rotating both together changes nothing. A
`shift` is added to all inner products: a model fitted with eta' in place of the slice's eta states odds of n+
against n- that are eta / eta' times those of the slice, and log(eta' / eta) corrects them.
"""

from functools import cache
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic
from wordtide.inference.problem import SliceData
from wordtide.model.likelihood import (
    ActiveSlice,
    GaussianVectors,
    log,
    log_likelihood,
    log_sigmoid,
    row_blocks,
    sigmoid,
)
from wordtide.types import Array, Reals

_NARROW = 1.0  # up to this deviation a quadrature with few points is accurate to 1e-5
_FEW, _MANY = 8, 32
_TINY = np.float32(1e-30)  # below, the quadrature loses its digits in single precision
#: Points and weights of a Gauss-Hermite quadrature with few and with many points.
_Quadrature = tuple[Reals, Reals, Reals, Reals]


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
    with its exact mean and variance; the integral is a Gauss-Hermite quadrature.
    """
    active = ActiveSlice.of(part)
    u_mean, u_variance, v_mean, v_variance = (
        np.asarray(array, dtype=np.float32) for array in (u.mean, u.variance, v.mean, v.variance)
    )
    u_squares = np.hstack([u_mean**2 + u_variance, u_variance])
    v_squares = np.hstack([v_variance, v_mean**2])
    total = 0.0
    for rows in row_blocks(len(u_mean), len(v_mean)):
        deviation = np.sqrt(u_squares[rows] @ v_squares.T)
        total += _sum_log_expected_sigmoids(
            u_mean[rows] @ v_mean.T + np.float32(shift),
            deviation,
            deviation.max(axis=1),
            rows.start,
            (active.starts, active.columns, active.values),
            (active.word_weight, active.context_weight),
            _quadrature(u_mean.dtype),
            self_pairs,
        )
    return total / _pairs(part, self_pairs)


def log_expected_sigmoid(mean: Reals, deviation: Reals) -> Reals:
    """Compute log E[sigmoid(x)] for x ~ N(mean, deviation^2), element by element."""
    out = np.empty(mean.shape, dtype=mean.dtype)
    flat, spread = (np.ascontiguousarray(array).reshape(-1) for array in (mean, deviation))
    wide = spread.max(initial=0.0) > _NARROW
    _map_log_expected_sigmoids(flat, spread, _quadrature(mean.dtype), wide, out.reshape(-1))
    return out


def _pairs(part: SliceData, self_pairs: bool) -> float:
    """|n+ + n-|."""
    if self_pairs:
        return part.pairs
    negatives = part.negatives * float(part.word_probability @ part.context_probability)
    return part.pairs - float(part.positive_matrix().diagonal().sum()) - negatives


@cache
def _quadrature(dtype: np.dtype[Any]) -> _Quadrature:
    (few, few_weights), (many, many_weights) = map(np.polynomial.hermite_e.hermegauss, (_FEW, _MANY))
    return (
        few.astype(dtype),
        (few_weights / few_weights.sum()).astype(dtype),
        many.astype(dtype),
        (many_weights / many_weights.sum()).astype(dtype),
    )


@arithmetic
def _log_expected_sigmoids(mean: Array, deviation: Array, quadrature: Any, wide: bool, out: Array) -> None:
    """log E[sigmoid(x)] for x ~ N(mean, deviation^2), (n,), with many points if `wide`."""
    points, weights, many, many_weights = quadrature
    if wide:
        points, weights = many, many_weights
    for j in range(len(mean)):
        out[j] = weights[0] * sigmoid(mean[j] + points[0] * deviation[j])
    for k in range(1, len(points)):
        point, weight = points[k], weights[k]
        for j in range(len(mean)):
            out[j] += weight * sigmoid(mean[j] + point * deviation[j])
    for j in range(len(mean)):
        # A lost sum means a mean far below 0, and spread only raises the probability above that of the mean.
        at_mean, expected = log_sigmoid(mean[j]), log(out[j])
        out[j] = at_mean if out[j] < _TINY else expected


@arithmetic
def _map_log_expected_sigmoids(
    mean: Array, deviation: Array, quadrature: Any, wide: bool, out: Array
) -> None:
    """Apply `_log_expected_sigmoids` to ranges that stay in the cache."""
    for start in range(0, len(mean), 2048):
        here = slice(start, start + 2048)
        _log_expected_sigmoids(mean[here], deviation[here], quadrature, wide, out[here])


@arithmetic
def _sum_log_expected_sigmoids(
    mean: Array,
    deviation: Array,
    widest: Array,
    first: int,
    positives: Any,
    weights: Any,
    quadrature: Any,
    self_pairs: bool,
) -> float:
    """Eq. 2 with log E[sigmoid] over a block of rows (n, a) from row `first` on. Overwrites `mean`."""
    starts, columns, values = positives
    word_weight, context_weight = weights
    size = mean.shape[1]
    found = np.empty(size, dtype=mean.dtype)
    at_positives = np.empty((2, size), dtype=mean.dtype)
    total = 0.0
    for i in range(mean.shape[0]):
        x, s, row = mean[i], deviation[i], first + i
        wide = widest[i] > _NARROW
        begin, count = starts[row], starts[row + 1] - starts[row]
        for place in range(count):
            at_positives[0, place] = x[columns[begin + place]]
            at_positives[1, place] = s[columns[begin + place]]
        _log_expected_sigmoids(
            at_positives[0, :count], at_positives[1, :count], quadrature, wide, found[:count]
        )
        for place in range(count):
            if self_pairs or columns[begin + place] != row:
                total += values[begin + place] * found[place]
        for j in range(size):
            x[j] = -x[j]
        _log_expected_sigmoids(x, s, quadrature, wide, found)
        negative = mean.dtype.type(0)
        for j in range(size):
            negative += context_weight[j] * found[j]
        if not self_pairs:
            negative -= context_weight[row] * found[row]
        total += word_weight[row] * negative
    return total
