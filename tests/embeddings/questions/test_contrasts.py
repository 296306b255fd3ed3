"""From what to what: near here, less near there, and unlike each other."""

import numpy as np
import pytest
from embeddings.models import KINDS, TIMES, WORDS, model_of, posterior_of
from oracles.questions import cosine, diverse_words, is_known, planted, state_of

from wordtide.embeddings.questions.contrasts import SHOWN, contrasts
from wordtide.embeddings.questions.vectors import vectors_of

each_kind = pytest.mark.parametrize("kind", KINDS)


def crowd(kind, words=60, dim=5, seed=2):
    generator = np.random.default_rng(seed)
    places = {f"word{n}": sorted(generator.choice(8, generator.integers(0, 9), replace=False)) for n in range(words)}
    posterior = posterior_of(kind, places, dim, seed)
    posterior.mean_u[:] *= 1.5
    return model_of(kind, places, posterior=posterior)


CROWDS = {kind: crowd(kind) for kind in KINDS}
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
    known = {time: [is_known(model, mean, time) for mean in means[time]] for time in (start, end)}
    units = {time: np.array([mean / (np.linalg.norm(mean) or 1.0) for mean in means[time]]) for time in (start, end)}
    for word in (4, 9, 31):
        near = {time: [settled(means[time], known[time], word, other) for other in range(60)] for time in (start, end)}
        noise = {time: [unsure(units[time][word], *state) for state in states[time]] for time in (start, end)}
        pools = {time: nearest_twenty(near[time]) for time in (start, end)}
        lost = diverse_words(near[start], noise[start], near[end], units[start], pools[start], shown)
        left = [other for other in pools[end] if other not in lost]
        gained = diverse_words(near[end], noise[end], near[start], units[end], left, shown)
        pair = contrasts(vectors_of(model), np.array([word]), start, end, shown)[0]
        assert (pair.lost, pair.gained) == (lost, gained)


def nearest_twenty(nearness):
    return [other for other in sorted(range(60), key=lambda other: -nearness[other])[:20] if nearness[other] > 0]


def unsure(unit, mean, variance):
    """The standard deviation of the inner product of a fixed direction with an uncertain vector, by the vector's length."""
    length = np.linalg.norm(mean)
    return np.sqrt(sum(unit**2 * variance)) / length if length > 0 else np.inf


def test_a_word_that_is_hardly_known_is_passed_over_for_one_that_is_known():
    means = np.zeros((4, 12, 3))
    means[:] = np.array([[3.0, 0, 0], [3.0, 0.1, 0], [3.0, 1.5, 0], [0, 0, 3.0]])[:, None]
    variances = np.full(means.shape, 0.1)
    variances[1] = 9.0
    known, unknown = (planted("filter", means, spread) for spread in (0.1, variances))
    assert contrasts(vectors_of(known), np.array([0]), 1900.0, 1911.0, shown=1)[0].lost == [1]
    assert contrasts(vectors_of(unknown), np.array([0]), 1900.0, 1911.0, shown=1)[0].lost == [2]


def settled(means, known, word, other):
    """The similarity of a word to another that is known well enough, or nothing."""
    if other == word or not known[other] or not means[word].any():
        return -np.inf
    return cosine(means[word], means[other])


def test_a_word_goes_from_one_topic_to_another():
    generator = np.random.default_rng(0)
    topics = 4.0 * np.eye(8)
    start, end = topics[0], topics[1]
    movers = np.linspace(0.0, 1.0, 12)[None, :, None]
    old, new, other = (topic + 0.5 * generator.standard_normal((5, 1, 8)) + 0 * movers for topic in topics[:3])
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
