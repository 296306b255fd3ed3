"""Kullback-Leibler divergences from a variational posterior to its prior, exact, constants included.

The ELBO is the expected log-likelihood minus these.
"""

import numpy as np

from wordtide.model.bidiagonal import covariances
from wordtide.model.prior import Diffusion
from wordtide.types import Floats, Reals


def filter_kl(mean: Reals, variance: Reals, prior_mean: Reals, prior_variance: Reals) -> float:
    """Sum KL(q || p) of independent Gaussians over all entries: minus the last two terms of Eq. 11."""
    ratio = variance / prior_variance
    distance = (mean - prior_mean) ** 2 / prior_variance
    return 0.5 * float((ratio + distance - 1.0 - np.log(ratio)).sum(dtype=np.float64))


def smoothing_kl(mu: Reals, nu: Reals, omega: Reals, diffusion: Diffusion) -> float:
    """Sum KL(N(mu, (B^T B)^-1) || N(0, Pi^-1)) over all trajectories.

    Args:
        mu: Means, (T, n, d).
        nu: Diagonal of B, (T, n, d).
        omega: Superdiagonal of B, (T - 1, n, d).
        diffusion: The prior, with precision Pi (Eq. S11).
    """
    diagonal, off_diagonal = diffusion.precision()
    variance, lag_one = covariances(nu, omega)
    # Pi is nearly singular, so its terms cancel: slices are summed in float64 also for float32 parameters.
    second = _sums(variance) + _sums(mu**2)
    neighbors = _sums(lag_one) + _sums(mu[:-1] * mu[1:])
    quadratic: float = float(diagonal @ second + 2.0 * (off_diagonal @ neighbors))
    log_determinant_b = float(np.log(nu).sum(dtype=np.float64))
    constant: float = mu.size + mu[0].size * _log_determinant(diffusion)
    return 0.5 * (quadratic - constant) + log_determinant_b


def _sums(values: Reals) -> Floats:
    """Sum each slice, (T, n, d) to (T,)."""
    sums: Floats = values.sum(axis=(1, 2), dtype=np.float64)
    return sums


def _log_determinant(diffusion: Diffusion) -> float:
    """log det Pi, from the chain of conditional variances."""
    return -float(np.log(diffusion.marginal[0]) + np.log(diffusion.noise).sum())
