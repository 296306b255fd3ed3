"""The counts and lexicons of many shards, added on the workers as a tree, sixteen pieces at a time.

Which pieces are added together depends on the shards only, so a restarted job finds the sums it has made. On
disk, the counts of shards are the arrays of a counts folder and `slice_numbers`, the numbers of their slices
in the corpus. A slice is merged in blocks of rows, so that merging holds a few million sums at a time,
however large the slice is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts.cluster.job import Job, Piece, Run, read_lexicon, write_lexicon
from wordtide.counts.count_arrays import CountArrays, CountsWriter, RowBlock, entries_by_slice
from wordtide.counts.examples.store import ExampleStore, merge_examples
from wordtide.counts.pairs import bits_for, compress_rows
from wordtide.counts.sums import KeySums, add_sums
from wordtide.counts.workers import Resources, in_order
from wordtide.storage.arrays import load_array, save_array
from wordtide.storage.work_folder import fingerprint
from wordtide.types import Integers

_Node = TypeVar("_Node")
_FAN_IN = 16
_TASKS = 64  # about this many per level, to keep many workers busy
_LEAST_TOKENS = 1 << 20  # per task, unless there is only one
_BLOCK = 1 << 22  # sums merged at a time
_NUMBERS = "slice_numbers"
_NONE = KeySums(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))


class SliceRange(NamedTuple):
    """A piece and its range of slices."""

    piece: str
    first: int
    stop: int


def unite_lexicons(pieces: Sequence[str], run: Run) -> str:
    """Combine the lexicons of all pieces; returns the resulting piece."""
    level = list(pieces)
    while len(level) > 1:
        tasks = [
            Piece(f"lexicon-{fingerprint(group)}", _merge_lexicons, (group,)) for group in _groups(level)
        ]
        run("uniting", tasks)
        level = [task.name for task in tasks]
    return level[0]


def add_up(pieces: Sequence[str], tokens: Integers, words: int, examples: bool, run: Run) -> list[SliceRange]:
    """Add the counts of all shards, by ranges of slices; returns the pieces of the sum in order of time.

    `tokens` has the number of tokens of each slice.
    """
    level = [[SliceRange(piece, 0, len(tokens))] for piece in pieces]
    while len(level) > 1:
        groups = _groups(level)
        ranges = _ranges(tokens, min(-(-_TASKS // len(groups)), 1 + int(tokens.sum()) // _LEAST_TOKENS))
        tasks: list[Piece] = []
        level = []
        for group in groups:
            made = [_addition(group, first, stop, words, examples) for first, stop in ranges]
            tasks += made
            level.append([SliceRange(task.name, *bounds) for task, bounds in zip(made, ranges, strict=True)])
        run("adding", tasks)
    return level[0]


def _merge_lexicons(job: Job, piece: str, pieces: Sequence[str]) -> None:
    """Combine the lexicons of several shards."""
    whole = Lexicon()
    for part in pieces:
        whole.absorb(read_lexicon(job.work.folder(part)))
    with job.work.new_piece(piece) as (folder, _):
        write_lexicon(folder, whole)


def _add_shard_counts(
    job: Job, piece: str, pieces: Sequence[str], slices: tuple[int, int], words: int, examples: bool
) -> None:
    """Add the counts of shards, for a range of slices."""
    parts = [ShardCounts.open(job.work.folder(part)) for part in pieces]
    with job.work.new_piece(piece) as (folder, _):
        _, numbers = merge_shard_counts(
            parts, slices[0], slices[1], words, job.settings.examples if examples else 0, folder
        )
        save_slice_numbers(folder, numbers)


def _groups(nodes: Sequence[_Node]) -> list[list[_Node]]:
    return [list(nodes[start : start + _FAN_IN]) for start in range(0, len(nodes), _FAN_IN)]


def _ranges(tokens: Integers, parts: int) -> list[tuple[int, int]]:
    """Divide slices into ranges with about the same number of tokens."""
    ends = np.cumsum(tokens)
    cuts = np.searchsorted(ends, np.arange(1, parts) * (int(ends[-1]) / parts)) + 1
    return list(pairwise([0, *np.unique(cuts[cuts < len(tokens)]).tolist(), len(tokens)]))


def _addition(
    group: Sequence[Sequence[SliceRange]], first: int, stop: int, words: int, examples: bool
) -> Piece:
    pieces = [part.piece for node in group for part in node if part.first < stop and first < part.stop]
    name = f"sums-{fingerprint(pieces, first, stop, words, examples)}"
    return Piece(name, _add_shard_counts, (pieces, (first, stop), words, examples))


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
        words, values = self.arrays.words_of(place)
        return KeySums(words.astype(np.uint64), values.astype(np.int64))

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
    workers: int = 1,
) -> tuple[CountArrays, Integers]:
    """Write the sum of counts, and their examples if any, for the slices from `first` to `stop`.

    Returns the arrays and the numbers of their slices.
    """
    numbers = np.unique(np.concatenate([part.numbers for part in parts]))
    numbers = numbers[(numbers >= first) & (numbers < stop)]
    members = [_members(part.numbers, numbers) for part in parts]
    with CountsWriter(folder, words) as writer:
        counted = [
            np.where(part.arrays.are_counted(), own, -1) for part, own in zip(parts, members, strict=True)
        ]
        additions = _additions(entries_by_slice(parts, counted, len(numbers)), words)
        for block, unigrams in in_order(additions, workers):
            writer.add_rows(block)
            if unigrams is not None:
                writer.end_slice(unigrams.keys.astype(np.int64), unigrams.sums)
                progress(1)
        arrays = writer.close()
    if examples:
        stores = [ExampleStore.open(part.folder, len(part.numbers)) for part in parts]
        merge_examples(stores, members, len(numbers), examples, folder)
    return arrays, numbers


def _additions(
    sources: Iterable[Sequence[tuple[ShardCounts, int]]], words: int
) -> Iterator[Callable[[], tuple[RowBlock | None, KeySums | None]]]:
    """Tasks that add some rows of pairs of one slice, the last of each slice also its words."""
    for source in sources:
        parts = [part.rows(place) for part, place in source]
        for low, high in _blocks_of_rows(parts, words):
            yield partial(_add_rows, parts, low, high, words, source if high == words else None)


def _add_rows(
    parts: Sequence["_Rows"], low: int, high: int, words: int, ended: Sequence[tuple[ShardCounts, int]] | None
) -> tuple[RowBlock | None, KeySums | None]:
    bits = bits_for(words)
    pairs = add_sums([_NONE, *(rows.between(low, high, bits) for rows in parts)])
    rows = compress_rows(pairs.keys, pairs.sums, words)
    return rows, None if ended is None else add_sums([_NONE, *(part.unigrams(t) for part, t in ended)])


def _members(own: Integers, numbers: Integers) -> Integers:
    """For each slice of a part its place among `numbers`, or -1."""
    places = np.searchsorted(numbers, own)
    there = places < len(numbers)
    there[there] = numbers[places[there]] == own[there]
    return np.where(there, places, -1)


def summed_pairs(parts: Sequence[_Rows], words: int) -> Iterator[KeySums]:
    """The pairs of one slice in blocks of ascending keys: all parts together, some rows at a time."""
    bits = bits_for(words)
    for low, high in _blocks_of_rows(parts, words):
        yield add_sums([rows.between(low, high, bits) for rows in parts])


def _blocks_of_rows(parts: Sequence[_Rows], words: int) -> Iterator[tuple[int, int]]:
    """Divide the rows of all parts into ranges with about `_BLOCK` entries each."""
    total = sum(int(rows.ends[-1] - rows.ends[0]) for rows in parts)
    bounds = [0, words]
    if total > _BLOCK:
        lengths = np.zeros(words, dtype=np.int64)
        for rows in parts:
            lengths[rows.words] += np.diff(rows.ends)
        cuts = np.searchsorted(np.cumsum(lengths), np.arange(_BLOCK, total, _BLOCK))
        bounds = [0, *np.unique(cuts[(cuts > 0) & (cuts < words)]).tolist(), words]
    return pairwise(bounds)


def add_groups(
    arrays: CountArrays, slices: int, words: int, resources: Resources, folder: Path
) -> CountArrays:
    """Write the sum of groups, which have `slices` slices each, one group after the other."""
    starts = range(0, len(arrays.slice_rows) - 1, slices)
    every = np.arange(slices)
    groups = [ShardCounts(folder, every, arrays.between(start, start + slices)) for start in starts]
    with resources.observer.stage("adding", slices, "slices"):
        step, workers = resources.observer.step, resources.workers
        return merge_shard_counts(groups, 0, slices, words, 0, folder, step, workers)[0]
