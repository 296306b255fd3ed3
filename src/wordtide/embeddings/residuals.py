"""How well a model's posterior describes its own data, from the residuals of the data's messages.

At the end of a fit each slice still pulls a word away from its mean by b - h mean, with b and h the message
and precision of the slice. If counts scatter as the likelihood supposes, the square of that pull is h on
average, less what the fit has absorbed. Slices repeat the measurement, so the model alone shows how counts
scatter: with documents that repeat their words they scatter more, with text as even as Poisson numbers less.
"""

from typing import cast

import numpy as np

from wordtide.embeddings.dynamics import messages
from wordtide.embeddings.posterior import Fitted
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.model.gaussians import Calibration
from wordtide.model.knots import Knots
from wordtide.types import Floats, Integers, Singles

_WORDS_AT_ONCE = 16  # a fit on disk has little memory left
_WORDS = 2000  # enough to know two numbers to a per cent
_SLICES = 3
_LEAST_PRECISION = 1e-6
_SMALLEST_SHARE = 0.05


def calibrate(fitted: Fitted) -> Calibration | None:
    """Measure how counts scatter; None for point estimates.

    A filter goes on, and must not depend on what it was when it was fitted first: its counts scatter as
    supposed. So do those of a single slice, which nothing can be compared with.
    """
    if fitted.posterior.kind == "point":
        return None
    if fitted.posterior.kind == "filter" or len(fitted.diffusion) < 2:
        return Calibration()
    information, residual = _information(fitted), _residual(fitted)
    if information is None or residual is None:
        return Calibration()
    # The fit absorbs residuals with words and with contexts, so their size lies between these two.
    dispersion = max(residual / information, min(residual / information**2, 1.0), _SMALLEST_SHARE)
    # Even counts narrow the errors of the data, but not those that all vectors share: go half the way.
    return Calibration(dispersion if dispersion > 1.0 else dispersion**0.5)


def _trajectories(fitted: Fitted) -> SmoothedTrajectories:
    posterior, precision = fitted.posterior, cast(Singles, fitted.posterior.precision_u)
    return SmoothedTrajectories(posterior.knots, fitted.diffusion, posterior.mean_u, precision)


def _information(fitted: Fitted) -> float | None:
    """The share of known coordinates in what contexts tell: the sum of mean^2 over that of mean^2 + variance.

    Contexts count as often as they occur.
    """
    side, times = _trajectories(fitted), fitted.diffusion.times
    places, values = fitted.occurrences.places, fitted.occurrences.values
    often = np.diff(np.concatenate([np.zeros(1), np.cumsum(values, dtype=np.float64)])[places.starts])
    words = np.flatnonzero(often > 0)
    if not len(words):
        return None
    known, total = np.zeros((2, fitted.posterior.dim))
    for t in np.unique(np.linspace(0, len(times) - 1, _SLICES).astype(np.int64)):
        squares = side.means_at(float(times[t]), words) ** 2
        squares *= often[words, None]
        known += squares.sum(axis=0)
        total += squares.sum(axis=0)
        squares = side.variances_at(float(times[t]), words)
        squares *= often[words, None]
        total += squares.sum(axis=0)
    share = float(np.mean(known / np.maximum(total, np.finfo(float).tiny)))
    return max(share, _SMALLEST_SHARE)


def _residual(fitted: Fitted) -> float | None:
    """The mean square of the pulls that remain, in units of what the posterior expects."""
    words = np.flatnonzero(np.diff(fitted.posterior.knots.starts) > 0)
    if not len(words):
        return None
    words = words[np.unique(np.linspace(0, len(words) - 1, min(len(words), _WORDS)).astype(np.int64))]
    side, found, expected = _trajectories(fitted), 0.0, 0.0
    for block in np.array_split(words, -(-len(words) // _WORDS_AT_ONCE)):
        knots, h, b = messages(fitted, block)
        squares, shares = _pulls(side, block, knots, h, b)
        used = (h > _LEAST_PRECISION) & (shares > 0.0)
        found += float(squares[used].sum())
        expected += float(shares[used].sum())
    return found / expected if expected > 0.0 else None


def _pulls(
    side: SmoothedTrajectories, words: Integers, knots: Knots, h: Floats, b: Floats
) -> tuple[Floats, Floats]:
    """Squared pulls in units of the precisions h, and the share of them that the fit leaves, (n, d) each."""
    each, slices = words[knots.words_of(np.arange(len(knots)))], np.asarray(knots.slices, dtype=np.int64)
    left = 1.0 - h * side.variances_at_places(each, slices)
    return (b - h * side.means_at_places(each, slices)) ** 2 / np.maximum(h, _LEAST_PRECISION), left
