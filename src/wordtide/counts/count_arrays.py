"""The large arrays of counts, pairs and words of all slices in compressed rows, and their writer.

The writer appends one slice after the other, in order of time and in bounded memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from wordtide.storage.arrays import GrowingArrays, load_array
from wordtide.types import Array, Flags, Integers

Part = TypeVar("Part")

#: The array files and the dtypes they may have.
ARRAYS = {
    "columns": "u2 u4",
    "values": "u4 u8",
    "rows": "u4",
    "row_ends": "i8",
    "slice_rows": "i8",
    "unigram_words": "u4",
    "unigram_values": "i8",
    "slice_unigrams": "i8",
}


@dataclass(frozen=True)
class CountArrays:
    """The large arrays of counts.

    Slice t has the rows `rows[slice_rows[t]:slice_rows[t + 1]]` (word numbers, ascending); row r has the
    entries `columns[row_ends[r - 1]:row_ends[r]]` with `values`, columns ascending and never below the row.
    Slice t has the words `unigram_words[slice_unigrams[t]:slice_unigrams[t + 1]]`, with `unigram_values` in
    units of 1/places.
    """

    columns: Array
    values: Array
    rows: npt.NDArray[np.uint32]
    row_ends: Integers
    slice_rows: Integers
    unigram_words: npt.NDArray[np.uint32]
    unigram_values: Integers
    slice_unigrams: Integers

    @staticmethod
    def load(folder: Path) -> "CountArrays":
        """Map the array files of a folder."""
        small = ("slice_rows", "slice_unigrams")
        return CountArrays(
            **{name: load_array(folder, name, dtypes, name in small) for name, dtypes in ARRAYS.items()}
        )

    def are_sound(self, slices: int) -> bool:
        """Whether the arrays are consistent, and those of this many slices: later code indexes with them."""
        lengths = len(self.slice_rows) == slices + 1 == len(self.slice_unigrams)
        lengths = lengths and len(self.rows) == len(self.row_ends) and len(self.columns) == len(self.values)
        return (
            lengths
            and len(self.unigram_words) == len(self.unigram_values)
            and _is_partition(self.slice_rows, len(self.rows))
            and _is_partition(self.slice_unigrams, len(self.unigram_words))
        )

    def half(self, t: int, words: int) -> tuple[Integers, npt.NDArray[np.int32], Integers] | None:
        """Values, columns and row borders of slice t, a matrix of this many words; None if damaged."""
        rows = np.asarray(self.rows[self.slice_rows[t] : self.slice_rows[t + 1]])
        ends = np.asarray(self.row_ends[self.slice_rows[t] : self.slice_rows[t + 1]])
        start = int(self.row_ends[self.slice_rows[t] - 1]) if self.slice_rows[t] > 0 else 0
        stop = int(ends[-1]) if len(ends) else start
        sound = 0 <= start <= stop <= len(self.columns) and bool((np.diff(ends, prepend=start) >= 0).all())
        sound = sound and (
            len(rows) == 0 or (int(rows[-1]) < words and bool((np.diff(rows.astype(np.int64)) > 0).all()))
        )
        columns = np.asarray(self.columns[start:stop]) if sound else np.zeros(0)
        if not sound or (len(columns) and int(columns.max()) >= words):
            return None
        borders = np.zeros(words + 1, dtype=np.int64)
        borders[rows.astype(np.int64) + 1] = np.diff(ends, prepend=start)
        np.cumsum(borders, out=borders)
        return self.values[start:stop].astype(np.int64), columns.astype(np.int32), borders

    def words_of(self, t: int) -> tuple[npt.NDArray[np.uint32], Integers]:
        """The words of slice t, and their occurrences in units of 1/places."""
        there = slice(int(self.slice_unigrams[t]), int(self.slice_unigrams[t + 1]))
        return np.asarray(self.unigram_words[there]), np.asarray(self.unigram_values[there])

    def are_counted(self) -> Flags:
        """Whether each slice has words or pairs."""
        return np.diff(self.slice_rows) + np.diff(self.slice_unigrams) > 0

    def between(self, first: int, stop: int) -> "CountArrays":
        """The arrays of the slices from `first` to `stop`; the largest are not copied."""
        rows = slice(int(self.slice_rows[first]), int(self.slice_rows[stop]))
        words = slice(int(self.slice_unigrams[first]), int(self.slice_unigrams[stop]))
        start = int(self.row_ends[rows.start - 1]) if rows.start else 0
        ends = np.asarray(self.row_ends[rows])
        entries = slice(start, int(ends[-1]) if len(ends) else start)
        return CountArrays(
            self.columns[entries],
            self.values[entries],
            self.rows[rows],
            ends - start,
            self.slice_rows[first : stop + 1] - rows.start,
            self.unigram_words[words],
            self.unigram_values[words],
            self.slice_unigrams[first : stop + 1] - words.start,
        )


def join_arrays(parts: Sequence[CountArrays]) -> CountArrays:
    """The arrays of all slices of several parts, one part after the other, in memory."""

    def joined(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    def shifted(name: str, ends: bool = True) -> Integers:
        """Join offsets into arrays that are joined, too."""
        pieces, shift = [np.zeros(int(ends), dtype=np.int64)], 0
        for part in parts:
            own = np.asarray(getattr(part, name))[int(ends) :]
            pieces.append(own + shift)
            shift += int(own[-1]) if len(own) else 0
        return np.concatenate(pieces)

    plain = {name: joined(name) for name in ("columns", "values", "rows", "unigram_words", "unigram_values")}
    return CountArrays(
        **plain,
        row_ends=shifted("row_ends", ends=False),
        slice_rows=shifted("slice_rows"),
        slice_unigrams=shifted("slice_unigrams"),
    )


def entries_by_slice(
    parts: Sequence[Part], members: Sequence[Integers], slices: int
) -> list[list[tuple[Part, int]]]:
    """The entries of each slice, as parts of a corpus and numbers of entries in them.

    `members` has for each part the slice of each entry, or -1.
    """
    by_slice: list[list[tuple[Part, int]]] = [[] for _ in range(slices)]
    for part, places in zip(parts, members, strict=True):
        for entry in np.flatnonzero(places >= 0).tolist():
            by_slice[places[entry]].append((part, entry))
    return by_slice


def _is_partition(ends: Integers, length: int) -> bool:
    return bool(ends[0] == 0 and ends[-1] == length and (np.diff(ends) >= 0).all())


class RowBlock(NamedTuple):
    """Pairs of one slice as compressed rows: row `rows[r]` has the entries `ends[r - 1]` to `ends[r]`."""

    columns: Array
    values: Array
    rows: npt.NDArray[np.uint32]
    ends: Integers


def column_dtype(words: int) -> npt.DTypeLike:
    """The dtype of the columns of pairs."""
    return np.uint16 if words <= 1 << 16 else np.uint32


class CountsWriter:
    """Appends the sums of one slice after the other. A context manager that closes its files."""

    def __init__(self, folder: Path, words: int) -> None:
        narrow = dict.fromkeys(("values", "rows", "unigram_words"), np.uint32)
        dtypes = {**dict.fromkeys(ARRAYS, np.int64), **narrow, "columns": column_dtype(words)}
        self._folder, self._arrays = folder, GrowingArrays(folder, dtypes)
        self._arrays.append(slice_rows=np.zeros(1), slice_unigrams=np.zeros(1))
        self._last_row = -1

    def __enter__(self) -> "CountsWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._arrays.__exit__()

    def add_rows(self, block: RowBlock | None) -> None:
        """Append rows of the current slice; the first may continue the last row of the block before."""
        if block is None:
            return
        arrays = self._arrays
        if block.values.dtype.itemsize > arrays["values"].dtype.itemsize:
            arrays["values"].widen(np.uint64)
        ends = block.ends + arrays["columns"].length
        continued = 1 if block.rows[0] == self._last_row else 0
        if continued:
            arrays["row_ends"].replace_last(int(ends[0]))
        arrays.append(
            columns=block.columns, values=block.values, rows=block.rows[continued:], row_ends=ends[continued:]
        )
        self._last_row = int(block.rows[-1])

    def end_slice(self, words: Integers, occurrences: Integers) -> None:
        """End the current slice with the frequencies of its words."""
        arrays = self._arrays
        arrays.append(unigram_words=words, unigram_values=occurrences)
        rows, listed = arrays["rows"].length, arrays["unigram_words"].length
        arrays.append(slice_rows=np.array([rows]), slice_unigrams=np.array([listed]))
        self._last_row = -1

    def close(self) -> CountArrays:
        """Finish the files; returns the memory-mapped arrays."""
        self._arrays.close()
        return CountArrays.load(self._folder)
