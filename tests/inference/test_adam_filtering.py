"""Algorithm 1: priors by Eq. 13, gradients against derivatives, and resumed and slowed runs."""

import math

import numpy as np
import pytest
from oracles import model as dense

from wordtide.errors import SettingsError
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.paper.gradients import noise_generator
from wordtide.inference.training import Diverged
from wordtide.model.prior import ProductPrior

SIZE, DIM = 6, 2
TIMES = np.array([1800.0, 1801.0, 1804.0, 1805.0])
#: Word 1 is absent twice in a row, words 3 and 4 appear late, word 5 never comes back.
PRESENT = [[0, 1, 2, 5], [0, 2, 3], [0, 2, 3, 4], [0, 1, 2, 3]]
DIFFUSION = ProductPrior(TIMES, 0.05, 1.3)


def counts_of(t):
    return dense.random_counts(np.random.default_rng(t), SIZE, PRESENT[t])


def problem(slices=4):
    return dense.problem_from([counts_of(t) for t in range(slices)], TIMES[:slices])


def solver(slices=4, seed=0, steps=5, **settings):
    diffusion = ProductPrior(TIMES[:slices], 0.05, 1.3)
    options = FilterOptions(DIM, seed, steps_per_slice=steps, **({"dtype": np.float64} | settings))
    return AdamFilter(problem(slices), diffusion, options)


def finish(solver):
    return list(iter(solver.advance, None))


def results(solver):
    return np.concatenate(solver.moments())


def printed_prior(mean, variance, t):
    """Eq. 13 from slice t to slice t + 1, as printed."""
    return dense.filter_prior(mean, variance, TIMES[t + 1] - TIMES[t], 0.05, 1.3)


def test_first_slice_starts_from_mean_zero_and_the_prior_variance():
    mean, variance = solver().prior()
    assert (mean == 0.0).all()
    np.testing.assert_allclose(variance, 1.3, rtol=1e-14)


@pytest.mark.parametrize("t", [1, 2, 3])
def test_prior_of_the_next_slice_is_the_printed_equation(t):
    filter = solver()
    for _ in range(5 * t):
        filter.advance()
    stayed = [word for word in PRESENT[t] if word in PRESENT[t - 1]]
    rows = filter.problem.knots.by_slice[t - 1][[PRESENT[t - 1].index(word) for word in stayed]]
    expected = printed_prior(*filter.moments()[:, :, rows], t - 1)
    for found, wanted in zip(filter.prior(), expected, strict=True):
        np.testing.assert_allclose(found[:, [PRESENT[t].index(word) for word in stayed]], wanted, rtol=1e-12)


def test_a_gap_of_slices_is_a_chain_of_single_steps():
    filter = solver()
    for _ in range(15):
        filter.advance()
    row = filter.problem.knots.starts[1]  # word 1 was last seen in slice 0, and comes back in slice 3
    mean, variance = filter.moments()[:, :, row]
    for t in range(3):
        mean, variance = printed_prior(mean, variance, t)
    found_mean, found_variance = filter.prior()
    np.testing.assert_allclose(found_mean[:, 1], mean, rtol=1e-12)
    np.testing.assert_allclose(found_variance[:, 1], variance, rtol=1e-12)


def test_a_new_word_has_the_propagated_prior_of_the_first_slice():
    filter = solver()
    for _ in range(10):
        filter.advance()
    mean, variance = 0.0, 1.3
    for t in range(2):
        mean, variance = printed_prior(mean, variance, t)
    found_mean, found_variance = filter.prior()
    np.testing.assert_allclose(found_mean[:, 3], mean, atol=0.0)
    np.testing.assert_allclose(found_variance[:, 3], variance, rtol=1e-12)


def test_a_slice_starts_at_its_prior():
    filter = solver()
    for _ in range(5):
        filter.advance()
    mean, variance = filter.prior()
    np.testing.assert_allclose(filter.parameters[0], mean, rtol=1e-14)
    np.testing.assert_allclose(np.exp(filter.parameters[1]) ** 2, variance, rtol=1e-12)


def elbo_of_sample(filter, t, step, parameters):
    """L_t with the noise of a step, on dense matrices over the whole vocabulary."""
    mean, log_deviation = parameters
    noise = noise_generator(filter.options.seed, t, step).standard_normal(mean.shape)
    sample = np.zeros((2, SIZE, DIM), dtype=parameters.dtype)
    sample[:, PRESENT[t]] = mean + np.exp(log_deviation) * noise
    counts = counts_of(t)
    fit = dense.log_likelihood(counts, dense.negative_counts(counts), *sample)
    prior_mean, prior_variance = filter.prior()
    entropy = (log_deviation + 0.5 * np.log(2 * np.pi * np.e)).sum()
    distance = (mean - prior_mean) ** 2 + np.exp(2 * log_deviation)
    log_prior = -0.5 * (distance / prior_variance + np.log(2 * np.pi * prior_variance)).sum()
    return fit + log_prior + entropy


@pytest.mark.parametrize("steps_before", [0, 3, 8])
def test_gradient_is_the_derivative_of_the_dense_objective_with_the_same_noise(steps_before):
    filter = solver()
    for _ in range(steps_before):
        filter.advance()
    t, step = divmod(steps_before, 5)
    expected = dense.derivatives(lambda moved: elbo_of_sample(filter, t, step, moved), filter.parameters)
    np.testing.assert_allclose(filter.estimate_gradient()[0], expected, rtol=1e-9, atol=1e-9)


def test_reported_elbo_is_the_dense_objective_per_pair():
    filter = solver(slices=1, steps=50)
    for _ in range(49):
        filter.advance()
    counts = counts_of(0)
    expected = elbo_of_sample(filter, 0, 49, filter.parameters) / (2 * counts.sum())
    assert filter.advance().elbo == pytest.approx(expected, rel=1e-10)


def test_reports_count_every_step_and_measure_every_fiftieth_and_the_last():
    filter = solver(slices=2, steps=60)
    reports = finish(filter)
    assert [report.step for report in reports] == list(range(1, filter.steps + 1))
    assert [report.slice for report in reports] == [0] * 60 + [1] * 60
    assert [report.step for report in reports if not math.isnan(report.elbo)] == [50, 60, 110, 120]


def test_advance_after_the_end_changes_nothing():
    filter = solver()
    finish(filter)
    before = results(filter).copy()
    assert filter.advance() is None
    assert np.array_equal(results(filter), before)


def test_results_are_single_precision_at_every_knot():
    filter = solver(dtype=np.float32)
    finish(filter)
    assert results(filter).dtype == np.float32
    assert results(filter).shape == (4, sum(map(len, PRESENT)), DIM)
    assert (results(filter)[2:] > 0).all()


def test_results_of_a_slice_are_in_the_rows_of_its_knots():
    filter = solver(slices=1)
    last = None
    while filter.state()["place"][0] == 0:
        last = filter.parameters
        filter.advance()
    mean_u, _, _, variance_v = results(filter)[:, filter.problem.knots.by_slice[0]]
    np.testing.assert_allclose(mean_u, last[0, 0], rtol=1e-12)
    np.testing.assert_allclose(variance_v, np.exp(2 * last[1, 1]), rtol=1e-12)


def test_same_seed_gives_the_same_bits():
    one, other = solver(dtype=np.float32), solver(dtype=np.float32)
    finish(one)
    finish(other)
    assert np.array_equal(results(one), results(other))


def test_another_seed_gives_another_result():
    one, other = solver(seed=0), solver(seed=1)
    finish(one)
    finish(other)
    assert not np.array_equal(results(one), results(other))


@pytest.mark.parametrize("stop", [0, 3, 5, 13, 20])
def test_a_resumed_run_ends_with_the_same_bits(stop):
    one, other = solver(dtype=np.float32), solver(dtype=np.float32)
    for _ in range(stop):
        one.advance()
    state = one.state()
    finish(one)
    other.restore(state)
    finish(other)
    assert np.array_equal(results(one), results(other))


def test_a_state_does_not_change_while_its_solver_continues():
    filter = solver()
    for _ in range(3):
        filter.advance()
    state = filter.state()
    copies = {name: array.copy() for name, array in state.items()}
    finish(filter)
    assert all(np.array_equal(state[name], copies[name]) for name in copies)


def test_the_state_of_another_fit_is_refused():
    with pytest.raises(SettingsError, match="another fit"):
        solver(slices=3).restore(solver(slices=4).state())


def test_overflow_is_reported_with_its_slice():
    filter = solver(dtype=np.float32)
    for _ in range(7):
        filter.advance()
    filter.parameters[1] = 100.0  # a standard deviation beyond single precision
    with pytest.raises(Diverged, match="slice 1") as caught:
        filter.advance()
    assert caught.value.slice == 1


def test_a_slowed_run_is_a_run_at_half_the_rate_from_the_start_of_the_slice():
    slowed, slow = solver(slices=1, rate=0.02), solver(slices=1, rate=0.01)
    for _ in range(3):
        slowed.advance()
    slowed.slow_down()
    finish(slowed)
    finish(slow)
    assert np.array_equal(results(slowed), results(slow))


def test_a_slowed_run_keeps_its_rate_when_resumed():
    slowed, other = solver(rate=0.02), solver(rate=0.02)
    slowed.slow_down()
    other.restore(slowed.state())
    assert other.advance().rate == 0.01


def test_with_almost_no_data_the_prior_remains():
    tiny = dense.problem_from([1e-6 * counts_of(0)], TIMES[:1])
    options = FilterOptions(DIM, seed=0, steps_per_slice=300)
    filter = AdamFilter(tiny, ProductPrior(TIMES[:1], 0.05, 1.3), options)
    finish(filter)
    assert np.abs(results(filter)[:2]).max() < 1e-3
    assert np.abs(results(filter)[2:] - 1.3).max() < 1e-3


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"rate": 0.0}, {"rate": math.nan}])
def test_settings_that_fit_nothing_are_refused(wrong):
    with pytest.raises(SettingsError, match="above 0"):
        solver(**wrong)
