"""Parquet files, data frames (pandas, polars, Arrow) and iterables of (date, text)."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from wordtide.corpus.documents import DATE_REMEDY, BadRows, Batch, Block, batch_from_columns, make_batch
from wordtide.corpus.fields import Fields
from wordtide.corpus.streams import Progress, explained_read_errors, size_of
from wordtide.dates import parse_date
from wordtide.errors import InputError

_ROWS = 4096


def read_parquet(path: str, label: str, fields: Fields, progress: Progress) -> Iterator[Block]:
    """Blocks of a Parquet file."""
    with explained_read_errors(path), pq.ParquetFile(path) as file:
        settled = fields.found_in(file.schema_arrow.names, path)
        total = max(file.metadata.num_rows, 1)
        first = 1
        for rows in file.iter_batches(batch_size=_ROWS, columns=list(settled.names()), use_threads=False):
            yield partial(_parse, rows, first, path, label, settled)
            first += rows.num_rows
            progress(size_of(path) * rows.num_rows // total)


def is_frame(source: object) -> bool:
    """Can Arrow read this as a table?"""
    return isinstance(source, (pa.Table, pa.RecordBatch)) or hasattr(source, "__arrow_c_stream__")


def read_frame(source: Any, label: str, fields: Fields) -> Iterator[Block]:
    """Blocks of a pandas, polars or Arrow table."""
    table = source if isinstance(source, pa.Table) else pa.table(source)
    settled = fields.found_in(table.column_names, label)
    date_field, text_field = settled.names()
    first = 1
    for rows in table.select(list(dict.fromkeys([date_field, text_field]))).to_batches(max_chunksize=_ROWS):
        yield partial(_parse, rows, first, label, label, settled)
        first += rows.num_rows


def read_pairs(source: Iterable[tuple[object, str]], label: str, date_format: str | None) -> Iterator[Block]:
    """Blocks of an iterable of (date, text)."""
    pairs = iter(source)
    first = 1
    while some := list(islice(pairs, _ROWS)):
        yield partial(_parse_pairs, some, first, label, date_format)
        first += len(some)


def _parse(rows: pa.RecordBatch, first: int, path: str, label: str, fields: Fields, bad: BadRows) -> Batch:
    date_field, text_field = fields.names()
    texts = rows.column(text_field)
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    string_view = pa.types.is_string_view(texts.type)
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type) or string_view):
        raise InputError(f"{path}: the column {text_field!r} holds {texts.type}, not text.", "Choose another --text-field.")
    return batch_from_columns(
        rows.column(date_field),
        texts.cast(pa.large_string()) if string_view else texts,
        lambda row: f"{path}, row {first + row}",
        label,
        np.arange(first, first + rows.num_rows),
        fields.date_format,
        bad,
    )


def _parse_pairs(pairs: list[tuple[object, str]], first: int, label: str, date_format: str | None, bad: BadRows) -> Batch:
    texts: list[bytes] = []
    stamps: list[tuple[int, int]] = []
    rows: list[int] = []
    for row, pair in enumerate(pairs, first):
        place = f"{label}, item {row}"
        try:
            date, text = pair
        except (TypeError, ValueError):
            raise InputError(f"{place} is not a pair.", "Give an iterable of (date, text).") from None
        if not isinstance(text, str):
            bad.report(place, "text missing", "the text is not a string.", "Give (date, text) with a str as text.")
            continue
        try:
            stamps.append(parse_date(date, date_format))
        except (ValueError, OverflowError) as error:
            bad.report(place, "date not understood", f"{error}.", DATE_REMEDY)
            continue
        texts.append(text.encode("utf-8", "surrogatepass"))
        rows.append(row)
    return make_batch(texts, [stamp for stamp, _ in stamps], [span for _, span in stamps], [label], rows)
