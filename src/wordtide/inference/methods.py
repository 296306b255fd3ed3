"""Each method from its problem to its posterior at the knots."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.posterior import Posterior, weighted_mean
from wordtide.inference.checkpoints import Checkpoints
from wordtide.inference.compute import Compute
from wordtide.inference.natural.diffusion_choice import CHOICE, choose_diffusion, standing
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.natural.start import standing_start
from wordtide.inference.paper.matching import matching_precision
from wordtide.inference.paper.smoothing import AdamSmoother, SmootherOptions
from wordtide.inference.problem import Problem
from wordtide.inference.scale.in_memory import States, as_singles
from wordtide.inference.scale.offload_files import OffloadFolder
from wordtide.inference.scale.on_disk import OffloadedStates
from wordtide.inference.scale.on_processes import SharedStates
from wordtide.inference.scale.shares import shared_out
from wordtide.inference.sequential_solvers import elbo_of_slices, sequential_solver
from wordtide.inference.settings import MOST_STEPS, FitSettings
from wordtide.inference.slice_sinks import KnotArrays, SliceFolder
from wordtide.inference.training import FitObserver, Solver, train
from wordtide.model.prior import Diffusion

Array = npt.NDArray[Any]
Curve = list[dict[str, Any]]
_FIRST_DIFFUSION = 1e-3  # until one is chosen


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
    work: Array | None = (
        None  # about how long each slice takes, (T,), by which several processes share them out
    )
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
    pairs: list[float] | None = None  # of each slice
    pace: float = 1.0
    predictions: list[float] | None = (
        None  # of each slice: its log-likelihood per pair under beliefs made without it
    )
    static_prediction: float | None = None  # the same of one static model, over all slices

    def elbo(self) -> float | None:
        """The last ELBO per pair: of all slices together, or of each slice, weighted by its pairs."""
        if self.pairs is not None and any(row["slice"] is not None for row in self.curve):
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
    predictions = (
        solver.predictions
        if isinstance(solver, SequentialSolver) and fit.settings.method == "filtering"
        else None
    )
    return Outcome(posterior, diffusion, curve, solver.pairs, solver.slow, predictions)


def _diffusion(fit: Run) -> Diffusion:
    """The prior of a sequential method. An unknown diffusion constant is chosen by smoothing the same counts first."""
    settings, problem = fit.settings, fit.problem
    if not isinstance(settings.diffusion, str):
        return settings.prior_on(problem.times, settings.diffusion)
    first = settings.prior_on(problem.times, _FIRST_DIFFUSION)
    start = _start(fit, first)
    return _chosen(fit, _smoothing_solver(fit, first, start, CHOICE))


def _smoothing(fit: Run) -> Outcome:
    settings, problem = fit.settings, fit.problem
    auto = settings.diffusion == "auto"
    diffusion = settings.prior_on(problem.times, _FIRST_DIFFUSION if auto else float(settings.diffusion))
    if (
        fit.saved is not None and fit.saved[0] == "smoothing"
    ):  # the checkpoint has it, and the constant that was chosen
        start = np.zeros((2, len(problem.words), settings.dim), dtype=np.float32)
    else:
        start = _start(fit, diffusion)
        if auto:
            diffusion = _chosen(fit, _smoothing_solver(fit, diffusion, start, CHOICE))
    steps = settings.max_steps or MOST_STEPS["smoothing"]
    schedule = Schedule(steps, settings.rate, settings.final_rate, settings.tolerance, measure_every=3)
    solver = _smoothing_solver(fit, diffusion, start, schedule)
    curve = fit.train(solver, "smoothing")
    predictions, static = solver.predictions(), solver.predictions(standing(solver.diffusion))
    found = solver.states.arrays()
    mean_u, mean_v, precision_u, precision_v = (
        as_singles(found[name]) for name in ("mean_u", "mean_v", "h_u", "h_v")
    )
    posterior = Posterior(
        "smoother", problem.knots, mean_u, mean_v, precision_u=precision_u, precision_v=precision_v
    )
    return Outcome(
        posterior,
        solver.diffusion,
        curve,
        solver.pairs,
        1.0,
        predictions,
        weighted_mean(static, solver.pairs),
    )


def _start(fit: Run, diffusion: Diffusion) -> Array:
    return standing_start(fit.problem, fit.settings, diffusion, fit.compute, fit.observer)


def _smoothing_solver(fit: Run, diffusion: Diffusion, start: Array, schedule: Schedule) -> SmoothingSolver:
    settings = fit.settings
    return SmoothingSolver(
        fit.problem,
        diffusion,
        start,
        schedule,
        fit.compute,
        contexts=settings.contexts,
        trust=settings.trust,
        seed=settings.seed,
        states=_states(fit, diffusion, start),
    )


def _chosen(fit: Run, solver: SmoothingSolver) -> Diffusion:
    """The prior with the diffusion constant that predicts best."""
    fit.observer.tell("choosing the diffusion constant that predicts best")
    constant = float(fit.compute.processes.of_first(np.array([choose_diffusion(solver, fit.observer)]))[0])
    fit.observer.tell(f"diffusion constant: {constant:.3g} per year")
    return solver.diffusion.with_constant(constant)


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


def _adam_smoothing(fit: Run) -> Outcome:
    settings, problem = fit.settings, fit.problem
    diffusion = settings.prior_on(problem.times, float(settings.diffusion))
    options = SmootherOptions(
        settings.dim,
        settings.seed,
        minibatch_words=settings.adam_minibatch_words,
        minibatch_steps=settings.adam_minibatch_steps,
        full_steps=settings.adam_full_steps,
        minibatch_rate=settings.adam_rate,
        full_rate=settings.adam_full_rate,
        dtype=np.dtype(str(fit.compute.dtype).removeprefix("torch.")),
    )
    solver = AdamSmoother(problem, diffusion, options)
    curve = fit.train(solver, "smoothing by adam")
    precisions = [
        matching_precision(variance, problem.knots, diffusion)
        for variance in (solver.variance_u, solver.variance_v)
    ]
    posterior = Posterior(
        "smoother",
        problem.knots,
        solver.mean_u,
        solver.mean_v,
        precision_u=precisions[0],
        precision_v=precisions[1],
    )
    return Outcome(posterior, diffusion, curve)
