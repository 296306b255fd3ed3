"""How probable a slice is under vectors estimated without it (Eq. 16), over all pairs of active words.

Word and context vectors enter only through their inner products, so rotating both together changes nothing. A
`shift` is added to all inner products: a model fitted with eta' in place of the slice's eta states odds of n+
against n- that are eta / eta' times those of the slice, and log(eta' / eta) corrects them.
"""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic
from wordtide.inference.problem import SliceData
from wordtide.model.likelihood import (
    ActiveSlice,
    GaussianVectors,
    exp,
    log,
    log_likelihood,
    log_sigmoid,
    row_blocks,
)
from wordtide.types import Array, Reals

_RANGE = 512  # numbers that share a quadrature, so that a few wide ones do not slow down all others
_REACH = 6.2  # standard deviations that a quadrature covers on either side of the mean
_WIDEST = 50.0  # standard deviations of more are integrated as if they were this wide
_TINY = np.float32(1e-30)  # below, the quadrature loses its digits in single precision


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
        deviation = np.sqrt(u_squares[rows] @ v_squares.T)
        total += _sum_log_expected_sigmoids(
            u_mean[rows] @ v_mean.T + np.float32(shift),
            deviation,
            _widest(deviation),
            rows.start,
            (active.starts, active.columns, active.values),
            (active.word_weight, active.context_weight),
            self_pairs,
        )
    return total / _pairs(part, self_pairs)


def log_expected_sigmoid(mean: Reals, deviation: Reals) -> Reals:
    """Compute log E[sigmoid(x)] for x ~ N(mean, deviation^2), element by element, to about 2e-5."""
    out = np.empty(mean.shape, dtype=mean.dtype)
    flat, spread = (np.ascontiguousarray(array).reshape(-1) for array in (mean, deviation))
    _map_log_expected_sigmoids(flat, spread, _widest(spread[None])[0], out.reshape(-1))
    return out


def _pairs(part: SliceData, self_pairs: bool) -> float:
    """|n+ + n-|, over both directions of a pair."""
    if self_pairs:
        return part.positives + part.negatives
    negatives = part.negatives * float(part.word_probability @ part.context_probability)
    return part.positives + part.negatives - float(part.positive_matrix().diagonal().sum()) - negatives


def _widest(deviation: Reals) -> Reals:
    """The largest of each `_RANGE` numbers in each row of (n, a)."""
    ranges = range(0, deviation.shape[1], _RANGE)
    return np.stack([deviation[:, first : first + _RANGE].max(axis=1) for first in ranges], axis=1)


@arithmetic
def _log_expected_sigmoids(mean: Array, deviation: Array, widest: Any, sign: Any, out: Array) -> None:
    """log E[sigmoid(sign x)] for x ~ N(mean, deviation^2), (n,), where no deviation is above `widest`.

    The trapezoidal rule with points z = k h, k = -K ... K. Its error falls exponentially with 1 / (h
    deviation), because sigmoid(mean + deviation z) is analytic up to a distance of pi / deviation from the
    real axis. For m <= 0, with e = exp(m) and q = exp(-k h s), the points k and -k together need one
    division,

        sigmoid(m + k h s) + sigmoid(m - k h s) = (2 q e^2 + (1 + q^2) e) / (q (1 + e^2) + (1 + q^2) e)

    and q for the next k follows by a multiplication. For m > 0 the sum is that of 1 - sigmoid, which is
    small.
    """
    kind = mean.dtype.type
    spacing = 2.0 / (1.0 + max(1.0, min(float(widest), _WIDEST)))
    points = math.ceil(_REACH / spacing)
    total = 1.0
    for k in range(1, points + 1):
        total += 2.0 * math.exp(-0.5 * (k * spacing) ** 2)
    step, middle, one, two = kind(-spacing), kind(1.0 / total), kind(1.0), kind(2.0)
    tails, powers, ratios = np.empty((3, len(mean)), dtype=mean.dtype)
    for j in range(len(mean)):
        e = exp(-abs(mean[j]))
        tails[j], powers[j], ratios[j] = e, one, exp(step * deviation[j])
        out[j] = middle * e / (one + e)
    for k in range(1, points + 1):
        weight = kind(math.exp(-0.5 * (k * spacing) ** 2) / total)
        for j in range(len(mean)):
            e, q = tails[j], powers[j] * ratios[j]
            squared, both = e * e, (one + q * q) * e
            out[j] += weight * (two * q * squared + both) / (q * (one + squared) + both)
            powers[j] = q
    for j in range(len(mean)):
        # A lost sum means a mean far below 0, and spread only raises the probability above that of the mean.
        m, tail = sign * mean[j], out[j]
        at_mean, expected = log_sigmoid(m), log(tail if m < 0 else one - tail)
        out[j] = at_mean if m < 0 and tail < _TINY else expected


@arithmetic
def _map_log_expected_sigmoids(mean: Array, deviation: Array, widest: Array, out: Array) -> None:
    for number in range(len(widest)):
        here = slice(number * _RANGE, (number + 1) * _RANGE)
        _log_expected_sigmoids(mean[here], deviation[here], widest[number], mean.dtype.type(1), out[here])


@arithmetic
def _sum_log_expected_sigmoids(
    mean: Array,
    deviation: Array,
    widest: Array,
    first: int,
    positives: Any,
    weights: Any,
    self_pairs: bool,
) -> float:
    """Eq. 2 with log E[sigmoid] over a block of rows (n, a) that begins with row `first`."""
    starts, columns, values = positives
    word_weight, context_weight = weights
    size = mean.shape[1]
    one = mean.dtype.type(1)
    found = np.empty(size, dtype=mean.dtype)
    at_positives = np.empty((2, size), dtype=mean.dtype)
    total = 0.0
    for i in range(mean.shape[0]):
        x, s, row = mean[i], deviation[i], first + i
        begin, count = starts[row], starts[row + 1] - starts[row]
        for place in range(count):
            at_positives[0, place] = x[columns[begin + place]]
            at_positives[1, place] = s[columns[begin + place]]
        _log_expected_sigmoids(
            at_positives[0, :count], at_positives[1, :count], widest[i].max(), one, found[:count]
        )
        for place in range(count):
            if self_pairs or columns[begin + place] != row:
                total += values[begin + place] * found[place]
        for number in range(widest.shape[1]):
            here = slice(number * _RANGE, (number + 1) * _RANGE)
            _log_expected_sigmoids(x[here], s[here], widest[i, number], -one, found[here])
        negative = mean.dtype.type(0)
        for j in range(size):
            negative += context_weight[j] * found[j]
        if not self_pairs:
            negative -= context_weight[row] * found[row]
        total += word_weight[row] * negative
    return total
