"""A Parquet table with a row for each number: word, time, k (the coordinate), mean, sd. Read by pandas, Polars, DuckDB, R, ...

Rows are in order of time, then word, then k. They are written a group at a time, so memory stays small for any number of them.
"""

from collections.abc import Sequence
from pathlib import Path

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


def write_table(path: Path, selection: Selection, times: Sequence[float], observer: Observer) -> None:
    """Write the selected words at the given times. Point estimates have no sd: there the column is null."""
    with observer.stage("writing", len(times), "slices"):
        # Numbers hardly ever repeat, so a dictionary of them would only be built and thrown away.
        repeating = ["word", "time", "k"]
        with (
            open(path, "wb") as file,
            pq.ParquetWriter(file, _SCHEMA, compression="zstd", use_dictionary=repeating) as writer,
        ):
            for time in times:
                mean = selection.means_at(time)
                dim = mean.shape[1]
                words_at_once = max(1, ROWS_IN_A_GROUP // dim)
                sd = selection.deviations_at(time) if selection.has_deviations else None
                for start in range(0, len(mean), words_at_once):
                    words = selection.words[start : start + words_at_once]
                    part, size = slice(start, start + len(words)), len(words) * dim
                    numbers = np.repeat(np.arange(len(words), dtype=np.int32), dim)
                    columns = [
                        pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(words, pa.string())),
                        pa.array(np.full(size, time)),
                        pa.array(np.tile(np.arange(dim, dtype=np.int32), len(words))),
                        pa.array(mean[part].ravel()),
                        pa.nulls(size, pa.float32()) if sd is None else pa.array(sd[part].ravel()),
                    ]
                    writer.write_table(pa.Table.from_arrays(columns, schema=_SCHEMA), row_group_size=size)
                observer.step()
