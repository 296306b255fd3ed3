"""A fit that was stopped goes on from its last checkpoint, to the same bits as one that was not."""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.counts.counts import ARRAYS, Counts
from wordtide.embeddings.training_curve import read_curve, write_curve
from wordtide.errors import FolderError
from wordtide.inference.scale.processes import ALONE, Processes
from wordtide.inference.slice_sinks import SliceFolder
from wordtide.storage.folders import check_writable, new_folder, real_target, remove_folder
from wordtide.storage.header import kind_of, read_header, verify, write_header
from wordtide.storage.tensors import Storable, Streamed, in_file_order, map_tensors, pieces, write_tensors

KIND, VERSION = "checkpoint", 2
_LARGEST_CURVE = 1 << 30
_DIMENSIONS = range(8)  # of the arrays of a state; single numbers have none
Array = npt.NDArray[Any]


def place_of(output: Path) -> Path:
    """Where the checkpoint of a fit to `output` lies: beside it."""
    output = real_target(output)
    return output.with_name(output.name + ".checkpoint")


def is_left(output: Path) -> bool:
    """Did a fit to `output` leave a checkpoint? One that was moved aside when its fit was killed is put back."""
    place = place_of(output)
    check_writable(place, overwrite=True)
    return place.exists()


def fingerprint(counts: Counts) -> str:
    """What tells these counts from others."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps([counts.words, counts.labels, counts.window, counts.times.tolist()]).encode())
    for name in ARRAYS:
        for piece in pieces(getattr(counts.arrays, name)):
            digest.update(np.ascontiguousarray(piece).data)
    return digest.hexdigest()


def feed(arrays: Mapping[str, Storable]) -> None:
    """Give the first process, which writes these arrays, what this one has of them."""
    for array in in_file_order(arrays).values():
        if isinstance(array, Streamed):
            for _ in array.pieces():
                pass


@dataclass
class Checkpoints:
    """Writes checkpoints of one fit, not more often than every `interval` seconds."""

    path: Path
    settings: Mapping[str, Any]
    counts: str  # fingerprint
    interval: float
    last: float = field(default_factory=time.monotonic)
    processes: Processes = ALONE
    slices: SliceFolder | None = (
        None  # finished slices on disk, which a checkpoint holds as further names of their files
    )

    def due(self) -> bool:
        """Has enough time gone by?"""
        return self.processes.agreed(time.monotonic() - self.last >= self.interval)

    def save(self, stage: str, state: Mapping[str, Storable], curve: list[dict[str, Any]]) -> None:
        """Write a checkpoint in place of the one before it. Of several processes the first writes what all of them have."""
        if not self.processes.first:
            feed(state)
            return
        with new_folder(self.path, overwrite=True) as folder:
            write_tensors(folder / "state.safetensors", state)
            write_curve(folder / "curve.csv", curve)
            known = self.slices.link_into(folder) if self.slices is not None else None
            write_header(
                folder,
                KIND,
                VERSION,
                {"settings": dict(self.settings), "counts": self.counts, "stage": stage},
                known,
            )
        self.last = time.monotonic()

    def exists(self) -> bool:
        """Is there a checkpoint? One that was moved aside when its fit was killed is put back; what is none is refused."""
        check_writable(self.path, overwrite=True)
        return self.path.exists()

    def load(self) -> tuple[str, dict[str, Array], list[dict[str, Any]]] | None:
        """Stage, state and curve of the last checkpoint; None if there is none. One of another fit is refused."""
        if not self.processes.told_by_first(self._verified):
            return None
        header = read_header(self.path, KIND, VERSION)
        remedy = f"Give the settings and counts it was begun with, or remove {self.path} to begin anew."
        settings = header.get("settings")
        if not isinstance(settings, dict) or not isinstance(header.get("stage"), str):
            raise FolderError(f"The header of {self.path} is damaged.", remedy)
        for name, value in self.settings.items():
            if settings.get(name) != value:
                raise FolderError(
                    f"The checkpoint {self.path} was made with {name} = {settings.get(name)!r}, not {value!r}.",
                    remedy,
                )
        if header.get("counts") != self.counts:
            raise FolderError(f"The checkpoint {self.path} was made from other counts.", remedy)
        curve = read_curve(self.path / "curve.csv", _LARGEST_CURVE)
        if self.slices is not None:
            self.slices.link_from(self.path, header["files"])
        return (
            header["stage"],
            map_tensors(self.path / "state.safetensors", _DIMENSIONS, changeable=True),
            curve,
        )

    def _verified(self) -> str:
        """The path of a checkpoint whose files are as they were written; nothing if there is none."""
        if not self.exists():
            return ""
        verify(self.path, read_header(self.path, KIND, VERSION))
        return str(self.path)

    def has_become(self, model: Path) -> bool:
        """Was this fit killed when its model was there, and the checkpoint not yet removed? Then the model's curve goes on from
        the checkpoint's, with the same seconds for the same steps.
        """
        return bool(self.processes.told_by_first(lambda: "yes" if self._is_begin_of(model) else ""))

    def _is_begin_of(self, model: Path) -> bool:
        if kind_of(model) != "model" or not self.exists():
            return False
        header = read_header(self.path, KIND, VERSION)
        if (header.get("settings"), header.get("counts")) != (self.settings, self.counts):
            return False
        whole, begun = (read_curve(place / "curve.csv", _LARGEST_CURVE) for place in (model, self.path))
        return bool(begun) and whole[: len(begun)] == begun

    def remove(self) -> None:
        """The fit is finished and saved."""
        remove_folder(self.path)
