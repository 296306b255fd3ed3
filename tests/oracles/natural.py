"""What the natural solver computes, on dense float64 matrices of all pairs of words and all slices."""

import numpy as np

from oracles import model as dense


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def pair_moments(mean_u, variance_u, mean_v, variance_v):
    """Mean and variance of u_i . v_j for independent coordinates, (L, L) each."""
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


def tied_counts(counts, negatives):
    """n+ and n- of tied contexts, (L, L): symmetric, and without pairs of a word with itself."""
    others = 1.0 - np.eye(len(counts))
    return counts * others, (negatives + negatives.T) / 2.0 * others


def tied_gradients(counts, negatives, mean, variance, signs):
    """g and h of all words, (L, d) each, with x_ij = u_i . S u_j and each unordered pair once."""
    counts, negatives = tied_counts(counts, negatives)
    g, h = np.zeros_like(mean), np.zeros_like(mean)
    for i in range(len(mean)):
        for j in range(len(mean)):
            if i == j:
                continue
            other = signs * mean[j]
            m = mean[i] @ other
            s2 = np.sum(mean[i] ** 2 * variance[j] + variance[i] * mean[j] ** 2 + variance[i] * variance[j])
            kappa = 1.0 / np.sqrt(1.0 + np.pi * s2 / 8.0)
            p = sigmoid(kappa * m)
            e = counts[i, j] * (1.0 - p) - negatives[i, j] * p
            r = (counts[i, j] + negatives[i, j]) * kappa * p * (1.0 - p)
            g[i] += e * other - mean[i] * r * variance[j]
            h[i] += r * (other**2 + variance[j])
    return g, h


def expected_log_likelihood(counts, negatives, u, v, nodes=8):
    """E[log p(n | x)] of all pairs for Gaussian x, by quadrature; `u` and `v` are (means, variances)."""
    mean, variance = pair_moments(*u, *v)
    places, weights = np.polynomial.hermite_e.hermegauss(nodes)
    total = 0.0
    for place, weight in zip(places, weights / weights.sum(), strict=True):
        x = mean + place * np.sqrt(variance)
        total -= weight * (counts * np.logaddexp(0, -x) + negatives * np.logaddexp(0, x)).sum()
    return total


def chain_posterior(diffusion, slices, h, b):
    """Mean and covariance of N((Pi + diag h)^-1 b, (Pi + diag h)^-1), with h and b at `slices` only."""
    precision = np.linalg.inv(prior_covariance(diffusion))
    right = np.zeros(len(diffusion.times))
    for t, added, value in zip(slices, h, b, strict=True):
        precision[t, t] += added
        right[t] += value
    covariance = np.linalg.inv(precision)
    return covariance @ right, covariance


def prior_covariance(diffusion):
    """The covariance of a coordinate between all slices, (T, T), under either prior."""
    if diffusion.name == "stationary":
        distance = np.abs(np.subtract.outer(diffusion.times, diffusion.times))
        variance = diffusion.prior_variance
        return variance * np.exp(-diffusion.constant * distance / (2.0 * variance))
    return np.linalg.inv(dense.prior_precision(diffusion.times, diffusion.constant, diffusion.prior_variance))
