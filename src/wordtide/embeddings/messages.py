"""The data's messages about words, recovered from a posterior, and how well it describes its own data.

At the end of a fit each slice still pulls a word away from its mean by b - h mean, with b and h the message
and precision of the slice. If counts scatter as the likelihood assumes, the square of that pull is h on
average, less what the fit has absorbed. Slices repeat the measurement, so the model alone shows how counts
scatter: with documents that repeat their words they scatter more, with text as even as Poisson numbers less.
For a filter b - h mean is what its prediction missed, as far as the slice could correct it.

The messages of different slices rest on different counts, so what they have in common is the vector itself:
their inner products, by the years between them, show how large vectors are and how fast they drift.
"""

from typing import Any, cast

import numpy as np

from wordtide.embeddings.posterior import Fitted
from wordtide.model.gaussians import Calibration
from wordtide.model.knots import Knots, prior_at_knots, transitions
from wordtide.model.knots import messages as smoother_messages
from wordtide.model.prior import Diffusion, StationaryPrior
from wordtide.types import Floats, Integers, Singles

_WORDS_AT_ONCE = 16  # a fit on disk has little memory left
_WORDS = {"smoother": 2000, "filter": 200}  # a filter is calibrated when a question needs it
_LAST_SLICES = 8  # of a filter, whose contexts are hardly known before
_LEAST_PRECISION, _LEAST_LEFT = 1e-6, 1e-3
_SMALLEST, _LARGEST = 0.05, 100.0
#: The unknown share of contexts adds no scatter (power 1), and contexts absorb residuals too (at most 2).
_ABSORBED = 1.5
#: Slices are grouped into at most this many parts. Of a filter the last parts count. At least three are
#: needed, because two cannot separate variance from drift.
_PARTS, _LAST_PARTS, _LEAST_PARTS = 16, 8, 3
#: The unknown share of contexts hides drift from a smoother, and looks like drift to a filter.
_HIDDEN = {"smoother": -0.9, "filter": 0.35}
_CONTEXTS, _CONTEXT_EXPONENT = 512, 0.75  # contexts that are drawn, with probabilities ~ occurrences^0.75


def messages(fitted: Fitted, words: Integers) -> tuple[Knots, Floats, Floats]:
    """The data's messages about some words: their knots, precisions h and messages b, (n, d) each.

    A smoother's posterior has the precision Pi + diag(h), so b = (Pi + diag h) mean. A filter's message is
    what a slice adds to the natural parameters that were predicted for it.
    """
    posterior, diffusion = fitted.posterior, fitted.diffusion
    rows, knots = knots_of(posterior.knots, words)
    mean, spread = (
        np.asarray(cast(Singles, array)[rows], dtype=np.float64)
        for array in (posterior.mean_u, posterior.spread("u"))
    )
    if posterior.kind == "filter":
        return knots, *learned(diffusion, knots, mean, spread)
    gain, noise = transitions(knots.starts, diffusion.slices[knots.slices])
    return knots, spread, smoother_messages(knots.starts, gain, noise, mean, spread)


def learned(diffusion: Diffusion, knots: Knots, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Precision and message that each slice adds to a filter's prediction."""
    first = np.zeros(len(mean), dtype=bool)
    first[knots.starts[:-1][np.diff(knots.starts) > 0]] = True
    times, before = diffusion.times[knots.slices], np.arange(len(mean)) - 1
    since = np.where(first, diffusion.times[0], times[before])
    predicted, spread = diffusion.transition(since, times).predict(
        np.where(first[:, None], 0.0, mean[before]),
        np.where(first[:, None], diffusion.prior_variance, variance[before]),
    )
    return np.maximum(1.0 / variance - 1.0 / spread, 0.0), mean / variance - predicted / spread


def known_share(fitted: Fitted) -> Floats:
    """The share of the messages' precision that counts in verdicts on words, (T, d).

    A filter learns its contexts along the way, and its messages scatter with them, so the whole counts.
    """
    if fitted.posterior.kind == "filter":
        return np.ones((len(fitted.diffusion), fitted.posterior.mean_u.shape[1]))
    return context_share(fitted)


def context_share(fitted: Fitted, since: int = 0) -> Floats:
    """The share of the messages' precision that rests on known contexts, from a slice on, (T - since, d).

    The precision of a message is a weighted sum of mean^2 + variance over context vectors. The variance pulls
    a vector toward zero, as uncertainty should, but adds no information: the scatter of messages comes from
    the means alone. A sample of contexts, drawn like those of negative pairs, suffices.
    """
    chances = np.cumsum(fitted.occurrences.totals().astype(np.float64) ** _CONTEXT_EXPONENT)
    drawn = np.searchsorted(chances, chances[-1] * (np.arange(_CONTEXTS) + 0.5) / _CONTEXTS)
    drawn, weights = np.unique(drawn, return_counts=True)
    sums = np.zeros((2, len(fitted.diffusion), fitted.posterior.dim))
    for first in range(0, len(drawn), _WORDS_AT_ONCE):
        words, weight = (array[first : first + _WORDS_AT_ONCE] for array in (drawn, weights))
        knots, late, mean, variance = beliefs_at_knots(fitted, words, "v", since)
        for total, values in zip(sums, (mean**2, variance), strict=True):
            np.add.at(total, knots.slices[late], weight[knots.words[late], None] * values)
    sums = sums[:, since:]
    share: Floats = np.divide(sums[0], sums.sum(axis=0), out=np.ones_like(sums[0]), where=sums[0] > 0.0)
    return share


def beliefs_at_knots(
    fitted: Fitted, words: Integers, side: str, since: int = 0
) -> tuple[Knots, Integers, Floats, Floats]:
    """The knots of some words, those of them from a slice on, and means and variances there, (n, d) each."""
    posterior = fitted.posterior
    rows, knots = knots_of(posterior.knots, words)
    late = np.flatnonzero(np.asarray(knots.slices) >= since)
    rows = rows if posterior.kind == "smoother" else rows[late]
    mean, spread = (
        np.asarray(cast(Singles, array)[rows], dtype=np.float64)
        for array in (getattr(posterior, f"mean_{side}"), posterior.spread(side))
    )
    if posterior.kind != "smoother":
        return knots, late, mean, spread
    from wordtide.model.chain import smooth_words

    smooth, variance = cast(Any, smooth_words), np.empty_like(spread)
    prior = prior_at_knots(knots, fitted.diffusion)
    smooth(knots.starts, *prior, spread, np.zeros_like(mean), variance, 0, len(words))
    return knots, late, mean[late], variance[late]


def knots_of(knots: Knots, words: Integers) -> tuple[Integers, Knots]:
    """The rows of some words' knots, and these knots."""
    rows = np.concatenate([np.zeros(0, np.int64), *(np.r_[knots.rows_of(int(word))] for word in words)])
    sizes = knots.starts[words + 1] - knots.starts[words]
    return rows, Knots(np.concatenate([[0], np.cumsum(sizes)]), np.asarray(knots.slices)[rows])


def calibrate(fitted: Fitted, known: Floats | None = None) -> Calibration | None:
    """What a fit stores; None for point estimates. `known`: its `known_share`, if that is at hand.

    A filter changes with every update, so it is calibrated when a question needs it (`Embeddings`).
    """
    if fitted.posterior.kind == "point":
        return None
    return Calibration() if fitted.posterior.kind == "filter" else measure_calibration(fitted, known)


def measure_calibration(fitted: Fitted, known: Floats | None = None) -> Calibration:
    """Measure how counts scatter: those of a smoother, whose `known_share` may be given, or of a filter's
    last slices.
    """
    share = _share_of_sum(fitted)
    residual = _residual(fitted) if len(fitted.diffusion) > 1 else None
    if residual is None:  # a single slice cannot be compared with others
        return Calibration(share=share)
    # A filter learns its contexts along the way, so what it knows at the end counts.
    kind = fitted.posterior.kind
    if kind == "filter" or known is None:
        known = context_share(fitted, len(fitted.diffusion) - 1 if kind == "filter" else 0)
    mean_known = float(known.mean())
    dispersion = np.clip(residual / max(mean_known, _SMALLEST) ** _ABSORBED, _SMALLEST, _LARGEST)
    variance, pace = _agreement(fitted)
    seen = max(1.0 - (1.0 - mean_known) * min(dispersion, 1.0), _SMALLEST)
    pace = np.clip(pace * seen ** _HIDDEN[kind], _SMALLEST, _LARGEST)
    return Calibration(float(dispersion), share, variance, float(pace))


def _agreement(fitted: Fitted) -> tuple[float, float]:
    """The prior variance and the rate of drift at which messages of different slices agree.

    Both are in units of those of the fit, and 1 if there are too few slices.
    """
    prior, words, slices = fitted.diffusion, _chosen_words(fitted), len(fitted.diffusion)
    parts = min(slices, _PARTS)
    if parts < _LEAST_PARTS or not len(words) or not isinstance(prior, StationaryPrior):
        return 1.0, 1.0
    part = np.arange(slices) * parts // slices
    weights = np.bincount(part)
    times = np.bincount(part, prior.times) / weights
    products, sizes = np.zeros((2, parts, parts))
    for block in np.array_split(words, -(-len(words) // _WORDS_AT_ONCE)):
        knots, h, b = messages(fitted, block)
        sums = np.zeros((2, len(block), parts, h.shape[1]))
        for total, values in zip(sums, (b, h), strict=True):
            np.add.at(total, (knots.words, part[knots.slices]), values / (h + 1.0 / prior.prior_variance))
        for found, one in zip((products, sizes), sums, strict=True):
            found += np.einsum("npk,nqk->pq", one, one)
    gap = np.abs(np.subtract.outer(times, times))
    first = parts - _LAST_PARTS if fitted.posterior.kind == "filter" else 0
    used = np.triu((products > 0.0) & (sizes > 0.0), 1) & (np.arange(parts) >= first)[:, None]
    if len(np.unique(gap[used])) < _LEAST_PARTS - 1:
        return 1.0, 1.0
    line = np.polyfit(gap[used], np.log(products[used] / sizes[used]), 1, w=np.sqrt(sizes[used]))
    fitted_rate = prior.constant / (2.0 * prior.prior_variance)
    variance = np.clip(np.exp(line[1]) / prior.prior_variance, _SMALLEST, _LARGEST)
    return float(variance), float(np.clip(-line[0] / fitted_rate, _SMALLEST, _LARGEST))


def _since(fitted: Fitted) -> int:
    """The first slice that counts."""
    return 0 if fitted.posterior.kind == "smoother" else max(len(fitted.diffusion) - _LAST_SLICES, 0)


def _chosen_words(fitted: Fitted) -> Integers:
    """A sample of the words that occur, spread evenly over the vocabulary."""
    words = np.flatnonzero(np.diff(fitted.posterior.knots.starts) > 0)
    most = min(len(words), _WORDS[fitted.posterior.kind])
    return words[np.unique(np.linspace(0, len(words) - 1, most).astype(np.int64))] if most else words


def _share_of_sum(fitted: Fitted) -> float:
    """The squared length of u + v over its largest value, 2 (u^2 + v^2), over the words.

    Counts of text are symmetric, so v is nearly u, with some directions reversed. With tied contexts, the sum
    has no such directions.
    """
    posterior, found, largest = fitted.posterior, 0.0, 0.0
    words = _chosen_words(fitted)
    if posterior.signs is not None or not len(words):
        return 1.0
    for block in np.array_split(words, -(-len(words) // _WORDS_AT_ONCE)):
        rows, knots = knots_of(posterior.knots, block)
        rows = rows[np.asarray(knots.slices) >= _since(fitted)]
        u, v = (np.asarray(side[rows], dtype=np.float64) for side in (posterior.mean_u, posterior.mean_v))
        found += float(((u + v) ** 2).sum())
        largest += 2.0 * float((u**2).sum() + (v**2).sum())
    return min(max(found / largest, _SMALLEST), 1.0) if largest > 0.0 else 1.0


def _residual(fitted: Fitted) -> float | None:
    """The mean square of the pulls that remain, in units of what the posterior expects."""
    words = _chosen_words(fitted)
    if not len(words):
        return None
    found, expected = 0.0, 0.0
    for block in np.array_split(words, -(-len(words) // _WORDS_AT_ONCE)):
        knots, h, b = messages(fitted, block)
        _, _, mean, variance = beliefs_at_knots(fitted, block, "u")
        left = 1.0 - h * variance  # the share of the squared pulls that the fit leaves
        used = (h > _LEAST_PRECISION) & (left > _LEAST_LEFT)
        squares = (b - h * mean) ** 2 / np.maximum(h, _LEAST_PRECISION)
        if fitted.posterior.kind == "filter":  # innovations are independent: each counts alike
            used &= _has_prediction(knots, _since(fitted))[:, None]
            squares, left = squares / np.maximum(left, _LEAST_LEFT), np.ones_like(left)
        found += float(squares[used].sum())
        expected += float(left[used].sum())
    return found / expected if expected > 0.0 else None


def _has_prediction(knots: Knots, since: int) -> np.ndarray:
    """Whether each knot has an earlier one of its word, and is at slice `since` or later, (n,)."""
    predicted = np.asarray(knots.slices) >= since
    predicted[knots.starts[:-1][np.diff(knots.starts) > 0]] = False
    return np.asarray(predicted)
