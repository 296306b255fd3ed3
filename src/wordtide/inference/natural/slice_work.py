"""What smoothing computes of one slice: gradients and likelihoods, wherever the slice is computed."""

from collections.abc import Sequence

from wordtide.inference.compute import Compute
from wordtide.inference.natural.prepared_slice import Gradient, PreparedSlice, Vectors
from wordtide.inference.natural.schedule import NaturalOptions
from wordtide.inference.problem import SliceData
from wordtide.types import Array


class SliceWork:
    """Computes slices by their numbers. Each slice is one part of work, because others run beside it.

    Args:
        slices: The data of all slices.
        options: How they are fitted.
        signs: The diagonal of S for tied contexts, else None.
        compute: Precision and threads.
        keep: Keep slices in memory once they are prepared.
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
        """The number of pairs of a slice."""
        return self._slices[t].pairs

    def gradients(self, t: int, sides: list[Vectors], step: int) -> list[Gradient]:
        """g and h of a slice at a step of the fit."""
        return self._slice(t).gradients(sides, [self._options.seed, t, step])

    def log_likelihood(self, t: int, sides: list[Vectors], predictive: bool) -> float:
        """The expected log likelihood of a slice, or its predictive log likelihood under beliefs made without it."""
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
