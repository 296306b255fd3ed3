"""`wordtide.fit`: fit a model to counts, by any method."""

from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.embeddings.calibration import calibrate
from wordtide.embeddings.folder import KIND, fill_folder, fill_with_slices
from wordtide.embeddings.messages import known_share
from wordtide.embeddings.posterior import Fitted
from wordtide.embeddings.state_files import MOST_SLICES
from wordtide.embeddings.states import Embeddings
from wordtide.errors import FolderError, SettingsError
from wordtide.inference.checkpoints import Checkpoints, checkpoint_path, fingerprint
from wordtide.inference.compute import Compute, compute
from wordtide.inference.group_offsets import fit_groups
from wordtide.inference.memory import block_bytes, check_memory, estimate_memory, gigabytes
from wordtide.inference.methods import Outcome, Run, pair_settings, run
from wordtide.inference.problem import Problem, pooled, problem_of
from wordtide.inference.scale.engine import Engine, EngineSettings, open_engine
from wordtide.inference.scale.on_disk import remove_files_of_killed_fits
from wordtide.inference.settings import FitSettings, resolve
from wordtide.inference.slice_sinks import SliceFolder
from wordtide.model.knots import occurrences_of
from wordtide.progress import Observer
from wordtide.questions.effect import judge
from wordtide.spelling import counted
from wordtide.storage.folders import check_not_input, check_writable, clean_up, new_folder, real_target
from wordtide.system import return_freed_memory
from wordtide.timeline import float_year
from wordtide.types import Floats

CHECKPOINT_MINUTES = 5.0


def fit(
    counts: Counts | str | PathLike[str],
    *,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    preset: str | None = None,
    config: str | PathLike[str] | None = None,
    precision: str = "float32",
    threads: int | None = None,
    checkpoint_every: float = CHECKPOINT_MINUTES,
    resume: bool = False,
    offload: str | PathLike[str] | None = None,
    scheduler: str | None = None,
    work: str | PathLike[str] | None = None,
    observer: Observer | None = None,
    **settings: Any,
) -> Embeddings:
    """Fit a model to counts.

    Args:
        counts: `Counts`, or the path of a counts folder.
        output: Save the model in this folder. A checkpoint is kept beside it while the fit runs.
        overwrite: Replace an existing model.
        preset: The name of a preset, such as "paper-sotu".
        config: A TOML file with settings.
        precision: "float32" or "float64".
        threads: The number of threads (default: all processors). It does not change the result.
        checkpoint_every: Minutes between checkpoints.
        resume: Continue from the checkpoint of a stopped fit. The result has the same bits as an
            uninterrupted fit.
        offload: A folder in which smoothing keeps its states, for models larger than memory.
        scheduler: Fit on a Dask cluster: "local:4" for four processes here, or the address of a scheduler.
        work: With `scheduler`, a folder that all workers see (default: the folder of the output).
        observer: Receives the progress.
        **settings: The fields of `FitSettings`: method, solver, dim, diffusion, seed and so on.

    Returns:
        The fitted model.
    """
    resolved = resolve(settings, preset, None if config is None else Path(config))
    observer = observer or Observer()
    target = None if output is None else real_target(output)
    chosen = EngineSettings(_path(offload), scheduler, _path(work))
    chosen.check(resolved, target)
    path = None if isinstance(counts, Counts) else Path(counts)
    counts = counts if isinstance(counts, Counts) else Counts.load(counts, check=True)
    checkpoints = _checkpoints(target, resolved, precision, counts, checkpoint_every)
    if target is None or checkpoints is None:
        _refuse_to_resume(resume)
    elif resume and not overwrite and checkpoints.has_become(target):
        observer.message("the fit had finished before it was stopped; removing its leftovers")
        clean_up(target)
        if (parent := chosen.exchange_parent(target)) is not None:
            remove_files_of_killed_fits(parent)
        return _finished(target, checkpoints)
    else:
        check_not_input(target, [path, counts.path, config])
        check_writable(target, overwrite, KIND)
        _check_leftover(checkpoints, resume, overwrite)
    # A filter with an output folder writes each slice as it is finished, so only one slice is in memory.
    by_slice = target is not None and resolved.method == "filtering" and len(counts) <= MOST_SLICES
    on_demand = by_slice or chosen.offload is not None or chosen.scheduler is not None
    problem = _problem(counts, resolved, on_demand)
    with compute(precision, threads) as machine:
        memory = _checked_memory(counts, problem, resolved, machine, on_demand, observer)
        with open_engine(chosen, counts, path, target, machine, memory) as engine:
            prepared = _PreparedFit(counts, problem, resolved, precision, engine, observer)
            if target is None or checkpoints is None:
                return Embeddings(prepared.completed(prepared.run()))
            with new_folder(target, overwrite, KIND) as folder:
                prepared.run_into(folder, checkpoints, resume, by_slice)
            del problem, prepared, engine  # the saved model is checked in their memory
    return _finished(target, checkpoints)


@dataclass(frozen=True)
class _PreparedFit:
    """A fit whose problem, settings and engine are ready."""

    counts: Counts
    problem: Problem
    settings: FitSettings
    precision: str
    engine: Engine
    observer: Observer

    def run(self, checkpoints: Checkpoints | None = None, resume: bool = False) -> Fitted:
        """Run the fit, from its checkpoint with `resume`."""
        saved = checkpoints.load() if checkpoints is not None and resume else None
        if resume:
            after = f"resuming from the checkpoint, after step {len(saved[2])}" if saved else ""
            self.observer.message(after or "no checkpoint yet; starting from the beginning")
        sink = None if checkpoints is None else checkpoints.slices
        outcome = run(Run(self.problem, self.settings, self.engine, self.observer, checkpoints, saved, sink))
        return _fitted(self.counts, self.problem, self.settings, outcome, self.precision)

    def run_into(self, folder: Path, checkpoints: Checkpoints, resume: bool, by_slice: bool) -> None:
        """Run the fit and fill the folder of its model, with `by_slice` as slices are finished."""
        sink = checkpoints.slices = SliceFolder(folder) if by_slice else None
        with checkpoints.catching_interrupts(self.observer):
            fitted = self.run(checkpoints, resume)
            if sink is not None:
                fill_folder(folder, self.completed(fitted), sink.facts)
            else:
                fill_with_slices(folder, fitted, self.completed)

    def completed(self, fitted: Fitted) -> Fitted:
        """Add how each word moves, how variances compare with errors, and how groups use words."""
        machine = self.engine.compute
        known = known_share(fitted) if fitted.posterior.kind == "smoother" else None
        calibration = machine.start(partial(calibrate, fitted, known))
        if self.settings.method != "filtering":  # jumps of a filter are found on demand, after updates
            fitted = replace(fitted, dynamics=judge(fitted, machine.threads, known))
        fitted = replace(fitted, calibration=calibration.result())
        return replace(fitted, groups=fit_groups(self.counts, fitted, self.settings, machine, self.observer))


def _refuse_to_resume(resume: bool) -> None:
    if resume:
        raise SettingsError(
            "Only a fit with an output folder can be resumed.", "Pass the output folder of the stopped fit."
        )


def _checked_memory(
    counts: Counts,
    problem: Problem,
    settings: FitSettings,
    machine: Compute,
    on_demand: bool,
    observer: Observer,
) -> int:
    """Check that the fit fits into memory, and return the bytes of a block of words."""
    stored = None if settings.method == "static" else (2 * counts.stored_pairs()).tolist()
    needed = estimate_memory(problem, settings, machine, stored, on_disk=on_demand).total
    observer.message(f"{_described(problem, settings)}; memory needed: about {gigabytes(needed)}")
    check_memory(needed, settings, offloaded=on_demand)
    return block_bytes(needed)


def _path(given: str | PathLike[str] | None) -> Path | None:
    return None if given is None else Path(given)


def _checkpoints(
    target: Path | None, settings: FitSettings, precision: str, counts: Counts, minutes: float
) -> Checkpoints | None:
    if not np.isfinite(minutes) or minutes < 0:
        raise SettingsError(
            f"--checkpoint-every {minutes} is not a valid time.",
            "Give a number of minutes, such as 5; 0 saves a checkpoint after every step.",
        )
    if target is None:
        return None
    identity = {**settings.as_json(), "precision": precision}
    return Checkpoints(checkpoint_path(target), identity, fingerprint(counts), 60.0 * minutes)


def _problem(counts: Counts, settings: FitSettings, on_demand: bool) -> Problem:
    problem = problem_of(counts, pair_settings(settings), on_demand)
    if settings.dim > len(problem.words):
        raise SettingsError(
            f"--dim {settings.dim} is larger than the vocabulary of {counted(len(problem.words), 'word')}.",
            f"Give a --dim up to {len(problem.words)}, or count with a larger --vocabulary-size.",
        )
    return pooled(problem, pair_settings(settings)) if settings.method == "static" else problem


def _finished(target: Path, checkpoints: Checkpoints) -> Embeddings:
    """Load the saved model and remove the checkpoint."""
    return_freed_memory()  # the check maps all states
    model = Embeddings.load(target)
    checkpoints.remove()
    return model


def _fitted(
    counts: Counts, problem: Problem, settings: FitSettings, outcome: Outcome, precision: str
) -> Fitted:
    extents, occurrences = extents_of(counts), occurrences_of(counts)
    filtering = settings.method == "filtering"
    if settings.method == "static":
        extents = np.array([[extents[:, 0].min(), extents[:, 1].max()]])
        occurrences = occurrences.pooled()
    return Fitted(
        words=problem.words,
        labels=problem.labels,
        diffusion=outcome.diffusion,
        posterior=outcome.posterior,
        occurrences=occurrences,
        method=settings.method,
        solver=settings.solver,
        settings=settings.as_json(),
        curve=outcome.curve,
        extents=extents,
        elbo=outcome.elbo(),
        counting=counts.recipe(),
        pairs=None if outcome.predictions is None and not filtering else np.array(outcome.pairs),
        predictions=None if outcome.predictions is None else np.array(outcome.predictions),
        static_prediction=outcome.static_prediction,
        filter={"pace": outcome.pace, "precision": precision} if filtering else None,
    )


def extents_of(counts: Counts) -> Floats:
    """Return the first and last date of each slice in float years, (T, 2), widened to include its time."""
    slices = counts.slices
    extents = np.array(
        [[float_year(int(a)), float_year(int(b))] for a, b in zip(slices.first, slices.last, strict=True)]
    )
    extents[:, 0] = np.minimum(extents[:, 0], counts.times)
    extents[:, 1] = np.maximum(extents[:, 1], counts.times)
    return extents


def _check_leftover(checkpoints: Checkpoints, resume: bool, overwrite: bool) -> None:
    """Require --resume or --overwrite if an earlier fit left a checkpoint."""
    if checkpoints.exists() and not resume and not overwrite:
        raise FolderError(
            f"An earlier fit was stopped and left the checkpoint {checkpoints.path}.",
            "Add --resume to continue from it, or --overwrite to start again.",
        )


def _described(problem: Problem, settings: FitSettings) -> str:
    return (
        f"{settings.method} by {settings.solver}: {counted(len(problem), 'slice')}, "
        f"{counted(len(problem.words), 'word')}, {counted(len(problem.knots), 'knot')}, "
        f"{counted(settings.dim, 'dimension')}"
    )
