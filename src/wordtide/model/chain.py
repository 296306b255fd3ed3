"""Compiled passes over whole trajectories: smoothing, divergences, messages, and predictions of knots.

Rows of the (K, d) arrays are knots, word by word, and each coordinate is a separate chain. `gain[k]` and
`noise[k]` lead from the previous knot to knot k; a word's first knot has the prior variance `first[word]`
(see `model.knots.transitions`). Every function processes the words `start` to `stop`, so that threads can
divide the words among them, and releases the GIL. With h the precision that the data add at the knots, the
posterior of a chain is N(mu, (Pi + diag(h))^-1).
"""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic, contained, inlined
from wordtide.model import gaussians
from wordtide.model.logistic import log
from wordtide.model.prior import Diffusion
from wordtide.types import Floats, Reals

Array = Any

predict = inlined(gaussians.predict)
condition = inlined(gaussians.condition)
look_back = inlined(gaussians.look_back)
carry_back = inlined(gaussians.carry_back)


@inlined
def longest_chain(starts: Array, words: Array) -> int:
    """The largest number of knots of any of some words."""
    longest = 0
    for word in words:
        longest = max(longest, starts[word + 1] - starts[word])
    return longest


@arithmetic
def observe_rows(rows: Array, g: Array, h_new: Array, rate: float, mu: Array, h: Array, b: Array) -> bool:
    """Incorporate a slice's gradients: h moves toward `h_new` by `rate`, and b becomes g + h mu.

    `g` and `h_new` have one row for each of `rows`. Rows are independent, so the result does not depend on
    which of them are passed together. Returns whether all values are finite.
    """
    dim, kind = mu.shape[1], mu.dtype.type  # a float32 times an integer 0 would be a float64
    new, old = kind(rate), kind(1 - rate)
    sound = True
    for place in range(len(rows)):
        row, total = rows[place], kind(0)
        for k in range(dim):
            h[row, k] = old * h[row, k] + new * h_new[place, k]
            b[row, k] = g[place, k] + h[row, k] * mu[row, k]
            total += abs(h[row, k]) + abs(b[row, k])  # finite only if every term is
        # numba's isfinite tests whether x - x is 0, which reordered arithmetic assumes
        if not total < np.inf:
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
    """Replace b by the means (Pi + diag(h))^-1 b, and s by the marginal variances."""
    dim = h.shape[1]
    nothing = h.dtype.type(0)
    for word in range(start, stop):
        begin, end = starts[word], starts[word + 1]
        for row in range(begin, end):
            x, p, data = b[row], s[row], h[row]
            if row == begin:
                prior = first[word]
                for k in range(dim):
                    x[k], p[k] = condition(nothing, prior, data[k], x[k])
            else:
                a, q = gain[row], noise[row]
                x_before, p_before = b[row - 1], s[row - 1]
                for k in range(dim):
                    mean, variance = predict(a, q, x_before[k], p_before[k])
                    x[k], p[k] = condition(mean, variance, data[k], x[k])
        for row in range(end - 2, begin - 1, -1):
            a, q = gain[row + 1], noise[row + 1]
            x, p = b[row], s[row]
            x_after, s_after = b[row + 1], s[row + 1]
            for k in range(dim):
                x[k], p[k] = look_back(a, q, x[k], p[k], x_after[k], s_after[k])


@arithmetic
def move_words(
    starts: Array, target: Array, mu: Array, rate: float, cap: float, start: int, stop: int
) -> None:
    """Move means toward their targets by `rate`.

    The steps of a word are scaled down together, to at most `cap` at any knot.
    """
    dim, kind = mu.shape[1], mu.dtype.type
    for word in range(start, stop):
        longest = 0.0
        for row in range(starts[word], starts[word + 1]):
            length = kind(0)
            for k in range(dim):
                length += (target[row, k] - mu[row, k]) ** 2
            longest = max(longest, float(length))
        step = kind(rate if longest <= cap * cap else rate * cap / math.sqrt(longest))
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
    """Fill `out` with the divergence KL(q || p) of each word.

    KL = 1/2 [mu' Pi mu - sum h s + log det(Pi + diag h) - log det Pi]
    """
    dim = mu.shape[1]
    variance = np.empty(dim, dtype=np.float64)
    growth = np.empty(dim, dtype=np.float64)
    for word in range(start, stop):
        begin, end = starts[word], starts[word + 1]
        total = 0.0
        growth[:] = 1.0
        variance[:] = 0.0
        for row in range(begin, end):
            a, q = (
                (0.0, np.float64(first[word]))
                if row == begin
                else (np.float64(gain[row]), np.float64(noise[row]))
            )
            before = mu[max(row - 1, begin)]
            for k in range(dim):
                center, predicted = predict(a, q, np.float64(before[k]), variance[k])
                total += (np.float64(mu[row, k]) - center) ** 2 / q
                total -= h[row, k] * s[row, k]
                growth[k] *= 1.0 + h[row, k] * predicted
                variance[k] = condition(center, predicted, h[row, k], 0.0)[1]
            if (row - begin) % 8 == 7 or row == end - 1:  # one logarithm of eight factors: they are slow
                for k in range(dim):
                    total += math.log(growth[k])
                    growth[k] = 1.0
        out[word] = 0.5 * total


@contained
def messages_of_word(gain: Array, noise: Array, first: float, mu: Array, h: Array, b: Array) -> None:
    """Fill b with the messages of the data about one word, b = (Pi + diag h) mu; all arrays are its knots."""
    later = np.zeros(mu.shape[1], dtype=np.float64)
    for row in range(len(mu) - 1, -1, -1):
        a, q = (0.0, float(first)) if row == 0 else (float(gain[row]), float(noise[row]))
        before = mu[max(row - 1, 0)]
        for k in range(mu.shape[1]):
            pull = (mu[row, k] - a * before[k]) / q
            b[row, k] = pull + h[row, k] * mu[row, k] - later[k]
            later[k] = a * pull


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
    """Fill b with the messages of the data about some words."""
    for word in range(start, stop):
        own = slice(starts[word], starts[word + 1])
        messages_of_word(gain[own], noise[own], first[word], mu[own], h[own], b[own])


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
    """Predict each knot from the messages (h, b) of all other knots: b becomes the mean, s the variance.

    The prior and the earlier knots are passed forward, the later knots backward; a knot's own message is
    never subtracted.
    """
    dim = h.shape[1]
    longest = longest_chain(starts, np.arange(start, stop))
    before = np.empty((longest, dim), dtype=np.float64)
    precision = np.empty(dim, dtype=np.float64)
    message = np.empty(dim, dtype=np.float64)
    for word in range(start, stop):
        begin, end = starts[word], starts[word + 1]
        for row in range(begin, end):
            m, p = before[row - begin], s[row]
            if row == begin:
                for k in range(dim):
                    m[k], p[k] = 0.0, first[word]
            else:
                m_before, p_before = before[row - 1 - begin], s[row - 1]
                h_before, b_before = h[row - 1], b[row - 1]
                for k in range(dim):
                    mean, variance = condition(m_before[k], p_before[k], h_before[k], b_before[k])
                    m[k], p[k] = predict(gain[row], noise[row], mean, variance)
        precision[:] = 0.0
        message[:] = 0.0
        for row in range(end - 1, begin - 1, -1):
            m, p, x = before[row - begin], s[row], b[row]
            for k in range(dim):
                own = x[k]
                x[k], p[k] = condition(m[k], p[k], precision[k], message[k])
                precision[k], message[k] = carry_back(
                    gain[row], noise[row], precision[k] + h[row, k], message[k] + own
                )


@arithmetic
def match_words(
    starts: Array,
    gain: Array,
    noise: Array,
    first: Array,
    wanted: Array,
    h: Array,
    sweeps: int,
    close: float,
    start: int,
    stop: int,
) -> None:
    """Choose h >= 0 such that the marginal precisions are as close to `wanted` (K, d) as possible.

    A sweep sets the h of each knot, from the last to the first, to what its marginal precision lacks. Knots
    are updated one by one because neighbors share their precision: updated together, they would overshoot. A
    word is done when the largest change in a sweep, relative to the wanted precision, is below `close`, or
    after `sweeps` sweeps.
    """
    dim = h.shape[1]
    longest = longest_chain(starts, np.arange(start, stop))
    predicted = np.empty((longest, dim), dtype=np.float64)
    later, change = np.empty(dim, dtype=np.float64), np.empty(dim, dtype=np.float64)
    for word in range(start, stop):
        begin, end = starts[word], starts[word + 1]
        for _ in range(sweeps):
            predicted[:1] = first[word]
            for row in range(begin + 1, end):
                before, here = predicted[row - 1 - begin], predicted[row - begin]
                own, a, q = h[row - 1], gain[row], noise[row]
                for k in range(dim):
                    here[k] = predict(a, q, 0.0, condition(0.0, before[k], own[k], 0.0)[1])[1]
            later[:] = 0.0  # the precision that later knots add
            change[:] = 0.0
            for row in range(end - 1, begin - 1, -1):
                here, own, goal = predicted[row - begin], h[row], wanted[row]
                a, q = gain[row], noise[row]
                for k in range(dim):
                    best = max(goal[k] - 1.0 / here[k] - later[k], 0.0)
                    change[k] = max(change[k], abs(best - own[k]) / goal[k])
                    own[k] = best
                    later[k] = carry_back(a, q, best + later[k], 0.0)[0]
            if change.max() < close:
                break


def smoothing_kl(mu: Reals, nu: Reals, omega: Reals, diffusion: Diffusion) -> float:
    """Sum KL(N(mu, (B^T B)^-1) || N(0, Pi^-1)) over all trajectories.

    Args:
        mu: Means, (T, n, d).
        nu: Diagonal of B, (T, n, d).
        omega: Superdiagonal of B, (T - 1, n, d).
        diffusion: The prior, with precision Pi (Eq. S11).
    """
    diagonal, off_diagonal = diffusion.precision()
    variance, lag_one = gaussians.covariances(nu, omega)
    # Pi is nearly singular, so its terms cancel: slices are summed in float64 even for float32 parameters.
    second = _sums(variance) + _sums(mu**2)
    neighbors = _sums(lag_one) + _sums(mu[:-1] * mu[1:])
    quadratic: float = float(diagonal @ second + 2.0 * (off_diagonal @ neighbors))
    log_determinant_b = float(np.log(nu).sum(dtype=np.float64))  # minus the entropy, up to a constant (S7)
    constant: float = mu.size + mu[0].size * _log_determinant(diffusion)
    return 0.5 * (quadratic - constant) + log_determinant_b


def _sums(values: Reals) -> Floats:
    """Sum each slice, (T, n, d) to (T,)."""
    sums: Floats = values.sum(axis=(1, 2), dtype=np.float64)
    return sums


def _log_determinant(diffusion: Diffusion) -> float:
    """log det Pi, from the chain of conditional variances."""
    return -float(np.log(diffusion.marginal[0]) + np.log(diffusion.noise).sum())


def filter_kl(mean: Reals, variance: Reals, prior_mean: Reals, prior_variance: Reals) -> float:
    """Sum KL(q || p) of independent Gaussians over all entries: minus the last two terms of Eq. 11."""
    return float(_sum_kl(*(np.ravel(array) for array in (mean, variance, prior_mean, prior_variance))))


@arithmetic
def _sum_kl(mean: Any, variance: Any, prior_mean: Any, prior_variance: Any) -> float:
    one, total = mean.dtype.type(1), 0.0
    for k in range(len(mean)):
        inverse = one / prior_variance[k]
        ratio, distance = variance[k] * inverse, mean[k] - prior_mean[k]
        total += ratio + distance * distance * inverse - one - log(ratio)
    return 0.5 * total
