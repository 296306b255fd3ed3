"""Complete rows of a stream of files that may still grow, each with its position.

A stream is a sequence of files. The offset of a row is the number of bytes of the stream before it, so it
does not depend on how much is read at a time. The readers of `wordtide count` parse the rows, so both
commands accept the same rows.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from wordtide.corpus.byte_streams import Portion, SourceFile, explained_read_errors, no_progress
from wordtide.corpus.columns import Fields
from wordtide.corpus.delimited import delimiter_of, find_borders, find_records, read_delimited
from wordtide.corpus.documents import BadRows, Batch, Block
from wordtide.corpus.jsonlines import find_json_fields, read_json_lines
from wordtide.corpus.normalization import normalize_texts
from wordtide.errors import InputError
from wordtide.system import read_at
from wordtide.types import Flags, Integers

#: Bytes read at a time, and the length of the longest accepted row. Both bound the memory of a watch.
CHUNK_BYTES = 1 << 20
LONGEST_ROW = 1 << 26
#: Bytes at the start of a file that identify it.
HEAD_BYTES = 1024
_LF = 0x0A
_DESCRIPTORS = "/dev/fd"  # a file for each open descriptor


@dataclass
class StreamFile:
    """An open file of a stream, whose first byte has the offset `start`.

    `path` is where it was opened, `shown` its name in messages. `columns` and `delimiter` (CSV, TSV) are
    empty until the header line is complete.
    """

    fd: int
    start: int
    path: str
    shown: str
    format: str
    columns: tuple[str, ...] = ()
    delimiter: str = ""
    identity: tuple[int, int] = field(init=False)  # device and inode
    _head: bytes | None = None

    def __post_init__(self) -> None:
        facts = os.fstat(self.fd)
        self.identity = (facts.st_dev, facts.st_ino)

    @property
    def end(self) -> int:
        """The offset after the last byte that the file has now."""
        return self.start + os.fstat(self.fd).st_size

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes from an offset, or fewer at the end of the file."""
        with explained_read_errors(self.shown):
            pieces = []
            while size and (piece := read_at(self.fd, size, offset - self.start)):
                pieces.append(piece)
                offset, size = offset + len(piece), size - len(piece)
        return b"".join(pieces)

    def part(self, start: int, stop: int, line: int, columns: tuple[str, ...]) -> SourceFile:
        """Present some complete rows to the readers, by descriptor: the file may have been renamed.

        Windows, which has no names for descriptors, does not rename open files.
        """
        portion = Portion(start - self.start, stop - self.start, line, columns)
        location = f"{_DESCRIPTORS}/{self.fd}" if os.path.isdir(_DESCRIPTORS) else self.path
        return SourceFile(self.shown, self.shown, self.format, location=location, portion=portion)

    def head(self, size: int) -> bytes:
        """Return the first bytes, up to `HEAD_BYTES`, which identify the file."""
        return (self.read(self.start, HEAD_BYTES) if self._head is None else self._head)[:size]

    def close(self) -> None:
        """Close the descriptor.

        The head stays available because positions of its rows may still be needed.
        """
        self._head = self.head(HEAD_BYTES)
        os.close(self.fd)


@dataclass(frozen=True)
class RowPosition:
    """Where a row begins: its offset in the stream, its line, and its file."""

    offset: int
    line: int
    file: StreamFile


@dataclass(frozen=True)
class Rows:
    """Consecutive valid rows as documents, with the offset of each, (n,)."""

    batch: Batch
    offsets: Integers
    file: StreamFile

    def __len__(self) -> int:
        return len(self.offsets)

    def position(self, row: int) -> RowPosition:
        """Return the position of one row."""
        return RowPosition(int(self.offsets[row]), int(self.batch.rows[row]), self.file)

    def where(self, keep: Flags) -> "Rows":
        """Return the rows whose flag is set."""
        return self if keep.all() else Rows(self.batch.where(keep), self.offsets[keep], self.file)


class RowSource(Protocol):
    """Where a watch gets its rows from. `ended` is set when no more rows will come."""

    kind: ClassVar[str]  # "file" or "input", as recorded in the model
    ended: bool
    reader: "RowReader"

    def read(self) -> list[Rows] | None:
        """Return the next rows, or None if there are none at the moment."""

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for more rows. Returns True if some are known to have arrived."""

    def saved_position(self, position: RowPosition) -> dict[str, Any]:
        """Describe a position so that a later process can continue from it."""

    def discard_before(self, offset: int) -> None:
        """Release rows before an offset, which will not be read again."""

    def close(self) -> None:
        """Close all files."""


class RowReader:
    """Reads complete rows of one format from one file after another. The next row begins at `position`.

    Rows are UTF-8 unless an encoding is given. Without a delimiter, the header line determines it, because
    other rows may be yet to come.
    """

    def __init__(
        self, format: str, fields: Fields, bad: BadRows, encoding: str = "", delimiter: str = ""
    ) -> None:
        self.format = format
        self.encoding, self.delimiter = encoding, delimiter
        self.fields = fields
        self.bad = bad
        self.position: RowPosition

    def seek(self, file: StreamFile, offset: int | None = None, line: int = 1) -> None:
        """Continue at an offset of a file, by default at its first row."""
        self.position = RowPosition(file.start if offset is None else offset, line, file)

    def next_rows(self, final: bool) -> list[Rows] | None:
        """Read about a megabyte of rows; None if no row is complete.

        `final`: the file will not grow, so its last row is complete even without a line break.
        """
        if self.format != "jsonl" and not self._has_columns(final):
            return None
        file, start, line = self.position.file, self.position.offset, self.position.line
        data, starts, lines, breaks = self._complete_rows(final)
        if not data:
            return None
        stop = start + len(data)
        rows = list(self._parse(start, stop, line, starts + start, lines + line))
        self.position = RowPosition(stop, line + breaks, file)
        return rows

    def header_of(self, file: StreamFile, final: bool = False) -> bytes:
        """Return the header line of a CSV or TSV file, empty while it is incomplete."""
        data = file.read(file.start, CHUNK_BYTES)
        if not file.delimiter:
            line, ended, _ = data.partition(b"\n")
            if not ended and not final:
                return b""
            file.delimiter = delimiter_of(self._part(file, file.start, file.start, 1), line)
        starts, _, stop, _ = _find_rows(data, file.delimiter)
        stop = int(starts[1]) if len(starts) > 1 else stop
        return data[:stop] if stop or not final else data

    def _complete_rows(self, final: bool) -> tuple[bytes, Integers, Integers, int]:
        """Return the bytes of complete rows, the start and line (from 0) of each, and how many lines end."""
        file, size = self.position.file, CHUNK_BYTES
        while True:
            data = file.read(self.position.offset, size)
            at_end = final and len(data) < size
            ended = data if not at_end or data.endswith(b"\n") else data + b"\n"
            starts, lines, stop, breaks = _find_rows(ended, file.delimiter)
            if at_end and data:  # the CSV reader reports a quote that is never closed
                return data, starts, lines, breaks
            if stop or len(data) < size:
                return data[:stop], starts, lines, breaks
            size *= 4
            if size > LONGEST_ROW:
                raise InputError(
                    f"{file.shown}, line {self.position.line}: "
                    f"the row is longer than {LONGEST_ROW >> 20} MB.",
                    "Check --format. In CSV, a quote may be missing.",
                )

    def _has_columns(self, final: bool) -> bool:
        """Read the header line of CSV and TSV, and skip it. False while it is incomplete."""
        file = self.position.file
        if not file.columns:
            header = self.header_of(file, final)
            if not header:
                return False
            after = file.start + len(header)
            file.columns = find_borders(self._part(file, file.start, after, 1), LONGEST_ROW)[0]
            self.fields.found_in(file.columns, f"{file.shown}, line 1")
            if self.position.offset < after:
                self.position = RowPosition(after, 1 + header.count(b"\n"), file)
        return True

    def _parse(self, start: int, stop: int, line: int, starts: Integers, lines: Integers) -> Iterator[Rows]:
        for block in self._blocks(start, stop, line):
            batch = normalize_texts(block(self.bad), self.bad)
            yield Rows(batch, starts[np.searchsorted(lines, batch.rows)], self.position.file)

    def _blocks(self, start: int, stop: int, line: int) -> Iterator[Block]:
        file = self.position.file
        if self.format != "jsonl":
            part = self._part(file, start, stop, line, file.columns)
            yield from read_delimited(part, self.fields, no_progress)
            return
        if self.fields.date is None or self.fields.text is None:
            names = find_json_fields(self._part(file, start, stop, line), self.fields, self.bad.skip)
            if names is None:
                return  # blank lines only
            self.fields = Fields(*names, self.fields.date_format)
        part = self._part(file, start, stop, line, self.fields.names())
        yield from read_json_lines(part, self.fields, self.bad, no_progress)

    def _part(
        self, file: StreamFile, start: int, stop: int, line: int, columns: tuple[str, ...] = ()
    ) -> SourceFile:
        """Some complete rows of a file, as the readers take them."""
        delimiter = file.delimiter or self.delimiter
        return replace(file.part(start, stop, line, columns), encoding=self.encoding, delimiter=delimiter)


def _find_rows(data: bytes, delimiter: str) -> tuple[Integers, Integers, int, int]:
    """Return the start and line (from 0) of each complete row, where the last ends, and how many lines end.

    JSON Lines have no delimiter.
    """
    view = np.frombuffer(data, dtype=np.uint8)
    if delimiter:
        bounds, _, lines, breaks, _ = find_records(view, ord(delimiter))
        return bounds[:-1], lines, int(bounds[-1]), int(breaks)
    ends = np.flatnonzero(view == _LF) + 1
    stop = int(ends[-1]) if len(ends) else 0
    return np.append(0, ends[:-1])[: len(ends)], np.arange(len(ends)), stop, len(ends)
