"""Words between two poles: mean similarity to the one minus mean similarity to the other."""

import math

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, TIMES, model_of
from numpy.testing import assert_allclose
from oracles.questions import Z, draws_of, planted, standard_error_of_variance, state_of

from wordtide.errors import SettingsError, UnknownWordError
from wordtide.questions.similarity import axis, similarity

COLUMNS = ["time", "word", "position", "low", "high", "occurrences"]
MODELS = {kind: model_of(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
FROM, TO = ["gaps", "early"], ["middle", "late", "once"]


def column(answer, name):
    return np.array(answer.columns[name], dtype=float)


def steady(kind="smoother"):
    """Words of length one, and noise about as long; still no interval reaches its bounds."""
    means = np.random.default_rng(1).standard_normal((5, 12, 30))
    means += 2.0 * means[:1]
    return planted(
        kind, means / np.linalg.norm(means, axis=2, keepdims=True), 20.0 if kind == "smoother" else 0.03
    )


@each_kind
@pytest.mark.parametrize("vectors", ["word", "context", "sum"])
def test_a_position_is_the_mean_similarity_to_one_pole_minus_that_to_the_other(kind, vectors):
    model = MODELS[kind]
    answer = axis(model, ["always"], FROM, TO, MOMENTS, vectors)
    poles = [
        np.mean(
            [
                column(similarity(model, "always", pole, times=MOMENTS, vectors=vectors), "similarity")
                for pole in names
            ],
            0,
        )
        for names in (FROM, TO)
    ]
    assert_allclose(column(answer, "position"), poles[1] - poles[0], rtol=1e-9, atol=1e-12)
    assert np.isfinite(poles).any()


@pytest.mark.parametrize("kind", ["filter", "smoother"])
@pytest.mark.parametrize("vectors", ["word", "sum"])
def test_drawn_positions_scatter_as_the_interval_says(kind, vectors):
    model, n, time = steady(kind), 40_000, 1911.0
    answer = axis(model, ["w0"], ["w1", "w2"], ["w3", "w4"], [time], vectors)
    units = [
        draws_of(model, word, n, [time], vectors, seed=4)[:, 0] / math.sqrt(mean @ mean + variance.sum())
        for word in model.words
        for mean, variance in [state_of(model, word, time, vectors)]
    ]
    positions = np.einsum("nk,nk->n", units[0], (units[3] + units[4] - units[1] - units[2]) / 2.0)
    reach = Z * positions.std()
    error = 4.0 * (
        positions.std() / math.sqrt(n) + Z * standard_error_of_variance(positions) / (2.0 * positions.std())
    )
    position = column(answer, "position")[0]
    assert abs(position - positions.mean()) < reach  # so the interval is central
    assert column(answer, "low")[0] == pytest.approx(positions.mean() - reach, abs=error)
    assert column(answer, "high")[0] == pytest.approx(positions.mean() + reach, abs=error)


@each_kind
def test_turning_the_axis_around_turns_the_sign(kind):
    one, other = (axis(MODELS[kind], ["always"], *poles) for poles in ((FROM, TO), (TO, FROM)))
    assert_allclose(column(one, "position"), -column(other, "position"), rtol=1e-12)
    assert_allclose(column(one, "low"), -column(other, "high"), rtol=1e-12)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_low_position_and_high_are_in_order_and_within_two(kind):
    answer = axis(MODELS[kind], ["always", "middle"], ["gaps"], ["early"], MOMENTS)
    low, position, high = (column(answer, name) for name in ("low", "position", "high"))
    known = np.isfinite(position)
    assert known.any()
    assert ((low >= -2.0) & (low <= position) & (position <= high) & (high <= 2.0))[known].all()


def test_point_estimates_have_no_interval():
    answer = axis(MODELS["point"], ["always"], FROM, TO)
    assert np.isnan(column(answer, "low")).all()
    assert np.isnan(column(answer, "high")).all()


@each_kind
def test_the_columns_are_those_promised_with_a_row_for_each_word_and_time(kind):
    answer = axis(MODELS[kind], ["Always", "once"], ["gaps"], ["early"], [*TIMES, 1855.0])
    assert list(answer.columns) == COLUMNS
    assert answer.columns["word"] == ["always"] * 9 + ["once"] * 9
    assert answer.columns["time"] == [*TIMES.tolist(), 1855.0] * 2
    assert answer.columns["occurrences"][9:] == [0, 0, 0, 0, 13, 0, 0, 0, 0]


@each_kind
def test_single_words_need_no_list(kind):
    one, other = (
        axis(MODELS[kind], *words)
        for words in (("always", "gaps", "early"), (["always"], ["gaps"], ["early"]))
    )
    assert list(one.rows()) == list(other.rows())


@each_kind
def test_a_pole_without_direction_gives_no_position(kind):
    assert np.isnan(column(axis(MODELS[kind], ["always"], ["never"], ["gaps"]), "position")).all()


@each_kind
@pytest.mark.parametrize("word", ["gaps", "Middle"])
def test_a_word_that_is_a_pole_is_refused(kind, word):
    with pytest.raises(SettingsError, match="is a pole of the axis"):
        axis(MODELS[kind], ["always", word], FROM, TO)


@each_kind
@pytest.mark.parametrize("words", [([], FROM, TO), (["always"], [], TO), (["always"], FROM, [])])
def test_an_empty_list_of_words_is_refused(kind, words):
    with pytest.raises(SettingsError, match="at least one word for each"):
        axis(MODELS[kind], *words)


def test_an_unknown_pole_is_answered_with_near_spellings():
    with pytest.raises(UnknownWordError, match="early"):
        axis(MODELS["smoother"], ["always"], ["erly"], TO)
