"""A fit by several processes as seen from outside: one of them reads, checks, writes and speaks for all."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy.typing as npt

from wordtide.counts.counts import Counts
from wordtide.embeddings.slice_states import SliceStates
from wordtide.errors import SettingsError
from wordtide.inference.checkpoints import KIND, VERSION, Checkpoints
from wordtide.inference.memory import MemoryEstimate
from wordtide.inference.problem import Problem
from wordtide.inference.scale.offload_files import OffloadFolder
from wordtide.inference.scale.on_processes import PORTION_BYTES
from wordtide.inference.scale.processes import ALONE, Processes
from wordtide.inference.settings import FitSettings
from wordtide.inference.slice_sinks import SliceFolder
from wordtide.storage.folders import check_writable, new_folder
from wordtide.storage.header import read_header, verify
from wordtide.storage.tensors import Storable, Streamed, in_file_order

Array = npt.NDArray[Any]


def open_counts(counts: Counts | str | PathLike[str], processes: Processes) -> Counts:
    """Open a counts folder whose checksums the first process compares."""
    if isinstance(counts, Counts):
        return counts
    loaded: list[Counts] = []

    def check() -> str:
        loaded.append(Counts.load(counts, check=True))
        return "checked"

    processes.told_by_first(check)
    return loaded[0] if loaded else Counts.load(counts)


def check_target(target: Path | None, overwrite: bool, processes: Processes) -> None:
    """Refuse early a target that cannot be written; several processes need one, because none holds the model."""
    if target is None:
        if processes.several:
            raise SettingsError(
                "A fit by several processes needs an output folder.",
                "Give an output: none of them holds it all.",
            )
        return

    def check() -> str:
        check_writable(target, overwrite)
        return "writable"

    processes.told_by_first(check)


def check_sharing(settings: FitSettings, processes: Processes) -> None:
    """Refuse methods that are not shared out: each process would do all of the work."""
    if processes.several and (settings.solver == "adam" or settings.method in ("independent", "warm-start")):
        way = "--solver=adam" if settings.solver == "adam" else f"--method={settings.method}"
        raise SettingsError(
            f"A fit with {way} is not shared out over processes.", "Start it without torchrun."
        )


def check_offload(settings: FitSettings, processes: Processes, target: Path | None, device: str) -> None:
    """Refuse --offload where it does not help, or is not there yet."""
    if settings.method != "smoothing" or settings.solver != "natural":
        what = "--solver=adam" if settings.solver == "adam" else f"--method={settings.method}"
        raise SettingsError(
            f"--offload is for smoothing by the natural solver, not for {what}.", "Leave --offload out."
        )
    if processes.several:
        raise SettingsError(
            "--offload is for one process.", "Leave it out: with more processes each needs less memory."
        )
    if device != "cpu":
        raise SettingsError(
            f"--offload is for the CPU, not for {device}.", "Leave out --device or --offload."
        )
    if target is None:
        raise SettingsError(
            "--offload needs an output folder.", "Give one: a model that is read from it needs little memory."
        )


@dataclass
class SharedCheckpoints(Checkpoints):
    """The checkpoints of a fit by several processes, which the first of them writes."""

    processes: Processes = ALONE

    def due(self) -> bool:
        """Return whether it is time for the next checkpoint."""
        return self.processes.agreed(super().due())

    def save(self, stage: str, state: Mapping[str, Storable], curve: list[dict[str, Any]]) -> None:
        """Write a checkpoint of what all processes have."""
        if self.processes.first:
            super().save(stage, state, curve)
        else:
            feed(state)

    def load(self) -> tuple[str, dict[str, Array], list[dict[str, Any]]] | None:
        """Return stage, state and curve of the checkpoint after the first process has verified it."""

        def verified() -> str:
            if not self.exists():
                return ""
            verify(self.path, read_header(self.path, KIND, VERSION))
            return str(self.path)

        return super().load() if self.processes.told_by_first(verified) else None

    def has_become(self, model: Path) -> bool:
        """Return whether the model of this fit is in place."""
        found = super().has_become
        return bool(self.processes.told_by_first(lambda: "yes" if found(model) else ""))


def feed(arrays: Mapping[str, Storable]) -> None:
    """Give the first process, which writes these arrays, what this one has of them."""
    for array in in_file_order(arrays).values():
        if isinstance(array, Streamed):
            for _ in array.pieces():
                pass


def bytes_of_each(
    estimate: MemoryEstimate, problem: Problem, settings: FitSettings, item: int, processes: int
) -> int:
    """What each of several processes needs where one would need so much."""
    if processes == 1 or settings.method != "smoothing" or settings.solver != "natural":
        return estimate.total
    under_way = min(4 * len(problem.knots) * settings.dim * item // processes, PORTION_BYTES)
    states = estimate.states // processes + 2 * under_way + len(problem.knots) * 40
    return replace(estimate, pairs=estimate.pairs // processes, states=states).total


class SharedSliceFolder(SliceFolder):
    """Files of finished slices, which the first of several processes writes and all read."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        super().__init__(folder)
        self.processes = processes

    def put(self, t: int, words: Array, mean: Array, variance: Array | None) -> None:
        """Write the file of slice t; all processes have the same numbers."""
        if self.processes.first:
            super().put(t, words, mean, variance)

    def link_from(self, source: Path, facts: Mapping[str, Any]) -> None:
        """The files of slices from another folder."""
        if self.processes.first:
            super().link_from(source, facts)

    def read(self, slices: int, dim: int) -> list[SliceStates]:
        """What was written, as maps of the files; the folder keeps its name until all have opened them."""
        self.processes.wait()
        found = super().read(slices, dim)
        self.processes.wait()
        return found


def open_target(stack: ExitStack, target: Path, overwrite: bool, processes: Processes) -> Path:
    """The hidden folder of the model, until `stack` is closed and it gets its name. No other fit may write there meanwhile."""
    return Path(processes.told_by_first(lambda: str(stack.enter_context(new_folder(target, overwrite)))))


def slices_in(folder: Path, processes: Processes) -> SliceFolder:
    """Where finished slices are written."""
    return SharedSliceFolder(folder, processes) if processes.several else SliceFolder(folder)


def open_offload(
    path: str | PathLike[str] | None, block_bytes: int
) -> AbstractContextManager[OffloadFolder | None]:
    """The folder of --offload, if it is given."""
    return nullcontext() if path is None else OffloadFolder(Path(path), block_bytes)
