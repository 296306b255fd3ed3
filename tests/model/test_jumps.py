"""The evidence of jumps, bursts, gradual changes and diffusion agrees with dense Gaussians, and obeys laws."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from wordtide.model import jumps
from wordtide.model.verdicts import (
    BURST,
    DIFFUSION,
    JUMP,
    OUTLIER,
    PARTS,
    RAMP,
    TWO_JUMPS,
    date_quantiles,
    discoveries,
)

V, D = 0.4, 0.01
TIMES = np.array([1900.53, 1901.48, 1903.57, 1904.51, 1908.44, 1909.59, 1911.46, 1912.55])
HALF = 0.3  # of the length of a slice


def dense_evidence(covariance, h, b):
    """log of the integral of N(x; 0, C) prod exp(b x - h x^2 / 2), summed over coordinates, less constant."""
    total = 0.0
    for k in range(h.shape[1]):
        inner = np.eye(len(h)) + covariance @ np.diag(h[:, k])
        total += 0.5 * b[:, k] @ np.linalg.solve(inner, covariance @ b[:, k])
        total -= 0.5 * np.linalg.slogdet(inner)[1]
    return total


def two_levels(share, correlation):
    """The covariance of levels that mix with weights 1 - s and s."""
    mix = np.column_stack([1.0 - share, share])
    return V * mix @ np.array([[1.0, correlation], [correlation, 1.0]]) @ mix.T


def drawn(seed=0, n=8, dim=5, move=0.0):
    rng = np.random.default_rng(seed)
    h = rng.gamma(2.0, 4.0, size=(n, dim))
    level = rng.normal(size=dim) * np.sqrt(V) + move * (np.arange(n) >= n // 2)[:, None]
    return h, h * level + np.sqrt(h) * rng.normal(size=(n, dim))


def explained(times, h, b, half=HALF, uses=None):
    """Everything that the kernel finds for one word; by default it occurs 5 times in each slice."""
    extents = np.column_stack([times - half, times + half])
    often = np.full(len(times), 5) if uses is None else np.array(uses)
    evidence, weights, ramps = np.empty((1, 6)), np.empty((len(times), PARTS + 1)), np.empty((1, 2))
    correlations, windows = np.empty(1), np.empty((1, 2, 2), dtype=np.int64)
    starts, beginnings = np.array([0, len(times)]), np.empty((2, len(times)))
    jumps.evidence_of_words(
        *(starts, times, extents, often, h, b, V, D),
        *(evidence, weights, correlations, ramps, windows, beginnings),
    )
    return evidence[0], weights, correlations[0], ramps[0], (windows[0], beginnings)


@pytest.mark.parametrize("half", [HALF, 0.0])
def test_jumps_have_the_evidence_of_dense_levels_averaged_over_dates_and_uses(half):
    h, b = drawn(move=1.0)
    n, uses, logs = len(TIMES), [1, 3, 40, 2, 5, 8, 30, 1], []
    found = explained(TIMES, h, b, half, uses)
    whole = TIMES[-1] - TIMES[0] + 2 * half
    constant = dense_evidence(np.full((n, n), V), h, b)
    expected = np.zeros((n, PARTS + 1))
    for correlation in jumps.CORRELATIONS:
        for row, part in product(range(2, n - 2), range(PARTS)):
            steps = min(uses[row], jumps.MOST_USES)
            for k in range(steps + 1):
                share = np.where(np.arange(n) == row, k / steps, np.arange(n) > row)
                chance = np.log(binom.pmf(k, steps, 1.0 - (part + 0.5) / PARTS))
                log = dense_evidence(two_levels(share, correlation), h, b)
                logs.append((row, part, log + chance, 2 * half / PARTS))
        for row in range(1, n - 2):
            share = (np.arange(n) > row).astype(float)
            gap = TIMES[row + 1] - TIMES[row] - 2 * half
            logs.append((row, PARTS, dense_evidence(two_levels(share, correlation), h, b), gap))
    for row, part, log, length in logs:
        expected[row, part] += np.exp(log - constant) * length / whole / len(jumps.CORRELATIONS)
    assert found[0][JUMP] == pytest.approx(np.log(expected.sum()), abs=1e-9)
    assert found[1] == pytest.approx(expected / expected.sum(), abs=1e-9)


def test_many_uses_locate_a_jump_within_a_slice_and_a_single_use_does_not():
    """The middle slice has messages of either meaning in equal shares: a jump in its middle, if uses are many."""
    h = np.full((7, 5), 50.0)
    share = np.array([0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0])
    b = h * share[:, None]
    times = 1900.5 + np.arange(7)
    for uses, inside in ((40, (0.9, 1.0)), (1, (0.4, 0.6))):
        weights = explained(times, h, b, 0.45, [uses] * 7)[1]
        assert inside[0] < weights[3, :PARTS].sum() < inside[1]
        if uses == 1:
            assert weights[3, 0] > weights[3, 1]


def test_an_outlier_has_the_evidence_of_one_knot_that_differs():
    h, b = drawn(1)
    n = len(TIMES)
    logs = [
        dense_evidence(two_levels(1.0 * (np.arange(n) == row), correlation), h, b)
        for row in range(n)
        for correlation in jumps.CORRELATIONS
    ]
    constant = dense_evidence(np.full((n, n), V), h, b)
    assert explained(TIMES, h, b)[0][OUTLIER] == pytest.approx(
        np.logaddexp.reduce(logs) - np.log(len(logs)) - constant, abs=1e-9
    )


def test_gradual_changes_have_the_evidence_of_dense_ramps():
    h, b = drawn(2, move=0.5)
    n, scaled, values = len(TIMES), (TIMES - TIMES[0]) / (TIMES[-1] - TIMES[0]), []
    for start, length in jumps.RAMPS:
        share = np.clip((scaled - start) / length, 0.0, 1.0)
        inside = ((scaled > start + 1e-9) & (scaled < start + length - 1e-9)).sum()
        for correlation in jumps.CORRELATIONS:
            log = dense_evidence(two_levels(share, correlation), h, b) if inside >= 2 else -np.inf
            values.append((log, start, start + length))
    logs, starts, ends = np.array(values).T
    weights = np.exp(logs - logs.max())
    constant = dense_evidence(np.full((n, n), V), h, b)
    found = explained(TIMES, h, b)
    assert found[0][RAMP] == pytest.approx(logs.max() + np.log(weights.mean()) - constant, abs=1e-9)
    expected = [weights @ side / weights.sum() for side in (starts, ends)]
    assert found[3] == pytest.approx(TIMES[0] + np.array(expected) * (TIMES[-1] - TIMES[0]), abs=1e-6)


def test_diffusion_has_the_evidence_of_the_stationary_prior():
    h, b = drawn(3, move=1.0)
    logs = [
        dense_evidence(V * np.exp(-scale * D / (2 * V) * np.abs(TIMES[:, None] - TIMES)), h, b)
        for scale in jumps.SCALES
    ]
    constant = dense_evidence(np.full((len(TIMES),) * 2, V), h, b)
    expected = np.logaddexp.reduce(logs) - np.log(len(logs)) - constant
    assert explained(TIMES, h, b)[0][DIFFUSION] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("three", [False, True])
def test_two_change_points_have_the_evidence_of_the_best_dense_window(three):
    rng = np.random.default_rng(4)
    h = rng.gamma(2.0, 8.0, size=(12, 5))
    times = 1900.0 + np.arange(12.0)
    level = np.zeros((12, 5))
    level[4:8], level[8:] = 1.0, 1.8 if three else 0.0
    b = h * level + np.sqrt(h) * rng.normal(size=h.shape)
    n, logs = 12, {}
    for first in range(2, n - 3):
        for last in range(first + 2, n - 1):
            part = (np.arange(n) >= first).astype(int) + (np.arange(n) >= last)
            part = part if three else part % 2
            log = dense_evidence(V * jumps.TYPICAL ** np.abs(part[:, None] - part), h, b)
            logs[first, last] = log + np.log(2.0 / (n - 1) ** 2)
    best = max(logs, key=logs.get)
    evidence, *_, (windows, beginnings) = explained(times, h, b)
    constant = dense_evidence(np.full((n, n), V), h, b)
    assert evidence[TWO_JUMPS if three else BURST] == pytest.approx(logs[best] - constant, abs=1e-9)
    assert windows[0 if three else 1].tolist() == list(best)
    expected = np.array([np.exp(logs.get((first, best[1]), -np.inf)) for first in range(n)])
    assert beginnings[0 if three else 1] == pytest.approx(expected / expected.sum(), abs=1e-9)


def test_time_may_be_shifted_and_reversed():
    h, b = drawn(5, move=1.0)
    evidence, weights, _, ramp, _ = explained(TIMES, h, b)
    assert explained(TIMES + 1000.0, h, b)[0] == pytest.approx(evidence, abs=1e-6)
    backward = explained((4000.0 - TIMES)[::-1], h[::-1].copy(), b[::-1].copy())
    assert backward[0] == pytest.approx(evidence, abs=1e-6)
    assert backward[1][:, :PARTS] == pytest.approx(weights[::-1, PARTS - 1 :: -1], abs=1e-6)
    assert backward[1][:-1, PARTS] == pytest.approx(weights[-2::-1, PARTS], abs=1e-6)
    assert backward[3] == pytest.approx(4000.0 - ramp[::-1], abs=1e-6)


def test_scaling_time_changes_nothing_but_diffusion():
    h, b = drawn(6, move=1.0)
    evidence = explained(TIMES, h, b)[0]
    scaled = explained(TIMES / 100.0, h, b, half=HALF / 100.0)[0]
    assert np.delete(scaled, DIFFUSION) == pytest.approx(np.delete(evidence, DIFFUSION), abs=1e-6)
    assert scaled[DIFFUSION] != pytest.approx(evidence[DIFFUSION], abs=1e-3)


def test_a_change_of_the_first_or_last_knot_alone_is_an_outlier():
    h, b = drawn(7)
    for edge in (0, -1):
        changed = b.copy()
        changed[edge] += 1.5 * h[edge]
        evidence, weights, *_ = explained(TIMES, h, changed)
        assert evidence.argmax() == OUTLIER
        assert weights[[0, -1]] == pytest.approx(0.0)
        assert weights[-2, PARTS] == pytest.approx(0.0)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_words_with_few_knots_have_few_explanations(n):
    h, b = drawn(8, n)
    evidence = explained(TIMES[:n], h, b)[0]
    assert np.isfinite(evidence).tolist() == [n > 2, n > 1, False, False, False, False]


def test_dates_are_uniform_within_and_between_slices():
    extents = np.array([[0.0, 1.0], [3.0, 4.0], [5.0, 6.0]])
    weights = np.array([[0.0, 0.5], [0.25, 0.25], [0.0, 0.0]])
    assert date_quantiles(weights, extents, (0.25, 0.5, 0.625, 0.9)) == pytest.approx([2.0, 3.0, 3.5, 4.6])
    weights = np.array([[0.0, 0.0, 0.0], [0.1, 0.8, 0.1], [0.0, 0.0, 0.0]])
    assert date_quantiles(weights, extents, (0.05, 0.5, 0.95)) == pytest.approx([3.25, 3.75, 4.5])


def test_discoveries_hold_their_rate_on_drawn_bayes_factors():
    rng = np.random.default_rng(0)
    false = found = 0
    for _ in range(20):
        moves = rng.random(2_000) < 0.1
        score = rng.normal(np.where(moves, 4.0, 0.0))  # N(4, 1) against N(0, 1)
        taken = discoveries(4.0 * score - 8.0, rate=0.1)
        false, found = false + (taken & ~moves).sum(), found + taken.sum()
    assert found > 2_000
    assert 0.08 < false / found < 0.12


def test_without_evidence_nothing_is_discovered():
    assert not discoveries(np.full(50, -3.0)).any()
    assert not discoveries(np.zeros(0)).any()
    assert discoveries(np.full(50, 30.0)).all()
