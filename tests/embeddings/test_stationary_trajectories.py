"""Trajectories under the stationary prior, at any time, against dense algebra."""

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, PLACES, TIMES, WORDS, diffusion_of, model_of
from numpy.testing import assert_allclose
from oracles import trajectories as dense

from wordtide.model.prior import StationaryPrior

PRIOR = diffusion_of(constant=0.05, prior_variance=0.4, prior=StationaryPrior)
MODELS = {kind: model_of(kind, diffusion=PRIOR) for kind in KINDS}


def rows(kind, word):
    return MODELS[kind].fitted.posterior.knots.rows_of(WORDS.index(word))


@pytest.mark.parametrize("word", WORDS)
def test_the_smoothers_means_and_variances_are_those_of_dense_algebra(word):
    posterior, moments = MODELS["smoother"].fitted.posterior, dense.moments_of(PRIOR, MOMENTS)
    for k in range(posterior.dim):
        mean = dense.smoothed_mean(PRIOR, PLACES[word], posterior.mean_u[rows("smoother", word), k], MOMENTS)
        added = posterior.precision_u[rows("smoother", word), k]
        covariance = dense.smoothed_covariance(PRIOR, PLACES[word], added, MOMENTS)
        assert_allclose(MODELS["smoother"].mean(word, moments)[:, k], mean, rtol=1e-6, atol=1e-9)
        assert_allclose(MODELS["smoother"].variance(word, moments)[:, k], np.diag(covariance), rtol=1e-6)
        first, last = moments.index(1850.5), moments.index(1865.0)
        assert_allclose(
            MODELS["smoother"].covariance(word, 1850.5, 1865.0)[k], covariance[first, last], rtol=1e-6
        )


@pytest.mark.parametrize("word", WORDS)
def test_the_filters_means_and_variances_are_those_of_a_loop(word):
    posterior = MODELS["filter"].fitted.posterior
    moments = [moment for moment in dense.moments_of(PRIOR, MOMENTS) if moment >= TIMES[0]]
    finer = PRIOR.on(np.array(moments))  # further slices without data change nothing
    places = [moments.index(TIMES[t]) for t in PLACES[word]]
    for k in range(posterior.dim):
        states = (array[rows("filter", word), k] for array in (posterior.mean_u, posterior.variance_u))
        mean, variance = dense.filtered(finer, places, *states)
        assert_allclose(MODELS["filter"].mean(word, moments)[:, k], mean, rtol=1e-12, atol=1e-14)
        assert_allclose(MODELS["filter"].variance(word, moments)[:, k], variance, rtol=1e-12)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
@pytest.mark.parametrize("time", [1700.0, 1850.25, 1857.0, 2100.0])
def test_a_word_that_never_occurs_has_the_prior_at_all_times(kind, time):
    assert not MODELS[kind].mean("never", time).any()
    assert_allclose(MODELS[kind].variance("never", time), 0.4, rtol=1e-12)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_far_from_all_data_a_word_is_forgotten(kind):
    assert_allclose(MODELS[kind].mean("always", 9000.0), 0.0, atol=1e-12)
    assert_allclose(MODELS[kind].variance("always", 9000.0), 0.4, rtol=1e-12)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_draws_have_the_covariance_of_the_posterior(kind):
    posterior, where = MODELS[kind].fitted.posterior, rows(kind, "gaps")
    if kind == "smoother":
        expected = dense.smoothed_covariance(PRIOR, PLACES["gaps"], posterior.precision_u[where, 0])
    else:
        states = posterior.mean_u[where, 0], posterior.variance_u[where, 0]
        expected = dense.backward_sampled(PRIOR, PLACES["gaps"], *states)[1]
    drawn = MODELS[kind].sample("gaps", 40_000)[:, :, 0]
    assert_allclose(np.cov(drawn.T), expected, rtol=0.05, atol=0.02 * expected.max())


def test_a_model_folder_keeps_its_prior(tmp_path):
    for kind, model in MODELS.items():
        model.save(tmp_path / kind)
        loaded = type(model).load(tmp_path / kind)
        assert (loaded.diffusion.name, loaded.diffusion.prior_variance) == ("stationary", 0.4)
        assert_allclose(loaded.mean("gaps", MOMENTS), model.mean("gaps", MOMENTS), rtol=0)
