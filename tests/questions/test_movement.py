"""How far words moved: the cosine distance of the means, and bounds for it by sampling and by the posterior."""

import math
from dataclasses import replace

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, TIMES, WORDS, diffusion_of, knots_in, model_of
from numpy.testing import assert_allclose
from oracles.questions import (
    YEARS,
    Z,
    chain_of_data,
    cosine,
    covariance_of,
    draws_of,
    length,
    planted,
    standard_error_of_variance,
    state_of,
)
from oracles.trajectories import prior_precision

from wordtide.embeddings.calibration import measure_calibration
from wordtide.model.prior import StationaryPrior
from wordtide.questions.movement import _PACE_ESTIMATED, ONE_SIDE, change_of, movement
from wordtide.questions.vectors import vectors_of

MODELS = {kind: model_of(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
uncertain = pytest.mark.parametrize("kind", ["filter", "smoother"])
each_choice = pytest.mark.parametrize("vectors", ["word", "context", "sum"])


def moved_words(model, start=TIMES[0], end=TIMES[-1], vectors="sum"):
    return movement(vectors_of(model, vectors), np.arange(len(model.words)), start, end)


def changes_of(model, start=TIMES[0], end=TIMES[-1], vectors="sum"):
    asked = vectors_of(model, vectors), np.arange(len(model.words)), start, end
    return change_of(*asked, movement(*asked))


@each_kind
@each_choice
@pytest.mark.parametrize(
    ("start", "end"), [(TIMES[0], TIMES[-1]), (MOMENTS[0], MOMENTS[4]), (MOMENTS[5], MOMENTS[-1])]
)
def test_the_distance_is_that_of_the_means_and_without_a_posterior_the_change(kind, vectors, start, end):
    model = MODELS[kind]
    found = moved_words(model, start, end, vectors).distance
    if kind == "point":
        assert_allclose(changes_of(model, start, end, vectors).expected, found)
    for number, word in enumerate(WORDS):
        first, last = (state_of(model, word, time, vectors)[0] for time in (start, end))
        expected = 1.0 - cosine(first, last) if first.any() and last.any() else math.nan
        assert found[number] == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("word", ["always", "gaps", "middle"])
def test_the_spread_is_that_of_drawn_movements_along_their_direction(word):
    model, n, number = MODELS["smoother"], 40_000, WORDS.index(word)
    moved = moved_words(model, TIMES[1], TIMES[6])
    means = [state_of(model, word, time)[0] for time in (TIMES[1], TIMES[6])]
    direction = means[1] / length(means[1]) - means[0] / length(means[0])
    draws = draws_of(model, word, n, [TIMES[1], TIMES[6]], seed=2)
    steps = (draws[:, 1] / length(means[1]) - draws[:, 0] / length(means[0])) @ direction / length(direction)
    assert steps.mean() == pytest.approx(
        math.sqrt(moved.squared[number]), abs=4.0 * steps.std() / math.sqrt(n)
    )
    assert steps.var() == pytest.approx(
        moved.spread[number] ** 2, abs=4.0 * standard_error_of_variance(steps)
    )


@pytest.mark.parametrize("word", ["always", "gaps", "middle"])
def test_change_is_that_of_draws_measured_at_their_expected_lengths(word):
    model, number = MODELS["smoother"], WORDS.index(word)
    change = changes_of(model, TIMES[1], TIMES[6], "word")
    draws = draws_of(model, word, 40_000, [TIMES[1], TIMES[6]], seed=3, vectors="word")
    first, last = np.moveaxis(draws / np.sqrt((draws**2).sum(axis=2).mean(axis=0))[:, None], 1, 0)
    cosine = (first * last).sum(axis=1)
    assert 1.0 - cosine.mean() == pytest.approx(change.expected[number], rel=0.02)
    turned = cosine - cosine.mean() * ((first**2).sum(axis=1) + (last**2).sum(axis=1)) / 2.0
    assert _PACE_ESTIMATED * turned.std() == pytest.approx(change.deviation[number], rel=0.03)


def test_the_deviation_of_a_well_known_change_is_that_of_the_cosines_of_draws():
    model = planted("smoother", np.cumsum(np.random.default_rng(8).normal(size=(1, 11, 20)), axis=1), 400.0)
    change = changes_of(model, YEARS[1], YEARS[6], "word")
    draws = draws_of(model, model.words[0], 20_000, [YEARS[1], YEARS[6]], seed=4, vectors="word")
    units = draws / np.sqrt((draws**2).sum(axis=2, keepdims=True))
    cosine = (units[:, 0] * units[:, 1]).sum(axis=1)
    assert 1.0 - cosine.mean() == pytest.approx(change.expected[0], rel=0.01)
    assert _PACE_ESTIMATED * cosine.std() == pytest.approx(change.deviation[0], rel=0.05)


@uncertain
def test_an_interval_that_begins_at_zero_leaves_out_a_tenth_above_it(kind):
    change = changes_of(MODELS[kind], TIMES[1], TIMES[6])
    known = np.isfinite(change.expected)
    assert (change.low[known] <= change.expected[known]).all()
    sides = np.where(change.low > 0.0, Z, ONE_SIDE)
    assert_allclose(change.high, np.minimum(change.expected + sides * change.deviation, 2.0))


@each_choice
def test_the_noise_is_the_summed_variance_of_the_movement_with_the_covariance(vectors):
    model = MODELS["smoother"]
    moved = moved_words(model, TIMES[1], 1865.0, vectors)
    for number, word in enumerate(WORDS):
        (first, before), (last, after) = (state_of(model, word, time, vectors) for time in (TIMES[1], 1865.0))
        if first.any():
            together = covariance_of(model, word, TIMES[1], 1865.0, vectors)
            both = length(first) * length(last)
            expected = (
                sum(before) / length(first) ** 2 + sum(after) / length(last) ** 2 - 2.0 * sum(together) / both
            )
            assert moved.noise[number] == pytest.approx(expected, rel=1e-4)


def test_a_filter_leaves_the_covariance_out():
    model = MODELS["filter"]
    moved = moved_words(model, TIMES[1], 1865.0)
    for number in np.flatnonzero(np.isfinite(moved.squared)):
        (first, before), (last, after) = (state_of(model, WORDS[number], time) for time in (TIMES[1], 1865.0))
        variance = before / length(first) ** 2 + after / length(last) ** 2
        step = last / length(last) - first / length(first)
        assert moved.spread[number] == pytest.approx(
            math.sqrt(sum(step**2 * variance)) / length(step), rel=1e-9
        )
        assert moved.least[number] == pytest.approx(low_end(step, moved.spread[number], variance), rel=1e-9)


def low_end(step, spread, sampling):
    """The lesser of the normal interval's low end and what sampling does not explain, squared."""
    nearest = length(step) - Z * spread
    unexplained = sum(step**2 - sampling) - Z * math.sqrt(sum((2.0 * sampling + 4.0 * step**2) * sampling))
    return min(math.copysign(nearest**2, nearest), unexplained)


def test_the_low_end_takes_away_what_another_sample_of_the_data_would_move():
    """The posterior mean is S times the data, so its movement varies by c' S H S c between samples."""
    model = MODELS["smoother"]
    moved = moved_words(model, TIMES[0], TIMES[6], "word")
    for number, word in enumerate(WORDS):
        slices, _, precision = knots_in(model, word)
        first, last = (state_of(model, word, time, "word")[0] for time in (TIMES[0], TIMES[6]))
        if not first.any():
            assert math.isnan(moved.least[number])
            continue
        step = last / length(last) - first / length(first)
        weights = np.zeros(8)
        weights[0], weights[6] = -1.0 / length(first), 1.0 / length(last)
        variance = np.zeros(3)
        for k in range(3):
            data = np.zeros(8)
            data[slices] = precision[:, k]
            answer = np.linalg.solve(
                prior_precision(model.diffusion, TIMES.tolist()) + np.diag(data), weights
            )
            variance[k] = sum(data * answer**2)
        assert moved.least[number] == pytest.approx(
            low_end(step, moved.spread[number], variance), rel=1e-4, abs=1e-5
        )


def test_of_words_that_stand_still_few_seem_to_have_moved():
    generator = np.random.default_rng(12)
    truth = np.repeat(generator.standard_normal((400, 1, 30)), 12, axis=1)
    model = chain_of_data(truth, 40.0, constant=0.02, prior_variance=2.0, generator=generator)
    low = changes_of(model, YEARS[0], YEARS[-1], "word").low
    assert np.mean(low > 0) < 0.08


def test_words_that_moved_far_are_found_to_have():
    generator = np.random.default_rng(12)
    start, end = generator.standard_normal((2, 100, 1, 30))
    truth = start + np.linspace(0.0, 1.0, 12)[:, None] * (end - start)
    model = chain_of_data(truth, 40.0, constant=0.02, prior_variance=2.0, generator=generator)
    assert (changes_of(model, YEARS[0], YEARS[-1], "word").low > 0).all()


def test_the_true_change_is_covered_as_often_as_promised():
    generator = np.random.default_rng(7)
    prior = np.linalg.inv(prior_precision(diffusion_of(YEARS, 0.1, 5.0), YEARS.tolist()))
    truth = np.einsum("ts,wsk->wtk", np.linalg.cholesky(prior), generator.standard_normal((1500, 12, 20)))
    model = chain_of_data(truth, 3.0, constant=0.1, prior_variance=5.0, generator=generator)
    found = changes_of(model, YEARS[2], YEARS[9], "word")
    units = truth / np.linalg.norm(truth, axis=2, keepdims=True)
    change = 1.0 - np.einsum("wk,wk->w", units[:, 2], units[:, 9])
    assert np.mean(found.expected) == pytest.approx(change.mean(), rel=0.02)
    assert np.mean(change < found.low) < 0.02
    beyond = np.where(found.low > 0.0, 0.05, 0.1).mean()
    assert 0.01 < np.mean(change > found.high) < beyond  # there is room for what is not known of the pace


def test_messages_show_that_vectors_are_smaller_and_drift_faster_than_the_fit_supposes():
    generator, gap = np.random.default_rng(11), np.abs(np.subtract.outer(YEARS, YEARS))
    truth = np.einsum(
        "ts,wsk->wtk",
        np.linalg.cholesky(np.exp(-0.04 * gap)),
        generator.standard_normal((600, len(YEARS), 20)),
    )
    data = truth + generator.standard_normal(truth.shape) / np.sqrt(3.0)
    fitted = StationaryPrior(np.asarray(YEARS, np.float64), 0.04, 2.0)  # with the rate 0.01
    precision = np.linalg.inv(2.0 * np.exp(-0.01 * gap)) + 3.0 * np.eye(len(YEARS))
    means = np.einsum("ts,wsk->wtk", np.linalg.inv(precision), 3.0 * data)
    model = planted("smoother", means, 3.0, times=YEARS)
    found = measure_calibration(replace(model.fitted, diffusion=fitted))
    assert found.variance == pytest.approx(0.5, rel=0.1)
    assert found.pace > 3.6  # four, and more for what is not known of contexts


@pytest.mark.parametrize("word", ["once", "early"])
def test_a_word_that_stands_still_may_yet_have_moved_unseen(word):
    moved = moved_words(MODELS["smoother"], 1880.0, 1890.0)
    change, number = changes_of(MODELS["smoother"], 1880.0, 1890.0), WORDS.index(word)
    assert moved.squared[number] == pytest.approx(0.0, abs=1e-12)
    assert change.low[number] == 0.0
    assert change.high[number] > change.expected[number] > 0.01
    (mean, _), grown = (
        state_of(MODELS["smoother"], word, 1880.0),
        2 * 10.0 * MODELS["smoother"].diffusion.constant,
    )
    assert moved.spread[number] == pytest.approx(math.sqrt(grown) / length(mean), rel=1e-3)
