"""The prediction of an unseen slice by each method."""

import numpy as np
import pytest
from embeddings.models import PLACES, TIMES, WORDS, diffusion_of, knots_in, model_of, posterior_of
from oracles.trajectories import filtered, moments_of, smoothed_covariance, smoothed_mean

import wordtide
from wordtide.embeddings.posterior import Posterior
from wordtide.errors import SettingsError
from wordtide.evaluation.scores import (
    predict_by_bridge,
    predict_by_diffusion,
    predict_by_interpolation,
    predict_by_previous_mode,
    predict_by_previous_slice,
    predict_by_static_vectors,
    without_slices,
)

ALL = np.arange(len(WORDS))
STEAM = "Steam power drives the mill by the river. The old mill grinds corn by steam and by the river. "
LAW = "The king made a law for the mill. The law of the river is old and the king drives a hard bargain. "


def rows_of(model, word, side="u"):
    """Slice to fitted mean of a word's knots."""
    slices, mean, _ = knots_in(model, word, side)
    return dict(zip(slices.tolist(), mean, strict=True))


def test_point_estimates_are_those_of_the_previous_slice():
    model = model_of("point")
    expected = predict_by_previous_slice(model, TIMES, 5, ALL)
    assert np.array_equal(expected.u[WORDS.index("always")], rows_of(model, "always")[4])


def test_a_word_that_is_absent_before_has_its_latest_vector():
    model = model_of("point")
    expected = predict_by_previous_slice(model, TIMES, 3, ALL)
    assert np.array_equal(expected.v[WORDS.index("gaps")], rows_of(model, "gaps", "v")[0])


def test_a_word_that_was_not_seen_yet_has_the_zero_vector():
    expected = predict_by_previous_slice(model_of("point"), TIMES, 6, ALL)
    assert not expected.u[WORDS.index("late")].any()


def test_the_predicted_slice_is_not_used():
    expected = predict_by_previous_slice(model_of("point"), TIMES, 4, ALL)
    assert not expected.u[WORDS.index("once")].any()


def test_point_estimates_have_no_variance():
    assert predict_by_previous_slice(model_of("point"), TIMES, 4, ALL).u_variance is None


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("t", [1, 4, 7])
def test_the_filter_predicts_by_its_mode_at_the_previous_slice(word, t):
    model = model_of("filter")
    found = predict_by_previous_mode(model, TIMES, t, ALL).u[WORDS.index(word), 1]
    slices, mean, variance = knots_in(model, word)
    assert found == pytest.approx(
        filtered(diffusion_of(), slices, mean[:, 1], variance[:, 1])[0][t - 1], rel=1e-6
    )


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("t", [1, 4, 7])
def test_the_filters_posterior_is_propagated_by_one_step_of_diffusion(word, t):
    model = model_of("filter")
    expected = predict_by_diffusion(model, TIMES, t, ALL)
    assert expected.v_variance is not None
    slices, mean, variance = knots_in(model, word, "v")
    past = slices < t
    center, spread = filtered(diffusion_of(), slices[past], mean[past, 2], variance[past, 2])
    place = WORDS.index(word)
    assert (expected.v[place, 2], expected.v_variance[place, 2]) == pytest.approx(
        (center[t], spread[t]), rel=1e-6
    )


def test_only_a_filtered_model_is_propagated():
    with pytest.raises(SettingsError, match="not by filtering"):
        predict_by_diffusion(model_of("smoother"), TIMES, 2, ALL)


SIGNS = np.array([1.0, -1.0, 1.0], dtype=np.float32)
#: For each kind of model its predictors.
PREDICTORS_OF_KINDS = [
    ("point", predict_by_previous_slice),
    ("point", predict_by_static_vectors),
    ("filter", predict_by_previous_mode),
    ("filter", predict_by_diffusion),
    ("smoother", predict_by_interpolation),
    ("smoother", predict_by_bridge),
]


@pytest.mark.parametrize(("kind", "predictor"), PREDICTORS_OF_KINDS)
def test_with_tied_contexts_a_context_is_predicted_as_its_word_times_the_signs(kind, predictor):
    whole = posterior_of(kind)
    spreads = {"variance_u": whole.variance_u, "precision_u": whole.precision_u}
    tied = model_of(kind, posterior=Posterior(kind, whole.knots, whole.mean_u, signs=SIGNS, **spreads))
    separate = model_of(kind, posterior=whole)
    times = WITH_TWO_MORE if kind == "smoother" else TIMES
    found, expected = (predictor(model, times, 3, ALL) for model in (tied, separate))
    assert np.array_equal(found.u, expected.u)
    assert np.array_equal(found.v, expected.u * SIGNS)
    if expected.u_variance is not None:
        assert np.array_equal(found.u_variance, expected.u_variance)
        assert np.array_equal(found.v_variance, expected.u_variance)


#: Times of all slices, of which the model of eight slices lacks those numbered 3 and 6.
WITH_TWO_MORE = np.array([1850.25, 1851.5, 1851.75, 1852.0, 1854.0, 1860.125, 1860.5, 1861.0, 1862.9, 1870.5])


def test_smoothing_interpolates_linearly_in_time_with_unequal_gaps():
    # From 1851.75 to 1852 is one of nine quarters of a year until 1854.
    model = model_of("smoother")
    expected = predict_by_interpolation(model, WITH_TWO_MORE, 3, ALL)
    rows = rows_of(model, "always")
    assert expected.u[WORDS.index("always")] == pytest.approx(rows[2] * 8 / 9 + rows[3] * 1 / 9, rel=1e-6)


def test_words_and_contexts_are_interpolated_in_the_same_way():
    model = model_of("smoother")
    expected = predict_by_interpolation(model, WITH_TWO_MORE, 6, ALL)
    rows = rows_of(model, "always", "v")
    assert expected.v[WORDS.index("always")] == pytest.approx(rows[4] * 4 / 7 + rows[5] * 3 / 7, rel=1e-6)


def test_a_word_that_is_absent_at_a_neighbor_has_its_smoothed_vector_there():
    model = model_of("smoother")
    expected = predict_by_interpolation(model, WITH_TWO_MORE, 3, ALL)
    places = model.mean("gaps", [1851.75, 1854.0])
    assert expected.u[WORDS.index("gaps")] == pytest.approx(places[0] * 8 / 9 + places[1] * 1 / 9)


@pytest.mark.parametrize("word", WORDS)
def test_the_smoothers_posterior_is_that_between_its_slices(word):
    model, time = model_of("smoother"), float(WITH_TWO_MORE[6])
    expected = predict_by_bridge(model, WITH_TWO_MORE, 6, ALL)
    assert expected.u_variance is not None
    slices, mean, precision = knots_in(model, word)
    place = moments_of(diffusion_of(), [time]).index(time)
    center = smoothed_mean(diffusion_of(), slices, mean[:, 0], [time])[place]
    spread = smoothed_covariance(diffusion_of(), slices, precision[:, 0], [time])[place, place]
    number = WORDS.index(word)
    assert (expected.u[number, 0], expected.u_variance[number, 0]) == pytest.approx(
        (center, spread), rel=1e-4, abs=1e-6
    )


def test_a_static_model_predicts_the_same_vectors_at_all_times():
    model = model_of("filter", {word: [0] for word in PLACES}, diffusion_of([1860.0]))
    first, last = (predict_by_static_vectors(model, TIMES, t, ALL) for t in (1, 7))
    assert np.array_equal(first.u, last.u)


@pytest.mark.parametrize(
    ("method", "predictor"),
    [
        ("filtering", predict_by_previous_mode),
        ("filtering", predict_by_diffusion),
        ("warm-start", predict_by_previous_slice),
        ("independent", predict_by_previous_slice),
    ],
)
def test_a_fit_of_all_slices_predicts_like_one_that_ends_before_the_slice(method, predictor):
    counts = wordtide.count([(str(1900 + 5 * k), STEAM * (5 - k) + LAW * (1 + k)) for k in range(5)])
    words = np.arange(len(counts.words))
    settings = {"method": method, "dim": 3, "prior_variance": 1.0, "threads": 1}
    whole, begun = (wordtide.fit(one, **settings) for one in (counts, without_slices(counts, [4])))
    assert np.array_equal(
        predictor(whole, counts.times, 3, words).u, predictor(begun, counts.times, 3, words).u
    )
