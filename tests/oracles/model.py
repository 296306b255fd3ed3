"""The model on dense matrices in float64: every formula as the paper prints it."""

from itertools import pairwise

import numpy as np
from scipy import sparse

from wordtide.inference.problem import PairSettings, Problem, slice_data


def random_counts(rng, size, active, density=0.5):
    """A symmetric (L, L) matrix of quarter counts on the words `active`, each with at least one pair."""
    counts = np.zeros((size, size))
    chosen = np.triu(rng.random((len(active), len(active))) < density)
    half = np.where(chosen, rng.integers(1, 12, chosen.shape) / 4, 0.0)
    counts[np.ix_(active, active)] = half + half.T
    for one, other in pairwise([*active, active[0]]):
        counts[one, other] += 0.25
        counts[other, one] += 0.25
    return counts


def problem_from(matrices, times, ratio=1.0, exponent=0.75, tied=False):
    pairs = PairSettings(ratio, exponent, tied)
    slices = [slice_data(sparse.csr_array(counts), pairs) for counts in matrices]
    words = [f"word{i}" for i in range(len(matrices[0]))]
    return Problem(words, np.asarray(times, dtype=np.float64), [str(time) for time in times], slices)


def negative_counts(counts, ratio=1.0, exponent=0.75):
    """n-, (L, L) (Eqs. S1 to S3)."""
    p = counts.sum(axis=1) / counts.sum()
    raised = np.where(p > 0, p, 0.0) ** exponent
    return ratio * counts.sum() * np.outer(p, raised / raised.sum())


def negative_matrix(part):
    """n- of a slice on its active words, (a, a)."""
    whole = part.negatives * np.outer(part.word_probability, part.context_probability)
    if part.tied:
        whole = (whole + whole.T) / 2.0
        np.fill_diagonal(whole, 0.0)
    return whole


def log_likelihood(counts, negatives, u, v):
    """Eq. 2 on matrices (L, L), (L, d), also complex ones (see `derivatives`)."""
    scores = u @ v.T
    return -(counts * np.log1p(np.exp(-scores)) + negatives * np.log1p(np.exp(scores))).sum()


def derivatives(function, at):
    """The derivatives of a real analytic function by every entry of `at`, by imaginary steps.

    f(x + ih) = f(x) + ih f'(x) + O(h^2): nothing is subtracted, so these are exact to rounding.
    """
    found, width = np.empty(at.shape), 1e-30
    for place in np.ndindex(at.shape):
        moved = at.astype(np.complex128)
        moved[place] += 1j * width
        found[place] = function(moved).imag / width
    return found


def tridiagonal(diagonal, off_diagonal):
    return np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)


def prior_precision(times, constant, prior_variance):
    """Pi, element by element, from the product of Gaussians it stands for."""
    size = len(times)
    pi = np.eye(size) / prior_variance
    for t in range(size - 1):
        step = 1.0 / (constant * (times[t + 1] - times[t]))
        pi[t, t] += step
        pi[t + 1, t + 1] += step
        pi[t, t + 1] -= step
        pi[t + 1, t] -= step
    return pi


def bidiagonal(nu, omega):
    """B of one trajectory, (T, T)."""
    return np.diag(nu) + np.diag(omega, 1)


def filter_prior(mean, variance, gap, constant, prior_variance):
    """Eq. 13 as printed: the prior of a slice from the posterior at the previous one, `gap` years earlier."""
    spread = variance + constant * gap
    after = 1.0 / (1.0 / spread + 1.0 / prior_variance)
    return after / spread * mean, after


def gaussian_kl(mean, covariance, prior_mean, prior_covariance):
    """KL(q || p) of two Gaussians with full covariances."""
    inverse = np.linalg.inv(prior_covariance)
    offset = prior_mean - mean
    log_ratio = np.linalg.slogdet(prior_covariance)[1] - np.linalg.slogdet(covariance)[1]
    return 0.5 * (np.trace(inverse @ covariance) + offset @ inverse @ offset - len(mean) + log_ratio)
