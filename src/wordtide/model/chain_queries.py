"""Compiled passes over trajectories for questions: means, variances, contrasts, beliefs and log evidence.

Arrays are those of `model.chain`. `gain` and `noise` are `knots.transitions`: a word's first knot has gain 0,
and its noise is the prior variance. Computations are in float64, whatever the type of the states.
"""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic, contained, inlined, kernel
from wordtide.model import verdicts
from wordtide.model.chain import (
    carry_back,
    condition,
    longest_chain,
    look_back,
    messages_of_word,
    predict,
)

Array = Any

level_means = inlined(verdicts.level_means)
_AT_ONCE = 8  # factors multiplied before a logarithm is taken


@kernel
def means_at_times(
    fitted: Array,
    places: Array,
    values: Array,
    before: Array,
    after: Array,
    before_weight: Array,
    after_weight: Array,
    out: Array,
) -> None:
    """Compute means at times, (n, d): weighted sums of the means at the knots in rows `before` and `after`.

    Row r of the means at knots is `values[places[r]]`, or `fitted[r]` if `places[r]` is negative or there are
    no places. The order of operations is fixed, so that NumPy gives the same bits.
    """
    for n in range(len(before)):
        first, last = max(before[n], 0), max(after[n], 0)
        one, other = fitted[first], fitted[last]
        if len(places):
            one = values[places[first]] if places[first] >= 0 else one
            other = values[places[last]] if places[last] >= 0 else other
        for k in range(out.shape[1]):
            out[n, k] = 0.0 + before_weight[n] * one[k] + after_weight[n] * other[k]


@arithmetic
def variances_at_times(
    starts: Array,
    gain: Array,
    noise: Array,
    h: Array,
    words: Array,
    asked: Array,
    after: Array,
    gain_in: Array,
    noise_in: Array,
    gain_out: Array,
    noise_out: Array,
    places: Array,
    out: Array,
) -> None:
    """Compute variances at times; those of word `words[n]` are the times `asked[n]` to `asked[n + 1]`.

    Each time has the row `after` of the first knot after it (or where that would be), the steps from the knot
    before and to the knot after (`Bridges`), and a row `places` of `out`, which receives the variances. A
    Kalman filter runs forward to the time, and the messages of later knots are passed backward.
    """
    dim = h.shape[1]
    longest = longest_chain(starts, words)
    filtered = np.zeros((longest + 1, dim), dtype=np.float64)  # line k: after k knots
    ahead = np.zeros((longest + 1, dim), dtype=np.float64)  # line k: the precision of knot k and later knots
    for n in range(len(words)):
        begin, end = starts[words[n]], starts[words[n] + 1]
        latest, earliest = begin, end
        for m in range(asked[n], asked[n + 1]):
            latest, earliest = max(latest, after[m]), min(earliest, after[m])
        for row in range(begin, latest):
            p_before, p, data = filtered[row - begin], filtered[row - begin + 1], h[row]
            for k in range(dim):
                variance = predict(gain[row], noise[row], 0.0, p_before[k])[1]
                p[k] = condition(0.0, variance, data[k], 0.0)[1]
        for row in range(end - 1, earliest - 1, -1):
            line, data = ahead[row - begin], h[row]
            if row == end - 1:
                for k in range(dim):
                    line[k] = data[k]
            else:
                later = ahead[row - begin + 1]
                for k in range(dim):
                    line[k] = data[k] + carry_back(gain[row + 1], noise[row + 1], later[k], 0.0)[0]
        for m in range(asked[n], asked[n + 1]):
            row = after[m] - begin
            p, found = filtered[row], out[places[m]]
            if after[m] == end:
                for k in range(dim):
                    found[k] = predict(gain_in[m], noise_in[m], 0.0, p[k])[1]
            else:
                later = ahead[row]
                for k in range(dim):
                    variance = predict(gain_in[m], noise_in[m], 0.0, p[k])[1]
                    precision = carry_back(gain_out[m], noise_out[m], later[k], 0.0)[0]
                    found[k] = condition(0.0, variance, precision, 0.0)[1]


@arithmetic
def contrasts_of_chains(
    starts: Array,
    gain: Array,
    noise: Array,
    rows: Array,
    weights: Array,
    h: Array,
    posterior: Array,
    sampling: Array,
) -> None:
    """Compute the variances of weighted sums c . x over chains.

    The steps of a chain are knots (`rows` of h) and times without data (row -1), whose `weights` are c.
    With S the posterior covariance of a chain and y = S c, the variance of c . x is c . y. The posterior mean
    is S times the messages of the data, whose precision is h, so the sampling variance of c . mean is sum h
    y^2. A smoother computes y from the messages c. Fills `posterior` and `sampling` (chains, d).
    """
    dim = h.shape[1]
    longest = longest_chain(starts, np.arange(len(starts) - 1))
    mean = np.zeros((longest + 1, dim), dtype=np.float64)  # line k: after k steps
    variance = np.zeros((longest + 1, dim), dtype=np.float64)
    for n in range(len(starts) - 1):
        begin, end = starts[n], starts[n + 1]
        for step in range(begin, end):
            place = step - begin
            y_before, p_before, y, p = mean[place], variance[place], mean[place + 1], variance[place + 1]
            a, q = gain[step], noise[step]
            if rows[step] >= 0:
                data = h[rows[step]]
                for k in range(dim):
                    center, predicted = predict(a, q, y_before[k], p_before[k])
                    y[k], p[k] = condition(center, predicted, data[k], 0.0)
            else:
                for k in range(dim):
                    center, predicted = predict(a, q, y_before[k], p_before[k])
                    y[k], p[k] = condition(center, predicted, 0.0, weights[step])
        total, explained = posterior[n], sampling[n]
        total[:] = 0.0
        explained[:] = 0.0
        for step in range(end - 1, begin - 1, -1):
            y, p = mean[step - begin + 1], variance[step - begin + 1]
            if step < end - 1:
                y_after, a, q = mean[step - begin + 2], gain[step + 1], noise[step + 1]
                for k in range(dim):
                    y[k] = look_back(a, q, y[k], p[k], y_after[k], 0.0)[0]
            if rows[step] >= 0:
                data = h[rows[step]]
                for k in range(dim):
                    explained[k] += data[k] * y[k] * y[k]
            else:
                for k in range(dim):
                    total[k] += weights[step] * y[k]


@arithmetic
def beliefs_around_knots(
    starts: Array,
    gain: Array,
    noise: Array,
    mu: Array,
    h: Array,
    words: Array,
    here: Array,
    before_mean: Array,
    before_variance: Array,
    after_mean: Array,
    after_variance: Array,
) -> None:
    """Compute the beliefs about words just before and just after their knots `here`.

    They follow from the messages of these and earlier knots.
    """
    dim = h.shape[1]
    longest = longest_chain(starts, words)
    center, added, messages = (
        np.empty((longest, dim), dtype=np.float64),
        np.empty((longest, dim), dtype=np.float64),
        np.empty((longest, dim), dtype=np.float64),
    )
    for n in range(len(words)):
        begin, end = starts[words[n]], starts[words[n] + 1]
        size = end - begin
        center[:size] = mu[begin:end]
        added[:size] = h[begin:end]
        messages_of_word(
            gain[begin:end], noise[begin:end], noise[begin], center[:size], added[:size], messages[:size]
        )
        m, p, predicted, spread = after_mean[n], after_variance[n], before_mean[n], before_variance[n]
        m[:] = 0.0
        p[:] = 0.0
        for row in range(begin, here[n] + 1):
            data, message = h[row], messages[row - begin]
            for k in range(dim):
                predicted[k], spread[k] = predict(gain[row], noise[row], m[k], p[k])
                m[k], p[k] = condition(predicted[k], spread[k], data[k], message[k])


@contained
def pair_evidence(
    h11: Array, h12: Array, h22: Array, b1: Array, b2: Array, v: float, correlation: float
) -> float:
    """The log evidence of two levels, from weighted sums (d,) of the messages exp(b x - h x^2 / 2)."""
    own = 1.0 / (v * (1.0 - correlation * correlation))
    shared, determinant = correlation * own, v / own
    total, growth = 0.0, np.empty(len(h11))
    for k in range(len(h11)):  # a loop that stores and sums would round by where its arrays lie in memory
        a11, a12, a22 = own + h11[k], h12[k] - shared, own + h22[k]
        growth[k] = level_means(a11, a12, a22, b1[k], b2[k])[2] * determinant
    for k in range(len(h11)):
        x1, x2, _ = level_means(own + h11[k], h12[k] - shared, own + h22[k], b1[k], b2[k])
        total += b1[k] * x1 + b2[k] * x2
    for first in range(0, len(growth), _AT_ONCE):
        product = 1.0
        for k in range(first, min(first + _AT_ONCE, len(growth))):
            product *= growth[k]
        total -= math.log(product)
    return 0.5 * total


@contained
def chain_evidence(gain: Array, noise: Array, h: Array, b: Array) -> float:
    """The log evidence of a Markov chain, from the messages (n, d) at its steps (`knots.transitions`)."""
    dim = h.shape[1]
    mean, variance, growth = np.zeros(dim), np.zeros(dim), np.ones(dim)
    total = 0.0
    for step in range(len(h)):
        for k in range(dim):
            m, p = predict(gain[step], noise[step], mean[k], variance[k])
            grown = 1.0 + h[step, k] * p
            total += (b[step, k] * (2.0 * m + p * b[step, k]) - h[step, k] * m * m) / grown
            growth[k] *= grown
            mean[k], variance[k] = condition(m, p, h[step, k], b[step, k])
        if step % _AT_ONCE == _AT_ONCE - 1 or step == len(h) - 1:
            for k in range(dim):
                total -= math.log(growth[k])
                growth[k] = 1.0
    return 0.5 * total


@contained
def log_mean(values: Array) -> float:
    """The logarithm of the mean of exp(values)."""
    top, total = -np.inf, 0.0
    for value in values:
        top = max(top, value)
    if top == -np.inf:
        return top
    for value in values:
        total += math.exp(value - top)
    return top + math.log(total / len(values))
