"""Where the trajectories of all words live while they are smoothed: what a solver asks of them, and the answer in memory.

The other two answers, in several processes and on disk, are `SharedStates` and `OffloadedStates`. All three make the same
arithmetic for each row, each word and each slice, so they come to the same bits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from wordtide.inference.compute import Compute
from wordtide.inference.natural.dense_pairs import Vectors
from wordtide.inference.natural.expectations import Gradient
from wordtide.inference.scale.word_blocks import WordBlock
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion
from wordtide.storage.tensors import Storable, Streamed

Array = npt.NDArray[Any]
GradientsOf = Callable[[int, Vectors, Vectors], tuple[Gradient, Gradient]]
LikelihoodOf = Callable[[int, Vectors, Vectors], float]


class States(Protocol):
    """What a solver asks of the states of all trajectories. Functions of a slice get its number and its words' vectors."""

    @property
    def slices(self) -> Sequence[int]:
        """The numbers of the slices that this process computes."""

    @property
    def diffusion(self) -> Diffusion:
        """The prior in use."""

    def set_diffusion(self, diffusion: Diffusion) -> None:
        """Use another prior from now on."""

    def begin(self) -> None:
        """Vectors that stand still where they started, and nothing observed yet."""

    def kept(self, array: Array) -> Array:
        """A large array that will only be read, wherever these states have room for it."""

    def observe(self, gradients_of: GradientsOf, rate: float) -> list[bool]:
        """Put what every slice says where the next move finds it. Is it finite, slice by slice?"""

    def move(self, rate: float, trust: float) -> None:
        """One smoother pass over all trajectories, and a step towards what it finds."""

    def likelihoods(self, likelihood_of: LikelihoodOf) -> list[float]:
        """One number from each of all slices, in order."""

    def of_all_slices(self, own: list[float]) -> list[float]:
        """One number for each of all slices, in order, from those of the slices that this process computes."""

    def divergence(self) -> float:
        """KL(q || p) of all trajectories."""

    def leave_out(self, prior: Diffusion) -> None:
        """Each vector becomes what all slices but its own say of it under a prior, the one in use or another."""

    def put_back(self) -> None:
        """Undo `leave_out`."""

    def arrays(self) -> dict[str, Storable]:
        """start (2, L, d); mean_u, h_u, variance_u, mean_v, h_v, variance_v, (K, d) each, in the order of the knots."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from saved arrays."""

    def note(self) -> str:
        """What the user should know of the last step."""


class StatesInMemory:
    """All trajectories in the memory of this process."""

    def __init__(self, knots: Knots, diffusion: Diffusion, start: Array, compute: Compute) -> None:
        self.compute, self._start = compute, start
        self.slices: Sequence[int] = range(len(diffusion))
        self.block = WordBlock(knots, diffusion, start.shape[-1], compute)

    @property
    def diffusion(self) -> Diffusion:
        """The prior in use."""
        return self.block.chains.diffusion

    def set_diffusion(self, diffusion: Diffusion) -> None:
        """Use another prior from now on."""
        self.block.chains.set_diffusion(diffusion)

    def begin(self) -> None:
        """Vectors that stand still where they started, and nothing observed yet."""
        self.block.begin(self._start)

    def kept(self, array: Array) -> Array:
        """As it is."""
        return array

    def observe(self, gradients_of: GradientsOf, rate: float) -> list[bool]:
        """Slice after slice, or several at a time on threads: their rows are different ones."""
        return self.compute.map(
            lambda t: self.block.observe(t, gradients_of(t, *self.block.vectors(t)), rate), self.slices
        )

    def move(self, rate: float, trust: float) -> None:
        """One smoother pass over all trajectories, and a step towards what it finds."""
        self.block.move(rate, trust)

    def likelihoods(self, likelihood_of: LikelihoodOf) -> list[float]:
        """One number from each slice."""
        return self.compute.map(lambda t: likelihood_of(t, *self.block.vectors(t)), self.slices)

    def of_all_slices(self, own: list[float]) -> list[float]:
        """These are all."""
        return own

    def divergence(self) -> float:
        """KL(q || p) of all trajectories."""
        return math.fsum(self.block.divergences())

    def leave_out(self, prior: Diffusion) -> None:
        """Each vector becomes what all slices but its own say of it under a prior, the one in use or another."""
        self.block.leave_out(prior)

    def put_back(self) -> None:
        """Undo `leave_out`."""
        self.block.put_back()

    def arrays(self) -> dict[str, Storable]:
        """All there is, by name."""
        states: dict[str, Storable] = {
            name: tensor.cpu().numpy() for name, tensor in self.block.arrays().items()
        }
        return {"start": self._start, **states}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from saved arrays."""
        self._start = np.array(state["start"])
        self.block.restore(state, slice(None))

    def note(self) -> str:
        """Nothing."""
        return ""


def as_vectors(fields: Sequence[torch.Tensor]) -> tuple[Vectors, Vectors]:
    """Mean and variance of words, mean and variance of contexts, as two kinds of vectors."""
    return Vectors(fields[0], fields[1]), Vectors(fields[2], fields[3])


def as_singles(array: Storable) -> Any:
    """An array, or a stream of one, as float32, as models have it."""
    if not isinstance(array, Streamed):
        return np.asarray(array, dtype=np.float32)
    made = array.pieces
    return Streamed(
        np.dtype(np.float32), array.shape, lambda: (piece.astype(np.float32, copy=False) for piece in made())
    )
