"""The trajectories of all words during smoothing: the interface, and its implementation in memory.

The implementations on disk and on a cluster are in `on_disk` and `on_dask`. All three do the same arithmetic
for each row, word and slice, so their results have the same bits.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wordtide.inference.compute import Compute
from wordtide.inference.natural.prepared_slice import SliceWork
from wordtide.inference.scale.word_blocks import WordBlock
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion
from wordtide.storage.arrays import Storable, StreamedArray
from wordtide.types import Array


@dataclass(frozen=True)
class Start:
    """The static vectors (sides, L, d) where smoothing starts, and the signs of S (d,) of tied contexts."""

    vectors: Array
    signs: Array | None = None


class States(Protocol):
    """What a solver needs from the trajectories of all words."""

    @property
    def diffusion(self) -> Diffusion:
        """The prior in use."""

    def set_diffusion(self, diffusion: Diffusion) -> None:
        """Use another prior from now on."""

    def begin(self) -> None:
        """Return to the static vectors of the start, without data."""

    def pairs(self) -> list[float]:
        """Return the number of pairs of each slice."""

    def step(self, number: int, rate: float, trust: float) -> list[bool]:
        """Take step `number` of the fit: gradients of all slices, then a smoother pass over all trajectories.

        Returns whether the values of each slice are finite. If any are not, the trajectories do not change.
        """

    def likelihoods(self) -> list[float]:
        """Compute the expected log likelihood of each slice."""

    def divergence(self) -> float:
        """Compute KL(q || p) of all trajectories."""

    def predictive_likelihoods(self, prior: Diffusion) -> list[float]:
        """Compute the predictive log likelihood of each slice given all others, combined by a prior."""

    def arrays(self) -> dict[str, Storable]:
        """Return start (sides, L, d), signs, and mean, h and variance (K, d) of each side, by knot."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Resume from saved arrays."""

    def finish(self) -> None:
        """Free the memory that only further steps need."""

    def note(self) -> str:
        """Return a remark for the user on the last step."""


class StatesInMemory:
    """All trajectories in the memory of this process."""

    def __init__(
        self, knots: Knots, diffusion: Diffusion, start: Start, work: SliceWork, compute: Compute
    ) -> None:
        self.compute, self._start, self._work = compute, start, work
        self._slices = range(len(diffusion))
        sides, _, dim = start.vectors.shape
        self.block = WordBlock(knots, diffusion, sides, dim, compute)

    @property
    def diffusion(self) -> Diffusion:
        return self.block.diffusion

    def set_diffusion(self, diffusion: Diffusion) -> None:
        self.block.set_diffusion(diffusion)

    def begin(self) -> None:
        self.block.begin(self._start.vectors)

    def pairs(self) -> list[float]:
        return [self._work.pairs(t) for t in self._slices]

    def step(self, number: int, rate: float, trust: float) -> list[bool]:
        def observe(t: int) -> bool:  # slices on several threads write to different rows
            return self.block.observe(t, self._work.gradients(t, self.block.vectors(t), number), rate)

        finite = self.compute.map(observe, self._slices)
        if all(finite):
            self.block.move(rate, trust)
        return finite

    def likelihoods(self) -> list[float]:
        return self.compute.map(
            lambda t: self._work.log_likelihood(t, self.block.vectors(t), predictive=False), self._slices
        )

    def divergence(self) -> float:
        return math.fsum(self.block.divergences())

    def predictive_likelihoods(self, prior: Diffusion) -> list[float]:
        self.block.leave_out(prior)
        found = self.compute.map(
            lambda t: self._work.log_likelihood(t, self.block.predicted_vectors(t), predictive=True),
            self._slices,
        )
        self.block.restore_variances()
        return found

    def arrays(self) -> dict[str, Storable]:
        return {**start_arrays(self._start), **self.block.arrays()}

    def restore(self, state: Mapping[str, Array]) -> None:
        self.block.restore(state, slice(None))

    def finish(self) -> None:
        self.block.finish()
        self._work.finish()

    def note(self) -> str:
        return ""


def start_arrays(start: Start) -> dict[str, Storable]:
    """Return a start as the arrays of a checkpoint."""
    return {"start": start.vectors} if start.signs is None else {"start": start.vectors, "signs": start.signs}


def saved_start(state: Mapping[str, Array]) -> Start:
    """Return the start that a checkpoint holds."""
    return Start(np.array(state["start"]), np.array(state["signs"]) if "signs" in state else None)


def as_singles(array: Storable) -> Any:
    """Convert an array, or a stream of one, to float32, the precision of models."""
    if not isinstance(array, StreamedArray):
        return np.asarray(array, dtype=np.float32)
    made = array.pieces
    return StreamedArray(
        np.dtype(np.float32), array.shape, lambda: (piece.astype(np.float32, copy=False) for piece in made())
    )
