"""How the rows of one slice are shared out, to threads and to processes.

Rows go in parts, whose bounds depend on the slice alone. Each part is computed alone and in the same way wherever that
happens, and numbers that are added are added in order of the parts: so the bits of the result do not depend on how many
threads or processes there are.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.inference.scale.processes import ALONE, Processes
from wordtide.inference.scale.shares import Integers, shared_out

_PAIRS_PER_ROW = 32  # what a row's dense work costs, in sparse pairs
_EFFORT = 48_000  # of a part, in pairs, at least: products of smaller matrices cost more than a thread gives


@dataclass(frozen=True)
class RowShares:
    """Parts of the rows of a slice, and the rows that each process computes: from `bounds[p]` to `bounds[p + 1]`.

    `indptr` (a + 1,) says where the pairs of each row are stored.
    """

    parts: list[range]
    bounds: Integers
    indptr: npt.NDArray[Any]
    processes: Processes

    @staticmethod
    def of(indptr: npt.NDArray[Any], processes: Processes, most: int) -> "RowShares":
        """Parts of about the same effort: 1, 2, 4 and so on, as many as are worth their while, but not more than `most`."""
        effort = np.diff(indptr) + _PAIRS_PER_ROW
        worthwhile = max(1, int(effort.sum()) // _EFFORT)
        cuts = shared_out(effort, min(most, 1 << (worthwhile.bit_length() - 1)))
        parts = [range(a, b) for a, b in itertools.pairwise(cuts.tolist()) if b > a]
        shares = shared_out(
            np.array([effort[part.start : part.stop].sum() for part in parts]), processes.size
        )
        ends = np.array([part.start for part in parts] + [len(effort)])
        return RowShares(parts, ends[shares], indptr, processes)

    @staticmethod
    def whole(indptr: npt.NDArray[Any]) -> "RowShares":
        """One part, computed by this process alone, whatever others there are."""
        rows = len(indptr) - 1
        return RowShares([range(rows)], np.array([0, rows]), indptr, ALONE)

    @property
    def rows(self) -> range:
        """The rows that this process computes."""
        return range(int(self.bounds[self.processes.rank]), int(self.bounds[self.processes.rank + 1]))

    @property
    def own(self) -> list[range]:
        """The parts that this process computes."""
        return [part for part in self.parts if part.start in self.rows]

    def gather(self, tensors: list[Tensor]) -> None:
        """Fill in the rows of other processes, where each has filled in its own; (a, d) each."""
        if not self.processes.several:
            return
        width, number = tensors[0].shape[1], len(tensors)
        own = torch.stack([tensor[self.rows.start : self.rows.stop] for tensor in tensors])
        sizes = (np.diff(self.bounds) * width * number).tolist()
        given = own.view(-1).repeat(self.processes.size)
        taken = own.new_empty(sum(sizes))
        self.processes.exchange(given, [own.numel()] * self.processes.size, taken, sizes)
        for first, last in itertools.pairwise(self.bounds.tolist()):
            part = taken[first * width * number : last * width * number].view(number, last - first, width)
            for tensor, rows in zip(tensors, part, strict=True):
                tensor[first:last] = rows

    def numbers(self, own: list[float]) -> list[float]:
        """What each part came to, in order of the parts."""
        return [
            float(value)
            for part in self.processes.gathered(np.array(own, dtype=np.float64))
            for value in part
        ]

    def tensors(self, own: list[Tensor], like: Tensor) -> list[Tensor]:
        """The same of tensors (3, a, d), for rows `like` (a, d)."""
        if not self.processes.several:
            return own
        found = torch.stack(own) if own else like.new_empty(0, 3, *like.shape)
        return [
            torch.from_numpy(each).to(like)
            for part in self.processes.gathered(found.cpu().numpy())
            for each in part
        ]


class TransposedPairs:
    """For each stored pair (j, i) of the own rows j: what the process of row i found for the pair (i, j).

    A process gives its pairs in order of their columns. So what goes to the owner of some columns is one run, and arrives in
    the order in which that one has stored them, but for the process they come from: `places` says where each arrives.
    """

    def __init__(self, shares: RowShares, indices: npt.NDArray[np.int32]) -> None:
        self._processes = shares.processes
        owners = np.searchsorted(shares.bounds, indices, side="right") - 1
        self._order = torch.from_numpy(np.argsort(indices, kind="stable"))
        self._sizes = np.bincount(
            owners, minlength=shares.processes.size
        ).tolist()  # given and taken: n+ is symmetric
        self.places = np.empty(len(indices), dtype=np.int32)
        self.places[np.argsort(owners, kind="stable")] = np.arange(len(indices), dtype=np.int32)

    def of(self, values: Tensor) -> Tensor:
        """The values that other processes found for pairs of the own columns, as they arrive."""
        taken = torch.empty_like(values)
        self._processes.exchange(values[self._order.to(values.device)], self._sizes, taken, self._sizes)
        return taken
