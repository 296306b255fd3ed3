"""The trajectories of a range of words while they are smoothed, in memory: what is believed, what the slices said, the step.

A fit in one process has one block of all words; a process among several has the block of its range; a fit on disk opens one
block after the other.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.inference.compute import Compute
from wordtide.inference.natural.chains import Chains, Trajectories
from wordtide.inference.natural.dense_pairs import Vectors
from wordtide.inference.natural.expectations import Gradient
from wordtide.inference.scale.shares import Integers, rows_by_slice
from wordtide.inference.workspace import Workspace
from wordtide.model.chain import observe_rows
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
FIELDS = ("mean", "h", "variance")  # what of a trajectory lives on from step to step
_observe: Any = observe_rows  # compiled functions take what comes, so their types say nothing


class WordBlock:
    """Words (0) and contexts (1) at the knots of a range of words; `rows[t]` are those of slice t, in order of the word.

    `reuse`: its arrays are work arrays, which the next such block takes over.
    """

    def __init__(
        self, knots: Knots, diffusion: Diffusion, dim: int, compute: Compute, reuse: bool = False
    ) -> None:
        self.knots, self.dim, self.compute = knots, dim, compute
        self.chains = Chains(knots, diffusion, compute)
        self.rows: list[Integers] = rows_by_slice(knots, len(diffusion))
        self._rows = [torch.from_numpy(rows).to(compute.device) for rows in self.rows]
        work = compute.work if reuse else Workspace(compute.device, compute.dtype)
        self.kinds = [
            Trajectories(*(work.empty(f"{field} {side}", len(knots), dim) for field in (*FIELDS, "b")))
            for side in "uv"
        ]

    def begin(self, start: Array) -> None:
        """Vectors that stand still at `start` (2, words, d), with the prior's variance, and nothing observed yet."""
        for kind, standing in zip(self.kinds, start, strict=True):
            kind.mean.copy_(torch.from_numpy(np.repeat(standing, np.diff(self.knots.starts), axis=0)))
            kind.h.zero_()
            kind.variance.copy_(self.chains.prior_variance(self.dim))

    def vectors(self, t: int) -> tuple[Vectors, Vectors]:
        """What is believed of the words and contexts of a slice."""
        rows = self._rows[t]
        u, v = (Vectors(kind.mean[rows], kind.variance[rows]) for kind in self.kinds)
        return u, v

    def copy_vectors(self, t: int, out: Tensor) -> None:
        """The same into `out` (4, n, d): mean and variance of words, mean and variance of contexts."""
        for place, kind in enumerate(self.kinds):
            torch.index_select(kind.mean, 0, self._rows[t], out=out[2 * place])
            torch.index_select(kind.variance, 0, self._rows[t], out=out[2 * place + 1])

    def observe(self, t: int, gradients: tuple[Gradient, Gradient], rate: float) -> bool:
        """Take in what a slice says of these words: g and h of their rows, (n, d) each. Is it finite?"""
        sound = True
        for kind, gradient in zip(self.kinds, gradients, strict=True):
            if self.chains.fused:
                arrays = [tensor.numpy() for tensor in (kind.mean, kind.h, kind.b)]
                finite = _observe(self.rows[t], gradient.g.numpy(), gradient.h.numpy(), rate, *arrays)
            else:
                rows = self._rows[t]
                h = kind.h[rows].mul_(1 - rate).add_(gradient.h, alpha=rate)
                b = torch.addcmul(gradient.g, h, kind.mean[rows])
                kind.h[rows], kind.b[rows] = h, b
                finite = torch.isfinite(b.sum() + h.sum())
            sound = sound and bool(finite)
        return sound

    def move(self, rate: float, trust: float) -> None:
        """One smoother pass over all trajectories, and a step towards what it finds."""
        for kind in self.kinds:
            self.chains.move(kind, rate, trust)

    def divergences(self) -> Floats:
        """KL(q || p) of words and contexts, one number for each trajectory, (n,)."""
        return np.concatenate([self.chains.divergences(kind) for kind in self.kinds])

    def leave_out(self, prior: Diffusion) -> None:
        """Each vector becomes what all slices but its own say of it under a prior."""
        for kind in self.kinds:
            self.chains.leave_out(kind, prior)
            kind.mean, kind.b = kind.b, kind.mean

    def put_back(self) -> None:
        """Undo `leave_out`."""
        for kind in self.kinds:
            kind.mean, kind.b = kind.b, kind.mean
            self.chains.restore_variances(kind)

    def arrays(self) -> dict[str, Tensor]:
        """All that lives on from step to step, by name."""
        return {
            f"{field}_{side}": getattr(kind, field)
            for side, kind in zip("uv", self.kinds, strict=True)
            for field in FIELDS
        }

    def restore(self, state: Mapping[str, Array], rows: slice) -> None:
        """Take the values of these words, some rows of saved arrays of all."""
        for name, tensor in self.arrays().items():
            tensor.copy_(torch.from_numpy(np.array(state[name][rows])))
