"""Slice after slice: priors by Eq. 13, a fit that is the smoother's on one slice, runs that can be resumed, alignment."""

import copy

import numpy as np
import pytest
import torch
from oracles import model as dense
from scipy.linalg import orthogonal_procrustes

from wordtide.inference.compute import compute
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.natural.step import SliceFit, principal_axes
from wordtide.inference.reports import Diverged
from wordtide.inference.training import FitObserver, train
from wordtide.model.prior import ProductPrior

SIZE, DIM = 8, 2
TIMES = np.array([1800.0, 1801.0, 1804.0, 1805.0])
#: Word 1 is absent twice in a row, word 4 appears late, word 5 never comes back, word 7 is never there.
PRESENT = [[0, 1, 2, 5], [0, 2, 3, 6], [0, 2, 3, 4, 6], [0, 1, 2, 3]]
COUNTS = [
    4 * dense.random_counts(np.random.default_rng(t), SIZE, present) for t, present in enumerate(PRESENT)
]
PRIOR = ProductPrior(TIMES, 0.05, 1.3)
METHODS = ["filtering", "warm-start", "independent"]


@pytest.fixture
def computing():
    with compute("cpu", "float64", 1) as opened:
        yield opened


def solver(computing, method="filtering", slices=4, steps=6, rate=0.5, **settings):
    problem = dense.problem_from(COUNTS[:slices], TIMES[:slices])
    prior = ProductPrior(TIMES[:slices], 0.05, 1.3)
    chosen = {"contexts": None} | settings
    return SequentialSolver(problem, prior, DIM, Schedule(steps, rate, 0.2, 0.0), computing, method, **chosen)


def finish(solver):
    return list(iter(solver.advance, None))


def until_slice(solver, number):
    while solver.number < number:
        solver.advance()
    return solver._opened()


def printed_prior(mean, variance, t):
    """Eq. 13 from slice t to slice t + 1, as printed."""
    spread = variance + 0.05 * (TIMES[t + 1] - TIMES[t])
    after = 1.0 / (1.0 / spread + 1.0 / 1.3)
    return after / spread * mean, after


def rows_at(solver, t, word):
    knots = solver.problem.knots
    return next(row for row in knots.by_slice[t] if knots.words[row] == word)


def test_the_first_slice_has_the_prior_of_the_model(computing):
    fit = solver(computing)._opened()
    assert (fit.prior[0].mean == 0.0).all()
    assert (fit.prior[1].variance == 1.3).all()


def test_a_word_seen_in_the_slice_before_has_the_prior_of_equation_13(computing):
    filter = solver(computing)
    fit = until_slice(filter, 1)
    row = rows_at(filter, 0, 2)
    mean, variance = printed_prior(filter.mean[0][row], filter.variance[0][row], 0)
    place = PRESENT[1].index(2)
    np.testing.assert_allclose(fit.prior[0].mean[place].numpy(), mean, rtol=1e-12)
    np.testing.assert_allclose(fit.prior[0].variance[place].numpy(), variance, rtol=1e-12)


def test_a_word_absent_for_some_slices_passes_through_each_of_them(computing):
    filter = solver(computing)
    fit = until_slice(filter, 3)
    row = rows_at(filter, 0, 1)
    belief = filter.mean[1][row], filter.variance[1][row]
    for t in range(3):
        belief = printed_prior(*belief, t)
    place = PRESENT[3].index(1)
    np.testing.assert_allclose(fit.prior[1].mean[place].numpy(), belief[0], rtol=1e-12)
    np.testing.assert_allclose(fit.prior[1].variance[place].numpy(), belief[1], rtol=1e-12)


def test_a_new_word_has_the_prior_that_passed_through_all_slices_before(computing):
    fit = until_slice(solver(computing), 2)
    belief = 0.0, 1.3
    for t in range(2):
        belief = printed_prior(*belief, t)
    place = PRESENT[2].index(4)
    assert (fit.prior[0].mean[place] == 0.0).all()
    np.testing.assert_allclose(fit.prior[0].variance[place].numpy(), belief[1], rtol=1e-12)


def test_without_data_a_slice_keeps_its_prior(computing):
    filter = solver(computing)
    fit = until_slice(filter, 2)
    fit.slice.positives.values.zero_()
    fit.slice.word_weight.zero_()
    for kind in (0, 1):
        fit.mean[kind] = fit.mean[kind] + 0.3
    for _ in range(40):
        fit.step(0.9, np.random.default_rng(0))
    for kind in (0, 1):
        torch.testing.assert_close(fit.mean[kind], fit.prior[kind].mean, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(1.0 / fit.precision[kind], fit.prior[kind].variance, rtol=1e-9, atol=1e-9)


def one_slice(computing, steps, still=0):
    """A filter's open fit of the first slice, and a smoother of the same slice that starts from its means.

    After its `steps` the fit takes some more in axes that stand still, as the smoother's do.
    """
    filter = solver(computing, slices=1, steps=steps + 1)
    for _ in range(steps):
        filter.advance()
    fit = filter._fit
    for _ in range(still):
        fit.step(0.5, np.random.default_rng(0))
    start = np.zeros((2, SIZE, DIM))
    start[:, PRESENT[0]] = [mean.numpy() for mean in fit.mean]
    schedule = Schedule(400, 0.5, 0.5, 0.0, measure_every=400)
    smoother = SmoothingSolver(filter.problem, filter.diffusion, start, schedule, computing, contexts=None)
    return fit, smoother


def test_on_one_slice_filter_and_smoother_have_the_same_elbo(computing):
    fit, smoother = one_slice(computing, 4)
    for kind, precision in zip(smoother.kinds, fit.precision, strict=True):
        kind.h.copy_(precision - 1 / 1.3)
        kind.variance.copy_(1 / precision)
    assert smoother.elbo() == pytest.approx(fit.elbo(np.random.default_rng(0)), rel=1e-12)


def test_on_one_slice_the_smoother_stays_where_the_filter_ends(computing):
    fit, smoother = one_slice(computing, 20, still=2000)
    finish(smoother)
    for kind, mean, precision in zip(smoother.kinds, fit.mean, fit.precision, strict=True):
        torch.testing.assert_close(kind.mean, mean, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(kind.variance, 1 / precision, rtol=1e-6, atol=1e-6)


def test_principal_axes_make_the_weighted_second_moments_diagonal():
    rng = np.random.default_rng(0)
    weighted = [
        (torch.as_tensor(rng.random((9, 1))), torch.as_tensor(rng.standard_normal((9, 3)))) for _ in range(2)
    ]
    axes = principal_axes(weighted)
    moments = sum((weight * (mean @ axes)).T @ (mean @ axes) for weight, mean in weighted)
    torch.testing.assert_close(
        moments, torch.diag(moments.diag().sort(descending=True).values), rtol=1e-10, atol=1e-10
    )


def test_turning_to_principal_axes_does_not_change_scores(computing):
    filter = solver(computing)
    for _ in range(3):
        filter.advance()
    u, v = filter._fit.mean
    scores = u @ v.T
    filter._fit.rotate_to_principal_axes()
    u, v = filter._fit.mean
    torch.testing.assert_close(u @ v.T, scores, rtol=1e-12, atol=1e-12)


def test_no_word_goes_further_than_the_trust_region(computing):
    filter = solver(computing, trust=0.01)
    fit = filter._opened()
    before = [mean.clone() for mean in fit.mean]
    fit.step(0.5, np.random.default_rng(0))
    for mean, old in zip(fit.mean, before, strict=True):
        assert float((mean - old).norm(dim=1).max()) == pytest.approx(0.005)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stop", [0, 1, 4, 6, 15, 24])
def test_a_resumed_run_ends_with_the_same_bits(method, stop):
    with compute("cpu", "float32", 1) as computing:
        one, other = (solver(computing, method, contexts=3) for _ in range(2))
        for _ in range(stop):
            one.advance()
        state = copy.deepcopy(one.state())
        finish(one)
        other.restore(state)
        finish(other)
    assert one.state().keys() == other.state().keys()
    assert all(np.array_equal(one.state()[name], other.state()[name], equal_nan=True) for name in one.state())


@pytest.mark.parametrize("method", METHODS)
def test_slowing_down_starts_the_slice_again_at_half_the_rate(computing, method):
    slowed = solver(computing, method)
    until_slice(slowed, 2)
    state = copy.deepcopy(slowed.state())
    for _ in range(3):
        slowed.advance()
    slowed.slow_down()
    slow = solver(computing, method)
    slow.restore(state)
    slow.slow = 0.5
    finish(slowed)
    finish(slow)
    assert np.array_equal(slowed.mean, slow.mean)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [0, 2])
def test_a_slice_that_is_not_a_number_is_named(computing, method, bad):
    fitted = solver(computing, method)
    fitted.problem.slices[bad].values[0] = np.nan
    with pytest.raises(Diverged) as raised:
        finish(fitted)
    assert raised.value.slice == bad


def test_independent_slices_are_turned_onto_the_slice_before(computing):
    fitted = solver(computing, "independent")
    finish(fitted)
    for t in range(1, 4):
        shared = [word for word in PRESENT[t] if word in PRESENT[t - 1]]
        here, before = (fitted.mean[0][[rows_at(fitted, s, word) for word in shared]] for s in (t, t - 1))
        rotation, _ = orthogonal_procrustes(here, before)
        np.testing.assert_allclose(rotation, np.eye(DIM), atol=1e-9)


def test_alignment_undoes_any_rotation_of_a_slice(computing):
    plain, turned = solver(computing, "independent"), solver(computing, "independent")
    rotation = torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=torch.float64)
    for fitted in (plain, turned):
        until_slice(fitted, 1)
        fitted.advance()
    turned._fit.mean = [mean @ rotation for mean in turned._fit.mean]
    for fitted in (plain, turned):
        fitted._close(fitted._fit)
    np.testing.assert_allclose(turned.mean, plain.mean, rtol=1e-9, atol=1e-9)


def test_warm_start_begins_where_the_slice_before_ended(computing):
    fitted = solver(computing, "warm-start")
    fit = until_slice(fitted, 1)
    assert np.array_equal(fit.mean[0][PRESENT[1].index(2)].numpy(), fitted.mean[0][rows_at(fitted, 0, 2)])


@pytest.mark.parametrize("method", ["warm-start", "independent"])
def test_point_estimates_have_no_variances(computing, method):
    assert solver(computing, method).variance is None


def test_a_falling_elbo_is_divergence_and_the_slice_is_fitted_again_at_half_the_rate(computing, monkeypatch):
    elbos = iter([-0.70, -0.80, *[-0.69] * 20])
    monkeypatch.setattr(SliceFit, "elbo", lambda fit, generator: next(elbos))
    hasty = solver(computing, slices=2)
    curve = train(hasty, "filtering", ["first", "second"], FitObserver())
    assert hasty.slow == 0.5
    assert [row["elbo"] for row in curve if row["elbo"] is not None] == [-0.70, -0.69, -0.69, -0.69, -0.69]


def test_a_small_fall_is_noise(computing, monkeypatch):
    elbos = iter([-0.70, -0.71, -0.70, -0.71])
    monkeypatch.setattr(SliceFit, "elbo", lambda fit, generator: next(elbos))
    calm = solver(computing, slices=2)
    finish(calm)
    assert calm.slow == 1.0
