"""The two times between which a change is measured, which are the same for every question."""

import numpy as np
import pytest
from embeddings.models import KINDS, PLACES, TIMES, WORDS, diffusion_of, model_of
from numpy.testing import assert_array_equal
from oracles.questions import planted

from wordtide.errors import SettingsError
from wordtide.questions.change import changed
from wordtide.questions.movement import starts_and_ends
from wordtide.questions.story import stories, story

each_kind = pytest.mark.parametrize("kind", KINDS)
#: Times as a question may give them, and none.
GIVEN = [
    ("first", "last"),
    (TIMES[1], TIMES[6]),
    ("1851", 1862),
    (None, None),
    (TIMES[1], None),
    (None, TIMES[6]),
]


def occurring(**words):
    """A model of words that occur so often in each of the eight slices: mill=[0, 3, 0, ...]."""
    places = {word: [t for t in range(8) if numbers[t]] for word, numbers in words.items()}
    return model_of(
        "smoother", places, values=np.array([n for numbers in words.values() for n in numbers if n])
    )


def span_of(model, word, since=None, until=None):
    starts, ends, _ = starts_and_ends(model, np.array([model.index[word]]), since, until)
    return int(np.flatnonzero(starts[0] == TIMES)[0]), int(np.flatnonzero(ends[0] == TIMES)[0])


def lifetime(occurrences):
    """First and last slice of a word, one occurrence after the other."""
    uses = [t for t, number in enumerate(occurrences) for _ in range(number)]
    if len(uses) >= 10:
        first, last = uses[4], uses[-5]
    elif uses:
        first, last = uses[0], uses[-1]
    else:
        return 0, 7
    return (first, last) if first < last else (0, 7)


@pytest.mark.parametrize(
    ("occurrences", "expected"),
    [
        ([5, 0, 0, 0, 0, 0, 0, 5], (0, 7)),
        ([4, 1, 0, 0, 0, 0, 1, 4], (1, 6)),
        ([1, 0, 3, 0, 9, 0, 2, 2], (0, 7)),
        ([1, 1, 1, 1, 1, 1, 1, 3], (4, 5)),
        ([0, 4, 0, 0, 0, 0, 5, 0], (1, 6)),
        ([0, 0, 1, 0, 1, 0, 0, 0], (2, 4)),
        ([0, 0, 0, 99, 0, 0, 0, 0], (0, 7)),
        ([0, 0, 0, 1, 0, 0, 0, 0], (0, 7)),
        ([0, 0, 0, 0, 0, 0, 0, 0], (0, 7)),
        ([1, 0, 50, 0, 50, 0, 0, 1], (2, 4)),
    ],
    ids=str,
)
def test_a_words_time_is_from_its_fifth_occurrence_to_its_fifth_to_last(occurrences, expected):
    assert span_of(occurring(word=occurrences), "word") == expected


def test_the_times_of_many_words_are_those_of_counting_their_occurrences_one_by_one():
    generator = np.random.default_rng(5)
    words = {f"word{n}": generator.poisson(generator.choice([0.2, 1.0, 3.0]), 8).tolist() for n in range(300)}
    model = occurring(**words)
    starts, ends, notes = starts_and_ends(model, np.arange(300), None, None)
    expected = [lifetime(numbers) for numbers in words.values()]
    assert len(set(expected)) > 20
    assert_array_equal(np.stack([starts, ends], axis=1), TIMES[np.array(expected)])
    assert notes == []


def test_fractions_of_occurrences_add_up_to_whole_ones():
    """N-grams have such: of a token that is seen at several places each is a share of one."""
    model = model_of(
        "smoother", {"word": list(range(8))}, values=np.array([2.5, 2.0, 0.5, 1.0, 1.0, 0.25, 2.0, 2.75])
    )
    assert span_of(model, "word") == (2, 5)


def test_the_times_of_some_words_in_any_order_are_those_of_each():
    model, words = model_of("smoother"), np.array([6, 0, 4])
    starts, ends, _ = starts_and_ends(model, words, None, None)
    for n, word in enumerate(words):
        alone = starts_and_ends(model, np.array([word]), None, None)
        assert (starts[n], ends[n]) == (alone[0][0], alone[1][0])


@pytest.mark.parametrize(("since", "until"), [("first", "last"), (TIMES[2], 1855.0), ("1851-11", "1870")])
def test_two_times_that_are_given_hold_for_all_words(since, until):
    model = model_of("smoother")
    starts, ends, _ = starts_and_ends(model, np.arange(len(WORDS)), since, until)
    assert set(starts) == {model.year(since)}
    assert set(ends) == {model.year(until)}


def test_one_time_that_is_given_holds_for_all_words_and_the_other_is_each_words_own():
    model = occurring(early=[5, 9, 5, 0, 0, 0, 0, 0], late=[0, 0, 0, 0, 5, 9, 5, 0])
    assert (span_of(model, "early", since="first"), span_of(model, "late", since="first")) == ((0, 2), (0, 6))
    assert (span_of(model, "early", until="last"), span_of(model, "late", until="last")) == ((0, 7), (4, 7))


def test_where_a_words_own_time_is_not_after_the_one_that_is_given_the_last_slice_is_taken():
    model = occurring(early=[5, 9, 5, 0, 0, 0, 0, 0], late=[0, 0, 0, 0, 5, 9, 5, 0])
    assert span_of(model, "early", since=TIMES[2]) == (2, 7)
    assert span_of(model, "late", until=TIMES[4]) == (0, 4)


@pytest.mark.parametrize(
    ("since", "until"), [("last", None), (None, "first"), ("last", "first"), (1990, None), (None, 1700)]
)
def test_times_that_leave_no_time_for_a_word_are_refused(since, until):
    with pytest.raises(SettingsError, match="Give a later time"):
        starts_and_ends(model_of("smoother"), np.arange(len(WORDS)), since, until)


def test_year_zero_is_refused_like_any_other_time_that_leaves_no_time():
    model = model_of("smoother", diffusion=diffusion_of(TIMES - 1900.0))
    with pytest.raises(SettingsError, match="Give a later time"):
        starts_and_ends(model, np.arange(len(WORDS)), 0, None)


@pytest.mark.parametrize(("since", "until"), [(1840, None), (1840, "last"), (None, 1890), ("first", 1890)])
def test_a_time_outside_the_data_is_noted(since, until):
    _, _, notes = starts_and_ends(model_of("smoother"), np.arange(len(WORDS)), since, until)
    assert [note[:4] for note in notes] == [str(since) if since == 1840 else str(until)]


@each_kind
def test_a_model_without_occurrences_has_one_time_for_all_words(kind):
    starts, ends, _ = starts_and_ends(model_of(kind, {"a": [], "b": []}), np.arange(2), None, None)
    assert (starts.tolist(), ends.tolist()) == ([TIMES[0]] * 2, [TIMES[-1]] * 2)


def moving(kind):
    """Well-known words that turn by right angles at different slices; a few hardly turn."""
    generator = np.random.default_rng(8)
    start, end = 5.0 * generator.standard_normal((2, 9, 1, 12))
    turned = np.arange(8)[:, None] >= generator.integers(2, 7, (9, 1, 1))
    means = np.where(turned, end, start)
    means[7:] = start[7:] + 0.01 * generator.standard_normal((2, 8, 12))
    values = generator.poisson(generator.uniform(1.0, 9.0, (9, 1)) * np.ones(8)) + 1
    return planted(
        kind, means, {"smoother": 300.0, "filter": 0.002}.get(kind), times=TIMES, values=values.ravel()
    )


MOVING = {kind: moving(kind) for kind in KINDS}
SHARED = ("since", "until", "change", "low", "high", "halfway_from", "halfway_to")


@each_kind
@pytest.mark.parametrize(("since", "until"), GIVEN)
def test_changed_and_story_say_the_same_of_a_word(kind, since, until):
    model = MOVING[kind]
    answer = changed(model, since, until, by="change", min_occurrences=1)
    rows = list(zip(*(answer.columns[name] for name in ("word", *SHARED)), strict=True))
    assert len(rows) >= 8
    for word, *found in rows:
        facts = story(model, word, since, until).facts
        assert_array_equal(found, [facts[name] for name in SHARED], err_msg=word)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_of_the_words_that_are_measured_alike_some_moved_by_more_than_the_noise_and_some_did_not(kind):
    assert set(changed(MOVING[kind], by="change", min_occurrences=1).columns["significant"]) == {False, True}


@each_kind
@pytest.mark.parametrize(("since", "until"), GIVEN)
def test_changed_and_story_name_the_same_words_first(kind, since, until):
    model = MOVING[kind]
    for row in changed(model, since, until, by="change", min_occurrences=1).rows():
        facts = story(model, row["word"], since, until).facts
        for side in ("from", "to"):
            assert row[side].split(", ") == facts[side].split(", ")[:3]


def test_words_have_times_of_their_own():
    answer = changed(MOVING["smoother"], min_occurrences=1)
    assert len(set(zip(answer.columns["since"], answer.columns["until"], strict=True))) > 1


@each_kind
def test_stories_of_many_words_are_those_of_each(kind):
    model, words = MOVING[kind], np.array([3, 0, 8, 5])
    for number, told in zip(words, stories(model, words), strict=True):
        alone = story(model, model.words[number])
        assert told.sentence == alone.facts["sentence"]
        assert_array_equal([told.facts[name] for name in SHARED], [alone.facts[name] for name in SHARED])


def test_words_of_one_slice_or_none_are_measured_over_all_of_the_time():
    model = model_of("smoother")
    assert {len(PLACES[word]) for word in ("once", "never")} == {0, 1}
    assert [span_of(model, word) for word in ("once", "never")] == [(0, 7), (0, 7)]
