"""Which words are well known: those with little noise along their means, and those that occur often."""

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, TIMES, crowd, model_of, posterior_of, tied_crowd
from numpy.testing import assert_allclose
from oracles.questions import is_known

from wordtide.questions.vectors import NOISE, OFTEN, relative_noise, vectors_of

PLACES = {"one": list(range(8)), "other": list(range(8))}


def known(model, word, time, mean, deviation):
    """Whether a word with this mean (d,) and standard deviation along it is well known."""
    spread = np.full((1, len(mean)), float(deviation) ** 2)
    return bool(
        vectors_of(model).are_known(
            np.array([model.index[word]]), np.array([time]), np.array([mean]), spread
        )[0]
    )


def occurring(**times):
    """A model in which words occur once in every slice, but for the slices given: slice1=50."""
    values = np.ones(16, dtype=np.int64)
    for name, number in times.items():
        values[int(name.removeprefix("slice"))] = number
    return model_of("smoother", PLACES, values=values)


def test_relative_noise_is_how_much_draws_vary_along_the_mean_in_units_of_its_length():
    generator = np.random.default_rng(0)
    means, variances = generator.standard_normal((5, 4)), generator.gamma(1.0, size=(5, 4))
    lengths = np.linalg.norm(means, axis=1)
    draws = means + np.sqrt(variances) * generator.standard_normal((100_000, 5, 4))
    along = np.einsum("rnk,nk->rn", draws, means / lengths[:, None])
    # a standard deviation of 100,000 draws is off by 0.22 %, so five of them by less than 1 %
    assert_allclose(relative_noise(means, variances), along.std(axis=0) / lengths, rtol=0.01)


def test_noise_across_the_mean_does_not_count():
    variances = np.array([[0.01, 0.01], [0.01, 100.0]])
    assert_allclose(relative_noise(np.array([[2.0, 0.0], [2.0, 0.0]]), variances), 0.05)


def test_a_vector_without_direction_has_no_relative_noise():
    assert np.isnan(relative_noise(np.zeros((1, 3)), np.ones((1, 3)))).all()


@pytest.mark.parametrize(("share", "expected"), [(0.99, True), (1.01, False)])
def test_a_rare_word_is_known_up_to_the_limit_of_noise(share, expected):
    assert known(occurring(), "one", TIMES[3], [0.0, 3.0, 4.0], share * NOISE * 5.0) is expected


@pytest.mark.parametrize(("number", "expected"), [(OFTEN - 1, False), (OFTEN, True)])
def test_a_word_that_occurs_often_in_the_slice_is_known_however_noisy_it_is(number, expected):
    assert known(occurring(slice3=number), "one", TIMES[3], [0.0, 3.0, 4.0], 100.0) is expected


@pytest.mark.parametrize(
    "time", [1800.0, TIMES[1], 1851.61, 1851.64, TIMES[2], 1860.5, 1860.6, 1861.0, 1990.0]
)
def test_occurrences_count_in_the_slice_nearest_to_the_time(time):
    nearest = int(np.argmin(np.abs(TIMES - time)))
    for t in range(8):
        assert known(occurring(**{f"slice{t}": OFTEN}), "one", time, [0.0, 3.0, 4.0], 100.0) is (t == nearest)


def test_occurrences_of_another_word_do_not_count():
    model = occurring(slice3=OFTEN)
    assert not known(model, "other", TIMES[3], [0.0, 3.0, 4.0], 100.0)


def test_a_word_without_direction_is_not_known_however_often_it_occurs():
    assert not known(occurring(slice3=OFTEN), "one", TIMES[3], [0.0, 0.0, 0.0], 0.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", ["word", "context", "sum"])
@pytest.mark.parametrize("time", MOMENTS)
def test_words_are_known_as_looking_at_each_of_them_says(kind, choice, time):
    model, every = crowd(kind), np.arange(60)
    vectors = vectors_of(model, choice)
    found = vectors.are_known(every, np.full(60, time), vectors.means_at(time), vectors.variances_at(time))
    assert found.tolist() == [is_known(model, word, time, choice) for word in model.words]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", ["word", "context", "sum"])
def test_tied_words_are_known_as_looking_at_each_of_them_says(kind, choice):
    model, every = tied_crowd(kind), np.arange(60)
    vectors = vectors_of(model, choice)
    for time in MOMENTS:
        moments = vectors.means_at(time), vectors.variances_at(time)
        found = vectors.are_known(every, np.full(60, time), *moments)
        assert found.tolist() == [is_known(model, word, time, choice) for word in model.words]


def test_the_sum_of_tied_vectors_may_have_root_two_times_the_noise_of_a_sum_of_separate_ones():
    sums = vectors_of(crowd("smoother")), vectors_of(tied_crowd("smoother"))
    assert [vectors.most_noise for vectors in sums] == [NOISE, pytest.approx(2.0**0.5 * NOISE)]


def test_point_estimates_are_known_wherever_they_have_a_direction():
    model = model_of("point", posterior=posterior_of("point"))
    vectors, every = vectors_of(model), np.arange(7)
    found = vectors.are_known(
        every, np.full(7, TIMES[4]), vectors.means_at(TIMES[4]), vectors.variances_at(TIMES[4])
    )
    assert [model.words[number] for number in np.flatnonzero(~found)] == ["never"]
