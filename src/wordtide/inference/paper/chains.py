"""The gradient estimates of skip-gram smoothing for many trajectories at once, each in time linear in T, and mirror ascent.

Tensors are (T, n, d): n trajectories of words or contexts, time first. `omega` has T - 1 slices.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from wordtide.model.bidiagonal import cholesky, multiply_tridiagonal, solve, solve_transposed
from wordtide.model.prior import Diffusion


@dataclass(frozen=True)
class ChainPrior:
    """The prior of every trajectory as (T, 1, 1) and (T - 1, 1, 1) tensors: Pi, and the `nu`, `omega` of B with B^T B = Pi.

    This B is also the inverse of the natural basis A, since Pi^-1 = A A^T.
    """

    diagonal: Tensor
    off_diagonal: Tensor
    nu: Tensor
    omega: Tensor

    @staticmethod
    def of(diffusion: Diffusion, device: torch.device, dtype: torch.dtype) -> "ChainPrior":
        """The prior of a diffusion. Factorised in float64, because Pi is nearly singular."""
        diagonal, off_diagonal = (torch.as_tensor(part) for part in diffusion.precision())
        parts = (diagonal, off_diagonal, *cholesky(diagonal, off_diagonal))
        return ChainPrior(*(part[:, None, None].to(device, dtype) for part in parts))

    def mean(self, rho: Tensor) -> Tensor:
        """mu = A rho, by solving A^-1 mu = rho (the supplement's "Natural basis", which prints A mu = rho)."""
        return solve(self.nu, self.omega, rho)


@dataclass(frozen=True)
class ChainGradients:
    """Estimates of the ELBO's derivatives by mu, rho, nu (T, n, d) and omega (T - 1, n, d)."""

    mu: Tensor
    rho: Tensor
    nu: Tensor
    omega: Tensor


def chain_gradients(
    prior: ChainPrior,
    rho: Tensor,
    nu: Tensor,
    omega: Tensor,
    noise: Tensor,
    gamma_of: Callable[[Tensor], Tensor],
) -> ChainGradients:
    """The estimates from one sample, made of standard normal `noise` (T, n, d).

    `gamma_of` maps the sampled trajectories (T, n, d) to the derivatives Gamma of the log likelihood by them.
    """
    x = solve(nu, omega, noise)  # B x = epsilon
    sample = prior.mean(rho).add_(x)  # u = mu + x
    by_mu = gamma_of(sample).sub_(multiply_tridiagonal(prior.diagonal, prior.off_diagonal, sample))  # grad-mu
    y = solve_transposed(nu, omega, by_mu)  # B^T y = Gamma - Pi u
    by_rho = solve_transposed(prior.nu, prior.omega, by_mu)  # A^T times the gradient by mu
    by_nu = (y * x).add_(nu.reciprocal()).neg_()  # grad-nu
    by_omega = (y[:-1] * x[1:]).neg_()  # grad-omega
    return ChainGradients(by_mu, by_rho, by_nu, by_omega)


def mirror_ascent(nu: Tensor, step: Tensor) -> Tensor:
    """nu after a step d[nu] of mirror ascent: nu' = nu d / 2 + sqrt((nu d / 2)^2 + nu^2), positive for every d.

    With sqrt(1 + r^2) + r = exp(asinh(r)) nothing cancels when d is very negative.
    """
    return nu * torch.asinh(0.5 * step).exp_()
