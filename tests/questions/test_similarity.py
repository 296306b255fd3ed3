"""Similarity: the cosine of the means, and the interval of the cosine of the vectors."""

import math

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, TIMES, WORDS, diffusion_of, model_of, posterior_of
from numpy.testing import assert_allclose
from oracles.questions import draws_of, planted, similarity_moments, standard_error_of_variance, state_of
from scipy.stats import norm

from wordtide.embeddings.posterior import Posterior
from wordtide.errors import SettingsError, UnknownWordError
from wordtide.questions.similarity import (
    ONE_SIDE,
    SIDES,
    interval,
    scaled,
    similarities,
    similarity,
)

MODELS = {kind: model_of(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
uncertain = pytest.mark.parametrize("kind", ["filter", "smoother"])
each_choice = pytest.mark.parametrize("vectors", ["word", "context", "sum"])


def column(answer, name):
    return np.array(answer.columns[name], dtype=float)


@each_kind
@each_choice
def test_similarity_is_the_cosine_of_the_means_anywhere(kind, vectors):
    model = MODELS[kind]
    answer = similarity(model, "always", "gaps", times=MOMENTS, vectors=vectors)
    found = column(answer, "similarity")
    for n, moment in enumerate(MOMENTS):
        one, other = state_of(model, "always", moment, vectors), state_of(model, "gaps", moment, vectors)
        known = one[0].any() and other[0].any()
        assert_allclose(found[n], similarity_moments(one, other)[0] if known else np.nan, rtol=1e-9)


@uncertain
@each_choice
def test_the_interval_is_that_of_the_posterior_of_the_cosine(kind, vectors):
    model = MODELS[kind]
    answer = similarity(model, "always", "gaps", times=TIMES[3:], vectors=vectors)
    for n, time in enumerate(TIMES[3:]):
        states = [state_of(model, word, time, vectors) for word in ("always", "gaps")]
        lengths = [math.sqrt(mean @ mean + variance.sum()) for mean, variance in states]
        (one, its), (other, others) = (
            (mean / length, variance / length**2)
            for (mean, variance), length in zip(states, lengths, strict=True)
        )
        expected = one @ other
        variance = (one**2 @ others + other**2 @ its + its @ others) * (1.0 - expected**2)
        cosine = similarity_moments(*states)[0]
        ends = interval(cosine, expected, math.sqrt(variance))
        assert column(answer, "low")[n] == pytest.approx(ends[0], rel=1e-9)
        assert column(answer, "high")[n] == pytest.approx(ends[1], rel=1e-9)


@pytest.mark.parametrize("away", [-4.0, -2.0, -1.0, 0.0, 1.0, 1.7, 2.5, 6.0])
def test_an_interval_has_ninety_percent_and_contains_the_similarity(away):
    expected, spread = 0.2, 0.05
    low, high = interval(expected + away * spread, expected, spread)
    assert low <= expected + away * spread <= high
    held = norm.cdf((high - expected) / spread) - norm.cdf((low - expected) / spread)
    assert held == pytest.approx(0.9, abs=1e-3)
    if abs(away) < SIDES:
        assert low + high == pytest.approx(2.0 * expected)


def test_the_sides_of_an_interval_are_those_of_ninety_percent():
    assert math.erf(SIDES / math.sqrt(2.0)) == pytest.approx(0.9, abs=1e-15)
    assert math.erf(ONE_SIDE / math.sqrt(2.0)) == pytest.approx(0.8, abs=1e-15)


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
    variance = found.spread**2 / (1.0 - found.expected**2)
    assert products.mean() == pytest.approx(found.expected, abs=4.0 * products.std() / math.sqrt(n))
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
    assert np.isfinite(column(answer, "low")[known]).all()


def test_point_estimates_have_no_interval():
    answer = similarity(MODELS["point"], "always", "gaps")
    assert np.isfinite(column(answer, "similarity")).all()
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
    assert [bound.tolist() for bound in interval(value, value, np.zeros(2))] == [[0.25, -1.0]] * 2


def test_a_word_alone_cannot_be_compared():
    with pytest.raises(SettingsError, match="at least one more word"):
        similarity(MODELS["smoother"], "gaps")


def test_vectors_that_do_not_exist_are_refused():
    with pytest.raises(SettingsError, match="Choose word, context or sum"):
        similarity(MODELS["smoother"], "gaps", "once", vectors="both")


def test_an_unknown_word_is_answered_with_near_spellings():
    with pytest.raises(UnknownWordError, match="middle"):
        similarity(MODELS["smoother"], "gaps", "midle")
