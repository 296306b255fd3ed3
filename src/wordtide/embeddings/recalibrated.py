"""Trajectories of a few words under the corpus's own prior, and with the noise that its counts have.

A fit supposes how large vectors are, how fast they drift, and how counts scatter. Its calibration knows what
the corpus says about all three, so the messages of some words are smoothed again with that. The messages of a
filter are smoothed too: two times have a joint posterior then.
"""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from wordtide.embeddings.dynamics import Jumps
from wordtide.embeddings.filtered import FilteredTrajectories
from wordtide.embeddings.messages import knots_of, learned
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.embeddings.trajectories import ShiftedTrajectories, Trajectories
from wordtide.model.gaussians import Calibration
from wordtide.model.knots import Knots, messages, prior_at_knots, transitions
from wordtide.model.prior import Diffusion, StationaryPrior
from wordtide.types import Floats, Integers


def recalibrated(side: Trajectories, words: Integers, calibration: Calibration | None) -> Trajectories:
    """The trajectories of some words, renumbered from 0, under the calibrated prior and noise.

    Without calibration, the prior and noise of the fit apply.
    """
    if isinstance(side, ShiftedTrajectories):
        return side.taken(recalibrated(side.base, words, calibration), words)
    if not isinstance(side, (SmoothedTrajectories, FilteredTrajectories)):
        raise TypeError(f"{type(side).__name__} has no messages")
    knots, h, b, prior = _messages(side, words)
    if calibration is not None:
        prior, h, b = _own(prior, calibration), h / calibration.noise, b / calibration.noise
    _smooth(knots, prior, h, b)
    jumps = side.jumps if isinstance(side, SmoothedTrajectories) else None
    if jumps is not None:
        jumps = Jumps(jumps.begin[words], jumps.end[words], jumps.log_correlation[words])
    return SmoothedTrajectories(knots, prior, b.astype(np.float32), h.astype(np.float32), jumps)


def _messages(
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
    return knots, h, messages(knots.starts, *prior, mean, h), side.prior


def _own(prior: Diffusion, calibration: Calibration) -> Diffusion:
    """The prior of the corpus; that of the paper stays as it is."""
    if not isinstance(prior, StationaryPrior):
        return prior
    return replace(
        prior,
        prior_variance=prior.prior_variance * calibration.variance,
        constant=prior.constant * calibration.variance * calibration.pace,
    )


def _smooth(knots: Knots, prior: Diffusion, h: Floats, b: Floats) -> None:
    """Replace messages by the means that follow from them."""
    from wordtide.model.chain import smooth_words

    smooth: Any = smooth_words
    smooth(knots.starts, *prior_at_knots(knots, prior), h, b, h.copy(), 0, len(knots.starts) - 1)
