"""The diffusion constant is found again: from exact second moments, and from counts alone."""

import numpy as np
import pytest
from oracles import natural, worlds

from wordtide.diffusion import ProductPrior
from wordtide.embeddings.knots import Knots
from wordtide.inference.compute import compute
from wordtide.inference.diffusion_estimate import best_diffusion
from wordtide.inference.schedule import Schedule
from wordtide.inference.smoothing import SmoothingSolver

TIMES = np.concatenate([np.arange(12.0), [14.0, 20.0, 20.5, 30.0]])
SLICES = [list(range(16)), [0, 5, 6, 15], [3], [], list(range(1, 16, 2))]
KNOTS = Knots(np.cumsum([0, *map(len, SLICES)]), np.concatenate(SLICES).astype(np.int32))


def second_moments(covariance):
    """E[x_before^2], E[x^2], E[x_before x] of every knot, (K, 3), for one coordinate with this second moment (T, T)."""
    moments = np.zeros((len(KNOTS), 3))
    for word, slices in enumerate(SLICES):
        for place, row in enumerate(range(*KNOTS.starts[word : word + 2])):
            here, before = slices[place], slices[place - 1]
            moments[row, 1] = covariance[here, here]
            if place > 0:
                moments[row, [0, 2]] = covariance[before, before], covariance[before, here]
    return moments


@pytest.mark.parametrize("start", [0.003, 0.02, 1.5])
@pytest.mark.parametrize("truth", [0.02, 0.2])
def test_the_priors_own_moments_give_its_constant(truth, start):
    moments = second_moments(natural.prior_covariance(ProductPrior(TIMES, truth, 2.0)))
    assert best_diffusion(KNOTS, [moments, moments], 1, ProductPrior(TIMES, start, 2.0)) == pytest.approx(truth, rel=1e-3)


def test_many_trajectories_give_the_constant_they_were_drawn_with():
    truth, draws = ProductPrior(TIMES, 0.05, 2.0), 3000
    drawn = worlds.trajectories(np.random.default_rng(0), truth, draws, 1)[..., 0]
    moments = draws * second_moments(drawn @ drawn.T / draws)
    assert best_diffusion(KNOTS, [moments], draws, ProductPrior(TIMES, 0.5, 2.0)) == pytest.approx(0.05, rel=0.05)


def test_one_estimate_goes_at_most_a_hundred_times_as_far():
    moments = second_moments(natural.prior_covariance(ProductPrior(TIMES, 1.0, 2.0)))
    found = best_diffusion(KNOTS, [moments], 1, ProductPrior(TIMES, 1e-5, 2.0))
    assert found == pytest.approx(1e-3, rel=1e-2)


def estimated(negatives, wrong_by, steps=20):
    """The constant found from the counts of a world of constant 0.02, starting `wrong_by` times as high."""
    world = worlds.world(0, ProductPrior(np.arange(25.0), 0.02, 15.0), size=50, dim=3, negatives=negatives)
    first = ProductPrior(world.diffusion.times, wrong_by * 0.02, 15.0)
    schedule = Schedule(steps, 0.9, 0.3, 0.0, measure_every=steps)
    with compute("cpu", "float32", 1) as computing:
        start = worlds.static_fit(world, 3, computing)
        solver = SmoothingSolver(world.problem, first, start, schedule, computing, contexts=None, estimate_diffusion=True)
        while solver.advance() is not None:
            pass
    return solver.diffusion.constant


@pytest.mark.parametrize("wrong_by", [0.1, 10.0])
def test_the_constant_of_a_world_is_found_from_its_counts(wrong_by):
    assert estimated(8.0, wrong_by) == pytest.approx(0.02, rel=0.2)


def test_two_wrong_constants_lead_to_the_same_one_even_where_counts_say_little():
    """Plain M-steps are short there: after as many steps they would still be a quarter apart."""
    low, high = estimated(1.0, 0.1, steps=25), estimated(1.0, 10.0, steps=25)
    assert low == pytest.approx(high, rel=0.02)
