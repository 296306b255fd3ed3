"""The Monte-Carlo ELBO, by which solvers are compared, against the ELBO that the solvers report."""

import numpy as np
import pytest
from monte_carlo_elbo import monte_carlo_elbo

import wordtide
from wordtide.inference.problem import problem_of

WORDS = "the mill stands by old river and new road steam drives wheel corn".split()


@pytest.fixture(scope="module")
def counts():
    draw = np.random.default_rng(3)
    texts = [(str(1900 + 10 * t), " ".join(draw.choice(WORDS[t : t + 9], 120))) for t in range(4)]
    return wordtide.count(texts)


@pytest.mark.parametrize("method", ["filtering", "smoothing"])
def test_it_agrees_with_the_elbo_by_quadrature(counts, method):
    model = wordtide.fit(counts, method=method, dim=5, negative_contexts=0, rate=0.5, max_steps=30, threads=1)
    problem = problem_of(counts)
    estimate, error = monte_carlo_elbo(problem, model.diffusion, model.fitted.posterior, samples=400)
    # x = u . v is a sum of five products, so it is not quite Gaussian: the quadrature is off by thousandths.
    assert abs(estimate - model.elbo) < 4 * error + 0.003
    assert error < 0.003


@pytest.mark.parametrize("method", ["filtering", "smoothing"])
def test_it_falls_when_the_means_are_moved_away_from_the_fit(counts, method):
    model = wordtide.fit(counts, method=method, dim=5, negative_contexts=0, rate=0.5, max_steps=30, threads=1)
    problem, posterior = problem_of(counts), model.fitted.posterior
    fitted, error = monte_carlo_elbo(problem, model.diffusion, posterior, samples=100)
    posterior.mean_u[:] += 0.3
    moved, _ = monte_carlo_elbo(problem, model.diffusion, posterior, samples=100)
    assert moved < fitted - 4 * error
