"""The state of a filter: its latest belief about each word. It does not grow with the number of slices."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.posterior import Posterior
from wordtide.errors import SettingsError
from wordtide.model.prior import Diffusion, Passage
from wordtide.types import Array, Indices


class LatestBeliefs:
    """The latest beliefs: means and, except for point estimates, variances of all words, (sides, L, d) each.

    The sides are words and contexts, or a single one if contexts are tied. `last` (L,) is the slice at which
    a belief was formed, or -1 for words not seen yet, which have the prior of slice 0.
    """

    def __init__(self, sides: int, size: int, dim: int, dtype: npt.DTypeLike, uncertain: bool = True) -> None:
        self.mean = np.zeros((sides, size, dim), dtype=dtype)
        self.variance = np.zeros((sides, size, dim), dtype=dtype) if uncertain else None
        self.last = np.full(size, -1, dtype=np.int64)

    @staticmethod
    def of(posterior: Posterior, dtype: npt.DTypeLike) -> "LatestBeliefs":
        """Return the final beliefs of a filter."""
        knots = posterior.knots
        beliefs = LatestBeliefs(len(posterior.sides), len(knots.starts) - 1, posterior.dim, dtype)
        assert beliefs.variance is not None
        words = np.flatnonzero(np.diff(knots.starts) > 0)
        rows = knots.starts[words + 1] - 1
        beliefs.last[words] = knots.slices[rows]
        for side, name in enumerate(posterior.sides):
            mean, variance = getattr(posterior, f"mean_{name}"), getattr(posterior, f"variance_{name}")
            beliefs.mean[side, words], beliefs.variance[side, words] = mean[rows], variance[rows]
        return beliefs

    def grown(self, words: int) -> "LatestBeliefs":
        """Return these beliefs with `words` additional words that have not been seen."""
        sides, size, dim = self.mean.shape
        larger = LatestBeliefs(sides, size + words, dim, self.mean.dtype, self.variance is not None)
        larger.mean[:, :size], larger.last[:size] = self.mean, self.last
        if self.variance is not None and larger.variance is not None:
            larger.variance[:, :size] = self.variance
        return larger

    def passage_to(self, t: int, words: Indices, diffusion: Diffusion, dtype: npt.DTypeLike) -> Passage:
        """The passage from the last slice of each of some words to slice t (Eq. 13)."""
        since = diffusion.times[np.maximum(self.last[words], 0)]
        return diffusion.passage(since, np.full(len(words), diffusion.times[t])).astype(dtype)

    def keep(self, t: int, words: Indices, mean: Array, variance: Array | None) -> None:
        """Replace the beliefs about the words of slice t, (sides, a, d) each."""
        self.last[words] = t
        self.mean[:, words] = mean
        if self.variance is not None:
            self.variance[:, words] = variance

    def state(self) -> dict[str, Array]:
        """Return the arrays of a checkpoint."""
        state = {"last": self.last, "last_mean": self.mean}
        return state if self.variance is None else {**state, "last_variance": self.variance}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Return to a saved state."""
        if state["last_mean"].shape != self.mean.shape or state["last_mean"].dtype != self.mean.dtype:
            raise SettingsError("The saved state belongs to another fit.", "Fit again without --resume.")
        self.last[:], self.mean[:] = state["last"], state["last_mean"]
        if self.variance is not None:
            self.variance[:] = state["last_variance"]


@dataclass(frozen=True)
class FilterHistory:
    """Where a filter continues: after `slices` slices, with these beliefs and this fraction of the rate."""

    slices: int
    beliefs: LatestBeliefs
    pace: float = 1.0
