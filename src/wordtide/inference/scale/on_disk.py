"""Trajectories on disk, for models larger than memory: the exchange between words and slices goes through files.

The files are in order of slices, so a slice is read and written as a whole; a block of words reads and writes one run of rows
in every slice. Nothing is read row by row.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.inference.compute import Compute
from wordtide.inference.scale.in_memory import GradientsOf, LikelihoodOf, as_vectors
from wordtide.inference.scale.offload_files import OffloadFolder
from wordtide.inference.scale.shares import WordRanges
from wordtide.inference.scale.word_blocks import FIELDS, WordBlock
from wordtide.model.chain import observe_rows
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion
from wordtide.storage.tensors import Storable, Streamed

Array = npt.NDArray[Any]
_observe: Any = observe_rows
_IN_BLOCK = 8  # arrays of a block of words: mean, h, variance and b, of words and of contexts


class OffloadedStates:
    """All trajectories in files: mean, h, and one that holds the variance, or b between observing and moving."""

    def __init__(
        self,
        knots: Knots,
        words_of_slices: Sequence[npt.NDArray[np.int32]],
        diffusion: Diffusion,
        start: Array,
        compute: Compute,
        folder: OffloadFolder,
    ) -> None:
        self.knots, self.compute, self.folder, self.dim = knots, compute, folder, start.shape[-1]
        self.slices: Sequence[int] = range(len(diffusion))
        self._start, self._diffusion = start, diffusion
        self._item = torch.empty(0, dtype=compute.dtype).element_size()
        self._dtype = np.dtype(f"<f{self._item}")
        self._row = self.dim * self._item
        blocks = max(1, math.ceil(_IN_BLOCK * len(knots) * self._row / folder.block_bytes))
        self.ranges = WordRanges.of(knots, words_of_slices, min(blocks, len(knots.starts) - 1))
        self._offsets = np.concatenate([[0], np.cumsum(self.ranges.runs[:, -1])])
        fields = (*FIELDS, "aside")  # means are put aside while slices are predicted without themselves
        self._files = {
            f"{field}_{side}": folder.file(len(knots) * self._row) for side in "uv" for field in fields
        }
        self._moved, self._since, self._note = folder.moved, time.monotonic(), ""

    @property
    def diffusion(self) -> Diffusion:
        """The prior in use."""
        return self._diffusion

    def set_diffusion(self, diffusion: Diffusion) -> None:
        """Use another prior from now on."""
        self._diffusion = diffusion

    def kept(self, array: Array) -> Array:
        """In a file."""
        return self.folder.kept(array)

    def begin(self) -> None:
        """Vectors that stand still where they started, and nothing observed yet."""
        for part in range(len(self.ranges)):
            block = self._block(part)
            block.begin(self._start[:, self.ranges.bounds[part] : self.ranges.bounds[part + 1]])
            self._write_block(part, block, block.arrays())

    def observe(self, gradients_of: GradientsOf, rate: float) -> list[bool]:
        """Slice after slice: read it, and write what it says of its words."""
        self._moved, self._since = self.folder.moved, time.monotonic()

        def one(t: int) -> bool:
            fields = self._slice(t, ("mean", "variance"))
            gradients = gradients_of(t, *as_vectors(fields))
            every = np.arange(len(fields[0]))
            sound = True
            for side, gradient, mean, b in zip("uv", gradients, fields[::2], fields[1::2], strict=True):
                (h,) = self._slice(t, ("h",), side)
                arrays = [tensor.numpy() for tensor in (gradient.g, gradient.h)]
                found = _observe(every, *arrays, rate, mean.numpy(), h.numpy(), b.numpy())
                sound = sound and bool(found)
                for name, tensor in ((f"h_{side}", h), (f"variance_{side}", b)):
                    self.folder.write(self._files[name], tensor.numpy(), int(self._offsets[t]) * self._row)
            return sound

        return self.compute.map(one, self.slices)

    def move(self, rate: float, trust: float) -> None:
        """Block after block of words: one smoother pass, and a step towards what it finds."""
        for part in range(len(self.ranges)):
            block = self._block(part)
            for side, kind in zip("uv", block.kinds, strict=True):
                self._read_block(
                    part, block, {f"mean_{side}": kind.mean, f"h_{side}": kind.h, f"variance_{side}": kind.b}
                )
            block.move(rate, trust)
            for side, kind in zip("uv", block.kinds, strict=True):
                self._write_block(part, block, {f"mean_{side}": kind.mean, f"variance_{side}": kind.variance})
        moved, seconds = self.folder.moved - self._moved, time.monotonic() - self._since
        amount = f"{moved / 1e9:.1f} GB" if moved >= 1e9 else f"{moved / 1e6:.0f} MB"
        self._note = f"offloaded: {amount} read and written a step, {seconds:.1f} s a step"

    def likelihoods(self, likelihood_of: LikelihoodOf) -> list[float]:
        """One number from each slice."""
        return self.compute.map(
            lambda t: likelihood_of(t, *as_vectors(self._slice(t, ("mean", "variance")))), self.slices
        )

    def of_all_slices(self, own: list[float]) -> list[float]:
        """These are all."""
        return own

    def divergence(self) -> float:
        """KL(q || p) of all trajectories."""
        return math.fsum(value for block in self._filled_blocks() for value in block.divergences())

    def leave_out(self, prior: Diffusion) -> None:
        """Each vector becomes what all slices but its own say of it under a prior, the one in use or another."""
        for part in range(len(self.ranges)):
            block = self._block(part)
            for side, kind in zip("uv", block.kinds, strict=True):
                self._read_block(part, block, {f"mean_{side}": kind.mean, f"h_{side}": kind.h})
            block.leave_out(prior)
            for side, kind in zip("uv", block.kinds, strict=True):
                written = {
                    f"mean_{side}": kind.mean,
                    f"variance_{side}": kind.variance,
                    f"aside_{side}": kind.b,
                }
                self._write_block(part, block, written)

    def put_back(self) -> None:
        """Undo `leave_out`."""
        for part in range(len(self.ranges)):
            block = self._block(part)
            for side, kind in zip("uv", block.kinds, strict=True):
                self._read_block(part, block, {f"aside_{side}": kind.b, f"h_{side}": kind.h})
            block.put_back()
            for side, kind in zip("uv", block.kinds, strict=True):
                self._write_block(part, block, {f"mean_{side}": kind.mean, f"variance_{side}": kind.variance})

    def arrays(self) -> dict[str, Storable]:
        """All there is, by name, as streams from the files."""

        def rows(name: str) -> Iterator[Array]:
            for part in range(len(self.ranges)):
                block = self._block(part)
                tensor = block.kinds[0].b
                self._read_block(part, block, {name: tensor})
                yield tensor.numpy()

        states: dict[str, Storable] = {
            name: Streamed(self._dtype, (len(self.knots), self.dim), lambda name=name: rows(name))  # type: ignore[misc]
            for name in self._files
            if not name.startswith("aside")
        }
        return {"start": self._start, **states}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from saved arrays."""
        self._start = np.array(state["start"])
        for part in range(len(self.ranges)):
            block = self._block(part)
            first, last = self.knots.starts[self.ranges.bounds[part : part + 2]].tolist()
            block.restore(state, slice(first, last))
            self._write_block(part, block, block.arrays())

    def note(self) -> str:
        """How slow the disk makes a step."""
        return self._note

    def _slice(self, t: int, fields: Sequence[str], sides: str = "uv") -> list[Tensor]:
        """Fields of all words of a slice, (a, d) each, in work arrays of this thread."""
        rows = int(self.ranges.runs[t, -1])
        found = []
        for name in [f"{field}_{side}" for side in sides for field in fields]:
            tensor = self.compute.work.empty(f"offloaded {name}", rows, self.dim)
            self.folder.read(self._files[name], tensor.numpy(), int(self._offsets[t]) * self._row)
            found.append(tensor)
        return found

    def _block(self, part: int) -> WordBlock:
        return WordBlock(
            self.ranges.knots(self.knots, part), self._diffusion, self.dim, self.compute, reuse=True
        )

    def _filled_blocks(self) -> Iterator[WordBlock]:
        for part in range(len(self.ranges)):
            block = self._block(part)
            self._read_block(part, block, block.arrays())
            yield block

    def _read_block(self, part: int, block: WordBlock, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in tensors.items():
            for rows, run, offset in self._runs(part, block):
                self.folder.read(self._files[name], run, offset)
                tensor.numpy()[rows] = run

    def _write_block(self, part: int, block: WordBlock, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in tensors.items():
            for rows, run, offset in self._runs(part, block):
                np.take(tensor.numpy(), rows, axis=0, out=run)
                self.folder.write(self._files[name], run, offset)

    def _runs(self, part: int, block: WordBlock) -> Iterator[tuple[Array, Array, int]]:
        """For each slice: the rows that the block has there, a buffer for them, and where they are in a file."""
        for t in self.slices:
            rows = block.rows[t]
            if len(rows):
                buffer = self.compute.work.empty("run", len(rows), self.dim).numpy()
                yield rows, buffer, (int(self._offsets[t]) + int(self.ranges.runs[t, part])) * self._row
