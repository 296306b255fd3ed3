"""Worlds with known truth are recovered: scores, drift, and uncertainty."""

import numpy as np
import pytest
from oracles import natural, solvers, worlds

from wordtide.inference.compute import compute
from wordtide.inference.natural.schedule import Schedule
from wordtide.model.prior import ProductPrior

DIM = 3
PRIOR = ProductPrior(np.arange(20.0), 0.02, 15.0)
MOVED = 7


def smoothed(world, sample_size=None):
    """Means and variances of words and contexts, (T, L, d) each, and the static means at the start."""
    with compute("float32", 1) as computing:
        schedule = Schedule(20, 0.9, 0.2, 0.0, measure_every=20)
        solver = worlds.smoother(world, DIM, schedule, computing, sample_size=sample_size)
        start = solver.states._start.vectors
        solvers.finish(solver)
    sides = [
        [worlds.on_grid(array, world) for array in (side.mean, side.variance)]
        for side in solvers.sides_of(solver)
    ]
    if world.tied:
        sides.append([sides[0][0] * world.signs, sides[0][1]])
        start = [start[0], start[0] * world.signs]
    return *sides, start


def correlation(found, world):
    """The correlation of found and true scores of all pairs of different words, at all slices."""
    pairs = np.broadcast_to(np.triu(np.ones_like(world.scores[0]), 1) > 0, world.scores.shape)
    return np.corrcoef(np.broadcast_to(found, world.scores.shape)[pairs], world.scores[pairs])[0, 1]


@pytest.fixture(scope="module", params=["tied", "separate"])
def drifting(request):
    return worlds.world(1, PRIOR, size=40, dim=DIM, negatives=4.0, tied=request.param == "tied")


@pytest.fixture(scope="module")
def answer(drifting):
    return smoothed(drifting)


def test_scores_of_all_pairs_are_recovered(drifting, answer):
    (u, _), (v, _), _ = answer
    assert correlation(u @ v.transpose(0, 2, 1), drifting) > 0.98


def test_the_smoother_explains_more_than_static_vectors(drifting, answer):
    (u, _), (v, _), start = answer
    still = correlation(start[0] @ start[1].T, drifting)
    assert 1.0 - correlation(u @ v.transpose(0, 2, 1), drifting) < 0.2 * (1.0 - still)


def test_intervals_of_nine_in_ten_hold_the_truth_about_as_often(drifting, answer):
    """The mean field leaves out how words vary together, so its intervals may be somewhat narrow."""
    if not drifting.tied:
        pytest.skip("separate contexts count each of these symmetric pairs twice")
    (mean_u, variance_u), (mean_v, variance_v), _ = answer
    covered = []
    for t in range(len(PRIOR)):
        mean, variance = natural.pair_moments(mean_u[t], variance_u[t], mean_v[t], variance_v[t])
        pairs = np.triu_indices(len(mean), 1)
        covered.append((np.abs(drifting.scores[t] - mean) < 1.645 * np.sqrt(variance))[pairs])
    assert 0.85 < np.mean(covered) < 0.95


def test_the_filter_follows_the_drift_too(drifting):
    with compute("float32", 1) as computing:
        schedule = Schedule(8, 0.9, 0.3, 0.0)
        options = {"first_steps": 30, "tied": drifting.tied}
        solver = solvers.sequential(drifting.problem, PRIOR, DIM, schedule, computing, **options)
        solvers.finish(solver)
    found = [worlds.on_grid(mean, drifting) for mean in solver.mean]
    u, v = (found[0], found[0] * drifting.signs) if drifting.tied else found
    assert correlation(u @ v.transpose(0, 2, 1), drifting) > 0.96


@pytest.mark.parametrize("sample_size", [None, 20])
def test_the_word_that_moves_is_found(sample_size):
    rng = np.random.default_rng(2)
    prior = ProductPrior(np.arange(12.0), 0.002, 15.0)
    u = worlds.trajectories(rng, prior, 30, DIM)
    u[:, MOVED] += np.linspace(0.0, 1.2, 12)[:, None] * np.array([1.0, -1.0, 0.5])
    (mean, _), _, _ = smoothed(worlds.observed(rng, u, prior, negatives=4.0), sample_size)
    distance = np.linalg.norm(mean[-1] - mean[0], axis=1)
    assert int(distance.argmax()) == MOVED
