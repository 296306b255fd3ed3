"""The data's messages about words, recovered from a posterior, and how they scatter."""

from typing import Any, cast

import numpy as np

from wordtide.embeddings.posterior import Fitted
from wordtide.model.knots import Knots, first_noise, transitions
from wordtide.model.knots import messages as smoother_messages
from wordtide.model.prior import Diffusion, TimePoints
from wordtide.types import Floats, Integers, Singles

_WORDS = 2000
_FILTER_WORDS, _FILTER_KNOTS = 200, 16_000  # of a filter, which is calibrated when a question needs it
_LAST_SLICES = 8  # of a filter, whose contexts are hardly known before
_LEAST_PRECISION, _LEAST_LEFT = 1e-6, 1e-3
WORDS_AT_ONCE = 16  # a fit on disk has little memory left
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
    for first in range(0, len(drawn), WORDS_AT_ONCE):
        words, weight = (array[first : first + WORDS_AT_ONCE] for array in (drawn, weights))
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
    points = fitted.diffusion.slices[knots.slices]
    _, variance = smoothed(knots.starts, points, spread, np.zeros_like(mean))
    return knots, late, mean[late], variance[late]


def smoothed(starts: Integers, points: TimePoints, h: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The means and variances at the knots of some chains that follow from messages, (K, d) each.

    `points` is the prior at these knots.
    """
    from wordtide.model.chain import smooth_words

    smooth, mean, variance = cast(Any, smooth_words), b.copy(), np.empty_like(h)
    gain, noise = transitions(starts, points)
    smooth(starts, gain, noise, first_noise(starts, noise), h, mean, variance, 0, len(starts) - 1)
    return mean, variance


def knots_of(knots: Knots, words: Integers) -> tuple[Integers, Knots]:
    """The rows of some words' knots, and these knots."""
    rows = np.concatenate([np.zeros(0, np.int64), *(np.r_[knots.rows_of(int(word))] for word in words)])
    sizes = knots.starts[words + 1] - knots.starts[words]
    return rows, Knots(np.concatenate([[0], np.cumsum(sizes)]), np.asarray(knots.slices)[rows])


def residual_scatter(fitted: Fitted) -> float | None:
    """The mean square of the pulls that remain, in units of what the posterior expects.

    At the end of a fit each slice still pulls a word away from its mean by b - h mean, with b and h the
    message and precision of the slice. If counts scatter as the likelihood assumes, the square of that pull
    is h on average, less what the fit has absorbed. For a filter b - h mean is what its prediction missed, as
    far as the slice could correct it.
    """
    words = sampled_words(fitted)
    if not len(words):
        return None
    found, expected = 0.0, 0.0
    for block in np.array_split(words, -(-len(words) // WORDS_AT_ONCE)):
        knots, h, b = messages(fitted, block)
        _, _, mean, variance = beliefs_at_knots(fitted, block, "u")
        left = 1.0 - h * variance  # the share of the squared pulls that the fit leaves
        used = (h > _LEAST_PRECISION) & (left > _LEAST_LEFT)
        squares = (b - h * mean) ** 2 / np.maximum(h, _LEAST_PRECISION)
        if fitted.posterior.kind == "filter":  # innovations are independent: each counts alike
            used &= _has_prediction(knots, first_that_counts(fitted))[:, None]
            squares, left = squares / np.maximum(left, _LEAST_LEFT), np.ones_like(left)
        found += float(squares[used].sum())
        expected += float(left[used].sum())
    return found / expected if expected > 0.0 else None


def _has_prediction(knots: Knots, since: int) -> np.ndarray:
    """Whether each knot has an earlier one of its word, and is at slice `since` or later, (n,)."""
    predicted = np.asarray(knots.slices) >= since
    predicted[knots.starts[:-1][np.diff(knots.starts) > 0]] = False
    return np.asarray(predicted)


def sampled_words(fitted: Fitted, most: int = _WORDS) -> Integers:
    """A sample of the words that occur, spread evenly over the vocabulary."""
    words = np.flatnonzero(np.diff(fitted.posterior.knots.starts) > 0)
    if fitted.posterior.kind == "filter":
        most = min(most, max(_FILTER_KNOTS // len(fitted.diffusion), _FILTER_WORDS))
    places: Integers = np.linspace(0, len(words) - 1, min(len(words), most)).astype(np.int64)
    return words[np.unique(places)]


def first_that_counts(fitted: Fitted) -> int:
    """The first slice that counts."""
    return 0 if fitted.posterior.kind == "smoother" else max(len(fitted.diffusion) - _LAST_SLICES, 0)
