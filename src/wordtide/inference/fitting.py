"""`wordtide.fit`: from counts to a model, for every method, by one call."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.embeddings.embeddings import DynamicEmbeddings
from wordtide.embeddings.knots import Knots, Occurrences, occurrences_of
from wordtide.embeddings.posterior import Fitted
from wordtide.errors import FolderError, SettingsError
from wordtide.inference.checkpoints import Checkpoints, fingerprint, place_of
from wordtide.inference.compute import compute
from wordtide.inference.memory import check_memory, gigabytes, needed_bytes
from wordtide.inference.methods import Outcome, Run, run
from wordtide.inference.problem import Problem, pooled, problem_of
from wordtide.inference.settings import FitSettings, resolve
from wordtide.inference.training import FitObserver
from wordtide.storage import check_writable, real_target
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
    observer: FitObserver | None = None,
    **settings: Any,
) -> DynamicEmbeddings:
    """Fit a model to counts (`Counts`, or the path of a counts folder), and save it in `output` if that is given.

    `settings` are those of `FitSettings`: method, solver, dim, diffusion, prior_variance, seed and so on. With `output`, a
    checkpoint is kept beside it, written every `checkpoint_every` minutes; `resume` goes on from it to the same bits.

    >>> import wordtide
    >>> texts = [(str(year), "the old mill stands by the river and the new mill stands by the road") for year in (1900, 1950)]
    >>> model = wordtide.fit(wordtide.count(texts), dim=4, threads=1)
    >>> model.method, model.mean("mill", 1900).shape
    ('smoothing', (4,))
    """
    resolved = resolve(settings, preset, None if config is None else Path(config))
    counts = counts if isinstance(counts, Counts) else Counts.load(counts, check=True)
    observer = observer or FitObserver()
    if not np.isfinite(checkpoint_every) or checkpoint_every < 0:
        raise SettingsError(
            f"--checkpoint-every {checkpoint_every} is not a time.", "Give minutes, like 5; 0: after every step."
        )
    target = None if output is None else real_target(output)
    if target is not None:
        check_writable(target, overwrite)
    elif resume:
        raise SettingsError("Only a fit with an output folder can be resumed.", "Give the output of the fit that was stopped.")
    problem = problem_of(counts, resolved.negative_ratio, resolved.context_exponent)
    if resolved.dim > len(problem.words):
        raise SettingsError(
            f"--dim {resolved.dim} is larger than the vocabulary of {len(problem.words)} words.",
            f"Give a --dim up to {len(problem.words)}, or count with a larger --vocabulary-size.",
        )
    if resolved.method == "static":
        problem = pooled(problem, resolved.negative_ratio, resolved.context_exponent)
    checkpoints = None
    if target is not None:
        identity = {**resolved.as_json(), "precision": precision}
        checkpoints = Checkpoints(place_of(target), identity, fingerprint(counts), 60.0 * checkpoint_every)
        _check_leftover(checkpoints, resume, overwrite)
    with compute(device, precision, threads) as machine:
        needed = needed_bytes(problem, resolved, machine.threads, 4 if precision == "float32" else 8)
        observer.tell(f"{_shown(problem, resolved)}; memory needed: about {gigabytes(needed)}")
        check_memory(needed, resolved)
        saved = checkpoints.load() if checkpoints is not None and resume else None
        if resume:
            going_on = f"going on from the checkpoint, after step {len(saved[2])}" if saved else ""
            observer.tell(going_on or "there is no checkpoint yet: beginning from the start")
        outcome = run(Run(problem, resolved, machine, observer, checkpoints, saved))
    model = DynamicEmbeddings(_fitted(counts, problem, resolved, outcome))
    if target is not None:
        model.save(target, overwrite=overwrite)
        model = DynamicEmbeddings.load(target)
        assert checkpoints is not None
        checkpoints.remove()
    return model


def _fitted(counts: Counts, problem: Problem, settings: FitSettings, outcome: Outcome) -> Fitted:
    slices = counts.slices
    extents = np.array([[float_year(int(a)), float_year(int(b))] for a, b in zip(slices.first, slices.last, strict=True)])
    occurrences = occurrences_of(counts)
    if settings.method == "static":
        extents = np.array([[extents[:, 0].min(), extents[:, 1].max()]])
        occurrences = _pooled_occurrences(occurrences)
    extents[:, 0] = np.minimum(extents[:, 0], problem.times)
    extents[:, 1] = np.maximum(extents[:, 1], problem.times)
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
        elbo=outcome.elbo(problem),
    )


def _pooled_occurrences(occurrences: Occurrences) -> Occurrences:
    """How often each word occurs in all slices together."""
    size = len(occurrences.places.starts) - 1
    totals = np.bincount(occurrences.places.words, weights=occurrences.values, minlength=size)
    seen = totals > 0
    starts = np.concatenate([[0], np.cumsum(seen)]).astype(np.int64)
    return Occurrences(Knots(starts, np.zeros(int(seen.sum()), dtype=np.int32)), totals[seen].astype(occurrences.values.dtype))


def _check_leftover(checkpoints: Checkpoints, resume: bool, overwrite: bool) -> None:
    """A checkpoint that an earlier fit left is neither used nor thrown away without a word from the user."""
    if checkpoints.exists() and not resume and not overwrite:
        raise FolderError(
            f"An earlier fit was stopped and left the checkpoint {checkpoints.path}.",
            "Add --resume to go on from it, or --overwrite to begin anew.",
        )


def _shown(problem: Problem, settings: FitSettings) -> str:
    return (
        f"{settings.method} by {settings.solver}: {len(problem):,} slice{'s' * (len(problem) != 1)}, "
        f"{len(problem.words):,} words, {len(problem.knots):,} knots, {settings.dim} dimensions"
    )
