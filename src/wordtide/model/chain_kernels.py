"""Kalman smoothing of whole trajectories on the CPU: all knots of a word while they are in the cache, each coordinate alone.

Rows of the (K, d) arrays are knots, word by word. `gain[k]`, `noise[k]` lead from the knot before to knot k; a word's first
knot has the prior variance `first[word]`.
"""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic

Array = Any


@arithmetic
def observe_rows(rows: Array, g: Array, h_new: Array, rate: float, mu: Array, h: Array, b: Array) -> bool:
    """What a slice says of some rows: h moves to `h_new` by `rate`, and b becomes g + h mu. Are all of them finite?

    `g` and `h_new` have a line for each of `rows`; each line is computed alone, so it does not matter which rows go together.
    """
    dim = mu.shape[1]
    new, old = mu.dtype.type(rate), mu.dtype.type(1 - rate)
    sound = True
    for place in range(len(rows)):
        row = rows[place]
        total = mu[row, 0] * 0
        for k in range(dim):
            h[row, k] = old * h[row, k] + new * h_new[place, k]
            b[row, k] = g[place, k] + h[row, k] * mu[row, k]
            total += abs(h[row, k]) + abs(b[row, k])  # not finite as soon as one of them is not
        if (
            not total < np.inf
        ):  # numba's isfinite asks whether x - x is 0, which reordered arithmetic takes for granted
            sound = False
    return sound


@arithmetic
def smooth_words(
    starts: Array,
    gain: Array,
    noise: Array,
    first: Array,
    h: Array,
    b: Array,
    s: Array,
    start: int,
    stop: int,
) -> None:
    """For words `start` to `stop`: b becomes the mean (Pi + diag(h))^-1 b, and s the marginal variances."""
    dim = h.shape[1]
    for word in range(start, stop):
        begin, end = starts[word], starts[word + 1]
        for row in range(begin, end):
            x, p, hk = b[row], s[row], h[row]
            if row == begin:
                for k in range(dim):
                    p[k] = first[word] / (1 + hk[k] * first[word])
                    x[k] = x[k] * p[k]
            else:
                a, q = gain[row], noise[row]
                x_before, p_before = b[row - 1], s[row - 1]
                for k in range(dim):
                    predicted = a * a * p_before[k] + q
                    share = 1 / (1 + hk[k] * predicted)
                    p[k] = predicted * share
                    x[k] = (a * x_before[k] + predicted * x[k]) * share
        for row in range(end - 2, begin - 1, -1):
            a, q = gain[row + 1], noise[row + 1]
            x, p = b[row], s[row]
            x_after, s_after = b[row + 1], s[row + 1]
            for k in range(dim):
                share = p[k] / (a * a * p[k] + q)
                back = a * share
                x[k] += back * (x_after[k] - a * x[k])
                p[k] = q * share + back * back * s_after[k]


@arithmetic
def move_words(
    starts: Array, target: Array, mu: Array, rate: float, cap: float, start: int, stop: int
) -> None:
    """Move means towards their targets by `rate`; a word's step is scaled down so that at no knot it is longer than `cap`."""
    dim = mu.shape[1]
    for word in range(start, stop):
        longest = 0.0
        for row in range(starts[word], starts[word + 1]):
            length = mu[row, 0] * 0
            for k in range(dim):
                length += (target[row, k] - mu[row, k]) ** 2
            longest = max(longest, float(length))
        step = mu.dtype.type(rate if longest <= cap * cap else rate * cap / math.sqrt(longest))
        for row in range(starts[word], starts[word + 1]):
            for k in range(dim):
                mu[row, k] += step * (target[row, k] - mu[row, k])


@arithmetic
def divergence_of_words(
    starts: Array,
    gain: Array,
    noise: Array,
    first: Array,
    mu: Array,
    h: Array,
    s: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """KL(q || p) of each of the words `start` to `stop`: 1/2 [mu' Pi mu - sum h s + log det(Pi + diag h) - log det Pi]."""
    dim = mu.shape[1]
    variance = np.empty(dim, dtype=np.float64)
    growth = np.empty(dim, dtype=np.float64)
    for word in range(start, stop):
        begin, end = starts[word], starts[word + 1]
        total = 0.0
        growth[:] = 1.0
        for row in range(begin, end):
            if row == begin:
                for k in range(dim):
                    variance[k] = first[word]
                    total += float(mu[row, k]) ** 2 / first[word]
            else:
                a, q = gain[row], noise[row]
                for k in range(dim):
                    variance[k] = a * a * variance[k] + q
                    total += float(mu[row, k] - a * mu[row - 1, k]) ** 2 / q
            for k in range(dim):
                ratio = 1.0 + h[row, k] * variance[k]
                growth[k] *= ratio
                variance[k] /= ratio
                total -= h[row, k] * s[row, k]
            if (row - begin) % 8 == 7 or row == end - 1:
                for k in range(dim):
                    total += math.log(growth[k])
                    growth[k] = 1.0
        out[word] = 0.5 * total


@arithmetic
def messages_of_words(
    starts: Array,
    gain: Array,
    noise: Array,
    first: Array,
    mu: Array,
    h: Array,
    b: Array,
    start: int,
    stop: int,
) -> None:
    """For words `start` to `stop`: what the data of each knot say under N(mu, (Pi + diag h)^-1), as b = (Pi + diag h) mu."""
    dim = h.shape[1]
    later = np.empty(dim, dtype=np.float64)
    for word in range(start, stop):
        begin, end = starts[word], starts[word + 1]
        for k in range(dim):
            later[k] = 0.0
        for row in range(end - 1, begin - 1, -1):
            for k in range(dim):
                if row == begin:
                    pull = float(mu[row, k]) / first[word]
                else:
                    pull = (float(mu[row, k]) - gain[row] * float(mu[row - 1, k])) / noise[row]
                b[row, k] = pull + h[row, k] * mu[row, k] - later[k]
                later[k] = gain[row] * pull


@arithmetic
def leave_out_words(
    starts: Array,
    gain: Array,
    noise: Array,
    first: Array,
    h: Array,
    b: Array,
    s: Array,
    start: int,
    stop: int,
) -> None:
    """For words `start` to `stop`: what the messages of all other knots say of each one. b becomes that mean, s its variance.

    A Kalman filter forward gives what the earlier knots and the prior say; precision and place of the later knots come
    backward. So a knot's own message never has to be subtracted.
    """
    dim = h.shape[1]
    longest = 0
    for word in range(start, stop):
        longest = max(longest, starts[word + 1] - starts[word])
    before = np.empty((longest, dim), dtype=np.float64)
    precision = np.empty(dim, dtype=np.float64)
    place = np.empty(dim, dtype=np.float64)
    for word in range(start, stop):
        begin, end = starts[word], starts[word + 1]
        for row in range(begin, end):
            m, p = before[row - begin], s[row]
            if row == begin:
                for k in range(dim):
                    m[k] = 0.0
                    p[k] = first[word]
            else:
                a, q = gain[row], noise[row]
                m_before, p_before = before[row - 1 - begin], s[row - 1]
                for k in range(dim):
                    share = 1 / (1 + h[row - 1, k] * p_before[k])
                    p[k] = a * a * p_before[k] * share + q
                    m[k] = a * (m_before[k] + p_before[k] * b[row - 1, k]) * share
        for k in range(dim):
            precision[k] = 0.0
            place[k] = 0.0
        for row in range(end - 1, begin - 1, -1):
            m, p, x = before[row - begin], s[row], b[row]
            a, q = gain[row], noise[row]
            for k in range(dim):
                own = x[k]
                share = 1 / (1 + p[k] * precision[k])
                x[k] = (m[k] + p[k] * place[k]) * share
                p[k] = p[k] * share
                if row > begin:
                    total = precision[k] + h[row, k]
                    across = a / (1 + q * total)
                    precision[k] = a * across * total
                    place[k] = across * (place[k] + own)
