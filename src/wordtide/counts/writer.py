"""The writer of the large arrays of a counts folder, slice by slice in order of time, in bounded memory."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import kernel
from wordtide.counts.count_arrays import CountArrays
from wordtide.counts.pairs import bits_for
from wordtide.storage.arrays import GrowingArray, save_array


class RowBlock(NamedTuple):
    """Pairs of one slice as compressed rows: row `rows[r]` has the entries `ends[r - 1]` to `ends[r]`."""

    columns: npt.NDArray[Any]
    values: npt.NDArray[Any]
    rows: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]


@kernel
def _split_pairs(
    pairs: npt.NDArray[Any],
    sums: npt.NDArray[Any],
    word_bits: int,
    columns: npt.NDArray[Any],
    values: npt.NDArray[Any],
    rows: npt.NDArray[np.uint32],
    ends: npt.NDArray[np.int64],
) -> int:
    """Write ascending pair codes as compressed rows; returns the number of rows."""
    mask = np.uint64((1 << word_bits) - 1)
    found = 0
    current = np.uint64(pairs[0]) >> np.uint64(word_bits)
    for place in range(pairs.size):
        pair = np.uint64(pairs[place])
        row = pair >> np.uint64(word_bits)
        if row != current:
            rows[found] = current
            ends[found] = place
            found += 1
            current = row
        columns[place] = pair & mask
        values[place] = sums[place]
    rows[found] = current
    ends[found] = pairs.size
    return found + 1


def compress_rows(pairs: npt.NDArray[Any], sums: npt.NDArray[Any], words: int) -> RowBlock | None:
    """Pair codes (see `pairs`), ascending, and their sums as compressed rows; None if there are none."""
    if len(sums) == 0:
        return None
    narrow = sums.dtype == np.uint32 or int(sums.max()) <= np.iinfo(np.uint32).max
    columns = np.empty(len(pairs), dtype=_column_dtype(words))
    values = np.empty(len(pairs), dtype=np.uint32 if narrow else np.uint64)
    rows = np.empty(min(len(pairs), words), dtype=np.uint32)
    ends = np.empty(len(rows), dtype=np.int64)
    found = _split_pairs(pairs, sums, bits_for(words), columns, values, rows, ends)
    return RowBlock(columns, values, rows[:found], ends[:found])


def _column_dtype(words: int) -> npt.DTypeLike:
    return np.uint16 if words <= 1 << 16 else np.uint32


class CountsWriter:
    """Appends the sums of one slice after the other. A context manager that closes its files."""

    def __init__(self, folder: Path, words: int) -> None:
        self._words = words
        self._columns = GrowingArray(folder, "columns", _column_dtype(words))
        self._values = GrowingArray(folder, "values", np.uint32)
        self._rows = GrowingArray(folder, "rows", np.uint32)
        self._row_ends = GrowingArray(folder, "row_ends", np.int64)
        self._unigram_words = GrowingArray(folder, "unigram_words", np.uint32)
        self._unigram_values = GrowingArray(folder, "unigram_values", np.int64)
        self._large = (
            self._columns, self._values, self._rows, self._row_ends, self._unigram_words, self._unigram_values,
        )  # fmt: skip
        self._slice_rows = [0]
        self._slice_unigrams = [0]
        self._folder = folder
        self._last_row = -1

    def __enter__(self) -> "CountsWriter":
        return self

    def __exit__(self, *_: object) -> None:
        for growing in self._large:
            growing.abandon()

    def add_pairs(self, pairs: npt.NDArray[Any], sums: npt.NDArray[Any]) -> None:
        """Append pair codes of the current slice, ascending also from call to call, and their sums."""
        block = compress_rows(pairs, sums, self._words)
        if block is not None:
            self.add_rows(block)

    def add_rows(self, block: RowBlock) -> None:
        """Append rows of the current slice; the first row of a block may continue the last row of the block
        before.
        """
        if block.values.dtype.itemsize > self._values.dtype.itemsize:
            self._values.widen(np.uint64)
        ends = block.ends + self._columns.length
        self._columns.append(block.columns)
        self._values.append(block.values)
        continued = 1 if block.rows[0] == self._last_row else 0
        if continued:
            self._row_ends.replace_last(int(ends[0]))
        self._rows.append(block.rows[continued:])
        self._row_ends.append(ends[continued:])
        self._last_row = int(block.rows[-1])

    def end_slice(self, words: npt.NDArray[np.int64], occurrences: npt.NDArray[np.int64]) -> None:
        """End the current slice with the frequencies of its words."""
        self._unigram_words.append(words)
        self._unigram_values.append(occurrences)
        self._slice_rows.append(self._rows.length)
        self._slice_unigrams.append(self._unigram_words.length)
        self._last_row = -1

    def close(self) -> CountArrays:
        """Finish the files; returns the memory-mapped arrays."""
        for growing in self._large:
            growing.close()
        save_array(self._folder, "slice_rows", np.array(self._slice_rows, dtype=np.int64))
        save_array(self._folder, "slice_unigrams", np.array(self._slice_unigrams, dtype=np.int64))
        return CountArrays.load(self._folder)
