"""The trajectories of a range of words during smoothing: posterior, messages of the slices, and step.

A fit in memory has a single block of all words; a fit on disk or on a cluster opens one block after the
other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from wordtide.inference.compute import Compute
from wordtide.inference.natural.prepared_slice import Gradient
from wordtide.model.chain import (
    divergence_of_words,
    leave_out_words,
    messages_of_words,
    move_words,
    observe_rows,
    smooth_words,
)
from wordtide.model.knots import Knots, prior_at_knots
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.prior import Diffusion
from wordtide.types import Array, Floats

SIDES = "uv"
FIELDS = ("mean", "h", "variance")  # the state of a trajectory between steps
_BLOCKS = 16  # pieces into which threads divide the words

# Compiled functions accept any arrays and are not typed.
_smooth: Any = smooth_words
_move: Any = move_words
_divergence: Any = divergence_of_words
_leave_out: Any = leave_out_words
_messages: Any = messages_of_words
_observe: Any = observe_rows


@dataclass
class KnotStates:
    """Words or contexts at all knots, (K, d) each: mean, data precision h, variance, b of the next step."""

    mean: Array
    h: Array
    variance: Array
    b: Array


class WordBlock:
    """The trajectories of some words on each side: words and contexts, or a single one if contexts are tied.

    `rows[t]` are the rows of slice t, in order of the word.
    """

    def __init__(self, knots: Knots, diffusion: Diffusion, sides: int, dim: int, compute: Compute) -> None:
        self.knots, self.dim, self.compute = knots, dim, compute
        self.rows = knots.rows_by_slice(len(diffusion))
        shape = len(knots), dim
        self.sides = [KnotStates(*(np.zeros(shape, compute.dtype) for _ in range(4))) for _ in range(sides)]
        cuts = np.searchsorted(knots.starts, np.linspace(0, len(knots), _BLOCKS + 1))
        cuts[0], cuts[-1] = 0, len(knots.starts) - 1
        self._pieces = [(int(a), int(b)) for a, b in pairwise(cuts) if b > a]
        self.set_diffusion(diffusion)

    def set_diffusion(self, diffusion: Diffusion) -> None:
        """Use another prior from now on."""
        self.diffusion, self._prior = diffusion, self._at_knots(diffusion)

    def _at_knots(self, diffusion: Diffusion) -> list[Array]:
        return [array.astype(self.compute.dtype) for array in prior_at_knots(self.knots, diffusion)]

    def begin(self, start: Array) -> None:
        """Set all knots to `start` (sides, words, d), with the variance of the prior and no data."""
        sizes = np.diff(self.knots.starts)

        def one(piece: tuple[int, int]) -> None:
            words, rows = slice(*piece), slice(*self.knots.starts[list(piece)])
            for side, vectors in zip(self.sides, start, strict=True):
                side.mean[rows] = np.repeat(vectors[words], sizes[words], axis=0)
                side.h[rows] = 0.0
                side.variance[rows] = self.diffusion.marginal[self.knots.slices[rows]][:, None]

        self.compute.map(one, self._pieces)

    def vectors(self, t: int) -> list[GaussianVectors]:
        """Return the posterior of the words of a slice, in work arrays."""
        return [
            GaussianVectors(*self._taken(t, name, side.mean, side.variance))
            for name, side in zip(SIDES, self.sides, strict=False)
        ]

    def predicted_vectors(self, t: int) -> list[GaussianVectors]:
        """Return the words of a slice as the other slices predict them, after `leave_out`, in work arrays."""
        return [
            GaussianVectors(*self._taken(t, name, side.b, side.variance))
            for name, side in zip(SIDES, self.sides, strict=False)
        ]

    def _taken(self, t: int, name: str, *arrays: Array) -> Iterator[Array]:
        """Copy the rows of a slice."""
        rows = self.rows[t]
        for number, array in enumerate(arrays):
            out = self.compute.work.empty(f"rows {name} {number}", len(rows), self.dim)
            yield np.take(array, rows, axis=0, out=out, mode="clip")  # other modes need a buffer

    def observe(self, t: int, gradients: list[Gradient], rate: float) -> bool:
        """Incorporate g and h of a slice, (n, d) each. Returns whether all values are finite."""
        finite = [
            _observe(self.rows[t], gradient.g, gradient.h, rate, side.mean, side.h, side.b)
            for side, gradient in zip(self.sides, gradients, strict=True)
        ]
        return all(finite)

    def move(self, rate: float, trust: float) -> None:
        """Run one smoother pass with the current h and b = g + h mu, and step towards its means."""

        def one(piece: tuple[int, int]) -> None:
            for side in self.sides:
                _smooth(self.knots.starts, *self._prior, side.h, side.b, side.variance, *piece)
                _move(self.knots.starts, side.b, side.mean, rate, trust, *piece)

        self.compute.map(one, self._pieces)

    def divergences(self) -> Floats:
        """Compute KL(q || p) of each trajectory of each side, (sides x words,)."""
        each = np.zeros((len(self.sides), len(self.knots.starts) - 1))

        def one(piece: tuple[int, int]) -> None:
            for side, out in zip(self.sides, each, strict=True):
                states = side.mean, side.h, side.variance
                _divergence(self.knots.starts, *self._prior, *states, out, *piece)

        self.compute.map(one, self._pieces)
        return each.reshape(-1)

    def leave_out(self, prior: Diffusion) -> None:
        """Set b and the variances to the prediction of each knot from all other slices.

        The messages of the knots are those under the prior in use; `prior` combines them.
        """
        other = self._at_knots(prior)

        def one(piece: tuple[int, int]) -> None:
            for side in self.sides:
                _messages(self.knots.starts, *self._prior, side.mean, side.h, side.b, *piece)
                _leave_out(self.knots.starts, *other, side.h, side.b, side.variance, *piece)

        self.compute.map(one, self._pieces)

    def restore_variances(self) -> None:
        """Recompute the variances from h after `leave_out`; b is overwritten."""

        def one(piece: tuple[int, int]) -> None:
            for side in self.sides:
                _smooth(self.knots.starts, *self._prior, side.h, side.b, side.variance, *piece)

        self.compute.map(one, self._pieces)

    def finish(self) -> None:
        """Free what only further steps need."""
        for side in self.sides:
            side.b = side.variance = np.zeros((0, self.dim), self.compute.dtype)

    def arrays(self) -> dict[str, Array]:
        """Return the state between steps, by name. After `finish`, the variances are computed again."""
        if any(len(side.variance) < len(side.mean) for side in self.sides):
            for side in self.sides:
                side.b, side.variance = np.zeros_like(side.mean), np.empty_like(side.mean)
            self.restore_variances()
        named = zip(SIDES, self.sides, strict=False)
        return {f"{field}_{name}": getattr(side, field) for name, side in named for field in FIELDS}

    def restore(self, state: Mapping[str, Array], rows: slice) -> None:
        """Restore the state from some rows of saved arrays."""
        for name, array in self.arrays().items():
            array[:] = state[name][rows]
