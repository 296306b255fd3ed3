"""Filtered trajectories are propagated by Eq. 13, across any number of slices between two knots."""

import numpy as np
import pytest
from embeddings.models import TIMES, WORDS, diffusion_of, knots_in, model_of
from embeddings.unit_noise import law_of_draws
from numpy.testing import assert_allclose
from oracles.trajectories import backward_sampled, filtered

from wordtide.errors import SettingsError

MODEL = model_of("filter")


def loop(word, side="u"):
    slices, mean, variance = knots_in(MODEL, word, side)
    columns = [filtered(MODEL.diffusion, slices, mean[:, k], variance[:, k]) for k in range(MODEL.dim)]
    return np.array([m for m, _ in columns]).T, np.array([v for _, v in columns]).T


@pytest.mark.parametrize("word", WORDS)
def test_means_agree_with_a_loop_over_slices(word):
    assert_allclose(MODEL.mean(word), loop(word)[0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("word", WORDS)
def test_variances_agree_with_a_loop_over_slices(word):
    assert_allclose(MODEL.variance(word), loop(word)[1], rtol=1e-12)


def test_context_vectors_have_their_own_states():
    assert_allclose(MODEL.context_mean("gaps"), loop("gaps", "v")[0], rtol=1e-12)
    assert_allclose(MODEL.context_variance("gaps"), loop("gaps", "v")[1], rtol=1e-12)


@pytest.mark.parametrize("start", range(20))
def test_a_gap_of_many_slices_is_a_chain_of_single_steps(start):
    diffusion = diffusion_of(np.cumsum(np.random.default_rng(3).gamma(2.0, size=20)))
    times = diffusion.times
    mean, variance = np.array([0.7]), np.array([0.4])
    for stop in range(start, 20):
        passed = diffusion.transition(times[[start]], times[[stop]]).predict(np.array([0.7]), np.array([0.4]))
        assert_allclose(passed, (mean, variance), rtol=1e-12)
        if stop < 19:
            mean, variance = diffusion.transition(times[[stop]], times[[stop + 1]]).predict(mean, variance)


@pytest.mark.parametrize("word", ["gaps", "once", "never"])
@pytest.mark.parametrize(("time", "t"), [(1852.5, 2), (1861.9, 5), (1900.0, 7)])
def test_after_a_slice_the_mean_stays_and_the_variance_grows(word, time, t):
    means, variances = loop(word)
    assert_allclose(MODEL.mean(word, time), means[t], rtol=1e-12, atol=1e-14)
    assert_allclose(
        MODEL.variance(word, time), variances[t] + MODEL.diffusion.constant * (time - TIMES[t]), rtol=1e-12
    )


@pytest.mark.parametrize("word", ["always", "never"])
def test_before_the_first_slice_there_is_the_prior(word):
    assert not MODEL.mean(word, 1800.0).any()
    assert (MODEL.variance(word, 1800.0) == MODEL.diffusion.prior_variance).all()


def test_later_slices_do_not_change_earlier_answers():
    shorter = model_of("filter", {"always": [0, 1, 2, 3]}, diffusion_of(TIMES[:4]))
    longer = model_of("filter", {"always": [0, 1, 2, 3, 4, 5, 6, 7]})
    for name in ("mean_u", "variance_u"):
        getattr(longer.fitted.posterior, name)[:4] = getattr(shorter.fitted.posterior, name)
    assert (longer.mean("always")[:4] == shorter.mean("always")).all()
    assert (longer.variance("always")[:4] == shorter.variance("always")).all()


def test_covariances_of_two_times_need_smoothing():
    with pytest.raises(SettingsError, match="Fit the model by smoothing"):
        MODEL.covariance("gaps", TIMES[0], TIMES[1])


def test_the_covariance_at_one_time_is_the_variance():
    assert (MODEL.covariance("gaps", TIMES[2], TIMES[2]) == MODEL.variance("gaps", TIMES[2])).all()


def backward_law(model, word):
    slices, mean, variance = knots_in(model, word)
    laws = [backward_sampled(model.diffusion, slices, mean[:, k], variance[:, k]) for k in range(model.dim)]
    return np.stack([center for center, _ in laws], axis=-1), np.stack(
        [covariance for _, covariance in laws], axis=-1
    )


@pytest.mark.parametrize("word", WORDS)
def test_draws_have_the_law_of_forward_filtering_and_backward_sampling(word):
    mean, covariance = law_of_draws(MODEL, word, TIMES)
    expected_mean, expected_covariance = backward_law(MODEL, word)
    assert_allclose(mean, expected_mean, rtol=1e-10, atol=1e-13)
    assert_allclose(covariance, expected_covariance, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("word", WORDS)
def test_the_law_of_a_draw_does_not_depend_on_which_other_times_are_asked_for(word):
    asked = np.array([TIMES[1], 1853.0, 1857.0, TIMES[5]])
    mean, covariance = law_of_draws(MODEL, word, asked)
    everything = np.sort(np.concatenate([TIMES, asked[1:3], [1880.0]]))
    all_mean, all_covariance = law_of_draws(MODEL, word, everything)
    places = np.searchsorted(everything, asked)
    assert_allclose(mean, all_mean[places], rtol=1e-10, atol=1e-13)
    assert_allclose(covariance, all_covariance[np.ix_(places, places)], rtol=1e-10, atol=1e-13)


def test_a_draw_at_a_slice_agrees_with_and_without_moments_between():
    between = np.sort(np.concatenate([TIMES, [1852.0, 1853.0, 1865.0]]))
    mean, covariance = law_of_draws(MODEL, "gaps", between)
    places = np.searchsorted(between, TIMES)
    expected_mean, expected_covariance = backward_law(MODEL, "gaps")
    assert_allclose(mean[places], expected_mean, rtol=1e-10, atol=1e-13)
    assert_allclose(covariance[np.ix_(places, places)], expected_covariance, rtol=1e-10, atol=1e-13)


def test_a_filtered_trajectory_cannot_be_drawn_before_it_begins():
    with pytest.raises(SettingsError, match="begins with the first slice"):
        MODEL.sample("gaps", 2, times=[1800.0, 1860.0])
