"""Each method from its problem to its posterior at the knots."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.diffusion import Diffusion
from wordtide.embeddings.posterior import Posterior
from wordtide.inference.adam_filtering import AdamFilter
from wordtide.inference.adam_smoothing import AdamSmoother
from wordtide.inference.checkpoints import Checkpoints
from wordtide.inference.compute import Compute
from wordtide.inference.moment_matching import matching_precision
from wordtide.inference.negatives import AUTO
from wordtide.inference.problem import Problem, pooled
from wordtide.inference.schedule import Schedule
from wordtide.inference.sequential import SequentialSolver
from wordtide.inference.settings import MOST_STEPS, FitSettings
from wordtide.inference.smoothing import SmoothingSolver
from wordtide.inference.training import FitObserver, Solver, train

Array = npt.NDArray[Any]
Curve = list[dict[str, Any]]
_FIRST_DIFFUSION = 1e-3  # where the estimate of the diffusion constant begins
_FIRST_SLICE = 3  # times as many steps for the first slice, which starts from nothing
_START_STEPS = 12
_START_CONTEXTS = 256


@dataclass(frozen=True)
class Run:
    """A fit that is to be made: what, how, on what, and from where."""

    problem: Problem
    settings: FitSettings
    compute: Compute
    observer: FitObserver
    checkpoints: Checkpoints | None = None
    saved: tuple[str, dict[str, Array], Curve] | None = None

    def train(self, solver: Solver, stage: str) -> Curve:
        """Train a solver, from its checkpoint if that is of this stage."""
        curve: Curve = []
        if self.saved is not None and self.saved[0] == stage:
            solver.restore(self.saved[1])
            curve = self.saved[2]
        return train(solver, stage, self.problem.labels, self.observer, self.checkpoints, curve)


@dataclass(frozen=True)
class Outcome:
    """What a fit found."""

    posterior: Posterior
    diffusion: Diffusion
    curve: Curve

    def elbo(self, problem: Problem) -> float | None:
        """The last ELBO per pair: of all slices together, or of each slice, weighted by its pairs."""
        measured: dict[int | None, float] = {row["slice"]: row["elbo"] for row in self.curve if row["elbo"] is not None}
        if None in measured or not measured:
            return measured.get(None)
        weights = [problem.slices[t].pairs for t in measured if t is not None]
        return float(np.average(list(measured.values()), weights=weights))


def run(fit: Run) -> Outcome:
    """Make a fit by its method and solver."""
    if fit.settings.solver == "adam":
        return _adam_smoothing(fit) if fit.settings.method == "smoothing" else _adam_filtering(fit)
    if fit.settings.method == "smoothing":
        return _smoothing(fit)
    return _sequential(fit)


def _sequential(fit: Run) -> Outcome:
    """Filtering, the static model, and the two baselines."""
    settings, problem = fit.settings, fit.problem
    diffusion = _diffusion(fit)
    steps = settings.max_steps or MOST_STEPS[settings.method]
    solver = SequentialSolver(
        problem,
        diffusion,
        settings.dim,
        Schedule(steps, settings.rate, settings.final_rate, settings.tolerance, measure_every=5),
        fit.compute,
        method="filtering" if settings.method == "static" else settings.method,
        contexts=settings.contexts,
        trust=settings.trust,
        seed=settings.seed,
        first_steps=_FIRST_SLICE * steps if len(problem) > 1 else steps,
    )
    curve = fit.train(solver, settings.method)
    mean_u, mean_v = (np.asarray(mean, dtype=np.float32) for mean in solver.mean)
    if solver.variance is None:
        return Outcome(Posterior("point", problem.knots, mean_u, mean_v), diffusion, curve)
    variance_u, variance_v = (np.asarray(variance, dtype=np.float32) for variance in solver.variance)
    return Outcome(Posterior("filter", problem.knots, mean_u, mean_v, variance_u, variance_v), diffusion, curve)


def _diffusion(fit: Run) -> Diffusion:
    """The prior of a sequential method. An unknown diffusion constant is estimated by smoothing the same counts first."""
    settings, problem = fit.settings, fit.problem
    constant = settings.diffusion
    if constant == "auto":
        fit.observer.tell("estimating the diffusion constant by smoothing")
        constant = _smoothing(Run(problem, settings, fit.compute, fit.observer)).diffusion.constant
        fit.observer.tell(f"diffusion constant: {constant:.3g} per year")
    return _prior(fit, float(constant))


def _prior(fit: Run, constant: float) -> Diffusion:
    times = fit.problem.times
    return Diffusion(times, constant, fit.settings.variance_of_prior(times, constant))


def _smoothing(fit: Run) -> Outcome:
    settings, problem = fit.settings, fit.problem
    auto = settings.diffusion == "auto"
    diffusion = _prior(fit, _FIRST_DIFFUSION if auto else float(settings.diffusion))
    in_progress = fit.saved is not None and fit.saved[0] == "smoothing"
    start = (
        np.zeros((2, len(problem.words), settings.dim), dtype=np.float32) if in_progress else _standing_start(fit, diffusion)
    )
    steps = settings.max_steps or MOST_STEPS["smoothing"] * (3 if auto else 1)
    solver = SmoothingSolver(
        problem,
        diffusion,
        start,
        Schedule(steps, settings.rate, settings.final_rate, settings.tolerance, measure_every=3),
        fit.compute,
        contexts=settings.contexts,
        trust=settings.trust,
        seed=settings.seed,
        estimate_diffusion=auto,
    )
    curve = fit.train(solver, "smoothing")
    (mean_u, precision_u), (mean_v, precision_v) = (
        tuple(np.asarray(tensor.cpu().numpy(), dtype=np.float32) for tensor in (kind.mean, kind.h)) for kind in solver.kinds
    )
    posterior = Posterior("smoother", problem.knots, mean_u, mean_v, precision_u=precision_u, precision_v=precision_v)
    return Outcome(posterior, solver.diffusion, curve)


def _standing_start(fit: Run, diffusion: Diffusion) -> Array:
    """Where smoothing starts: the static model of all slices together, in its principal axes, (2, L, d).

    From there smoothing needs fewer steps than from random vectors, and ends higher (docs/mathematics.md has figures).
    """
    settings = fit.settings
    all_slices = pooled(fit.problem, settings.negative_ratio, settings.context_exponent)
    variance = float(np.mean(diffusion.marginal))
    solver = SequentialSolver(
        all_slices,
        Diffusion(all_slices.times, diffusion.constant, variance),
        settings.dim,
        Schedule(_START_STEPS, settings.rate, settings.final_rate, settings.tolerance),
        fit.compute,
        contexts=settings.contexts if settings.contexts in (None, AUTO) else max(_START_CONTEXTS, settings.contexts),
        trust=settings.trust,
        seed=settings.seed,
    )
    train(solver, "start", all_slices.labels, fit.observer)
    start = np.zeros((2, len(fit.problem.words), settings.dim), dtype=solver.mean.dtype)
    start[:, all_slices.slices[0].words] = solver.mean
    return start


def _adam_filtering(fit: Run) -> Outcome:
    settings, problem = fit.settings, fit.problem
    diffusion = _prior(fit, float(settings.diffusion))
    solver = AdamFilter(
        problem,
        diffusion,
        settings.dim,
        settings.seed,
        steps_per_slice=settings.adam_steps,
        rate=settings.adam_rate,
        device=fit.compute.device,
        dtype=fit.compute.dtype,
    )
    curve = fit.train(solver, "filtering")
    posterior = Posterior("filter", problem.knots, solver.mean_u, solver.mean_v, solver.variance_u, solver.variance_v)
    return Outcome(posterior, diffusion, curve)


def _adam_smoothing(fit: Run) -> Outcome:
    settings, problem = fit.settings, fit.problem
    diffusion = _prior(fit, float(settings.diffusion))
    solver = AdamSmoother(
        problem,
        diffusion,
        settings.dim,
        settings.seed,
        minibatch_words=settings.adam_minibatch_words,
        minibatch_steps=settings.adam_minibatch_steps,
        full_steps=settings.adam_full_steps,
        minibatch_rate=settings.adam_rate,
        full_rate=settings.adam_full_rate,
        device=fit.compute.device,
        dtype=fit.compute.dtype,
    )
    curve = fit.train(solver, "smoothing by adam")
    precisions = [matching_precision(variance, problem.knots, diffusion) for variance in (solver.variance_u, solver.variance_v)]
    posterior = Posterior(
        "smoother", problem.knots, solver.mean_u, solver.mean_v, precision_u=precisions[0], precision_v=precisions[1]
    )
    return Outcome(posterior, diffusion, curve)
