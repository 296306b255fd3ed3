"""`wordtide.fit`: from counts to a model, for every method, by one call."""

from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.counts.counts import Counts
from wordtide.embeddings.folder import fill_folder, fill_with_slices
from wordtide.embeddings.posterior import Fitted
from wordtide.embeddings.slice_files import MOST_SLICES
from wordtide.embeddings.states import Embeddings
from wordtide.errors import FolderError, SettingsError
from wordtide.inference.checkpoints import Checkpoints, checkpoint_path, fingerprint
from wordtide.inference.compute import compute
from wordtide.inference.memory import block_bytes, check_memory, estimate_memory, gigabytes
from wordtide.inference.methods import Outcome, Run, run
from wordtide.inference.problem import Problem, pooled, problem_of
from wordtide.inference.scale.processes import TIMEOUT_MINUTES, join, local_size
from wordtide.inference.scale.shared_output import (
    SharedCheckpoints,
    bytes_of_each,
    check_offload,
    check_sharing,
    check_target,
    feed,
    open_counts,
    open_offload,
    open_target,
    slices_in,
)
from wordtide.inference.scale.shares import work_of_slices
from wordtide.inference.settings import FitSettings, resolve
from wordtide.inference.training import FitObserver
from wordtide.model.knots import Knots, Occurrences, occurrences_of
from wordtide.storage.folders import clean_up, real_target
from wordtide.timeline import float_year

CHECKPOINT_MINUTES = 5.0


def fit(
    counts: Counts | str | PathLike[str],
    *,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    preset: str | None = None,
    config: str | PathLike[str] | None = None,
    device: str = "cpu",
    precision: str = "float32",
    threads: int | None = None,
    checkpoint_every: float = CHECKPOINT_MINUTES,
    resume: bool = False,
    offload: str | PathLike[str] | None = None,
    process_timeout: float = TIMEOUT_MINUTES,
    observer: FitObserver | None = None,
    **settings: Any,
) -> Embeddings:
    """Fit a model to counts (`Counts`, or the path of a counts folder), and save it in `output` if that is given.

    `settings` are those of `FitSettings`: method, solver, dim, diffusion, prior_variance, seed and so on. With `output`, a
    checkpoint is kept beside it, written every `checkpoint_every` minutes; `resume` goes on from it to the same bits.

    A program that torchrun started on several processes makes the fit together with the others; if one does not answer for
    `process_timeout` minutes, the fit ends. `offload`: a folder in which smoothing keeps its states, if memory is too small.

    >>> import wordtide
    >>> texts = [(str(year), "the old mill stands by the river and the new mill stands by the road") for year in (1900, 1950)]
    >>> model = wordtide.fit(wordtide.count(texts), dim=4, threads=1)
    >>> model.method, model.mean("mill", 1900).shape
    ('smoothing', (4,))
    """
    resolved = resolve(settings, preset, None if config is None else Path(config))
    processes = join(device, process_timeout)
    counts = open_counts(counts, processes)
    observer = observer if observer is not None and processes.first else FitObserver()
    if not np.isfinite(checkpoint_every) or checkpoint_every < 0:
        raise SettingsError(
            f"--checkpoint-every {checkpoint_every} is not a time.",
            "Give minutes, like 5; 0: after every step.",
        )
    target = None if output is None else real_target(output)
    checkpoints = None
    if target is not None:
        identity = {**resolved.as_json(), "precision": precision}
        mark = processes.told_by_first(lambda: fingerprint(counts))
        checkpoints = SharedCheckpoints(
            checkpoint_path(target), identity, mark, 60.0 * checkpoint_every, processes=processes
        )
        if resume and not overwrite and checkpoints.has_become(target):
            observer.tell("the fit had ended when it was stopped; what it left is tidied up")
            if processes.first:
                clean_up(target)
            return _ended(target, checkpoints)
    check_target(target, overwrite, processes)
    check_sharing(resolved, processes)
    if offload is not None:
        check_offload(resolved, processes, target, device)
    if target is None and resume:
        raise SettingsError(
            "Only a fit with an output folder can be resumed.", "Give the output of the fit that was stopped."
        )
    streaming = target is not None and resolved.method == "filtering" and len(counts) <= MOST_SLICES
    on_demand = streaming or processes.several or offload is not None
    problem = problem_of(counts, resolved.negative_ratio, resolved.context_exponent, on_demand=on_demand)
    if resolved.dim > len(problem.words):
        raise SettingsError(
            f"--dim {resolved.dim} is larger than the vocabulary of {len(problem.words)} words.",
            f"Give a --dim up to {len(problem.words)}, or count with a larger --vocabulary-size.",
        )
    if resolved.method == "static":
        problem = pooled(problem, resolved.negative_ratio, resolved.context_exponent)
    if checkpoints is not None:
        processes.told_by_first(lambda: _check_leftover(checkpoints, resume, overwrite))
    with compute(device, precision, threads, processes) as machine:
        item = 4 if precision == "float32" else 8
        stored = (2 * counts.stored_pairs()).tolist() if on_demand and resolved.method != "static" else None
        on_disk = streaming or offload is not None
        estimate = estimate_memory(problem, resolved, machine.threads, item, stored, on_disk)
        needed = bytes_of_each(estimate, problem, resolved, item, processes.size)
        each = f" in each of {processes.size} processes" if processes.several else ""
        observer.tell(f"{_shown(problem, resolved)}; memory needed: about {gigabytes(needed)}{each}")
        check_memory(needed * (local_size() if processes.several else 1), resolved, offload is not None)
        with ExitStack() as stack:
            folder = stack.enter_context(open_offload(offload, block_bytes(needed)))
            filled = None if target is None else open_target(stack, target, overwrite, processes)
            sink = None
            if filled is not None and checkpoints is not None and streaming:
                sink = checkpoints.slices = slices_in(filled, processes)
            saved = checkpoints.load() if checkpoints is not None and resume else None
            if resume:
                going_on = f"going on from the checkpoint, after step {len(saved[2])}" if saved else ""
                observer.tell(going_on or "there is no checkpoint yet: beginning from the start")
            outcome = run(
                Run(
                    problem,
                    resolved,
                    machine,
                    observer,
                    checkpoints,
                    saved,
                    sink,
                    work_of_slices(counts),
                    folder,
                )
            )
            if target is None or filled is None:
                return Embeddings(_fitted(counts, problem, resolved, outcome, precision))
            if not processes.first:
                feed(outcome.posterior.arrays())
            elif sink is not None:
                fill_folder(filled, _fitted(counts, problem, resolved, outcome, precision), sink.facts)
            else:
                fill_with_slices(filled, _fitted(counts, problem, resolved, outcome, precision))
    processes.wait()  # until the folder has its name
    assert checkpoints is not None
    return _ended(target, checkpoints)


def _ended(target: Path, checkpoints: SharedCheckpoints) -> Embeddings:
    """The model of a fit that is saved, whose checkpoint is no longer needed."""
    model = Embeddings.load(target)
    if checkpoints.processes.first:
        checkpoints.remove()
    return model


def _fitted(
    counts: Counts, problem: Problem, settings: FitSettings, outcome: Outcome, precision: str
) -> Fitted:
    extents, occurrences = extents_of(counts), occurrences_of(counts)
    filtering = settings.method == "filtering"
    if settings.method == "static":
        extents = np.array([[extents[:, 0].min(), extents[:, 1].max()]])
        occurrences = _pooled_occurrences(occurrences)
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


def extents_of(counts: Counts) -> npt.NDArray[np.float64]:
    """The earliest and latest date of each slice, its mean date between them, in float years, (T, 2)."""
    slices = counts.slices
    extents = np.array(
        [[float_year(int(a)), float_year(int(b))] for a, b in zip(slices.first, slices.last, strict=True)]
    )
    extents[:, 0] = np.minimum(extents[:, 0], counts.times)
    extents[:, 1] = np.maximum(extents[:, 1], counts.times)
    return extents


def _pooled_occurrences(occurrences: Occurrences) -> Occurrences:
    """How often each word occurs in all slices together."""
    size = len(occurrences.places.starts) - 1
    totals = np.bincount(occurrences.places.words, weights=occurrences.values, minlength=size)
    seen = totals > 0
    starts = np.concatenate([[0], np.cumsum(seen)]).astype(np.int64)
    return Occurrences(
        Knots(starts, np.zeros(int(seen.sum()), dtype=np.int32)),
        totals[seen].astype(occurrences.values.dtype),
    )


def _check_leftover(checkpoints: Checkpoints, resume: bool, overwrite: bool) -> str:
    """A checkpoint that an earlier fit left is neither used nor thrown away without a word from the user."""
    if checkpoints.exists() and not resume and not overwrite:
        raise FolderError(
            f"An earlier fit was stopped and left the checkpoint {checkpoints.path}.",
            "Add --resume to go on from it, or --overwrite to begin anew.",
        )
    return "nothing is in the way"


def _shown(problem: Problem, settings: FitSettings) -> str:
    return (
        f"{settings.method} by {settings.solver}: {len(problem):,} slice{'s' * (len(problem) != 1)}, "
        f"{len(problem.words):,} words, {len(problem.knots):,} knots, {settings.dim} dimensions"
    )
