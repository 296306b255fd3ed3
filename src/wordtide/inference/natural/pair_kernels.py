"""Compiled sums over the pairs of a slice: positive pairs from sparse rows, negative pairs from dense blocks.

For a pair (i, j) with score x = u_i . v_j, taken to be Gaussian with its exact mean m and variance s2,

    kappa = 1 / sqrt(1 + pi s2 / 8),  p = sigmoid(kappa m)      E[sigmoid(x)]
    e = n+ (1 - p) - n- p                                        d/dm of E[log p(n | x)]
    r = (n+ + n-) kappa p (1 - p)                                minus its second derivative

Rows are independent, so threads may compute any ranges of them.
"""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic, inlined
from wordtide.model.logistic import kappa, sigmoid

Array = Any

#: The curvature of the quadratic expansion of -log sigmoid(-x): E[p (1 - p)] over typical negative pairs.
SLOPE = 0.17
_PAIRS, _FOUR = 16, 4  # positive pairs that are weighed together, and whose vectors are read together


@inlined
def _score_moments(
    u: Array,
    s: Array,
    second: Array,
    mean: Array,
    variance: Array,
    columns: Array,
    number: int,
    m: Array,
    s2: Array,
) -> None:
    """Fill m and s2 with the moments of the scores of a row with a number of columns, four of them at a time.

    The row has the mean u and the variance s (d,); `second` is u^2 + s.
    """
    zero = mean.dtype.type(0)
    for n in range(0, number, _FOUR):
        j0, j1, j2, j3 = columns[n], columns[n + 1], columns[n + 2], columns[n + 3]
        v0, v1, v2, v3 = mean[j0], mean[j1], mean[j2], mean[j3]
        w0, w1, w2, w3 = variance[j0], variance[j1], variance[j2], variance[j3]
        m0, m1, m2, m3, x0, x1, x2, x3 = zero, zero, zero, zero, zero, zero, zero, zero
        for k in range(len(u)):
            m0 += u[k] * v0[k]
            m1 += u[k] * v1[k]
            m2 += u[k] * v2[k]
            m3 += u[k] * v3[k]
            x0 += second[k] * w0[k] + s[k] * (v0[k] * v0[k])
            x1 += second[k] * w1[k] + s[k] * (v1[k] * v1[k])
            x2 += second[k] * w2[k] + s[k] * (v2[k] * v2[k])
            x3 += second[k] * w3[k] + s[k] * (v3[k] * v3[k])
        m[n], m[n + 1], m[n + 2], m[n + 3] = m0, m1, m2, m3
        s2[n], s2[n + 1], s2[n + 2], s2[n + 3] = x0, x1, x2, x3


@inlined
def _add_rows(
    e: Array,
    r: Array,
    mean: Array,
    variance: Array,
    columns: Array,
    number: int,
    a: Array,
    b: Array,
    c: Array,
) -> None:
    """Add the sums of e mu_j, r s_j and r mu_j^2 over a number of columns to a, b and c (d,)."""
    for n in range(0, number, _FOUR):
        j0, j1, j2, j3 = columns[n], columns[n + 1], columns[n + 2], columns[n + 3]
        v0, v1, v2, v3 = mean[j0], mean[j1], mean[j2], mean[j3]
        w0, w1, w2, w3 = variance[j0], variance[j1], variance[j2], variance[j3]
        e0, e1, e2, e3 = e[n], e[n + 1], e[n + 2], e[n + 3]
        r0, r1, r2, r3 = r[n], r[n + 1], r[n + 2], r[n + 3]
        for k in range(len(a)):
            a[k] += (e0 * v0[k] + e1 * v1[k]) + (e2 * v2[k] + e3 * v3[k])
        for k in range(len(b)):
            b[k] += (r0 * w0[k] + r1 * w1[k]) + (r2 * w2[k] + r3 * w3[k])
        for k in range(len(c)):
            c[k] += (r0 * (v0[k] * v0[k]) + r1 * (v1[k] * v1[k])) + (
                r2 * (v2[k] * v2[k]) + r3 * (v3[k] * v3[k])
            )


@arithmetic
def add_positives(
    indptr: Array,
    indices: Array,
    values: Array,
    mean: Array,
    variance: Array,
    other_mean: Array,
    other_variance: Array,
    start: int,
    stop: int,
    g: Array,
    sums: Array,
    h: Array,
) -> None:
    """Complete the gradients of rows `start` to `stop` with their positive pairs.

    On entry g (a, d) holds the sums of e mu_j over the negative pairs and sums (a, 2 d) those of r s_j and r
    mu_j^2. The positive pairs, n+ in CSR form, are added. On exit g = sum e mu_j - mu_i sum r s_j and h = sum
    r (mu_j^2 + s_j), the precision that the data contribute. A few pairs are processed at a time, so that
    their vectors are still in the cache when their scores are known; pairs of weight 0 fill up fours.
    """
    dim, kind = mean.shape[1], mean.dtype.type
    zero, one = kind(0), kind(1)
    second = np.empty(dim, dtype=mean.dtype)
    columns = np.zeros(_PAIRS, dtype=np.int64)
    m, s2, n, e, r = np.zeros((5, _PAIRS), dtype=mean.dtype)
    for i in range(start, stop):
        u, s = mean[i], variance[i]
        a, b, c = g[i], sums[i, :dim], sums[i, dim:]
        for k in range(dim):
            second[k] = u[k] * u[k] + s[k]
        for first in range(indptr[i], indptr[i + 1], _PAIRS):
            number = min(_PAIRS, indptr[i + 1] - first)
            padded = (number + _FOUR - 1) // _FOUR * _FOUR
            for place in range(padded):
                columns[place] = indices[first + min(place, number - 1)]
                n[place] = values[first + place] if place < number else zero
            _score_moments(u, s, second, other_mean, other_variance, columns, padded, m, s2)
            for place in range(_PAIRS):  # a constant number runs on vector units
                shrink = kappa(s2[place])
                p = sigmoid(shrink * m[place])
                e[place] = n[place] * (one - p)
                r[place] = e[place] * p * shrink
            _add_rows(e, r, other_mean, other_variance, columns, padded, a, b, c)
        for k in range(dim):
            a[k] -= u[k] * b[k]
            h[i, k] = max(b[k] + c[k], zero)  # a sample may miss a little


@arithmetic
def weigh_negatives(
    m: Array, s2: Array, row_weights: Array, column_weights: Array, own: Array, start: int
) -> None:
    """Turn the moments (n, c) of a block of scores into e and r of negative pairs, in place of m and s2.

    e = t (1/2 + SLOPE m) - w p and r = w kappa p (1 - p) - t SLOPE: minus the derivatives of the part of the
    log likelihood that its expansion misses. The weight w of a negative pair has rank two, that of the
    expansion, t, rank one. `own[i]` is the column of row i's own word, which is excluded; -1 if there is
    none. The block begins at row `start`.
    """
    zero, half, one, slope = m.dtype.type(0), m.dtype.type(0.5), m.dtype.type(1), m.dtype.type(SLOPE)
    first, second, third = column_weights[0], column_weights[1], column_weights[2]
    for i in range(m.shape[0]):
        scores, spreads = m[i], s2[i]
        a, b, c = row_weights[start + i, 0], row_weights[start + i, 1], row_weights[start + i, 2]
        for j in range(m.shape[1]):
            shrink = kappa(spreads[j])
            p = sigmoid(shrink * scores[j])
            e = (a * first[j] + b * second[j]) * p
            t = c * third[j]
            scores[j] = t * (half + slope * scores[j]) - e
            spreads[j] = e * shrink * (one - p) - t * slope
        if own[start + i] >= 0:
            scores[own[start + i]] = zero
            spreads[own[start + i]] = zero


@arithmetic
def add_expansion(
    mean: Array,
    variance: Array,
    other_mean: Array,
    row_weights: Array,
    left_out: Array,
    total: Array,
    across: Array,
    moments: Array,
    start: int,
    stop: int,
    g: Array,
    sums: Array,
) -> None:
    """Add the expansion of all negative pairs of rows `start` to `stop` to g and sums.

    With weights t c_j and the sums over all columns `total` = sum c_j mu_j, `across` = sum c_j x_ij mu_j and
    `moments` = sum c_j (s_j, mu_j^2), the pair of a word with itself has the weight t left_out[i] and is
    subtracted.
    """
    dim = mean.shape[1]
    half, slope = mean.dtype.type(0.5), mean.dtype.type(SLOPE)
    for i in range(start, stop):
        u, s, v, a, b, x = mean[i], variance[i], other_mean[i], g[i], sums[i], across[i - start]
        t, own = row_weights[i, 2], left_out[i]
        score = half * mean.dtype.type(0)
        for k in range(dim):
            score += u[k] * v[k]
        itself, curvature = own * (half + slope * score), t * slope
        for k in range(dim):
            a[k] -= t * (half * total[k] + slope * x[k] - itself * v[k])
            b[k] += curvature * (moments[k] - own * s[k])
            b[dim + k] += curvature * (moments[dim + k] - own * (v[k] * v[k]))


@arithmetic
def sum_negatives(
    out: Array,
    m: Array,
    s2: Array,
    row_weights: Array,
    column_weights: Array,
    own: Array,
    start: int,
) -> float:
    """Sum a block (n, c) of expectations `out` of log sigmoid(-x), less the expectation of its expansion.

    Weights, `own` and `start` are those of `weigh_negatives`; m and s2 are the moments of the scores.
    """
    kind = m.dtype.type
    log_2, half, slope = kind(math.log(2.0)), kind(0.5), kind(0.5 * SLOPE)
    first, second, third = column_weights[0], column_weights[1], column_weights[2]
    total = 0.0
    for i in range(m.shape[0]):
        values, scores, spreads, itself = out[i], m[i], s2[i], own[start + i]
        a, b, c = row_weights[start + i, 0], row_weights[start + i, 1], row_weights[start + i, 2]
        found = kind(0)
        for j in range(m.shape[1]):
            expanded = log_2 + half * scores[j] + slope * (scores[j] * scores[j] + spreads[j])
            found += (a * first[j] + b * second[j]) * values[j] + c * third[j] * expanded
        if itself >= 0:
            j = itself
            expanded = log_2 + half * scores[j] + slope * (scores[j] * scores[j] + spreads[j])
            found -= (a * first[j] + b * second[j]) * values[j] + c * third[j] * expanded
        total += found
    return total


@arithmetic
def sum_expansion(
    mean: Array,
    variance: Array,
    other_mean: Array,
    other_variance: Array,
    row_weights: Array,
    left_out: Array,
    weight: float,
    total: Array,
    across: Array,
    moments: Array,
    start: int,
    stop: int,
) -> float:
    """Sum the expectation of the expansion of log sigmoid(-x) over the negative pairs of some rows.

    The arguments are those of `add_expansion`; `weight` is the sum of all c_j.
    """
    dim = mean.shape[1]
    kind = mean.dtype.type
    found = 0.0
    for i in range(start, stop):
        u, s, v, sv, x = mean[i], variance[i], other_mean[i], other_variance[i], across[i - start]
        m, s2, first, squares = kind(0), kind(0), kind(0), kind(0)
        for k in range(dim):
            second = u[k] * u[k] + s[k]
            m += u[k] * v[k]
            s2 += second * sv[k] + s[k] * (v[k] * v[k])
            first += u[k] * total[k]
            squares += x[k] * u[k] + second * moments[k] + s[k] * moments[dim + k]
        own = left_out[i]
        expected = -math.log(2.0) * (weight - own) - 0.5 * (first - own * m)
        expected -= 0.5 * SLOPE * (squares - own * (m * m + s2))
        found += row_weights[i, 2] * expected
    return found


@arithmetic
def positive_moments(
    indptr: Array,
    indices: Array,
    values: Array,
    mean: Array,
    variance: Array,
    other_mean: Array,
    other_variance: Array,
    start: int,
    stop: int,
    upper: bool,
    m: Array,
    s2: Array,
    weights: Array,
) -> int:
    """Compute the mean m and variance s2 of the scores of the stored pairs of rows `start` to `stop`.

    With `upper`, only pairs above the diagonal count. Returns the number of pairs; `weights` receives their
    n+.
    """
    dim, zero = mean.shape[1], mean.dtype.type(0)  # u[0] * 0 would be a float64
    number = 0
    for i in range(start, stop):
        u, s = mean[i], variance[i]
        for place in range(indptr[i], indptr[i + 1]):
            if upper and indices[place] <= i:
                continue
            v, sv = other_mean[indices[place]], other_variance[indices[place]]
            score, spread = zero, zero
            for k in range(dim):
                score += u[k] * v[k]
                spread += (u[k] * u[k] + s[k]) * sv[k] + s[k] * (v[k] * v[k])
            m[number], s2[number], weights[number] = score, spread, values[place]
            number += 1
    return number


@arithmetic
def step_rows(
    mean: Array,
    precision: Array,
    g: Array,
    h: Array,
    prior_mean: Array,
    prior_precision: Array,
    rate: float,
    trust: float,
) -> bool:
    """Take one natural-gradient step of all rows. Returns whether all values are finite.

    precision <- (1 - rate) precision + rate (prior precision + h); mean <- mean + rate clip[(g - pull) /
    precision], where clip limits the length of a row's step to `trust`.
    """
    kind = mean.dtype.type
    new, old = kind(rate), kind(1.0 - rate)
    finite = True
    for i in range(mean.shape[0]):
        square = kind(0)
        for k in range(mean.shape[1]):
            lam = old * precision[i, k] + new * (h[i, k] + prior_precision[i, k])
            precision[i, k] = lam
            step = (g[i, k] - (mean[i, k] - prior_mean[i, k]) * prior_precision[i, k]) / lam
            g[i, k] = step
            square += step * step
        length = math.sqrt(square)
        if not length < np.inf:
            finite = False
        scale = new if length <= trust else kind(rate * trust / length)
        for k in range(mean.shape[1]):
            mean[i, k] += scale * g[i, k]
    return finite
