"""Each method from its problem to its posterior at the knots."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.diffusion import Diffusion, StationaryPrior
from wordtide.embeddings.posterior import Posterior
from wordtide.inference.adam_smoothing import AdamSmoother
from wordtide.inference.checkpoints import Checkpoints
from wordtide.inference.compute import Compute
from wordtide.inference.filtering import elbo_of_slices, sequential_solver
from wordtide.inference.moment_matching import matching_precision
from wordtide.inference.negatives import AUTO
from wordtide.inference.offload_files import OffloadFolder
from wordtide.inference.offloading import OffloadedStates
from wordtide.inference.problem import Problem, pooled
from wordtide.inference.schedule import Schedule
from wordtide.inference.sequential import SequentialSolver
from wordtide.inference.settings import MOST_STEPS, FitSettings
from wordtide.inference.shared_states import SharedStates
from wordtide.inference.sharing import shared_out
from wordtide.inference.slice_sinks import KnotArrays, SliceFolder
from wordtide.inference.smoothing import SmoothingSolver
from wordtide.inference.smoothing_states import States, as_singles
from wordtide.inference.training import FitObserver, Solver, train

Array = npt.NDArray[Any]
Curve = list[dict[str, Any]]
_FIRST_DIFFUSION = 1e-3  # where the estimate of the diffusion constant begins
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
    sink: SliceFolder | None = None  # where a filter puts finished slices; None: in memory
    work: Array | None = None  # about how long each slice takes, (T,), by which several processes share them out
    offload: OffloadFolder | None = None  # where smoothing keeps its states; None: in memory

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
    pairs: list[float] | None = None  # of each slice, where slices are fitted one by one
    pace: float = 1.0

    def elbo(self) -> float | None:
        """The last ELBO per pair: of all slices together, or of each slice, weighted by its pairs."""
        if self.pairs is not None:
            return elbo_of_slices(self.curve, self.pairs)
        measured: list[float] = [row["elbo"] for row in self.curve if row["elbo"] is not None]
        return measured[-1] if measured else None


def run(fit: Run) -> Outcome:
    """Make a fit by its method and solver."""
    if fit.settings.method == "smoothing":
        return _adam_smoothing(fit) if fit.settings.solver == "adam" else _smoothing(fit)
    return _sequential(fit)


def _sequential(fit: Run) -> Outcome:
    """Filtering, the static model, and the two baselines."""
    problem, diffusion = fit.problem, _diffusion(fit)
    solver = sequential_solver(problem, diffusion, fit.settings, fit.compute, fit.sink)
    curve = fit.train(solver, fit.settings.method)
    if fit.sink is not None:
        posterior = Posterior.by_slice(problem.knots, fit.sink.read(len(problem), solver.dim), solver.dim)
    else:
        assert isinstance(solver.sink, KnotArrays)
        posterior = solver.sink.posterior()
    return Outcome(posterior, diffusion, curve, solver.pairs, solver.slow)


def _diffusion(fit: Run) -> Diffusion:
    """The prior of a sequential method. An unknown diffusion constant is estimated by smoothing the same counts first."""
    settings, problem = fit.settings, fit.problem
    constant = settings.diffusion
    if constant == "auto":
        fit.observer.tell("estimating the diffusion constant by smoothing")
        constant = _smoothing(Run(problem, settings, fit.compute, fit.observer, work=fit.work)).diffusion.constant
        fit.observer.tell(f"diffusion constant: {constant:.3g} per year")
    return settings.prior_on(problem.times, float(constant))


def _smoothing(fit: Run) -> Outcome:
    settings, problem = fit.settings, fit.problem
    auto = settings.diffusion == "auto"
    diffusion = settings.prior_on(problem.times, _FIRST_DIFFUSION if auto else float(settings.diffusion))
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
        states=_states(fit, diffusion, start),
    )
    curve = fit.train(solver, "smoothing")
    found = solver.states.arrays()
    mean_u, mean_v, precision_u, precision_v = (as_singles(found[name]) for name in ("mean_u", "mean_v", "h_u", "h_v"))
    posterior = Posterior("smoother", problem.knots, mean_u, mean_v, precision_u=precision_u, precision_v=precision_v)
    return Outcome(posterior, solver.diffusion, curve)


def _states(fit: Run, diffusion: Diffusion, start: Array) -> States | None:
    """Where trajectories live that are not all in the memory of one process."""
    problem, processes = fit.problem, fit.compute.processes
    if fit.offload is None and not processes.several:
        return None
    words = [problem.active_words(t) for t in range(len(problem))]
    if fit.offload is not None:
        return OffloadedStates(problem.knots, words, diffusion, start, fit.compute, fit.offload)
    work = np.ones(len(problem)) if fit.work is None else fit.work
    bounds = shared_out(work, processes.size)
    return SharedStates(problem.knots, words, diffusion, processes.of_first(start), fit.compute, bounds)


def _standing_start(fit: Run, diffusion: Diffusion) -> Array:
    """Where smoothing starts: the static model of all slices together, in its principal axes, (2, L, d).

    From there smoothing needs fewer steps than from random vectors, and ends higher (docs/mathematics.md has figures).
    """
    settings = fit.settings
    all_slices = pooled(fit.problem, settings.negative_ratio, settings.context_exponent)
    solver = SequentialSolver(
        all_slices,
        StationaryPrior(all_slices.times, diffusion.constant, float(np.mean(diffusion.marginal))),
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


def _adam_smoothing(fit: Run) -> Outcome:
    settings, problem = fit.settings, fit.problem
    diffusion = settings.prior_on(problem.times, float(settings.diffusion))
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
