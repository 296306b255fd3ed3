"""The gradients and likelihoods of single slices in smoothing, in memory, on disk or on a cluster."""

from collections.abc import Sequence

from wordtide.inference.compute import Compute
from wordtide.inference.natural.prepared_slice import Gradient, PreparedSlice
from wordtide.inference.natural.schedule import NaturalOptions
from wordtide.inference.problem import SliceData
from wordtide.model.likelihood import GaussianVectors
from wordtide.types import Array


class SliceWork:
    """Computes slices by number. Each slice is a single part of work, because slices run in parallel.

    Args:
        slices: The data of all slices.
        options: How they are fitted.
        signs: The diagonal of S for tied contexts, else None.
        compute: Precision and threads.
        keep: Prepare all slices at once and keep them in memory.
    """

    def __init__(
        self,
        slices: Sequence[SliceData],
        options: NaturalOptions,
        signs: Array | None,
        compute: Compute,
        keep: bool = True,
    ) -> None:
        self._slices, self._options, self._signs, self._compute = slices, options, signs, compute
        self._kept: dict[int, PreparedSlice] = {}
        if keep:
            self._kept = {t: self._prepared(t) for t in range(len(slices))}

    def pairs(self, t: int) -> float:
        """Return the number of pairs of a slice."""
        return self._slices[t].pairs

    def gradients(self, t: int, sides: list[GaussianVectors], step: int) -> list[Gradient]:
        """Compute g and h of a slice at a step of the fit."""
        return self._slice(t).gradients(sides, [self._options.seed, t, step])

    def log_likelihood(self, t: int, sides: list[GaussianVectors], predictive: bool) -> float:
        """Compute the expected log likelihood of a slice, or the predictive one under other beliefs."""
        seed, slice = [self._options.seed, t], self._slice(t)
        if predictive:
            return slice.predictive_log_likelihood(sides, seed)
        return slice.expected_log_likelihood(sides, seed)

    def _slice(self, t: int) -> PreparedSlice:
        return self._kept[t] if t in self._kept else self._prepared(t)

    def _prepared(self, t: int) -> PreparedSlice:
        return PreparedSlice(
            self._slices[t], self._compute, self._options.sample_size, self._signs, alone=True
        )
