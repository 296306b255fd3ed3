"""The diffusion constant that predicts best: each slice from all others.

The ELBO of the mean field prefers vectors that stand still on every corpus, so it cannot choose D (docs/mathematics.md). The
likelihood of slices under what the other slices say of their words can. A first fit shows roughly where the best constant is,
because its messages can be put together under any other one; short fits on either side then settle it.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from wordtide.embeddings.posterior import weighted_mean
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.training import Diverged
from wordtide.model.prior import Diffusion
from wordtide.progress import Observer

#: Over all times together, vectors move by this share of the prior variance at the smallest constant tried: they stand still.
_STILL = 1e-3
#: From slice to slice the correlation falls to 1/e at the largest constant tried.
_LOOSE = 2.0
_FIRST_STEPS, _STEPS, _RATE = 8, 5, 0.6
_ROUGHLY = 0.2  # accuracy of log D by the messages of the first fit
_APART = math.log(2.5)  # log D of the fits that settle it
_MOST_TRIED = 8
_NEVER = 1 << 30

#: For a solver that chooses: the ELBO is not asked for.
CHOICE = Schedule(_NEVER, _RATE, _RATE, 0.0, measure_every=_NEVER)


def choose_diffusion(solver: SmoothingSolver, observer: Observer) -> float:
    """The constant, by a solver with the schedule `CHOICE`. One slice says nothing of time: then it is the one in use."""
    times, variance = solver.diffusion.times, float(np.mean(solver.diffusion.marginal))
    if len(times) == 1:
        return solver.diffusion.constant
    smallest = math.log(standing(solver.diffusion))
    largest = math.log(_LOOSE * variance / float(np.median(np.diff(times))))
    steps = 0

    def go(number: int) -> None:
        nonlocal steps
        for _ in range(number):
            solver.advance()
            steps += 1
            observer.step()

    def fitted(log_constant: float) -> float:
        try:
            solver.use_diffusion(math.exp(log_constant))
            go(_STEPS)
            return _total(solver)
        except Diverged:
            solver.begin()
            return -math.inf

    observer.start("diffusion", _FIRST_STEPS + _STEPS * _MOST_TRIED, "steps")
    try:
        solver.use_diffusion(
            math.exp(smallest)
        )  # whatever it was: vectors that once moved too far take long to come back
        go(_FIRST_STEPS)
        rough = minimize_scalar(
            lambda log_constant: -_total(solver, math.exp(log_constant)),
            bounds=(smallest, largest),
            method="bounded",
            options={"xatol": _ROUGHLY},
        )
        return math.exp(_highest(fitted, float(rough.x), smallest, largest))
    finally:
        observer.finish()


def standing(diffusion: Diffusion) -> float:
    """A constant so small that vectors stand still."""
    span = float(diffusion.times[-1] - diffusion.times[0])
    return _STILL * float(np.mean(diffusion.marginal)) / span if span > 0 else diffusion.constant


def _total(solver: SmoothingSolver, constant: float | None = None) -> float:
    """Log-likelihood per pair of slices left out one by one."""
    return weighted_mean(solver.predictions(constant), solver.pairs)


def _highest(value: Callable[[float], float], center: float, smallest: float, largest: float) -> float:
    """Where a smooth function is highest: the vertex of the parabola through three points, the middle one highest."""
    found: dict[float, float] = {}
    for _ in range(_MOST_TRIED):
        points = [max(center - _APART, smallest), center, min(center + _APART, largest)]
        for point in points:
            if point not in found:
                found[point] = value(point)
        best = max(points, key=lambda point: found[point])
        if best == center or len(found) >= _MOST_TRIED:
            break
        center = best
    if not points[0] < center < points[2] or not all(math.isfinite(found[point]) for point in points):
        return center
    second, first, _ = np.polyfit([point - center for point in points], [found[point] for point in points], 2)
    return float(np.clip(center - first / (2.0 * second), points[0], points[2])) if second < 0 else center
