"""How the work of a fit is shared out: words in contiguous ranges by their knots, slices in contiguous runs by their work.

The words of a slice are in ascending order, so what a range of words has in a slice is one run of the slice's rows. Nothing of
this decides the result: each trajectory, and each slice, is computed alone and in the same way wherever that happens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.counts.counts import Counts
from wordtide.model.knots import Knots

Integers = npt.NDArray[np.int64]
_PAIRS_PER_ROW = 32  # what an active word costs in a slice, in stored pairs


def shared_out(weights: npt.NDArray[Any], parts: int) -> Integers:
    """Bounds (parts + 1,) of contiguous runs of items whose weights add up to nearly the same."""
    ends = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    middles = (ends[:-1] + ends[1:]) / 2
    bounds: Integers = np.searchsorted(middles, ends[-1] * np.arange(parts + 1) / parts).astype(np.int64)
    bounds[0], bounds[-1] = 0, len(weights)
    return bounds


def work_of_slices(counts: Counts) -> Integers:
    """About how long each slice takes, in stored pairs, (T,): told without reading them."""
    words: Integers = np.diff(counts.arrays.slice_rows)
    return counts.stored_pairs() + _PAIRS_PER_ROW * words


def knots_between(knots: Knots, first: int, last: int) -> Knots:
    """The knots of words `first` to `last`, as if there were no others."""
    begin, end = int(knots.starts[first]), int(knots.starts[last])
    return Knots(knots.starts[first : last + 1] - begin, knots.slices[begin:end])


def rows_by_slice(knots: Knots, slices: int) -> list[Integers]:
    """For each of all slices the rows of its knots, in order of the word; empty where these words have none."""
    order = np.argsort(knots.slices, kind="stable")
    return np.split(order, np.searchsorted(knots.slices[order], np.arange(1, slices)))


@dataclass(frozen=True)
class WordRanges:
    """Contiguous ranges of words: range p has the words `bounds[p]` to `bounds[p + 1]`.

    `runs[t, p]` to `runs[t, p + 1]` are the rows that it has among the active words of slice t.
    """

    bounds: Integers  # (P + 1,)
    runs: Integers  # (T, P + 1)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @staticmethod
    def of(knots: Knots, words_of_slices: Sequence[npt.NDArray[np.int32]], parts: int) -> "WordRanges":
        """Ranges with about the same number of knots each."""
        return WordRanges.at(shared_out(np.diff(knots.starts), parts), words_of_slices)

    @staticmethod
    def at(bounds: Integers, words_of_slices: Sequence[npt.NDArray[np.int32]]) -> "WordRanges":
        """Ranges with given bounds."""
        return WordRanges(bounds, np.stack([np.searchsorted(words, bounds) for words in words_of_slices]))

    def knots(self, knots: Knots, part: int) -> Knots:
        """The knots of one range."""
        return knots_between(knots, int(self.bounds[part]), int(self.bounds[part + 1]))

    def rows(self, part: int, t: int) -> int:
        """How many rows a range has in a slice."""
        return int(self.runs[t, part + 1] - self.runs[t, part])
