"""Where trajectories are observed, and how often each word occurs: both sparse, word by word.

A word has a knot at each slice where it has neighbours. Its state everywhere else follows from the knots and the prior, so only
the knots are stored.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from wordtide.counts.counts import Counts  # brings SciPy with it, which reading a model does not need

Integers = npt.NDArray[np.int64]
Rows = tuple[Integers, Integers]


@dataclass(frozen=True)
class Knots:
    """Where trajectories are observed: word i has the knots `starts[i]:starts[i + 1]`, at slices `slices` (ascending per word).

    Rows of every (K, d) array of states are in this order: word by word, each word's knots in order of time.
    """

    starts: Integers  # (L + 1,)
    slices: npt.NDArray[np.int32]  # (K,)

    def __len__(self) -> int:
        return len(self.slices)

    @cached_property
    def words(self) -> Integers:
        """The word of each knot, (K,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def by_slice(self) -> list[Integers]:
        """For each slice the rows of its knots, in order of the word."""
        order = np.argsort(self.slices, kind="stable")
        total = int(self.slices.max()) + 1 if len(self.slices) else 0
        return np.split(order, np.searchsorted(self.slices[order], np.arange(1, total)))

    def rows_of(self, word: int) -> slice:
        """The rows of one word."""
        return slice(int(self.starts[word]), int(self.starts[word + 1]))

    def around_one(self, word: int, slices: Integers) -> Rows:
        """For each of `slices` (n,): the rows of the word's last knot until then and of its first one after; -1: none."""
        rows = self.rows_of(word)
        before = rows.start + np.searchsorted(self.slices[rows], slices, side="right") - 1
        after = before + 1
        return np.where(before >= rows.start, before, -1), np.where(after < rows.stop, after, -1)

    def around(self, t: int, words: Integers | None = None) -> Rows:
        """Of some words, or of all: the rows of the last knot at or before slice t and of the first one after it; -1: none."""
        starts, stops = (self.starts[:-1], self.starts[1:]) if words is None else (self.starts[words], self.starts[words + 1])
        after = self.rows_after(t, words)
        before = after - 1
        return np.where(before >= starts, before, -1), np.where(after < stops, after, -1)

    def rows_after(self, t: int, words: Integers | None = None) -> Integers:
        """Of some words, or of all: the row behind the last knot at or before slice t, (n,)."""
        if words is None:
            seen = np.concatenate([[0], np.cumsum(self.slices <= t)])
            return self.starts[:-1] + np.diff(seen[self.starts])
        return self.rows_until_each(words, np.full(len(words), t))

    def rows_until_each(self, words: Integers, slices: Integers) -> Integers:
        """Pair by pair: the row behind a word's last knot at or before a slice, (n,)."""
        low, high = self.starts[words], self.starts[words + 1]
        while (low < high).any():  # each word's knots are in order of time: halve the rows in question
            middle = (low + high) // 2
            until = (low < high) & (self.slices[np.minimum(middle, len(self.slices) - 1)] <= slices)
            low, high = np.where(until, middle + 1, low), np.where(until | (low == high), high, middle)
        return low

    def has_at(self, t: int) -> npt.NDArray[np.bool_]:
        """Does each word have a knot at slice t? (L,)."""
        has = np.zeros(len(self.starts) - 1, dtype=bool)
        has[self.words_of(np.flatnonzero(self.slices == t))] = True
        return has

    def words_of(self, rows: Integers) -> Integers:
        """The words of some rows, without listing those of all rows."""
        return np.searchsorted(self.starts, rows, side="right") - 1


@dataclass(frozen=True)
class Occurrences:
    """How often each word occurs in each slice, where it occurs: `values` (N,) int64 or float64 beside the `places` (N)."""

    places: Knots
    values: npt.NDArray[Any]

    def of_word(self, word: int, slices: int) -> npt.NDArray[Any]:
        """Occurrences of one word in all `slices` slices, (T,)."""
        rows = self.places.rows_of(word)
        occurrences = np.zeros(slices, dtype=self.values.dtype)
        occurrences[self.places.slices[rows]] = self.values[rows]
        return occurrences

    def at(self, words: Integers, slices: Integers) -> npt.NDArray[Any]:
        """Occurrences of words in slices, pair by pair, (n,)."""
        found = self.places.rows_until_each(words, slices) - 1
        there = (found >= self.places.starts[words]) & (self.places.slices[np.maximum(found, 0)] == slices)
        return np.where(there, self.values[np.maximum(found, 0)], 0)

    def of_slice(self, t: int) -> npt.NDArray[Any]:
        """Occurrences of all words in slice t, (L,)."""
        occurrences = np.zeros(len(self.places.starts) - 1, dtype=self.values.dtype)
        rows = np.flatnonzero(self.places.slices == t)
        occurrences[self.places.words_of(rows)] = self.values[rows]
        return occurrences


def occurrences_of(counts: "Counts") -> Occurrences:
    """The occurrences of the words of a corpus: whole numbers for text, fractions for n-grams (a token seen at n places)."""
    unigrams = [counts.unigrams(t) for t in range(len(counts))]
    seen = [np.flatnonzero(occurrences) for occurrences in unigrams]
    words = np.concatenate([np.zeros(0, dtype=np.int64), *seen])
    slices = np.repeat(np.arange(len(seen), dtype=np.int32), [len(part) for part in seen])
    values = np.concatenate([np.zeros(0), *(occurrences[part] for occurrences, part in zip(unigrams, seen, strict=True))])
    order = np.argsort(words, kind="stable")
    starts = np.searchsorted(words[order], np.arange(len(counts.words) + 1)).astype(np.int64)
    return Occurrences(Knots(starts, slices[order]), values[order].astype(np.int64 if counts.places == 1 else np.float64))
