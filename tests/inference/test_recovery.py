"""Worlds whose truth is known are recovered: what drifts, how far, and with what certainty."""

import numpy as np
import pytest
from oracles import natural, worlds

from wordtide.inference.compute import compute
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.model.prior import ProductPrior

DIM = 3
PRIOR = ProductPrior(np.arange(20.0), 0.02, 15.0)
MOVED = 7


def smoothed(world, contexts=None):
    """Means and variances of words and contexts, (T, L, d) each, and the static means from which smoothing started."""
    with compute("cpu", "float32", 1) as computing:
        start = worlds.static_fit(world, DIM, computing)
        schedule = Schedule(20, 0.9, 0.2, 0.0, measure_every=20)
        solver = SmoothingSolver(
            world.problem, world.diffusion, start, schedule, computing, contexts=contexts
        )
        while solver.advance() is not None:
            pass
    u, v = ([worlds.on_grid(tensor, world) for tensor in (kind.mean, kind.variance)] for kind in solver.kinds)
    return u, v, start


def correlation(found, world):
    return np.corrcoef(np.broadcast_to(found, world.scores.shape).ravel(), world.scores.ravel())[0, 1]


@pytest.fixture(scope="module")
def drifting():
    return worlds.world(1, PRIOR, size=40, dim=DIM, negatives=4.0)


@pytest.fixture(scope="module")
def answer(drifting):
    return smoothed(drifting)


def test_scores_of_all_pairs_are_found_again(drifting, answer):
    (u, _), (v, _), _ = answer
    assert correlation(u @ v.transpose(0, 2, 1), drifting) > 0.98


def test_the_smoother_explains_more_than_a_model_that_stands_still(drifting, answer):
    (u, _), (v, _), start = answer
    still = correlation(start[0] @ start[1].T, drifting)
    assert 1.0 - correlation(u @ v.transpose(0, 2, 1), drifting) < 0.2 * (1.0 - still)


def test_intervals_of_nine_in_ten_hold_the_truth_about_as_often(drifting, answer):
    """The mean field leaves out how words and contexts vary together, so its intervals may be somewhat narrow."""
    (mean_u, variance_u), (mean_v, variance_v), _ = answer
    covered = []
    for t in range(len(PRIOR)):
        mean, variance = natural.pair_moments(mean_u[t], variance_u[t], mean_v[t], variance_v[t])
        covered.append(np.abs(drifting.scores[t] - mean) < 1.645 * np.sqrt(variance))
    assert 0.85 < np.mean(covered) < 0.95


def test_the_filter_follows_the_drift_too(drifting):
    with compute("cpu", "float32", 1) as computing:
        solver = SequentialSolver(
            drifting.problem, PRIOR, DIM, Schedule(8, 0.9, 0.3, 0.0), computing, contexts=None, first_steps=30
        )
        while solver.advance() is not None:
            pass
    u, v = (mean.reshape(40, len(PRIOR), DIM).transpose(1, 0, 2) for mean in solver.mean)
    assert correlation(u @ v.transpose(0, 2, 1), drifting) > 0.96


@pytest.mark.parametrize("contexts", [None, 20])
def test_the_word_that_moves_is_the_one_that_is_seen_to_move(contexts):
    rng = np.random.default_rng(2)
    prior = ProductPrior(np.arange(12.0), 0.002, 15.0)
    u, v = (worlds.trajectories(rng, prior, 30, DIM) for _ in range(2))
    u[:, MOVED] += np.linspace(0.0, 1.2, 12)[:, None] * np.array([1.0, -1.0, 0.5])
    (mean, _), _, _ = smoothed(worlds.observed(rng, u, v, prior, negatives=4.0), contexts)
    distance = np.linalg.norm(mean[-1] - mean[0], axis=1)
    assert int(distance.argmax()) == MOVED
