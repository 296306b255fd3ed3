"""Smoothed trajectories agree with the dense posterior at any time."""

import numpy as np
import pytest
from embeddings.models import MOMENTS, TIMES, WORDS, diffusion_of, knots_in, model_of
from embeddings.unit_noise import law_of_draws
from numpy.testing import assert_allclose
from oracles.trajectories import (
    exact_variances,
    moments_of,
    prior_precision,
    smoothed_covariance,
    smoothed_mean,
)

MODEL = model_of("smoother")


def dense_mean(word, times=(), side="u"):
    slices, mean, _ = knots_in(MODEL, word, side)
    return np.column_stack(
        [smoothed_mean(MODEL.diffusion, slices, mean[:, k], times) for k in range(MODEL.dim)]
    )


def dense_covariance(word, times=(), side="u"):
    slices, _, precision = knots_in(MODEL, word, side)
    return np.stack(
        [smoothed_covariance(MODEL.diffusion, slices, precision[:, k], times) for k in range(MODEL.dim)],
        axis=-1,
    )


def test_the_dense_prior_is_the_tridiagonal_one_of_the_supplement():
    diagonal, beside = diffusion_of().precision()
    expected = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    assert_allclose(prior_precision(diffusion_of(), moments_of(diffusion_of())), expected, rtol=1e-12)


@pytest.mark.parametrize("word", WORDS)
def test_means_at_all_slices_agree_with_dense_algebra(word):
    assert_allclose(MODEL.mean(word), dense_mean(word), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("word", WORDS)
def test_variances_at_all_slices_agree_with_dense_algebra(word):
    expected = np.diagonal(dense_covariance(word)).T
    assert_allclose(MODEL.variance(word), expected, rtol=1e-10)


@pytest.mark.parametrize("word", WORDS)
def test_means_at_any_moment_agree_with_a_prior_with_that_moment_inserted(word):
    for moment in MOMENTS:
        expected = dense_mean(word, [moment])[moments_of(MODEL.diffusion, [moment]).index(moment)]
        assert_allclose(MODEL.mean(word, moment), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("word", WORDS)
def test_variances_at_any_moment_agree_with_a_prior_with_that_moment_inserted(word):
    for moment in MOMENTS:
        n = moments_of(MODEL.diffusion, [moment]).index(moment)
        assert_allclose(MODEL.variance(word, moment), dense_covariance(word, [moment])[n, n], rtol=1e-10)


@pytest.mark.parametrize("word", WORDS)
def test_covariances_between_any_two_moments_agree_with_dense_algebra(word):
    moments = moments_of(MODEL.diffusion, MOMENTS)
    expected = dense_covariance(word, MOMENTS)
    answers = np.array([[MODEL.covariance(word, one, other) for other in moments] for one in moments])
    assert_allclose(answers, expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("word", ["gaps", "middle"])
def test_context_vectors_have_their_own_states(word):
    assert_allclose(MODEL.context_mean(word), dense_mean(word, side="v"), rtol=1e-10, atol=1e-12)
    assert_allclose(MODEL.context_variance(word), np.diagonal(dense_covariance(word, side="v")).T, rtol=1e-10)
    assert_allclose(
        MODEL.covariance(word, TIMES[1], TIMES[6], context=True),
        dense_covariance(word, side="v")[1, 6],
        rtol=1e-10,
    )


@pytest.mark.parametrize("word", WORDS)
def test_draws_have_the_mean_and_covariance_of_the_posterior(word):
    mean, covariance = law_of_draws(MODEL, word, TIMES)
    assert_allclose(mean, dense_mean(word), rtol=1e-10, atol=1e-12)
    assert_allclose(covariance, dense_covariance(word), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("word", WORDS)
def test_draws_at_moments_off_the_grid_have_the_law_of_the_posterior_there(word):
    places = [moments_of(MODEL.diffusion, MOMENTS).index(moment) for moment in MOMENTS]
    mean, covariance = law_of_draws(MODEL, word, np.array(MOMENTS))
    assert_allclose(mean, dense_mean(word, MOMENTS)[places], rtol=1e-10, atol=1e-12)
    assert_allclose(
        covariance, dense_covariance(word, MOMENTS)[np.ix_(places, places)], rtol=1e-9, atol=1e-13
    )


def test_the_state_between_two_slices_is_a_brownian_bridge():
    t, share = 3, 0.3
    time = (1 - share) * TIMES[t] + share * TIMES[t + 1]
    left, right = MODEL.variance("gaps", TIMES[t]), MODEL.variance("gaps", TIMES[t + 1])
    together = MODEL.covariance("gaps", TIMES[t], TIMES[t + 1])
    free = MODEL.diffusion.constant * (time - TIMES[t]) * (TIMES[t + 1] - time) / (TIMES[t + 1] - TIMES[t])
    expected = (1 - share) ** 2 * left + share**2 * right + 2 * share * (1 - share) * together + free
    assert_allclose(MODEL.variance("gaps", time), expected, rtol=1e-10)


@pytest.mark.parametrize(("time", "edge"), [(1830.0, 0), (1900.0, -1)])
def test_outside_the_slices_only_the_variance_grows(time, edge):
    assert_allclose(MODEL.mean("middle", time), MODEL.mean("middle", TIMES[edge]), rtol=1e-12)
    grown = MODEL.variance("middle", time) - MODEL.variance("middle", TIMES[edge])
    assert_allclose(grown, MODEL.diffusion.constant * abs(time - TIMES[edge]), rtol=1e-10)


def test_a_word_without_knots_has_the_prior():
    assert not MODEL.mean("never").any()
    assert_allclose(
        MODEL.variance("never"), np.repeat(MODEL.diffusion.marginal[:, None], MODEL.dim, axis=1), rtol=1e-12
    )


def test_means_at_knots_are_the_fitted_ones():
    slices, mean, _ = knots_in(MODEL, "gaps")
    assert (MODEL.mean("gaps")[slices] == mean).all()


@pytest.mark.parametrize("precision", [1e-12, 1e12])
def test_variances_stay_exact_for_uninformative_and_exact_data(precision):
    posterior = model_of("smoother").fitted.posterior
    posterior.precision_u[:] = precision
    model = model_of("smoother", posterior=posterior)
    slices, _, added = knots_in(model, "gaps")
    expected = exact_variances(model.diffusion, slices, added[:, 0])
    assert_allclose(model.variance("gaps")[:, 0], expected, rtol=1e-11)


def test_slices_seconds_apart_are_answered_exactly():
    times = 1900.0 + np.array([0.0, 3e-8, 6e-8, 0.5, 0.5 + 3e-8, 1.0, 2.0, 3.0])
    model = model_of("smoother", diffusion=diffusion_of(times, constant=1e-3))
    slices, _, precision = knots_in(model, "gaps")
    expected = exact_variances(model.diffusion, slices, precision[:, 0])
    assert_allclose(model.variance("gaps")[:, 0], expected, rtol=1e-9)
