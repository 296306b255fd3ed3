"""`update`: later slices are filtered as if they had been there from the start, and the vocabulary may grow.

A filter goes on from its last beliefs, so an update takes the time of its own slices. The new folder is made beside the old one
with the old slices' files under a second name, and put in its place at the end.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.counts.counts import Counts
from wordtide.embeddings.folder import SLICED_VERSION, fill_folder, model_header, read_model, write_model
from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.embeddings.slice_files import MOST_SLICES, slices_of
from wordtide.errors import FolderError, SettingsError
from wordtide.inference.compute import compute
from wordtide.inference.fit import extents_of
from wordtide.inference.natural.beliefs import Beliefs, Past
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.problem import problem_of
from wordtide.inference.sequential_solvers import elbo_of_slices, sequential_solver
from wordtide.inference.settings import FitSettings
from wordtide.inference.slice_sinks import SliceFolder, SlicesInMemory
from wordtide.inference.training import FitObserver, train
from wordtide.model.knots import occurrences_of
from wordtide.storage.folders import changing, check_writable, new_folder, real_target
from wordtide.storage.tensors import REMEDY
from wordtide.streaming.additions import GROW_MIN_COUNT, Addition, addition_to
from wordtide.streaming.update_sources import counts_for


@dataclass(frozen=True)
class UpdateReport:
    """What an update did. `slices`: labels of the new slices. The rest as in `Addition`; `seconds` it took."""

    slices: list[str]
    left_out: list[str]
    admitted: list[str]
    unknown: int
    unknown_share: float
    seconds: float


def update(
    fitted: Fitted,
    path: Path | None,
    source: object,
    *,
    grow: int = 0,
    grow_min_count: int = GROW_MIN_COUNT,
    threads: int | None = None,
    **settings: Any,
) -> tuple[Fitted, UpdateReport]:
    """Append the slices of counts or texts to a model, in its folder if it has one: what `DynamicEmbeddings.update` does."""
    if path is None:
        counts = counts_for(_filtered(fitted, "The model"), source, grow, workers=threads, **settings)
        return updated_in_memory(fitted, counts, grow=grow, grow_min_count=grow_min_count, threads=threads)
    counts = counts_for(filtered_model(path), source, grow, workers=threads, **settings)
    report = update_model(path, counts, grow=grow, grow_min_count=grow_min_count, threads=threads)
    return read_model(path), report


def update_model(
    path: str | PathLike[str],
    counts: Counts,
    *,
    grow: int = 0,
    grow_min_count: int = GROW_MIN_COUNT,
    header_extra: Mapping[str, Any] | None = None,
    observer: FitObserver | None = None,
    threads: int | None = None,
    device: str = "cpu",
) -> UpdateReport:
    """Append the slices of counts to the filtering model in a folder; whole, or not at all.

    `grow`: at most so many new words are admitted, those that occur most and at least `grow_min_count` times in the counts.
    `header_extra` is kept with the model as `Fitted.stream`, and changes together with its slices; None leaves what is there.
    Only one process at a time may update a model.
    """
    started = time.monotonic()
    target = _put_back(path)
    with changing(target):
        fitted = _filtered(read_model(target), str(path))
        addition = addition_to(fitted, counts, grow, grow_min_count)
        stream = fitted.stream if header_extra is None else dict(header_extra)
        how = Going(observer or FitObserver(), threads, device)
        if len(fitted.diffusion) + len(addition.counts) > MOST_SLICES:
            write_model(
                target, replace(_extended_in_memory(fitted, addition, how), stream=stream), overwrite=True
            )
        else:
            with new_folder(target, overwrite=True) as folder:
                sink = _old_slices(target, fitted, SliceFolder(folder))
                updated = _extended(fitted, addition, sink, how)
                fill_folder(folder, replace(updated, stream=stream), sink.facts)
    return report_of(addition, time.monotonic() - started)


def updated_in_memory(
    fitted: Fitted,
    counts: Counts,
    *,
    grow: int = 0,
    grow_min_count: int = GROW_MIN_COUNT,
    observer: FitObserver | None = None,
    threads: int | None = None,
    device: str = "cpu",
) -> tuple[Fitted, UpdateReport]:
    """The same for a model that is nowhere on disk."""
    started = time.monotonic()
    addition = addition_to(_filtered(fitted, "The model"), counts, grow, grow_min_count)
    updated = _extended_in_memory(fitted, addition, Going(observer or FitObserver(), threads, device))
    return updated, report_of(addition, time.monotonic() - started)


def filtered_model(path: str | PathLike[str]) -> Fitted:
    """The model in a folder, if it is one that can be updated."""
    return _filtered(read_model(_put_back(path)), str(path))


def _put_back(path: str | PathLike[str]) -> Path:
    """Where the model really is; one that a killed process was about to replace is put back there."""
    target = real_target(path)
    if not target.exists() and target.parent.is_dir():
        check_writable(target, overwrite=True)
    return target


def report_of(addition: Addition, seconds: float) -> UpdateReport:
    """What is told of an addition."""
    facts = (addition.left_out, addition.admitted, addition.unknown, addition.unknown_share)
    return UpdateReport(addition.counts.labels, *facts, seconds)


@dataclass(frozen=True)
class Going:
    """How an update is made, which does not decide its result."""

    observer: FitObserver
    threads: int | None
    device: str


def _filtered(fitted: Fitted, name: str) -> Fitted:
    """The model, if it can be updated."""
    if fitted.method != "filtering" or fitted.posterior.kind != "filter":
        raise SettingsError(
            f"{name} was fitted by {fitted.method}, and only filtering can go on from its last slice.",
            "Fit with --method filtering to update later; or fit old and new counts together (wordtide merge, wordtide fit).",
        )
    return fitted


def _old_slices(target: Path, fitted: Fitted, sink: SliceFolder) -> SliceFolder:
    """The old slices in the new folder: their files under a second name, or, of a model in one file, written once."""
    header = model_header(target)
    if header["version"] == SLICED_VERSION:
        sink.take_over(target, header["files"])
    else:
        for t, states in enumerate(slices_of(fitted.posterior, len(fitted.diffusion))):
            sink.write(t, states)
    return sink


def _extended_in_memory(fitted: Fitted, addition: Addition, how: Going) -> Fitted:
    sink = SlicesInMemory()
    updated = _extended(fitted, addition, sink, how)
    states = [*slices_of(fitted.posterior, len(fitted.diffusion)), *sink.slices]
    knots = updated.posterior.knots
    return replace(updated, posterior=Posterior.by_slice(knots, states, fitted.posterior.dim))


def _extended(fitted: Fitted, addition: Addition, sink: SliceFolder | SlicesInMemory, how: Going) -> Fitted:
    """Filter the new slices into the sink. The record of the longer model knows all places of states; they are in the sink."""
    settings, counts, old = _settings(fitted), addition.counts, len(fitted.diffusion)
    pace, precision = _standing(fitted)
    diffusion = fitted.diffusion.on(np.concatenate([fitted.diffusion.times, counts.times]))
    labels = [*fitted.labels, *counts.labels]
    problem = problem_of(counts, settings.negative_ratio, settings.context_exponent, on_demand=True)
    beliefs = Beliefs.of(fitted.posterior, np.dtype(precision)).grown(len(addition.admitted))
    with compute(how.device, precision, how.threads) as machine:
        solver = sequential_solver(problem, diffusion, settings, machine, sink, Past(old, beliefs, pace))
        steps = train(solver, "filtering", labels, how.observer)
    active = [problem.active_words(t) for t in range(len(problem))]
    knots, _ = fitted.posterior.knots.extended(active, old, len(problem.words))
    curve = [*fitted.curve, *_later_steps(fitted, steps)]
    pairs = None if fitted.pairs is None else np.concatenate([fitted.pairs, solver.pairs])
    predictions = None
    if fitted.predictions is not None and isinstance(solver, SequentialSolver):
        predictions = np.concatenate([fitted.predictions, solver.predictions])
    return replace(
        fitted,
        words=problem.words,
        labels=labels,
        diffusion=diffusion,
        posterior=Posterior.by_slice(knots, (), settings.dim),
        occurrences=fitted.occurrences.extended(occurrences_of(counts), old, len(counts)),
        curve=curve,
        extents=np.concatenate([_extents(fitted), extents_of(counts)]),
        elbo=None if pairs is None else elbo_of_slices([dict(row) for row in curve], pairs.tolist()),
        pairs=pairs,
        predictions=predictions,
        filter={**(fitted.filter or {}), "pace": solver.slow, "precision": precision},
        arrivals=_arrivals(fitted, addition),
    )


def _settings(fitted: Fitted) -> FitSettings:
    """The settings that the model was fitted with; what a later version wrote beside them is not known here."""
    known = {field.name for field in fields(FitSettings)}
    return FitSettings(**{name: value for name, value in fitted.settings.items() if name in known})


def _standing(fitted: Fitted) -> tuple[float, str]:
    """The pace that the filter had come down to, and its precision."""
    saved = fitted.filter or {}
    pace, precision = saved.get("pace", 1.0), saved.get("precision", "float32")
    if type(pace) not in (int, float) or not 0 < pace <= 1 or precision not in ("float32", "float64"):
        raise FolderError(f"The header of the model is damaged: its filter is {dict(saved)!r}.", REMEDY)
    return float(pace), precision


def _later_steps(fitted: Fitted, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps of an update, numbered and timed on from those before."""
    done, seconds = len(fitted.curve), max((row["seconds"] or 0.0 for row in fitted.curve[-1:]), default=0.0)
    return [
        {**row, "step": done + row["step"], "seconds": round(seconds + row["seconds"], 3)} for row in steps
    ]


def _extents(fitted: Fitted) -> npt.NDArray[np.float64]:
    times = fitted.diffusion.times
    return np.column_stack([times, times]) if fitted.extents is None else fitted.extents


def _arrivals(fitted: Fitted, addition: Addition) -> npt.NDArray[np.int32] | None:
    """The slice at which each word came in; None as long as all were there from the start."""
    if fitted.arrivals is None and not addition.admitted:
        return None
    before = np.zeros(len(fitted.words), dtype=np.int32) if fitted.arrivals is None else fitted.arrivals
    later = np.array(addition.arrivals, dtype=np.int32) + np.int32(len(fitted.diffusion))
    return np.concatenate([before, later]).astype(np.int32)
