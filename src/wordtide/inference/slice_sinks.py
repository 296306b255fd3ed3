"""Destinations for the finished slices of a sequential solver: arrays in memory, or files in a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.posterior import Posterior, SliceStates
from wordtide.embeddings.state_files import read_slice, slice_name, write_slice
from wordtide.errors import SettingsError
from wordtide.model.knots import Knots
from wordtide.storage.folders import link_or_copy
from wordtide.storage.header import file_facts
from wordtide.types import Array, Singles


class SliceSink:
    """Receives finished slices in chronological order.

    Checkpoints store `state()`, which is empty if slices are files.
    """

    def put(self, t: int, words: Array, mean: Array, variance: Array | None) -> None:
        """Store the means and variances (2, a, d) of the words (a,) of slice t."""
        raise NotImplementedError

    def state(self) -> dict[str, Array]:
        """Return what a checkpoint must store."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Return to a stored state."""


class KnotArrays(SliceSink):
    """Means and variances (None for point estimates) at all knots in memory, (sides, K, d).

    The sides are words and contexts, or a single one if contexts are tied.
    """

    def __init__(
        self, knots: Knots, sides: int, dim: int, dtype: npt.DTypeLike, uncertain: bool = True
    ) -> None:
        self.knots = knots
        self.mean = np.zeros((sides, len(knots), dim), dtype=dtype)
        self.variance = np.zeros((sides, len(knots), dim), dtype=dtype) if uncertain else None

    def put(self, t: int, words: Array, mean: Array, variance: Array | None) -> None:
        """Store a slice at the rows of its knots."""
        rows = self.knots.by_slice[t]
        self.mean[:, rows] = mean
        if self.variance is not None:
            self.variance[:, rows] = variance

    def posterior(self, signs: Singles | None = None) -> Posterior:
        """Return the posterior at the knots. `signs` are those of tied contexts."""
        kind, states = ("point", {"mean": self.mean}) if self.variance is None else ("filter", self.state())
        arrays: dict[str, Any] = {
            f"{name}_{side}": np.asarray(array, dtype=np.float32)
            for name, both in states.items()
            for side, array in zip("uv"[: len(both)], both, strict=True)
        }
        return Posterior(kind, self.knots, signs=signs, **arrays)

    def state(self) -> dict[str, Array]:
        """Return all means and variances."""
        return {"mean": self.mean} | ({} if self.variance is None else {"variance": self.variance})

    def restore(self, state: Mapping[str, Array]) -> None:
        """Return to a stored state, which must have the same knots."""
        for name, array in self.state().items():
            saved = state.get(name, np.zeros(0))
            if saved.shape != array.shape or saved.dtype != array.dtype:
                raise SettingsError("The saved state belongs to another fit.", "Fit again without --resume.")
            array[:] = saved


class SliceList(SliceSink):
    """Slices in memory as records, for an update of a model in memory."""

    def __init__(self) -> None:
        self.slices: list[SliceStates] = []

    def put(self, t: int, words: Array, mean: Array, variance: Array | None) -> None:
        """Append a slice."""
        assert variance is not None
        self.slices.append(SliceStates.of(words, mean, variance))

    def read_from(self, first: int, stop: int, dim: int) -> list[SliceStates]:
        """Return the slices that were put, whose numbers are `first` to `stop` - 1."""
        return self.slices


class SliceFolder(SliceSink):
    """One file per slice in a folder. `facts` holds the size and checksum of each.

    A file never changes once it is written, so checkpoints and updates share it through hard links.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts: dict[str, Mapping[str, int]] = {}

    def put(self, t: int, words: Array, mean: Array, variance: Array | None) -> None:
        """Write the file of slice t."""
        assert variance is not None
        self.write(t, SliceStates.of(words, mean, variance))

    def write(self, t: int, states: SliceStates) -> None:
        """Write the file of slice t."""
        write_slice(self.folder, t, states)
        self.facts[slice_name(t)] = file_facts(self.folder / slice_name(t))

    def link_from(self, source: Path, facts: Mapping[str, Any]) -> None:
        """Link the slices of another folder, whose header lists these facts, into this one."""
        for t in range(len(facts)):
            if slice_name(t) not in facts:
                break
            link_or_copy(source / slice_name(t), self.folder / slice_name(t))
            self.facts[slice_name(t)] = facts[slice_name(t)]

    def link_into(self, folder: Path) -> dict[str, Mapping[str, int]]:
        """Link all files into another folder and return their facts."""
        for name in self.facts:
            link_or_copy(self.folder / name, folder / name)
        return dict(self.facts)

    def read(self, slices: int, dim: int) -> list[SliceStates]:
        """Return the slices, memory-mapped from their files."""
        return self.read_from(0, slices, dim)

    def read_from(self, first: int, stop: int, dim: int) -> list[SliceStates]:
        """Return the slices with the numbers `first` to `stop` - 1."""
        return [read_slice(self.folder, t, dim) for t in range(first, stop)]
