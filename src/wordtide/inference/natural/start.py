"""Where smoothing starts: the static model of all slices together."""

from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.inference.compute import Compute
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.negatives import AUTO
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.problem import Problem, pooled
from wordtide.inference.settings import FitSettings
from wordtide.inference.training import FitObserver, train
from wordtide.model.prior import Diffusion, StationaryPrior

Array = npt.NDArray[Any]
_STEPS = 24
_CONTEXTS = 256


def standing_start(
    problem: Problem, settings: FitSettings, diffusion: Diffusion, compute: Compute, observer: FitObserver
) -> Array:
    """Vectors that stand still, in their principal axes, (2, L, d).

    From there smoothing needs fewer steps than from random vectors, and ends higher (docs/mathematics.md has figures).
    """
    all_slices = pooled(problem, settings.negative_ratio, settings.context_exponent)
    solver = SequentialSolver(
        all_slices,
        StationaryPrior(all_slices.times, diffusion.constant, float(np.mean(diffusion.marginal))),
        settings.dim,
        Schedule(_STEPS, settings.rate, settings.final_rate, settings.tolerance),
        compute,
        contexts=settings.contexts
        if settings.contexts in (None, AUTO)
        else max(_CONTEXTS, settings.contexts),
        trust=settings.trust,
        seed=settings.seed,
    )
    train(solver, "start", all_slices.labels, observer)
    start = np.zeros((2, len(problem.words), settings.dim), dtype=solver.mean.dtype)
    start[:, all_slices.slices[0].words] = solver.mean
    return start
