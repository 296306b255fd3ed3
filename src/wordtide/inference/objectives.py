"""What fits are judged by: the ELBO, and how probable slices are under vectors estimated without them.

The ELBO of a finished fit is a Monte-Carlo estimate, the same for all solvers. The predictive likelihood (Eq.
16) runs over all pairs of active words. Word and context vectors enter only through their inner products, so
rotating both together changes nothing. A `shift` is added to all inner products: a model fitted with eta' in
place of the slice's eta states odds of n+ against n- that are eta / eta' times those of the slice, and
log(eta' / eta) corrects them.
"""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic
from wordtide.embeddings.posterior import Posterior
from wordtide.inference.problem import Problem, SliceData
from wordtide.model.chain import divergence_of_words, smooth_words
from wordtide.model.gaussians import filter_kl
from wordtide.model.knots import prior_at_knots
from wordtide.model.likelihood import (
    ActiveSlice,
    GaussianVectors,
    expected_log_likelihood,
    log_likelihood,
    row_blocks,
)
from wordtide.model.logistic import log_expected_sigmoids
from wordtide.model.prior import Diffusion
from wordtide.types import Array, Reals, Singles

Estimate = tuple[float, float]


def monte_carlo_elbo(
    problem: Problem, diffusion: Diffusion, posterior: Posterior, samples: int = 20, seed: int = 0
) -> Estimate:
    """Estimate the ELBO per pair of a filter or smoother.

    Args:
        problem: The counts of all slices.
        diffusion: The prior.
        posterior: The fit.
        samples: Monte-Carlo samples of each slice.
        seed: Seed of the samples.

    Returns:
        The estimate and its standard error.
    """
    if posterior.kind == "filter":
        assert posterior.variance_u is not None
        assert posterior.variance_v is not None
        variances = posterior.variance_u, posterior.variance_v
        distance = _filter_distance(problem, diffusion, posterior)
    else:
        assert posterior.precision_u is not None
        assert posterior.precision_v is not None
        variance_u, distance_u = _smoothed(problem, diffusion, posterior.mean_u, posterior.precision_u)
        variance_v, distance_v = _smoothed(problem, diffusion, posterior.mean_v, posterior.precision_v)
        variances = variance_u, variance_v
        distance = distance_u + distance_v
    u, v = map(GaussianVectors, (posterior.mean_u, posterior.mean_v), variances)
    likelihood, error = _likelihood(problem, u, v, samples, seed)
    return (likelihood - distance) / problem.pairs, error / problem.pairs


def _likelihood(
    problem: Problem, u: GaussianVectors, v: GaussianVectors, samples: int, seed: int
) -> Estimate:
    total, square = 0.0, 0.0
    for t, (part, rows) in enumerate(zip(problem.slices, problem.knots.by_slice, strict=True)):
        here_u, here_v = (GaussianVectors(side.mean[rows], side.variance[rows]) for side in (u, v))
        generator = np.random.default_rng([seed, t])
        value, error = expected_log_likelihood(ActiveSlice.of(part), here_u, here_v, samples, generator)
        total += value
        square += error**2
    return total, math.sqrt(square)


def _filter_distance(problem: Problem, diffusion: Diffusion, posterior: Posterior) -> float:
    """Sum KL(q_t || prior_t) over slices, each prior from the posterior before it (Eq. 13)."""
    assert posterior.variance_u is not None
    assert posterior.variance_v is not None
    latest, last = np.full(len(problem.words), -1), np.zeros(len(problem.words), dtype=np.int64)
    total = 0.0
    for t, (part, rows) in enumerate(zip(problem.slices, problem.knots.by_slice, strict=True)):
        known = latest[part.words] >= 0
        before = latest[part.words[known]]
        passage = diffusion.passage(diffusion.times[last[part.words]], np.full(len(part), diffusion.times[t]))
        for mean, variance in (
            (posterior.mean_u, posterior.variance_u),
            (posterior.mean_v, posterior.variance_v),
        ):
            prior_mean = np.zeros((len(part), mean.shape[1]))
            prior_variance = np.full_like(prior_mean, diffusion.prior_variance)
            prior_mean[known], prior_variance[known] = mean[before], variance[before]
            prior = passage.predict(prior_mean, prior_variance)
            here = mean[rows].astype(np.float64), variance[rows].astype(np.float64)
            total += filter_kl(*here, *prior)
        latest[part.words], last[part.words] = rows, t
    return total


def _smoothed(
    problem: Problem, diffusion: Diffusion, mean: Singles, precision: Singles
) -> tuple[Singles, float]:
    """Compute the marginal variances and KL(q || p) of the trajectories of words or of contexts."""
    starts, prior = problem.knots.starts, prior_at_knots(problem.knots, diffusion)
    mu, h = np.asarray(mean, dtype=np.float64), np.asarray(precision, dtype=np.float64)
    variance, distance = np.empty_like(h), np.empty(len(problem.words))
    smooth_words(starts, *prior, h, np.zeros_like(h), variance, 0, len(problem.words))
    divergence_of_words(starts, *prior, mu, h, variance, distance, 0, len(problem.words))
    return variance.astype(np.float32), math.fsum(distance)


def log_likelihood_per_pair(
    part: SliceData, u: Reals, v: Reals, shift: float = 0.0, self_pairs: bool = True
) -> float:
    """Compute log p(n+, n- | U, V) / |n+ + n-| of a slice.

    Args:
        part: The slice.
        u: Vectors of its words, (a, d).
        v: Vectors of its contexts, (a, d).
        shift: Added to every inner product.
        self_pairs: Whether to include the pairs of a word with itself, positive and negative.
    """
    return log_likelihood(ActiveSlice.of(part), u, v, shift, self_pairs) / _pairs(part, self_pairs)


def integrated_log_likelihood_per_pair(
    part: SliceData, u: GaussianVectors, v: GaussianVectors, shift: float = 0.0, self_pairs: bool = True
) -> float:
    """Compute the same with the uncertainty of the vectors integrated out pair by pair.

    log E[sigmoid(x)] replaces log sigmoid(x). x = u . v is a sum over dimensions and treated as Gaussian,
    with its exact mean and variance.
    """
    active = ActiveSlice.of(part)
    u_mean, u_variance, v_mean, v_variance = (
        np.asarray(array, dtype=np.float32) for array in (u.mean, u.variance, v.mean, v.variance)
    )
    u_squares = np.hstack([u_mean**2 + u_variance, u_variance])
    v_squares = np.hstack([v_variance, v_mean**2])
    total = 0.0
    for rows in row_blocks(len(u_mean), len(v_mean)):
        total += _sum_log_expected_sigmoids(
            u_mean[rows] @ v_mean.T + np.float32(shift),
            u_squares[rows] @ v_squares.T,
            rows.start,
            (active.starts, active.columns, active.values),
            (active.word_weight, active.context_weight),
            self_pairs,
        )
    return total / _pairs(part, self_pairs)


def _pairs(part: SliceData, self_pairs: bool) -> float:
    """|n+ + n-|, over both directions of a pair."""
    if self_pairs:
        return part.positives + part.negatives
    negatives = part.negatives * float(part.word_probability @ part.context_probability)
    return part.positives + part.negatives - float(part.positive_matrix().diagonal().sum()) - negatives


@arithmetic
def _sum_log_expected_sigmoids(
    mean: Array, variance: Array, first: int, positives: Any, weights: Any, self_pairs: bool
) -> float:
    """Eq. 2 with log E[sigmoid] over a block of rows (n, a) that begins with row `first`."""
    starts, columns, values = positives
    word_weight, context_weight = weights
    size = mean.shape[1]
    found = np.empty(size, dtype=mean.dtype)
    at_positives = np.empty((2, size), dtype=mean.dtype)
    total = 0.0
    for i in range(mean.shape[0]):
        x, s2, row = mean[i], variance[i], first + i
        begin, count = starts[row], starts[row + 1] - starts[row]
        for place in range(count):
            at_positives[0, place] = x[columns[begin + place]]
            at_positives[1, place] = s2[columns[begin + place]]
        log_expected_sigmoids(at_positives[0, :count], at_positives[1, :count], 1.0, found[:count])
        for place in range(count):
            if self_pairs or columns[begin + place] != row:
                total += values[begin + place] * found[place]
        log_expected_sigmoids(x, s2, -1.0, found)
        negative = mean.dtype.type(0)
        for j in range(size):
            negative += context_weight[j] * found[j]
        if not self_pairs:
            negative -= context_weight[row] * found[row]
        total += word_weight[row] * negative
    return total
