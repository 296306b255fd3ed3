"""Sequential fits: priors by Eq. 13, agreement with the smoother on one slice, resuming, alignment."""

import copy

import numpy as np
import pytest
from oracles import model as dense
from oracles import solvers
from oracles.solvers import finish
from scipy.linalg import orthogonal_procrustes

from wordtide.inference.compute import compute
from wordtide.inference.natural import prepared_slice
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.natural.filtering import FilterHistory, SequentialSolver
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.step import SliceFit, principal_axes, sign_blocks
from wordtide.inference.slice_sinks import KnotArrays
from wordtide.inference.training import Diverged, train
from wordtide.model.prior import ProductPrior
from wordtide.progress import Observer

SIZE, DIM = 8, 2
TIMES = np.array([1800.0, 1801.0, 1804.0, 1805.0])
#: Word 1 is absent twice in a row, word 4 appears late, word 5 never comes back, word 7 is never there.
PRESENT = [[0, 1, 2, 5], [0, 2, 3, 6], [0, 2, 3, 4, 6], [0, 1, 2, 3]]
COUNTS = [
    4 * dense.random_counts(np.random.default_rng(t), SIZE, present) for t, present in enumerate(PRESENT)
]
PRIOR = ProductPrior(TIMES, 0.05, 1.3)
METHODS = ["filtering", "warm-start", "independent"]
SEED = [0]  # exact sums draw nothing


@pytest.fixture(params=["separate", "tied"])
def tied(request):
    return request.param == "tied"


@pytest.fixture
def computing():
    with compute("float64", 1) as opened:
        yield opened


def solver(computing, method="filtering", slices=4, steps=6, rate=0.5, tied=False, **options):
    problem = dense.problem_from(COUNTS[:slices], TIMES[:slices], tied=tied)
    prior, schedule = ProductPrior(TIMES[:slices], 0.05, 1.3), Schedule(steps, rate, 0.2, 0.0)
    return solvers.sequential(problem, prior, DIM, schedule, computing, method=method, tied=tied, **options)


def until_slice(solver, number):
    while solver.number < number:
        solver.advance()
    return solver._open()


def printed_prior(mean, variance, t):
    """Eq. 13 from slice t to slice t + 1, as printed."""
    return dense.filter_prior(mean, variance, TIMES[t + 1] - TIMES[t], 0.05, 1.3)


def rows_at(solver, t, word):
    knots = solver.problem.knots
    return next(row for row in knots.by_slice[t] if knots.words[row] == word)


def test_the_first_slice_has_the_prior_of_the_model(computing, tied):
    prior = solver(computing, tied=tied)._open().prior
    assert len(prior) == (1 if tied else 2)
    assert all((side.mean == 0.0).all() and (side.variance == 1.3).all() for side in prior)


def test_a_word_seen_in_the_slice_before_has_the_prior_of_equation_13(computing, tied):
    filter = solver(computing, tied=tied)
    fit = until_slice(filter, 1)
    row = rows_at(filter, 0, 2)
    mean, variance = printed_prior(filter.mean[0][row], filter.variance[0][row], 0)
    place = PRESENT[1].index(2)
    np.testing.assert_allclose(fit.prior[0].mean[place], mean, rtol=1e-12)
    np.testing.assert_allclose(fit.prior[0].variance[place], variance, rtol=1e-12)


def test_a_word_absent_for_some_slices_passes_through_each_of_them(computing, tied):
    filter = solver(computing, tied=tied)
    fit = until_slice(filter, 3)
    row = rows_at(filter, 0, 1)
    belief = filter.mean[-1][row], filter.variance[-1][row]
    for t in range(3):
        belief = printed_prior(*belief, t)
    place = PRESENT[3].index(1)
    np.testing.assert_allclose(fit.prior[-1].mean[place], belief[0], rtol=1e-12)
    np.testing.assert_allclose(fit.prior[-1].variance[place], belief[1], rtol=1e-12)


def test_a_new_word_has_the_prior_that_passed_through_all_slices_before(computing, tied):
    fit = until_slice(solver(computing, tied=tied), 2)
    belief = 0.0, 1.3
    for t in range(2):
        belief = printed_prior(*belief, t)
    place = PRESENT[2].index(4)
    assert (fit.prior[0].mean[place] == 0.0).all()
    np.testing.assert_allclose(fit.prior[0].variance[place], belief[1], rtol=1e-12)


def test_without_data_a_slice_keeps_its_prior(computing, tied):
    fit = until_slice(solver(computing, tied=tied), 2)
    fit.slice._values[:] = 0.0
    for pairs in fit.slice._negatives:
        pairs._rows[:] = 0.0
    fit.mean = [mean + 0.3 for mean in fit.mean]
    for _ in range(40):
        fit.step(0.9, SEED)
    for mean, precision, prior in zip(fit.mean, fit.precision, fit.prior, strict=True):
        np.testing.assert_allclose(mean, prior.mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(1.0 / precision, prior.variance, rtol=1e-9, atol=1e-9)


def one_slice(computing, steps, tied, still=0):
    """A filter's open fit of the first slice, and a smoother of the same slice that starts from its means.

    After its `steps` the fit takes some more in axes that stand still, as the smoother's do.
    """
    filter = solver(computing, slices=1, steps=steps + 1, tied=tied)
    for _ in range(steps):
        filter.advance()
    fit = filter._fit
    for _ in range(still):
        fit.step(0.5, SEED)
    start = np.zeros((len(fit.mean), SIZE, DIM))
    start[:, PRESENT[0]] = fit.mean
    schedule = Schedule(400, 0.5, 0.5, 0.0, measure_every=400)
    smoother = solvers.smoother(
        filter.problem, filter.diffusion, start, schedule, computing, signs=filter.signs
    )
    return fit, smoother


def test_on_one_slice_filter_and_smoother_have_the_same_elbo(computing, tied):
    fit, smoother = one_slice(computing, 4, tied)
    for side, precision in zip(solvers.sides_of(smoother), fit.precision, strict=True):
        side.h[:] = precision - 1 / 1.3
        side.variance[:] = 1 / precision
    assert smoother.elbo() == pytest.approx(fit.elbo(SEED), rel=1e-12)


def test_on_one_slice_the_smoother_stays_where_the_filter_ends(computing, tied):
    fit, smoother = one_slice(computing, 20, tied, still=2000)
    finish(smoother)
    for side, mean, precision in zip(solvers.sides_of(smoother), fit.mean, fit.precision, strict=True):
        np.testing.assert_allclose(side.mean, mean, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(side.variance, 1 / precision, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("signs", [None, np.array([1.0, -1.0, 1.0, 1.0, -1.0])], ids=["separate", "tied"])
def test_principal_axes_make_the_weighted_second_moments_diagonal(signs):
    rng = np.random.default_rng(0)
    weighted = [(rng.random((9, 1)), rng.standard_normal((9, 5))) for _ in range(2)]
    axes = principal_axes(weighted, signs)
    moments = sum((weight * (mean @ axes)).T @ (mean @ axes) for weight, mean in weighted)
    np.testing.assert_allclose(axes @ axes.T, np.eye(5), atol=1e-12)
    for own in [np.arange(5)] if signs is None else [np.flatnonzero(signs == sign) for sign in (1, -1)]:
        block = moments[np.ix_(own, own)]
        np.testing.assert_allclose(block, np.diag(np.sort(np.diag(block))[::-1]), rtol=1e-10, atol=1e-10)


def test_principal_axes_of_tied_vectors_mix_only_axes_of_the_same_sign():
    rng, signs = np.random.default_rng(1), np.array([1.0, -1.0, 1.0, -1.0])
    axes = principal_axes([(rng.random((9, 1)), rng.standard_normal((9, 4)))], signs)
    assert (axes[np.not_equal.outer(signs, signs)] == 0.0).all()
    np.testing.assert_allclose(axes.T @ np.diag(signs) @ axes, np.diag(signs), atol=1e-12)


def scores(fit):
    """Of all pairs of words, (a, a)."""
    other = fit.mean[1] if fit.slice.signs is None else fit.mean[0] * fit.slice.signs
    return fit.mean[0] @ other.T


def test_rotating_to_principal_axes_does_not_change_scores(computing, tied):
    filter = solver(computing, tied=tied)
    for _ in range(3):
        filter.advance()
    fit = filter._fit
    fit.mean = [mean + 0.1 for mean in fit.mean]  # away from the axes it is in
    before, old = scores(fit), fit.mean[0]
    fit.rotate_to_principal_axes()
    assert tied or not np.allclose(fit.mean[0], old)  # two tied axes have different signs, so each stays
    np.testing.assert_allclose(scores(fit), before, rtol=1e-12, atol=1e-12)


def test_no_word_moves_further_than_the_trust_region(computing, tied):
    fit = solver(computing, tied=tied, trust=0.01)._open()
    before = [mean.copy() for mean in fit.mean]
    fit.step(0.5, SEED)
    for mean, old in zip(fit.mean, before, strict=True):
        assert np.linalg.norm(mean - old, axis=1).max() == pytest.approx(0.005)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stop", [0, 1, 4, 6, 15, 24])
def test_a_resumed_run_ends_with_the_same_bits(method, stop, tied):
    with compute("float32", 1) as computing:
        one, other = (solver(computing, method, sample_size=3, tied=tied) for _ in range(2))
        for _ in range(stop):
            one.advance()
        state = copy.deepcopy(one.state())
        finish(one)
        other.restore(state)
        finish(other)
    assert one.state().keys() == other.state().keys()
    assert all(np.array_equal(one.state()[name], other.state()[name], equal_nan=True) for name in one.state())


@pytest.mark.parametrize("method", METHODS)
def test_slowing_down_restarts_the_slice_at_half_the_rate(computing, method, tied):
    slowed = solver(computing, method, tied=tied)
    until_slice(slowed, 2)
    state = copy.deepcopy(slowed.state())
    for _ in range(3):
        slowed.advance()
    slowed.slow_down()
    slow = solver(computing, method, tied=tied)
    slow.restore(state)
    slow.pace = 0.5
    finish(slowed)
    finish(slow)
    assert np.array_equal(slowed.mean, slow.mean)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [0, 2])
def test_a_slice_with_nan_is_reported(computing, method, bad, tied):
    fitted = solver(computing, method, tied=tied)
    fitted.problem.slices[bad].values[0] = np.nan
    with pytest.raises(Diverged) as raised:
        finish(fitted)
    assert raised.value.slice == bad


def test_independent_slices_are_rotated_onto_the_previous_one(computing, tied):
    fitted = solver(computing, "independent", tied=tied)
    finish(fitted)
    for t in range(1, 4):
        shared = [word for word in PRESENT[t] if word in PRESENT[t - 1]]
        here, before = (fitted.mean[0][[rows_at(fitted, s, word) for word in shared]] for s in (t, t - 1))
        for axes in sign_blocks(fitted.signs, DIM):
            rotation, _ = orthogonal_procrustes(here[:, axes], before[:, axes])
            np.testing.assert_allclose(rotation, np.eye(len(axes)), atol=1e-9)


def test_alignment_undoes_any_rotation_of_a_slice(computing, tied):
    plain, turned = (solver(computing, "independent", tied=tied) for _ in range(2))
    # Tied vectors of two axes with different signs can only be reflected.
    rotation = np.diag([-1.0, -1.0]) if tied else np.array([[0.6, -0.8], [0.8, 0.6]])
    for fitted in (plain, turned):
        until_slice(fitted, 1)
        fitted.advance()
    turned._fit.mean = [mean @ rotation for mean in turned._fit.mean]
    for fitted in (plain, turned):
        fitted._close(fitted._fit)
    np.testing.assert_allclose(turned.mean, plain.mean, rtol=1e-9, atol=1e-9)


def test_warm_start_begins_where_the_slice_before_ended(computing, tied):
    fitted = solver(computing, "warm-start", tied=tied)
    fit = until_slice(fitted, 1)
    assert np.array_equal(fit.mean[0][PRESENT[1].index(2)], fitted.mean[0][rows_at(fitted, 0, 2)])


@pytest.mark.parametrize("method", ["warm-start", "independent"])
def test_point_estimates_have_no_variances(computing, method):
    assert solver(computing, method).variance is None


def test_a_falling_elbo_is_divergence_and_the_slice_is_fitted_again_at_half_the_rate(computing, monkeypatch):
    elbos = iter([-0.70, -0.80, *[-0.69] * 20])
    monkeypatch.setattr(SliceFit, "elbo", lambda fit, seed: next(elbos))
    hasty = solver(computing, slices=2)
    curve = train(hasty, "filtering", ["first", "second"], Observer())
    assert hasty.pace == 0.5
    assert [row["elbo"] for row in curve if row["elbo"] is not None] == [-0.70, -0.69, -0.69, -0.69, -0.69]


def test_a_small_fall_is_noise(computing, monkeypatch):
    elbos = iter([-0.70, -0.71, -0.70, -0.71])
    monkeypatch.setattr(SliceFit, "elbo", lambda fit, seed: next(elbos))
    calm = solver(computing, slices=2)
    finish(calm)
    assert calm.pace == 1.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_threads_do_not_change_a_bit(method, precision, tied, monkeypatch):
    monkeypatch.setattr(prepared_slice, "_EFFORT", 50)  # so that even these slices are cut into parts
    found = []
    for threads in (1, 3):
        with compute(precision, threads) as computing:
            fitted = solver(computing, method, sample_size=3, tied=tied)
            finish(fitted)
            found.append(fitted.state())
    assert len(fitted._prepared_here(0, fitted.problem.slices[0]).parts) > 1
    assert all(np.array_equal(found[0][name], found[1][name], equal_nan=True) for name in found[0])


@pytest.mark.parametrize("done", [1, 3])
def test_a_filter_continued_from_its_history_ends_with_the_same_bits(computing, tied, done):
    whole, first = solver(computing, tied=tied), solver(computing, slices=done, tied=tied)
    finish(whole)
    finish(first)
    rest = dense.problem_from(COUNTS[done:], TIMES[done:], tied=tied)
    history, size = FilterHistory(done, first.beliefs, first.pace), 1 if tied else 2
    sink = KnotArrays(whole.problem.knots, size, DIM, computing.dtype, True)
    continued = SequentialSolver(rest, whole.diffusion, whole.options, computing, sink, history)
    finish(continued)
    later = whole.problem.knots.slices >= done
    assert np.array_equal(continued.mean[:, later], whole.mean[:, later])
    assert np.array_equal(continued.beliefs.mean, whole.beliefs.mean)
    assert np.array_equal(continued.beliefs.variance, whole.beliefs.variance)
    assert continued.predictions == whole.predictions[done:]


def test_tied_vectors_have_one_side_and_signs_by_rule(computing):
    fitted = solver(computing, tied=True)
    finish(fitted)
    assert fitted.mean.shape == (1, len(fitted.problem.knots), DIM)
    assert np.array_equal(fitted.signs, signs_by_rule(DIM))
