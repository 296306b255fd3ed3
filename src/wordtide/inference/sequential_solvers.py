"""The solver that settings ask for, for methods that go from slice to slice: of a new fit, or where an earlier one ended."""

import numpy as np

from wordtide.inference.compute import Compute
from wordtide.inference.natural.beliefs import Past
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.problem import Problem
from wordtide.inference.settings import MOST_STEPS, FitSettings
from wordtide.inference.slice_sinks import SliceSink
from wordtide.model.prior import Diffusion

_FIRST_SLICE = 3  # times as many steps for the first slice, which starts from nothing


def sequential_solver(
    problem: Problem,
    diffusion: Diffusion,
    settings: FitSettings,
    compute: Compute,
    sink: SliceSink | None = None,
    past: Past | None = None,
) -> SequentialSolver | AdamFilter:
    """Filtering by either solver, the static model, or a baseline."""
    if settings.solver == "adam":
        options = FilterOptions(
            settings.dim,
            settings.seed,
            steps_per_slice=settings.adam_steps,
            rate=settings.adam_rate,
            dtype=np.dtype(str(compute.dtype).removeprefix("torch.")),
        )
        return AdamFilter(problem, diffusion, options, sink, past)
    steps = settings.max_steps or MOST_STEPS[settings.method]
    # The first slice of a filter has more steps even if it is the only one yet: an update may bring others.
    longer = settings.method == "filtering" or len(problem) > 1
    return SequentialSolver(
        problem,
        diffusion,
        settings.dim,
        Schedule(steps, settings.rate, settings.final_rate, settings.tolerance, measure_every=5),
        compute,
        method="filtering" if settings.method == "static" else settings.method,
        contexts=settings.contexts,
        trust=settings.trust,
        seed=settings.seed,
        first_steps=_FIRST_SLICE * steps if longer else steps,
        sink=sink,
        past=past,
    )


def elbo_of_slices(curve: list[dict[str, object]], pairs: list[float]) -> float | None:
    """The last ELBO per pair of each slice, weighted by its pairs."""
    measured: dict[int, float] = {}
    for row in curve:
        t, elbo = row["slice"], row["elbo"]
        if isinstance(t, int) and isinstance(elbo, float):
            measured[t] = elbo
    if not measured:
        return None
    return float(np.average(list(measured.values()), weights=[pairs[t] for t in measured]))
