"""Skip-gram smoothing by natural gradients: each step is a pass over the pairs and a Kalman smoother pass.

A step with rate rho: h <- (1 - rho) h + rho h_new; mu <- mu + rho clip[(Pi + diag h)^-1 (g + h mu) - mu]. The
ELBO and the variational family are those of Algorithm 2 of the paper.

`choose_diffusion` finds the diffusion constant that best predicts each slice from all others. The mean-field
ELBO prefers static vectors on every corpus, so it cannot choose D (docs/mathematics.md). The
predictive likelihood of each slice given the others can. The messages of a first fit can be combined under
any constant, which locates the optimum roughly; short fits around it then refine the choice.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from wordtide.embeddings.posterior import weighted_mean
from wordtide.inference.compute import Compute
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.negatives import AUTO
from wordtide.inference.natural.schedule import NaturalOptions, Schedule
from wordtide.inference.problem import PairSettings, Problem, pooled
from wordtide.inference.scale.in_memory import Start, States
from wordtide.inference.training import Diverged, Report, Solver
from wordtide.model.prior import Diffusion, StationaryPrior
from wordtide.progress import Observer
from wordtide.storage.arrays import Storable
from wordtide.types import Array

_START_STEPS = {False: 24, True: 12}  # of the start, keyed by whether contexts are tied
_SAMPLE = 256  # contexts of the start, at least


class SmoothingSolver:
    """Fits all slices jointly, starting from static vectors. `states` holds the trajectories."""

    def __init__(self, states: States, options: NaturalOptions) -> None:
        self.states, self.options = states, options
        self.steps = options.schedule.steps
        self.pace = 1.0
        self.pairs = states.pairs()
        self.begin()

    def begin(self) -> None:
        """Return to the static vectors of the start."""
        self.states.begin()
        self.done = 0
        self.over = False
        self._before: float | None = None

    @property
    def diffusion(self) -> Diffusion:
        """The prior in use."""
        return self.states.diffusion

    def advance(self) -> Report | None:
        """Take one step of all words at all slices."""
        if self.over:
            return None
        schedule = self.options.schedule
        rate = self.pace * schedule.rate_at(self.done)
        finite = self.states.step(self.done, rate, self.options.trust)
        if not all(finite):
            raise Diverged(finite.index(False))
        self.done += 1
        if not schedule.is_measured(self.done):
            return Report(self.done, None, float("nan"), rate, self.states.note())
        elbo = self.elbo()
        if not np.isfinite(elbo) or schedule.is_falling(elbo, self._before):
            raise Diverged(None)
        self.over = schedule.is_over(self.done, elbo, self._before)
        self._before = elbo
        return Report(self.done, None, elbo, rate, self.states.note())

    def elbo(self) -> float:
        """Compute the ELBO per pair (Eq. 9): expected log likelihood of all slices minus KL(q || p)."""
        return (sum(self.states.likelihoods()) - self.states.divergence()) / sum(self.pairs)

    def predictions(self, constant: float | None = None) -> list[float]:
        """Compute the log likelihood per pair of each slice, predicted from all others.

        A slice contributes a Gaussian message to each of its vectors. Removing these messages from the
        posterior approximates a fit without the slice, except for its influence on the messages of other
        slices; docs/mathematics.md compares the two. With a `constant`, the same messages are combined under
        that diffusion constant instead of the one in use.
        """
        prior = self.diffusion if constant is None else self.diffusion.with_constant(constant)
        found = self.states.predictive_likelihoods(prior)
        return [value / pairs for value, pairs in zip(found, self.pairs, strict=True)]

    def slow_down(self) -> None:
        """Halve the rate and restart."""
        self.pace *= 0.5
        self.begin()

    def state(self) -> dict[str, Storable]:
        """Return the arrays from which a fit resumes with bit-identical results."""
        return {
            "place": np.array([self.done, self.over], dtype=np.int64),
            "numbers": np.array(
                [self.pace, np.nan if self._before is None else self._before, self.diffusion.constant]
            ),
            **self.states.arrays(),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Resume from a saved state."""
        self.done, self.over = int(state["place"][0]), bool(state["place"][1])
        self.pace = float(state["numbers"][0])
        self._before = None if np.isnan(state["numbers"][1]) else float(state["numbers"][1])
        self.use_diffusion(float(state["numbers"][2]))
        self.states.restore(state)

    def use_diffusion(self, constant: float) -> None:
        """Continue with another diffusion constant."""
        if constant != self.diffusion.constant:
            self.states.set_diffusion(self.diffusion.with_constant(constant))


def static_start(
    problem: Problem,
    pairs: PairSettings,
    diffusion: Diffusion,
    options: NaturalOptions,
    compute: Compute,
    train: Callable[[Solver], object],
) -> Start:
    """Fit static vectors, in their principal axes, with a function that trains a solver.

    From there smoothing needs fewer steps than from random vectors and reaches a higher ELBO
    (docs/mathematics.md).
    """
    all_slices = pooled(problem, pairs, compute.map)
    sample = options.sample_size
    solver = SequentialSolver(
        all_slices,
        StationaryPrior(all_slices.times, diffusion.constant, float(np.mean(diffusion.marginal))),
        replace(
            options,
            method="filtering",
            schedule=replace(
                options.schedule, steps=_START_STEPS[options.tied], measure_every=4, measure_from=0
            ),
            sample_size=sample if sample in (None, AUTO) else max(_SAMPLE, sample),
        ),
        compute,
    )
    train(solver)
    start = np.zeros((options.sides, len(problem.words), options.dim), dtype=compute.dtype)
    start[:, all_slices.slices[0].words] = solver.mean
    return Start(start, solver.signs)


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
    smallest = math.log(still_constant(solver.diffusion))
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


def still_constant(diffusion: Diffusion) -> float:
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
