"""The large arrays of counts: pairs and words of all slices in compressed rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.storage.arrays import load_array

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

    columns: npt.NDArray[Any]
    values: npt.NDArray[Any]
    rows: npt.NDArray[np.uint32]
    row_ends: npt.NDArray[np.int64]
    slice_rows: npt.NDArray[np.int64]
    unigram_words: npt.NDArray[np.uint32]
    unigram_values: npt.NDArray[np.int64]
    slice_unigrams: npt.NDArray[np.int64]

    @staticmethod
    def load(folder: Path) -> "CountArrays":
        """Map the array files of a folder."""
        return CountArrays(**{name: load_array(folder, name, dtypes) for name, dtypes in ARRAYS.items()})
