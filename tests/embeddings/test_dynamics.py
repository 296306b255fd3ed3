"""Verdicts follow from the messages that a posterior holds, and smoothed trajectories follow the verdicts."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from embeddings.models import diffusion_of, knots_of
from embeddings.moving_words import DIM, PLACES, TIMES, WORDS, YEARS, drawn, smoothed, truth

from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.dynamics import (
    DYNAMICS,
    MIN_OCCURRENCES,
    dynamics_of,
    levels_of,
    read_dynamics,
)
from wordtide.embeddings.messages import known_share, messages
from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.embeddings.smoothed import MANY_ROWS
from wordtide.embeddings.state_files import are_sound
from wordtide.embeddings.states import trajectories_of
from wordtide.errors import FolderError, WordtideError
from wordtide.model.knots import Knots, Occurrences
from wordtide.model.prior import ProductPrior, StationaryPrior
from wordtide.model.verdicts import BURST, JUMP, RAMP, Dynamics
from wordtide.storage.arrays import write_tensors


@pytest.fixture(scope="module")
def model():
    return drawn("smoother")[0]


@pytest.fixture(scope="module")
def found(model):
    return dynamics_of(model)


@pytest.mark.parametrize("prior", [StationaryPrior, ProductPrior])
@pytest.mark.parametrize("kind", ["smoother", "filter"])
def test_messages_are_recovered_from_the_posterior(kind, prior):
    fitted, h, b = drawn(kind, prior)
    words = np.array([WORDS["gaps"], WORDS["jumps"]])
    knots, precision, message = messages(fitted, words)
    rows = np.concatenate([np.r_[fitted.posterior.knots.rows_of(word)] for word in words])
    assert knots.slices.tolist() == fitted.posterior.knots.slices[rows].tolist()
    scale = np.sqrt(h[rows])  # the standard deviation of a message
    assert np.abs((precision - h[rows]) / h[rows]).max() < 1e-3
    assert np.abs((message - b[rows]) / scale).max() < 2e-2


def test_each_word_gets_the_verdict_that_was_drawn(found):
    words = np.array([WORDS[word] for word in ("still", "jumps", "ramps", "bursts", "gaps")])
    assert found.verdicts(words) == ["unsure", "jump", "gradual", "jump", "jump"]
    assert found.shape[words].tolist() == [-1, JUMP, RAMP, BURST, JUMP]
    assert not found.significant[len(PLACES) :].any()
    assert 1907.0 < found.date_low[WORDS["jumps"]] < 1908.0 < found.date_high[WORDS["jumps"]] < 1909.0
    assert 1901.5 < found.date_low[WORDS["ramps"]] < 1906.0
    assert 1910.0 < found.date_high[WORDS["ramps"]] < 1914.5
    assert found.date[WORDS["bursts"]] == pytest.approx(1905.0, abs=0.6)
    assert found.second_date[WORDS["bursts"]] == pytest.approx(1911.0, abs=0.6)


def test_the_interval_of_a_jump_spans_the_gap_in_which_a_word_does_not_occur(found):
    """The jump may also fall into the last part of the slice before the gap, which ends with 1904."""
    low, high = found.date_low[WORDS["gaps"]], found.date_high[WORDS["gaps"]]
    assert 1904.75 < low < 1906.0
    assert 1910.0 < high < 1911.2


def test_inserted_empty_slices_change_no_verdict(model, found):
    """Two slices without a word: between two others, and inside the gap of a word."""
    times = np.sort(np.r_[TIMES, 1903.95, 1907.95])
    slices = np.searchsorted(times, TIMES).astype(np.int32)
    knots = Knots(model.posterior.knots.starts, slices[model.posterior.knots.slices])
    longer = replace(
        model,
        labels=[str(year) for year in times],
        diffusion=diffusion_of(times, 0.001, 0.4, StationaryPrior),
        posterior=replace(model.posterior, knots=knots),
        occurrences=Occurrences(knots, model.occurrences.values),
        extents=np.column_stack([times - 0.02, times + 0.02]),
    )
    longer.extents[slices] = model.extents
    again = dynamics_of(longer)
    assert (again.shape == found.shape).all()
    assert again.table() == pytest.approx(found.table(), abs=1e-3, nan_ok=True)


@pytest.mark.parametrize("edge", [0, -1])
def test_a_change_in_the_first_or_last_slice_alone_is_no_jump(edge):
    fitted, h, b = drawn("smoother")
    rows, mean = np.r_[fitted.posterior.knots.rows_of(WORDS["still"])], fitted.posterior.mean_u.copy()
    b[rows[edge]] += h[rows[edge]]  # the data there lie one unit away, 5 standard deviations
    mean[rows] = smoothed(fitted.diffusion, np.arange(YEARS), h[rows], b[rows])[0]
    found = dynamics_of(replace(fitted, posterior=replace(fitted.posterior, mean_u=mean)))
    assert found.verdicts(np.array([WORDS["still"]])) == ["unsure"]


def test_rare_words_are_not_judged(model, found):
    rare = WORDS["rare"]
    assert model.occurrences.of_word(rare, YEARS).sum() < MIN_OCCURRENCES
    assert found.shape[rare] == -1
    assert np.isnan(found.log_bayes_factor[rare])


def test_a_filter_finds_jumps_and_gives_no_verdict_on_gradual_changes():
    found = dynamics_of(drawn("filter")[0])
    assert found.verdicts(np.array([WORDS["jumps"], WORDS["ramps"], WORDS["still"]])) == [
        *("jump", "unsure", "unsure")
    ]
    assert found.log_bayes_factor[WORDS["ramps"]] > 3.0


def test_the_arrays_of_a_discarded_model_are_freed_at_once(model, found):
    words, _ = trajectories_of(replace(model, dynamics=found))
    words.word_means(WORDS["jumps"], TIMES)
    left = weakref.ref(words)
    gc.disable()
    try:
        del words, _
        assert left() is None
    finally:
        gc.enable()


def test_levels_are_near_the_places_before_and_after(model, found):
    words = np.array([WORDS["jumps"], WORDS["ramps"], WORDS["bursts"]])
    levels, rng = levels_of(model, found, words, known_share(model)), np.random.default_rng(1)
    rng.gamma(5.0, 6.0, size=(len(model.posterior.knots), DIM))
    for word in list(PLACES)[:4]:
        places = truth(rng, word, np.array([1900.5, 1908.4, 1915.5]))
        rng.normal(size=(YEARS, DIM))
        if WORDS[word] in words:
            row = words.tolist().index(WORDS[word])
            after = places[1] if word == "bursts" else places[2]
            error = (levels.after - levels.before)[row] - (after - places[0])
            assert np.abs(error / np.sqrt(levels.moved_variance[row])).max() < 4.0
            assert np.abs(levels.before[row] - places[0]).max() < 0.3
            assert np.abs(levels.after[row] - after).max() < 0.3


def test_point_estimates_and_single_slices_have_no_verdicts(model):
    means = {"mean_u": model.posterior.mean_u, "mean_v": model.posterior.mean_u}
    point = replace(model, posterior=Posterior("point", model.posterior.knots, **means))
    assert dynamics_of(point) is None
    assert DynamicEmbeddings(point).dynamics is None


@pytest.mark.parametrize("name", ["jumps", "ramps"])
def test_trajectories_change_as_the_dense_posterior_does(model, found, name):
    """Means, variances and covariances at any moments, before, inside and after the change."""
    jumping = DynamicEmbeddings(replace(model, dynamics=found))
    word, moments = WORDS[name], np.array([1890.0, 1900.9, 1907.2, 1908.3, 1912.0, 1930.0])
    times = np.concatenate([moments, TIMES])
    prior, rho = model.diffusion, found.correlation[word]
    low, high = found.date_low[word], found.date_high[word]
    covariance = prior.prior_variance * np.exp(
        -prior.constant / (2.0 * prior.prior_variance) * np.abs(times[:, None] - times)
    )
    passed = np.clip((times - low) / (high - low), 0.0, 1.0)
    covariance *= rho ** np.abs(passed[:, None] - passed)
    _, h, b = drawn("smoother")
    rows = np.r_[model.posterior.knots.rows_of(word)]
    means = jumping.mean(name, moments)
    variances = jumping.variance(name, moments)
    for k in range(DIM):
        prior_precision = np.linalg.inv(covariance)
        posterior = np.linalg.inv(prior_precision + np.diag(np.r_[np.zeros(6), h[rows, k]]))
        assert means[:, k] == pytest.approx((posterior @ np.r_[np.zeros(6), b[rows, k]])[:6], abs=2e-3)
        assert variances[:, k] == pytest.approx(np.diag(posterior)[:6], rel=1e-4)
        between = jumping.covariance(name, moments[2], moments[4])[k]
        assert between == pytest.approx(posterior[2, 4], rel=1e-3, abs=1e-6)
    least = {"jumps": 1.5, "ramps": 1.05}[name]
    moved = np.linalg.norm(jumping.mean(name, 1910.5) - jumping.mean(name, 1905.5))
    before = DynamicEmbeddings(model)
    assert moved > least * np.linalg.norm(before.mean(name, 1910.5) - before.mean(name, 1905.5))


def test_every_way_to_ask_gives_the_same_means_and_variances(model, found):
    side = DynamicEmbeddings(replace(model, dynamics=found)).sides[0]
    words, slices = np.repeat(np.arange(len(PLACES)), YEARS), np.tile(np.arange(YEARS), len(PLACES))
    for times, one_by_one in (
        (side.means_at_places, side.word_means),
        (side.variances_at_places, side.word_variances),
    ):
        expected = np.concatenate([one_by_one(word, TIMES) for word in range(len(PLACES))])
        assert times(words, slices) == pytest.approx(expected, abs=1e-6)
    weights = side.weights_at_slices(np.arange(len(PLACES)))
    summed = weights.before_weight[..., None] * side.mean[np.maximum(weights.before, 0)]
    summed += weights.after_weight[..., None] * side.mean[np.maximum(weights.after, 0)]
    assert summed.reshape(-1, DIM) == pytest.approx(side.means_at_places(words, slices), abs=1e-6)


@pytest.mark.parametrize("jumping", [True, False])
def test_the_compiled_pass_over_many_moments_has_the_bits_of_numpy(model, found, jumping):
    side = trajectories_of(replace(model, dynamics=found if jumping else None))[0]
    words = np.repeat(np.arange(len(model.words)), 100)
    times = np.tile(np.linspace(TIMES[0] - 1.0, TIMES[-1] + 1.0, 100), len(model.words))
    assert len(words) >= MANY_ROWS
    few = [side.means_of_each(words[n : n + 100], times[n : n + 100]) for n in range(0, len(words), 100)]
    np.testing.assert_array_equal(side.means_of_each(words, times), np.concatenate(few))


def test_words_without_a_verdict_stay_where_they_are(model, found):
    plain, jumping = DynamicEmbeddings(model), DynamicEmbeddings(replace(model, dynamics=found))
    for word in ("still", "rare", "other3"):
        assert (jumping.mean(word) == plain.mean(word)).all()
        assert (jumping.variance(word) == plain.variance(word)).all()


def test_gradual_changes_of_earlier_versions_are_followed_as_before(model, found):
    """Their correlation was not stored."""
    earlier = replace(found, correlation=np.where(found.jumps, found.correlation, np.nan))
    assert are_sound(earlier)
    plain, jumping = DynamicEmbeddings(model), DynamicEmbeddings(replace(model, dynamics=earlier))
    assert (jumping.mean("ramps") == plain.mean("ramps")).all()
    assert (jumping.mean("jumps") != plain.mean("jumps")).any()


def test_means_are_the_same_for_few_words_and_for_many(model, found):
    """Few words are smoothed in NumPy, many by compiled code."""
    few, many = (DynamicEmbeddings(replace(model, dynamics=found)).sides[0] for _ in range(2))
    words = np.flatnonzero(found.significant)
    assert len(words) <= 8
    rows = np.concatenate([np.r_[model.posterior.knots.rows_of(int(word))] for word in words])
    np.testing.assert_array_equal(few.mean[rows], many._smoothed_again(np.tile(words, 3))[: len(rows)])


def test_context_vectors_of_tied_models_jump_with_their_words(model, found):
    jumping = DynamicEmbeddings(replace(model, dynamics=found))
    assert jumping.context_mean("jumps") == pytest.approx(jumping.mean("jumps"), abs=1e-6)


def test_dynamics_are_saved_and_read(tmp_path, model, found):
    DynamicEmbeddings(replace(model, dynamics=found)).save(tmp_path / "model")
    again = DynamicEmbeddings.load(tmp_path / "model", check=True)
    assert np.array_equal(again.fitted.dynamics.table(), found.table(), equal_nan=True)
    assert DynamicEmbeddings(again.fitted).mean("jumps") == pytest.approx(again.mean("jumps"))


def test_dynamics_without_effects_are_read(tmp_path, model, found):
    """Folders written before effects were stored have seven columns."""
    write_tensors(tmp_path / DYNAMICS, {"dynamics": found.table()[:, :7]})
    again = read_dynamics(tmp_path)
    assert np.array_equal(again.table(), found.table(), equal_nan=True)
    write_tensors(tmp_path / DYNAMICS, {"dynamics": found.table()[:, :5]})
    with pytest.raises(ValueError, match="wrong shape"):
        read_dynamics(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("shape", 9.0), ("correlation", 1.0), ("date_low", 1999.0), ("log_bayes_factor", np.inf)],
)
def test_impossible_dynamics_are_refused(tmp_path, model, found, name, value):
    wrong = {field: getattr(found, field).copy() for field in vars(found)}
    wrong[name][WORDS["jumps"]] = value
    DynamicEmbeddings(replace(model, dynamics=Dynamics(**wrong))).save(tmp_path / "model")
    with pytest.raises(FolderError, match="verdicts"):
        DynamicEmbeddings.load(tmp_path / "model")


def test_dynamics_of_other_words_do_not_fit(model, found):
    with pytest.raises(WordtideError, match="dynamics"):
        replace(model, dynamics=Dynamics.of_table(found.table()[:-1]))


def test_where_every_word_seems_to_change_only_evidence_for_a_change_counts():
    """With few words the share of changing ones may come out as 1; a word against which there is evidence stays."""
    fitted, _, _ = drawn("smoother", strength=3.0)
    found = dynamics_of(fitted)
    assert (found.log_bayes_factor[found.significant] > 0).all()
    assert are_sound(found)
    assert not np.isnan(found.date[found.significant]).any()


@pytest.mark.parametrize("years", [2, 3, 4, 5, 6])
def test_short_models_have_sound_verdicts(years):
    rng = np.random.default_rng(years)
    knots = knots_of({f"word{n}": list(range(years)) for n in range(40)})
    mean = rng.normal(size=(len(knots), DIM)).astype(np.float32)
    precision = np.full_like(mean, 200.0)
    fitted = Fitted(
        words=[f"word{n}" for n in range(40)],
        labels=[str(year) for year in range(years)],
        diffusion=diffusion_of(TIMES[:years], 0.1, 1.0, StationaryPrior),
        posterior=Posterior("smoother", knots, mean, mean, precision_u=precision, precision_v=precision),
        occurrences=Occurrences(knots, np.full(len(knots), 50)),
        method="smoothing",
        solver="natural",
    )
    found = dynamics_of(fitted)
    assert found.significant.any() or years == 4  # there, one slice that differs explains as much
    assert are_sound(found)


def test_the_known_share_compares_squared_means_of_contexts_with_their_variances():
    fitted, _, _ = drawn("smoother")
    side = DynamicEmbeddings(replace(fitted, dynamics=None)).sides[1]
    share = known_share(fitted)
    words = np.arange(len(fitted.words))
    total = np.array([fitted.occurrences.of_word(int(word), YEARS).sum() for word in words]) ** 0.75
    active = np.flatnonzero(fitted.posterior.knots.has_at(3))
    mean, variance = side.means_at(TIMES[3], active), side.variances_at(TIMES[3], active)
    exact = total[active] @ mean**2 / (total[active] @ (mean**2 + variance))
    assert share.shape == (YEARS, DIM)
    assert share[3] == pytest.approx(exact, abs=0.02)


def test_messages_that_rest_on_unknown_contexts_count_less():
    """Where contexts are hardly known, most of a message's precision stems from their variances."""
    known, _, _ = drawn("smoother")
    assert known_share(known).min() > 0.5
    posterior = replace(known.posterior, precision_u=known.posterior.precision_u * 1e-3)
    assert known_share(replace(known, posterior=posterior)).max() < known_share(known).min()


def test_all_of_the_precision_of_a_filters_messages_counts():
    assert (known_share(drawn("filter")[0]) == 1.0).all()
