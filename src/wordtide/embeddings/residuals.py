"""How well a model's posterior describes its own data, from the residuals of the data's messages.

At the end of a fit each slice still pulls a word away from its mean by b - h mean, with b and h the message
and precision of the slice. If counts scatter as the likelihood supposes, the square of that pull is h on
average, less what the fit has absorbed. Slices repeat the measurement, so the model alone shows how counts
scatter: with documents that repeat their words they scatter more, with text as even as Poisson numbers less.
For a filter b - h mean is what its prediction missed, as far as the slice could correct it.
"""

from typing import cast

import numpy as np

from wordtide.embeddings.dynamics import context_share, knots_of, messages
from wordtide.embeddings.posterior import Fitted
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.model.gaussians import Calibration
from wordtide.model.knots import Knots
from wordtide.types import Floats, Integers, Singles

_WORDS_AT_ONCE = 16  # a fit on disk has little memory left
_WORDS = {"smoother": 2000, "filter": 200}  # a filter is calibrated when it is asked something
_LAST_SLICES = 8  # of a filter: its contexts are hardly known before
_LEAST_PRECISION, _LEAST_LEFT = 1e-6, 1e-3
_SMALLEST, _LARGEST = 0.05, 100.0
#: What is not known of contexts adds no scatter (power 1), and contexts absorb residuals too (at most 2).
_ABSORBED = 1.5


def calibrate(fitted: Fitted) -> Calibration | None:
    """What a fit stores; None for point estimates.

    A filter goes on with every update, so it is calibrated when it is asked something (`Embeddings`).
    """
    if fitted.posterior.kind == "point":
        return None
    return Calibration() if fitted.posterior.kind == "filter" else measure_calibration(fitted)


def measure_calibration(fitted: Fitted) -> Calibration:
    """Measure how counts scatter: those of a smoother, or of a filter's last slices."""
    share = _share_of_sum(fitted)
    residual = _residual(fitted) if len(fitted.diffusion) > 1 else None
    if residual is None:  # nothing to compare a single slice with
        return Calibration(share=share)
    # A filter learns its contexts along the way: what counts is what it knows of them at the end.
    known = context_share(fitted, len(fitted.diffusion) - 1 if fitted.posterior.kind == "filter" else 0)
    dispersion = residual / max(float(known.mean()), _SMALLEST) ** _ABSORBED
    return Calibration(float(np.clip(dispersion, _SMALLEST, _LARGEST)), share)


def _since(fitted: Fitted) -> int:
    """The first slice that counts."""
    return 0 if fitted.posterior.kind == "smoother" else max(len(fitted.diffusion) - _LAST_SLICES, 0)


def _chosen_words(fitted: Fitted) -> Integers:
    """Words that occur, evenly over the vocabulary."""
    words = np.flatnonzero(np.diff(fitted.posterior.knots.starts) > 0)
    most = min(len(words), _WORDS[fitted.posterior.kind])
    return words[np.unique(np.linspace(0, len(words) - 1, most).astype(np.int64))] if most else words


def _share_of_sum(fitted: Fitted) -> float:
    """The squared length of u + v over its largest value, 2 (u^2 + v^2), over the words.

    Counts of text are symmetric, so v is nearly u, with some directions reversed. Tied contexts are without
    these already.
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
        mean, left = _absorbed(fitted, block, knots, h)
        used = (h > _LEAST_PRECISION) & (left > _LEAST_LEFT)
        squares = (b - h * mean) ** 2 / np.maximum(h, _LEAST_PRECISION)
        if fitted.posterior.kind == "filter":  # innovations are independent: each counts alike
            used &= _has_prediction(knots, _since(fitted))[:, None]
            squares, left = squares / np.maximum(left, _LEAST_LEFT), np.ones_like(left)
        found += float(squares[used].sum())
        expected += float(left[used].sum())
    return found / expected if expected > 0.0 else None


def _absorbed(fitted: Fitted, words: Integers, knots: Knots, h: Floats) -> tuple[Floats, Floats]:
    """The means at some words' knots, and the share of the squared pulls that the fit leaves, (n, d) each."""
    posterior = fitted.posterior
    if posterior.kind == "filter":
        rows, _ = knots_of(posterior.knots, words)
        mean, variance = (
            np.asarray(cast(Singles, array)[rows], dtype=np.float64)
            for array in (posterior.mean_u, posterior.spread("u"))
        )
        return mean, 1.0 - h * variance
    side = SmoothedTrajectories(
        posterior.knots, fitted.diffusion, posterior.mean_u, cast(Singles, posterior.precision_u)
    )
    each, slices = words[knots.words_of(np.arange(len(knots)))], np.asarray(knots.slices, dtype=np.int64)
    return side.means_at_places(each, slices), 1.0 - h * side.variances_at_places(each, slices)


def _has_prediction(knots: Knots, since: int) -> np.ndarray:
    """Whether a knot is predicted from an earlier one, and is not before a slice, (n,)."""
    predicted = np.asarray(knots.slices) >= since
    predicted[knots.starts[:-1][np.diff(knots.starts) > 0]] = False
    return np.asarray(predicted)
