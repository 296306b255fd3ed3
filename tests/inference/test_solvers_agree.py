"""The natural solver ends at least as high as the paper's, by the same Monte-Carlo estimate of the ELBO."""

import numpy as np
import pytest
from monte_carlo_elbo import expected_log_likelihood
from oracles import solvers, worlds

from wordtide.inference.compute import compute
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.paper.smoothing import AdamSmoother, SmootherOptions
from wordtide.inference.problem import Problem
from wordtide.model.chain import filter_kl, smoothing_kl
from wordtide.model.likelihood import ActiveSlice, GaussianVectors
from wordtide.model.prior import ProductPrior

SIZE, DIM = 25, 3
TIMES = np.array([1800.0, 1801.0, 1804.0, 1805.0])
PRIOR = ProductPrior(TIMES, 0.05, 1.3)
CALM = Schedule(100, 0.5, 0.2, 0.0, measure_every=100)


@pytest.fixture(scope="module")
def world():
    """Drawn from the model itself, so that both solvers have one clear optimum, up to rotation."""
    return worlds.world(3, PRIOR, SIZE, DIM, negatives=4.0, tied=False)


@pytest.fixture
def computing():
    """Also keeps BLAS, and with it Adam, to one thread: for matrices as small as these more would only wait."""
    with compute("float64", 1) as opened:
        yield opened


def finish(solver):
    while solver.advance() is not None:
        pass
    return solver


def likelihood(problem, means, variances):
    """E_q[log p(n | U, V)] of all slices and its standard error, from moments at the knots, (K, d)."""
    total = squared_error = 0.0
    for part, rows in zip(problem.slices, problem.knots.by_slice, strict=True):
        u, v = (
            GaussianVectors(mean[rows], variance[rows])
            for mean, variance in zip(means, variances, strict=True)
        )
        active = ActiveSlice.of(part, np.float64)
        value, error = expected_log_likelihood(active, u, v, 2000, np.random.default_rng(0))
        total += value
        squared_error += error**2
    return total, squared_error**0.5


def filter_elbo(problem, means, variances):
    value, error = likelihood(problem, means, variances)
    for mean, variance in zip(means, variances, strict=True):
        value -= filter_kl(mean, variance, np.zeros_like(mean), np.full_like(mean, 1.3))
    return value, error


def test_on_one_slice_the_natural_filter_ends_no_lower_than_adam(world, computing):
    one = Problem(world.problem.words, TIMES[:1], world.problem.labels[:1], world.problem.slices[:1])
    prior = ProductPrior(TIMES[:1], 0.05, 1.3)
    adam = finish(AdamFilter(one, prior, FilterOptions(DIM, 0, steps_per_slice=2500, dtype=np.float64)))
    natural = finish(solvers.sequential(one, prior, DIM, CALM, computing))
    low, low_error = filter_elbo(one, *adam.moments())
    high, high_error = filter_elbo(one, natural.mean, natural.variance)
    assert high > low - 3 * (low_error + high_error)


def test_over_all_slices_the_natural_smoother_ends_no_lower_than_adam(world, computing):
    problem, settings = world.problem, {"minibatch_words": SIZE, "minibatch_rate": 0.05, "full_rate": 0.005}
    options = SmootherOptions(DIM, 0, minibatch_steps=1000, full_steps=400, dtype=np.float64, **settings)
    adam = finish(AdamSmoother(problem, PRIOR, options))
    natural = finish(worlds.smoother(world, DIM, CALM, computing))
    high_divergence = natural.states.divergence()
    low_divergence = smoothing_kl(adam.mu, adam.nu, adam.omega, PRIOR)
    means, variances = (
        [getattr(side, name) for side in solvers.sides_of(natural)] for name in ("mean", "variance")
    )
    high, high_error = likelihood(problem, means, variances)
    low, low_error = likelihood(problem, *adam.moments())
    assert high - high_divergence > low - low_divergence - 3 * (low_error + high_error)
