"""A fit by several processes as seen from outside: one of them reads, checks, writes and speaks for all."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

import numpy.typing as npt

from wordtide.counts.counts import Counts
from wordtide.embeddings.slice_states import SliceStates
from wordtide.errors import SettingsError
from wordtide.inference.scale.offload_files import OffloadFolder
from wordtide.inference.scale.processes import Processes
from wordtide.inference.settings import FitSettings
from wordtide.inference.slice_sinks import SliceFolder
from wordtide.storage.folders import check_writable, new_folder

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
