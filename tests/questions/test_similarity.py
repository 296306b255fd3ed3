"""Similarity: the mean and the interval of the posterior of the cosine."""

import math

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, TIMES, WORDS, diffusion_of, model_of, posterior_of
from numpy.testing import assert_allclose, assert_array_equal
from oracles.questions import cosine_interval, draws_of, planted, standard_error_of_variance, state_of
from scipy.stats import norm

from wordtide.embeddings.posterior import Posterior
from wordtide.errors import SettingsError, UnknownWordError
from wordtide.questions.similarity import SIDES, interval, scaled, similarities, similarity, stretched

MODELS = {kind: model_of(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
uncertain = pytest.mark.parametrize("kind", ["filter", "smoother"])
each_choice = pytest.mark.parametrize("vectors", ["word", "context", "sum"])


def column(answer, name):
    return np.array(answer.columns[name], dtype=float)


@each_kind
@each_choice
def test_similarity_and_its_interval_are_those_of_the_posterior_of_the_cosine_anywhere(kind, vectors):
    model = MODELS[kind]
    answer = similarity(model, "always", "gaps", times=MOMENTS, vectors=vectors)
    found = np.stack([column(answer, name) for name in ("similarity", "low", "high")], axis=1)
    for n, moment in enumerate(MOMENTS):
        states = [state_of(model, word, moment, vectors) for word in ("always", "gaps")]
        known = all(mean.any() for mean, _ in states)
        expected = np.array(cosine_interval(*states)) if known else np.full(3, np.nan)
        expected[1:] *= np.nan if kind == "point" else 1.0
        assert_allclose(found[n], expected, rtol=1e-9)


def test_a_similarity_is_the_middle_of_its_interval():
    answer = similarity(MODELS["smoother"], "always", "gaps", "once", times=TIMES)
    low, mean, high = (column(answer, name) for name in ("low", "similarity", "high"))
    inside = (low > -1.0) & (high < 1.0)
    assert inside.sum() > 5
    assert_allclose(mean[inside], ((low + high) / 2.0)[inside])


def test_the_sides_of_an_interval_are_those_of_ninety_percent():
    assert math.erf(SIDES / math.sqrt(2.0)) == pytest.approx(0.9, abs=1e-15)
    assert interval(0.2, 0.05) == pytest.approx(norm(0.2, 0.05).ppf([0.05, 0.95]))
    assert interval(0.99, 0.05)[1] == 1.0


@uncertain
@each_choice
def test_drawn_inner_products_scatter_as_the_closed_form_says(kind, vectors):
    model, time, n = MODELS[kind], TIMES[-1], 40_000
    states = [state_of(model, word, time, vectors) for word in ("always", "gaps")]
    found = similarities(*(scaled(*state) for state in states))
    units = [draws_of(model, word, n, [time], vectors, seed=3)[:, 0] for word in ("always", "gaps")]
    lengths = [math.sqrt(mean @ mean + variance.sum()) for mean, variance in states]
    units = [draws / length for draws, length in zip(units, lengths, strict=True)]
    assert [(draws**2).sum(axis=1).mean() for draws in units] == pytest.approx([1.0, 1.0], abs=0.02)
    products = np.einsum("nk,nk->n", *units)
    variance = found.spread**2 / (1.0 - found.mean**2)
    assert products.mean() == pytest.approx(found.mean, abs=4.0 * products.std() / math.sqrt(n))
    assert products.var() == pytest.approx(variance, abs=4.0 * standard_error_of_variance(products))


@uncertain
@pytest.mark.parametrize("other", WORDS)
def test_low_similarity_and_high_are_in_order_and_within_one(kind, other):
    answer = similarity(MODELS[kind], "always", other, times=MOMENTS)
    low, middle, high = (column(answer, name) for name in ("low", "similarity", "high"))
    known = np.isfinite(middle)
    assert (np.isnan(low) == ~known).all()
    assert (np.isnan(high) == ~known).all()
    assert (low[known] >= -1).all()
    assert (low[known] <= middle[known]).all()
    assert (middle[known] <= high[known]).all()
    assert (high[known] <= 1).all()


def test_the_similarity_of_parallel_vectors_is_not_above_one_by_rounding():
    direction = np.random.default_rng(0).standard_normal(7)
    means = np.stack([scale * direction * np.ones((12, 1)) for scale in np.linspace(0.1, 3.0, 40)])
    for kind in KINDS:
        model = planted(kind, means, 50.0)
        answer = similarity(model, "w0", *model.words[1:])
        assert column(answer, "similarity").max() <= 1.0
        if kind == "point":
            assert column(answer, "similarity").min() == pytest.approx(1.0, abs=1e-6)


@each_kind
def test_a_word_is_fully_similar_to_itself(kind):
    answer = similarity(MODELS[kind], "gaps", "gaps")
    assert column(answer, "similarity").tolist() == [1.0] * len(TIMES)
    if kind != "point":
        assert column(answer, "low").tolist() == column(answer, "high").tolist() == [1.0] * len(TIMES)


@each_kind
@pytest.mark.parametrize(("word", "other"), [("never", "gaps"), ("gaps", "never"), ("never", "never")])
def test_a_word_without_direction_has_no_similarity(kind, word, other):
    answer = similarity(MODELS[kind], word, other)
    for name in ("similarity", "low", "high"):
        assert np.isnan(column(answer, name)).all()


def test_a_filter_knows_nothing_of_a_word_before_its_first_occurrence():
    found = column(similarity(MODELS["filter"], "always", "middle"), "similarity")
    assert np.isnan(found).tolist() == [True, True, False, False, False, False, False, False]


def test_vectors_too_short_to_divide_by_have_no_direction():
    places = {
        "once": [0],
        "twice": [0, 399],
    }  # a strong pull shrinks the first to nothing, through all magnitudes
    model = model_of("smoother", places, diffusion_of(np.arange(1900.0, 2300.0), 5.0, 0.1))
    answer = similarity(model, "once", "twice")
    known = np.isfinite(column(answer, "similarity"))
    assert known[0]
    assert not known[-1]
    assert (column(answer, "low") <= column(answer, "similarity"))[known].all()


def test_point_estimates_have_no_interval():
    answer = similarity(MODELS["point"], "always", "gaps")
    assert np.isnan(column(answer, "low")).all()
    assert np.isnan(column(answer, "high")).all()


@each_kind
def test_similarity_is_the_same_from_either_side(kind):
    one, other = (
        similarity(MODELS[kind], *pair, times=MOMENTS) for pair in (("early", "gaps"), ("gaps", "early"))
    )
    for name in ("similarity", "low", "high"):
        assert_allclose(column(one, name), column(other, name), rtol=1e-12)
    assert one.columns["occurrences"] == other.columns["other_occurrences"]


@each_kind
def test_rotating_all_vectors_changes_no_similarity(kind):
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    posterior = posterior_of(kind)
    isotropic = {
        name: np.repeat(array[:, :1], 3, axis=1)
        for name, array in posterior.arrays().items()
        if "mean" not in name
    }
    turned = [(mean @ rotation).astype(np.float32) for mean in (posterior.mean_u, posterior.mean_v)]
    model = model_of(
        kind, posterior=Posterior(kind, posterior.knots, posterior.mean_u, posterior.mean_v, **isotropic)
    )
    rotated = model_of(kind, posterior=Posterior(kind, posterior.knots, *turned, **isotropic))
    one, other = (similarity(each, "always", *WORDS, times=MOMENTS) for each in (model, rotated))
    for name in ("similarity", "low", "high"):
        assert_allclose(column(one, name), column(other, name), atol=2e-6)


@each_kind
def test_the_columns_are_those_promised_with_a_row_for_each_word_and_time(kind):
    answer = similarity(MODELS[kind], "Always", "GAPS", "once")
    assert list(answer.columns) == [
        "time", "word", "other", "similarity", "low", "high", "occurrences", "other_occurrences",
    ]  # fmt: skip
    assert answer.columns["time"] == TIMES.tolist() * 2
    assert answer.columns["word"] == ["always"] * 16
    assert answer.columns["other"] == ["gaps"] * 8 + ["once"] * 8


@each_kind
def test_occurrences_are_those_of_each_slice_and_nought_where_a_word_is_absent(kind):
    answer = similarity(MODELS[kind], "gaps", "once", times=[*TIMES, 1855.0, 1700.0])
    assert answer.columns["occurrences"] == [9, 0, 0, 10, 11, 0, 0, 12, 0, 0]
    assert answer.columns["other_occurrences"] == [0, 0, 0, 0, 13, 0, 0, 0, 0, 0]


def test_the_interval_of_no_spread_is_the_similarity_itself():
    value = np.array([0.25, -1.0])
    assert [bound.tolist() for bound in interval(value, np.zeros(2))] == [[0.25, -1.0]] * 2


def test_a_word_alone_cannot_be_compared():
    with pytest.raises(SettingsError, match="at least one more word"):
        similarity(MODELS["smoother"], "gaps")


def test_vectors_that_do_not_exist_are_refused():
    with pytest.raises(SettingsError, match="Choose word, context or sum"):
        similarity(MODELS["smoother"], "gaps", "once", vectors="both")


def test_an_unknown_word_is_answered_with_near_spellings():
    with pytest.raises(UnknownWordError, match="middle"):
        similarity(MODELS["smoother"], "gaps", "midle")


def test_words_that_have_something_in_common_lose_the_part_of_the_prior_that_denies_it():
    mean, variance = np.array([0.5, -0.5, 0.0, 0.05, 0.6]), np.array([0.01, 0.01, 0.01, 0.01, 0.0])
    plain, found = (stretched(mean, variance, closeness) for closeness in (0.0, 20.0))
    assert_array_equal(plain.mean, mean)
    assert_allclose(plain.spread**2, variance)
    # the precision of a clear similarity falls by nearly the closeness, and its mean grows in proportion;
    # 0.4 of that growth is its standard error
    growth = found.mean[:2] - mean[:2]
    assert_allclose(1.0 / (found.spread[:2] ** 2 - (0.4 * growth) ** 2), 100.0 - 20.0 * 0.25 / 0.26)
    assert_allclose(found.mean[:2], mean[:2] * found.stretch[:2])
    assert found.mean[0] == -found.mean[1]
    assert found.mean[2] == 0.0
    assert found.spread[2] == plain.spread[2]
    assert 1.0 < found.stretch[3] < 1.0 + (found.stretch[0] - 1.0) / 4.0
    assert found.mean[4] == 0.6  # known for sure


def test_a_cosine_owes_at_most_half_of_its_precision_to_the_prior():
    found = stretched(np.array([0.4]), np.array([0.1]), 1000.0)
    assert found.stretch == 2.0
