"""The log evidence of Gaussian levels and chains, given messages exp(b x - h x^2 / 2), compiled."""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic, inlined
from wordtide.model import verdicts
from wordtide.model.chain import condition, predict

Array = Any

level_means = inlined(verdicts.level_means)
_AT_ONCE = 8  # factors of a product, of which one logarithm is taken


@arithmetic
def pair_evidence(
    h11: Array, h12: Array, h22: Array, b1: Array, b2: Array, v: float, correlation: float
) -> float:
    """The log evidence of two levels with this correlation, from weighted sums (d,)."""
    own = 1.0 / (v * (1.0 - correlation * correlation))
    shared, determinant = correlation * own, v / own
    total = 0.0
    for first in range(0, len(h11), _AT_ONCE):
        growth = 1.0
        for k in range(first, min(first + _AT_ONCE, len(h11))):
            a11, a12, a22 = own + h11[k], h12[k] - shared, own + h22[k]
            x1, x2, size = level_means(a11, a12, a22, b1[k], b2[k])
            total += b1[k] * x1 + b2[k] * x2
            growth *= size * determinant
        total -= math.log(growth)
    return 0.5 * total


@arithmetic
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


@arithmetic
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
