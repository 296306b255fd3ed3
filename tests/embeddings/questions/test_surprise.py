"""Surprises: what was believed before a slice and after it, the information between, and a score that is calibrated."""

import math

import numpy as np
import pytest
from embeddings.models import TIMES, WORDS, diffusion_of, knots_in, model_of, posterior_of
from numpy.testing import assert_allclose
from oracles.questions import beliefs_of_chain, chain_of_data, divergence, planted
from oracles.trajectories import filtered, prior_precision

from wordtide.embeddings.questions.beliefs import Beliefs, beliefs_at
from wordtide.embeddings.questions.surprise import among_alike, surprise, surprises, usual_share
from wordtide.errors import SettingsError

COLUMNS = ["word", "time", "score", "p_value", "information", "occurrences"]
uncertain = pytest.mark.parametrize("kind", ["filter", "smoother"])
MODELS = {kind: model_of(kind) for kind in ("filter", "smoother")}
SLICES = np.arange(1900.0, 1912.0)


def words_at(model, t):
    return [word for word in WORDS if t in knots_in(model, word)[0]]


def beliefs_of(model, t):
    words = words_at(model, t)
    return words, beliefs_at(model, np.array([model.index[word] for word in words], dtype=np.int64), t)


def random_beliefs(words=6, dim=4, seed=0):
    generator = np.random.default_rng(seed)
    before = generator.gamma(2.0, size=(words, dim))
    after = before * generator.uniform(0.1, 1.0, (words, dim))
    means = generator.standard_normal((2, words, dim))
    return Beliefs(means[0], before, means[1], after)


def test_information_is_the_textbook_divergence_of_the_belief_after_from_that_before():
    beliefs = random_beliefs()
    found = surprise(beliefs).information
    for n in range(6):
        before = beliefs.before_mean[n], np.diag(beliefs.before_variance[n])
        assert found[n] == pytest.approx(divergence(beliefs.after_mean[n], np.diag(beliefs.after_variance[n]), *before))


def test_nothing_learned_is_no_information():
    before = random_beliefs()
    same = Beliefs(before.before_mean, before.before_variance, before.before_mean, before.before_variance)
    assert_allclose(surprise(same).information, 0.0, atol=1e-15)
    assert np.isfinite(surprise(same).score).all()


def test_a_greater_shift_is_a_greater_surprise():
    beliefs = random_beliefs()
    shift = beliefs.after_mean - beliefs.before_mean
    scores = [
        surprise(Beliefs(beliefs.before_mean, beliefs.before_variance, beliefs.before_mean + k * shift, beliefs.after_variance))
        for k in (0.5, 1.0, 2.0)
    ]
    assert (np.diff([found.score for found in scores], axis=0) > 0).all()
    assert (np.diff([found.information for found in scores], axis=0) > 0).all()


@pytest.mark.parametrize("dim", [1, 5, 100])
def test_the_score_of_shifts_drawn_as_expected_is_standard_normal(dim):
    """With one coordinate a chi-square is far from normal: there the mean and spread alone are right."""
    generator = np.random.default_rng(1)
    before = generator.gamma(3.0, size=(20_000, dim))
    after = before * generator.uniform(0.2, 0.9, (20_000, dim))
    shift = np.sqrt(before - after) * generator.standard_normal(before.shape)
    score = surprise(Beliefs(np.zeros_like(before), before, shift, after)).score
    assert score.mean() == pytest.approx(0.0, abs=0.1)
    assert score.std() == pytest.approx(1.0, abs=0.1)
    if dim > 1:
        assert np.mean(score > 1.645) == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("t", range(8))
def test_a_filter_believed_what_eq_13_predicts_before_and_what_it_stored_after(t):
    model = MODELS["filter"]
    words, found = beliefs_of(model, t)
    for n, word in enumerate(words):
        slices, mean, variance = knots_in(model, word)
        earlier = slices < t
        for k in range(3):
            means, variances = filtered(model.diffusion, slices[earlier], mean[earlier, k], variance[earlier, k])
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
            assert_allclose((found.before_mean[n, k], found.before_variance[n, k]), before, rtol=1e-8, atol=1e-8)
            assert_allclose((found.after_mean[n, k], found.after_variance[n, k]), after, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("word", [word for word in WORDS if word != "never"])
def test_after_a_words_last_slice_the_messages_have_become_the_smoothers_own_answer(word):
    model = MODELS["smoother"]
    last = int(knots_in(model, word)[0][-1])
    found = beliefs_at(model, np.array([model.index[word]]), last)
    assert_allclose(found.after_mean[0], model.mean(word, TIMES[last]), rtol=1e-6, atol=1e-7)
    assert_allclose(found.after_variance[0], model.variance(word, TIMES[last]), rtol=1e-9)


@uncertain
def test_beliefs_of_some_words_in_any_order_are_those_of_each(kind):
    model = MODELS[kind]
    together = beliefs_at(model, np.array([4, 1, 0]), 0)
    for n, word in enumerate([4, 1, 0]):
        alone = beliefs_at(model, np.array([word]), 0)
        for name, values in vars(together).items():
            assert (values[n] == getattr(alone, name)[0]).all()


def drawn_from_the_prior(words, dim, constant, prior_variance, generator):
    prior = np.linalg.inv(prior_precision(diffusion_of(SLICES, constant, prior_variance), SLICES.tolist()))
    return np.einsum("ts,wsk->wtk", np.linalg.cholesky(prior), generator.standard_normal((words, 12, dim)))


def observed(words, dim):
    """A model of data that were drawn from the model itself."""
    generator = np.random.default_rng(3)
    return chain_of_data(drawn_from_the_prior(words, dim, 0.1, 3.0, generator), 4.0, 0.1, 3.0, generator, SLICES)


@pytest.mark.parametrize("t", [0, 4, 11])
def test_the_score_of_data_drawn_from_the_model_itself_is_standard_normal(t):
    model = observed(2000, 30)
    score = surprise(beliefs_at(model, np.arange(2000), t)).score
    assert score.mean() == pytest.approx(0.0, abs=0.1)
    assert score.std() == pytest.approx(1.0, abs=0.1)


def kalman_filtered(truth, precision, constant, prior_variance, generator):
    """A filtered model of the data: Eq. 13 from slice to slice, and the exact answer at each."""
    data = truth + generator.standard_normal(truth.shape) / math.sqrt(precision)
    diffusion = diffusion_of(SLICES, constant, prior_variance)
    means, variances = np.empty_like(truth), np.empty_like(truth)
    for t in range(truth.shape[1]):
        mean, variance = np.zeros_like(truth[:, 0]), prior_variance
        if t > 0:
            mean, variance = diffusion.passage(SLICES[[t - 1]], SLICES[[t]]).predict(means[:, t - 1], variances[:, t - 1])
        variances[:, t] = 1.0 / (1.0 / variance + precision)
        means[:, t] = variances[:, t] * (mean / variance + precision * data[:, t])
    return planted("filter", means, variances, times=SLICES, constant=constant, prior_variance=prior_variance)


@uncertain
def test_words_with_a_planted_shock_come_first_at_its_slice(kind):
    generator = np.random.default_rng(9)
    truth = drawn_from_the_prior(300, 20, 0.02, 2.0, generator)
    shocked = [5, 77, 140]
    truth[shocked, 7:] += generator.standard_normal((3, 1, 20))
    if kind == "smoother":
        model = chain_of_data(truth, 10.0, 0.02, 2.0, generator, SLICES)
    else:
        model = kalman_filtered(truth, 10.0, 0.02, 2.0, generator)
    answer = surprises(model, SLICES[7], top=5)
    assert {model.words.index(word) for word in answer.columns["word"][:3]} == set(shocked)
    assert min(answer.columns["p_value"][:3]) < 1e-6
    assert answer.columns["p_value"][3] > 1e-4
    assert not {f"w{n}" for n in shocked} & set(surprises(model, SLICES[3], top=3).columns["word"])


@uncertain
def test_the_columns_are_those_promised_ranked_by_score(kind):
    answer = surprises(MODELS[kind], TIMES[0])
    assert list(answer.columns) == COLUMNS
    assert set(answer.columns["word"]) == {"always", "gaps", "early"}
    assert (np.diff(answer.columns["score"]) <= 0).all()
    assert answer.columns["time"].tolist() == [TIMES[0]] * 3
    expected = [MODELS[kind].occurrences(word)[0] for word in answer.columns["word"]]
    assert answer.columns["occurrences"].tolist() == expected
    assert answer.notes == []


@uncertain
def test_the_p_value_is_the_normal_tail_of_the_score(kind):
    answer = surprises(MODELS[kind], TIMES[0])
    expected = [0.5 * math.erfc(score / math.sqrt(2.0)) for score in answer.columns["score"]]
    assert_allclose(answer.columns["p_value"], expected)
    assert np.isfinite(answer.columns["information"]).all()
    assert (answer.columns["information"] >= 0).all()


def test_the_share_of_shifts_that_are_usual_is_found_along_each_axis():
    generator = np.random.default_rng(4)
    before = generator.gamma(3.0, size=(20_000, 30))
    after = before * generator.uniform(0.2, 0.9, (20_000, 30))
    share = np.repeat([1.0, 0.25, 0.01], 10)
    shift = np.sqrt(share * (before - after)) * generator.standard_normal(before.shape)
    shift[:400] *= 50.0  # some surprises do not change what is usual
    beliefs = Beliefs(np.zeros_like(before), before, shift, after)
    assert_allclose(usual_share(beliefs), share, rtol=0.1)
    score = surprise(beliefs, usual_share(beliefs)).score[400:]
    assert score.mean() == pytest.approx(0.0, abs=0.1)
    assert score.std() == pytest.approx(1.0, abs=0.1)


def test_scores_are_measured_from_the_median_of_words_that_occur_about_as_often():
    generator = np.random.default_rng(4)
    occurrences = np.repeat([1, 2, 3, 7, 100], [30, 20, 10, 5, 40])
    score = generator.standard_normal(105) + np.log(occurrences)
    groups = [slice(0, 30), slice(30, 65), slice(65, 105)]  # five words alone are too few: they join the next rarer
    centred = np.concatenate([score[group] - np.median(score[group]) for group in groups])
    expected = centred / (1.4826022 * np.median(np.abs(centred)))
    order = generator.permutation(105)
    assert_allclose(among_alike(score[order], occurrences[order]), expected[order], rtol=1e-6, atol=1e-9)


def test_scores_that_are_all_alike_are_no_surprise():
    assert among_alike(np.full(30, 2.5), np.arange(1, 31)).tolist() == [0.0] * 30


def test_words_are_compared_with_the_others_of_their_slice():
    model = observed(50, 6)
    beliefs = beliefs_at(model, np.arange(50), 5)
    occurrences = model.fitted.occurrences.of_slice(5)
    score = among_alike(surprise(beliefs, usual_share(beliefs)).score, occurrences)
    answer = surprises(model, SLICES[5], top=50)
    assert answer.facts == {"compared": 50}
    assert (np.diff(answer.columns["score"]) <= 0).all()
    assert answer.columns["score"].tolist() == [score[model.words.index(word)] for word in answer.columns["word"]]


def test_among_few_words_scores_are_those_of_an_exact_posterior():
    model = MODELS["smoother"]
    words, beliefs = beliefs_of(model, 0)
    expected = dict(zip(words, surprise(beliefs).score, strict=True))
    answer = surprises(model, TIMES[0])
    assert answer.facts == {"compared": 0}
    assert dict(zip(answer.columns["word"], answer.columns["score"], strict=True)) == expected


def test_leaving_out_rare_words_changes_no_score():
    model = observed(50, 6)
    whole, some = surprises(model, SLICES[5], top=50), surprises(model, SLICES[5], top=50, min_occurrences=300)
    scores = dict(zip(whole.columns["word"], whole.columns["score"], strict=True))
    assert 0 < len(some) < 50
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
    assert answer.notes == ["No slice is at 1860.5, and only slices can surprise: this is the nearest, 1860."]
    assert set(surprises(MODELS[kind], 1990).columns["time"]) == {TIMES[-1]}


def test_point_estimates_cannot_be_surprised():
    with pytest.raises(SettingsError, match="Fit the model by filtering or smoothing"):
        surprises(model_of("point"))


@uncertain
def test_a_list_without_places_is_refused(kind):
    with pytest.raises(SettingsError, match="Give 1 or more"):
        surprises(MODELS[kind], top=0)


def test_context_vectors_do_not_change_a_surprise():
    posterior, other = posterior_of("smoother"), posterior_of("smoother")
    other.mean_v[:] += 1.0
    one, two = (surprises(model_of("smoother", posterior=each), TIMES[7]) for each in (posterior, other))
    assert one.columns["score"].tolist() == two.columns["score"].tolist()
