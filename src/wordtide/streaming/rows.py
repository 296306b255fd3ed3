"""Rows of a stream: whole ones only, each known by its place, from files that still grow.

A stream is a chain of files. The place of a row is the number of bytes of the stream before it, so it does not depend on how
much was read at a time. Rows are parsed by the readers of `wordtide count`, so the two accept the same rows.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wordtide.corpus.byte_streams import explained_read_errors, no_progress
from wordtide.corpus.delimited import find_borders, find_records, read_delimited
from wordtide.corpus.documents import BadRows, Batch, Block
from wordtide.corpus.encoding import prepare
from wordtide.corpus.fields import Fields
from wordtide.corpus.jsonlines import find_json_fields, read_json_lines
from wordtide.corpus.source_files import Portion, SourceFile
from wordtide.errors import InputError

Integers = npt.NDArray[np.int64]
#: Bytes that are looked at together, and the most that one row may have: both bound the memory of a watch.
CHUNK_BYTES = 1 << 20
LONGEST_ROW = 1 << 26
HEAD_BYTES = 1024
_DELIMITERS = {"csv": ord(","), "tsv": ord("\t")}
_LF = 0x0A


@dataclass
class StreamFile:
    """An open file of a stream: `start` is the place of its first byte. `columns` of CSV and TSV, once the header is whole."""

    fd: int
    start: int
    shown: str
    format: str
    columns: tuple[str, ...] = ()
    identity: tuple[int, int] = field(init=False)
    _head: bytes | None = None

    def __post_init__(self) -> None:
        facts = os.fstat(self.fd)
        self.identity = (facts.st_dev, facts.st_ino)

    @property
    def end(self) -> int:
        """The place after its last byte, as of now."""
        return self.start + os.fstat(self.fd).st_size

    def read(self, place: int, size: int) -> bytes:
        """Some bytes from a place on: fewer only where the file ends."""
        with explained_read_errors(self.shown):
            pieces = []
            while size and (piece := os.pread(self.fd, size, place - self.start)):
                pieces.append(piece)
                place, size = place + len(piece), size - len(piece)
        return b"".join(pieces)

    def part(self, place: int, stop: int, line: int, columns: tuple[str, ...]) -> SourceFile:
        """Some whole rows as a source for the readers: opened by descriptor, for the file's name may be another's by now."""
        portion = Portion(place - self.start, stop - self.start, line, columns)
        return SourceFile(self.shown, self.shown, self.format, location=f"/dev/fd/{self.fd}", portion=portion)

    def head(self, size: int) -> bytes:
        """Its first bytes, `HEAD_BYTES` at most, by which it is known again."""
        return (self.read(self.start, HEAD_BYTES) if self._head is None else self._head)[:size]

    def close(self) -> None:
        """Give the descriptor back; the first bytes are kept, because rows of it may still be in use."""
        self._head = self.head(HEAD_BYTES)
        os.close(self.fd)


@dataclass(frozen=True)
class Mark:
    """Where a row begins: its place in the stream, its line, and the file it stands in."""

    place: int
    line: int
    file: StreamFile


@dataclass(frozen=True)
class Rows:
    """Good rows that follow each other: documents, and the place of each, (n,)."""

    batch: Batch
    places: Integers
    file: StreamFile

    def __len__(self) -> int:
        return len(self.places)

    def mark(self, row: int) -> Mark:
        """Where a row begins."""
        return Mark(int(self.places[row]), int(self.batch.rows[row]), self.file)

    def where(self, keep: npt.NDArray[np.bool_]) -> "Rows":
        """The rows with a True."""
        return self if keep.all() else Rows(self.batch.where(keep), self.places[keep], self.file)


class RowCutter:
    """Takes whole rows out of one file after another. `reading` is where the next row begins."""

    def __init__(self, fields: Fields, bad: BadRows) -> None:
        self.fields = fields
        self.bad = bad
        self.reading: Mark

    def begin(self, file: StreamFile, place: int | None = None, line: int = 1) -> None:
        """Go on at a place of a file; without one at its first row."""
        self.reading = Mark(file.start if place is None else place, line, file)

    def next_rows(self, final: bool) -> list[Rows] | None:
        """The next rows, at most about a megabyte; None if none is whole. `final`: the file ends, and so does its last row."""
        if self.reading.file.format != "jsonl" and not self._has_columns(final):
            return None
        file, place, line = self.reading.file, self.reading.place, self.reading.line
        data, starts, lines, breaks = self._whole_rows(final)
        if not data:
            return None
        stop = place + len(data)
        rows = list(self._parsed(place, stop, line, starts + place, lines + line))
        self.reading = Mark(stop, line + breaks, file)
        return rows

    def _whole_rows(self, final: bool) -> tuple[bytes, Integers, Integers, int]:
        """The bytes of whole rows, where in them each begins and on which line (from 0), and the number of line breaks."""
        file, size = self.reading.file, CHUNK_BYTES
        while True:
            data = file.read(self.reading.place, size)
            ends_here = final and len(data) < size
            whole = data if not ends_here or data.endswith(b"\n") else data + b"\n"
            starts, lines, stop, breaks = _rows_in(whole, file.format)
            if ends_here and data:
                return (
                    data,
                    starts,
                    lines,
                    breaks,
                )  # a quote that is never closed is for the reader to complain of
            if stop or len(data) < size:
                return data[:stop], starts, lines, breaks
            size *= 4
            if size > LONGEST_ROW:
                raise InputError(
                    f"{file.shown}, line {self.reading.line}: the row is longer than {LONGEST_ROW >> 20} MB.",
                    "Check the --format; in CSV a quote may be open.",
                )

    def header_of(self, file: StreamFile, final: bool = False) -> bytes:
        """The header line of a CSV or TSV file; empty as long as it is not whole."""
        data = file.read(file.start, CHUNK_BYTES)
        starts, _, stop, _ = _rows_in(data, file.format)
        stop = int(starts[1]) if len(starts) > 1 else stop
        return data[:stop] if stop or not final else data

    def _has_columns(self, final: bool) -> bool:
        """CSV and TSV: is the header known? Reading goes on after it."""
        file = self.reading.file
        if not file.columns:
            header = self.header_of(file, final)
            if not header:
                return False
            after = file.start + len(header)
            file.columns = find_borders(file.part(file.start, after, 1, ()), LONGEST_ROW)[0]
            self.fields.found_in(file.columns, f"{file.shown}, line 1")
            if self.reading.place < after:
                self.reading = Mark(after, 1 + header.count(b"\n"), file)
        return True

    def _parsed(self, place: int, stop: int, line: int, starts: Integers, lines: Integers) -> Iterator[Rows]:
        for block in self._blocks(place, stop, line):
            batch = prepare(block(self.bad), self.bad)
            yield Rows(batch, starts[np.searchsorted(lines, batch.rows)], self.reading.file)

    def _blocks(self, place: int, stop: int, line: int) -> Iterator[Block]:
        file = self.reading.file
        if file.format != "jsonl":
            yield from read_delimited(file.part(place, stop, line, file.columns), self.fields, no_progress)
            return
        if self.fields.date is None or self.fields.text is None:
            names = find_json_fields(file.part(place, stop, line, ()), self.fields, self.bad.skip)
            if names is None:
                return  # blank lines
            self.fields = Fields(*names, self.fields.date_format)
        yield from read_json_lines(
            file.part(place, stop, line, self.fields.names()), self.fields, self.bad, no_progress
        )


def _rows_in(data: bytes, format: str) -> tuple[Integers, Integers, int, int]:
    """Where each whole row begins and on which line (from 0), where they end, and the number of line breaks before that."""
    view = np.frombuffer(data, dtype=np.uint8)
    if format != "jsonl":
        bounds, _, lines, breaks, _ = find_records(view, _DELIMITERS[format])
        return bounds[:-1], lines, int(bounds[-1]), int(breaks)
    ends = np.flatnonzero(view == _LF) + 1
    stop = int(ends[-1]) if len(ends) else 0
    return np.append(0, ends[:-1])[: len(ends)], np.arange(len(ends)), stop, len(ends)
