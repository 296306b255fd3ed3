"""Gaussians over time with precision B^T B and bidiagonal B (Eq. S5), and divergences between Gaussians.

The ELBO is the expected log-likelihood minus the Kullback-Leibler divergence from the posterior to the prior,
which is exact here, constants included. Every operation is linear in T.

Time is the first axis of every array, so each step of a recursion reads and writes one contiguous block. B
has the diagonal `nu` (T, ...) and the superdiagonal `omega` (T - 1, ...). The other axes (words, dimensions)
are a batch; `nu` and `omega` only need to broadcast to the shape of the vectors, so one prior (T, 1, 1)
serves all words.
"""

import numpy as np

from wordtide.model.prior import Diffusion
from wordtide.types import Floats, Reals


def cholesky(diagonal: Reals, off_diagonal: Reals) -> tuple[Reals, Reals]:
    """Factorize a tridiagonal matrix, (T, ...) and (T - 1, ...), as B^T B. Returns (nu, omega)."""
    nu, omega = np.empty_like(diagonal), np.empty_like(off_diagonal)
    nu[0] = np.sqrt(diagonal[0])
    for t in range(len(omega)):
        omega[t] = off_diagonal[t] / nu[t]
        nu[t + 1] = np.sqrt(diagonal[t + 1] - omega[t] ** 2)
    return nu, omega


def solve(nu: Reals, omega: Reals, right: Reals) -> Reals:
    """Solve B x = right, (T, ...)."""
    x = np.empty_like(right)
    x[-1] = right[-1] / nu[-1]
    for t in range(len(right) - 2, -1, -1):
        np.multiply(omega[t], x[t + 1], out=x[t])
        np.subtract(right[t], x[t], out=x[t])
        x[t] /= nu[t]
    return x


def solve_transposed(nu: Reals, omega: Reals, right: Reals) -> Reals:
    """Solve B^T y = right, (T, ...)."""
    y = np.empty_like(right)
    y[0] = right[0] / nu[0]
    for t in range(1, len(right)):
        np.multiply(omega[t - 1], y[t - 1], out=y[t])
        np.subtract(right[t], y[t], out=y[t])
        y[t] /= nu[t]
    return y


def multiply_tridiagonal(diagonal: Reals, off_diagonal: Reals, x: Reals) -> Reals:
    """Multiply a symmetric tridiagonal matrix, like Pi, by x (T, ...)."""
    product = diagonal * x
    product[:-1] += off_diagonal * x[1:]
    product[1:] += off_diagonal * x[:-1]
    return product


def covariances(nu: Reals, omega: Reals) -> tuple[Reals, Reals]:
    """Compute the marginal variances (T, ...) and lag-one covariances (T - 1, ...), from (B^T B)^-1.

    A sample solves B x = noise, so x[t] = (noise[t] - omega[t] x[t + 1]) / nu[t]: the moments follow backward
    in time.
    """
    variance, lag_one = np.empty_like(nu), np.empty_like(omega)
    variance[-1] = nu[-1] ** -2
    for t in range(len(omega) - 1, -1, -1):
        slope = omega[t] / nu[t]
        lag_one[t] = -slope * variance[t + 1]
        variance[t] = nu[t] ** -2 - slope * lag_one[t]
    return variance, lag_one


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
