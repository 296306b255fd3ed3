"""The trajectories of all words under the smoother: means, data precisions and marginal variances at the knots.

The best precision of the paper's tridiagonal family is Pi + diag(h), with the prior's own off-diagonal
(docs/mathematics.md), so the posterior is the pair (mu, h). One `move` is a Kalman smoother pass over all words and a step
towards what it finds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.inference.compute import Compute
from wordtide.model.chain import (
    divergence_of_words,
    leave_out_words,
    messages_of_words,
    move_words,
    smooth_words,
)
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion
from wordtide.model.tensor_chain import KnotSteps, divergence, smooth
from wordtide.model.transitions import prior_at_knots

Floats = npt.NDArray[np.float64]
_smooth: Any = smooth_words  # compiled functions take what comes, so their types say nothing
_move: Any = move_words
_divergence: Any = divergence_of_words
_leave_out: Any = leave_out_words
_messages: Any = messages_of_words
_BLOCKS = 8  # blocks of words per thread, so that threads end together


@dataclass
class Trajectories:
    """Of one kind of vectors, words or contexts, at all knots: (K, d) each. `b` is the work array of the next move."""

    mean: Tensor
    h: Tensor
    variance: Tensor
    b: Tensor


class Chains:
    """The prior at the knots, and what is done with whole trajectories."""

    def __init__(
        self, knots: Knots, diffusion: Diffusion, compute: Compute, fused: bool | None = None
    ) -> None:
        self.knots, self.compute = knots, compute
        self.fused = compute.on_cpu if fused is None else fused
        self.set_diffusion(diffusion)
        if self.fused:
            shares = np.linspace(0, len(knots), compute.threads * _BLOCKS + 1)
            bounds = np.searchsorted(knots.starts, shares)
            bounds[0], bounds[-1] = 0, len(knots.starts) - 1
            self._blocks = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        else:
            self._steps = KnotSteps.of(knots.starts, compute.device)

    def set_diffusion(self, diffusion: Diffusion) -> None:
        """Use another prior from now on."""
        self.diffusion = diffusion
        scalars = prior_at_knots(self.knots, diffusion)
        self._scalars = [
            torch.from_numpy(array).to(self.compute.device, self.compute.dtype) for array in scalars
        ]

    def prior_variance(self, dim: int) -> Tensor:
        """The prior's variance at each knot, (K, d)."""
        variance = torch.from_numpy(self.diffusion.marginal[self.knots.slices]).to(
            self.compute.device, self.compute.dtype
        )
        return variance[:, None].repeat(1, dim)

    def move(self, trajectories: Trajectories, rate: float, trust: float) -> None:
        """Smooth with the current h and b = g + h mu, then go `rate` of the way, no word further than `trust` at any knot."""
        if self.fused:
            arrays = self._arrays()
            h, b, s, mu = (
                t.numpy() for t in (trajectories.h, trajectories.b, trajectories.variance, trajectories.mean)
            )

            def one(block: tuple[int, int]) -> None:
                _smooth(self.knots.starts, *arrays, h, b, s, *block)
                _move(self.knots.starts, b, mu, rate, trust, *block)

            self.compute.map(one, self._blocks)
            return
        gain, noise, first = self._scalars
        target, trajectories.variance = smooth(
            self._steps, gain, noise, first, trajectories.h, trajectories.b
        )
        step = target.sub_(trajectories.mean)
        length = torch.linalg.vector_norm(step, dim=1)
        words = torch.from_numpy(self.knots.words).to(length.device)
        longest = torch.zeros(len(self.knots.starts) - 1, dtype=length.dtype, device=length.device)
        longest.scatter_reduce_(0, words, length, "amax")
        trajectories.mean.addcmul_(step, (trust / longest.clamp_(min=trust))[words][:, None], value=rate)

    def divergences(self, trajectories: Trajectories) -> Floats:
        """KL(q || p) of each word's trajectory, (words,); on other devices than the CPU their sum alone, (1,)."""
        if self.fused:
            arrays = self._arrays()
            states = [t.numpy() for t in (trajectories.mean, trajectories.h, trajectories.variance)]
            each = np.zeros(len(self.knots.starts) - 1)
            self.compute.map(
                lambda block: _divergence(self.knots.starts, *arrays, *states, each, *block), self._blocks
            )
            return each
        gain, noise, first = self._scalars
        return np.array(
            [
                divergence(
                    self._steps, gain, noise, first, trajectories.mean, trajectories.h, trajectories.variance
                )
            ]
        )

    def divergence(self, trajectories: Trajectories) -> float:
        """KL(q || p) of all trajectories. The sum does not depend on how they are shared out."""
        return math.fsum(self.divergences(trajectories))

    def leave_out(self, trajectories: Trajectories, prior: Diffusion) -> None:
        """b becomes the mean that all other knots of a word predict for each knot, and the variance that prediction's.

        The messages of the knots are those of the prior in use; `prior`, the same or another one, puts them together.
        """
        own = [array.cpu().numpy() for array in self._scalars]
        other = [array.astype(own[0].dtype) for array in prior_at_knots(self.knots, prior)]
        mu, h, b, s = self._numpy(trajectories)

        def one(block: tuple[int, int]) -> None:
            _messages(self.knots.starts, *own, mu, h, b, *block)
            _leave_out(self.knots.starts, *other, h, b, s, *block)

        self._on_blocks(one, trajectories, b, s)

    def restore_variances(self, trajectories: Trajectories) -> None:
        """The variances that belong to h; b is overwritten."""
        own = [array.cpu().numpy() for array in self._scalars]
        _, h, b, s = self._numpy(trajectories)
        self._on_blocks(lambda block: _smooth(self.knots.starts, *own, h, b, s, *block), trajectories, b, s)

    def _numpy(self, trajectories: Trajectories) -> tuple[npt.NDArray[Any], ...]:
        parts = (trajectories.mean, trajectories.h, trajectories.b, trajectories.variance)
        return tuple(tensor.cpu().numpy() for tensor in parts)

    def _on_blocks(
        self,
        work: Callable[[tuple[int, int]], None],
        trajectories: Trajectories,
        b: npt.NDArray[Any],
        s: npt.NDArray[Any],
    ) -> None:
        """Compiled work that fills b and the variances, also of another device."""
        self.compute.map(work, self._blocks if self.fused else [(0, len(self.knots.starts) - 1)])
        if not self.compute.on_cpu:
            trajectories.b.copy_(torch.from_numpy(b))
            trajectories.variance.copy_(torch.from_numpy(s))

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [scalars.numpy() for scalars in self._scalars]
