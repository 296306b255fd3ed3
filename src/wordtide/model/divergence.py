"""Kullback-Leibler divergences from a variational posterior to its prior, exact, constants included.

The ELBO is the expected log likelihood minus these.
"""

import numpy as np
import torch
from torch import Tensor

from wordtide.model.bidiagonal import covariances
from wordtide.model.prior import Diffusion


def filter_kl(mean: Tensor, variance: Tensor, prior_mean: Tensor, prior_variance: Tensor) -> float:
    """KL(q || p) of independent Gaussians, summed over all entries: minus the last two terms of Eq. 11."""
    ratio = variance / prior_variance
    distance = (mean - prior_mean).square() / prior_variance
    return 0.5 * float((ratio + distance - 1.0 - ratio.log()).sum(dtype=torch.float64))


def smoothing_kl(mu: Tensor, nu: Tensor, omega: Tensor, diffusion: Diffusion) -> float:
    """KL(N(mu, (B^T B)^-1) || N(0, Pi^-1)), summed over all trajectories. `mu`, `nu`: (T, n, d), `omega`: (T - 1, n, d)."""
    diagonal, off_diagonal = (torch.as_tensor(part, device=mu.device) for part in diffusion.precision())
    variance, lag_one = covariances(nu, omega)
    # Pi is nearly singular, so its terms cancel: each slice is summed in float64 whatever the type of the parameters.
    second = _sums(variance) + _sums(mu.square())
    neighbours = _sums(lag_one) + _sums(mu[:-1] * mu[1:])
    quadratic = diagonal @ second + 2.0 * (off_diagonal @ neighbours)
    trajectories = mu[0].numel()
    log_determinant_b = float(nu.log().sum(dtype=torch.float64))
    return (
        0.5 * (float(quadratic) - mu.numel() - trajectories * _log_determinant(diffusion)) + log_determinant_b
    )


def _sums(values: Tensor) -> Tensor:
    """The sum of each slice, (T, n, d) to (T,)."""
    return values.sum(dim=(1, 2), dtype=torch.float64)


def _log_determinant(diffusion: Diffusion) -> float:
    """log det Pi, from the chain of conditional variances."""
    return -float(np.log(diffusion.marginal[0]) + np.log(diffusion.noise).sum())
