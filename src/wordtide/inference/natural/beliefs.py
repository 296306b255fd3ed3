"""All that a filter remembers: its last belief on each word. It does not grow with the number of slices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.posterior import Posterior
from wordtide.errors import SettingsError
from wordtide.model.prior import Diffusion, Passage

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.integer[Any]]


class Beliefs:
    """The latest belief on every word: means and (but for point estimates) variances, each (2, L, d), words then contexts.

    `last` (L,): the slice it was formed at, -1 for words never seen, which have the prior of slice 0.
    """

    def __init__(self, size: int, dim: int, dtype: npt.DTypeLike, uncertain: bool = True) -> None:
        self.mean = np.zeros((2, size, dim), dtype=dtype)
        self.variance = np.zeros((2, size, dim), dtype=dtype) if uncertain else None
        self.last = np.full(size, -1, dtype=np.int64)

    @staticmethod
    def of(posterior: Posterior, dtype: npt.DTypeLike) -> "Beliefs":
        """Those that a filter's posterior ends with."""
        assert posterior.variance_u is not None
        assert posterior.variance_v is not None
        knots = posterior.knots
        beliefs = Beliefs(len(knots.starts) - 1, posterior.dim, dtype)
        assert beliefs.variance is not None
        words = np.flatnonzero(np.diff(knots.starts) > 0)
        rows = knots.starts[words + 1] - 1
        beliefs.last[words] = knots.slices[rows]
        for kind, (mean, variance) in enumerate(
            ((posterior.mean_u, posterior.variance_u), (posterior.mean_v, posterior.variance_v))
        ):
            beliefs.mean[kind, words], beliefs.variance[kind, words] = mean[rows], variance[rows]
        return beliefs

    def grown(self, words: int) -> "Beliefs":
        """The same with so many more words, never seen."""
        size = self.mean.shape[1]
        larger = Beliefs(size + words, self.mean.shape[2], self.mean.dtype, self.variance is not None)
        larger.mean[:, :size], larger.last[:size] = self.mean, self.last
        if self.variance is not None and larger.variance is not None:
            larger.variance[:, :size] = self.variance
        return larger

    def passage_to(self, t: int, words: Integers, diffusion: Diffusion, dtype: npt.DTypeLike) -> Passage:
        """What passes between the last slice of each of some words and slice t (Eq. 13)."""
        since = diffusion.times[np.maximum(self.last[words], 0)]
        return diffusion.passage(since, np.full(len(words), diffusion.times[t])).astype(dtype)

    def keep(self, t: int, words: Integers, mean: Array, variance: Array | None) -> None:
        """Slice t was seen: what is now believed of its words, (2, a, d) each."""
        self.last[words] = t
        self.mean[:, words] = mean
        if self.variance is not None:
            self.variance[:, words] = variance

    def state(self) -> dict[str, Array]:
        """All of it."""
        state = {"last": self.last, "last_mean": self.mean}
        return state if self.variance is None else {**state, "last_variance": self.variance}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go back to a saved state."""
        if state["last_mean"].shape != self.mean.shape or state["last_mean"].dtype != self.mean.dtype:
            raise SettingsError("The saved state belongs to another fit.", "Start again, without resuming.")
        self.last[:], self.mean[:] = state["last"], state["last_mean"]
        if self.variance is not None:
            self.variance[:] = state["last_variance"]


@dataclass(frozen=True)
class Past:
    """Where a filter goes on: after so many slices, with these beliefs, and at this pace (a share of the rate)."""

    slices: int
    beliefs: Beliefs
    pace: float = 1.0
