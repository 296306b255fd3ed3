"""Choice of the diffusion constant: the one that best predicts each slice from all others.

The mean-field ELBO prefers static vectors on every corpus, so it cannot choose D (docs/mathematics.md). The
predictive likelihood of each slice given the others can. The messages of a first fit can be combined under
any constant, which locates the optimum roughly; short fits around it then refine the choice.
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

#: At the smallest constant tried, vectors move by this fraction of the prior variance over the whole period.
_STILL = 1e-3
#: At the largest constant tried, the correlation between neighboring slices falls to 1/e.
_LOOSE = 2.0
_FIRST_STEPS, _STEPS, _RATE = 8, 5, 0.6
_ROUGHLY = 0.2  # accuracy of log D from the messages of the first fit
_APART = math.log(2.5)  # distance in log D between the fits that refine the choice
_MOST_TRIED = 8
_NEVER = 1 << 30

#: The schedule of a solver that chooses D: it never measures the ELBO.
CHOICE = Schedule(_NEVER, _RATE, _RATE, 0.0, measure_every=_NEVER)


def choose_diffusion(solver: SmoothingSolver, observer: Observer) -> float:
    """Choose the diffusion constant.

    Args:
        solver: A solver with the schedule `CHOICE`.
        observer: Receives the progress.

    Returns:
        The constant that predicts best. A single slice cannot decide: then the constant in use.
    """
    times, variance = solver.diffusion.times, float(np.mean(solver.diffusion.marginal))
    if len(times) == 1:
        return solver.diffusion.constant
    smallest = math.log(standing(solver.diffusion))
    largest = math.log(_LOOSE * variance / float(np.median(np.diff(times))))

    def advance(steps: int) -> None:
        for _ in range(steps):
            solver.advance()
            observer.step()

    def fitted(log_constant: float) -> float:
        try:
            solver.use_diffusion(math.exp(log_constant))
            advance(_STEPS)
            return _total(solver)
        except Diverged:
            solver.begin()
            return -math.inf

    with observer.stage("diffusion", _FIRST_STEPS + _STEPS * _MOST_TRIED):
        solver.use_diffusion(math.exp(smallest))  # vectors that have moved too far take long to return
        advance(_FIRST_STEPS)
        rough = minimize_scalar(
            lambda log_constant: -_total(solver, math.exp(log_constant)),
            bounds=(smallest, largest),
            method="bounded",
            options={"xatol": _ROUGHLY},
        )
        return math.exp(_highest(fitted, float(rough.x), smallest, largest))


def standing(diffusion: Diffusion) -> float:
    """Return a constant so small that vectors hardly move."""
    span = float(diffusion.times[-1] - diffusion.times[0])
    return _STILL * float(np.mean(diffusion.marginal)) / span if span > 0 else diffusion.constant


def _total(solver: SmoothingSolver, constant: float | None = None) -> float:
    """Return the mean predictive log likelihood per pair of slices left out one by one."""
    return weighted_mean(solver.predictions(constant), solver.pairs)


def _highest(value: Callable[[float], float], center: float, smallest: float, largest: float) -> float:
    """Maximize a smooth function: the vertex of the parabola through a point and its lower neighbors."""
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
