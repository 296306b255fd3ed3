"""A fit that was stopped goes on from its last checkpoint, to the same bits as one that was not."""

import glob
import hashlib
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.counts.counts import ARRAYS, Counts
from wordtide.embeddings.curves import read_curve, write_curve
from wordtide.embeddings.tensors import map_tensors, pieces, write_tensors
from wordtide.errors import FolderError
from wordtide.storage import check_writable, new_folder, read_header, real_target, verify, write_header

KIND, VERSION = "checkpoint", 1
_LARGEST_CURVE = 1 << 30
_DIMENSIONS = range(8)  # of the arrays of a state; single numbers have none
Array = npt.NDArray[Any]


def place_of(output: Path) -> Path:
    """Where the checkpoint of a fit to `output` lies: beside it."""
    output = real_target(output)
    return output.with_name(output.name + ".checkpoint")


def fingerprint(counts: Counts) -> str:
    """What tells these counts from others."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps([counts.words, counts.labels, counts.window, counts.times.tolist()]).encode())
    for name in ARRAYS:
        for piece in pieces(getattr(counts.arrays, name)):
            digest.update(np.ascontiguousarray(piece).data)
    return digest.hexdigest()


@dataclass
class Checkpoints:
    """Writes checkpoints of one fit, not more often than every `interval` seconds."""

    path: Path
    settings: Mapping[str, Any]
    counts: str  # fingerprint
    interval: float
    last: float = field(default_factory=time.monotonic)

    def due(self) -> bool:
        """Has enough time gone by?"""
        return time.monotonic() - self.last >= self.interval

    def save(self, stage: str, state: Mapping[str, Array], curve: list[dict[str, Any]]) -> None:
        """Write a checkpoint in place of the one before it."""
        with new_folder(self.path, overwrite=True) as folder:
            write_tensors(folder / "state.safetensors", state)
            write_curve(folder / "curve.csv", curve)
            write_header(folder, KIND, VERSION, {"settings": dict(self.settings), "counts": self.counts, "stage": stage})
        self.last = time.monotonic()

    def exists(self) -> bool:
        """Is there a checkpoint? One that was moved aside when its fit was killed is put back; what is none is refused."""
        check_writable(self.path, overwrite=True)
        return self.path.exists()

    def load(self) -> tuple[str, dict[str, Array], list[dict[str, Any]]] | None:
        """Stage, state and curve of the last checkpoint; None if there is none. One of another fit is refused."""
        if not self.exists():
            return None
        header = read_header(self.path, KIND, VERSION)
        verify(self.path, header)
        remedy = f"Give the settings and counts it was begun with, or remove {self.path} to begin anew."
        settings = header.get("settings")
        if not isinstance(settings, dict) or not isinstance(header.get("stage"), str):
            raise FolderError(f"The header of {self.path} is damaged.", remedy)
        for name, value in self.settings.items():
            if settings.get(name) != value:
                raise FolderError(
                    f"The checkpoint {self.path} was made with {name} = {settings.get(name)!r}, not {value!r}.", remedy
                )
        if header.get("counts") != self.counts:
            raise FolderError(f"The checkpoint {self.path} was made from other counts.", remedy)
        curve = read_curve(self.path / "curve.csv", _LARGEST_CURVE)
        return header["stage"], map_tensors(self.path / "state.safetensors", _DIMENSIONS, changeable=True), curve

    def remove(self) -> None:
        """The fit is finished and saved. What a killed process left of other checkpoints goes first, or it would come back."""
        for leftover in self.path.parent.glob(f".{glob.escape(self.path.name)}.*-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)
