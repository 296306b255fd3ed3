"""Calibration: how large the errors of a posterior are, measured by the messages of its data.

**Scatter.** Slices repeat the measurement of vectors, so a model alone shows how its counts scatter
(`messages.residual_scatter`): more than the likelihood assumes if documents repeat their words, less if text
is as even as Poisson numbers.

**Size and drift.** The messages of different slices rest on different counts, so what they have in common is
the vector itself: their inner products, by the years between them, show how large vectors are and how fast
they drift.

**Closeness.** The inner products of messages about different words show how near these words are to each
other, while a fit assumes that words are independent.

The constants were chosen on worlds of known truth (benchmarks/text_calibration.py). `recalibrated` smooths
the messages of some words again with the measured size, drift and scatter. It does so for filters as well,
which gives two times a joint posterior.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from wordtide.embeddings.dynamics import Jumps
from wordtide.embeddings.filtered import FilteredTrajectories
from wordtide.embeddings.messages import (
    WORDS_AT_ONCE,
    context_share,
    first_that_counts,
    knots_of,
    learned,
    messages,
    residual_scatter,
    sampled_words,
    smoothed,
)
from wordtide.embeddings.posterior import Fitted
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.embeddings.trajectories import ShiftedTrajectories, Trajectories
from wordtide.model.gaussians import Calibration
from wordtide.model.knots import Knots, transitions
from wordtide.model.knots import messages as smoother_messages
from wordtide.model.prior import Diffusion, StationaryPrior
from wordtide.system import one_blas_thread
from wordtide.types import Floats, Integers, Singles

_SMALLEST, _LARGEST = 0.05, 100.0
#: The unknown share of contexts adds no scatter (power 1), and contexts absorb residuals too (at most 2).
_ABSORBED = 1.5
#: The scatter of counts that are as even as Poisson numbers, and how much more bursts of counts scatter.
_EVEN, _BURSTY = 0.5, 0.2
#: Slices are grouped into at most this many parts. Of a filter the last parts count. At least three are
#: needed, because two cannot separate variance from drift, and five if each has a gain of its own.
_PARTS, _LAST_PARTS, _LEAST_PARTS, _LEAST_PARTS_WITH_GAINS = 16, 8, 3, 5
#: The rates, in units of the fit's, and what is lost of a correlation (its logarithm) in the time of the
#: corpus, from which the rules of drift were learned.
_RATES, _LOST = (0.5, 6.0), (0.04, 1.25)
#: The number of words to compare with each other, its minimum, and how many of all words are near a word.
_COMPARED, _LEAST_COMPARED, _NEAR = 1200, 100, 10
_COMPARED_AT_ONCE = 32  # a fit on disk has little memory left
_CLASSES = 8  # of words that are known equally well
_UNKNOWN = 0.98  # the share of the prior variance above which nothing is known
_LEAST_GAIN, _NOTHING = 0.2, 1e-12
#: The closeness of the vectors in answers, relative to what halves of the slices show: a factor, and how its
#: logarithm grows with the unknown share of contexts, which hides what words have in common.
_SHOWN, _HIDDEN = 0.65, 2.2


def calibrate(fitted: Fitted, known: Floats | None = None) -> Calibration | None:
    """The calibration that a fit stores; None for point estimates.

    `known` is the `known_share`, if it has been computed. A filter changes with every update, so it is
    calibrated when a question needs it (`Embeddings`).
    """
    if fitted.posterior.kind == "point":
        return None
    return Calibration() if fitted.posterior.kind == "filter" else measure_calibration(fitted, known)


@one_blas_thread()
def measure_calibration(fitted: Fitted, known: Floats | None = None) -> Calibration:
    """Measure the errors of a smoother, whose `known_share` may be given, or of a filter's last slices."""
    share = _share_of_sum(fitted)
    residual = residual_scatter(fitted) if len(fitted.diffusion) > 1 else None
    if residual is None:  # a single slice cannot be compared with others
        return Calibration(share=share)
    # A filter learns its contexts along the way, so what it knows at the end counts.
    kind = fitted.posterior.kind
    if kind == "filter" or known is None:
        known = context_share(fitted, len(fitted.diffusion) - 1 if kind == "filter" else 0)
    mean_known = float(known.mean())
    dispersion = np.clip(residual / max(mean_known, _SMALLEST) ** _ABSORBED, _SMALLEST, _LARGEST)
    variance, pace = _agreement(fitted)
    bursts = float(np.clip((residual / max(mean_known, _SMALLEST) - _EVEN) / _BURSTY, 0.0, 1.0))
    pace = _drift(fitted, pace, mean_known, bursts)
    found = Calibration(float(dispersion), share, variance, pace, unknown=max(1.0 - mean_known, 0.0))
    return replace(found, closeness=_closeness(fitted, found))


def _drift(fitted: Fitted, rate: float, known: float, bursts: float) -> float:
    """The rate of drift, from that at which messages cease to agree; both in units of the fit's.

    A smoother's contexts follow the rate of the fit in part, and absorb bursts of counts at all slices, which
    then agree too well. A filter learns its contexts along the way, which looks like drift, above all where
    vectors drift little. The constants are least squares over 80 worlds.
    """
    prior, slices, unknown = fitted.diffusion, len(fitted.diffusion), 1.0 - known
    if fitted.posterior.kind == "filter":
        lost = rate * _rate(prior) * (prior.times[-1] - prior.times[0])
        exponent = 0.19 - 0.29 * unknown - 1.13 / slices + 0.2 * np.log(np.clip(lost, *_LOST))
    else:
        exponent = 0.25 * np.log(np.clip(rate, *_RATES)) - 0.2 + 0.78 * unknown * bursts + 0.66 / slices
    return float(np.clip(rate * np.exp(exponent), _SMALLEST, _LARGEST))


def _rate(prior: Diffusion) -> float:
    """The rate at which correlations of the prior fall."""
    return prior.constant / (2.0 * prior.prior_variance)


def _agreement(fitted: Fitted) -> tuple[float, float]:
    """The prior variance and the rate of drift at which messages of different slices agree.

    Both are in units of those of the fit, and 1 if there are too few slices.
    """
    prior, words, slices = fitted.diffusion, sampled_words(fitted), len(fitted.diffusion)
    parts = min(slices, _PARTS)
    if parts < _LEAST_PARTS or not len(words) or not isinstance(prior, StationaryPrior):
        return 1.0, 1.0
    part = np.arange(slices) * parts // slices
    weights = np.bincount(part)
    times = np.bincount(part, prior.times) / weights
    products, sizes = np.zeros((2, parts, parts))
    for block in np.array_split(words, -(-len(words) // WORDS_AT_ONCE)):
        knots, h, b = messages(fitted, block)
        sums = np.zeros((2, len(block), parts, h.shape[1]))
        for total, values in zip(sums, (b, h), strict=True):
            np.add.at(total, (knots.words, part[knots.slices]), values / (h + 1.0 / prior.prior_variance))
        for found, one in zip((products, sizes), sums, strict=True):
            found += np.einsum("npk,nqk->pq", one, one)
    gap = np.abs(np.subtract.outer(times, times))
    first = max(parts - _LAST_PARTS, 0) if fitted.posterior.kind == "filter" else 0
    used = np.triu((products > 0.0) & (sizes > 0.0), 1) & (np.arange(parts) >= first)[:, None]
    if len(np.unique(gap[used])) < _LEAST_PARTS - 1:
        return 1.0, 1.0
    # the log of a product is the gain of one part, plus that of the other, minus rate * gap
    gains = np.eye(parts)[:, first:] if parts >= _LEAST_PARTS_WITH_GAINS else np.ones((parts, 1))
    pairs: Integers = np.argwhere(used)
    columns = np.column_stack([gains[pairs].sum(axis=1), -gap[used]])
    logs, weights = np.log(products[used] / sizes[used]), np.sqrt(sizes[used])
    *found_gains, rate = np.linalg.lstsq(columns * weights[:, None], logs * weights, rcond=None)[0]
    variance = np.clip(np.exp(2.0 * np.mean(found_gains)) / prior.prior_variance, _SMALLEST, _LARGEST)
    return float(variance), float(np.clip(rate / _rate(prior), _SMALLEST, _LARGEST))


def _share_of_sum(fitted: Fitted) -> float:
    """The squared length of u + v over its largest value, 2 (u^2 + v^2), over the words.

    Counts of text are symmetric, so v is nearly u, with some directions reversed. With tied contexts, the sum
    has no such directions.
    """
    posterior, found, largest = fitted.posterior, 0.0, 0.0
    words = sampled_words(fitted)
    if posterior.signs is not None or not len(words):
        return 1.0
    for block in np.array_split(words, -(-len(words) // WORDS_AT_ONCE)):
        rows, knots = knots_of(posterior.knots, block)
        rows = rows[np.asarray(knots.slices) >= first_that_counts(fitted)]
        u, v = (np.asarray(side[rows], dtype=np.float64) for side in (posterior.mean_u, posterior.mean_v))
        found += float(((u + v) ** 2).sum())
        largest += 2.0 * float((u**2).sum() + (v**2).sum())
    return min(max(found / largest, _SMALLEST), 1.0) if largest > 0.0 else 1.0


def _closeness(fitted: Fitted, calibration: Calibration) -> float:
    """How much too sure the prior is that words are unrelated, as a precision of cosines.

    Two halves of the slices, which rest on different counts, are smoothed separately. In one of them, the
    nearest words of each word have cosines c with variances s; the other shows that these cosines are too
    small by closeness * c * s, to first order (`questions.similarity`).
    """
    excess, expected = 0.0, 0.0
    for half in _halves(fitted):
        prior_variance = float(np.median(fitted.diffusion.marginal))
        half = half.known(prior_variance)
        if len(half.mean) < _LEAST_COMPARED:
            continue
        share = len(half.mean) / np.count_nonzero(np.diff(fitted.posterior.knots.starts))
        factors = calibration.factors(half.variance.mean(axis=1), prior_variance)
        more = half.compared(
            half.variance * factors[:, None], calibration.noise, prior_variance, max(round(_NEAR * share), 1)
        )
        excess, expected = excess + more[0], expected + more[1]
    found = excess / expected if expected > 0.0 else 0.0
    return float(np.clip(_SHOWN * np.exp(_HIDDEN * calibration.unknown) * found, 0.0, _LARGEST))


@dataclass(frozen=True)
class _Half:
    """The vectors of words at one slice, by one half of the slices and by the other, (n, d) each.

    `foreseen` is the mean of the other half that the first one predicts.
    """

    mean: Floats
    variance: Floats
    other: Floats
    other_variance: Floats
    foreseen: Floats

    def known(self, prior_variance: float) -> "_Half":
        """The words about which both halves have information."""
        least = np.maximum(self.variance, self.other_variance).mean(axis=1)
        return _Half(*(array[least < _UNKNOWN * prior_variance] for array in vars(self).values()))

    def compared(
        self, variance: Floats, noise: float, prior_variance: float, near: int
    ) -> tuple[float, float]:
        """Compare each word with those near it; `variance` is that of the vectors by the one half.

        Returns:
            The excess of the other half's cosines over c, in the direction c * s, and its square: weighted
            sums over pairs.
        """
        squares = self.mean**2 + variance
        length = np.sqrt(squares.sum(axis=1, keepdims=True))
        x, s = self.mean / length, variance / length**2
        kept = 1.0 - self.other_variance / prior_variance  # of a vector, in the mean of the other half
        gain = self._gain(kept)
        sampling = noise * kept * (1.0 - kept) * prior_variance / gain[:, None] ** 2
        scale = np.sqrt((kept**2 * squares).sum(axis=1))
        excess, expected = 0.0, 0.0
        for some in np.array_split(np.arange(len(x)), -(-len(x) // _COMPARED_AT_ONCE)):
            cosines = x[some] @ x.T
            cosines[np.arange(len(some)), some] = -np.inf
            i, j = np.repeat(some, near), np.argsort(-cosines, axis=1)[:, :near].ravel()
            c = (x[i] * x[j]).sum(axis=1)
            spread = _product_variance(x, s, i, j) * (1.0 - c**2)
            shown = (self.other[i] * self.other[j]).sum(axis=1) / (gain[i] * gain[j])
            more = (shown - (self.foreseen[i] * self.foreseen[j]).sum(axis=1)) / (scale[i] * scale[j])
            weight = spread + _product_variance(self.foreseen, sampling, i, j) / (scale[i] * scale[j]) ** 2
            excess += float((spread * c * more / weight).sum())
            expected += float(((spread * c) ** 2 / weight).sum())
        return excess, expected

    def _gain(self, kept: Floats) -> Floats:
        """The factors by which messages shrink vectors, because contexts are only partly known, (n,).

        Words that are known equally well share a factor.
        """
        gain = np.empty(len(kept))
        for some in np.array_split(np.argsort(kept.mean(axis=1), kind="stable"), _CLASSES):
            foreseen = self.foreseen[some]
            gain[some] = (self.other[some] * foreseen).sum() / max((foreseen**2).sum(), _NOTHING)
        return np.maximum(gain, _LEAST_GAIN)


def _product_variance(mean: Floats, variance: Floats, i: Integers, j: Integers) -> Floats:
    """The variance of inner products of vectors with these means and variances, (n,)."""
    across = mean[i] ** 2 * variance[j] + mean[j] ** 2 * variance[i] + variance[i] * variance[j]
    return np.asarray(across.sum(axis=1))


def _halves(fitted: Fitted) -> Iterator[_Half]:
    """Both halves of the slices at the last slice, and for a smoother at the first and a middle one."""
    last = len(fitted.diffusion) - 1
    times = [last] if fitted.posterior.kind == "filter" else sorted({0, last // 2, last})
    found: dict[int, list[list[Singles]]] = {time: [] for time in times}
    words = sampled_words(fitted, _COMPARED)
    for block in np.array_split(words, -(-len(words) // WORDS_AT_ONCE)):
        knots, h, b = messages(fitted, block)
        even = (np.asarray(knots.slices) % 2 == 0)[:, None]
        points = fitted.diffusion.slices[knots.slices]
        halves = [(np.where(one, h, 0.0), np.where(one, b, 0.0)) for one in (even, ~even)]
        by_half = [smoothed(knots.starts, points, *half) for half in halves]
        foreseen = [
            smoothed(knots.starts, points, halves[1 - one][0], halves[1 - one][0] * by_half[one][0])[0]
            for one in (0, 1)
        ]
        for time in times:
            rows = np.flatnonzero(knots.slices == time)
            found[time].append(
                [array[rows].astype(np.float32) for array in (*by_half[0], *by_half[1], *foreseen)]
            )
    for blocks in found.values():
        mean, variance, other, other_variance, in_other, in_one = (
            np.concatenate(arrays, dtype=np.float64) for arrays in zip(*blocks, strict=True)
        )
        yield _Half(mean, variance, other, other_variance, in_other)
        yield _Half(other, other_variance, mean, variance, in_one)


def recalibrated(side: Trajectories, words: Integers, calibration: Calibration | None) -> Trajectories:
    """The trajectories of some words, renumbered from 0, under the calibrated prior and noise.

    Without calibration, the prior and noise of the fit apply.
    """
    if isinstance(side, ShiftedTrajectories):
        return side.taken(recalibrated(side.base, words, calibration), words)
    if not isinstance(side, (SmoothedTrajectories, FilteredTrajectories)):
        raise TypeError(f"{type(side).__name__} has no messages")
    knots, h, b, prior = _messages_of_side(side, words)
    if calibration is not None:
        prior, h, b = _own(prior, calibration), h / calibration.noise, b / calibration.noise
    mean, _ = smoothed(knots.starts, prior.slices[knots.slices], h, b)
    jumps = side.jumps if isinstance(side, SmoothedTrajectories) else None
    if jumps is not None:
        jumps = Jumps(jumps.begin[words], jumps.end[words], jumps.log_correlation[words])
    return SmoothedTrajectories(knots, prior, mean.astype(np.float32), h.astype(np.float32), jumps)


def _messages_of_side(
    side: SmoothedTrajectories | FilteredTrajectories, words: Integers
) -> tuple[Knots, Floats, Floats, Diffusion]:
    rows, knots = knots_of(side.knots, words)
    if isinstance(side, FilteredTrajectories):
        mean, variance = (
            np.asarray(cast(Any, array)[rows], np.float64) for array in (side.mean, side.variance)
        )
        return knots, *learned(side.diffusion, knots, mean, variance), side.diffusion
    mean, h = (np.asarray(cast(Any, array)[rows], np.float64) for array in (side.fitted_mean, side.precision))
    prior = transitions(knots.starts, side.prior.slices[knots.slices])
    return knots, h, smoother_messages(knots.starts, *prior, mean, h), side.prior


def _own(prior: Diffusion, calibration: Calibration) -> Diffusion:
    """The prior of the corpus; that of the paper stays as it is."""
    if not isinstance(prior, StationaryPrior):
        return prior
    return replace(
        prior,
        prior_variance=prior.prior_variance * calibration.variance,
        constant=prior.constant * calibration.variance * calibration.pace,
    )
