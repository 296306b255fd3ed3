"""The starting point of smoothing: a static model of all slices together."""

from dataclasses import replace

import numpy as np

from wordtide.inference.compute import Compute
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.negatives import AUTO
from wordtide.inference.natural.schedule import NaturalOptions
from wordtide.inference.problem import PairSettings, Problem, pooled
from wordtide.inference.scale.in_memory import Start
from wordtide.inference.training import train
from wordtide.model.prior import Diffusion, StationaryPrior
from wordtide.progress import Observer

_STEPS = {False: 24, True: 12}  # keyed by whether contexts are tied
_SAMPLE = 256


def standing_start(
    problem: Problem,
    pairs: PairSettings,
    diffusion: Diffusion,
    options: NaturalOptions,
    compute: Compute,
    observer: Observer,
) -> Start:
    """Fit static vectors, in their principal axes.

    From there smoothing needs fewer steps than from random vectors and reaches a higher ELBO
    (docs/mathematics.md).
    """
    all_slices = pooled(problem, pairs)
    sample = options.sample_size
    solver = SequentialSolver(
        all_slices,
        StationaryPrior(all_slices.times, diffusion.constant, float(np.mean(diffusion.marginal))),
        replace(
            options,
            method="filtering",
            schedule=replace(options.schedule, steps=_STEPS[options.tied], measure_every=4),
            sample_size=sample if sample in (None, AUTO) else max(_SAMPLE, sample),
        ),
        compute,
    )
    train(solver, "start", all_slices.labels, observer)
    start = np.zeros((options.sides, len(problem.words), options.dim), dtype=compute.dtype)
    start[:, all_slices.slices[0].words] = solver.mean
    return Start(start, solver.signs)
