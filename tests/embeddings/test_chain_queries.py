"""Variances of many words at once, and of their movements, agree with dense algebra."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, TIMES, WORDS, diffusion_of, knots_in, model_of
from numpy.testing import assert_allclose
from oracles.trajectories import exact_variances, moments_of, smoothed_covariance

MODEL = model_of("smoother")
ALL = np.arange(len(WORDS))
EVERYWHERE = moments_of(MODEL.diffusion, MOMENTS)
#: Before, at, between and after the slices; each of them twice too.
PAIRS = list(combinations_with_replacement(EVERYWHERE, 2))
WEIGHTS = np.random.default_rng(6).uniform(0.3, 3.0, (2, len(WORDS)))
each_side = pytest.mark.parametrize("side", ["u", "v"])


def dense(word, side="u"):
    """Covariances (n, n, d) between all moments, and the precision (n, d) that data add to each."""
    slices, _, precision = knots_in(MODEL, word, side)
    covariance = [
        smoothed_covariance(MODEL.diffusion, slices, precision[:, k], MOMENTS) for k in range(MODEL.dim)
    ]
    added = np.zeros((len(EVERYWHERE), MODEL.dim))
    added[[EVERYWHERE.index(TIMES[t]) for t in slices]] = precision
    return np.stack(covariance, axis=-1), added


DENSE = {side: [dense(word, side) for word in WORDS] for side in "uv"}


@each_side
@pytest.mark.parametrize("time", EVERYWHERE)
def test_variances_of_all_words_agree_with_dense_algebra(side, time):
    here = EVERYWHERE.index(time)
    found = MODEL.sides["uv".index(side)].variances_at(time, ALL)
    assert_allclose(found, [covariance[here, here] for covariance, _ in DENSE[side]], rtol=1e-9)


@each_side
def test_variances_of_movements_between_any_two_times_agree_with_dense_algebra(side):
    for earlier, later in PAIRS:
        found = MODEL.sides["uv".index(side)].movement(ALL, earlier, later, *WEIGHTS)
        for word, (covariance, added) in enumerate(DENSE[side]):
            contrast = np.zeros(len(EVERYWHERE))
            contrast[EVERYWHERE.index(later)] += WEIGHTS[1, word]
            contrast[EVERYWHERE.index(earlier)] -= WEIGHTS[0, word]
            answer = np.einsum("abk,b->ak", covariance, contrast)
            places = np.abs(contrast) @ np.abs(np.einsum("abk,b->ak", covariance, np.abs(contrast)))
            assert_allclose(found.posterior[word], contrast @ answer, rtol=1e-5, atol=1e-6 * places.max())
            assert_allclose(
                found.sampling[word], (added * answer**2).sum(axis=0), rtol=1e-5, atol=1e-6 * places.max()
            )


def test_sampling_explains_no_more_than_the_posterior_leaves_open():
    for earlier, later in PAIRS:
        if earlier < later:
            found = MODEL.sides[0].movement(ALL, earlier, later, *WEIGHTS)
            assert (found.sampling <= found.posterior * (1.0 + 1e-5)).all()


def test_a_movement_from_a_time_to_itself_has_no_variance():
    ones = np.ones(len(WORDS))
    for time in MOMENTS:
        found = MODEL.sides[0].movement(ALL, time, time, ones, ones)
        variances = MODEL.sides[0].variances_at(time, ALL)
        assert_allclose(found.posterior / variances, 0.0, atol=1e-6)
        assert_allclose(found.sampling / variances, 0.0, atol=1e-6)


def test_the_movement_has_the_covariance_of_one_word_alone():
    ones = np.ones(1)
    for word, (earlier, later) in zip(WORDS * 3, PAIRS[3::9], strict=False):
        found = MODEL.sides[1].movement(ALL[[WORDS.index(word)]], earlier, later, ones, ones).posterior[0]
        apart = MODEL.context_variance(word, earlier) + MODEL.context_variance(word, later)
        together = MODEL.covariance(word, earlier, later, context=True)
        assert_allclose(found, apart - 2.0 * together, rtol=1e-5, atol=1e-6 * apart.max())


@pytest.mark.parametrize("words", [[3], [5, 1], [6, 5, 4, 3, 2, 1, 0], [2, 2, 0], []])
def test_some_words_in_any_order_have_the_answers_of_all(words):
    some = np.array(words, dtype=np.int64)
    for earlier, later in PAIRS[::7]:
        whole = MODEL.sides[0].movement(ALL, earlier, later, *WEIGHTS)
        found = MODEL.sides[0].movement(some, earlier, later, *WEIGHTS[:, some])
        assert_allclose(found.posterior, whole.posterior[some], rtol=1e-6)
        assert_allclose(found.sampling, whole.sampling[some], rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("time", MOMENTS)
def test_states_of_some_words_are_those_of_all(kind, time):
    side, some = model_of(kind).sides[0], np.array([4, 3, 0, 4])
    assert (side.means_at(time, some) == side.means_at(time)[some]).all()
    assert (side.variances_at(time, some) == side.variances_at(time)[some]).all()
    assert side.means_at(time, some[:0]).shape == side.variances_at(time, some[:0]).shape == (0, 3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [[3], [6, 0, 3, 0]])
def test_variances_of_some_words_over_time_are_those_of_each(kind, words):
    model = model_of(kind)
    found = model.sides[0].variance_curves(np.array(words, dtype=np.int64), np.array(MOMENTS))
    assert found.shape == (len(words), len(MOMENTS), 3)
    for number, curves in zip(words, found, strict=True):
        assert_allclose(curves, model.variance(WORDS[number], MOMENTS), rtol=1e-12)


def test_many_words_of_all_lengths_agree_with_each_alone():
    generator = np.random.default_rng(4)
    lengths = generator.integers(0, 9, size=600)
    model = model_of(
        "smoother",
        {str(n): sorted(generator.choice(8, size, replace=False)) for n, size in enumerate(lengths)},
    )
    ones, words = np.ones(600), np.arange(600)
    moved, variances = (
        model.sides[0].movement(words, TIMES[1], 1861.5, ones, ones),
        model.sides[0].variances_at(1861.5, words),
    )
    for number in range(0, 600, 11):
        before, after = model.variance(str(number), TIMES[1]), model.variance(str(number), 1861.5)
        assert_allclose(variances[number], after, rtol=1e-5)
        expected = before + after - 2.0 * model.covariance(str(number), TIMES[1], 1861.5)
        assert_allclose(moved.posterior[number], expected, rtol=1e-5, atol=1e-6 * (before + after).max())


@pytest.mark.parametrize("precision", [0.0, 1e-12, 1e12])
def test_variances_hold_for_uninformative_and_exact_data(precision):
    posterior = model_of("smoother").fitted.posterior
    posterior.precision_u[:] = precision
    model = model_of("smoother", posterior=posterior)
    slices, _, added = knots_in(model, "gaps")
    expected = exact_variances(model.diffusion, slices, added[:, 0])
    word = np.array([WORDS.index("gaps")])
    found = [model.sides[0].variances_at(time, word)[0, 0] for time in TIMES]
    assert_allclose(found, expected, rtol=1e-5)


def test_variances_hold_for_slices_seconds_apart():
    times = 1900.0 + np.array([0.0, 3e-8, 6e-8, 0.5, 0.5 + 3e-8, 1.0, 2.0, 3.0])
    model = model_of("smoother", diffusion=diffusion_of(times, constant=1e-3))
    slices, _, precision = knots_in(model, "always")
    expected = exact_variances(model.diffusion, slices, precision[:, 0])
    word = np.array([WORDS.index("always")])
    assert_allclose([model.sides[0].variances_at(time, word)[0, 0] for time in times], expected, rtol=1e-5)


def test_a_filter_adds_the_variances_of_two_times():
    model = model_of("filter")
    found = model.sides[0].movement(ALL, TIMES[2], 1865.0, *WEIGHTS)
    before, after = (np.array([model.variance(word, time) for word in WORDS]) for time in (TIMES[2], 1865.0))
    expected = WEIGHTS[0, :, None] ** 2 * before + WEIGHTS[1, :, None] ** 2 * after
    assert_allclose(found.posterior, expected, rtol=1e-12)
    assert_allclose(found.sampling, expected, rtol=1e-12)


def test_without_any_knots_there_is_the_prior():
    model = model_of("smoother", {"a": [], "b": []})
    found = model.sides[0].movement(np.array([1, 0]), TIMES[0], TIMES[5], np.ones(2), np.ones(2))
    expected = (
        model.variance("a", TIMES[0])
        + model.variance("a", TIMES[5])
        - 2.0 * model.covariance("a", TIMES[0], TIMES[5])
    )
    assert_allclose(found.posterior, [expected, expected], rtol=1e-5)
    assert not found.sampling.any()
