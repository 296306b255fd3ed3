"""Algorithm 2: gradients against derivatives, minibatches, phases, and resumed runs."""

import math

import numpy as np
import pytest
from monte_carlo_elbo import expected_log_likelihood
from oracles import model as dense

import wordtide.inference.paper.smoothing as module
from wordtide.errors import SettingsError
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.paper.smoothing import AdamSmoother, SmootherOptions
from wordtide.inference.training import Diverged
from wordtide.model.chain import filter_kl, smoothing_kl
from wordtide.model.likelihood import ActiveSlice, GaussianVectors
from wordtide.model.prior import ProductPrior

SIZE, DIM = 6, 2
TIMES = np.array([1800.0, 1801.0, 1804.0])
PRESENT = [[0, 1, 2, 5], [0, 2, 3], [0, 1, 2, 3]]
FAST = {"minibatch_words": SIZE, "minibatch_rate": 0.05, "full_rate": 0.005}  # for runs that must converge


def counts_of(t):
    return dense.random_counts(np.random.default_rng(t), SIZE, PRESENT[t])


def problem(slices=3, texts=1):
    return dense.problem_from([texts * counts_of(t) for t in range(slices)], TIMES[:slices])


def solver(slices=3, seed=0, texts=1, **settings):
    chosen = {"minibatch_words": 3, "minibatch_steps": 6, "full_steps": 6, "dtype": np.float64} | settings
    prior = ProductPrior(TIMES[:slices], 0.05, 1.3)
    return AdamSmoother(problem(slices, texts), prior, SmootherOptions(DIM, seed, **chosen))


def disturbed(slices=3):
    """A smoother away from its start, and noise for one sample of all trajectories."""
    smoother = solver(slices)
    rng = np.random.default_rng(5)
    smoother.rho[:] = rng.normal(size=smoother.rho.shape)
    smoother.nu *= rng.uniform(0.5, 2.0, size=smoother.nu.shape)
    smoother.omega[:] = rng.normal(size=smoother.omega.shape)
    return smoother, rng.normal(size=smoother.rho.shape)


def finish(solver):
    return list(iter(solver.advance, None))


def results(solver):
    return np.concatenate(solver.moments())


def dense_elbo(mu, nu, omega, noise, words, contexts, scale):
    """The sampled objective of words and contexts, (T, n, d), on dense matrices, without constants."""
    pi = dense.prior_precision(TIMES[: len(mu)], 0.05, 1.3)
    samples = np.zeros(mu.shape, dtype=np.result_type(mu, nu, omega))
    objective = -np.log(nu).sum()
    for i in range(mu.shape[1]):
        for k in range(mu.shape[2]):
            u = mu[:, i, k] + np.linalg.solve(dense.bidiagonal(nu[:, i, k], omega[:, i, k]), noise[:, i, k])
            objective -= 0.5 * u @ pi @ u
            samples[:, i, k] = u
    for t in range(len(mu)):
        counts, negatives = counts_of(t), dense.negative_counts(counts_of(t))
        seen = (part[np.ix_(words, contexts)] for part in (counts, negatives))
        fit = dense.log_likelihood(*seen, samples[t, : len(words)], samples[t, len(words) :])
        objective += scale * fit
    return objective


def dense_gradient(by, smoother, noise, words, contexts, scale):
    """Derivatives of the dense objective by mu, rho, nu or omega, (T, n, d)."""
    rows = [*words, *(SIZE + j for j in contexts)]
    precision = dense.prior_precision(TIMES[: len(smoother.rho)], 0.05, 1.3)
    basis = np.linalg.inv(np.linalg.cholesky(precision).T)  # A, upper triangular
    rho, nu, omega = (part[:, rows] for part in (smoother.rho, smoother.nu, smoother.omega))
    at = {"mu": np.einsum("st,tnk->snk", basis, rho), "nu": nu, "omega": omega}

    def objective(moved):
        if by == "rho":
            changed = at | {"mu": np.einsum("st,tnk->snk", basis, moved)}
        else:
            changed = at | {by: moved}
        return dense_elbo(**changed, noise=noise, words=words, contexts=contexts, scale=scale)

    return dense.derivatives(objective, rho if by == "rho" else at[by])


@pytest.mark.parametrize("by", ["mu", "rho", "nu", "omega"])
@pytest.mark.parametrize("slices", [1, 3])
def test_gradients_are_derivatives_of_the_dense_objective(by, slices):
    smoother, noise = disturbed(slices)
    everyone = list(range(SIZE))
    expected = dense_gradient(by, smoother, noise, everyone, everyone, scale=1.0)
    np.testing.assert_allclose(getattr(smoother.estimate(None, noise), by), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("by", ["mu", "rho", "nu", "omega"])
def test_minibatch_gradients_are_derivatives_of_the_scaled_dense_objective(by):
    smoother, noise = disturbed()
    words, contexts = [1, 3, 4], [0, 3, 5]
    rows = np.array([*words, *(SIZE + j for j in contexts)])
    expected = dense_gradient(by, smoother, noise[:, :6], words, contexts, scale=SIZE / 3)
    np.testing.assert_allclose(
        getattr(smoother.estimate(rows, noise[:, :6]), by), expected, rtol=1e-8, atol=1e-8
    )


def test_the_fit_starts_at_the_prior():
    smoother = solver()
    marginal = smoother.diffusion.marginal[smoother.problem.knots.slices][:, None]
    assert (results(smoother)[:2] == 0.0).all()
    np.testing.assert_allclose(
        results(smoother)[2:], np.broadcast_to(marginal, results(smoother)[2:].shape), rtol=1e-6
    )


def test_results_are_the_dense_moments_at_the_knots(monkeypatch):
    monkeypatch.setattr(module, "WORDS_AT_ONCE", 4)
    smoother, _ = disturbed()
    knots = smoother.problem.knots
    for side, (mean, variance) in enumerate(zip(*smoother.moments(), strict=True)):
        for row, (word, t) in enumerate(zip(knots.words, knots.slices, strict=True)):
            for k in range(DIM):
                b = dense.bidiagonal(
                    smoother.nu[:, side * SIZE + word, k], smoother.omega[:, side * SIZE + word, k]
                )
                assert variance[row, k] == pytest.approx(np.linalg.inv(b.T @ b)[t, t], rel=1e-6)
                assert mean[row, k] == pytest.approx(float(smoother.mu[t, side * SIZE + word, k]), rel=1e-6)


def test_a_minibatch_holds_distinct_words_and_distinct_contexts():
    rows = solver().draw(np.random.default_rng(0))
    assert len(set(rows)) == len(rows) == 6
    assert (rows[:3] < SIZE).all()
    assert (rows[3:] >= SIZE).all()


def test_minibatches_are_drawn_from_the_whole_vocabulary():
    smoother, generator = solver(), np.random.default_rng(0)
    drawn = {int(row) for _ in range(40) for row in smoother.draw(generator)}
    assert drawn == set(range(2 * SIZE))


def test_a_minibatch_larger_than_the_vocabulary_is_the_vocabulary():
    smoother = solver(minibatch_words=1000)
    assert smoother.draw(np.random.default_rng()) is None
    assert smoother.minibatch_words == SIZE


def test_words_that_are_not_drawn_do_not_move():
    smoother = solver(minibatch_words=1)
    before = [part.copy() for part in (smoother.rho, smoother.nu, smoother.omega)]
    smoother.advance()
    for part, old in zip((smoother.rho, smoother.nu, smoother.omega), before, strict=True):
        assert (part != old).any(axis=(0, 2)).sum() == 2  # one word and one context


def test_the_first_step_moves_means_and_omega_by_the_rate_and_nu_by_mirror_ascent():
    smoother = solver(minibatch_words=SIZE, minibatch_rate=0.01, epsilon=1e-12)
    nu, omega = smoother.nu.copy(), smoother.omega.copy()
    smoother.advance()  # Adam's first step is the rate times the sign of the gradient
    np.testing.assert_allclose(np.abs(smoother.rho), 0.01, rtol=1e-5)
    np.testing.assert_allclose(np.abs(smoother.omega - omega), 0.01, rtol=1e-5)
    np.testing.assert_allclose(np.abs(smoother.nu / nu - nu / smoother.nu), 0.01, rtol=1e-5)


def test_the_rate_drops_when_full_batches_begin():
    reports = finish(solver(minibatch_rate=0.02, full_rate=0.003))
    assert [report.rate for report in reports] == [0.02] * 6 + [0.003] * 6
    assert {report.slice for report in reports} == {None}


def test_full_batches_begin_with_fresh_moments():
    smoother = solver(full_rate=0.003)
    for _ in range(6):
        smoother.advance()
    before = smoother.rho.copy()
    smoother.advance()  # again a first step of Adam: the rate times the sign of the gradient
    np.testing.assert_allclose(np.abs(smoother.rho - before), 0.003, rtol=1e-5)


def test_reports_count_every_step_and_measure_every_fiftieth_and_the_last():
    reports = finish(solver(minibatch_steps=70, full_steps=40))
    assert [report.step for report in reports] == list(range(1, 111))
    assert [report.step for report in reports if not math.isnan(report.elbo)] == [50, 100, 110]


def test_elbo_of_a_point_is_its_log_likelihood_minus_the_exact_divergence(monkeypatch):
    monkeypatch.setattr(module, "WORDS_AT_ONCE", 4)
    smoother, _ = disturbed()
    smoother.nu[:] = 1e7  # so precise that every sample is the mean
    smoother.omega[:] = 0.0
    total = pairs = 0.0
    for t in range(3):
        counts = counts_of(t)
        negatives = dense.negative_counts(counts)
        total += dense.log_likelihood(counts, negatives, smoother.mu[t, :SIZE], smoother.mu[t, SIZE:])
        pairs += 2 * counts.sum()
    divergence = smoothing_kl(smoother.mu, smoother.nu, smoother.omega, smoother.diffusion)
    assert smoother.elbo() == pytest.approx((total - divergence) / pairs, rel=1e-7)


@pytest.mark.parametrize("stop", [0, 4, 6, 9, 12])
def test_a_resumed_run_ends_with_the_same_bits(stop):
    one, other = solver(dtype=np.float32), solver(dtype=np.float32)
    for _ in range(stop):
        one.advance()
    state = one.state()
    finish(one)
    other.restore(state)
    finish(other)
    assert all(np.array_equal(one.state()[name], other.state()[name]) for name in one.state())


def test_a_state_does_not_change_while_its_solver_continues():
    smoother = solver()
    state = smoother.state()
    copies = {name: array.copy() for name, array in state.items()}
    finish(smoother)
    assert all(np.array_equal(state[name], copies[name]) for name in copies)


def test_the_state_of_another_fit_is_refused():
    with pytest.raises(SettingsError, match="another fit"):
        solver(slices=2).restore(solver(slices=3).state())


def test_the_state_of_a_fit_in_another_precision_is_refused():
    with pytest.raises(SettingsError, match="another fit"):
        solver().restore(solver(dtype=np.float32).state())


def test_another_seed_gives_another_result():
    one, other = solver(seed=0), solver(seed=1)
    finish(one)
    finish(other)
    assert not np.array_equal(results(one), results(other))


@pytest.mark.parametrize("slice", [0, 2])
def test_overflow_is_reported(slice):
    smoother = solver(minibatch_words=SIZE)
    smoother.nu[slice, 4, 1] = 0.0
    with pytest.raises(Diverged, match="smaller learning rate"):
        smoother.advance()


def test_a_slowed_run_is_a_run_at_half_the_rate_from_the_last_good_state():
    slowed, slow = solver(), solver(minibatch_rate=0.005, full_rate=0.0005)
    for _ in range(5):
        slowed.advance()
    slowed.slow_down()
    finish(slowed)
    finish(slow)
    assert np.array_equal(results(slowed), results(slow))


def test_slowing_down_loses_at_most_a_hundred_steps():
    smoother = solver(minibatch_steps=150)
    for _ in range(120):
        smoother.advance()
    smoother.slow_down()
    assert smoother.advance().step == 101


def test_a_slowed_run_keeps_its_rate_when_resumed():
    slowed, other = solver(), solver()
    slowed.slow_down()
    other.restore(slowed.state())
    assert other.advance().rate == 0.005


def test_after_its_last_occurrence_a_word_follows_the_prior():
    smoother = solver(texts=20, minibatch_steps=600, full_steps=500, **FAST)
    finish(smoother)
    gain = smoother.diffusion.gain[:, None]
    gone = smoother.mu[:, [5, SIZE + 5]].reshape(len(gain) + 1, -1)  # word 5 occurs in the first slice only
    noise_deviation = np.sqrt(smoother.diffusion.noise)[:, None]
    assert np.abs(gone[0]).max() > 0.3  # the data moved it there
    assert (np.abs(gone[1:] - gain * gone[:-1]) < 0.2 * noise_deviation).all()


def elbo_on_one_slice(solver):
    """ELBO per pair of a solver's result, by many samples."""
    u, v = map(GaussianVectors, *solver.moments())
    part = solver.problem.slices[0]
    active = ActiveSlice.of(part, np.float64)
    fit, _ = expected_log_likelihood(active, u, v, 1000, np.random.default_rng(0))
    for side in (u, v):
        fit -= filter_kl(side.mean, side.variance, np.zeros_like(side.mean), np.full_like(side.mean, 1.3))
    return fit / part.pairs


def test_on_one_slice_filter_and_smoother_reach_the_same_elbo():
    smoother = solver(slices=1, texts=20, minibatch_steps=900, full_steps=300, **FAST)
    options = FilterOptions(DIM, seed=3, steps_per_slice=1000)
    filter = AdamFilter(smoother.problem, smoother.diffusion, options)
    start = elbo_on_one_slice(smoother)
    finish(smoother)
    finish(filter)
    assert elbo_on_one_slice(smoother) > start + 0.3
    assert elbo_on_one_slice(smoother) == pytest.approx(elbo_on_one_slice(filter), abs=0.01)


@pytest.mark.parametrize("wrong", [{"minibatch_words": 0}, {"full_steps": -1}, {"full_rate": 0.0}])
def test_settings_that_fit_nothing_are_refused(wrong):
    with pytest.raises(SettingsError, match="above 0"):
        solver(**wrong)
