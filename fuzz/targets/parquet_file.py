"""Parquet files."""

import pyarrow as pa
import pyarrow.parquet as pq

from targets.reading import read_file


def _parquet(dates: pa.Array, texts: pa.Array, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"date": dates, "text": texts}), sink, **options)
    return bytes(sink.getvalue().to_pybytes())


_TEXTS = pa.array(["Steam power.", None, "Atomic power, caf\u00e9."])
SEEDS = [
    _parquet(pa.array(["1862", "1863-02", "soon"]), _TEXTS, compression="none"),
    _parquet(pa.array([1, None, 3], pa.timestamp("ms")), _TEXTS.dictionary_encode(), compression="zstd"),
    _parquet(
        pa.array([1862.0, 1e300, 3.5]),
        _TEXTS.cast(pa.large_string()),
        compression="gzip",
        use_dictionary=False,
    ),
    _parquet(
        pa.array([1, 2, 3], pa.date32()),
        _TEXTS,
        use_dictionary=False,
        column_encoding={"text": "DELTA_BYTE_ARRAY"},
        compression="none",
    ),
]


def try_input(data: bytes) -> None:
    """Read the bytes as Parquet."""
    read_file("x.parquet", data)
