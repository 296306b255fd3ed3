"""Checkpoints: a stopped fit resumes from the latest one and gives the same bits as an uninterrupted fit."""

import hashlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from wordtide.counts.count_arrays import ARRAYS
from wordtide.counts.counts import Counts
from wordtide.embeddings.state_files import read_curve, write_curve
from wordtide.errors import FolderError
from wordtide.inference.slice_sinks import SliceFolder
from wordtide.progress import Observer
from wordtide.storage.arrays import Storable, map_tensors, pieces, write_tensors
from wordtide.storage.folders import check_writable, new_folder, real_target, remove_folder
from wordtide.storage.header import kind_of, read_header, verify, write_header
from wordtide.types import Array

KIND, VERSION = "checkpoint", 3  # 2: of version 0.1, whose solvers had other states
_LARGEST_CURVE = 1 << 30
_DIMENSIONS = range(8)  # of the arrays of a state; 0 for a single number


def checkpoint_path(output: Path) -> Path:
    """Return the path of the checkpoint of a fit: beside its output."""
    output = real_target(output)
    return output.with_name(output.name + ".checkpoint")


def has_checkpoint(output: Path) -> bool:
    """Return whether a fit left a checkpoint; first restores one that a killed fit had moved aside."""
    path = checkpoint_path(output)
    check_writable(path, overwrite=True, kind=KIND)
    return path.exists()


def fingerprint(counts: Counts) -> str:
    """Return a hash of everything in counts that affects a fit."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps([counts.words, counts.labels, counts.window, counts.times.tolist()]).encode())
    for name in ARRAYS:
        for piece in pieces(getattr(counts.arrays, name)):
            digest.update(np.ascontiguousarray(piece).data)
    return digest.hexdigest()


@dataclass
class Checkpoints:
    """Writes the checkpoints of one fit, at most one every `interval` seconds.

    `counts` is the fingerprint of the counts. `slices` are the finished slices of a filter on disk, which a
    checkpoint stores as hard links.
    """

    path: Path
    settings: Mapping[str, Any]
    counts: str
    interval: float
    last: float = field(default_factory=time.monotonic)
    slices: SliceFolder | None = None
    stopping: bool = False
    _training: bool = False
    _save_trained: Callable[[], None] | None = None

    @contextmanager
    def catching_interrupts(self, observer: Observer) -> Iterator[None]:
        """Save a checkpoint on Ctrl-C, then raise KeyboardInterrupt; a second Ctrl-C raises it at once.

        During training, the checkpoint is saved after the current step; after training, it holds the result.
        """

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self.stopping or not self._training:
                raise KeyboardInterrupt
            self.stopping = True
            with suppress(RuntimeError):  # the signal came in the middle of another message
                observer.message("stopping after this step, with a checkpoint; Ctrl-C again stops at once")

        here = threading.current_thread() is threading.main_thread()  # others cannot handle signals
        before = signal.signal(signal.SIGINT, interrupt) if here else None
        try:
            yield
        except KeyboardInterrupt:
            if self._save_trained is not None:
                self._save_trained()
            raise
        finally:
            self._save_trained = None  # which keeps the solver in memory
            if here:
                signal.signal(signal.SIGINT, before)

    @contextmanager
    def between_steps(self) -> Iterator[None]:
        """Within the block, let Ctrl-C set `stopping` instead of interrupting a step."""
        self._training, self._save_trained = True, None
        try:
            yield
        finally:
            self._training = False

    def save_if_interrupted(self, save: Callable[[], None]) -> None:
        """Call `save` if the fit is interrupted from now on, until the next training begins."""
        self._save_trained = save

    def due(self) -> bool:
        """Return whether it is time for the next checkpoint."""
        return self.stopping or time.monotonic() - self.last >= self.interval

    def save(self, stage: str, state: Mapping[str, Storable], curve: list[dict[str, Any]]) -> None:
        """Write a checkpoint and replace the previous one."""
        content = {"settings": dict(self.settings), "counts": self.counts, "stage": stage}
        with new_folder(self.path, overwrite=True, kind=KIND) as folder:
            write_tensors(folder / "state.safetensors", state)
            write_curve(folder / "curve.csv", curve)
            known = None if self.slices is None else self.slices.link_into(folder)
            write_header(folder, KIND, VERSION, content, known)
        self.last = time.monotonic()

    def exists(self) -> bool:
        """Return whether there is a checkpoint; first restores one that a killed fit had moved aside.

        Raises:
            OutputError: The path holds something else.
        """
        check_writable(self.path, overwrite=True, kind=KIND)
        return self.path.exists()

    def load(self) -> tuple[str, dict[str, Array], list[dict[str, Any]]] | None:
        """Return the stage, state and curve of the checkpoint, or None if there is none.

        Raises:
            FolderError: The checkpoint is damaged, or belongs to a fit with other settings or counts.
        """
        if not self.exists():
            return None
        header = read_header(self.path, KIND, VERSION)
        verify(self.path, header)
        self._check_same_fit(header)
        curve = read_curve(self.path / "curve.csv", _LARGEST_CURVE)
        if self.slices is not None:
            self.slices.link_from(self.path, header["files"])
        state = map_tensors(self.path / "state.safetensors", _DIMENSIONS, changeable=True)
        return header["stage"], state, curve

    def has_become(self, model: Path) -> bool:
        """Return whether the fit was killed between saving its model and removing its checkpoint.

        The curve of that model then begins with the curve of the checkpoint, down to the seconds of each
        step.
        """
        if kind_of(model) != "model" or not self.exists():
            return False
        header = read_header(self.path, KIND, VERSION)
        if (header.get("settings"), header.get("counts")) != (self.settings, self.counts):
            return False
        finished, begun = (read_curve(place / "curve.csv", _LARGEST_CURVE) for place in (model, self.path))
        return bool(begun) and finished[: len(begun)] == begun

    def remove(self) -> None:
        """Remove the checkpoint of a fit whose model is saved."""
        remove_folder(self.path)

    def _check_same_fit(self, header: Mapping[str, Any]) -> None:
        remedy = f"Give the settings and counts of that fit, or remove {self.path} to start over."
        saved = header.get("settings")
        if not isinstance(saved, dict) or not isinstance(header.get("stage"), str):
            raise FolderError(f"The header of {self.path} is damaged.", remedy)
        for name, value in self.settings.items():
            if saved.get(name) != value:
                raise FolderError(
                    f"The checkpoint {self.path} was made with {name} = {saved.get(name)!r}, not {value!r}.",
                    remedy,
                )
        if header.get("counts") != self.counts:
            raise FolderError(f"The checkpoint {self.path} was made from other counts.", remedy)
