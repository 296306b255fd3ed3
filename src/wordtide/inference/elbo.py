"""The ELBO of a finished fit by one and the same Monte-Carlo estimate, whichever solver made it."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from wordtide.embeddings.posterior import Posterior
from wordtide.inference.problem import Problem
from wordtide.model.chain import divergence_of_words, smooth_words
from wordtide.model.divergence import filter_kl
from wordtide.model.likelihood import SliceTensors, expected_log_likelihood
from wordtide.model.prior import Diffusion
from wordtide.model.transitions import prior_at_knots

Array = npt.NDArray[np.float32]
Estimate = tuple[float, float]
_smooth: Any = smooth_words  # compiled functions have no types
_divergence: Any = divergence_of_words


def monte_carlo_elbo(
    problem: Problem, diffusion: Diffusion, posterior: Posterior, samples: int = 20, seed: int = 0
) -> Estimate:
    """The ELBO per pair of a filter or smoother, and the standard error of the estimate."""
    if posterior.kind == "filter":
        assert posterior.variance_u is not None
        assert posterior.variance_v is not None
        variances = posterior.variance_u, posterior.variance_v
        distance = _filter_distance(problem, diffusion, posterior)
    else:
        assert posterior.precision_u is not None
        assert posterior.precision_v is not None
        sides = [
            _smoothed(problem, diffusion, mean, precision)
            for mean, precision in (
                (posterior.mean_u, posterior.precision_u),
                (posterior.mean_v, posterior.precision_v),
            )
        ]
        variances = sides[0][0], sides[1][0]
        distance = sides[0][1] + sides[1][1]
    likelihood, error = _likelihood(
        problem, posterior.mean_u, variances[0], posterior.mean_v, variances[1], samples, seed
    )
    return (likelihood - distance) / problem.pairs, error / problem.pairs


def _likelihood(
    problem: Problem,
    mean_u: Array,
    variance_u: Array,
    mean_v: Array,
    variance_v: Array,
    samples: int,
    seed: int,
) -> Estimate:
    total, square = 0.0, 0.0
    for t, (part, rows) in enumerate(zip(problem.slices, problem.knots.by_slice, strict=True)):
        tensors = SliceTensors.of(part, torch.device("cpu"), torch.float32)
        u, su, v, sv = (torch.from_numpy(array[rows]) for array in (mean_u, variance_u, mean_v, variance_v))
        generator = torch.Generator().manual_seed((seed << 20) + t)
        value, error = expected_log_likelihood(tensors, u, su, v, sv, samples, generator)
        total += float(value)
        square += float(error) ** 2
    return total, math.sqrt(square)


def _filter_distance(problem: Problem, diffusion: Diffusion, posterior: Posterior) -> float:
    """The sum over slices of KL(q_t || prior_t), each prior from the posterior before it (Eq. 13)."""
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
            total += float(filter_kl(*(torch.from_numpy(array) for array in (*here, *prior))))
        latest[part.words], last[part.words] = rows, t
    return total


def _smoothed(problem: Problem, diffusion: Diffusion, mean: Array, precision: Array) -> tuple[Array, float]:
    """Marginal variances, and KL(q || p), of one side's trajectories."""
    prior, every = prior_at_knots(problem.knots, diffusion), (0, len(problem.knots.starts) - 1)
    mu, h = (np.asarray(array, dtype=np.float64) for array in (mean, precision))
    variance, divergences = np.empty_like(h), np.zeros(every[1])
    _smooth(problem.knots.starts, *prior, h, np.zeros_like(h), variance, *every)
    _divergence(problem.knots.starts, *prior, mu, h, variance, divergences, *every)
    return variance.astype(np.float32), math.fsum(divergences)
