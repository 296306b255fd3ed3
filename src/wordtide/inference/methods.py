"""The fitting methods: from a problem to its posterior at the knots.

The methods that fit one slice after the other begin a new fit or continue an earlier one.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wordtide.embeddings.posterior import Posterior, weighted_mean
from wordtide.inference.checkpoints import Checkpoints
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.natural.filtering import FilterHistory, SequentialSolver
from wordtide.inference.natural.schedule import NaturalOptions, Schedule
from wordtide.inference.natural.smoothing import (
    CHOICE,
    SmoothingSolver,
    choose_diffusion,
    static_start,
    still_constant,
)
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.paper.gradients import matching_precision
from wordtide.inference.paper.smoothing import AdamSmoother, SmootherOptions
from wordtide.inference.problem import PairSettings, Problem
from wordtide.inference.scale.engine import Engine
from wordtide.inference.scale.in_memory import Start, as_singles, saved_start, start_arrays
from wordtide.inference.settings import MOST_STEPS, FitSettings
from wordtide.inference.slice_sinks import KnotArrays, SliceFolder, SliceSink
from wordtide.inference.training import Solver, train
from wordtide.model.prior import Diffusion
from wordtide.progress import Observer
from wordtide.system import return_freed_memory
from wordtide.types import Array

Curve = list[dict[str, Any]]
_FITTING_START = "start"  # the stage that fits the static vectors from which smoothing starts
_START_FITTED = "static vectors"  # the stage of a checkpoint that holds them, before smoothing begins
_FIRST_DIFFUSION = 1e-3  # until one is chosen
_FIRST_SLICE_FACTOR = 3  # the first slice has no earlier one to start from and gets more steps


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
    options = natural_options(settings, schedule, _FIRST_SLICE_FACTOR * steps if longer else None)
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


@dataclass(frozen=True)
class Run:
    """A fit to run: its problem and settings, the engine, and the checkpoint to resume from."""

    problem: Problem
    settings: FitSettings
    engine: Engine
    observer: Observer
    checkpoints: Checkpoints | None = None
    saved: tuple[str, dict[str, Array], Curve] | None = None
    sink: SliceFolder | None = None  # receives the finished slices of a filter; None: keep them in memory

    def train(self, solver: Solver, stage: str) -> Curve:
        """Train a solver, resuming from the checkpoint if it belongs to this stage."""
        curve: Curve = []
        if self.saved is not None and self.saved[0] == stage:
            solver.restore(self.saved[1])
            curve = self.saved[2]
        curve = train(solver, stage, self.problem.labels, self.observer, self.checkpoints, curve)
        if self.checkpoints is not None:
            self.checkpoints.save_if_interrupted(partial(self._save, stage, solver, curve))
        return curve

    def keep_start(self, start: Start) -> None:
        """Save static vectors if the fit is interrupted before smoothing begins."""
        if self.checkpoints is not None:
            save = partial(self.checkpoints.save, _START_FITTED, start_arrays(start), [])
            self.checkpoints.save_if_interrupted(save)

    def _save(self, stage: str, solver: Solver, curve: Curve) -> None:
        if self.checkpoints is not None:
            self.checkpoints.save(stage, solver.state(), curve)


@dataclass(frozen=True)
class Outcome:
    """The result of a fit.

    Attributes:
        posterior: The posterior at the knots.
        diffusion: The prior, with the diffusion constant that was given or chosen.
        curve: The training curve.
        pairs: The number of pairs of each slice.
        pace: The fraction of the learning rate left after divergences.
        predictions: The predictive log likelihood per pair of each slice, given other slices.
        static_prediction: Its mean over all slices for vectors that do not move.
    """

    posterior: Posterior
    diffusion: Diffusion
    curve: Curve
    pairs: list[float] | None = None
    pace: float = 1.0
    predictions: list[float] | None = None
    static_prediction: float | None = None

    def elbo(self) -> float | None:
        """Return the last ELBO per pair: of all slices, or their mean weighted by pairs."""
        if self.pairs is not None and any(row["slice"] is not None for row in self.curve):
            return elbo_of_slices(self.curve, self.pairs)
        measured: list[float] = [row["elbo"] for row in self.curve if row["elbo"] is not None]
        return measured[-1] if measured else None


def run(fit: Run) -> Outcome:
    """Run a fit with its method and solver."""
    if fit.settings.method == "smoothing":
        return _adam_smoothing(fit) if fit.settings.solver == "adam" else _smoothing(fit)
    return _sequential(fit)


def _sequential(fit: Run) -> Outcome:
    """Fit a filter, the static model or one of the two baselines."""
    problem, diffusion = fit.problem, _diffusion(fit)
    solver = sequential_solver(problem, diffusion, fit.settings, fit.engine, fit.sink)
    curve = fit.train(solver, fit.settings.method)
    signs = solver.signs if isinstance(solver, SequentialSolver) else None
    if fit.sink is not None:
        slices = fit.sink.read(len(problem), solver.dim)
        posterior = Posterior.by_slice(problem.knots, slices, solver.dim, signs)
    else:
        assert isinstance(solver.sink, KnotArrays)
        posterior = solver.sink.posterior(signs)
    predictions = None
    if isinstance(solver, SequentialSolver) and fit.settings.method == "filtering":
        predictions = solver.predictions
    return Outcome(posterior, diffusion, curve, solver.pairs, solver.pace, predictions)


def _diffusion(fit: Run) -> Diffusion:
    """Return the prior of a sequential method; with diffusion="auto", smoothing chooses its constant."""
    settings, problem = fit.settings, fit.problem
    if not isinstance(settings.diffusion, str):
        return settings.prior_on(problem.times, settings.diffusion)
    first = settings.prior_on(problem.times, _FIRST_DIFFUSION)
    return _chosen(fit, first, _start(fit, first))


def _smoothing(fit: Run) -> Outcome:
    settings, problem = fit.settings, fit.problem
    auto = settings.diffusion == "auto"
    diffusion = settings.prior_on(problem.times, _FIRST_DIFFUSION if auto else float(settings.diffusion))
    if fit.saved is not None and fit.saved[0] == "smoothing":
        start = saved_start(fit.saved[1])  # the solver restores the chosen constant
    else:
        start = _start(fit, diffusion)
        if auto:
            diffusion = _chosen(fit, diffusion, start)
    solver = _smoothing_solver(fit, diffusion, start, _schedule(settings))
    curve = fit.train(solver, "smoothing")
    predictions, static = solver.predictions(), solver.predictions(still_constant(solver.diffusion))
    found = solver.states.arrays()
    names = {"mean_u": "mean_u", "mean_v": "mean_v", "h_u": "precision_u", "h_v": "precision_v"}
    arrays = {field: as_singles(found[name]) for name, field in names.items() if name in found}
    solver.states.finish()
    posterior = Posterior("smoother", problem.knots, signs=start.signs, **arrays)
    return Outcome(
        posterior,
        solver.diffusion,
        curve,
        solver.pairs,
        predictions=predictions,
        static_prediction=weighted_mean(static, solver.pairs),
    )


def _schedule(settings: FitSettings) -> Schedule:
    steps = settings.max_steps or MOST_STEPS["smoothing"]
    rates = settings.rate, settings.final_rate
    return Schedule(steps, *rates, settings.tolerance, measure_every=3, measure_from=6)


def _start(fit: Run, diffusion: Diffusion) -> Start:
    if fit.saved is not None and fit.saved[0] == _START_FITTED:
        start = saved_start(fit.saved[1])
        fit.keep_start(start)
        return start
    options, pairs = natural_options(fit.settings, _schedule(fit.settings)), pair_settings(fit.settings)
    train_start = partial(fit.train, stage=_FITTING_START)
    start = static_start(fit.problem, pairs, diffusion, options, fit.engine.compute, train_start)
    fit.keep_start(start)  # instead of the solver, which takes more memory
    fit.engine.compute.work.clear()  # all words at once need larger arrays than those of a slice
    return_freed_memory()
    return start


def _smoothing_solver(fit: Run, diffusion: Diffusion, start: Start, schedule: Schedule) -> SmoothingSolver:
    options = natural_options(fit.settings, schedule)
    states = fit.engine.states(fit.problem, pair_settings(fit.settings), options, diffusion, start)
    return SmoothingSolver(states, options)


def _chosen(fit: Run, first: Diffusion, start: Start) -> Diffusion:
    """Return the prior with the diffusion constant that predicts best."""
    fit.observer.message("choosing the diffusion constant that predicts best")
    solver = _smoothing_solver(fit, first, start, CHOICE)
    constant = choose_diffusion(solver, fit.observer)
    fit.observer.message(f"diffusion constant: {constant:.3g} per year")
    return solver.diffusion.with_constant(constant)


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
        dtype=fit.engine.compute.dtype,
    )
    solver = AdamSmoother(problem, diffusion, options)
    curve = fit.train(solver, "smoothing by adam")
    (mean_u, mean_v), variances = solver.moments()
    u, v = (matching_precision(variance, problem.knots, diffusion) for variance in variances)
    posterior = Posterior("smoother", problem.knots, mean_u, mean_v, precision_u=u, precision_v=v)
    return Outcome(posterior, diffusion, curve)
