"""The division of work: words into contiguous ranges by knots, slices into contiguous groups by effort.

The words of a slice are in ascending order, so a range of words occupies consecutive rows of the slice. The
division does not affect the result, because every trajectory and every slice is computed independently.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.counts.counts import Counts
from wordtide.model.knots import Knots
from wordtide.types import Array, Integers

_PAIRS_PER_ROW = 32  # the cost of an active word of a slice, in stored pairs


def shared_out(weights: Array, parts: int) -> Integers:
    """Return the bounds (parts + 1,) of contiguous runs of items with nearly equal total weights."""
    ends = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    middles = (ends[:-1] + ends[1:]) / 2
    bounds: Integers = np.searchsorted(middles, ends[-1] * np.arange(parts + 1) / parts).astype(np.int64)
    bounds[0], bounds[-1] = 0, len(weights)
    return bounds


def work_of_slices(counts: Counts) -> Integers:
    """Estimate the cost of each slice in stored pairs, (T,), without reading the slices."""
    words: Integers = np.diff(counts.arrays.slice_rows)
    return counts.stored_pairs() + _PAIRS_PER_ROW * words


@dataclass(frozen=True)
class WordRanges:
    """Contiguous ranges of words: range p has the words `bounds[p]` to `bounds[p + 1]`.

    Among the active words of slice t it has the rows `runs[t, p]` to `runs[t, p + 1]`.
    """

    bounds: Integers  # (P + 1,)
    runs: Integers  # (T, P + 1)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @staticmethod
    def at(bounds: Integers, words_of_slices: Sequence[npt.NDArray[np.int32]]) -> "WordRanges":
        """Create ranges with given bounds."""
        return WordRanges(bounds, np.stack([np.searchsorted(words, bounds) for words in words_of_slices]))

    def knots(self, knots: Knots, part: int) -> Knots:
        """Return the knots of one range, as if it had all words."""
        first, last = int(self.bounds[part]), int(self.bounds[part + 1])
        begin, end = int(knots.starts[first]), int(knots.starts[last])
        return Knots(knots.starts[first : last + 1] - begin, knots.slices[begin:end])
