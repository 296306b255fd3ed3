"""Changed words: who is listed, in which order, with which probabilities and dates."""

import math

import numpy as np
import pytest
from embeddings.models import KINDS, TIMES, diffusion_of, model_of, posterior_of
from numpy.testing import assert_allclose
from oracles.questions import is_known, planted, share_among

from wordtide.errors import SettingsError
from wordtide.questions import change
from wordtide.questions.change import changed
from wordtide.questions.effect import VERDICT
from wordtide.questions.movement import change_of, movement, starts_and_ends
from wordtide.questions.neighbors import DRAWS
from wordtide.questions.vectors import vectors_of

COLUMNS = [
    "word", "change", "low", "high", "significant", "probability", "since", "until", "halfway_from", "halfway_to", "from", "to",
    "occurrences",
    *VERDICT,
]  # fmt: skip
MODELS = {kind: model_of(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
uncertain = pytest.mark.parametrize("kind", ["filter", "smoother"])
each_choice = pytest.mark.parametrize("vectors", ["word", "context", "sum"])
#: Times as a question may give them, and none.
GIVEN = [(None, None), ("first", "last"), (TIMES[1], TIMES[6])]
given = pytest.mark.parametrize(("since", "until"), GIVEN)


def moved_words(model, start=TIMES[0], end=TIMES[-1], vectors="sum"):
    return movement(vectors_of(model, vectors), np.arange(len(model.words)), start, end)


def crowd(kind, certainty=(0.01, 10.0), seed=1):
    """Sixty words that move at random, frequent and rare ones; the noise of each is one of several."""
    generator = np.random.default_rng(seed)
    places = {
        f"word{n}": sorted({0, 7, *generator.choice(8, generator.integers(0, 8)).tolist()}) for n in range(60)
    }
    posterior = posterior_of(kind, places, 5, seed)
    words = posterior.knots.words
    posterior.mean_u[:] += (3.0 * generator.standard_normal((60, 5)))[words]
    certain = generator.choice(certainty, (60, 1))[words].astype(np.float32)
    for side in "uv":
        if kind == "filter":
            posterior.spread(side)[:] /= certain
        if kind == "smoother":
            posterior.spread(side)[:] *= certain
    values = generator.integers(1, 40, len(words))
    return model_of(
        kind, places, diffusion_of(constant=3.0, prior_variance=50.0), posterior=posterior, values=values
    )


CROWDS = {kind: crowd(kind) for kind in KINDS}
#: The same words in so much noise that none of them moved for certain.
NOISY = {kind: crowd(kind, certainty=(0.0001,)) for kind in KINDS}


def uses_between(model, word, start, end):
    """How often a word occurs from one time to another."""
    return sum(
        n for time, n in zip(model.times, model.occurrences(word), strict=True) if start <= time <= end
    )


def may_be_listed(model, since, until, least, vectors="sum"):
    """Words that occur often enough between two times, and are well known at both, or occur 50 times."""
    starts, ends, _ = starts_and_ends(model, np.arange(len(model.words)), since, until)
    found = set()
    for word, start, end in zip(model.words, starts.tolist(), ends.tolist(), strict=True):
        uses = uses_between(model, word, start, end)
        known = all(is_known(model, word, time, vectors) for time in (start, end))
        if uses >= least and (known or uses >= 50):
            found.add(word)
    return found


@uncertain
def test_low_change_and_high_are_in_order_and_between_none_and_opposite(kind):
    moved = moved_words(CROWDS[kind])
    asked = vectors_of(CROWDS[kind]), np.arange(len(moved.squared)), TIMES[0], TIMES[-1]
    change = change_of(*asked, moved)
    assert (change.low >= 0.0).all()
    assert (change.low <= change.expected).all()
    assert (change.expected <= change.high).all()
    assert (change.high <= 2.0).all()
    assert (change.low > 0).any() or kind == "filter"


@pytest.mark.parametrize("kind", KINDS)
def test_words_that_turn_to_the_opposite_change_by_two_and_no_more(kind):
    means = 3.0 * np.random.default_rng(3).standard_normal((50, 12, 7))
    means[:, -1] = -means[:, 0]
    model = planted(kind, means, 1e6 if kind == "smoother" else 1e-6)
    answer = changed(model, "first", "last", top=50, by="change")
    assert_allclose(answer.columns["change"], 2.0, atol=1e-6)
    assert max(answer.columns["change"]) <= 2.0


@each_kind
def test_words_without_direction_are_not_listed(kind):
    assert "never" not in changed(MODELS[kind], min_occurrences=0, by="low").columns["word"]


@each_kind
@each_choice
@given
def test_words_that_occur_too_seldom_or_are_hardly_known_at_either_time_are_left_out(
    kind, vectors, since, until
):
    model = CROWDS[kind]
    answer = changed(model, since, until, top=100, by="change", min_occurrences=30, vectors=vectors)
    expected = may_be_listed(model, since, until, 30, vectors)
    assert 0 < len(expected) < 60
    assert set(answer.columns["word"]) == expected


@uncertain
@given
def test_a_word_with_fifty_occurrences_is_listed_however_little_is_known_of_it(kind, since, until):
    model = NOISY[kind]
    listed = set(changed(model, since, until, top=100, by="change").columns["word"])
    starts, ends, _ = starts_and_ends(model, np.arange(60), since, until)
    often = {
        word for n, word in enumerate(model.words) if uses_between(model, word, starts[n], ends[n]) >= 50
    }
    assert len(often) > 20
    assert often <= listed


@uncertain
def test_a_rare_word_of_which_little_is_known_is_not_listed(kind):
    generator = np.random.default_rng(0)
    uses = np.ones((3, 12), dtype=np.int64)
    uses[0, :] = 4  # 48 in all
    uses[1, :2] = 10
    uses[1, 2:] = 3  # 50 in all
    model = planted(
        kind, generator.standard_normal((3, 12, 4)), 4.0 if kind == "filter" else 0.1, values=uses.ravel()
    )
    assert changed(model, "first", "last", by="change").columns["word"] == ["w1"]


@each_kind
@given
def test_occurrences_are_those_between_the_two_times_of_the_word(kind, since, until):
    model = CROWDS[kind]
    answer = changed(model, since, until, top=100, by="change", min_occurrences=1).columns
    asked = zip(answer["word"], answer["since"], answer["until"], strict=True)
    assert answer["occurrences"].tolist() == [uses_between(model, *one) for one in asked]


@pytest.mark.parametrize("kind", ["smoother", "point"])
def test_occurrences_outside_the_two_times_do_not_count(kind):
    model = CROWDS[kind]
    few, many = (
        changed(model, TIMES[2], TIMES[4], top=100, by="change", min_occurrences=least) for least in (1, 60)
    )
    assert 0 < len(many) < len(few)
    assert min(many.columns["occurrences"]) >= 60


@each_kind
def test_by_itself_each_word_is_measured_over_its_own_time(kind):
    model = CROWDS[kind]
    answer = changed(model, top=100, by="change").columns
    starts, ends, _ = starts_and_ends(
        model, np.array([model.index[word] for word in answer["word"]]), None, None
    )
    assert len({*zip(starts, ends, strict=True)}) > 3
    assert (answer["since"].tolist(), answer["until"].tolist()) == (starts.tolist(), ends.tolist())


@each_kind
def test_times_that_are_given_are_those_of_every_word(kind):
    answer = changed(CROWDS[kind], "1851", TIMES[6], top=100, by="change").columns
    assert (set(answer["since"]), set(answer["until"])) == ({CROWDS[kind].year("1851")}, {TIMES[6]})


@uncertain
@pytest.mark.parametrize("by", ["low", "probability", "change"])
def test_words_are_ranked_by_what_was_asked_for(kind, by):
    answer = changed(CROWDS[kind], top=12, by=by)
    assert len(answer) == 12
    assert (np.diff(answer.columns[by]) <= 1e-12).all()
    if by != "probability":  # which is one to be among so many, so it is another for a longer list
        assert answer.columns["word"] == changed(CROWDS[kind], top=100, by=by).columns["word"][:12]


@uncertain
@given
def test_ranked_by_the_low_end_all_words_are_listed_that_moved_by_more_than_the_noise_and_no_others(
    kind, since, until
):
    every = changed(CROWDS[kind], since, until, top=100, by="change").columns
    moved = {word for word, low in zip(every["word"], every["low"], strict=True) if low > 0}
    answer = changed(CROWDS[kind], since, until, top=100, by="low")
    assert 0 < len(moved) < len(every["word"])
    assert set(answer.columns["word"]) == moved
    assert answer.notes == []


@uncertain
@pytest.mark.parametrize("by", ["probability", "change"])
def test_ranked_otherwise_words_within_the_noise_are_listed_too(kind, by):
    answer = changed(CROWDS[kind], top=100, by=by)
    assert set(answer.columns["word"]) == may_be_listed(CROWDS[kind], None, None, 20)
    assert set(answer.columns["significant"]) == {False, True}


@uncertain
def test_a_word_is_significant_if_its_interval_begins_above_zero(kind):
    answer = changed(CROWDS[kind], top=100, by="change").columns
    assert answer["significant"].tolist() == [low > 0 for low in answer["low"]]


@uncertain
@pytest.mark.parametrize("at_once", [1, 7])
def test_a_list_is_the_same_however_many_words_are_looked_at_together(kind, at_once, monkeypatch):
    whole = changed(CROWDS[kind], top=9, by="low").columns["word"]
    monkeypatch.setattr(change, "CANDIDATES", at_once)
    assert changed(CROWDS[kind], top=9, by="low").columns["word"] == whole


@uncertain
def test_where_no_word_moved_by_more_than_the_noise_a_note_says_so(kind):
    for since, until, first, last in (("first", "last", 1850, 1870), (TIMES[1], TIMES[6], 1851, 1862)):
        (note,) = changed(NOISY[kind], since, until, by="low").notes
        assert note.startswith(f"No word changed by more than the noise between {first} and {last}.")
        assert "50 or more occurrences" in note


@uncertain
@given
def test_where_no_word_moved_by_more_than_the_noise_frequent_words_are_listed_by_their_change(
    kind, since, until
):
    model = NOISY[kind]
    answer = changed(model, since, until, top=100, by="low").columns
    expected = changed(model, since, until, top=100, by="change", min_occurrences=50).columns["word"]
    assert len(expected) > 20
    assert answer["word"] == expected
    assert (np.diff(answer["change"]) <= 0).all()
    assert not any(answer["significant"])


@uncertain
def test_words_within_the_noise_are_no_more_than_asked_for(kind):
    assert (
        changed(NOISY[kind], top=4, by="low").columns["word"]
        == changed(NOISY[kind], top=100, by="low").columns["word"][:4]
    )


@uncertain
def test_words_within_the_noise_occur_as_often_as_asked_for(kind):
    answer = changed(NOISY[kind], top=100, min_occurrences=90, by="low").columns
    assert 0 < len(answer["word"]) < len(changed(NOISY[kind], top=100, by="low"))
    assert min(answer["occurrences"]) >= 90


@uncertain
def test_where_no_word_is_frequent_nothing_is_listed_and_the_note_says_what_would_help(kind):
    still = 3.0 * np.random.default_rng(0).standard_normal((4, 1, 6)) * np.ones((1, 12, 1))
    model = planted(kind, still, 0.1 if kind == "filter" else 10.0, values=np.full(48, 3))
    answer = changed(model, "first", "last", by="low")
    assert len(answer) == 0
    assert answer.notes[-1].startswith(
        "No word changed by more than the noise between 1900 and 1911. No word occurs 50 times"
    )
    assert "longer slices" in answer.notes[-1]


def test_point_estimates_are_ranked_by_change_and_have_no_intervals():
    for by in ("low", "probability", "change"):
        answer = changed(CROWDS["point"], top=15, by=by)
        assert (np.diff(answer.columns["change"]) <= 0).all()
        for name in ("low", "high", "probability", "halfway_from", "halfway_to"):
            assert np.isnan(np.array(answer.columns[name], dtype=float)).all()


def test_no_change_of_point_estimates_is_significant():
    assert not any(changed(CROWDS["point"], top=100, by="low").columns["significant"])


def test_the_probability_is_how_often_drawn_words_moved_furthest_at_their_drawn_lengths():
    model = CROWDS["smoother"]
    answer = changed(model, "first", "last", top=5, by="probability")
    listed = changed(model, "first", "last", top=100, by="change").columns["word"]
    moved = movement(vectors_of(model), np.array([model.index[word] for word in listed]), TIMES[0], TIMES[-1])
    scale = np.sqrt(1.0 + moved.noise / 2.0)
    draws = np.random.default_rng(4).standard_normal((4000, len(listed)))
    shares = share_among((np.sqrt(moved.squared) + moved.spread * draws) / scale, 5)
    expected = [shares[listed.index(word)] for word in answer.columns["word"]]
    assert_allclose(answer.columns["probability"], expected, atol=4.0 * math.sqrt(0.25 / DRAWS + 0.25 / 4000))
    assert min(expected) < 0.9


def test_a_question_asked_twice_is_answered_alike():
    one, other = (list(changed(CROWDS["smoother"], by="low").rows()) for _ in range(2))
    assert one == other


@each_kind
def test_the_columns_are_those_promised(kind):
    answer = changed(CROWDS[kind], top=3, by="low")
    assert list(answer.columns) == COLUMNS
    assert len(answer) == 3
    for word, lost, gained in zip(*(answer.columns[name] for name in ("word", "from", "to")), strict=True):
        assert word not in lost.split(", ") + gained.split(", ")


def test_filters_show_no_halfway_dates():
    answer = changed(CROWDS["filter"], TIMES[1], TIMES[6], top=100, min_occurrences=1, by="low")
    assert len(answer) > 2
    assert np.isnan([answer.columns["halfway_from"], answer.columns["halfway_to"]]).all()


def test_halfway_dates_lie_between_the_two_times():
    answer = changed(CROWDS["smoother"], TIMES[1], TIMES[6], top=100, min_occurrences=1, by="low")
    first, last = np.array(answer.columns["halfway_from"]), np.array(answer.columns["halfway_to"])
    assert len(answer) > 2
    assert (first >= TIMES[1]).all()
    assert (first < last).all()
    assert (last <= TIMES[6]).all()


@uncertain
def test_a_word_that_may_not_have_moved_has_no_halfway_date(kind):
    answer = changed(CROWDS[kind], TIMES[1], TIMES[6], top=100, by="change", min_occurrences=1)
    still = np.array(answer.columns["low"]) == 0
    assert still.any()
    assert np.isnan(np.array(answer.columns["halfway_from"])[still]).all()
    assert np.isnan(np.array(answer.columns["halfway_to"])[still]).all()


@each_kind
def test_a_list_without_words_has_its_columns(kind):
    answer = changed(MODELS[kind], min_occurrences=10_000, by="low")
    assert list(answer.columns) == COLUMNS
    assert len(answer) == 0


@pytest.mark.parametrize(
    ("kind", "by"),
    [
        ("point", "low"),
        ("smoother", "change"),
        ("smoother", "low"),
    ],
)
def test_if_no_word_occurs_as_often_as_asked_for_a_note_says_so(kind, by):
    assert "No word occurs 10,000 times" in changed(CROWDS[kind], by=by, min_occurrences=10_000).notes[-1]


def test_if_no_word_occurs_as_often_as_asked_for_a_note_says_so_beside_those_on_the_times():
    notes = changed(CROWDS["smoother"], until=1890, by="change", min_occurrences=10_000).notes
    assert ["after the last slice" in notes[0], "No word occurs 10,000 times" in notes[-1]] == [True, True]


@each_kind
@pytest.mark.parametrize(("since", "until"), [("last", "first"), ("first", "first"), (1870, 1850)])
def test_times_that_are_not_in_order_are_refused(kind, since, until):
    with pytest.raises(SettingsError, match="Give a later time"):
        changed(MODELS[kind], since, until, by="low")


@each_kind
def test_an_unknown_ranking_is_refused(kind):
    with pytest.raises(SettingsError, match="Choose effect, evidence, low, probability, change"):
        changed(MODELS[kind], by="beauty")


@each_kind
@pytest.mark.parametrize("top", [0, -1])
def test_a_list_without_places_is_refused(kind, top):
    with pytest.raises(SettingsError, match="Give 1 or more"):
        changed(MODELS[kind], top=top, by="low")
