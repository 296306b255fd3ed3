"""The large arrays of counts, pairs and words of all slices in compressed rows, and their writer.

The writer appends one slice after the other, in order of time and in bounded memory.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.storage.arrays import GrowingArray, load_array, save_array
from wordtide.types import Array, Integers

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
        return CountArrays(**{name: load_array(folder, name, dtypes) for name, dtypes in ARRAYS.items()})


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
        self._words = words
        self._columns = GrowingArray(folder, "columns", column_dtype(words))
        self._values = GrowingArray(folder, "values", np.uint32)
        self._rows = GrowingArray(folder, "rows", np.uint32)
        self._row_ends = GrowingArray(folder, "row_ends", np.int64)
        self._unigram_words = GrowingArray(folder, "unigram_words", np.uint32)
        self._unigram_values = GrowingArray(folder, "unigram_values", np.int64)
        pairs = (self._columns, self._values, self._rows, self._row_ends)
        self._large = (*pairs, self._unigram_words, self._unigram_values)
        self._slice_rows = [0]
        self._slice_unigrams = [0]
        self._folder = folder
        self._last_row = -1

    def __enter__(self) -> "CountsWriter":
        return self

    def __exit__(self, *_: object) -> None:
        for growing in self._large:
            growing.abandon()

    def add_rows(self, block: RowBlock | None) -> None:
        """Append rows of the current slice, if there are any. The first row of a block may continue the last
        row of the block before.
        """
        if block is None:
            return
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

    def end_slice(self, words: Integers, occurrences: Integers) -> None:
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
