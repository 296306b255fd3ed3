"""Trajectories shared out over processes: each has a range of words, and computes some of the slices.

In every step the owners of words send mean and variance of the active words to the owners of slices, and get g and h of these
words back: one exchange each way. It goes in portions of slices, the same for all processes, so that what is under way takes
little memory beside the states.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.inference.compute import Compute
from wordtide.inference.natural.expectations import Gradient
from wordtide.inference.scale.in_memory import GradientsOf, LikelihoodOf, as_vectors
from wordtide.inference.scale.shares import Integers, WordRanges, shared_out
from wordtide.inference.scale.word_blocks import WordBlock
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion
from wordtide.storage.tensors import Storable, Streamed, pieces

Array = npt.NDArray[Any]
PORTION_BYTES = 64 << 20  # of vectors under way at a time, each way, in one process
_FIELDS = 4  # mean and variance, or g and h, of words and of contexts


class SharedStates:
    """The part of all trajectories that this process has. `slice_bounds` (N + 1,) says which slices each process computes."""

    def __init__(
        self,
        knots: Knots,
        words_of_slices: Sequence[npt.NDArray[np.int32]],
        diffusion: Diffusion,
        start: Array,
        compute: Compute,
        slice_bounds: Integers,
        portion_bytes: int = PORTION_BYTES,
    ) -> None:
        self.compute, self.processes, self.dim = compute, compute.processes, start.shape[-1]
        self.knots, self.bounds, rank = knots, slice_bounds, compute.processes.rank
        self.slices: Sequence[int] = range(int(slice_bounds[rank]), int(slice_bounds[rank + 1]))
        self.ranges = WordRanges.of(knots, words_of_slices, self.processes.size)
        self._words = slice(int(self.ranges.bounds[rank]), int(self.ranges.bounds[rank + 1]))
        self._start = np.array(start[:, self._words])
        self.block = WordBlock(self.ranges.knots(knots, rank), diffusion, self.dim, compute)
        item = torch.empty(0, dtype=compute.dtype).element_size()
        under_way = _FIELDS * len(knots) * self.dim * item / self.processes.size
        self._portions = self._cut(max(1, math.ceil(under_way / portion_bytes)))
        most = [
            max(sum(sizes) for sizes in way) for way in zip(*map(self._sizes, self._portions), strict=True)
        ]
        self._given, self._taken = (
            torch.empty(size, dtype=compute.dtype, device=compute.device) for size in most
        )

    def _cut(self, number: int) -> list[list[range]]:
        """Portions of the exchange, and in each the slices of every process."""
        rows = self.ranges.runs[:, -1]
        cuts = []
        for first, last in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True):
            cuts.append((first + shared_out(rows[first:last], number)).tolist())
        return [[range(cut[k], cut[k + 1]) for cut in cuts] for k in range(number)]

    def _sizes(self, portion: list[range]) -> tuple[list[int], list[int]]:
        """Numbers given to each process, and taken from each."""
        rank, width = self.processes.rank, _FIELDS * self.dim
        given = [width * sum(self.ranges.rows(rank, t) for t in theirs) for theirs in portion]
        taken = [
            width * sum(self.ranges.rows(p, t) for t in portion[rank]) for p in range(self.processes.size)
        ]
        return given, taken

    def _views(self, buffer: Tensor, of: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Tensor]:
        """The fields (4, n, d) of slices and processes, as they follow each other in a buffer."""
        views, end = {}, 0
        for t, process in of:
            rows = self.ranges.rows(process, t)
            begin, end = end, end + _FIELDS * rows * self.dim
            views[t, process] = buffer[begin:end].view(_FIELDS, rows, self.dim)
        return views

    def _outgoing(self, portion: list[range]) -> dict[tuple[int, int], Tensor]:
        return self._views(self._given, [(t, self.processes.rank) for theirs in portion for t in theirs])

    def _collect(self, portion: list[range]) -> dict[tuple[int, int], Tensor]:
        """Mean and variance of the words of this process's slices, from all processes."""
        given, taken = self._sizes(portion)
        self.compute.map(
            lambda item: self.block.copy_vectors(item[0][0], item[1]), self._outgoing(portion).items()
        )
        self.processes.exchange(self._given[: sum(given)], given, self._taken[: sum(taken)], taken)
        return self._views(
            self._taken, [(t, p) for p in range(self.processes.size) for t in portion[self.processes.rank]]
        )

    def _assembled(self, t: int, incoming: Mapping[tuple[int, int], Tensor]) -> list[Tensor]:
        """The four fields of a slice, (a, d) each, from what each process has of it."""
        total = int(self.ranges.runs[t, -1])
        fields = [self.compute.work.empty(f"assembled{field}", total, self.dim) for field in range(_FIELDS)]
        for process in range(self.processes.size):
            run = slice(int(self.ranges.runs[t, process]), int(self.ranges.runs[t, process + 1]))
            for field in range(_FIELDS):
                fields[field][run] = incoming[t, process][field]
        return fields

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
        """Vectors to the slices, gradients back to the words, in each portion."""
        sound = np.ones(len(self.diffusion), dtype=np.int64)
        for portion in self._portions:
            incoming = self._collect(portion)

            def compute_slice(t: int, incoming: Mapping[tuple[int, int], Tensor] = incoming) -> None:
                gradients = gradients_of(t, *as_vectors(self._assembled(t, incoming)))
                answers = [field for gradient in gradients for field in (gradient.g, gradient.h)]
                for process in range(self.processes.size):
                    run = slice(int(self.ranges.runs[t, process]), int(self.ranges.runs[t, process + 1]))
                    for field in range(_FIELDS):
                        incoming[t, process][field] = answers[field][run]

            self.compute.map(compute_slice, portion[self.processes.rank])
            given, taken = self._sizes(portion)
            self.processes.exchange(self._taken[: sum(taken)], taken, self._given[: sum(given)], given)

            def take_in(item: tuple[tuple[int, int], Tensor]) -> None:
                (t, _), fields = item
                sound[t] = self.block.observe(
                    t, (Gradient(fields[0], fields[1]), Gradient(fields[2], fields[3])), rate
                )

            self.compute.map(take_in, self._outgoing(portion).items())
        return [bool(each) for each in np.min(self.processes.gathered(sound[None]), axis=(0, 1))]

    def move(self, rate: float, trust: float) -> None:
        """One smoother pass over the trajectories of this process."""
        self.block.move(rate, trust)

    def likelihoods(self, likelihood_of: LikelihoodOf) -> list[float]:
        """One number from each of all slices, in order."""
        own: list[float] = []
        for portion in self._portions:
            incoming = self._collect(portion)
            own += self.compute.map(
                lambda t, incoming=incoming: likelihood_of(t, *as_vectors(self._assembled(t, incoming))),  # type: ignore[misc]
                portion[self.processes.rank],
            )
        return self.of_all_slices(own)

    def of_all_slices(self, own: list[float]) -> list[float]:
        """One number for each of all slices: processes have runs of them, in order."""
        return [
            float(value)
            for part in self.processes.gathered(np.array(own, dtype=np.float64))
            for value in part
        ]

    def divergence(self) -> float:
        """KL(q || p) of all trajectories; the sum is exact, so it does not matter who adds what."""
        return math.fsum(
            value for part in self.processes.gathered(self.block.divergences()) for value in part
        )

    def leave_out(self, prior: Diffusion) -> None:
        """Each vector becomes what all slices but its own say of it under a prior, the one in use or another."""
        self.block.leave_out(prior)

    def put_back(self) -> None:
        """Undo `leave_out`."""
        self.block.put_back()

    def arrays(self) -> dict[str, Storable]:
        """All there is, by name: at the first process a stream from all, which the others feed."""
        words, knots = (
            np.diff(self.ranges.bounds).tolist(),
            np.diff(self.knots.starts[self.ranges.bounds]).tolist(),
        )

        def standing() -> Iterator[Array]:
            for kind in self._start:
                yield from self.processes.pieces_at_first(lambda kind=kind: pieces(kind), words, self.dim)  # type: ignore[misc]

        total = 2, len(self.knots.starts) - 1, self.dim
        states: dict[str, Storable] = {"start": Streamed(self._start.dtype, total, standing)}
        for name, tensor in self.block.arrays().items():
            dtype = np.dtype(np.float32 if tensor.dtype == torch.float32 else np.float64)

            def rows(tensor: Tensor = tensor) -> Iterator[Array]:
                return self.processes.pieces_at_first(lambda: pieces(tensor.cpu().numpy()), knots, self.dim)

            states[name] = Streamed(dtype, (len(self.knots), self.dim), rows)
        return states

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take the words of this process from saved arrays of all."""
        self._start = np.array(state["start"][:, self._words])
        begin, end = (int(self.knots.starts[word]) for word in (self._words.start, self._words.stop))
        self.block.restore(state, slice(begin, end))

    def note(self) -> str:
        """Nothing."""
        return ""
