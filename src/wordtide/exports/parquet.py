"""A Parquet table with a row for each number: word, time, k (the coordinate), mean, sd.

Read by pandas, Polars, DuckDB, R, ...

Rows are in order of time, then word, then k. They are written a group at a time, so memory stays small for
any number of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from wordtide.exports.selection import Selection
from wordtide.progress import Observer

ROWS_IN_A_GROUP = 1 << 20
_SCHEMA = pa.schema(
    [
        ("word", pa.dictionary(pa.int32(), pa.string())),
        ("time", pa.float64()),
        ("k", pa.int32()),
        ("mean", pa.float32()),
        ("sd", pa.float32()),
    ]
)


def write_table(path: Path, selection: Selection, time: float | None, observer: Observer) -> None:
    """Write the selected words at one time, or (None) at all slices.

    Point estimates have no sd: the column is null.
    """
    if time is None:
        times = selection.vectors.times.tolist()
        means, deviations = selection.means_at_slices(), selection.deviations_at_slices()
    else:
        times = [time]
        means, deviations = iter([selection.means_at(time)]), iter([selection.deviations_at(time)])
    dim = selection.vectors.dim
    words_at_once = max(1, ROWS_IN_A_GROUP // dim)
    groups = [
        _Group.of(selection.words[start : start + words_at_once], dim)
        for start in range(0, len(selection.words), words_at_once)
    ]
    # Means and deviations hardly ever repeat, so a dictionary of them would be built and thrown away.
    repeating = ["word", "time", "k"]
    options = {"compression": "zstd", "use_dictionary": repeating, "write_statistics": repeating}
    with (
        observer.stage("writing", len(times), "slices"),
        open(path, "wb") as file,
        pq.ParquetWriter(file, _SCHEMA, **options) as writer,
    ):
        for one in times:
            mean = next(means).ravel()
            sd = next(deviations).ravel() if selection.has_deviations else None
            start = 0
            for group in groups:
                part = slice(start, start + group.size)
                columns = [
                    group.words,
                    pa.array(np.full(group.size, one)),
                    group.coordinates,
                    pa.array(mean[part]),
                    pa.nulls(group.size, pa.float32()) if sd is None else pa.array(sd[part]),
                ]
                writer.write_table(pa.Table.from_arrays(columns, schema=_SCHEMA), row_group_size=group.size)
                start += group.size
            observer.step()


@dataclass(frozen=True)
class _Group:
    """The columns of a group of rows that are the same at all times."""

    words: Any
    coordinates: Any
    size: int

    @staticmethod
    def of(words: Sequence[str], dim: int) -> "_Group":
        numbers = pa.array(np.repeat(np.arange(len(words), dtype=np.int32), dim))
        coordinates = pa.array(np.tile(np.arange(dim, dtype=np.int32), len(words)))
        texts = pa.DictionaryArray.from_arrays(numbers, pa.array(words, pa.string()))
        return _Group(texts, coordinates, len(words) * dim)
