"""Where a solver that goes from slice to slice puts each slice it has finished: arrays in memory, or files in a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.posterior import Posterior
from wordtide.embeddings.slice_files import read_slice, slice_name, write_slice
from wordtide.embeddings.slice_states import SliceStates
from wordtide.errors import SettingsError
from wordtide.model.knots import Knots
from wordtide.storage.folders import file_facts, link_or_copy

Array = npt.NDArray[Any]


class SliceSink(Protocol):
    """Takes finished slices in order of time."""

    def put(self, t: int, words: Array, mean: Array, variance: Array | None) -> None:
        """Keep the means and variances (2, a, d) of the words of slice t."""

    def state(self) -> dict[str, Array]:
        """What a checkpoint must hold of it, beside files."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go back to a saved state."""


class KnotArrays:
    """All states in memory: `mean` and (but for point estimates) `variance` at the knots of all words, (2, K, d)."""

    def __init__(self, knots: Knots, dim: int, dtype: npt.DTypeLike, uncertain: bool = True) -> None:
        self.knots = knots
        self.mean = np.zeros((2, len(knots), dim), dtype=dtype)
        self.variance = np.zeros((2, len(knots), dim), dtype=dtype) if uncertain else None

    def put(self, t: int, words: Array, mean: Array, variance: Array | None) -> None:
        """Keep a slice at the rows of its knots."""
        rows = self.knots.by_slice[t]
        self.mean[:, rows] = mean
        if self.variance is not None:
            self.variance[:, rows] = variance

    def posterior(self) -> Posterior:
        """The posterior at the knots."""
        mean_u, mean_v = (np.asarray(mean, dtype=np.float32) for mean in self.mean)
        if self.variance is None:
            return Posterior("point", self.knots, mean_u, mean_v)
        variance_u, variance_v = (np.asarray(variance, dtype=np.float32) for variance in self.variance)
        return Posterior("filter", self.knots, mean_u, mean_v, variance_u, variance_v)

    def state(self) -> dict[str, Array]:
        """All states."""
        return (
            {"mean": self.mean} if self.variance is None else {"mean": self.mean, "variance": self.variance}
        )

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go back to a saved state, which must be of the same knots."""
        for name, array in (("mean", self.mean), ("variance", self.variance)):
            if array is not None:
                saved = state.get(name, np.zeros(0))
                if saved.shape != array.shape or saved.dtype != array.dtype:
                    raise SettingsError(
                        "The saved state belongs to another fit.", "Start again, without resuming."
                    )
                array[:] = saved


class SlicesInMemory:
    """Slices of an update to a model in memory: one record after the other."""

    def __init__(self) -> None:
        self.slices: list[SliceStates] = []

    def put(self, t: int, words: Array, mean: Array, variance: Array | None) -> None:
        """Keep a slice."""
        assert variance is not None
        self.slices.append(SliceStates.of(words, mean, variance))

    def state(self) -> dict[str, Array]:
        """Nothing: an update is not stopped and resumed, it is made again."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Nothing is there to be restored."""


class SliceFolder:
    """Files in a folder, one for each slice. `facts`: size and checksum of each, known since it was written."""

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

    def take_over(self, source: Path, facts: Mapping[str, Any]) -> None:
        """The files of slices from another folder, whose header lists these facts of all its files."""
        for t in range(len(facts)):
            if slice_name(t) not in facts:
                break
            link_or_copy(source / slice_name(t), self.folder / slice_name(t))
            self.facts[slice_name(t)] = facts[slice_name(t)]

    def link_into(self, folder: Path) -> dict[str, Mapping[str, int]]:
        """Give all files a second name in another folder, and tell their facts."""
        for name in self.facts:
            link_or_copy(self.folder / name, folder / name)
        return dict(self.facts)

    def read(self, slices: int, dim: int) -> list[SliceStates]:
        """What was written, as maps of the files."""
        return [read_slice(self.folder, t, dim) for t in range(slices)]

    def state(self) -> dict[str, Array]:
        """Nothing beside the files."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Nothing: the files are taken over from the checkpoint."""
