"""Parquet files, data frames (pandas, polars, Arrow) and iterables of (date, text)."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wordtide.corpus.byte_streams import Portion, Progress, SourceFile, check_expansion, explained_read_errors
from wordtide.corpus.columns import Fields, holds_dates, holds_groups, is_text
from wordtide.corpus.documents import (
    BadRows,
    Batch,
    Block,
    Origin,
    RowCollector,
    RowColumns,
    batch_from_columns,
)
from wordtide.corpus.findings import Findings
from wordtide.corpus.remote import is_url, open_seekable
from wordtide.errors import InputError, WordtideError

_ROWS = 4096
_FEW_ROWS = 16
_MOST_BYTES = 1 << 28  # of texts held at once


def read_parquet(
    file: SourceFile, fields: Fields, progress: Progress, findings: Findings | None
) -> Iterator[Block]:
    """Read a Parquet file in blocks."""
    with _open_parquet(file) as table:
        schema, total = table.schema_arrow, max(table.metadata.num_rows, 1)
        groups = range(file.portion.start, file.portion.stop) if file.portion else range(table.num_row_groups)
    settled = _choose_fields(schema, file.shown, fields)
    if findings is not None and groups.start == 0:
        findings.add_file("parquet", columns=settled.columns())
    origin = Origin(file.label, f"{file.shown}, row")
    columns = list(dict.fromkeys(settled.columns()))
    compressed = max(file.byte_count(), 1)
    first, length = file.first, 0
    for batch in _row_batches(
        file, groups, columns, [name for name in columns if is_text(schema.field(name).type)]
    ):
        _check_dictionaries(batch, file.shown)
        for rows, size in _slices_that_fit(batch, settled.names()[1]):
            length += size
            check_expansion(file.shown, compressed, length, file.max_expansion)
            yield partial(_parse, rows, first, origin, settled)
            first += rows.num_rows
        progress(file.byte_count() * batch.num_rows // total)


def _row_batches(
    file: SourceFile, groups: range, columns: list[str], texts: list[str]
) -> Iterator[pa.RecordBatch]:
    """Read the rows of some row groups, with equal texts held once.

    Arrow cannot do that for delta-encoded texts. Each of those may be as long as the whole column chunk, so
    only a few are read at once. (The metadata on encodings is not consulted, because Arrow aborts the process
    if it is damaged.)
    """
    finished, rows_read = 0, 0
    with _open_parquet(file, texts) as table:
        try:
            for group in groups:
                for batch in table.iter_batches(
                    batch_size=_ROWS, row_groups=[group], columns=columns, use_threads=False
                ):
                    yield batch
                    rows_read += batch.num_rows
                finished, rows_read = finished + 1, 0
            return
        except OSError as error:
            if "Not yet implemented" not in str(error):
                raise
    with _open_parquet(file) as table:
        for group in groups[finished:]:
            for batch in table.iter_batches(
                batch_size=_FEW_ROWS, row_groups=[group], columns=columns, use_threads=False
            ):
                known = min(rows_read, batch.num_rows)
                rows_read -= known
                if known < batch.num_rows:
                    yield batch.slice(known)


def _check_dictionaries(rows: pa.RecordBatch, place: str) -> None:
    """Reject dictionary indices out of range, with which Arrow would read foreign memory."""
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            ends = pc.min_max(column.indices).as_py()
            if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(column.dictionary):
                raise InputError(
                    f"{place} is damaged: the column {name!r} refers to values that do not exist.",
                    "Fetch or copy the file again.",
                )


def _slices_that_fit(rows: pa.RecordBatch, text_field: str) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield rows in slices whose texts fit into memory, with the bytes of each.

    A dictionary holds a text once for any number of rows, but each row becomes a copy.
    """
    texts = rows.column(text_field)
    if not pa.types.is_dictionary(texts.type):
        yield rows, rows.nbytes
        return
    lengths = pc.fill_null(pc.binary_length(texts.dictionary).take(texts.indices), 0).to_numpy(
        zero_copy_only=False
    )
    ends = np.cumsum(lengths, dtype=np.int64)
    start, before = 0, 0
    while start < rows.num_rows:
        stop = max(start + 1, int(np.searchsorted(ends, before + _MOST_BYTES, side="right")))
        yield rows.slice(start, stop - start), int(ends[stop - 1]) - before
        start, before = stop, int(ends[stop - 1])


def cut_row_groups(file: SourceFile, step: int) -> list[Portion]:
    """Divide a Parquet file into portions of row groups, of about `step` bytes if row groups are smaller."""
    with _open_parquet(file) as table:
        groups = [table.metadata.row_group(number) for number in range(table.num_row_groups)]
    portions: list[Portion] = []
    start, row, size, rows = 0, 1, 0, 0
    for number, group in enumerate(groups):
        size += group.total_byte_size
        rows += group.num_rows
        if size >= step or number + 1 == len(groups):
            portions.append(Portion(start, number + 1, row))
            start, row, size, rows = number + 1, row + rows, 0, 0
    return portions


@contextmanager
def _open_parquet(file: SourceFile, as_dictionaries: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    """Open a file; equal texts of the columns named here are held once."""
    place = file.opened_at
    with (
        open_seekable(place) if is_url(place) else nullcontext(place) as opened,
        _explained_parquet_errors(file.shown),
        pq.ParquetFile(opened, read_dictionary=list(as_dictionaries)) as table,
    ):
        yield table


@contextmanager
def _explained_parquet_errors(shown: str) -> Iterator[None]:
    """Explain read errors, including the generic exceptions that Arrow raises for damaged files."""
    with explained_read_errors(shown):
        try:
            yield
        except WordtideError:
            raise
        except (RuntimeError, ValueError, OverflowError, MemoryError) as error:
            raise InputError(f"{shown} is damaged: {error}", "Fetch or copy the file again.") from error


def is_frame(source: object) -> bool:
    """Whether Arrow can read this as a table."""
    return isinstance(source, (pa.Table, pa.RecordBatch)) or hasattr(source, "__arrow_c_stream__")


def read_frame(source: Any, label: str, fields: Fields) -> Iterator[Block]:
    """Read a pandas, polars or Arrow table in blocks."""
    try:
        table = source if isinstance(source, pa.Table) else pa.table(source)
    except (pa.ArrowException, ValueError, TypeError) as error:
        problem = ": ".join(str(part).rstrip(".") for part in reversed(error.args))
        remedy = "Columns need unique names and values of one type; frame['date'].astype(str) makes strings."
        raise InputError(f"{label} cannot be read: {problem}.", remedy) from error
    settled = _choose_fields(table.schema, label, fields)
    origin = Origin(label, f"{label}, row")
    first = 1
    for rows in table.select(list(dict.fromkeys(settled.columns()))).to_batches(max_chunksize=_ROWS):
        _check_dictionaries(rows, label)
        yield partial(_parse, rows, first, origin, settled)
        first += rows.num_rows


def read_pairs(source: Iterable[tuple[object, ...]], label: str, fields: Fields) -> Iterator[Block]:
    """Read an iterable of (date, text), or of (date, text, group) if there is a group field, in blocks."""
    pairs = iter(source)
    origin = Origin(label, f"{label}, item")
    first = 1
    while some := list(islice(pairs, _ROWS)):
        yield partial(_parse_pairs, some, first, origin, fields)
        first += len(some)


def _choose_fields(schema: pa.Schema, place: str, fields: Fields) -> Fields:
    """Choose the columns to read and check their types."""
    settled = fields.found_in(schema.names, place)
    checks = (("date", holds_dates, "dates"), ("text", is_text, "text"), ("group", holds_groups, "names"))
    for name, (option, holds, content) in zip(settled.columns(), checks, strict=False):
        kind = schema.field(name).type
        if not holds(kind.value_type if pa.types.is_dictionary(kind) else kind):
            raise InputError(
                f"{place}: the column {name!r} holds {kind}, not {content}.",
                f"Choose another --{option}-field.",
            )
    return settled


def _parse(rows: pa.RecordBatch, first: int, origin: Origin, fields: Fields, bad: BadRows) -> Batch:
    date_field, text_field = fields.names()
    texts = rows.column(text_field)
    if pa.types.is_dictionary(texts.type) or pa.types.is_string_view(texts.type):
        with _explained_parquet_errors(origin.row(first)):
            texts = texts.cast(pa.large_string())
    numbers = np.arange(first, first + rows.num_rows)
    groups = None if fields.group is None else rows.column(fields.group)
    columns = RowColumns(rows.column(date_field), texts, groups)
    return batch_from_columns(columns, origin, numbers, fields.date_format, bad)


def _parse_pairs(
    pairs: list[tuple[object, ...]], first: int, origin: Origin, fields: Fields, bad: BadRows
) -> Batch:
    kind = "pair" if fields.group is None else "triple"
    shown = "(date, text)" if fields.group is None else "(date, text, group)"
    rows = RowCollector(origin, fields.date_format, fields.group is not None, bad)
    for row, pair in enumerate(pairs, first):
        place = origin.row(row)
        try:
            date, text, *group = pair
            if len(group) != (fields.group is not None):
                raise ValueError
        except (TypeError, ValueError):
            raise InputError(f"{place} is not a {kind}.", f"Give an iterable of {shown}.") from None
        if not isinstance(text, str):
            bad.report(
                place, "text missing", "the text is not a string.", f"Give {shown} with a str as text."
            )
            continue
        rows.add(row, date, text.encode("utf-8", "surrogatepass"), *group)
    return rows.batch()
