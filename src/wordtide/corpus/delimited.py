"""CSV and TSV files with a header line.

A compiled scanner finds the records and their line numbers, so that a bad record does not affect its
neighbors; Arrow extracts the fields of the good ones.
"""

import codecs
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv

from wordtide.compiled import kernel
from wordtide.corpus.byte_streams import BLOCK_BYTES, Progress, Readable, SourceFile
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import (
    ENCODING_REMEDY,
    BadRows,
    Batch,
    Block,
    Origin,
    RowColumns,
    batch_from_columns,
    make_batch,
)
from wordtide.corpus.encodings import open_text
from wordtide.corpus.findings import Findings
from wordtide.errors import InputError
from wordtide.types import Bytes, Flags, Integers

_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
_COMMON_DELIMITERS: Final = ",;\t|"
_SAMPLE_BYTES: Final = 1 << 16
_QUOTE: Final = 0x22
_LF: Final = 0x0A
_CR: Final = 0x0D
_STRAY_QUOTE: Final = -1  # in place of a number of fields
_LONGEST_ROW: Final = 1 << 28  # limits the damage of an unclosed quote
_QUOTE_REMEDY: Final = "Close the quote, or double it where it is part of the text."


class Records(NamedTuple):
    """Records of a block.

    Record n is `block[bounds[n]:bounds[n + 1]]`, has `fields[n]` fields and starts on line `lines[n]` of the
    file. The block begins at the byte `start` of the stream.
    """

    block: bytes
    bounds: Integers
    fields: Integers
    lines: Integers
    start: int

    def after_first(self) -> "Records":
        """All records but the first."""
        return Records(self.block, self.bounds[1:], self.fields[1:], self.lines[1:], self.start)

    def bytes_of(self, chosen: Flags) -> bytes:
        """The bytes of the chosen records."""
        if chosen.all():
            return self.block[self.bounds[0] : self.bounds[-1]]
        return b"".join(self.block[self.bounds[n] : self.bounds[n + 1]] for n in np.flatnonzero(chosen))


def read_delimited(
    file: SourceFile, fields: Fields, progress: Progress, findings: Findings | None = None
) -> Iterator[Block]:
    """Read a CSV or TSV file in blocks. The first record names the columns."""
    origin = Origin(file.label, f"{file.shown}, line")
    header: list[str] = []
    settled = fields
    if file.portion is not None and file.portion.start > 0:  # the header is not among its records
        header = list(file.portion.columns)
        settled = fields.found_in(header, origin.row(1))
    with open_text(file, progress) as text:
        delimiter = delimiter_of(file, text.head)
        for records in _record_blocks(text.stream, origin, delimiter, file.first):
            if not header:
                header = _header(records, origin, delimiter)
                settled = fields.found_in(header, origin.row(records.lines[0]))
                records = records.after_first()
                if findings is not None:
                    findings.add_file(file.format, text.encoding, delimiter, settled.columns())
            yield partial(_parse, records, header, origin, delimiter, settled)
    if not header:
        raise InputError(f"{file.shown} is empty.", "The first line must name the columns.")


def find_delimiter(file: SourceFile) -> str:
    """Find the delimiter of a file by its head."""
    with open_text(file) as text:
        return delimiter_of(file, text.head)


def delimiter_of(file: SourceFile, head: bytes) -> str:
    """The given delimiter, or else the one that divides the head of a file best.

    That is the one by which most rows have as many fields as the header; in a tie, that of the format.
    """
    usual = _DELIMITERS[file.format]
    if file.delimiter or not head:
        return file.delimiter or usual
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise InputError(
            f"{file.shown} is a workbook, not delimited text.",
            "Count it with --format xlsx, or save it as CSV.",
        )
    rows = np.frombuffer(head[:_SAMPLE_BYTES].removeprefix(codecs.BOM_UTF8) + b"\n", dtype=np.uint8)

    def share(delimiter: str) -> float:
        numbers = find_records(rows, ord(delimiter))[1]
        return float((numbers == numbers[0]).mean()) if len(numbers) and numbers[0] > 1 else 0.0

    return max([usual, *(other for other in _COMMON_DELIMITERS if other != usual)], key=share)


def find_borders(file: SourceFile, step: int) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Find the columns of a file, and borders between records at least `step` bytes apart.

    A border is the byte and line at which a record begins. A line break inside quotes is not a border, so the
    whole file is scanned.
    """
    origin = Origin(file.label, f"{file.shown}, line")
    header: list[str] = []
    borders: list[tuple[int, int]] = []
    wanted = step
    with open_text(file) as text:
        delimiter = delimiter_of(file, text.head)
        for records in _record_blocks(text.stream, origin, delimiter, 1):
            if not header:
                header = _header(records, origin, delimiter)
                # The first portion has the header.
                wanted = max(wanted, records.start + int(records.bounds[1]))
            while wanted <= records.start + int(records.bounds[-2]):
                record = int(np.searchsorted(records.bounds, wanted - records.start))
                borders.append((records.start + int(records.bounds[record]), int(records.lines[record])))
                wanted = borders[-1][0] + step
    return tuple(header), borders


def _record_blocks(stream: Readable, origin: Origin, delimiter: str, line: int) -> Iterator[Records]:
    """Read blocks of at least one whole record; the first begins on the given line."""
    rest = stream.read(len(codecs.BOM_UTF8))
    start = 0
    if line == 1 and rest == codecs.BOM_UTF8:
        rest, start = b"", len(rest)
    while True:
        piece = stream.read(max(BLOCK_BYTES, len(rest)))
        block = rest + piece
        if not piece and not block.endswith(b"\n"):
            block += b"\n"
        bounds, numbers, lines, breaks, open_line = find_records(
            np.frombuffer(block, dtype=np.uint8), ord(delimiter)
        )
        if len(lines):
            yield Records(block, bounds, numbers, lines + line, start)
        rest = block[bounds[-1] :]
        start += int(bounds[-1])
        if open_line >= 0 and (not piece or len(rest) > _LONGEST_ROW):
            raise InputError(
                f"{origin.row(line + open_line)}: a quote opens here and is never closed.", _QUOTE_REMEDY
            )
        line += breaks
        if len(rest) > _LONGEST_ROW:
            raise InputError(
                f"{origin.row(line)}: the row is longer than {_LONGEST_ROW >> 20} MB.", "Check the --format."
            )
        if not piece:
            return


@kernel
def find_records(data: Bytes, delimiter: int) -> tuple[Integers, Integers, Integers, int, int]:
    """Find the whole records of a block that begins with one.

    Returns their bounds, numbers of fields and lines (from 0), the number of line breaks before the last
    bound, and the line of a quote that is still open at the end of the block, or -1.
    """
    most = 0
    for byte in data:
        most += (byte == _LF) | (byte == _CR)
    bounds = np.empty(most + 1, dtype=np.int64)
    fields = np.empty(most, dtype=np.int64)
    lines = np.empty(most, dtype=np.int64)
    found = 0
    line = 0
    open_line = -1
    at = 0
    while at < data.size:
        end, number, breaks, breaks_before_quote = _record_at(data, at, delimiter)
        if end < 0:
            if breaks_before_quote >= 0:
                open_line = line + breaks_before_quote
            break
        if data[at] != _LF and data[at] != _CR:  # skip blank lines
            bounds[found], fields[found], lines[found] = at, number, line
            found += 1
        line += breaks
        at = end
    bounds[found] = at
    return bounds[: found + 1], fields[:found], lines[:found], line, open_line


@kernel
def _record_at(data: Bytes, at: int, delimiter: int) -> tuple[int, int, int, int]:
    """Find the end of the record that begins at a byte.

    Returns the end (-1 if it lies beyond the block), the numbers of fields and of line breaks, the last one
    included, and the number of line breaks before a quote that is still open, or -1.

    A line ends with LF, CR LF or CR. A quote opens at the beginning of a field only, and what follows the
    closing one belongs to the field; but if the two are on different lines, an earlier quote was not closed.
    """
    fields = 1
    stray = False
    breaks = 0
    opened = -1  # the number of line breaks before the open quote
    field_start = at
    while at < data.size:
        byte = data[at]
        at += 1
        following = data[at] if at < data.size else np.uint8(0)
        breaking = byte == _LF or (byte == _CR and following != _LF)
        if opened >= 0:
            breaks += breaking
            if byte == _QUOTE and following == _QUOTE:
                at += 1
            elif byte == _QUOTE:
                closed = at == data.size or following == delimiter or following == _LF or following == _CR
                stray = stray or (breaks > opened and not closed)
                opened = -1
        elif byte == _QUOTE and at - 1 == field_start:
            opened = breaks
        elif byte == delimiter:
            fields += 1
            field_start = at
        elif breaking and (byte == _LF or at < data.size):  # an LF may follow a CR at the end of the block
            return at, _STRAY_QUOTE if stray else fields, breaks + 1, -1
    return -1, fields, breaks, opened


def _header(records: Records, origin: Origin, delimiter: str) -> list[str]:
    place = origin.row(records.lines[0])
    row = records.block[records.bounds[0] : records.bounds[1]]
    try:
        row.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: the header is not valid UTF-8.", ENCODING_REMEDY) from error
    width = int(records.fields[0])
    if width == _STRAY_QUOTE:
        raise InputError(f"{place}: a quote in the header is not closed.", _QUOTE_REMEDY)
    return [column[0].as_py() for column in _columns(row, width, range(width), delimiter)]


def _parse(
    records: Records, header: list[str], origin: Origin, delimiter: str, fields: Fields, bad: BadRows
) -> Batch:
    good = records.fields == len(header)
    for record in np.flatnonzero(~good):
        _report_odd_record(origin.row(records.lines[record]), int(records.fields[record]), len(header), bad)
    if not good.any():
        return make_batch([], [], [origin.label], [], [origin.place])
    chosen = [header.index(name) for name in fields.columns()]
    columns = RowColumns(*_columns(records.bytes_of(good), len(header), chosen, delimiter))
    return batch_from_columns(columns, origin, records.lines[good], fields.date_format, bad)


def _report_odd_record(place: str, found: int, expected: int, bad: BadRows) -> None:
    if found == _STRAY_QUOTE:
        detail = "a quote opens in this row and closes in the middle of another line."
        bad.report(place, "quote not closed", detail, _QUOTE_REMEDY)
    else:
        detail = f"the row has {found} fields, the header {expected}."
        bad.report(place, "wrong number of fields", detail, "Fix the row (a quote may be missing).")


def _columns(rows: bytes, width: int, chosen: Sequence[int], delimiter: str) -> list[pa.Array]:
    """Extract columns, by number, of records with `width` fields each. Their bytes need not be UTF-8."""
    if rows.startswith(codecs.BOM_UTF8):
        rows = b"\n" + rows  # Arrow would drop it, but here it is text
    names = [str(number) for number in range(width)]
    table = pv.read_csv(
        pa.BufferReader(rows),
        read_options=pv.ReadOptions(use_threads=False, block_size=len(rows) + 1, column_names=names),
        parse_options=pv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pv.ConvertOptions(
            check_utf8=False,
            column_types={str(number): pa.string() for number in chosen},
            include_columns=list(dict.fromkeys(str(number) for number in chosen)),
            strings_can_be_null=False,
        ),
    )
    return [table[str(number)].combine_chunks() for number in chosen]
