"""Shared by both solvers of the paper: noise that depends only on where it is used, and Adam."""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic
from wordtide.types import Array, Indices, Reals

Betas = tuple[float, float]


def noise_generator(*place: int) -> np.random.Generator:
    """Create a generator from `place` (seed, slice, step) alone: a resumed run needs no past draws."""
    return np.random.default_rng([number % 2**64 for number in place])


class Adam:
    """Adam (Kingma and Ba, 2015) for maximization. It returns steps and leaves the parameters to its caller.

    Mirror ascent needs the step d[.] itself (Eq. S18), not the moved parameter. In a minibatch only the
    moments of the words in it are read and updated, while the number of steps, which corrects the bias of the
    moments, counts for all words, as in torch.optim.SparseAdam.

    Attributes:
        first: Running means of the gradients, in the shape of the parameters, (..., words, d).
        second: Running means of the squared gradients.
        count: The number of steps taken.
    """

    def __init__(self, parameters: Reals, betas: Betas, epsilon: float) -> None:
        self.betas, self.epsilon = betas, epsilon
        self.first, self.second = np.zeros((2, *parameters.shape), dtype=parameters.dtype)
        self.count = 0

    def step(self, gradient: Reals, rate: float, rows: Indices | None = None) -> Reals:
        """Compute the next step from a gradient (..., n, d) of the words `rows` (n,), or of all words."""
        self.count += 1
        gradient = np.ascontiguousarray(gradient)
        step = np.empty_like(gradient)
        first, second, by, out = (
            array.reshape(-1, *array.shape[-2:]) for array in (self.first, self.second, gradient, step)
        )
        rows = np.arange(by.shape[1]) if rows is None else rows
        number = gradient.dtype.type
        beta1, beta2 = self.betas
        rate_now = rate / (1.0 - beta1**self.count)  # with the corrections of the bias of both moments
        correction = 1.0 / math.sqrt(1.0 - beta2**self.count)
        constants = tuple(map(number, (1.0 - beta1, beta2, 1.0 - beta2, rate_now, correction, self.epsilon)))
        _adam_step(first, second, by, rows, constants, out)
        return step

    def reset(self) -> None:
        """Forget all gradients."""
        self.count = 0
        self.first[:] = 0.0
        self.second[:] = 0.0


@arithmetic
def _adam_step(
    first: Array, second: Array, gradient: Array, rows: Array, constants: tuple[Any, ...], out: Array
) -> None:
    """Update the moments (T, words, d) of some words with a gradient (T, n, d) and write their steps."""
    share1, keep2, share2, rate, correction, epsilon = constants
    for t in range(gradient.shape[0]):
        for i in range(len(rows)):
            m, v, g, step = first[t, rows[i]], second[t, rows[i]], gradient[t, i], out[t, i]
            for k in range(len(g)):
                m[k] += share1 * (g[k] - m[k])
                v[k] = keep2 * v[k] + share2 * g[k] * g[k]
                step[k] = rate * m[k] / (correction * np.sqrt(v[k]) + epsilon)
