"""From what to what: near here, less near there, and unlike each other."""

import numpy as np
import pytest
from embeddings.models import KINDS, TIMES, WORDS, crowd, model_of
from oracles.questions import behind_vague_words, cosine, diverse_words, is_known, planted, state_of

from wordtide.questions.contrasts import CHOSEN, SHOWN, contrasts
from wordtide.questions.vectors import vectors_of

each_kind = pytest.mark.parametrize("kind", KINDS)


CROWDS = {kind: crowd(kind, dim=5, seed=2) for kind in KINDS}
ALL = np.arange(60)


@each_kind
@pytest.mark.parametrize(("start", "end"), [(TIMES[1], TIMES[6]), (1840.0, 1890.0)])
def test_lost_and_gained_have_no_word_in_common_and_not_the_word_itself(kind, start, end):
    found = contrasts(vectors_of(CROWDS[kind]), ALL, start, end)
    assert len(found) == 60
    for word, pair in enumerate(found):
        listed = [*pair.lost, *pair.gained]
        assert len(set(listed)) == len(listed)
        assert word not in listed
        assert max(len(pair.lost), len(pair.gained)) <= SHOWN
    assert any(pair.lost and pair.gained for pair in found) or kind == "filter"


@each_kind
@pytest.mark.parametrize("shown", [1, 3, 8])
def test_words_are_chosen_one_by_one_for_nearness_contrast_and_difference(kind, shown):
    model, start, end = CROWDS[kind], TIMES[3], TIMES[6]
    states = {time: [state_of(model, word, time) for word in model.words] for time in (start, end)}
    means = {time: [mean for mean, _ in states[time]] for time in (start, end)}
    known = {time: [is_known(model, word, time) for word in model.words] for time in (start, end)}
    units = {
        time: np.array([mean / (np.linalg.norm(mean) or 1.0) for mean in means[time]])
        for time in (start, end)
    }
    for word in (4, 9, 31):
        near = {time: [likeness(means[time], word, other) for other in range(60)] for time in (start, end)}
        noise = {time: [unsure(units[time][word], *state) for state in states[time]] for time in (start, end)}
        pools = {time: nearest_twenty(near[time], known[time]) for time in (start, end)}
        assert all(pools.values())
        lost = diverse_words(
            near[start], noise[start], near[end], units[start], pools[start], max(shown, CHOSEN)
        )
        left = [other for other in pools[end] if other not in lost[:CHOSEN]]
        gained = diverse_words(near[end], noise[end], near[start], units[end], left, shown)
        lost = [other for place, other in enumerate(lost[:shown]) if place < CHOSEN or other not in gained]
        pair = contrasts(vectors_of(model), np.array([word]), start, end, shown)[0]
        assert (pair.lost, pair.gained) == (lost, gained)


@each_kind
@pytest.mark.parametrize("shown", [1, 2, SHOWN, CHOSEN, 8])
def test_the_first_words_are_the_same_however_many_are_shown(kind, shown):
    few, many = (
        contrasts(vectors_of(CROWDS[kind]), ALL, TIMES[3], TIMES[6], number) for number in (shown, 12)
    )
    first = min(shown, CHOSEN)
    assert [pair.lost[:first] for pair in few] == [pair.lost[:first] for pair in many]
    assert [pair.gained for pair in few] == [pair.gained[:shown] for pair in many]
    assert max(len(pair.gained) for pair in few) == shown


@each_kind
def test_of_many_words_none_is_both_lost_and_gained(kind):
    for pair in contrasts(vectors_of(CROWDS[kind]), ALL, TIMES[3], TIMES[6], shown=12):
        assert not set(pair.lost) & set(pair.gained)


def nearest_twenty(nearness, known):
    """The nearest words that are well known."""
    order = sorted(range(60), key=lambda other: -nearness[other])
    return [other for other in order if known[other] and nearness[other] > 0][:20]


def likeness(means, word, other):
    """The similarity of a word to another; nothing to itself, or without a direction."""
    if other == word or not means[word].any() or not means[other].any():
        return 0.0
    return cosine(means[word], means[other])


def unsure(unit, mean, variance):
    """The deviation of the inner product of a fixed direction with an uncertain vector, by its length."""
    length = np.linalg.norm(mean)
    return np.sqrt(sum(unit**2 * variance)) / length if length > 0 else np.inf


def test_of_two_words_that_are_known_the_nearer_is_passed_over_if_it_is_much_less_certain():
    means = np.zeros((4, 12, 3))
    means[:] = np.array([[3.0, 0, 0], [3.0, 0.1, 0], [3.0, 1.0, 0], [0, 0, 3.0]])[:, None]
    variances = np.full(means.shape, 0.1)
    variances[1] = 0.7
    certain, uncertain = (planted("filter", means, spread) for spread in (0.1, variances))
    assert is_known(uncertain, "w1", 1900.0)
    assert contrasts(vectors_of(certain), np.array([0]), 1900.0, 1911.0, shown=1)[0].lost == [1]
    assert contrasts(vectors_of(uncertain), np.array([0]), 1900.0, 1911.0, shown=1)[0].lost == [2]


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_only_words_that_are_well_known_are_listed(kind):
    (pair,) = contrasts(
        vectors_of(behind_vague_words(kind, vague=40)), np.array([0]), 1900.0, 1911.0, shown=8
    )
    assert sorted([*pair.lost, *pair.gained]) == [41, 42, 43]


def test_a_word_goes_from_one_topic_to_another():
    generator = np.random.default_rng(0)
    topics = 4.0 * np.eye(8)
    start, end = topics[0], topics[1]
    movers = np.linspace(0.0, 1.0, 12)[None, :, None]
    old, new, other = (
        topic + 0.5 * generator.standard_normal((5, 1, 8)) + 0 * movers for topic in topics[:3]
    )
    means = np.concatenate([start + movers * (end - start), old, new, other])
    names = ["mover", *(f"{topic}{n}" for topic in ("old", "new", "other") for n in range(5))]
    for kind in KINDS:
        model = planted(kind, means, 10.0 if kind == "smoother" else 0.1, words=names)
        (pair,) = contrasts(vectors_of(model), np.array([0]), 1900.0, 1911.0)
        assert [model.words[near][:3] for near in pair.lost] == ["old"] * 3
        assert [model.words[near][:3] for near in pair.gained] == ["new"] * 3


def test_of_two_words_that_are_alike_one_is_shown():
    means = np.zeros((5, 12, 3))
    means[:] = np.array([[3.0, 0, 0], [3.0, 1.0, 0], [3.0, 1.0, 0.01], [3.0, -1.05, 0], [0, 0, 3.0]])[:, None]
    pair = contrasts(vectors_of(planted("point", means)), np.array([0]), 1900.0, 1911.0, shown=2)[0]
    assert pair.lost in ([1, 3], [2, 3])


@each_kind
def test_a_word_that_is_nowhere_is_near_nothing(kind):
    (pair,) = contrasts(vectors_of(model_of(kind)), np.array([WORDS.index("never")]), TIMES[0], TIMES[-1])
    assert (pair.lost, pair.gained) == ([], [])


@each_kind
def test_no_words_have_no_contrasts(kind):
    assert contrasts(vectors_of(model_of(kind)), np.zeros(0, dtype=np.int64), TIMES[0], TIMES[-1]) == []
