"""The ELBO of a finished fit by Monte Carlo: the same estimate for all solvers, so that they can be compared."""

import math

import numpy as np

from wordtide.embeddings.posterior import Posterior
from wordtide.errors import SettingsError
from wordtide.inference.problem import Problem
from wordtide.model.chain import divergence_of_words, filter_kl, smooth_words
from wordtide.model.knots import prior_at_knots
from wordtide.model.likelihood import ActiveSlice, GaussianVectors, log_likelihood
from wordtide.model.prior import Diffusion
from wordtide.types import Singles

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
        transition = diffusion.transition(
            diffusion.times[last[part.words]], np.full(len(part), diffusion.times[t])
        )
        for mean, variance in (
            (posterior.mean_u, posterior.variance_u),
            (posterior.mean_v, posterior.variance_v),
        ):
            prior_mean = np.zeros((len(part), mean.shape[1]))
            prior_variance = np.full_like(prior_mean, diffusion.prior_variance)
            prior_mean[known], prior_variance[known] = mean[before], variance[before]
            prior = transition.predict(prior_mean, prior_variance)
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


def expected_log_likelihood(
    part: ActiveSlice, u: GaussianVectors, v: GaussianVectors, samples: int, generator: np.random.Generator
) -> tuple[float, float]:
    """Estimate E_q[log p(n+, n- | U, V)] by plain Monte Carlo.

    Returns:
        The estimate and its standard error.

    Raises:
        SettingsError: If there are fewer than 2 samples.
    """
    if samples < 2:
        raise SettingsError(f"{samples} samples give no standard error.", "Take at least 2 samples.")
    dtype = part.values.dtype
    mean = np.stack([u.mean, v.mean]).astype(dtype)
    deviation = np.sqrt(np.stack([u.variance, v.variance]).astype(dtype))
    drawn = [
        log_likelihood(part, *(mean + deviation * generator.standard_normal(mean.shape, dtype=dtype)))
        for _ in range(samples)
    ]
    return float(np.mean(drawn)), float(np.std(drawn, ddof=1) / math.sqrt(samples))
