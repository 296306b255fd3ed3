"""Effects are divergences of predicted contexts in bits, without style and beyond the noise."""

from dataclasses import replace

import numpy as np
import pytest
from embeddings.moving_words import WORDS, drawn
from threadpoolctl import threadpool_info, threadpool_limits

from wordtide.api import DynamicEmbeddings, NoteWarning
from wordtide.embeddings.dynamics import dynamics_of, levels_of
from wordtide.embeddings.messages import known_share
from wordtide.embeddings.posterior import Posterior
from wordtide.questions import effect as module
from wordtide.questions.change import changed
from wordtide.questions.effect import VERDICT, divergence, effects, judge, verdicts
from wordtide.questions.function_words import Contexts, function_words, number_of_forms

MOVING = np.array([WORDS[word] for word in ("jumps", "ramps", "bursts", "gaps")])


@pytest.fixture(scope="module")
def model():
    fitted = drawn("smoother")[0]
    return DynamicEmbeddings(replace(fitted, dynamics=dynamics_of(fitted)))


def plain_divergence(first, second):
    middle = (first + second) / 2
    return sum(
        0.5 * p * np.log2(p / m) for one in (first, second) for p, m in zip(one, middle, strict=True) if p > 0
    )


def test_the_divergence_is_that_of_jensen_and_shannon():
    first, second = np.random.default_rng(0).dirichlet(np.ones(7), size=2)
    assert divergence(first[None], second[None])[0] == pytest.approx(plain_divergence(first, second))
    assert divergence(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))[0] == pytest.approx(1.0)
    assert divergence(first[None], first[None])[0] == pytest.approx(0.0, abs=1e-15)


def test_predicted_contexts_are_those_of_the_likelihood(model):
    contexts, u = Contexts.of(model, 1908.0), model.mean("jumps", 1908.0)
    share = model.total_occurrences**0.75
    expected = share * np.exp(model.means_at(1908.0, context=True).astype(float) @ u)
    assert contexts.predicted(u[None])[0] == pytest.approx(expected / expected.sum(), rel=1e-4)


def test_without_style_an_effect_is_the_divergence_between_the_levels(model, monkeypatch):
    monkeypatch.setattr(module, "style_axes", lambda model: np.zeros((0, model.dim)))
    found = effects(model, MOVING)
    levels = levels_of(model.fitted, model.dynamics, MOVING, known_share(model.fitted))
    moments = np.linspace(model.times[0], model.times[-1], module._CONTEXT_TIMES)
    for row, word in enumerate(MOVING):
        nearest = moments[np.argmin(np.abs(moments - model.dynamics.date[word]))]
        sides = Contexts.of(model, float(nearest)).predicted(
            np.stack([levels.before[row], levels.after[row]])
        )
        assert found.effect[row] == pytest.approx(plain_divergence(*sides), rel=1e-9)
    assert (found.style == 0).all()
    assert ((found.effect_low > 0) & (found.effect_low < found.effect)).all()


def test_what_lies_along_the_style_axes_is_style(model, monkeypatch):
    levels = levels_of(model.fitted, model.dynamics, MOVING[:1], known_share(model.fitted))
    way = levels.after[0] - levels.before[0]
    monkeypatch.setattr(module, "style_axes", lambda model: way[None] / np.linalg.norm(way))
    found = effects(model, MOVING)
    assert found.effect[0] == pytest.approx(0.0, abs=1e-9)
    assert found.effect_low[0] == 0.0
    assert found.style[0] > 0.001
    assert (found.effect[1:] > 0).all()


def test_with_little_data_no_effect_is_certain():
    fitted, contexts = drawn("smoother", strength=0.05)[0], drawn("smoother")[0]
    means = {"mean_u": fitted.posterior.mean_u, "mean_v": contexts.posterior.mean_u}
    precisions = {"precision_u": fitted.posterior.precision_u, "precision_v": contexts.posterior.precision_u}
    posterior = Posterior("smoother", fitted.posterior.knots, **means, **precisions)
    shaky = replace(fitted, posterior=posterior, dynamics=dynamics_of(contexts))
    assert (effects(DynamicEmbeddings(shaky), MOVING).effect_low == 0).all()


def test_words_are_listed_by_the_lower_bound_of_their_effects(model):
    answer = changed(model, "first", "last")
    assert answer.facts["by"] == "effect"
    assert set(answer.columns["word"]) == {"jumps", "ramps", "bursts", "gaps"}
    low = np.array(answer.columns["effect_low"])
    assert (np.diff(low) <= 0).all()
    assert changed(model, "first", "last", top=2).columns["word"] == answer.columns["word"][:2]


def test_only_changes_between_the_two_times_are_listed(model):
    assert "bursts" not in changed(model, 1907.5, "last").columns["word"]
    assert changed(model, "first", 1906.0).columns["word"] == ["bursts"]


def test_function_words_are_listed_on_request(model, monkeypatch):
    monkeypatch.setattr(
        "wordtide.questions.change.find_function_words", lambda model: np.arange(len(model.words)) < 2
    )
    assert "jumps" not in changed(model, "first", "last").columns["word"]
    assert "jumps" in changed(model, "first", "last", function_words=True).columns["word"]


def test_without_a_significant_change_words_are_ranked_by_evidence(model):
    """Words with a significant change at another time are left out."""
    answer = changed(model, "first", 1901.0)
    assert answer.facts["by"] == "evidence"
    assert answer.notes[0].startswith("Nothing is significant: no word has a change whose effect")
    assert set(answer.columns["verdict"]) == {"unsure"}
    assert not {"jumps", "ramps", "bursts", "gaps"} & set(answer.columns["word"])
    evidence = np.array(answer.columns["log_bayes_factor"])
    assert len(evidence) > 5
    assert (np.diff(evidence) <= 0).all()
    for_a_change = int((evidence > 0).sum()) or "none"
    assert f"{for_a_change} of these {len(evidence)} ha" in answer.notes[0]


def test_the_order_by_evidence_begins_with_the_words_that_changed(model):
    answer = changed(model, "first", "last", by="evidence")
    assert answer.facts["by"] == "evidence"
    assert not answer.notes
    assert set(answer.columns["word"][:4]) == {"jumps", "ramps", "bursts", "gaps"}
    assert (np.diff(answer.columns["log_bayes_factor"]) <= 0).all()
    assert "rare" not in answer.columns["word"]


def test_filters_say_that_they_find_jumps_only():
    filtered = drawn("filter")[0]
    answer = changed(DynamicEmbeddings(replace(filtered, dynamics=dynamics_of(filtered))), "first", "last")
    assert answer.notes[-1].startswith("Filtering finds jumps only")
    assert "ramps" not in answer.columns["word"]


def test_verdicts_of_words_have_every_column_and_no_dates_without_a_change(model):
    found = verdicts(model, np.array([WORDS["still"], WORDS["jumps"], WORDS["rare"]]))
    assert tuple(found) == VERDICT
    assert found["verdict"] == ["unsure", "jump", "unsure"]
    assert np.isnan(found["effect"]).tolist() == [True, False, True]
    assert np.isnan(found["date"]).tolist() == [True, False, True]
    assert found["shape"] == [None, "jump", None]


def test_point_estimates_say_that_they_have_no_verdicts(model):
    means = {"mean_u": model.fitted.posterior.mean_u, "mean_v": model.fitted.posterior.mean_u}
    point = Posterior("point", model.fitted.posterior.knots, **means)
    plain = DynamicEmbeddings(replace(model.fitted, posterior=point, dynamics=None, method="warm-start"))
    with pytest.warns(NoteWarning, match="fitted by warm-start keeps no messages"):
        table = plain.changed("first", "last")
    assert table["verdict"].tolist() == [None] * len(table)
    assert table["effect"].isna().all()


def test_frequent_short_words_with_unspecific_contexts_are_function_words():
    """Of 2,000 words the first twelve are short and near the origin, and resemble each other."""
    rng = np.random.default_rng(0)
    fitted = drawn("smoother")[0]
    size, dim, first = 2_000, 10, 12
    means = rng.normal(size=(size, dim)) * 0.8
    means[:first] = 0.05 * rng.normal(size=(first, dim)) + 0.1
    names = [*(f"f{n}" for n in range(first)), *(f"content{n}" for n in range(first, size))]
    knots = replace(fitted.posterior.knots, starts=np.arange(size + 1), slices=np.zeros(size, np.int32))
    posterior = Posterior("point", knots, means.astype(np.float32), means.astype(np.float32))
    occurrences = replace(fitted.occurrences, places=knots, values=90_000 // np.arange(5, size + 5))
    world = replace(fitted, words=names, posterior=posterior, occurrences=occurrences, dynamics=None)
    found = function_words(DynamicEmbeddings(world))
    assert found[:first].all()
    assert found[first:].sum() <= 6


def test_words_with_many_forms_are_less_likely_function_words():
    """The same vectors, but the second half of the particles has three forms each."""
    rng = np.random.default_rng(0)
    fitted = drawn("smoother")[0]
    size, dim, first = 2_000, 10, 80
    means = rng.normal(size=(size, dim)) * 0.5
    stems = [f"{a}{b}{c}" for a in "bdfg" for b in "aeiou" for c in "klmn"]
    inflected = [stem + ending for stem in stems[first // 2 :] for ending in ("es", "ed", "ing")]
    rest = [f"q{n:05}" for n in range(size - first - len(inflected))]
    knots = replace(fitted.posterior.knots, starts=np.arange(size + 1), slices=np.zeros(size, np.int32))
    posterior = Posterior("point", knots, means.astype(np.float32), means.astype(np.float32))
    occurrences = replace(fitted.occurrences, places=knots, values=np.full(size, 100))
    order = rng.permutation(first)  # of equal frequency: the order is by number
    names = [*np.array(stems)[order], *rest, *inflected]
    world = replace(fitted, words=names, posterior=posterior, occurrences=occurrences, dynamics=None)
    found = function_words(DynamicEmbeddings(world))[np.argsort(order)]
    assert found[: first // 2].sum() >= 2 * found[first // 2 : first].sum() > 0


def test_forms_differ_by_endings_that_make_words_out_of_words():
    verbs = [stem + ending for stem in ("end", "walk", "land") for ending in ("", "s", "ed", "ing")]
    vocabulary = [*verbs, "along", "alone", "over", "landings"]
    asked = ["end", "ended", "landing", "along", "over", "sending", "his"]
    assert number_of_forms(vocabulary, asked).tolist() == [3, 3, 4, 0, 0, 0, 0]
    assert number_of_forms(["\u6211", "\u6211\u4eec"], ["\u6211"]).tolist() == [0]


def test_contexts_diverge_from_the_square_root_of_their_shares(model):
    contexts = Contexts.of(model, float(model.times[0]))
    words = model.sides[0].means_at(float(model.times[0]))
    chances, shares = contexts.predicted(words), np.sqrt(contexts.share)
    expected = (chances * np.log(chances / (shares / shares.sum()))).sum(axis=1)
    np.testing.assert_allclose(contexts.divergences(words, 1), expected, rtol=1e-9)


def test_effects_and_function_words_are_stored_with_the_dynamics(model, monkeypatch):
    stored = judge(drawn("smoother")[0], threads=2)
    asked = verdicts(model, MOVING)
    again = DynamicEmbeddings(replace(model.fitted, dynamics=stored))
    monkeypatch.setattr(module, "effects", lambda model, words: pytest.fail("computed again"))
    for name in ("effect", "effect_low", "style"):
        assert verdicts(again, MOVING)[name] == pytest.approx(asked[name], rel=1e-12)
    assert (function_words(again) == function_words(model)).all()
    assert np.isnan(stored.effect[~stored.significant]).all()


def test_effects_and_function_words_do_not_depend_on_the_threads_of_blas(model, monkeypatch):
    contexts_of, threads = Contexts.of, set()

    def watched(*asked):
        threads.update(
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        )
        return contexts_of(*asked)

    monkeypatch.setattr(Contexts, "of", watched)
    monkeypatch.setattr("wordtide.questions.function_words.FREQUENT", 0.5)  # of a small vocabulary
    for measure in (lambda fresh: effects(fresh, MOVING), function_words):
        threads.clear()
        with threadpool_limits(2, user_api="blas"):
            measure(DynamicEmbeddings(model.fitted))
        assert threads == {1}
