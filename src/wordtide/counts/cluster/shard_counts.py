"""The counts of one or several shards, for the slices they have. They are merged as a tree.

On disk they are the arrays of a counts folder and `slice_numbers`, the numbers of their slices in the corpus.
A slice is merged in blocks of rows, so that merging holds a few million sums at a time, however large the
slice is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wordtide.counts.count_arrays import CountArrays
from wordtide.counts.examples.store import ExampleStore, merge_examples
from wordtide.counts.pairs import bits_for
from wordtide.counts.sums import KeySums, add_sums
from wordtide.counts.writer import CountsWriter
from wordtide.storage.arrays import load_array, save_array
from wordtide.types import Integers

_BLOCK = 1 << 22  # sums merged at a time
_NUMBERS = "slice_numbers"


@dataclass(frozen=True)
class ShardCounts:
    """Sums for the slices `numbers` (ascending), as in `CountArrays`."""

    folder: Path
    numbers: Integers
    arrays: CountArrays

    @staticmethod
    def open(folder: Path) -> "ShardCounts":
        """Map the files of a folder."""
        numbers = load_array(folder, _NUMBERS, "i8", in_memory=True)
        return ShardCounts(folder, numbers, CountArrays.load(folder))

    def unigrams(self, place: int) -> KeySums:
        """Words and their occurrences in the slice at this place."""
        a = self.arrays
        chosen = slice(int(a.slice_unigrams[place]), int(a.slice_unigrams[place + 1]))
        return KeySums(a.unigram_words[chosen].astype(np.uint64), a.unigram_values[chosen].astype(np.int64))

    def rows(self, place: int) -> "_Rows":
        """The rows of pairs of the slice at this place."""
        a = self.arrays
        first, last = int(a.slice_rows[place]), int(a.slice_rows[place + 1])
        start = a.row_ends[first - 1 : first] if first else np.zeros(1, dtype=np.int64)
        return _Rows(a, np.asarray(a.rows[first:last]), np.concatenate([start, a.row_ends[first:last]]))


@dataclass(frozen=True)
class _Rows:
    """Rows of one slice: row `words[n]` has the entries `ends[n]` to `ends[n + 1]`."""

    arrays: CountArrays
    words: npt.NDArray[np.uint32]
    ends: Integers

    def between(self, low: int, high: int, bits: int) -> KeySums:
        """The pairs of the words from `low` to `high`, as keys and sums."""
        first, last = np.searchsorted(self.words, [low, high])
        ends = self.ends[first : last + 1]
        entries = slice(int(ends[0]), int(ends[-1]))
        rows = np.repeat(self.words[first:last].astype(np.uint64), np.diff(ends))
        keys = rows << np.uint64(bits) | self.arrays.columns[entries].astype(np.uint64)
        return KeySums(keys, self.arrays.values[entries].astype(np.int64))


def save_slice_numbers(folder: Path, numbers: Integers) -> None:
    """Store the numbers of the slices beside the arrays of counts in a folder."""
    save_array(folder, _NUMBERS, np.asarray(numbers, dtype=np.int64))


def merge_shard_counts(
    parts: Sequence[ShardCounts],
    first: int,
    stop: int,
    words: int,
    examples: int,
    folder: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[CountArrays, Integers]:
    """Write the sum of counts, and their examples if any, for the slices from `first` to `stop`.

    Returns the arrays and the numbers of their slices.
    """
    numbers = np.unique(np.concatenate([part.numbers for part in parts]))
    numbers = numbers[(numbers >= first) & (numbers < stop)]
    members = [_members(part.numbers, numbers) for part in parts]
    sources: list[list[tuple[ShardCounts, int]]] = [[] for _ in numbers]
    for part, places in zip(parts, members, strict=True):
        for place in np.flatnonzero(places >= 0).tolist():
            sources[places[place]].append((part, place))
    with CountsWriter(folder, words) as writer:
        for source in sources:
            for block in _summed_pairs([part.rows(place) for part, place in source], words):
                writer.add_pairs(block.keys, block.sums)
            unigrams = add_sums([part.unigrams(place) for part, place in source])
            writer.end_slice(unigrams.keys.astype(np.int64), unigrams.sums)
            progress(1)
        arrays = writer.close()
    if examples:
        stores = [ExampleStore.open(part.folder, len(part.numbers)) for part in parts]
        merge_examples(stores, members, len(numbers), examples, folder)
    return arrays, numbers


def _members(own: Integers, numbers: Integers) -> Integers:
    """For each slice of a part its place among `numbers`, or -1."""
    places = np.searchsorted(numbers, own)
    there = places < len(numbers)
    there[there] = numbers[places[there]] == own[there]
    return np.where(there, places, -1)


def _summed_pairs(parts: Sequence[_Rows], words: int) -> Iterator[KeySums]:
    """The pairs of one slice in blocks of ascending keys: all parts together, some rows at a time."""
    total = sum(int(rows.ends[-1] - rows.ends[0]) for rows in parts)
    bits = bits_for(words)
    bounds = [0, words]
    if total > _BLOCK:
        lengths = np.zeros(words, dtype=np.int64)
        for rows in parts:
            lengths[rows.words] += np.diff(rows.ends)
        cuts = np.searchsorted(np.cumsum(lengths), np.arange(_BLOCK, total, _BLOCK))
        bounds = [0, *np.unique(cuts[(cuts > 0) & (cuts < words)]).tolist(), words]
    for low, high in pairwise(bounds):
        yield add_sums([rows.between(low, high, bits) for rows in parts])
