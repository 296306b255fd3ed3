"""Parquet files, data frames (pandas, polars, Arrow) and iterables of (date, text)."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from wordtide.corpus.date_columns import holds_dates, is_text
from wordtide.corpus.documents import BadRows, Batch, Block, Origin, batch_from_columns, make_batch, report_bad_date
from wordtide.corpus.fields import Fields
from wordtide.corpus.streams import Progress, explained_read_errors, size_of
from wordtide.dates import parse_date
from wordtide.errors import InputError

_ROWS = 4096


def read_parquet(path: str, label: str, fields: Fields, progress: Progress) -> Iterator[Block]:
    """Blocks of a Parquet file."""
    with explained_read_errors(path), pq.ParquetFile(path) as file:
        settled = _settle(file.schema_arrow, path, fields)
        origin = Origin(label, f"{path}, row")
        total = max(file.metadata.num_rows, 1)
        first = 1
        for rows in file.iter_batches(batch_size=_ROWS, columns=list(settled.names()), use_threads=False):
            yield partial(_parse, rows, first, origin, settled)
            first += rows.num_rows
            progress(size_of(path) * rows.num_rows // total)


def is_frame(source: object) -> bool:
    """Can Arrow read this as a table?"""
    return isinstance(source, (pa.Table, pa.RecordBatch)) or hasattr(source, "__arrow_c_stream__")


def read_frame(source: Any, label: str, fields: Fields) -> Iterator[Block]:
    """Blocks of a pandas, polars or Arrow table."""
    try:
        table = source if isinstance(source, pa.Table) else pa.table(source)
    except (pa.ArrowException, ValueError, TypeError) as error:
        problem = ": ".join(str(part).rstrip(".") for part in reversed(error.args))
        remedy = "Each column needs its own name and values of one type: frame['date'].astype(str) makes strings of them."
        raise InputError(f"{label} cannot be read: {problem}.", remedy) from error
    settled = _settle(table.schema, label, fields)
    origin = Origin(label, f"{label}, row")
    first = 1
    for rows in table.select(list(dict.fromkeys(settled.names()))).to_batches(max_chunksize=_ROWS):
        yield partial(_parse, rows, first, origin, settled)
        first += rows.num_rows


def read_pairs(source: Iterable[tuple[object, str]], label: str, date_format: str | None) -> Iterator[Block]:
    """Blocks of an iterable of (date, text)."""
    pairs = iter(source)
    origin = Origin(label, f"{label}, item")
    first = 1
    while some := list(islice(pairs, _ROWS)):
        yield partial(_parse_pairs, some, first, origin, date_format)
        first += len(some)


def _settle(schema: pa.Schema, place: str, fields: Fields) -> Fields:
    """The two columns to read, if their types can be those of dates and of texts."""
    settled = fields.found_in(schema.names, place)
    date_field, text_field = settled.names()
    date_type, text_type = schema.field(date_field).type, schema.field(text_field).type
    if not holds_dates(date_type):
        raise InputError(f"{place}: the column {date_field!r} holds {date_type}, not dates.", "Choose another --date-field.")
    if not is_text(text_type.value_type if pa.types.is_dictionary(text_type) else text_type):
        raise InputError(f"{place}: the column {text_field!r} holds {text_type}, not text.", "Choose another --text-field.")
    return settled


def _parse(rows: pa.RecordBatch, first: int, origin: Origin, fields: Fields, bad: BadRows) -> Batch:
    date_field, text_field = fields.names()
    texts = rows.column(text_field)
    if pa.types.is_dictionary(texts.type) or pa.types.is_string_view(texts.type):
        texts = texts.cast(pa.large_string())
    numbers = np.arange(first, first + rows.num_rows)
    return batch_from_columns(rows.column(date_field), texts, origin, numbers, fields.date_format, bad)


def _parse_pairs(pairs: list[tuple[object, str]], first: int, origin: Origin, date_format: str | None, bad: BadRows) -> Batch:
    texts: list[bytes] = []
    stamps: list[tuple[int, int]] = []
    rows: list[int] = []
    for row, pair in enumerate(pairs, first):
        place = origin.row(row)
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
            report_bad_date(bad, place, str(error))
            continue
        texts.append(text.encode("utf-8", "surrogatepass"))
        rows.append(row)
    dates, spans = [stamp for stamp, _ in stamps], [span for _, span in stamps]
    return make_batch(texts, dates, spans, [origin.label], rows, [origin.place])
