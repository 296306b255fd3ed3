"""Gradient ascent for the solvers of the paper: gradient estimates linear in T, Adam, and mirror ascent.

Arrays of trajectories are (T, n, d): n trajectories of words or contexts, time first. `omega` has T - 1
slices.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.compiled import arithmetic
from wordtide.model.chain import match_words
from wordtide.model.gaussians import cholesky, multiply_tridiagonal, solve, solve_transposed
from wordtide.model.knots import Knots, prior_at_knots
from wordtide.model.prior import Diffusion
from wordtide.types import Array, Indices, Reals, Singles

Betas = tuple[float, float]
_SWEEPS = 500
_CLOSE = 1e-6


@dataclass(frozen=True)
class ChainPrior:
    """The prior of every trajectory, (T, 1, 1) and (T - 1, 1, 1): Pi, and `nu`, `omega` of B^T B = Pi.

    This B is also the inverse of the natural basis A, since Pi^-1 = A A^T.
    """

    diagonal: Reals
    off_diagonal: Reals
    nu: Reals
    omega: Reals

    @staticmethod
    def of(diffusion: Diffusion, dtype: npt.DTypeLike) -> "ChainPrior":
        """Factorize the prior of a diffusion, in float64, because Pi (Eq. S11) is nearly singular."""
        precision = diffusion.precision()
        parts = (*precision, *cholesky(*precision))
        return ChainPrior(*(part[:, None, None].astype(dtype) for part in parts))

    def mean(self, rho: Reals) -> Reals:
        """mu = A rho (Eq. S19), by solving A^-1 mu = rho (the supplement prints A mu = rho)."""
        return solve(self.nu, self.omega, rho)


@dataclass(frozen=True)
class ChainGradients:
    """Estimates of the ELBO's derivatives with respect to mu, rho, nu (T, n, d) and omega (T - 1, n, d)."""

    mu: Reals
    rho: Reals
    nu: Reals
    omega: Reals


def chain_gradients(
    prior: ChainPrior, rho: Reals, nu: Reals, omega: Reals, noise: Reals, gamma_of: Callable[[Reals], Reals]
) -> ChainGradients:
    """Estimate the gradients from one sample.

    Args:
        prior: The prior of every trajectory.
        rho: Means in the natural basis, (T, n, d).
        nu: Diagonal of B, (T, n, d).
        omega: Superdiagonal of B, (T - 1, n, d).
        noise: Standard normal epsilon, (T, n, d).
        gamma_of: Maps sampled trajectories (T, n, d) to the derivatives Gamma of their log-likelihood.
    """
    x = solve(nu, omega, noise)  # B x = epsilon (S9)
    sample = prior.mean(rho)
    sample += x  # u = mu + x (S8)
    by_mu = gamma_of(sample)
    by_mu -= multiply_tridiagonal(prior.diagonal, prior.off_diagonal, sample)  # Gamma - Pi u (S10)
    y = solve_transposed(nu, omega, by_mu)  # B^T y = Gamma - Pi u (S16)
    by_rho = solve_transposed(prior.nu, prior.omega, by_mu)  # A^T times the gradient by mu (after S19)
    by_nu = -y * x - 1.0 / nu  # (S14)
    by_omega = -y[:-1] * x[1:]  # (S15)
    return ChainGradients(by_mu, by_rho, by_nu, by_omega)


def mirror_ascent(nu: Reals, step: Reals) -> Reals:
    """Move nu by a step d of mirror ascent (S18): nu' = nu d / 2 + sqrt((nu d / 2)^2 + nu^2) > 0.

    With sqrt(1 + r^2) + r = exp(asinh(r)) nothing cancels when d is very negative.
    """
    moved: Reals = nu * np.exp(np.arcsinh(0.5 * step))
    return moved


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


def matching_precision(variance: Reals, knots: Knots, diffusion: Diffusion) -> Singles:
    """Find the h >= 0 (K, d) whose marginal variances are closest to `variance` (K, d).

    Pi + diag(h) is then the nearest member of its family to a general tridiagonal posterior q in the sense of
    KL(q || .); at the optimum of the ELBO the two are the same.

    KL(q || .) is convex in h, and its minimum over the h of one knot is known: what the marginal precision of
    the knot lacks. Sweeps over the knots of a word end when its h no longer change.
    """
    wanted = 1.0 / np.asarray(variance, dtype=np.float64)
    h = np.zeros_like(wanted)
    prior, words = prior_at_knots(knots, diffusion), len(knots.starts) - 1
    match_words(knots.starts, *prior, wanted, h, _SWEEPS, _CLOSE, 0, words)
    return h.astype(np.float32)
