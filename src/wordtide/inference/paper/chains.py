"""Gradient estimates of skip-gram smoothing in time linear in T, and mirror ascent.

Arrays are (T, n, d): n trajectories of words or contexts, time first. `omega` has T - 1 slices.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.model.chain import match_words
from wordtide.model.gaussians import cholesky, multiply_tridiagonal, solve, solve_transposed
from wordtide.model.knots import Knots, prior_at_knots
from wordtide.model.prior import Diffusion
from wordtide.types import Reals, Singles

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
    """Estimates of the ELBO's derivatives by mu, rho, nu (T, n, d) and omega (T - 1, n, d)."""

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
        gamma_of: Maps sampled trajectories (T, n, d) to the derivatives Gamma of the log-likelihood by them.
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


def matching_precision(variance: Reals, knots: Knots, diffusion: Diffusion) -> Singles:
    """Find the h >= 0 (K, d) whose marginal variances are closest to `variance` (K, d).

    Pi + diag(h) is then the nearest member of its family to a general tridiagonal posterior q in the sense of
    KL(q || .); at the optimum of the ELBO the two are the same.

    KL(q || .) is convex in h, and its minimum in the h of one knot is known: the precision that the knot
    lacks. Sweeps over the knots of a word end when its h change no more.
    """
    wanted = 1.0 / np.asarray(variance, dtype=np.float64)
    h = np.zeros_like(wanted)
    prior, words = prior_at_knots(knots, diffusion), len(knots.starts) - 1
    match_words(knots.starts, *prior, wanted, h, _SWEEPS, _CLOSE, 0, words)
    return h.astype(np.float32)
