"""Solvers of the methods that fit one slice after the other, for a new fit or to continue an earlier one."""

import numpy as np

from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.natural.filter_state import FilterHistory
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.schedule import NaturalOptions, Schedule
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.problem import PairSettings, Problem
from wordtide.inference.scale.engine import Engine
from wordtide.inference.settings import MOST_STEPS, FitSettings
from wordtide.inference.slice_sinks import SliceSink
from wordtide.model.prior import Diffusion

_FIRST_SLICE = 3  # the first slice starts from nothing and gets this many times the steps


def pair_settings(settings: FitSettings) -> PairSettings:
    """Return how pairs are constructed from counts under these settings."""
    return PairSettings(settings.negative_ratio, settings.context_exponent, settings.contexts == "tied")


def natural_options(
    settings: FitSettings, schedule: Schedule, first_steps: int | None = None
) -> NaturalOptions:
    """Return the options of the natural solver."""
    return NaturalOptions(
        dim=settings.dim,
        schedule=schedule,
        first_steps=first_steps,
        method="filtering" if settings.method in ("static", "smoothing") else settings.method,
        tied=settings.contexts == "tied",
        sample_size=settings.sample_size,
        trust=settings.trust,
        seed=settings.seed,
    )


def sequential_solver(
    problem: Problem,
    diffusion: Diffusion,
    settings: FitSettings,
    engine: Engine,
    sink: SliceSink | None = None,
    history: FilterHistory | None = None,
) -> SequentialSolver | AdamFilter:
    """Create the solver of filtering, the static model or a baseline.

    With a `history` it continues an earlier fit.
    """
    compute = engine.compute
    if settings.solver == "adam":
        adam = FilterOptions(
            settings.dim,
            settings.seed,
            steps_per_slice=settings.adam_steps,
            rate=settings.adam_rate,
            dtype=compute.dtype,
        )
        return AdamFilter(problem, diffusion, adam, sink, history)
    steps = settings.max_steps or MOST_STEPS[settings.method]
    schedule = Schedule(steps, settings.rate, settings.final_rate, settings.tolerance, measure_every=5)
    # The first slice of a filter gets more steps even if it is the only one: updates may add others.
    longer = settings.method == "filtering" or len(problem) > 1
    options = natural_options(settings, schedule, _FIRST_SLICE * steps if longer else None)
    signs = signs_by_rule(settings.dim) if options.tied else None
    prepare = engine.slice_preparation(pair_settings(settings), options, signs)
    return SequentialSolver(problem, diffusion, options, compute, sink, history, prepare)


def elbo_of_slices(curve: list[dict[str, object]], pairs: list[float]) -> float | None:
    """Return the mean of the last ELBO per pair of each slice, weighted by pairs; None if not measured."""
    measured: dict[int, float] = {}
    for row in curve:
        t, elbo = row["slice"], row["elbo"]
        if isinstance(t, int) and isinstance(elbo, float):
            measured[t] = elbo
    if not measured:
        return None
    return float(np.average(list(measured.values()), weights=[pairs[t] for t in measured]))
