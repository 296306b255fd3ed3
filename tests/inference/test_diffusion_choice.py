"""Choosing the diffusion constant by prediction recovers it in worlds that span days, years or centuries."""

import numpy as np
import pytest
from oracles import solvers, worlds

from wordtide.inference.compute import compute
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import CHOICE, choose_diffusion, still_constant
from wordtide.model.prior import StationaryPrior
from wordtide.progress import Observer

DAY, YEAR, DECADE = 1.0 / 365.25, 1.0, 10.0
DIM = 5


def world_of(seed, slices, gap, drift, variance, negatives, size=200):
    """A world whose vectors drift by a variance of `drift` from slice to slice."""
    prior = StationaryPrior(2000.0 + gap * np.arange(slices), drift / gap, variance)
    return worlds.world(seed, prior, size=size, dim=DIM, negatives=negatives)


def solver_of(world, computing, first, schedule=CHOICE):
    prior = world.diffusion.with_constant(first)
    return worlds.smoother(world, DIM, schedule, computing, diffusion=prior)


@pytest.mark.parametrize("wrong_by", [0.01, 100.0])
@pytest.mark.parametrize(
    ("seed", "slices", "gap", "drift", "variance", "negatives"),
    [
        pytest.param(0, 40, DAY, 0.003, 0.5, 0.2, id="days"),
        pytest.param(1, 12, DAY, 0.02, 0.35, 0.5, id="few days"),
        pytest.param(2, 25, YEAR, 0.01, 0.5, 0.5, id="years"),
        pytest.param(3, 25, YEAR, 0.01, 0.5, 0.1, id="years, thin slices"),
        pytest.param(4, 25, DECADE, 0.005, 0.35, 0.3, id="centuries"),
    ],
)
def test_the_constant_of_a_world_is_found_from_any_start(
    seed, slices, gap, drift, variance, negatives, wrong_by
):
    world = world_of(seed, slices, gap, drift, variance, negatives)
    with compute("float32", 1) as computing:
        found = choose_diffusion(solver_of(world, computing, wrong_by * drift / gap), Observer())
    assert found == pytest.approx(drift / gap, rel=0.3)


def test_static_vectors_get_a_small_constant():
    rng = np.random.default_rng(5)
    prior = StationaryPrior(np.arange(20.0), 1e-3, 0.5)
    u = np.repeat(np.sqrt(0.5) * rng.standard_normal((1, 100, DIM)), 20, axis=0)
    world = worlds.observed(rng, u, prior, 0.5)
    with compute("float32", 1) as computing:
        solver = solver_of(world, computing, 0.1)
        assert choose_diffusion(solver, Observer()) < 20 * still_constant(solver.diffusion)


def test_one_slice_keeps_the_constant_it_has():
    world = world_of(6, 1, YEAR, 0.01, 0.5, 0.5)
    with compute("float32", 1) as computing:
        assert choose_diffusion(solver_of(world, computing, 0.07), Observer()) == 0.07


def test_slices_left_out_by_their_messages_are_predicted_like_slices_left_out_of_the_fit():
    world = world_of(7, 16, YEAR, 0.01, 0.5, 0.3)
    schedule = Schedule(20, 0.9, 0.3, 0.0, measure_every=20)
    with compute("float32", 1) as computing:
        whole = solver_of(world, computing, 0.01, schedule)
        solvers.finish(whole)
        by_messages = whole.predictions()
        for left_out in (1, 8, 15):
            assert refitted_without(world, left_out, schedule, computing) == pytest.approx(
                by_messages[left_out], abs=0.004
            )


def refitted_without(world, left_out, schedule, computing):
    """The log-likelihood per pair of a slice under the posterior, at its time, of a fit to all others."""
    kept = [t for t in range(len(world.problem)) if t != left_out]
    problem = worlds.without(world.problem, left_out)
    prior = world.diffusion.on(world.diffusion.times[kept])
    solver = worlds.smoother(world, DIM, schedule, computing, problem, prior)
    solvers.finish(solver)
    return worlds.predicted(solver, world, left_out)
