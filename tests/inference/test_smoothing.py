"""Smoothing by natural gradients: the dense ELBO, laws of the model, and resumed runs."""

import copy

import numpy as np
import pytest
from oracles import model as dense
from oracles import natural, solvers
from oracles.solvers import finish

from wordtide.inference.compute import compute
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.training import Diverged
from wordtide.model.prior import ProductPrior

SIZE, DIM = 8, 2
TIMES = np.array([1800.0, 1801.0, 1804.0, 1805.0])
#: Word 1 is absent twice in a row, word 4 appears late, word 5 never comes back, word 7 is never there.
PRESENT = [[0, 1, 2, 5], [0, 2, 3, 6], [0, 2, 3, 4, 6], [0, 1, 2, 3]]
COUNTS = [
    4 * dense.random_counts(np.random.default_rng(t), SIZE, present) for t, present in enumerate(PRESENT)
]
PRIOR = ProductPrior(TIMES, 0.05, 1.3)
SIGNS = np.array([1.0, -1.0])
START = 0.5 * np.random.default_rng(9).standard_normal((2, SIZE, DIM))


@pytest.fixture
def computing():
    with compute("float64", 1) as opened:
        yield opened


@pytest.fixture(params=["separate", "tied"])
def tied(request):
    return request.param == "tied"


def solver(computing, matrices=COUNTS, start=START, steps=12, diffusion=PRIOR, tied=False, **options):
    problem = dense.problem_from(matrices, diffusion.times, tied=tied)
    schedule = Schedule(steps, 0.9, 0.2, 0.0, measure_every=5)
    start, signs = (start[:1], SIGNS) if tied else (start, None)
    return solvers.smoother(problem, diffusion, start, schedule, computing, signs, **options)


def results(solver):
    """Mean, h and variance of each side at the knots, (sides, 3, K, d)."""
    return np.array([(side.mean, side.h, side.variance) for side in solvers.sides_of(solver)])


def knots_of(solver):
    return solver.states.block.knots


def is_same(one, other):
    return all(np.array_equal(one.state()[name], other.state()[name], equal_nan=True) for name in one.state())


def test_the_elbo_is_that_of_dense_matrices(computing, tied):
    """The likelihood has the solver's quadrature and all words, the divergence all slices."""
    fitted = solver(computing, tied=tied)
    finish(fitted)
    knots, prior = knots_of(fitted), natural.prior_covariance(PRIOR)
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
    if tied:
        states[1] = states[0] * np.array([SIGNS, [1.0, 1.0]])[:, None, None, :]
    pairs = 0.0
    for t, counts in enumerate(COUNTS):
        negatives = dense.negative_counts(counts)
        if tied:
            counts, negatives = (np.triu(part, 1) for part in natural.tied_counts(counts, negatives))
        total += natural.expected_log_likelihood(counts, negatives, states[0, :, t], states[1, :, t])
        pairs += (counts + negatives).sum()
    assert fitted.elbo() == pytest.approx(total / pairs, rel=1e-9)


def test_steps_raise_the_elbo(computing, tied):
    fitted = solver(computing, steps=30, tied=tied)
    before = fitted.elbo()
    elbos = [before] + [report.elbo for report in finish(fitted) if not np.isnan(report.elbo)]
    assert (np.diff(elbos) > 0).all()


def test_where_the_fit_ends_no_small_change_of_a_mean_raises_the_elbo(computing, tied):
    fitted = solver(computing, steps=150, tied=tied)
    finish(fitted)
    best = fitted.elbo()
    rng = np.random.default_rng(0)
    for side in solvers.sides_of(fitted):
        for row in range(len(side.mean)):
            old = side.mean[row].copy()
            side.mean[row] += 0.1 * rng.standard_normal(DIM)
            assert fitted.elbo() < best
            side.mean[row] = old


def gradients(fitted, t):
    """g of each side at slice t, before any step."""
    found = fitted.states._work.gradients(t, fitted.states.block.vectors(t), 0)
    return [side.g.copy() for side in found]


def test_rotating_the_start_rotates_the_first_step(computing):
    """At first all variances are those of the prior, so only the diagonal h depends on the axes."""
    angle = 0.7
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    one, other = solver(computing), solver(computing, start=START @ rotation)
    assert one.elbo() == pytest.approx(other.elbo(), rel=1e-12)
    for t in range(len(TIMES)):
        for g, rotated in zip(gradients(one, t), gradients(other, t), strict=True):
            np.testing.assert_allclose(g @ rotation, rotated, rtol=1e-10, atol=1e-10)


def test_reflecting_an_axis_of_tied_vectors_reflects_all_steps(computing):
    reflection = np.array([1.0, -1.0])
    one, other = (solver(computing, start=start, tied=True) for start in (START, START * reflection))
    finish(one)
    finish(other)
    expected = results(one)
    expected[:, 0] *= reflection
    np.testing.assert_allclose(results(other), expected, rtol=1e-12)


def test_the_order_of_words_changes_nothing(computing, tied):
    order = np.random.default_rng(3).permutation(SIZE)
    one = solver(computing, tied=tied)
    shuffled = [counts[np.ix_(order, order)] for counts in COUNTS]
    other = solver(computing, shuffled, START[:, order], tied=tied)
    finish(one)
    finish(other)
    knots, moved = knots_of(one), knots_of(other)
    for place, word in enumerate(order):
        found, expected = results(other)[:, :, moved.rows_of(place)], results(one)[:, :, knots.rows_of(word)]
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_threads_do_not_change_a_bit(precision, tied):
    with compute(precision, 1) as alone, compute(precision, 3) as threads:
        one, other = (solver(computing, sample_size=3, tied=tied) for computing in (alone, threads))
        assert [report.elbo for report in finish(one)][4] == [report.elbo for report in finish(other)][4]
        assert one.predictions() == other.predictions()
        assert is_same(one, other)


@pytest.mark.parametrize("stop", [0, 1, 5, 7, 12])
def test_a_resumed_run_ends_with_the_same_bits(stop, tied):
    with compute("float32", 1) as computing:
        one, other = (solver(computing, sample_size=3, tied=tied) for _ in range(2))
        for _ in range(stop):
            one.advance()
        state = copy.deepcopy(one.state())
        finish(one)
        other.restore(state)
        finish(other)
        assert is_same(one, other)


def test_asking_for_predictions_leaves_no_trace(tied):
    with compute("float32", 1) as computing:
        asked, other = (solver(computing, sample_size=3, tied=tied) for _ in range(2))
        for _ in range(4):
            asked.advance()
            asked.predictions()
            asked.predictions(0.3)
            other.advance()
        assert is_same(asked, other)


def test_a_finished_fit_still_has_the_state_of_a_checkpoint(computing, tied):
    fitted = solver(computing, tied=tied)
    finish(fitted)
    before = {name: np.array(array) for name, array in fitted.state().items()}
    fitted.states.finish()
    assert all(len(side.variance) == 0 for side in solvers.sides_of(fitted))
    assert all(np.array_equal(fitted.state()[name], array) for name, array in before.items())


def test_another_seed_draws_other_columns(computing, tied):
    one, other = (solver(computing, sample_size=3, tied=tied, seed=seed) for seed in (0, 1))
    finish(one)
    finish(other)
    assert not np.array_equal(results(one), results(other))


def test_a_slowed_run_is_a_run_at_half_the_rate(computing, tied):
    slowed, slow = (solver(computing, tied=tied) for _ in range(2))
    for _ in range(5):
        slowed.advance()
    slowed.slow_down()
    slow.pace = 0.5
    finish(slowed)
    finish(slow)
    assert np.array_equal(results(slowed), results(slow))
    assert slowed.diffusion == slow.diffusion


@pytest.mark.parametrize("bad", [0, 2])
def test_a_slice_with_nan_is_reported(computing, bad, tied):
    fitted = solver(computing, tied=tied)
    fitted.states._work._slice(bad)._values[0] = np.nan
    before = results(fitted)[:, 0]
    with pytest.raises(Diverged) as raised:
        fitted.advance()
    assert raised.value.slice == bad
    assert np.array_equal(results(fitted)[:, 0], before)  # nothing has moved
