"""Smoothing by natural gradients: an ELBO that is the dense one, laws of the model, and runs that can be resumed."""

import copy

import numpy as np
import pytest
import torch
from oracles import model as dense
from oracles import natural

from wordtide.inference.compute import compute
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.reports import Diverged
from wordtide.model.prior import ProductPrior

SIZE, DIM = 8, 2
TIMES = np.array([1800.0, 1801.0, 1804.0, 1805.0])
#: Word 1 is absent twice in a row, word 4 appears late, word 5 never comes back, word 7 is never there.
PRESENT = [[0, 1, 2, 5], [0, 2, 3, 6], [0, 2, 3, 4, 6], [0, 1, 2, 3]]
COUNTS = [
    4 * dense.random_counts(np.random.default_rng(t), SIZE, present) for t, present in enumerate(PRESENT)
]
PRIOR = ProductPrior(TIMES, 0.05, 1.3)
START = 0.5 * np.random.default_rng(9).standard_normal((2, SIZE, DIM))


@pytest.fixture
def computing():
    with compute("cpu", "float64", 1) as opened:
        yield opened


def solver(computing, matrices=COUNTS, start=START, steps=12, diffusion=PRIOR, **settings):
    problem = dense.problem_from(matrices, diffusion.times)
    schedule = Schedule(steps, 0.9, 0.2, 0.0, measure_every=5)
    return SmoothingSolver(problem, diffusion, start, schedule, computing, **({"contexts": None} | settings))


def finish(solver):
    return list(iter(solver.advance, None))


def results(solver):
    return np.array([[part.numpy() for part in (kind.mean, kind.h, kind.variance)] for kind in solver.kinds])


def test_the_elbo_is_that_of_dense_matrices(computing):
    """With likelihood by the same quadrature as the solver's, on the whole vocabulary; the divergence over all slices."""
    fitted = solver(computing)
    finish(fitted)
    knots, prior = fitted.problem.knots, natural.prior_covariance(PRIOR)
    states = np.zeros((2, 2, len(TIMES), SIZE, DIM))  # words and contexts; mean and variance
    total = 0.0
    for kind, found in enumerate(results(fitted)):
        for word in range(SIZE):
            rows = knots.rows_of(word)
            slices = knots.slices[rows]
            for k in range(DIM):
                _, covariance = natural.chain_posterior(
                    PRIOR, slices, found[1, rows, k], np.zeros(len(slices))
                )
                mean = prior[:, slices] @ np.linalg.solve(prior[np.ix_(slices, slices)], found[0, rows, k])
                total -= dense.gaussian_kl(mean, covariance, np.zeros(len(TIMES)), prior)
                states[kind, :, :, word, k] = mean, np.diag(covariance)
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    for t, counts in enumerate(COUNTS):
        mean, variance = natural.pair_moments(
            states[0, 0, t], states[0, 1, t], states[1, 0, t], states[1, 1, t]
        )
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            x = mean + node * np.sqrt(variance)
            total -= (
                weight
                * (counts * np.logaddexp(0, -x) + dense.negative_counts(counts) * np.logaddexp(0, x)).sum()
            )
    pairs = sum(2 * counts.sum() for counts in COUNTS)
    assert fitted.elbo() == pytest.approx(total / pairs, rel=1e-9)


def test_steps_raise_the_elbo(computing):
    fitted = solver(computing, steps=30)
    before = fitted.elbo()
    elbos = [before] + [report.elbo for report in finish(fitted) if not np.isnan(report.elbo)]
    assert (np.diff(elbos) > 0).all()


def test_where_the_fit_ends_no_small_change_of_a_mean_raises_the_elbo(computing):
    fitted = solver(computing, steps=150)
    finish(fitted)
    best = fitted.elbo()
    rng = np.random.default_rng(0)
    for kind in fitted.kinds:
        for row in range(len(kind.mean)):
            old = kind.mean[row].clone()
            kind.mean[row] += torch.as_tensor(0.1 * rng.standard_normal(DIM))
            assert fitted.elbo() < best
            kind.mean[row] = old


def test_rotating_the_start_rotates_the_first_step(computing):
    """At first all variances are the prior's, the same in all directions, so nothing depends on the axes but the diagonal h."""
    angle = 0.7
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    one, other = solver(computing), solver(computing, start=START @ rotation)
    assert one.elbo() == pytest.approx(other.elbo(), rel=1e-12)
    turned = torch.as_tensor(rotation)
    for t in range(len(TIMES)):
        here, there = (
            [
                part.g.clone()
                for part in fitted._slices[t].gradients(
                    *fitted.states.block.vectors(t), np.random.default_rng(0)
                )
            ]
            for fitted in (one, other)
        )
        for g, g_turned in zip(here, there, strict=True):
            torch.testing.assert_close(g @ turned, g_turned, rtol=1e-10, atol=1e-10)


def test_the_order_of_words_changes_nothing(computing):
    order = np.random.default_rng(3).permutation(SIZE)
    one = solver(computing)
    other = solver(computing, [counts[np.ix_(order, order)] for counts in COUNTS], START[:, order])
    finish(one)
    finish(other)
    knots, moved = one.problem.knots, other.problem.knots
    for place, word in enumerate(order):
        found, expected = results(other)[:, :, moved.rows_of(place)], results(one)[:, :, knots.rows_of(word)]
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_threads_change_nothing(computing):
    one = solver(computing)
    finish(one)
    with compute("cpu", "float64", 3) as threads:
        other = solver(threads)
        finish(other)
        np.testing.assert_allclose(results(other), results(one), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("stop", [0, 1, 5, 7, 12])
def test_a_resumed_run_ends_with_the_same_bits(stop):
    with compute("cpu", "float32", 1) as computing:
        one, other = (solver(computing, contexts=3) for _ in range(2))
        for _ in range(stop):
            one.advance()
        state = copy.deepcopy(one.state())
        finish(one)
        other.restore(state)
        finish(other)
        assert all(
            np.array_equal(one.state()[name], other.state()[name], equal_nan=True) for name in one.state()
        )


def test_asking_for_predictions_leaves_no_trace():
    with compute("cpu", "float32", 1) as computing:
        asked, other = (solver(computing, contexts=3) for _ in range(2))
        for _ in range(4):
            asked.advance()
            asked.predictions()
            asked.predictions(0.3)
            other.advance()
        assert all(
            np.array_equal(asked.state()[name], other.state()[name], equal_nan=True) for name in asked.state()
        )


def test_another_seed_draws_other_contexts(computing):
    one, other = solver(computing, contexts=3, seed=0), solver(computing, contexts=3, seed=1)
    finish(one)
    finish(other)
    assert not np.array_equal(results(one), results(other))


def test_a_slowed_run_is_a_run_at_half_the_rate(computing):
    slowed, slow = (solver(computing) for _ in range(2))
    for _ in range(5):
        slowed.advance()
    slowed.slow_down()
    slow.slow = 0.5
    finish(slowed)
    finish(slow)
    assert np.array_equal(results(slowed), results(slow))
    assert slowed.diffusion == slow.diffusion


@pytest.mark.parametrize("bad", [0, 2])
def test_a_slice_that_is_not_a_number_is_named(computing, bad):
    fitted = solver(computing)
    fitted._slices[bad].positives.values[0] = np.nan
    with pytest.raises(Diverged) as raised:
        fitted.advance()
    assert raised.value.slice == bad
