"""What the natural solver computes, on dense float64 matrices: all pairs of the vocabulary, all slices of a trajectory."""

import numpy as np

from oracles import model as dense


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def pair_moments(mean_u, variance_u, mean_v, variance_v):
    """Mean and variance of u_i . v_j for independent coordinates, (L, L) each, one coordinate after the other."""
    mean, variance = np.zeros((len(mean_u), len(mean_v))), np.zeros((len(mean_u), len(mean_v)))
    for k in range(mean_u.shape[1]):
        mu_u, s_u, mu_v, s_v = (
            mean_u[:, k, None],
            variance_u[:, k, None],
            mean_v[None, :, k],
            variance_v[None, :, k],
        )
        mean += mu_u * mu_v
        variance += mu_u**2 * s_v + s_u * mu_v**2 + s_u * s_v
    return mean, variance


def pair_gradients(counts, negatives, mean_u, variance_u, mean_v, variance_v):
    """g and h of words, then of contexts, (L, d) each, for n+ and n- on the whole vocabulary, (L, L)."""
    m, s2 = pair_moments(mean_u, variance_u, mean_v, variance_v)
    kappa = 1.0 / np.sqrt(1.0 + np.pi * s2 / 8.0)
    p = sigmoid(kappa * m)
    e = counts * (1.0 - p) - negatives * p
    r = (counts + negatives) * kappa * p * (1.0 - p)
    words = e @ mean_v - mean_u * (r @ variance_v), r @ (mean_v**2 + variance_v)
    contexts = e.T @ mean_u - mean_v * (r.T @ variance_u), r.T @ (mean_u**2 + variance_u)
    return words, contexts


def chain_posterior(diffusion, slices, h, b):
    """Mean and covariance over all T slices of N((Pi + diag h)^-1 b, (Pi + diag h)^-1), with h and b only at `slices`."""
    precision = np.linalg.inv(prior_covariance(diffusion))
    right = np.zeros(len(diffusion.times))
    for t, added, value in zip(slices, h, b, strict=True):
        precision[t, t] += added
        right[t] += value
    covariance = np.linalg.inv(precision)
    return covariance @ right, covariance


def prior_covariance(diffusion):
    """Of the product of Gaussians, or of the Ornstein-Uhlenbeck process, whose correlation falls exponentially with time."""
    if diffusion.name == "stationary":
        distance = np.abs(np.subtract.outer(diffusion.times, diffusion.times))
        variance = diffusion.prior_variance
        return variance * np.exp(-diffusion.constant * distance / (2.0 * variance))
    return np.linalg.inv(dense.prior_precision(diffusion.times, diffusion.constant, diffusion.prior_variance))
