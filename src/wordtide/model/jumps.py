"""Evidence for explanations of a word's messages: no change, jumps, a gradual change, or diffusion.

A message is the likelihood exp(b x - h x^2 / 2) of a coordinate x at a knot. Every explanation is a Gaussian
prior over the values at the knots, so its evidence has a closed form. With two levels x_1, x_2 of variance v
and correlation rho, and a knot at s x_2 + (1 - s) x_1,

    log evidence = 1/2 sum_k [ B' (R + H)^-1 B - log det(I + R^-1 H) ]        R^-1 = v [[1, rho], [rho, 1]]

with H and B the sums of h and b over the knots, weighted by (1 - s)^2, s (1 - s), s^2 and by 1 - s, s. For a
jump, s = 0 before the change point and 1 after it; for a burst, s = 1 inside a window; for a gradual change,
s is a ramp. Cumulative sums give each evidence in time linear in the dimensions, so all change points of a
word take time linear in its knots. Logarithms are natural, and relative to the evidence of a constant level.
"""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic, contained
from wordtide.model.chain_queries import chain_evidence, log_mean, pair_evidence
from wordtide.model.verdicts import (
    BURST,
    DIFFUSION,
    JUMP,
    OUTLIER,
    PARTS,
    RAMP,
    TWO_JUMPS,
)

Array = Any

#: Correlations of a word's levels before and after a change: unrelated, related, and similar meanings.
CORRELATIONS = np.array([0.0, 0.7, 0.9])
#: The correlation of levels if there are two change points.
TYPICAL = 0.7
#: Gradual changes, as start and length, in units of the time from a word's first knot to its last.
RAMPS = np.array(
    [
        (start, length)
        for length in (0.15, 0.25, 0.4, 0.6, 0.8, 1.0)
        for start in np.linspace(0.0, 1.0 - length, 1 + int((1.0 - length) / 0.06))
    ]
)
#: The multiples of the diffusion constant to try.
SCALES = np.array([1.0, 10.0, 100.0])
#: The minimum number of knots on either side of a change point, for words with at least twice as many.
LEAST_KNOTS = 2
#: The maximum number of uses within a slice that are distinguished by date: uses come in clusters, so many of
#: them hardly say more about the share of a slice that they cover than a few.
MOST_USES = 8
_ROUNDING = 1e-9


@contained
def _window_evidence(h: Array, b: Array, v: float, first: int, last: int, correlation: float) -> float:
    """The log evidence of one level at the knots `first` to `last` - 1 and another at all others.

    `h` and `b` are cumulative sums (n + 1, d).
    """
    dim, end = h.shape[1], len(h) - 1
    h11, h12, h22, b1, b2 = np.empty(dim), np.zeros(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    for k in range(dim):
        h22[k], b2[k] = h[last, k] - h[first, k], b[last, k] - b[first, k]
        h11[k], b1[k] = h[end, k] - h22[k], b[end, k] - b2[k]
    return pair_evidence(h11, h12, h22, b1, b2, v, correlation)


@contained
def _three_level_evidence(h: Array, b: Array, v: float, first: int, last: int) -> float:
    """The log evidence of three levels, with change points before the knots `first` and `last`."""
    gain, noise = np.full(3, TYPICAL), np.full(3, v * (1.0 - TYPICAL * TYPICAL))
    gain[0], noise[0] = 0.0, v
    sums_h, sums_b = np.empty((3, h.shape[1])), np.empty((3, h.shape[1]))
    end = len(h) - 1
    for k in range(h.shape[1]):
        sums_h[0, k], sums_b[0, k] = h[first, k], b[first, k]
        sums_h[1, k], sums_b[1, k] = h[last, k] - h[first, k], b[last, k] - b[first, k]
        sums_h[2, k], sums_b[2, k] = h[end, k] - h[last, k], b[end, k] - b[last, k]
    return chain_evidence(gain, noise, sums_h, sums_b)


@contained
def _step_evidence(h: Array, b: Array, v: float, row: int, share: float, correlation: float) -> float:
    """The log evidence of a jump at knot `row`, where a `share` of the uses comes after it."""
    dim, end, rest = h.shape[1], len(h) - 1, 1.0 - share
    h11, h12, h22, b1, b2 = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    for k in range(dim):
        own, message = h[row + 1, k] - h[row, k], b[row + 1, k] - b[row, k]
        h11[k], h12[k] = h[row, k] + rest * rest * own, share * rest * own
        h22[k] = h[end, k] - h[row + 1, k] + share * share * own
        b1[k], b2[k] = b[row, k] + rest * message, b[end, k] - b[row + 1, k] + share * message
    return pair_evidence(h11, h12, h22, b1, b2, v, correlation)


@contained
def _length_of_part(extents: Array, row: int, part: int) -> float:
    """The length of a part of a knot's slice, or of the gap between this slice and the next."""
    if part < PARTS:
        return (extents[row, 1] - extents[row, 0]) / PARTS  # type: ignore[no-any-return]
    return extents[row + 1, 0] - extents[row, 1]  # type: ignore[no-any-return]


@contained
def _chances_after(uses: int, part: int, chances: Array) -> None:
    """Fill `chances` (uses + 1,) with the probabilities that 0, 1, ... uses come after a date in a slice.

    The date is the middle of a part of the slice, and uses are spread evenly: a binomial distribution.
    """
    share = 1.0 - (part + 0.5) / PARTS
    chances[0] = (1.0 - share) ** uses
    for k in range(uses):
        chances[k + 1] = chances[k] * (uses - k) / (k + 1.0) * share / (1.0 - share)


@contained
def _jump_evidence(
    h: Array, b: Array, v: float, extents: Array, uses: Array, least: int, weights: Array
) -> tuple[float, float]:
    """The log evidence of a jump, and the likeliest correlation of its levels.

    `h` and `b` are cumulative sums; `extents` (n, 2) are the first and last date of each slice, `uses` (n,)
    the numbers of uses there. All dates have the same prior probability. Fills `weights` (n, PARTS + 1) with
    the probability that the jump falls into each part of a knot's slice, or between this slice and the next.
    How many uses come after a date within a slice is not known, but has the probability of `_chances_after`.
    """
    n, tried = len(extents), len(CORRELATIONS)
    found, best = np.full((n, MOST_USES + 1, tried), -np.inf), -np.inf  # by the number of uses after the jump
    chances, whole = np.zeros(MOST_USES + 1), extents[n - 1, 1] - extents[0, 0]
    for row in range(max(least - 1, 0), n - least):
        steps = max(1, min(MOST_USES, uses[row]))
        if row > 0:
            found[row, steps] = found[row - 1, 0]
        inside = row >= least and extents[row, 1] > extents[row, 0]
        for k in range(steps if inside else 1):
            for r in range(tried):
                found[row, k, r] = _step_evidence(h, b, v, row, k / steps, CORRELATIONS[r])
                best = max(best, found[row, k, r])
    if best == -np.inf:
        return best, CORRELATIONS[0]
    found[:] = np.exp(found - best)
    total, shares = 0.0, np.zeros(tried)
    for row in range(max(least - 1, 0), n - least):
        steps = max(1, min(MOST_USES, uses[row]))
        for part in range(PARTS + 1):
            prior = _length_of_part(extents, row, part) / whole
            if prior <= 0.0 or (part < PARTS and row < least):  # too few whole knots before
                continue
            chances[0], chances[1:] = 1.0, 0.0
            if part < PARTS:
                _chances_after(steps, part, chances)
            for k in range(steps + 1):
                for r in range(tried):
                    weight = prior * chances[k] * found[row, k, r] / tried
                    weights[row, part] += weight
                    shares[r] += weight
            total += weights[row, part]
    for row in range(n):
        for part in range(PARTS + 1):
            weights[row, part] /= total
    return best + math.log(total), CORRELATIONS[np.argmax(shares)]


@contained
def _outlier_evidence(h: Array, b: Array, v: float) -> float:
    """The log evidence that one knot differs from all others."""
    tried = len(CORRELATIONS)
    logs = np.empty((len(h) - 1) * tried)
    for n in range(len(logs)):
        logs[n] = _window_evidence(h, b, v, n // tried, n // tried + 1, CORRELATIONS[n % tried])
    return log_mean(logs)


@contained
def _weighted_window(h: Array, b: Array, v: float, gaps: Array, first: int, last: int, three: bool) -> float:
    """The log evidence of two change points with their prior probability."""
    prior = math.log(2.0 * gaps[first - 1] * gaps[last - 1])
    if three:
        return prior + _three_level_evidence(h, b, v, first, last)
    return prior + _window_evidence(h, b, v, first, last, TYPICAL)


@contained
def _best_window_evidence(
    h: Array, b: Array, v: float, gaps: Array, least: int, three: bool, edges: Array, weights: Array
) -> float:
    """A lower bound on the log evidence of two change points: that of the best window found.

    With `three`, the levels before and after the window differ; otherwise they are the same. Windows of 2, 4,
    8, ... knots at steps of half their length are tried first; then each edge moves to its best place. Fills
    `edges` (2,) with the window's first knot and the knot after its last, and `weights` (n,) with the
    probability that the window begins at each knot, given its end.
    """
    n, best, length = len(gaps) + 1, -np.inf, least
    while length <= n - 2 * least:
        for first in range(least, n - length - least + 1, max(1, length // 2)):
            value = _weighted_window(h, b, v, gaps, first, first + length, three)
            if value > best:
                best, edges[0], edges[1] = value, first, first + length
        length *= 2
    for _ in range(2):
        for first in range(least, edges[1] - least + 1):
            value = _weighted_window(h, b, v, gaps, first, edges[1], three)
            if value > best:
                best, edges[0] = value, first
        for last in range(edges[0] + least, n - least + 1):
            value = _weighted_window(h, b, v, gaps, edges[0], last, three)
            if value > best:
                best, edges[1] = value, last
    for first in range(least, edges[1] - least + 1):
        weights[first] = math.exp(_weighted_window(h, b, v, gaps, first, edges[1], three) - best)
    weights /= weights.sum()
    return best


@contained
def _ramp_evidence(
    t: Array, h: Array, b: Array, v: float, moments: Array, start: float, length: float
) -> float:
    """The log evidence of a ramp; -inf with fewer than two knots inside, which would make it a jump."""
    n, dim = len(t), h.shape[1]
    first = last = 0
    while first < n and t[first] <= start + _ROUNDING:
        first += 1
    while last < n and t[last] < start + length - _ROUNDING:
        last += 1
    if last - first < 2:
        return -np.inf
    h11, h12, h22 = np.empty(dim), np.empty(dim), np.empty(dim)
    b1, b2 = np.empty(dim), np.empty(dim)
    for k in range(dim):  # sums over the knots inside of s b, s h and s^2 h, with s = (t - start) / length
        m0, m1 = h[last, k] - h[first, k], moments[1, last, k] - moments[1, first, k]
        m2 = moments[2, last, k] - moments[2, first, k]
        sb = (moments[0, last, k] - moments[0, first, k] - start * (b[last, k] - b[first, k])) / length
        sh, ssh = (m1 - start * m0) / length, (m2 - 2.0 * start * m1 + start * start * m0) / (length * length)
        h11[k], h12[k], h22[k] = h[last, k] - 2.0 * sh + ssh, sh - ssh, h[n, k] - h[last, k] + ssh
        b1[k], b2[k] = b[last, k] - sb, b[n, k] - b[last, k] + sb
    logs = np.empty(len(CORRELATIONS))
    for r in range(len(logs)):
        logs[r] = pair_evidence(h11, h12, h22, b1, b2, v, CORRELATIONS[r])
    return log_mean(logs)


@contained
def _gradual_evidence(t: Array, h: Array, b: Array, v: float, ramp: Array) -> float:
    """The log evidence of a gradual change; fills `ramp` (2,) with the posterior means of its start and end.

    `t` (n,) are the times of the knots, from 0 to 1. `h` and `b` are cumulative sums.
    """
    moments = np.zeros((3, len(t) + 1, h.shape[1]))  # of t b, t h and t^2 h
    for row in range(len(t)):
        for k in range(h.shape[1]):
            own, message = h[row + 1, k] - h[row, k], b[row + 1, k] - b[row, k]
            moments[0, row + 1, k] = moments[0, row, k] + t[row] * message
            moments[1, row + 1, k] = moments[1, row, k] + t[row] * own
            moments[2, row + 1, k] = moments[2, row, k] + t[row] * t[row] * own
    logs = np.empty(len(RAMPS))
    for n in range(len(RAMPS)):
        logs[n] = _ramp_evidence(t, h, b, v, moments, RAMPS[n, 0], RAMPS[n, 1])
    evidence = log_mean(logs)
    if evidence > -np.inf:
        ramp[0] = ramp[1] = 0.0
        for n in range(len(RAMPS)):
            weight = math.exp(logs[n] - evidence) / len(RAMPS)
            ramp[0] += weight * RAMPS[n, 0]
            ramp[1] += weight * (RAMPS[n, 0] + RAMPS[n, 1])
    return evidence


@contained
def _diffusion_evidence(t: Array, h: Array, b: Array, v: float, constant: float) -> float:
    """The log evidence of the stationary prior with this diffusion constant or a multiple of it."""
    logs, gain, noise = np.empty(len(SCALES)), np.zeros(len(t)), np.full(len(t), v)
    for n in range(len(SCALES)):
        for row in range(1, len(t)):
            log_gain = -SCALES[n] * constant / (2.0 * v) * (t[row] - t[row - 1])
            gain[row], noise[row] = math.exp(log_gain), -v * math.expm1(2.0 * log_gain)
        logs[n] = chain_evidence(gain, noise, h, b)
    return log_mean(logs)


@arithmetic
def evidence_of_words(
    starts: Array,
    times: Array,
    extents: Array,
    uses: Array,
    h: Array,
    b: Array,
    v: float,
    constant: float,
    evidence: Array,
    weights: Array,
    correlations: Array,
    ramps: Array,
    windows: Array,
    beginnings: Array,
) -> None:
    """Compare explanations of the messages (K, d) of some words, with prior variance v and diffusion D.

    Fills `evidence` (L, 6), in the order of `SHAPES`, with log Bayes factors against a constant level; -inf
    where an explanation needs more knots. Two change points and diffusion are tried only for words that a
    simpler change explains better than a constant level. For a jump, `weights` (K, PARTS + 1) are the
    probabilities that it falls into each part of a knot's slice, whose first and last dates are `extents`
    (K, 2) and in which the word occurs `uses` (K,) times, or between this slice and the next. `correlations`
    (L,) is the most likely correlation of the levels. `ramps` (L, 2) are the start and end of a gradual
    change. `windows` (L, 2, 2) are the knots, counted from the word's first, at which two jumps and a burst
    begin and end; `beginnings` (2, K) are the probabilities that they begin there.
    """
    dim = h.shape[1]
    for word in range(len(starts) - 1):
        begin, n, own = starts[word], starts[word + 1] - starts[word], evidence[word]
        own[:], ramps[word], windows[word], correlations[word] = -np.inf, np.nan, -1, np.nan
        weights[begin : begin + n], beginnings[:, begin : begin + n] = 0.0, 0.0
        if n < 2:
            continue
        t, rows_h, rows_b = times[begin : begin + n], h[begin : begin + n], b[begin : begin + n]
        sums_h, sums_b = np.zeros((n + 1, dim)), np.zeros((n + 1, dim))
        for row in range(n):
            for k in range(dim):
                sums_h[row + 1, k] = sums_h[row, k] + rows_h[row, k]
                sums_b[row + 1, k] = sums_b[row, k] + rows_b[row, k]
        length, gaps, scaled = t[n - 1] - t[0], np.empty(n - 1), np.empty(n)
        for row in range(n):
            scaled[row] = (t[row] - t[0]) / length
            if row > 0:
                gaps[row - 1] = scaled[row] - scaled[row - 1]
        least = LEAST_KNOTS if n >= 2 * LEAST_KNOTS else 1
        dates, often = extents[begin : begin + n], uses[begin : begin + n]
        found = weights[begin : begin + n]
        own[JUMP], correlations[word] = _jump_evidence(sums_h, sums_b, v, dates, often, least, found)
        if n > 2:
            own[OUTLIER] = _outlier_evidence(sums_h, sums_b, v)
        if n >= 2 * LEAST_KNOTS:
            own[RAMP] = _gradual_evidence(scaled, sums_h, sums_b, v, ramps[word])
            ramps[word, 0], ramps[word, 1] = t[0] + length * ramps[word, 0], t[0] + length * ramps[word, 1]
        constant_level = chain_evidence(np.zeros(1), np.full(1, v), sums_h[n:], sums_b[n:])
        if n >= 3 * LEAST_KNOTS and max(own[OUTLIER], own[JUMP], own[RAMP]) > constant_level:
            own[DIFFUSION] = _diffusion_evidence(t, rows_h, rows_b, v, constant)
            for place, kind in enumerate((TWO_JUMPS, BURST)):
                edges, chances = windows[word, place], beginnings[place, begin : begin + n]
                three = kind == TWO_JUMPS
                own[kind] = _best_window_evidence(sums_h, sums_b, v, gaps, least, three, edges, chances)
        for kind in range(len(own)):
            own[kind] -= constant_level
