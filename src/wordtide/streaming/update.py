"""`wordtide update`: filter later slices as if they had been there from the start.

A filter continues from its latest posterior, so an update takes only the time of its own slices. The new
folder is filled beside the old one, with hard links to the files of old slices, and replaces it at the end.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.counts.counts import Counts
from wordtide.embeddings.folder import KIND, fill_folder, in_slices, model_header, read_model, write_model
from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.embeddings.state_files import MOST_SLICES, slices_of
from wordtide.errors import FolderError, SettingsError
from wordtide.inference.compute import compute
from wordtide.inference.fit import extents_of
from wordtide.inference.group_offsets import update_groups
from wordtide.inference.methods import elbo_of_slices, pair_settings, sequential_solver
from wordtide.inference.natural.filtering import FilterHistory, LatestBeliefs, SequentialSolver
from wordtide.inference.problem import problem_of
from wordtide.inference.scale.engine import Engine
from wordtide.inference.settings import FitSettings
from wordtide.inference.slice_sinks import SliceFolder, SliceList
from wordtide.inference.training import train
from wordtide.model.knots import occurrences_of
from wordtide.progress import Observer
from wordtide.storage.arrays import REMEDY
from wordtide.storage.folders import check_writable, new_folder, real_target
from wordtide.storage.locks import changing
from wordtide.streaming.additions import Addition, count_for_update, prepare_addition
from wordtide.streaming.settings import GrowthSettings


def update(
    fitted: Fitted,
    path: Path | None,
    source: object,
    *,
    growth: GrowthSettings,
    threads: int | None = None,
    **settings: Any,
) -> Fitted:
    """Append the slices of a source to a model, in its folder if it has one.

    See `DynamicEmbeddings.update`.
    """
    if path is None:
        _check_filtered(fitted, "The model")
        counts = count_for_update(fitted, source, growth.grow, workers=threads, **settings)
        return update_in_memory(fitted, counts, growth, threads)
    counts = count_for_update(read_filtered(path), source, growth.grow, workers=threads, **settings)
    update_model(path, counts, growth=growth, threads=threads)
    return read_model(path)


def update_model(
    path: str | PathLike[str],
    counts: Counts,
    *,
    growth: GrowthSettings | None = None,
    header_extra: Mapping[str, Any] | None = None,
    observer: Observer | None = None,
    threads: int | None = None,
) -> Addition:
    """Append the slices of counts to the filtering model in a folder, completely or not at all.

    `header_extra` is stored with the model as `Fitted.stream`, and changes together with its slices; None
    leaves the record as it is.

    Raises:
        SettingsError: The model or the counts cannot be used for an update.
        OutputError: Another process is changing the model.
    """
    target = _restore_replaced(path)
    with changing(target):
        fitted = read_model(target)
        _check_filtered(fitted, str(path))
        addition = prepare_addition(fitted, counts, growth or GrowthSettings())
        fitted = replace(fitted, stream=fitted.stream if header_extra is None else dict(header_extra))
        if len(fitted.diffusion) + len(addition.counts) > MOST_SLICES:
            write_model(target, _extend_in_memory(fitted, addition, observer, threads), overwrite=True)
        else:
            with new_folder(target, overwrite=True, kind=KIND) as folder:
                sink = SliceFolder(folder)
                _carry_over_slices(target, fitted, sink)
                fill_folder(folder, _extend(fitted, addition, sink, observer, threads), sink.facts)
    return addition


def update_in_memory(fitted: Fitted, counts: Counts, growth: GrowthSettings, threads: int | None) -> Fitted:
    """Append the slices of counts to a filtering model in memory, as `update_model` does on disk."""
    return _extend_in_memory(fitted, prepare_addition(fitted, counts, growth), None, threads)


def read_filtered(path: str | PathLike[str]) -> Fitted:
    """Read a model folder; a SettingsError if it was not fitted by filtering and cannot be updated."""
    fitted = read_model(_restore_replaced(path))
    _check_filtered(fitted, str(path))
    return fitted


def _restore_replaced(path: str | PathLike[str]) -> Path:
    """Return the real path of a model, after putting back one that a killed process was about to replace."""
    target = real_target(path)
    if not target.exists() and target.parent.is_dir():
        check_writable(target, overwrite=True)
    return target


def _check_filtered(fitted: Fitted, name: str) -> None:
    if fitted.method != "filtering" or fitted.posterior.kind != "filter":
        raise SettingsError(
            f"{name} was fitted by {fitted.method}, and only filtering can continue after its last slice.",
            "Fit with --method=filtering to update later; or fit old and new counts together "
            "(wordtide merge, wordtide fit).",
        )


def _carry_over_slices(target: Path, fitted: Fitted, sink: SliceFolder) -> None:
    """Link the old slices into the new folder, or write them if the old model is a single file."""
    header = model_header(target)
    if in_slices(header):
        sink.link_from(target, header["files"])
    else:
        for t, states in enumerate(slices_of(fitted.posterior, len(fitted.diffusion))):
            sink.write(t, states)


def _extend_in_memory(
    fitted: Fitted, addition: Addition, observer: Observer | None, threads: int | None
) -> Fitted:
    sink = SliceList()
    extended = _extend(fitted, addition, sink, observer, threads)
    states = [*slices_of(fitted.posterior, len(fitted.diffusion)), *sink.slices]
    posterior = Posterior.by_slice(
        extended.posterior.knots, states, fitted.posterior.dim, fitted.posterior.signs
    )
    return replace(extended, posterior=posterior)


def _extend(
    fitted: Fitted,
    addition: Addition,
    sink: SliceFolder | SliceList,
    observer: Observer | None,
    threads: int | None,
) -> Fitted:
    """Filter the new slices into a sink.

    The posterior of the returned record has all knots, but no states.
    """
    settings, counts, old = _fit_settings(fitted), addition.counts, len(fitted.diffusion)
    pace, precision = _filter_state(fitted)
    diffusion = fitted.diffusion.on(np.concatenate([fitted.diffusion.times, counts.times]))
    labels = [*fitted.labels, *counts.labels]
    problem = problem_of(counts, pair_settings(settings), on_demand=True)
    beliefs = LatestBeliefs.of(fitted.posterior, np.dtype(precision)).grown(len(addition.admitted))
    history = FilterHistory(old, beliefs, pace)
    with compute(precision, threads) as machine:
        solver = sequential_solver(problem, diffusion, settings, Engine(machine), sink, history)
        steps = train(solver, "filtering", labels, observer or Observer())
        states = sink.read_from(old, len(labels), settings.dim)
        groups = update_groups(fitted, counts, states, settings, machine)
    active = [problem.active_words(t) for t in range(len(problem))]
    knots, _ = fitted.posterior.knots.extended(active, old, len(problem.words))
    curve = [*fitted.curve, *_renumbered_steps(fitted, steps)]
    pairs = None if fitted.pairs is None else np.concatenate([fitted.pairs, solver.pairs])
    predictions = None
    if fitted.predictions is not None and isinstance(solver, SequentialSolver):
        predictions = np.concatenate([fitted.predictions, solver.predictions])
    return replace(
        fitted,
        words=problem.words,
        labels=labels,
        diffusion=diffusion,
        posterior=Posterior.by_slice(knots, (), settings.dim, fitted.posterior.signs),
        occurrences=fitted.occurrences.extended(occurrences_of(counts), old, len(counts)),
        curve=curve,
        extents=np.concatenate([fitted.slice_ends, extents_of(counts)]),
        elbo=None if pairs is None else elbo_of_slices([dict(row) for row in curve], pairs.tolist()),
        pairs=pairs,
        predictions=predictions,
        filter={**(fitted.filter or {}), "pace": solver.pace, "precision": precision},
        arrivals=_arrivals(fitted, addition),
        groups=groups,
    )


def _fit_settings(fitted: Fitted) -> FitSettings:
    """Return the settings of the fit without those that only a later version knows."""
    known = {field.name for field in fields(FitSettings)}
    given = {name: value for name, value in fitted.settings.items() if name in known}
    return FitSettings(**{"contexts": "separate", **given})  # version 0.1 does not record contexts


def _filter_state(fitted: Fitted) -> tuple[float, str]:
    """Return the share of the rate that the filter had come down to, and its precision."""
    saved = fitted.filter or {}
    pace, precision = saved.get("pace", 1.0), saved.get("precision", "float32")
    if type(pace) not in (int, float) or not 0 < pace <= 1 or precision not in ("float32", "float64"):
        raise FolderError(f"The header of the model is damaged: its filter is {dict(saved)!r}.", REMEDY)
    return float(pace), precision


def _renumbered_steps(fitted: Fitted, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Number and time the steps of an update after those before."""
    done = len(fitted.curve)
    seconds = (fitted.curve[-1]["seconds"] or 0.0) if fitted.curve else 0.0
    return [
        {**row, "step": done + row["step"], "seconds": round(seconds + row["seconds"], 3)} for row in steps
    ]


def _arrivals(fitted: Fitted, addition: Addition) -> npt.NDArray[np.int32] | None:
    """Return the slice at which each word was admitted, or None if all were there from the start."""
    if fitted.arrivals is None and not addition.admitted:
        return None
    before = np.zeros(len(fitted.words), dtype=np.int32) if fitted.arrivals is None else fitted.arrivals
    later = np.array(addition.arrivals, dtype=np.int32) + np.int32(len(fitted.diffusion))
    return np.concatenate([before, later]).astype(np.int32)
