"""CSV and TSV files with a header line. Arrow parses; Python's own csv module finds the line of an error."""

import csv
import io
from collections.abc import Iterator
from functools import partial
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pv

from wordtide.corpus.documents import BadRows, Batch, Block, batch_from_columns
from wordtide.corpus.fields import Fields
from wordtide.corpus.streams import BLOCK_BYTES, STANDARD_INPUT, Progress, open_bytes
from wordtide.errors import InputError

_HEADER_BYTES = 1 << 20


class _Rest(io.RawIOBase):
    """A stream some of whose bytes were read already, from its beginning again."""

    def __init__(self, start: bytes, stream: IO[bytes]) -> None:
        self._start = start
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        piece = self._start[: len(buffer)] if self._start else self._stream.read(len(buffer))
        self._start = self._start[len(buffer) :] if self._start else b""
        buffer[: len(piece)] = piece
        return len(piece)


def read_delimited(path: str, label: str, delimiter: str, fields: Fields, bad: BadRows, progress: Progress) -> Iterator[Block]:
    """Blocks of a CSV (",") or TSV (tab) file. The first line names the columns."""
    with open_bytes(path, progress) as stream:
        start = stream.read(_HEADER_BYTES)
        settled = fields.found_in(_header(start, delimiter, path), f"{path}, line 1")
        odd_rows: list[tuple[int, int]] = []  # record (None from Arrow when it cannot tell) and number of fields

        def remember(row: pv.InvalidRow) -> str:
            odd_rows.append((row.number or 0, row.actual_columns))
            return "skip"

        try:
            reader = pv.open_csv(
                pa.PythonFile(io.BufferedReader(_Rest(start, stream), 1 << 20), mode="r"),
                read_options=pv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
                parse_options=pv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=remember),
                convert_options=pv.ConvertOptions(
                    check_utf8=False,
                    column_types={name: pa.string() for name in settled.names()},
                    include_columns=list(dict.fromkeys(settled.names())),
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            raise _unreadable(path, error) from error
        record = 2  # the header is the first
        while True:
            try:
                rows = reader.read_next_batch()
            except StopIteration:
                break
            except pa.ArrowInvalid as error:
                raise _unreadable(path, error) from error
            numbers = _record_numbers(record, rows.num_rows, [number for number, _ in odd_rows])
            for number, found in odd_rows:
                place = _place(path, delimiter, number)
                detail = f"the row has {found} fields, the header {len(_header(start, delimiter, path))}."
                bad.report(place, "wrong number of fields", detail, "Mend the row (a quote may be missing).")
            record += rows.num_rows + len(odd_rows)
            odd_rows.clear()
            yield partial(_parse, rows, numbers, path, label, delimiter, settled)


def _header(start: bytes, delimiter: str, path: str) -> list[str]:
    try:
        text = start.decode("utf-8-sig", "strict" if len(start) < _HEADER_BYTES else "ignore")
    except UnicodeDecodeError as error:
        text = start[: error.start].decode("utf-8-sig")
    columns = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    if not columns:
        raise InputError(f"{path} is empty or not UTF-8.", "The first line must name the columns.")
    return columns


def _record_numbers(first: int, count: int, odd: list[int]) -> npt.NDArray[np.int64]:
    """Numbers of the good records among those from `first` on, the odd ones left out."""
    numbers = np.arange(first, first + count + len(odd))
    return numbers[~np.isin(numbers, odd)][:count]


def _parse(
    rows: pa.RecordBatch,
    numbers: npt.NDArray[np.int64],
    path: str,
    label: str,
    delimiter: str,
    fields: Fields,
    bad: BadRows,
) -> Batch:
    date_field, text_field = fields.names()
    return batch_from_columns(
        rows.column(date_field),
        rows.column(text_field),
        lambda row: _place(path, delimiter, int(numbers[row])),
        label,
        numbers,
        fields.date_format,
        bad,
    )


def _place(path: str, delimiter: str, record: int) -> str:
    """File and line of a record: found by reading again, because a quoted field may hold line breaks."""
    if path == STANDARD_INPUT:
        return f"standard input, record {record}"
    with open_bytes(path) as stream:
        reader = csv.reader(
            io.TextIOWrapper(io.BufferedReader(_Rest(b"", stream)), "utf-8", "replace", newline=""), delimiter=delimiter
        )
        line = 1
        for number, _ in enumerate(_unlimited(reader), 1):
            if number == record:
                return f"{path}, line {line}"
            line = reader.line_num + 1
    return f"{path}, record {record}"


def _unlimited(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 30)
    return (row for row in reader if row)


def _unreadable(path: str, error: pa.ArrowInvalid) -> InputError:
    if "straddl" in str(error):
        return InputError(f"{path}: a row is longer than {BLOCK_BYTES >> 20} MB.", "Check the quotes, or use JSON Lines.")
    return InputError(f"{path} is not a table of this kind: {error}", "Check its --format, and that its quotes are closed.")
