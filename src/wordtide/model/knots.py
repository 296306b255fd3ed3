"""Where trajectories are observed, and how often each word occurs: both are sparse and stored word by word.

A word has a knot at each slice in which it has pairs. Its state everywhere else follows from the knots and
the prior, so only the knots are stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wordtide.model.gaussians import look_back
from wordtide.model.prior import Diffusion, TimePoints
from wordtide.types import Flags, Floats, Integers

#: Rows of knots before and after some slices, (n,) each; -1 where there is none.
RowsAround = tuple[Integers, Integers]


@dataclass(frozen=True)
class Knots:
    """Where trajectories are observed: at K knots, word by word, each word's knots in order of time.

    The rows of every (K, d) array of states are in this order. The knots of word i have the rows `starts[i]`
    to `starts[i + 1]`.
    """

    starts: Integers  # (L + 1,)
    slices: npt.NDArray[np.int32]  # the slice of each knot, (K,)

    def __len__(self) -> int:
        return len(self.slices)

    @cached_property
    def words(self) -> Integers:
        """The word of each knot, (K,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def by_slice(self) -> list[Integers]:
        """For each slice, the rows of its knots in order of the words."""
        order = self._in_order_of_slices
        total = int(self.slices.max()) + 1 if len(self.slices) else 0
        return np.split(order, np.searchsorted(self.slices[order], np.arange(1, total)))

    @cached_property
    def places(self) -> npt.NDArray[np.int32]:
        """The position of each knot among those of its slice, which are in order of the words, (K,)."""
        order, slices = self._in_order_of_slices, np.asarray(self.slices)
        starts = np.concatenate([[0], np.cumsum(np.bincount(slices))])
        places = np.empty(len(slices), dtype=np.int32)
        places[order] = np.arange(len(slices)) - starts[slices[order]]
        return places

    @cached_property
    def _in_order_of_slices(self) -> Integers:
        return np.argsort(narrowed(self.slices), kind="stable")

    def rows_by_slice(self, slices: int) -> list[Integers]:
        """`by_slice`, extended to `slices` slices, because the last ones may have no knots."""
        found = self.by_slice
        return [*found, *([np.zeros(0, dtype=np.int64)] * (slices - len(found)))]

    def rows_of(self, word: int) -> slice:
        """The rows of one word."""
        return slice(int(self.starts[word]), int(self.starts[word + 1]))

    def around_one(self, word: int, slices: Integers) -> RowsAround:
        """The rows of a word's last knot up to each of `slices` (n,), and of its first knot after it."""
        rows = self.rows_of(word)
        before = rows.start + np.searchsorted(self.slices[rows], slices, side="right") - 1
        after = before + 1
        return np.where(before >= rows.start, before, -1), np.where(after < rows.stop, after, -1)

    def around(self, t: int, words: Integers | None = None) -> RowsAround:
        """The rows of the last knot of some words, or all, up to slice t, and of the first one after it."""
        starts, stops = (
            (self.starts[:-1], self.starts[1:])
            if words is None
            else (self.starts[words], self.starts[words + 1])
        )
        return _around(self.rows_after(t, words), starts, stops)

    def around_each(self, words: Integers, slices: Integers) -> RowsAround:
        """The rows of the last knot of each word up to its slice, and of the first one after it, (n,)."""
        after = self.rows_until_each(words, slices)
        return _around(after, self.starts[words], self.starts[words + 1])

    def rows_after(self, t: int, words: Integers | None = None) -> Integers:
        """The row after that of the last knot of some words, or all, up to slice t, (n,)."""
        if words is None:
            seen = np.concatenate([[0], np.cumsum(self.slices <= t)])
            return self.starts[:-1] + np.diff(seen[self.starts])
        return self.rows_until_each(words, np.full(len(words), t))

    def rows_until_each(self, words: Integers, slices: Integers) -> Integers:
        """The row after that of the last knot of each word up to its slice, (n,)."""
        low, high = self.starts[words], self.starts[words + 1]
        while (low < high).any():  # bisection, because each word's knots are in order of time
            middle = (low + high) // 2
            until = (low < high) & (self.slices[np.minimum(middle, len(self.slices) - 1)] <= slices)
            low, high = np.where(until, middle + 1, low), np.where(until | (low == high), high, middle)
        return low

    def has_at(self, t: int) -> Flags:
        """Whether each word has a knot at slice t, (L,)."""
        has = np.zeros(len(self.starts) - 1, dtype=bool)
        has[self.words_of(np.flatnonzero(self.slices == t))] = True
        return has

    def extended(self, active: Sequence[npt.NDArray[Any]], first: int, size: int) -> "tuple[Knots, Integers]":
        """Add knots at the later slices `first`, `first` + 1, ...

        Args:
            active: The words that have a knot at each of these slices.
            first: The number of the first added slice.
            size: The number of words, new ones included.

        Returns:
            The knots, and the rows of the new knots in order of slices and, within a slice, of words.
        """
        words = np.concatenate([np.zeros(0, dtype=np.int64), *active])
        slices = np.repeat(
            np.arange(first, first + len(active), dtype=np.int32), [len(part) for part in active]
        )
        before = np.zeros(size, dtype=np.int64)
        before[: len(self.starts) - 1] = np.diff(self.starts)
        added = np.bincount(words, minlength=size)
        starts = np.concatenate([[0], np.cumsum(before + added)]).astype(np.int64)
        order = np.argsort(words, kind="stable")
        rank = np.arange(len(words)) - (np.cumsum(added) - added)[words[order]]
        new = np.empty(len(words), dtype=np.int64)
        new[order] = (starts[:-1] + before)[words[order]] + rank
        merged = np.empty(starts[-1], dtype=np.int32)
        merged[new] = slices
        merged[_others(new, len(merged))] = self.slices
        return Knots(starts, merged), new

    def words_of(self, rows: Integers) -> Integers:
        """The words of some rows, without computing those of all rows."""
        return np.searchsorted(self.starts, rows, side="right") - 1


@dataclass(frozen=True)
class Occurrences:
    """How often each word occurs in each slice in which it occurs.

    `places` are the N words and slices, in the order of knots; `values` (N,) are int64 or float64.
    """

    places: Knots
    values: npt.NDArray[Any]

    def totals(self) -> npt.NDArray[Any]:
        """Occurrences of each word in all slices, (L,)."""
        sums = np.bincount(self.places.words, self.values, len(self.places.starts) - 1)
        return sums.astype(self.values.dtype)

    def pooled(self) -> "Occurrences":
        """The occurrences if all slices were one."""
        totals = self.totals()
        seen = totals > 0
        starts = np.concatenate([[0], np.cumsum(seen)]).astype(np.int64)
        return Occurrences(Knots(starts, np.zeros(int(seen.sum()), dtype=np.int32)), totals[seen])

    def extended(self, later: "Occurrences", first: int, slices: int) -> "Occurrences":
        """Add `slices` later slices, which are numbered from 0 in `later` and from `first` in the result.

        `later` has all words.
        """
        order = np.argsort(narrowed(later.places.slices), kind="stable")
        words = later.places.words[order]
        active = np.split(words, np.searchsorted(later.places.slices[order], np.arange(1, slices)))
        places, new = self.places.extended(active, first, len(later.places.starts) - 1)
        values = np.empty(len(places), dtype=self.values.dtype)
        values[new] = later.values[order]
        values[_others(new, len(values))] = self.values
        return Occurrences(places, values)

    def of_word(self, word: int, slices: int) -> npt.NDArray[Any]:
        """Occurrences of one word in all `slices` slices, (T,)."""
        rows = self.places.rows_of(word)
        occurrences = np.zeros(slices, dtype=self.values.dtype)
        occurrences[self.places.slices[rows]] = self.values[rows]
        return occurrences

    def at(self, words: Integers, slices: Integers) -> npt.NDArray[Any]:
        """Occurrences of each word in its slice, (n,)."""
        found = self.places.rows_until_each(words, slices) - 1
        there = (found >= self.places.starts[words]) & (self.places.slices[np.maximum(found, 0)] == slices)
        return np.where(there, self.values[np.maximum(found, 0)], 0)

    def of_slice(self, t: int) -> npt.NDArray[Any]:
        """Occurrences of all words in slice t, (L,)."""
        occurrences = np.zeros(len(self.places.starts) - 1, dtype=self.values.dtype)
        rows = np.flatnonzero(self.places.slices == t)
        occurrences[self.places.words_of(rows)] = self.values[rows]
        return occurrences


class WordCounts(Protocol):
    """The part of the interface of counts that `occurrences_of` needs."""

    @property
    def words(self) -> Sequence[str]:
        """The vocabulary."""

    @property
    def places(self) -> int:
        """The number of places of an n-gram at which each token was counted; 1 for texts."""

    def __len__(self) -> int: ...

    def unigrams(self, slice_number: int, /) -> npt.NDArray[Any]:
        """The occurrences of all words in a slice, (L,)."""


def occurrences_of(counts: WordCounts) -> Occurrences:
    """The occurrences of all words of a corpus.

    They are whole numbers for texts, and fractions for n-grams, where each token was counted at n places.
    """
    seen, found = [np.zeros(0, dtype=np.int32)], [np.zeros(0)]
    for t in range(len(counts)):
        occurrences = counts.unigrams(t)
        seen.append(np.flatnonzero(occurrences).astype(np.int32))
        found.append(occurrences[seen[-1]])
    words, values = np.concatenate(seen), np.concatenate(found)
    slices = np.repeat(np.arange(len(counts), dtype=np.int32), [len(part) for part in seen[1:]])
    order = np.argsort(words, kind="stable")
    starts = np.searchsorted(words[order], np.arange(len(counts.words) + 1)).astype(np.int64)
    return Occurrences(
        Knots(starts, slices[order]), values[order].astype(np.int64 if counts.places == 1 else np.float64)
    )


def _others(rows: Integers, total: int) -> Flags:
    """Flags of the `total` rows that are not among these."""
    others = np.ones(total, dtype=bool)
    others[rows] = False
    return others


def _around(after: Integers, starts: Integers, stops: Integers) -> RowsAround:
    before = after - 1
    return np.where(before >= starts, before, -1), np.where(after < stops, after, -1)


def narrowed(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers in 16 bits if they fit, because sorting those takes linear time."""
    fits = not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < 1 << 16)
    return numbers.astype(np.uint16) if fits else numbers


def transitions(starts: Integers, points: TimePoints) -> tuple[Floats, Floats]:
    """Gain and noise from each knot's predecessor to the knot, (K,), for chains that begin at `starts`.

    A chain's first knot has no predecessor: its gain is 0, and its noise is the prior variance.
    """
    gain, noise = np.zeros(len(points)), points.marginal.astype(np.float64)
    if len(points) > 1:
        gain[1:], noise[1:] = points[:-1].to(points[1:])
    first = starts[:-1][starts[:-1] < starts[1:]]
    gain[first], noise[first] = 0.0, points.marginal[first]
    return gain, noise


def messages(starts: Integers, gain: Floats, noise: Floats, mean: Floats, precision: Floats) -> Floats:
    """The messages b = (Pi + diag h) mean of the data at the knots of some chains, (K, d).

    `model.chain.messages_of_words` is the compiled version.
    """
    follows = np.ones(len(mean), dtype=bool)
    follows[starts[:-1][starts[:-1] < starts[1:]]] = False
    later = np.flatnonzero(follows)
    pull = mean / noise[:, None]
    pull[later] -= (gain / noise)[later, None] * mean[later - 1]
    message = pull + precision * mean
    message[later - 1] -= gain[later, None] * pull[later]
    return message


@dataclass(frozen=True)
class Bridges:
    """The steps from the last knot before each of n times to that time, and on to the first knot after it.

    Fields are (n,). Without a knot before, `gain_in` is 0 and `noise_in` is the prior variance; without a
    knot after, `gain_out` is 0.
    """

    gain_in: Floats
    noise_in: Floats
    gain_out: Floats
    noise_out: Floats

    @staticmethod
    def over(
        before: TimePoints, has_before: Flags, at: TimePoints, after: TimePoints, has_after: Flags
    ) -> "Bridges":
        """The steps to the points `at` from the knots `before`, and on to the knots `after`.

        The points of missing knots are ignored.
        """
        gain_in, noise_in = before.to(at)
        gain_out, noise_out = at.to(after)
        return Bridges(
            np.where(has_before, gain_in, 0.0),
            np.where(has_before, noise_in, at.marginal),
            np.where(has_after, gain_out, 0.0),
            np.where(has_after, noise_out, 1.0),
        )

    def weights(self) -> tuple[Floats, Floats]:
        """The weights (n,) in E[x] = w_before x_before + w_after x_after, given both knots."""
        before = self.gain_in * look_back(self.gain_out, self.noise_out, 1.0, self.noise_in, 0.0, 0.0)[0]
        after = look_back(self.gain_out, self.noise_out, 0.0, self.noise_in, 1.0, 0.0)[0]
        return before, after


def prior_at_knots(knots: Knots, prior: Diffusion) -> tuple[Floats, Floats, Floats]:
    """Gain and noise between the knots of all words, (K,), and the prior variance at first knots, (L,)."""
    gain, noise = transitions(knots.starts, prior.slices[knots.slices])
    return gain, noise, first_noise(knots.starts, noise)


def first_noise(starts: Integers, noise: Floats) -> Floats:
    """The noise at the first knot of each chain, which is the prior variance; 1 without knots, (L,)."""
    has_knots = starts[:-1] < starts[1:]
    first = np.ones(len(has_knots))
    first[has_knots] = noise[starts[:-1][has_knots]]
    return first
