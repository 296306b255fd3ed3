"""Sums over the positive pairs of a slice: compiled on the CPU, by tensors in chunks on other devices.

Rows are words, or contexts: n+ is symmetric, so both have the same pattern. All functions work on a range of rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.inference.compute import Compute
from wordtide.inference.natural.pair_kernels import add_pairs, pair_moments, transposed_places
from wordtide.inference.natural.row_shares import RowShares, TransposedPairs
from wordtide.inference.problem import SliceData

_CHUNK = 1 << 16  # pairs gathered at a time on other devices
_moments: Any = pair_moments
_add: Any = add_pairs
Keep = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


def in_memory(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Where large arrays are kept if nothing else is said."""
    return array


class PositivePairs:
    """The stored pairs of n+ on the active words, and the two things done with them.

    `shares`: of several processes each has the pairs of its own rows, and works on these. `keep` says where large arrays are
    kept that are only read.
    """

    def __init__(
        self,
        part: SliceData,
        compute: Compute,
        fused: bool | None = None,
        shares: RowShares | None = None,
        keep: Keep = in_memory,
    ) -> None:
        self.fused = compute.on_cpu if fused is None else fused
        rows = range(len(part)) if shares is None else shares.rows
        here = slice(int(part.indptr[rows.start]), int(part.indptr[rows.stop]))
        self.values = torch.from_numpy(part.values[here]).to(compute.device, compute.dtype)
        self._indices = part.indices[here]
        self._indptr = (
            part.indptr
            if len(rows) == len(part)
            else np.clip(part.indptr - here.start, 0, len(self._indices))
        )
        self._given: TransposedPairs | None = None
        if shares is not None and shares.processes.several:
            self._given = TransposedPairs(shares, self._indices)
            transposed = self._given.places
        else:
            transposed = transposed_places(self._indptr, self._indices)
        if self.fused:
            self._transposed = keep(transposed)
            self._straight = np.zeros(0, dtype=np.int32)
        else:
            self._rows = torch.from_numpy(np.repeat(np.arange(len(part)), np.diff(self._indptr))).to(
                compute.device
            )
            self._columns = torch.from_numpy(self._indices.astype(np.int64)).to(compute.device)
            self._transpose = torch.from_numpy(transposed.astype(np.int64)).to(compute.device)

    def for_contexts(self, e: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """e and r as `add_to_contexts` needs them: those of the own contexts, whichever process found them."""
        return (e, r) if self._given is None else (self._given.of(e), self._given.of(r))

    def places(self, rows: range) -> slice:
        """Where the pairs of a range of rows are stored."""
        return slice(int(self._indptr[rows.start]), int(self._indptr[rows.stop]))

    def moments(
        self, rows: range, u: tuple[Tensor, Tensor], v: tuple[Tensor, Tensor], m: Tensor, s2: Tensor
    ) -> None:
        """Mean and variance of u_i . v_j for the stored pairs of some rows, into m and s2 (nnz,); u, v: mean and variance."""
        if self.fused:
            arrays = [tensor.numpy() for tensor in (*u, *v)]
            _moments(self._indptr, self._indices, *arrays, rows.start, rows.stop, m.numpy(), s2.numpy())
            return
        for chunk in _chunks(self.places(rows)):
            mean_u, variance_u = (tensor[self._rows[chunk]] for tensor in u)
            mean_v, variance_v = (tensor[self._columns[chunk]] for tensor in v)
            m[chunk] = (mean_u * mean_v).sum(-1)
            s2[chunk] = ((mean_u * mean_u + variance_u) * variance_v + variance_u * (mean_v * mean_v)).sum(-1)

    def add_to_words(
        self, rows: range, e: Tensor, r: Tensor, v: tuple[Tensor, Tensor], sums: tuple[Tensor, ...]
    ) -> None:
        """Add e mu_v, r s_v and r mu_v^2 over each word's contexts to its three sums, (a, d) each."""
        self._add(rows, e, r, v, sums, to_words=True)

    def add_to_contexts(
        self, rows: range, e: Tensor, r: Tensor, u: tuple[Tensor, Tensor], sums: tuple[Tensor, ...]
    ) -> None:
        """Add e mu_u, r s_u and r mu_u^2 over each context's words to its three sums, (a, d) each."""
        self._add(rows, e, r, u, sums, to_words=False)

    def _add(
        self,
        rows: range,
        e: Tensor,
        r: Tensor,
        others: tuple[Tensor, Tensor],
        sums: tuple[Tensor, ...],
        to_words: bool,
    ) -> None:
        if self.fused:
            places: npt.NDArray[np.int32] = self._straight if to_words else self._transposed
            arrays = [tensor.numpy() for tensor in (e, r, *others)]
            out = [tensor.numpy() for tensor in sums]
            _add(self._indptr, self._indices, places, *arrays, rows.start, rows.stop, *out)
            return
        for chunk in _chunks(self.places(rows)):
            here, mean, variance = (
                self._rows[chunk],
                others[0][self._columns[chunk]],
                others[1][self._columns[chunk]],
            )
            at: Any = chunk if to_words else self._transpose[chunk]
            e_here, r_here = e[at][:, None], r[at][:, None]
            sums[0].index_add_(0, here, e_here * mean)
            sums[1].index_add_(0, here, r_here * variance)
            sums[2].index_add_(0, here, r_here * mean * mean)


def _chunks(places: slice) -> list[slice]:
    return [
        slice(start, min(start + _CHUNK, places.stop)) for start in range(places.start, places.stop, _CHUNK)
    ]
