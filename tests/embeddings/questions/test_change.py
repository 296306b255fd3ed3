"""Changed words: who is listed, in which order, with which probabilities and dates."""

import math

import numpy as np
import pytest
from embeddings.models import KINDS, TIMES, model_of, posterior_of
from numpy.testing import assert_allclose
from oracles.questions import (
    is_known,
    planted,
    share_among,
    state_of,
)

from wordtide.embeddings.questions.change import changed
from wordtide.embeddings.questions.movement import movement
from wordtide.embeddings.questions.ranking import DRAWS
from wordtide.embeddings.questions.vectors import vectors_of
from wordtide.errors import SettingsError

COLUMNS = ["word", "change", "low", "high", "probability", "halfway_from", "halfway_to", "from", "to", "occurrences"]
MODELS = {kind: model_of(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
uncertain = pytest.mark.parametrize("kind", ["filter", "smoother"])
each_choice = pytest.mark.parametrize("vectors", ["word", "context", "sum"])


def moved_words(model, start=TIMES[0], end=TIMES[-1], vectors="sum"):
    return movement(vectors_of(model, vectors), np.arange(len(model.words)), start, end)


def crowd(kind, seed=1):
    """Sixty words that are long enough to be listed and move at random."""
    generator = np.random.default_rng(seed)
    places = {f"word{n}": sorted({0, 7, *generator.choice(8, generator.integers(0, 8)).tolist()}) for n in range(60)}
    posterior = posterior_of(kind, places, 5, seed)
    posterior.mean_u[:] += np.repeat(3.0 * generator.standard_normal((60, 5)), np.diff(posterior.knots.starts), axis=0)
    return model_of(kind, places, posterior=posterior)


CROWDS = {kind: crowd(kind) for kind in KINDS}


@uncertain
def test_low_change_and_high_are_in_order_and_between_none_and_opposite(kind):
    moved = moved_words(CROWDS[kind])
    low, high = moved.interval()
    assert (low >= 0.0).all()
    assert (low <= moved.change).all()
    assert (moved.change <= high).all()
    assert (high <= 2.0).all()
    assert (low > 0).any() or kind == "filter"


@pytest.mark.parametrize("kind", KINDS)
def test_words_that_turn_to_the_opposite_change_by_two_and_no_more(kind):
    means = 3.0 * np.random.default_rng(3).standard_normal((50, 12, 7))
    means[:, -1] = -means[:, 0]
    answer = changed(planted(kind, means, 1e6 if kind == "smoother" else 1e-6), top=50, by="change")
    assert_allclose(answer.columns["change"], 2.0, atol=1e-6)
    assert max(answer.columns["change"]) <= 2.0


@each_kind
def test_words_without_direction_are_not_listed(kind):
    assert "never" not in changed(MODELS[kind], min_occurrences=0).columns["word"]


@each_kind
@each_choice
def test_words_that_occur_too_seldom_or_are_hardly_known_at_either_time_are_left_out(kind, vectors):
    model, start, end = CROWDS[kind], TIMES[1], TIMES[6]
    answer = changed(model, start, end, top=100, min_occurrences=150, vectors=vectors)
    expected = {
        word
        for word in model.words
        if sum(model.occurrences(word)[1:7]) >= 150
        and all(is_known(model, state_of(model, word, time, vectors)[0], time, vectors) for time in (start, end))
    }
    assert 0 < len(expected) < 60
    assert set(answer.columns["word"]) == expected


@pytest.mark.parametrize("kind", ["smoother", "point"])
def test_occurrences_outside_the_two_times_do_not_count(kind):
    model = CROWDS[kind]
    few, many = (changed(model, TIMES[2], TIMES[4], top=100, min_occurrences=least) for least in (1, 150))
    assert 0 < len(many) < len(few)
    assert min(many.columns["occurrences"]) >= 150
    for word, count in zip(few.columns["word"], few.columns["occurrences"], strict=True):
        assert count == sum(model.occurrences(word)[2:5])


@uncertain
@pytest.mark.parametrize("by", ["low", "probability", "change"])
def test_words_are_ranked_by_what_was_asked_for(kind, by):
    answer = changed(CROWDS[kind], top=12, by=by)
    assert len(answer) == 12
    assert (np.diff(answer.columns[by]) <= 1e-12).all()
    if by != "probability":  # which is one to be among so many, so it is another for a longer list
        assert answer.columns["word"] == changed(CROWDS[kind], top=100, by=by).columns["word"][:12]


def test_words_within_the_noise_are_ranked_by_how_far_they_are_from_leaving_it():
    model = CROWDS["filter"]
    answer = changed(model, top=100)
    least = moved_words(model).least[[model.index[word] for word in answer.columns["word"]]]
    assert (np.diff(least) <= 1e-6).all()
    assert (np.array(answer.columns["low"]) == 0).any()


def test_point_estimates_are_ranked_by_change_and_have_no_intervals():
    for by in ("low", "probability", "change"):
        answer = changed(CROWDS["point"], top=15, by=by)
        assert (np.diff(answer.columns["change"]) <= 0).all()
        for name in ("low", "high", "probability", "halfway_from", "halfway_to"):
            assert np.isnan(np.array(answer.columns[name], dtype=float)).all()


def test_the_probability_is_how_often_drawn_words_moved_furthest_at_their_drawn_lengths():
    model = CROWDS["smoother"]
    answer = changed(model, top=5, by="probability")
    listed = changed(model, top=100).columns["word"]
    moved = movement(vectors_of(model), np.array([model.index[word] for word in listed]), TIMES[0], TIMES[-1])
    scale = np.sqrt(1.0 + moved.noise / 2.0)
    draws = np.random.default_rng(4).standard_normal((4000, len(listed)))
    shares = share_among((np.sqrt(moved.squared) + moved.spread * draws) / scale, 5)
    expected = [shares[listed.index(word)] for word in answer.columns["word"]]
    assert_allclose(answer.columns["probability"], expected, atol=4.0 * math.sqrt(0.25 / DRAWS + 0.25 / 4000))
    assert min(expected) < 0.9


def test_a_question_asked_twice_is_answered_alike():
    one, other = (list(changed(CROWDS["smoother"]).rows()) for _ in range(2))
    assert one == other


@each_kind
def test_the_columns_are_those_promised(kind):
    answer = changed(CROWDS[kind], top=3)
    assert list(answer.columns) == COLUMNS
    assert len(answer) == 3
    for word, lost, gained in zip(*(answer.columns[name] for name in ("word", "from", "to")), strict=True):
        assert word not in lost.split(", ") + gained.split(", ")


@uncertain
def test_halfway_dates_lie_between_the_two_times(kind):
    answer = changed(CROWDS[kind], TIMES[1], TIMES[6], top=100, min_occurrences=1)
    first, last = np.array(answer.columns["halfway_from"]), np.array(answer.columns["halfway_to"])
    moved = np.array(answer.columns["low"]) > 0
    assert moved.any() == (kind == "smoother")
    assert (first[moved] >= TIMES[1]).all()
    assert (first[moved] < last[moved]).all()
    assert (last[moved] <= TIMES[6]).all()


@uncertain
def test_a_word_that_may_not_have_moved_has_no_halfway_date(kind):
    answer = changed(CROWDS[kind], TIMES[1], TIMES[6], top=100, min_occurrences=1)
    still = np.array(answer.columns["low"]) == 0
    assert still.any()
    assert np.isnan(np.array(answer.columns["halfway_from"])[still]).all()
    assert np.isnan(np.array(answer.columns["halfway_to"])[still]).all()


def test_a_list_of_words_that_may_all_stand_still_says_so():
    note = "None of these words moved by more than the noise."
    assert note in changed(CROWDS["filter"], TIMES[1], TIMES[6], min_occurrences=1).notes
    assert note not in changed(CROWDS["smoother"], TIMES[1], TIMES[6], min_occurrences=1).notes


@each_kind
def test_nothing_to_list_is_noted(kind):
    answer = changed(MODELS[kind], min_occurrences=10_000)
    assert list(answer.columns) == COLUMNS
    assert len(answer) == 0
    assert "No word occurs 10000 times" in answer.notes[-1]


@each_kind
@pytest.mark.parametrize(("since", "until"), [("last", "first"), ("first", "first"), (1870, 1850)])
def test_times_that_are_not_in_order_are_refused(kind, since, until):
    with pytest.raises(SettingsError, match="Give a later time"):
        changed(MODELS[kind], since, until)


@each_kind
def test_an_unknown_ranking_is_refused(kind):
    with pytest.raises(SettingsError, match="Choose low, probability, change"):
        changed(MODELS[kind], by="beauty")


@each_kind
@pytest.mark.parametrize("top", [0, -1])
def test_a_list_without_places_is_refused(kind, top):
    with pytest.raises(SettingsError, match="Give 1 or more"):
        changed(MODELS[kind], top=top)
