"""When a word was half-way: the last crossing of the mean, in an interval that inverts the band."""

import math

import numpy as np
import pytest
from embeddings.models import KINDS, PLACES, TIMES, WORDS, diffusion_of, model_of, posterior_of
from numpy.testing import assert_allclose
from oracles.questions import YEARS, Z, draws_of, planted, state_of

from wordtide.questions.movement import halfway
from wordtide.questions.vectors import vectors_of

MODELS = {kind: model_of(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
uncertain = pytest.mark.parametrize("kind", ["filter", "smoother"])
SPANS = [
    (TIMES[0], TIMES[-1]),
    (TIMES[2], TIMES[6]),
    (1840.0, 1890.0),
    (1851.0, 1855.0),
    (TIMES[3], TIMES[4]),
]


def crossing(model, word, start=None, end=None, vectors=None):
    start, end = model.times[0] if start is None else start, model.times[-1] if end is None else end
    return halfway(model, vectors_of(model, vectors), np.array([model.index[word]]), start, end)[0]


def slices_of(word, start, end):
    """Two times, and between them the slices in which a word of the small models occurs."""
    return [start, *(TIMES[t] for t in PLACES[word] if start < TIMES[t] < end), end]


def jump(kind, at=6, size=3.0, spread=None):
    """A word that is stationary except for a jump between the slices `at` - 1 and `at`, and another."""
    start, end = size * np.eye(2, 5)
    means = np.stack([np.where(np.arange(12)[:, None] < at, start, end), np.tile(start, (12, 1))])
    return planted(
        kind, means, {"smoother": 1000.0, "filter": 0.001, "point": None}[kind] if spread is None else spread
    )


@uncertain
@pytest.mark.parametrize("at", [1, 6, 11])
def test_a_sharp_jump_is_dated_between_the_slices_around_it(kind, at):
    found = crossing(jump(kind, at), "w0")
    assert (found.earliest, found.latest) == (YEARS[at - 1], YEARS[at])
    assert found.date == pytest.approx(YEARS[at] - 0.5)


def with_a_gap(kind, gap, at=6):
    """A word that jumps between the slices `at` - 1 and `at`, and does not occur in the slices of the gap."""
    places = {"mover": [t for t in range(12) if t not in gap]}
    posterior = posterior_of(kind, places, 5)
    start, end = 3.0 * np.eye(2, 5)
    for mean in (posterior.mean_u, posterior.mean_v):
        mean[:] = np.where(posterior.knots.slices[:, None] < at, start, end)
    if kind != "point":
        for side in "uv":
            posterior.spread(side)[:] = {"smoother": 1000.0, "filter": 0.001}[kind]
    return model_of(
        kind, places, diffusion_of(YEARS, constant=0.001, prior_variance=10.0), posterior=posterior
    )


@uncertain
@pytest.mark.parametrize(("gap", "earliest", "latest"), [
    ((), 1905.0, 1906.0),
    ((5,), 1904.0, 1906.0),
    ((6, 7), 1905.0, 1908.0),
    ((3, 4, 5, 6, 7), 1902.0, 1908.0),
    ((1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 1900.0, 1911.0),
])  # fmt: skip
def test_a_jump_in_a_gap_is_dated_between_the_slices_around_the_gap(kind, gap, earliest, latest):
    found = crossing(with_a_gap(kind, gap), "mover")
    assert (found.earliest, found.latest) == (earliest, latest)


@uncertain
def test_a_gap_away_from_the_jump_does_not_widen_the_interval(kind):
    found = crossing(with_a_gap(kind, gap=(2, 3, 8, 9)), "mover")
    assert (found.earliest, found.latest) == (1905.0, 1906.0)


@each_kind
def test_the_date_of_a_jump_in_a_gap_is_inside_it(kind):
    assert 1902.0 < crossing(with_a_gap(kind, gap=(3, 4, 5, 6, 7)), "mover").date < 1908.0


def test_slices_in_which_the_word_does_not_occur_are_no_dates():
    found = crossing(with_a_gap("smoother", gap=(3, 4, 5, 6, 7)), "mover", 1904.0, 1907.0)
    assert (found.earliest, found.latest) == (1904.0, 1907.0)


def test_point_estimates_have_a_date_and_no_interval():
    found = crossing(jump("point"), "w0")
    assert found.date == pytest.approx(1905.5)
    assert math.isnan(found.earliest)
    assert math.isnan(found.latest)


@each_kind
def test_a_word_that_does_not_move_has_no_date(kind):
    assert np.isnan([*vars(crossing(jump(kind), "w1")).values()]).all()


@pytest.mark.parametrize("kind", ["smoother", "point"])
def test_a_word_known_from_one_slice_alone_has_no_date(kind):
    for seed in range(10):
        assert np.isnan([*vars(crossing(model_of(kind, seed=seed), "once")).values()]).all()


@each_kind
def test_a_word_without_direction_has_no_date(kind):
    assert np.isnan([*vars(crossing(MODELS[kind], "never")).values()]).all()


@uncertain
@pytest.mark.parametrize(("start", "end"), SPANS)
@pytest.mark.parametrize("word", WORDS)
def test_the_interval_holds_the_date_is_as_wide_as_a_slice_and_inside_the_span(kind, word, start, end):
    found = crossing(MODELS[kind], word, start, end)
    if math.isnan(found.date):
        assert math.isnan(found.earliest)
        assert math.isnan(found.latest)
        return
    assert start <= found.earliest <= found.date <= found.latest <= end
    ends = slices_of(word, start, end)
    assert found.earliest in ends
    assert found.latest in ends
    assert found.earliest < found.latest


@each_kind
@pytest.mark.parametrize("word", ["always", "gaps", "middle"])
def test_the_mean_is_as_near_to_the_start_as_to_the_end_at_the_date_and_nearer_to_the_end_ever_after(
    kind, word
):
    model = MODELS[kind]
    start, end = TIMES[2], TIMES[-1]
    found = crossing(model, word, start, end)
    first, last = (state_of(model, word, time)[0] for time in (start, end))
    direction = last / np.linalg.norm(last) - first / np.linalg.norm(first)
    times = slices_of(word, start, end)
    lead = [state_of(model, word, time)[0] @ direction for time in times]
    assert np.interp(found.date, times, lead) == pytest.approx(0.0, abs=1e-9)
    assert all(value > 0 for time, value in zip(times, lead, strict=True) if time > found.date)


@uncertain
@pytest.mark.parametrize("word", ["always", "gaps", "middle"])
def test_outside_the_interval_the_side_is_ninety_five_percent_sure(kind, word):
    model, times = MODELS[kind], slices_of(word, TIMES[2], TIMES[-1])
    found = crossing(model, word, times[0], times[-1])
    first, last = (state_of(model, word, time)[0] for time in (times[0], times[-1]))
    direction = last / np.linalg.norm(last) - first / np.linalg.norm(first)
    for time in times:
        mean, variance = state_of(model, word, time)
        lead, spread = mean @ direction, math.sqrt(variance @ direction**2)
        if time < found.earliest:
            assert lead + Z * spread < 0
        if time > found.latest:
            assert lead - Z * spread > 0


def test_many_words_are_dated_as_each_alone():
    model, words = MODELS["smoother"], np.array([6, 0, 3, 1, 0])
    together = halfway(model, vectors_of(model), words, TIMES[0], TIMES[-1])
    for word, found in zip(words, together, strict=True):
        assert_allclose([*vars(found).values()], [*vars(crossing(model, WORDS[word])).values()], rtol=1e-12)
    assert halfway(model, vectors_of(model), words[:0], TIMES[0], TIMES[-1]) == []


@pytest.mark.parametrize("vectors", ["word", "context", "sum"])
def test_vectors_of_either_side_can_be_dated(vectors):
    means = jump("point").fitted.posterior.mean_u.reshape(2, 12, 5)
    context = jump("point", at=9).fitted.posterior.mean_u.reshape(2, 12, 5)
    found = crossing(planted("smoother", means, 1000.0, context), "w0", vectors=vectors)
    expected = {"word": (1905.0, 1906.0), "context": (1908.0, 1909.0), "sum": (1905.0, 1909.0)}[vectors]
    assert (found.earliest, found.latest) == expected


def last_crossing(times, lead):
    """The last time at which a piecewise linear curve rises through zero; an end if it never does."""
    for t in range(len(times) - 1, 0, -1):
        if lead[t - 1] < 0 <= lead[t]:
            return times[t - 1] + (times[t] - times[t - 1]) * -lead[t - 1] / (lead[t] - lead[t - 1])
        if lead[t] < 0:
            return times[-1]
    return times[0]


def test_the_interval_covers_the_crossings_of_drawn_trajectories_in_about_ninety_percent():
    generator = np.random.default_rng(5)
    times = np.arange(1900.0, 1940.0)
    start, end = generator.standard_normal((2, 6, 1, 20))
    means = start + np.linspace(0.0, 1.0, 40)[:, None] * (end - start)
    model = planted("smoother", means, 0.5, times=times, constant=0.02, prior_variance=5.0)
    covered, widths = [], []
    for number, word in enumerate(model.words):
        found = crossing(model, word, vectors="word")
        first, last = means[number, 0], means[number, -1]
        direction = last / np.linalg.norm(last) - first / np.linalg.norm(first)
        leads = draws_of(model, word, 400, times, "word", seed=1) @ direction
        dates = np.array([last_crossing(times, lead) for lead in leads])
        covered.append(np.mean((dates >= found.earliest) & (dates <= found.latest)))
        widths.append(found.latest - found.earliest)
    assert 0.85 <= np.mean(covered) <= 0.99
    assert max(widths) < 30.0
    assert min(widths) > 1.0
