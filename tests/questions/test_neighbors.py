"""Neighbors and analogies agree with comparing all words, and probabilities with drawing all vectors."""

import math

import numpy as np
import pytest
from embeddings.models import KINDS, TIMES, crowd, model_of
from numpy.testing import assert_allclose
from oracles.questions import (
    behind_vague_words,
    draws_of,
    is_inferred,
    nearest_words,
    planted,
    share_among,
    state_of,
)

from wordtide.errors import SettingsError
from wordtide.questions import neighbors as question
from wordtide.questions.answers import empty_list_note
from wordtide.questions.change import probability_of_best
from wordtide.questions.movement import expected_change
from wordtide.questions.neighbors import DRAWS, analogy, neighbors, share_among_best
from wordtide.questions.neighbors_over_time import neighbors_over_time
from wordtide.questions.similarity import SIDES

COLUMNS = ["word", "similarity", "low", "high", "probability", "occurrences", "faint", "inferred"]
each_kind = pytest.mark.parametrize("kind", KINDS)


CROWDS = {kind: crowd(kind) for kind in KINDS}
#: At a slice, between slices, and long after the last.
WHEN = [TIMES[4], 1857.5, 1880.0]


@each_kind
@pytest.mark.parametrize("vectors", ["word", "context", "sum"])
@pytest.mark.parametrize("at", WHEN)
def test_neighbours_are_those_of_looking_at_every_word(kind, vectors, at):
    model = CROWDS[kind]
    answer = neighbors(model, "word7", at, top=100, vectors=vectors)
    expected = nearest_words(model, "word7", at, at, vectors)
    assert 5 < len(expected) < 60
    assert answer.columns["word"] == list(expected)
    near = expected.values()
    assert_allclose(answer.columns["similarity"], [one.similarity for one in near], rtol=1e-6, atol=1e-9)
    if kind != "point":
        assert_allclose(answer.columns["low"], [one.low for one in near], atol=2e-3)
        assert_allclose(answer.columns["high"], [one.high for one in near], atol=2e-3)
        assert answer.columns["faint"].tolist() == [one.faint for one in near]


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_words_that_are_hardly_known_are_left_out(kind):
    model, expected = CROWDS[kind], nearest_words(CROWDS[kind], "word7", TIMES[4], TIMES[4])
    directed = [word for word in model.words if state_of(model, word, TIMES[4])[0].any() and word != "word7"]
    assert set(neighbors(model, "word7", TIMES[4], top=100).columns["word"]) == set(expected) < set(directed)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_words_that_are_hardly_known_do_not_crowd_out_those_that_are_known(kind, monkeypatch):
    monkeypatch.setattr(question, "CANDIDATES", 5)
    assert set(neighbors(behind_vague_words(kind), "w0", top=2).columns["word"]) < {"w101", "w102", "w103"}
    assert set(neighbors(behind_vague_words(kind), "w0", top=50).columns["word"]) == {"w101", "w102", "w103"}


@each_kind
@pytest.mark.parametrize("at", [*WHEN, TIMES[0], TIMES[-1]])
def test_neighbours_that_do_not_occur_near_the_time_are_marked(kind, at):
    answer = neighbors(CROWDS[kind], "word7", at, top=100)
    expected = [is_inferred(CROWDS[kind], word, at) for word in answer.columns["word"]]
    assert answer.columns["inferred"].tolist() == expected


@pytest.mark.parametrize("kind", ["smoother", "point"])
def test_some_neighbours_are_inferred_and_others_are_not(kind):
    assert set(neighbors(CROWDS[kind], "word7", TIMES[4], top=100).columns["inferred"]) == {False, True}


def test_an_analogy_marks_words_that_do_not_occur_near_the_other_time():
    model = CROWDS["smoother"]
    answer = analogy(model, "word7", TIMES[1], TIMES[6], top=100)
    expected = [is_inferred(model, word, TIMES[6]) for word in answer.columns["word"]]
    assert expected != [is_inferred(model, word, TIMES[1]) for word in answer.columns["word"]]
    assert answer.columns["inferred"].tolist() == expected


@pytest.mark.parametrize("ask", [neighbors, analogy])
def test_a_list_that_is_empty_because_no_word_is_well_known_says_so(ask):
    means = np.random.default_rng(0).standard_normal((4, 12, 6))
    vague = planted("filter", means, 9.0, values=np.ones(48, dtype=np.int64))
    answer = ask(vague, "w0")
    assert len(answer) == 0
    assert answer.notes == [empty_list_note(vague, 1911.0)]


@each_kind
def test_a_list_that_is_not_empty_needs_no_explanation(kind):
    assert neighbors(CROWDS[kind], "word7", TIMES[4]).notes == []


def test_a_list_that_is_empty_because_the_word_is_unknown_does_not_say_that_the_others_are():
    assert neighbors(model_of("point"), "never").notes == ["'never' has no occurrences in any slice."]


def test_a_list_that_is_empty_for_lack_of_occurrences_does_not_say_that_nothing_is_known():
    answer = neighbors(CROWDS["smoother"], "word7", TIMES[4], min_occurrences=10_000)
    assert len(answer) == 0
    assert answer.notes == ["No other word occurs 10,000 times in 1860 and is well known."]


@pytest.mark.parametrize("kind", ["filter", "smoother"])
@pytest.mark.parametrize("at", WHEN)
def test_order_interval_and_probability_agree(kind, at):
    columns = neighbors(CROWDS[kind], "word7", at, top=12).columns
    low, high, similarity, faint = (
        np.array(columns[name]) for name in ("low", "high", "similarity", "faint")
    )
    assert (np.diff(faint.astype(int)) >= 0).all()  # words that are barely known come last
    assert (np.diff((low + high)[~faint]) <= 0).all()
    assert ((low <= similarity) & (similarity <= high)).all()
    earlier, later = np.triu_indices(np.count_nonzero(~faint), 1)
    assert not (high[earlier] < low[later]).any()
    half = len(low) // 2
    assert np.mean(columns["probability"][:half]) > np.mean(columns["probability"][half:])


@pytest.mark.parametrize("kind", ["filter", "smoother"])
@pytest.mark.parametrize("by", ["similarity", "low", "probability"])
def test_neighbours_can_be_ranked_otherwise(kind, by):
    columns = neighbors(CROWDS[kind], "word7", TIMES[4], top=8, by=by).columns
    known = ~np.array(columns["faint"])
    assert (np.diff(np.array(columns[by])[known]) <= 0).all()


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_the_words_of_a_list_over_time_are_those_of_each_slice(kind):
    columns = neighbors_over_time(CROWDS[kind], "word7", 5).columns
    for time in TIMES:
        there = [word for word, when in zip(columns["word"], columns["time"], strict=True) if when == time]
        assert there == neighbors(CROWDS[kind], "word7", time, top=5).columns["word"]


def test_point_estimates_ranked_by_the_low_end_are_ranked_by_similarity():
    model = CROWDS["point"]
    one, other = (neighbors(model, "word7", by=by).columns["word"] for by in ("similarity", "low"))
    assert one == other


@each_kind
@pytest.mark.parametrize("top", [1, 3, 59, 60, 5000])
def test_a_list_is_as_long_as_asked_for_or_as_there_are_words(kind, top):
    expected = nearest_words(CROWDS[kind], "word7", TIMES[4], TIMES[4])
    found = neighbors(CROWDS[kind], "word7", TIMES[4], top=top).columns["word"]
    assert len(found) == min(top, len(expected))
    assert set(found) <= set(expected)


@each_kind
def test_a_long_list_is_not_cut_off_where_candidates_are(kind, monkeypatch):
    monkeypatch.setattr(question, "CANDIDATES", 3)
    expected = len(nearest_words(CROWDS[kind], "word7", TIMES[4], TIMES[4]))
    for top in (2, 9, 100):
        assert len(neighbors(CROWDS[kind], "word7", TIMES[4], top=top)) == min(top, expected)


@each_kind
@pytest.mark.parametrize("top", [0, -3])
def test_a_list_without_places_is_refused(kind, top):
    with pytest.raises(SettingsError, match="Give 1 or more"):
        neighbors(CROWDS[kind], "word7", top=top)
    with pytest.raises(SettingsError, match="Give 1 or more"):
        analogy(CROWDS[kind], "word7", top=top)


@each_kind
@pytest.mark.parametrize("ask", [neighbors, analogy])
def test_an_unknown_ranking_is_refused(kind, ask):
    with pytest.raises(SettingsError, match="Choose similarity, low or probability"):
        ask(CROWDS[kind], "word7", by="beauty")


@each_kind
@pytest.mark.parametrize("least", [1, 60, 90])
def test_words_that_occur_too_seldom_in_the_slice_are_left_out(kind, least):
    model = CROWDS[kind]
    answer = neighbors(model, "word7", TIMES[4], top=100, min_occurrences=least)
    often = {word for word in model.words if model.occurrences(word)[4] >= least}
    assert answer.columns["word"] == [
        word for word in nearest_words(model, "word7", TIMES[4], TIMES[4]) if word in often
    ]
    assert [model.occurrences(word)[4] for word in answer.columns["word"]] == answer.columns[
        "occurrences"
    ].tolist()
    assert all(answer.columns["occurrences"] >= least)


@each_kind
def test_a_word_that_occurs_just_often_enough_is_listed(kind):
    model = CROWDS[kind]
    least = max(neighbors(model, "word7", TIMES[4], top=100).columns["occurrences"])
    assert neighbors(model, "word7", TIMES[4], min_occurrences=int(least)).columns[
        "occurrences"
    ].tolist() == [least]


@each_kind
def test_off_the_grid_nothing_occurs(kind):
    assert not neighbors(CROWDS[kind], "word7", 1857.5).columns["occurrences"].any()
    assert not len(neighbors(CROWDS[kind], "word7", 1857.5, min_occurrences=1))


@each_kind
def test_a_word_is_not_its_own_neighbour(kind):
    for word in CROWDS[kind].words[:10]:
        assert word not in neighbors(CROWDS[kind], word, top=100).columns["word"]


@each_kind
def test_a_word_without_direction_has_no_neighbours(kind):
    answer = neighbors(model_of(kind), "never")
    assert list(answer.columns) == COLUMNS
    assert len(answer) == 0
    assert answer.notes[0] == "'never' has no occurrences in any slice."


def test_point_estimates_have_neither_interval_nor_probability():
    answer = neighbors(CROWDS["point"], "word7")
    assert len(answer) == 10
    for name in ("low", "high", "probability"):
        assert np.isnan(answer.columns[name]).all()


@each_kind
def test_the_similarity_of_parallel_vectors_is_not_above_one_by_rounding(kind):
    direction = np.random.default_rng(0).standard_normal(7)
    means = np.stack([scale * direction * np.ones((12, 1)) for scale in np.linspace(1.0, 3.0, 40)])
    answer = neighbors(planted(kind, means, 2000.0 if kind == "smoother" else 1e-6), "w3", top=50)
    assert len(answer) == 39
    assert max(answer.columns["similarity"]) <= 1.0


def test_a_word_whose_mean_is_all_but_nothing_can_be_asked_for():
    means = np.random.default_rng(0).standard_normal((5, 12, 6))
    means[0] *= 1e-30
    for kind in ("filter", "smoother"):
        answer = neighbors(planted(kind, means, 0.01 if kind == "filter" else 100.0), "w0", vectors="word")
        assert len(answer) == 4
        assert answer.columns["probability"].tolist() == [1.0] * 4
        assert (answer.columns["low"] < 0.0).all()


def cloud(dim=100, words=30, slices=4, seed=5):
    """Words around one, in so many dimensions that lengths vary little; the noise of each is another."""
    generator = np.random.default_rng(seed)
    center = generator.standard_normal(dim)
    places = center + generator.uniform(0.3, 1.2, (words, 1)) * generator.standard_normal((words, dim))
    drift = 0.1 * generator.standard_normal((words, slices, dim)).cumsum(axis=1)
    precision = generator.uniform(0.3, 3.0, (words, 1, 1)) * np.ones((1, slices, 1))
    times = np.arange(1900.0, 1900.0 + slices)
    return planted(
        "smoother", places[:, None] + drift, precision, times=times, constant=0.3, prior_variance=20.0
    )


CLOUD = cloud()
#: Four standard errors of a share of DRAWS draws, and of 2,000 more that it is compared with.
CLOSE = 4.0 * math.sqrt(0.25 / DRAWS + 0.25 / 2000)


def drawn_shares(model, word, at, then, best, vectors, listed):
    """How often each listed word is among the nearest when all vectors are drawn, by true cosines."""
    if at == then:
        draws = {name: draws_of(model, name, 2000, [then], vectors, seed=1)[:, 0] for name in {word, *listed}}
        own = draws[word]
    else:
        draws = {name: draws_of(model, name, 2000, [at, then], vectors, seed=1) for name in {word, *listed}}
        own, draws = draws[word][:, 0], {name: both[:, 1] for name, both in draws.items()}
    cosines = [
        np.einsum("nk,nk->n", own, draws[name])
        / np.linalg.norm(own, axis=1)
        / np.linalg.norm(draws[name], axis=1)
        for name in listed
    ]
    return share_among(np.stack(cosines, axis=1), best)


@pytest.mark.parametrize("vectors", ["word", "sum"])
@pytest.mark.parametrize("top", [1, 5])
def test_probabilities_are_those_of_drawing_all_vectors(vectors, top):
    listed = neighbors(CLOUD, "w4", 1901.0, top=100, vectors=vectors).columns["word"]
    found = question.candidates(CLOUD, question.vectors_of(CLOUD, vectors), 4, 1901.0, 1901.0, top)
    assert {CLOUD.words[number] for number in found.words} == set(listed)
    listed = [CLOUD.words[number] for number in found.words]
    expected = drawn_shares(CLOUD, "w4", 1901.0, 1901.0, top, vectors, listed)
    assert (np.abs(expected - 0.5) < 0.45).sum() >= 2
    assert_allclose(found.probability, expected, atol=CLOSE)


def test_a_question_asked_twice_is_answered_alike():
    one, other = (neighbors(CLOUD, "w4", 1901.0) for _ in range(2))
    assert one.columns["probability"].tolist() == other.columns["probability"].tolist()


def test_probabilities_add_up_to_the_places_there_are():
    found = question.candidates(CLOUD, question.vectors_of(CLOUD), 4, 1901.0, 1901.0, 7)
    assert found.probability.sum() == pytest.approx(7.0, rel=1e-9)


def test_among_no_more_words_than_places_each_has_one():
    assert share_among_best(np.zeros((5, 3)), 3).tolist() == [1.0, 1.0, 1.0]


def test_independent_values_are_among_the_best_as_often_as_drawing_says():
    mean, spread = np.array([1.0, 0.8, 0.0, -1.0, 3.0]), np.array([0.5, 1.0, 2.0, 0.1, 0.2])
    draws = mean + spread * np.random.default_rng(9).standard_normal((4000, 5))
    assert_allclose(probability_of_best(mean, spread, 2), share_among(draws, 2), atol=CLOSE)


@each_kind
@pytest.mark.parametrize("by", ["similarity", "low"])
def test_an_analogy_to_the_same_time_is_a_question_for_neighbours(kind, by):
    one, other = (
        neighbors(CROWDS[kind], "word7", TIMES[4], 9, by),
        analogy(CROWDS[kind], "word7", TIMES[4], TIMES[4], 9, by),
    )
    for name in COLUMNS:
        assert np.array_equal(one.columns[name], other.columns[name], equal_nan=name in COLUMNS[1:5])


@each_kind
@pytest.mark.parametrize(("at", "then"), [(TIMES[4], TIMES[6]), (TIMES[6], TIMES[4]), (1857.5, 1880.0)])
def test_analogies_are_those_of_looking_at_every_word_the_word_itself_included(kind, at, then):
    model = CROWDS[kind]
    answer = analogy(model, "word7", at, then, top=100)
    expected = nearest_words(model, "word7", at, then)
    assert "word7" in answer.columns["word"]
    assert set(answer.columns["word"]) == set(expected)
    if kind != "point":
        low = {word: near.low for word, near in expected.items()}
        earlier, later = sorted((at, then))
        (change,), (deviation,) = expected_change(question.vectors_of(model), np.array([7]), earlier, later)
        low["word7"] = max(-1.0, 1.0 - change - SIDES * deviation)
        assert_allclose(answer.columns["low"], [low[word] for word in answer.columns["word"]], atol=2e-3)


def test_a_word_is_as_similar_to_its_own_past_as_it_did_not_change():
    answer = analogy(CLOUD, "w4", 1901.0, 1903.0, top=100)
    place = answer.columns["word"].index("w4")
    (change,), (deviation,) = expected_change(question.vectors_of(CLOUD), np.array([4]), 1901.0, 1903.0)
    assert answer.columns["similarity"][place] == pytest.approx(1.0 - change)
    assert answer.columns["low"][place] == pytest.approx(1.0 - change - SIDES * deviation)


@pytest.mark.parametrize(("at", "then"), [(1901.0, 1903.0), (1902.0, 1900.0)])
def test_probabilities_of_an_analogy_know_that_a_word_goes_with_its_own_past(at, then):
    found = question.candidates(CLOUD, question.vectors_of(CLOUD), 4, at, then, 1)
    listed = [CLOUD.words[number] for number in found.words]
    expected = drawn_shares(CLOUD, "w4", at, then, 1, "sum", listed)
    assert_allclose(found.probability, expected, atol=CLOSE)


@each_kind
def test_an_analogy_counts_occurrences_at_the_other_time(kind):
    model = CROWDS[kind]
    answer = analogy(model, "word7", TIMES[1], TIMES[6], top=100)
    assert answer.columns["occurrences"].tolist() == [
        model.occurrences(word)[6] for word in answer.columns["word"]
    ]


def test_what_is_outside_the_data_or_absent_is_noted():
    notes = analogy(model_of("smoother"), "middle", 1840.0, 1890.0).notes
    assert ["before the first" in notes[0], "after the last" in notes[1], "does not occur" in notes[2]] == [
        True
    ] * 3
    assert neighbors(model_of("smoother"), "middle", TIMES[2]).notes == []


@each_kind
def test_a_vocabulary_of_one_word_has_no_neighbours(kind):
    assert len(neighbors(model_of(kind, {"alone": [0, 1, 2, 3, 4, 5, 6, 7]}), "alone")) == 0
