"""Surprises: beliefs before and after a slice, what lies between, and a calibrated score."""

import math

import numpy as np
import pytest
from embeddings.models import TIMES, WORDS, crowd, diffusion_of, knots_in, model_of, posterior_of
from numpy.testing import assert_allclose
from oracles.questions import beliefs_of_chain, divergence, drawn_from, exact_model, uses_by_zipf
from oracles.trajectories import filtered

from wordtide.embeddings.trajectories import Beliefs
from wordtide.errors import SettingsError
from wordtide.model.prior import StationaryPrior
from wordtide.questions.surprise import (
    FEW_USES,
    LEAST_COMPARED,
    among_alike,
    information_gained,
    scores_of,
    shift_of,
    surprises,
)

COLUMNS = ["word", "time", "score", "p_value", "information", "occurrences"]
uncertain = pytest.mark.parametrize("kind", ["filter", "smoother"])
MODELS = {kind: model_of(kind) for kind in ("filter", "smoother")}
CROWDS = {kind: crowd(kind) for kind in ("filter", "smoother")}


def words_at(model, t):
    return [word for word in WORDS if t in knots_in(model, word)[0]]


def beliefs_of(model, t):
    words = words_at(model, t)
    return words, model.sides[0].beliefs(np.array([model.index[word] for word in words], dtype=np.int64), t)


def random_beliefs(words=6, dim=4, seed=0):
    generator = np.random.default_rng(seed)
    before = generator.gamma(2.0, size=(words, dim))
    after = before * generator.uniform(0.1, 1.0, (words, dim))
    means = generator.standard_normal((2, words, dim))
    return Beliefs(means[0], before, means[1], after)


def test_information_is_the_textbook_divergence_of_the_belief_after_from_that_before():
    beliefs = random_beliefs()
    found = information_gained(beliefs)
    for n in range(6):
        before = beliefs.before_mean[n], np.diag(beliefs.before_variance[n])
        assert found[n] == pytest.approx(
            divergence(beliefs.after_mean[n], np.diag(beliefs.after_variance[n]), *before)
        )


def test_nothing_learned_is_no_information():
    before = random_beliefs()
    same = Beliefs(before.before_mean, before.before_variance, before.before_mean, before.before_variance)
    assert_allclose(information_gained(same), 0.0, atol=1e-15)


def test_nothing_learned_is_no_shift():
    before = random_beliefs()
    same = Beliefs(before.before_mean, before.before_variance, before.before_mean, before.before_variance)
    assert shift_of(same).tolist() == [0.0] * 6


@pytest.mark.parametrize("measure", [information_gained, shift_of])
def test_the_further_a_word_moves_the_more_it_surprises(measure):
    beliefs = random_beliefs()
    shift = beliefs.after_mean - beliefs.before_mean
    moved = [
        Beliefs(
            beliefs.before_mean,
            beliefs.before_variance,
            beliefs.before_mean + k * shift,
            beliefs.after_variance,
        )
        for k in (0.5, 1.0, 2.0)
    ]
    assert (np.diff([measure(one) for one in moved], axis=0) > 0).all()


@pytest.mark.parametrize("dim", [1, 5, 100])
def test_a_shift_drawn_as_expected_is_a_chi_square(dim):
    generator = np.random.default_rng(1)
    before = generator.gamma(3.0, size=(20_000, dim))
    after = before * generator.uniform(0.2, 0.9, (20_000, dim))
    shift = np.sqrt(before - after) * generator.standard_normal(before.shape)
    found = shift_of(Beliefs(np.zeros_like(before), before, shift, after))
    # of 20,000 draws the mean is off by 1 % at most (d = 1, one standard error), and the variance by 2 to 3 %
    assert found.mean() == pytest.approx(dim, rel=0.04)
    assert found.var() == pytest.approx(2.0 * dim, rel=0.12)


def test_a_word_of_which_all_but_nothing_was_learned_does_not_surprise_by_rounding():
    before = np.full((1, 4), 2.0)
    found = shift_of(Beliefs(np.zeros((1, 4)), before, np.full((1, 4), 1e-7), before * (1.0 - 1e-16)))
    assert found[0] < 1e-6


@pytest.mark.parametrize("t", range(8))
def test_a_filter_believed_what_eq_13_predicts_before_and_what_it_stored_after(t):
    model = MODELS["filter"]
    words, found = beliefs_of(model, t)
    for n, word in enumerate(words):
        slices, mean, variance = knots_in(model, word)
        earlier = slices < t
        for k in range(3):
            means, variances = filtered(
                model.diffusion, slices[earlier], mean[earlier, k], variance[earlier, k]
            )
            assert found.before_mean[n, k] == pytest.approx(means[t], rel=1e-9, abs=1e-12)
            assert found.before_variance[n, k] == pytest.approx(variances[t], rel=1e-9)
        assert (found.after_mean[n] == mean[slices == t][0]).all()
        assert (found.after_variance[n] == variance[slices == t][0]).all()


@pytest.mark.parametrize("t", range(8))
def test_a_smoothers_beliefs_are_those_of_its_messages_by_dense_algebra(t):
    model = MODELS["smoother"]
    words, found = beliefs_of(model, t)
    assert words
    for n, word in enumerate(words):
        slices, mean, precision = knots_in(model, word)
        for k in range(3):
            before, after = beliefs_of_chain(model.diffusion, slices, mean[:, k], precision[:, k], t)
            assert_allclose(
                (found.before_mean[n, k], found.before_variance[n, k]), before, rtol=1e-8, atol=1e-8
            )
            assert_allclose((found.after_mean[n, k], found.after_variance[n, k]), after, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("word", [word for word in WORDS if word != "never"])
def test_after_a_words_last_slice_the_messages_have_become_the_smoothers_own_answer(word):
    model = MODELS["smoother"]
    last = int(knots_in(model, word)[0][-1])
    found = model.sides[0].beliefs(np.array([model.index[word]]), last)
    assert_allclose(found.after_mean[0], model.mean(word, TIMES[last]), rtol=1e-6, atol=1e-7)
    assert_allclose(found.after_variance[0], model.variance(word, TIMES[last]), rtol=1e-9)


@uncertain
def test_beliefs_of_some_words_in_any_order_are_those_of_each(kind):
    model = MODELS[kind]
    together = model.sides[0].beliefs(np.array([4, 1, 0]), 0)
    for n, word in enumerate([4, 1, 0]):
        alone = model.sides[0].beliefs(np.array([word]), 0)
        for name, values in vars(together).items():
            assert (values[n] == getattr(alone, name)[0]).all()


def groups_alike(occurrences):
    """Words of similar frequency, most frequent first: doublings, merged until they are twenty words."""
    groups, waiting = [], []
    for level in range(60, -1, -1):
        waiting += [n for n, often in enumerate(occurrences) if 2**level <= often < 2 ** (level + 1)]
        if len(waiting) >= 20:
            groups.append(waiting)
            waiting = []
    if waiting:  # the rarest are too few: they join the next more frequent
        groups = [*groups[:-1], (groups[-1] if groups else []) + waiting]
    return groups


def curve_through(places, heights, degree):
    """The polynomial of least squares through points, as a function."""
    powers = np.array([[place**k for k in range(degree + 1)] for place in places])
    weights = np.linalg.solve(powers.T @ powers, powers.T @ np.asarray(heights))
    return lambda place: sum(weight * place**k for k, weight in enumerate(weights))


def scores_among_alike(values, occurrences):
    """One word after the other: how far it is from what is usual for its frequency, in usual deviations."""
    groups = groups_alike(occurrences)
    places = [np.mean([math.log(occurrences[n]) for n in group]) for group in groups]
    usual = curve_through(
        places, [np.median([values[n] for n in group]) for group in groups], min(2, len(groups) - 1)
    )
    beyond = [value - usual(math.log(often)) for value, often in zip(values, occurrences, strict=True)]
    spreads = [1.4826022185056018 * np.median([abs(beyond[n]) for n in group]) for group in groups]
    spread = curve_through(places, np.log(spreads), min(1, len(groups) - 1))
    return [one / math.exp(spread(math.log(often))) for one, often in zip(beyond, occurrences, strict=True)]


def skewed(words, seed=4):
    """Values that grow with the occurrences of words, and vary less the more often these occur."""
    generator = np.random.default_rng(seed)
    occurrences = np.maximum(generator.poisson(3000.0 / np.arange(1, words + 1)), 1)
    often = np.log(occurrences)
    return 0.3 + 0.9 * often - 0.05 * often**2 + 0.8 * np.exp(-0.2 * often) * generator.standard_normal(
        words
    ), occurrences


@pytest.mark.parametrize("words", [20, 39, 45, 120, 1000])
def test_scores_are_distances_from_a_parabola_through_the_medians_of_words_alike(words):
    values, occurrences = skewed(words)
    order = np.random.default_rng(0).permutation(words)
    expected = np.array(scores_among_alike(values, occurrences))
    assert_allclose(among_alike(values[order], occurrences[order]), expected[order], rtol=1e-6, atol=1e-9)


def test_in_words_that_follow_the_parabola_scores_are_standard_normal_at_every_frequency():
    values, occurrences = skewed(4000)
    scores = among_alike(values, occurrences)
    for few, many in ((1, 2), (2, 5), (5, 20), (20, 10_000)):
        some = scores[(occurrences >= few) & (occurrences < many)]
        assert len(some) > 100
        assert_allclose(np.quantile(some, [0.05, 0.5, 0.95]), [-1.645, 0.0, 1.645], atol=0.35)


def test_scores_do_not_depend_on_the_units_of_what_is_measured():
    values, occurrences = skewed(200)
    assert_allclose(
        among_alike(5.0 + 3.0 * values, occurrences), among_alike(values, occurrences), rtol=1e-9, atol=1e-9
    )


def test_a_word_that_stands_out_does_not_change_the_scores_of_the_others():
    values, occurrences = skewed(400)
    shaken = values.copy()
    shaken[50] += 100.0
    others = np.arange(400) != 50
    before, after = among_alike(values, occurrences), among_alike(shaken, occurrences)
    assert after[50] > 100.0
    assert np.abs(before - after)[others].max() < 0.5


def test_values_that_are_all_alike_are_no_surprise():
    assert np.abs(among_alike(np.full(30, 2.5), np.arange(1, 31))).max() < 0.01


def test_scores_of_a_slice_are_centered_and_scaled():
    beliefs, occurrences = random_beliefs(words=300), np.arange(1, 301)
    scores = scores_of(beliefs, occurrences)
    assert np.median(scores) == pytest.approx(0.0, abs=1e-12)
    assert np.median(np.abs(scores)) == pytest.approx(0.6744897501960817)


def test_a_word_surprises_by_what_was_not_known_of_it_or_by_what_was_not_expected():
    """In units of words alike each, the larger of both counts."""
    beliefs, occurrences = random_beliefs(words=300), np.arange(1, 301)
    measured = [np.log(measure(beliefs)) for measure in (information_gained, shift_of)]
    best = np.maximum(*(scores_among_alike(values, occurrences) for values in measured))
    scores = scores_of(beliefs, occurrences)
    assert np.argsort(scores).tolist() == np.argsort(best).tolist()


#: A world of which the model knows everything: words drawn from the prior, and the exact posterior of what is
#: seen of them.
SIZE, DIM, SLICES = 800, 20, 12
PRIOR = diffusion_of(
    np.arange(1900.0, 1900.0 + SLICES), constant=0.1, prior_variance=2.0, prior=StationaryPrior
)
OFTEN = 20


@pytest.fixture(scope="module", params=["filter", "smoother"])
def quiet(request):
    """Nothing happens but what the prior expects."""
    generator = np.random.default_rng(1)
    uses = uses_by_zipf(generator, SIZE, SLICES)
    return exact_model(request.param, drawn_from(PRIOR, SIZE, DIM, generator), uses, PRIOR, generator)


@pytest.fixture(scope="module", params=["filter", "smoother"])
def eventful(request):
    """At each slice but the first two, two words with 20 uses or more jump, and two more appear.

    Also words with one or two uses jump, further than any other. The model, and the jumps and the new words
    as (word, slice).
    """
    generator = np.random.default_rng(2)
    uses = uses_by_zipf(generator, SIZE, SLICES)
    truth = drawn_from(PRIOR, SIZE, DIM, generator)
    often = generator.permutation(np.flatnonzero(uses.min(axis=1) >= OFTEN))
    events = [(int(word), 2 + n // 4) for n, word in enumerate(often[: 4 * (SLICES - 2)])]
    jumps, news = events[::2], events[1::2]
    for word, t in jumps:
        truth[word, t:] = drawn_from(PRIOR, 1, DIM, generator)[0, t:]
    for word, t in news:
        uses[word, :t] = 0
    rare = np.flatnonzero(uses.max(axis=1) < FEW_USES)
    truth[rare, 6:] *= -5.0
    return exact_model(request.param, truth, uses, PRIOR, generator), jumps, news


def ranks(model, events):
    """The place of each word in the list of its slice, from 0."""
    lists = {t: surprises(model, float(model.times[t]), top=SIZE).columns["word"] for _, t in events}
    return [lists[t].index(f"w{word}") for word, t in events]


def test_a_planted_jump_of_a_word_with_twenty_uses_is_among_the_first_ten_in_nine_of_ten_cases(eventful):
    model, jumps, _ = eventful
    assert len(jumps) == 20
    assert sum(rank < 10 for rank in ranks(model, jumps)) >= 18


def test_a_word_that_appears_with_twenty_uses_is_among_the_first_ten_in_nine_of_ten_cases(eventful):
    model, _, news = eventful
    assert len(news) == 20
    assert sum(rank < 10 for rank in ranks(model, news)) >= 18


@pytest.mark.parametrize("least", [0, 1, 2])
def test_words_with_one_or_two_uses_follow_all_others_whatever_their_scores(eventful, least):
    model, _, _ = eventful
    higher = 0
    for time in model.times:
        answer = surprises(model, float(time), top=SIZE, min_occurrences=least).columns
        rare = answer["occurrences"] < FEW_USES
        assert (np.diff(rare.astype(int)) >= 0).all()
        higher += np.count_nonzero(answer["score"][rare] > answer["score"][0])
    assert higher > 0


def test_words_with_few_uses_are_in_falling_order_of_their_scores_too(eventful):
    model, _, _ = eventful
    answer = surprises(model, "last", top=SIZE).columns
    for some in (answer["occurrences"] < FEW_USES, answer["occurrences"] >= FEW_USES):
        assert some.sum() > 20
        assert (np.diff(answer["score"][some]) <= 0).all()


def all_scores(model):
    """Scores and occurrences of all words at all slices."""
    answers = [surprises(model, float(time), top=SIZE).columns for time in model.times]
    return tuple(np.concatenate([answer[name] for answer in answers]) for name in ("score", "occurrences"))


def test_scores_of_words_to_which_nothing_happened_are_standard_normal(quiet):
    scores, _ = all_scores(quiet)
    assert len(scores) > 3000
    assert_allclose(np.quantile(scores, [0.05, 0.5, 0.95]), [-1.645, 0.0, 1.645], atol=0.35)


def test_fewer_than_one_percent_of_ordinary_words_have_a_score_above_four(quiet):
    scores, _ = all_scores(quiet)
    assert np.mean(scores > 4.0) < 0.01


def test_scores_of_frequent_words_to_which_nothing_happened_are_standard_normal(quiet):
    scores, occurrences = all_scores(quiet)
    frequent = scores[occurrences >= OFTEN]
    assert len(frequent) > 500
    assert_allclose(np.quantile(frequent, [0.05, 0.5, 0.95]), [-1.645, 0.0, 1.645], atol=0.35)


def test_an_exact_smoother_is_as_surprised_as_a_filter_that_saw_the_same():
    answers = []
    for kind in ("filter", "smoother"):
        generator = np.random.default_rng(3)
        uses = uses_by_zipf(generator, 100, SLICES, most=200.0)
        model = exact_model(kind, drawn_from(PRIOR, 100, 5, generator), uses, PRIOR, generator)
        answers.append(surprises(model, 1907.0, top=100).columns)
    one, other = (dict(zip(answer["word"], answer["score"], strict=True)) for answer in answers)
    assert len(one) > 50
    assert one == pytest.approx(other, abs=1e-3)  # states are in single precision


@uncertain
def test_the_columns_are_those_promised(kind):
    answer = surprises(CROWDS[kind], TIMES[0], top=100)
    assert list(answer.columns) == COLUMNS
    assert set(answer.columns["word"]) == {
        word for word in CROWDS[kind].words if CROWDS[kind].occurrences(word)[0]
    }
    assert answer.columns["time"].tolist() == [TIMES[0]] * len(answer)
    expected = [CROWDS[kind].occurrences(word)[0] for word in answer.columns["word"]]
    assert answer.columns["occurrences"].tolist() == expected
    assert answer.notes == []


@uncertain
def test_the_p_value_is_the_normal_tail_of_the_score(kind):
    answer = surprises(CROWDS[kind], TIMES[0])
    expected = [0.5 * math.erfc(score / math.sqrt(2.0)) for score in answer.columns["score"]]
    assert_allclose(answer.columns["p_value"], expected)


@uncertain
def test_words_are_compared_with_the_others_of_their_slice(kind):
    model = CROWDS[kind]
    words = np.flatnonzero(model.fitted.occurrences.of_slice(5))
    beliefs = model.sides[0].beliefs(words, 5)
    scores = dict(zip(words, scores_of(beliefs, model.fitted.occurrences.of_slice(5)[words]), strict=True))
    answer = surprises(model, TIMES[5], top=100)
    assert answer.facts == {"compared": len(words)}
    assert answer.columns["score"].tolist() == [scores[model.index[word]] for word in answer.columns["word"]]


def of_so_many_words(kind, words):
    """A model of so many words in one slice of several."""
    return model_of(kind, {f"word{n}": [2, 5] for n in range(words)}, values=np.full(2 * words, 10))


@uncertain
def test_a_slice_with_just_enough_words_has_scores(kind):
    answer = surprises(of_so_many_words(kind, LEAST_COMPARED), TIMES[5])
    assert answer.facts == {"compared": LEAST_COMPARED}
    assert np.median(answer.columns["score"]) == pytest.approx(0.0, abs=1e-12)
    assert answer.notes == []


@uncertain
def test_a_slice_with_too_few_words_has_no_scores_and_says_so(kind):
    answer = surprises(of_so_many_words(kind, LEAST_COMPARED - 1), TIMES[5])
    assert answer.facts == {"compared": 0}
    assert np.isnan(answer.columns["score"]).all()
    assert np.isnan(answer.columns["p_value"]).all()
    assert answer.notes == [
        "The slice has 19 words, too few to say what is usual: ranked by information, without scores."
    ]


@uncertain
def test_in_a_slice_with_too_few_words_these_are_ranked_by_information(kind):
    model = MODELS[kind]
    words, beliefs = beliefs_of(model, 0)
    expected = dict(zip(words, information_gained(beliefs), strict=True))
    answer = surprises(model, TIMES[0]).columns
    order = sorted((word for word in expected), key=lambda word: -expected[word])
    uses = {word: model.occurrences(word)[0] for word in words}
    assert answer["word"] == [
        *(w for w in order if uses[w] >= FEW_USES),
        *(w for w in order if uses[w] < FEW_USES),
    ]
    assert_allclose(answer["information"], [expected[word] for word in answer["word"]])


def test_leaving_out_rare_words_changes_no_score():
    model = CROWDS["smoother"]
    whole, some = surprises(model, TIMES[5], top=100), surprises(model, TIMES[5], top=100, min_occurrences=50)
    scores = dict(zip(whole.columns["word"], whole.columns["score"], strict=True))
    assert 0 < len(some) < len(whole)
    assert some.columns["score"].tolist() == [scores[word] for word in some.columns["word"]]


@uncertain
def test_a_list_is_as_long_as_asked_for_and_leaves_out_rare_words(kind):
    model = MODELS[kind]
    assert len(surprises(model, TIMES[0], top=2)) == 2
    assert set(surprises(model, TIMES[0], min_occurrences=9).columns["word"]) == {"gaps", "early"}
    assert len(surprises(model, TIMES[0], min_occurrences=1000)) == 0


def test_at_a_slice_without_words_there_is_no_surprise():
    for kind in ("filter", "smoother"):
        model = model_of(kind, {"a": [0, 1], "b": [0]})
        assert list(surprises(model, TIMES[4]).columns) == COLUMNS
        assert len(surprises(model, TIMES[4])) == 0


@uncertain
def test_a_time_between_slices_is_answered_with_the_nearest_slice_and_a_note(kind):
    answer = surprises(MODELS[kind], 1860.5)
    assert set(answer.columns["time"]) == {TIMES[4]}
    assert answer.notes[0] == "There is no slice at 1860.5; this is the nearest, 1860."
    assert set(surprises(MODELS[kind], 1990).columns["time"]) == {TIMES[-1]}


def test_point_estimates_cannot_be_surprised():
    with pytest.raises(SettingsError, match="Fit the model by filtering or smoothing"):
        surprises(model_of("point"))


@uncertain
def test_a_list_without_places_is_refused(kind):
    with pytest.raises(SettingsError, match="Give 1 or more"):
        surprises(MODELS[kind], top=0)


def test_context_vectors_do_not_change_a_surprise():
    places = {f"word{n}": [n % 7, 7] for n in range(30)}
    posterior, other = posterior_of("smoother", places), posterior_of("smoother", places)
    other.mean_v[:] += 1.0
    one, two = (
        surprises(model_of("smoother", places, posterior=each), TIMES[7]) for each in (posterior, other)
    )
    assert one.columns["score"].tolist() == two.columns["score"].tolist()
