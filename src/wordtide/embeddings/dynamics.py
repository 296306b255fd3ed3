"""How each word moves: it jumps, changes gradually, or does not change significantly.

A model stores, for each word, a Gaussian message of the data at each knot. `model.jumps` compares
explanations of these messages; this module decides, and dates the change. Only word vectors count: with
separate contexts, context vectors rest on the same counts.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.embeddings.messages import known_share, messages
from wordtide.embeddings.posterior import Fitted
from wordtide.model.knots import Knots
from wordtide.model.prior import TimePoints
from wordtide.model.verdicts import (
    BURST,
    DIFFUSION,
    JUMP,
    OUTLIER,
    PARTS,
    RAMP,
    SHAPES,
    TWO_JUMPS,
    Dynamics,
    date_quantiles,
    discoveries,
    level_means,
)
from wordtide.storage.arrays import map_tensors, write_tensors
from wordtide.types import Flags, Floats, Integers

#: The file of a model folder. Filters lack it, and so do models that were fitted before it existed.
DYNAMICS = "dynamics.safetensors"
#: Words that occur less often are not judged.
MIN_OCCURRENCES = 20
_WITHOUT_EFFECTS = 7  # columns
_TAILS = 0.05, 0.5, 0.95
#: In fewer slices than this, an outlier cannot be distinguished from a change.
_SLICES_WITH_OUTLIERS = 4
#: A change is called sudden if that is at least three times as probable as a gradual change: a date is a
#: strong claim, and a slow change over few uses looks like a jump as often as not.
_SUDDEN = np.log(3.0)
_ROWS_AT_ONCE = 1_000  # knots of the words that a thread judges together
#: The smallest correlation of the vectors before and after a change. Messages are linear approximations near
#: the fitted mean, which lies between: less related levels would lie too far out, and predict worse.
RELATED = 0.95
#: The correlation of the vectors before and after a gradual change, which predicts held-out slices best.
GRADUALLY_RELATED = 0.98
_INSTANT = 1e-9  # years
_LEVELS = 0.7  # the correlation of the levels between which effects are measured


def write_dynamics(folder: Path, dynamics: Dynamics | None) -> None:
    """Write how each word moves into a model folder, if it is known."""
    if dynamics is not None:
        write_tensors(folder / DYNAMICS, {"dynamics": dynamics.table()})


def read_dynamics(folder: Path) -> Dynamics:
    """Read how each word moves; `check_record` looks at the numbers."""
    table = map_tensors(folder / DYNAMICS)["dynamics"]
    if table.ndim != 2 or table.shape[1] not in (_WITHOUT_EFFECTS, len(fields(Dynamics))):
        raise ValueError("dynamics has a wrong shape")
    if table.dtype != np.dtype("<f8"):
        raise ValueError("dynamics has a wrong dtype")
    return Dynamics.of_table(table)


def dynamics_of(fitted: Fitted, threads: int | None = None, known: Floats | None = None) -> Dynamics | None:
    """Decide how each word moves; None if the model has no messages or a single slice. Effects are missing.

    A filter learns its contexts along the way, which looks like a gradual change of many words. So it only
    finds jumps, and a word that a gradual change explains better has no verdict. `known`: the `known_share`,
    if that is at hand.
    """
    if fitted.posterior.kind == "point" or len(fitted.diffusion) < 2:
        return None
    sizes = np.diff(fitted.posterior.knots.starts)
    judged = np.flatnonzero((fitted.occurrences.totals() >= MIN_OCCURRENCES) & (sizes >= 2))
    rows = np.cumsum(sizes[judged])
    blocks = np.split(judged, np.flatnonzero(np.diff(rows // _ROWS_AT_ONCE)) + 1)
    share = known_share(fitted) if known is None else known
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(lambda words: _explained(fitted, words, share), blocks))
    evidence, correlation, dates = (np.concatenate(part) for part in zip(*parts, strict=True))
    no_change = np.maximum(evidence[:, OUTLIER], 0.0)
    if len(fitted.diffusion) < _SLICES_WITH_OUTLIERS:
        no_change[:] = 0.0
    preferred = evidence.copy()
    preferred[:, RAMP] += _SUDDEN
    shape = 1 + np.argmax(preferred[:, JUMP:], axis=1)
    each = np.arange(len(judged))
    change = np.logaddexp.reduce(evidence[:, JUMP:], axis=1) - np.log(DIFFUSION) - no_change
    found = discoveries(change) & (evidence[each, shape] > no_change)
    if fitted.posterior.kind == "filter":
        found &= shape < RAMP
    table = np.full((len(fitted.words), _WITHOUT_EFFECTS), np.nan)
    table[:, 0] = -1.0
    table[judged, 1] = evidence[each, shape] - no_change
    low, middle, high, second = dates[each, shape][found].T
    table[judged[found], 0] = shape[found]
    related = np.where(shape < RAMP, np.maximum(correlation, RELATED), GRADUALLY_RELATED)[found]
    table[judged[found], 2:_WITHOUT_EFFECTS] = np.column_stack([middle, low, high, second, related])
    return Dynamics.of_table(table)


def _explained(fitted: Fitted, words: Integers, known: Floats) -> tuple[Floats, Floats, Floats]:
    """Log Bayes factors (n, 6), correlations (n,), and the dates of each explanation (n, 6, 4)."""
    from wordtide.model import jumps

    run: Any = jumps.evidence_of_words
    knots, h, b = messages(fitted, words)
    h = h * known[knots.slices]
    extents = fitted.slice_ends[knots.slices]
    occurrences = fitted.occurrences.at(words[knots.words], knots.slices.astype(np.int64))
    uses = np.ceil(occurrences).astype(np.int64)
    times, size = fitted.diffusion.times[knots.slices], len(words)
    evidence, correlation = np.empty((size, len(SHAPES))), np.empty(size)
    weights = np.empty((len(knots), PARTS + 1))
    ramps, windows = np.empty((size, 2)), np.empty((size, 2, 2), dtype=np.int64)
    beginnings = np.empty((2, len(knots)))
    run(
        *(knots.starts, times, extents, uses, h, b),
        *(float(np.median(fitted.diffusion.marginal)), fitted.diffusion.constant),
        *(evidence, weights, correlation, ramps, windows, beginnings),
    )
    dates = np.full((size, len(SHAPES), 4), np.nan)
    best = evidence.max(axis=1, initial=0.0)
    for n in np.flatnonzero(best > 0.0):
        own = knots.rows_of(int(n))
        if evidence[n, JUMP] > 0.0:
            dates[n, JUMP, :3] = date_quantiles(weights[own], extents[own], _TAILS)
        start, end = ramps[n] if np.isfinite(ramps[n, 0]) else times[own][[0, -1]]
        dates[n, RAMP:, :3] = start, (start + end) / 2.0, end
        middles = extents[own].mean(axis=1)
        for kind, last, chances in zip((TWO_JUMPS, BURST), windows[n, :, 1], beginnings[:, own], strict=True):
            if last > 0:
                dates[n, kind, :3] = np.interp(_TAILS, np.cumsum(chances), middles)
                dates[n, kind, 3] = middles[[last - 1, last]].mean()
    return evidence, correlation, dates


@dataclass(frozen=True)
class Levels:
    """Means before and after changes, and variances of the difference from sample to sample, (n, d) each."""

    before: Floats
    after: Floats
    moved_variance: Floats


def levels_of(fitted: Fitted, dynamics: Dynamics, words: Integers, known: Floats) -> Levels:
    """The levels of words with a significant change: segment means given the data and the prior.

    Knots count for the levels with weights 1 - s and s (see `model.jumps`). `known` comes from
    `known_share`.
    """
    knots, h, b = messages(fitted, words)
    share = np.concatenate([np.zeros((0, 2)), *_shares(fitted, dynamics, words, knots)])
    v, rho = float(np.median(fitted.diffusion.marginal)), _LEVELS
    own = 1.0 / (v * (1.0 - rho**2))
    before, after = share[:, :1], share[:, 1:]

    def total(values: Floats) -> Floats:
        sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
        return np.asarray(sums[knots.starts[1:]] - sums[knots.starts[:-1]])

    a11, a12, a22 = (
        own + total(before**2 * h),
        total(before * after * h) - rho * own,
        own + total(after**2 * h),
    )
    first, second, size = level_means(a11, a12, a22, total(before * b), total(after * b))
    informed = h * known[knots.slices]  # the variance of b
    w11, w12, w22 = (total(weight * informed) for weight in (before**2, before * after, after**2))
    left, right = a22 + a12, a11 + a12
    return Levels(first, second, (left**2 * w11 - 2.0 * left * right * w12 + right**2 * w22) / size**2)


def _shares(fitted: Fitted, dynamics: Dynamics, words: Integers, knots: Knots) -> Iterator[Floats]:
    """For each word the weights of its knots for the level before and the one after, (n, 2)."""
    for n, word in enumerate(words):
        slices = knots.slices[knots.rows_of(n)]
        if dynamics.shape[word] in (RAMP, DIFFUSION):
            low, high = dynamics.date_low[word], dynamics.date_high[word]
            after = np.clip((fitted.diffusion.times[slices] - low) / (high - low), 0.0, 1.0)
            before = 1.0 - after
        else:
            extents = fitted.slice_ends[slices]
            after = later = _share_after(extents, dynamics.date[word])
            before = 1.0 - after
            if dynamics.shape[word] != JUMP:
                later = _share_after(extents, dynamics.second_date[word])
            if dynamics.shape[word] == BURST:
                after, before = after - later, before + later
            else:
                after = later
        yield np.column_stack([before, after])


def _share_after(extents: Floats, date: float) -> Floats:
    """The share of each slice that comes after a date, (n,)."""
    length = np.maximum(extents[:, 1] - extents[:, 0], _INSTANT)
    return np.clip((extents[:, 1] - date) / length, 0.0, 1.0)


@dataclass(frozen=True)
class Jumps:
    """Where words change: `begin` and `end` of up to two changes, (L, 2), NaN for none.

    `log_correlation` (L,) is that of the vectors before and after. A change multiplies the prior's
    correlation of times on either side of it. The date of a jump is uncertain, so the logarithm of that
    factor accrues evenly over its credible interval: a slice inside it is then predicted from both sides.
    Over a gradual change it accrues evenly from its start to its end. Everything else stays the same.
    """

    begin: Floats
    end: Floats
    log_correlation: Floats

    @staticmethod
    def of(dynamics: Dynamics) -> "Jumps | None":
        """The changes of all words; None if no word changes.

        Models of earlier versions have correlations of jumps only.
        """
        begin = np.column_stack([dynamics.date_low, dynamics.second_date])
        end = np.column_stack([dynamics.date_high, dynamics.second_date])
        changing = dynamics.significant & np.isfinite(dynamics.correlation)
        begin[~changing] = end[~changing] = np.nan
        correlation = np.nan_to_num(dynamics.correlation, nan=1.0)
        return Jumps(begin, end, np.log(correlation)) if changing.any() else None

    @property
    def words(self) -> Integers:
        """The numbers of the words that change."""
        return np.flatnonzero(self._changing)

    @cached_property
    def _changing(self) -> Flags:
        """Whether each word changes, (L,)."""
        return np.isfinite(self.begin[:, 0])

    def applied(self, points: TimePoints, words: Integers, times: Floats) -> TimePoints:
        """The prior at the times (n,), with the changes of the word at each of them."""
        rows = np.flatnonzero(self._changing[words])  # few words change
        begin, end = self.begin[words[rows]], self.end[words[rows]]
        share = (times[rows, None] - begin) / np.maximum(end - begin, _INSTANT)
        passed = np.clip(np.nan_to_num(share), 0.0, 1.0).sum(axis=1)
        log_correlation = points.log_correlation.copy()
        log_correlation[rows] += passed * self.log_correlation[words[rows]]
        return TimePoints(log_correlation, points.marginal)
