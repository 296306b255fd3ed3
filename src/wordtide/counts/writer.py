"""Writing the large arrays of a counts folder slice by slice, in order of time, without ever holding them all."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.compiled import kernel
from wordtide.counts.counts import ARRAYS, CountArrays
from wordtide.counts.pairs import bits_for
from wordtide.storage.arrays import GrowingArray, load_array, save_array


@kernel
def split_pairs(
    pairs: npt.NDArray[Any],
    sums: npt.NDArray[np.int64],
    word_bits: int,
    columns: npt.NDArray[Any],
    values: npt.NDArray[Any],
    rows: npt.NDArray[np.uint32],
    ends: npt.NDArray[np.int64],
) -> int:
    """Ascending pair codes as compressed rows: columns and values, and each row that occurs with its end; how many rows."""
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


class CountsWriter:
    """Takes the sums of one slice after the other. As a context it closes its files, whatever happens."""

    def __init__(self, folder: Path, words: int) -> None:
        self._words = words
        self._columns = GrowingArray(folder, "columns", np.uint16 if words <= 1 << 16 else np.uint32)
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

    def add_pairs(self, pairs: npt.NDArray[Any], sums: npt.NDArray[np.int64]) -> None:
        """A block of the current slice: pair codes, ascending also from block to block, and their sums."""
        if len(sums) == 0:
            return
        if self._values.dtype.itemsize == 4 and sums.max() > np.iinfo(np.uint32).max:
            self._values.widen(np.uint64)
        columns = np.empty(len(pairs), dtype=self._columns.dtype)
        values = np.empty(len(pairs), dtype=self._values.dtype)
        rows = np.empty(min(len(pairs), self._words), dtype=np.uint32)
        ends = np.empty(len(rows), dtype=np.int64)
        found = split_pairs(pairs, sums, bits_for(self._words), columns, values, rows, ends)
        ends += self._columns.length
        self._columns.append(columns)
        self._values.append(values)
        continued = 1 if rows[0] == self._last_row else 0  # the block before ended inside this row
        if continued:
            self._row_ends.replace_last(int(ends[0]))
        self._rows.append(rows[continued:found])
        self._row_ends.append(ends[continued:found])
        self._last_row = int(rows[found - 1])

    def end_slice(self, words: npt.NDArray[np.int64], occurrences: npt.NDArray[np.int64]) -> None:
        """Close the current slice with its unigram counts."""
        self._unigram_words.append(words)
        self._unigram_values.append(occurrences)
        self._slice_rows.append(self._rows.length)
        self._slice_unigrams.append(self._unigram_words.length)
        self._last_row = -1

    def close(self) -> CountArrays:
        """Finish the files; the arrays, memory-mapped."""
        for growing in self._large:
            growing.close()
        save_array(self._folder, "slice_rows", np.array(self._slice_rows, dtype=np.int64))
        save_array(self._folder, "slice_unigrams", np.array(self._slice_unigrams, dtype=np.int64))
        return CountArrays(
            **{name: load_array(self._folder, name, dtypes) for name, dtypes in ARRAYS.items()}
        )
