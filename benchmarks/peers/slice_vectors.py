"""What a peer finds: the vectors of each slice's words, and their archive on disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_FIELDS = ("words", "u", "v")


@dataclass(frozen=True)
class SliceVectors:
    """The vectors of a slice's words: numbers in the vocabulary (n,) in any order, word and context vectors
    (n, d).
    """

    words: np.ndarray
    u: np.ndarray
    v: np.ndarray


def save_slices(path: Path, slices: Sequence[SliceVectors]) -> None:
    """Write the vectors of all slices to one archive."""
    np.savez(path, **{f"{name}{t}": getattr(part, name) for t, part in enumerate(slices) for name in _FIELDS})


def load_slices(path: Path) -> list[SliceVectors]:
    """What `save_slices` wrote."""
    with np.load(path, allow_pickle=False) as archive:
        number = len(archive.files) // len(_FIELDS)
        return [SliceVectors(*(archive[f"{name}{t}"] for name in _FIELDS)) for t in range(number)]
