"""Rows of standard input that survive a restart: input is written to a journal on disk and read from there.

The journal holds only what is not yet in the model, so it stays small. Its name says where in the stream it
begins and the checksum of everything before: `rows-OFFSET-HEADER-CRC32`, where HEADER is the length of the
header line (CSV, TSV) that the journal repeats. If a stream is sent again from its first row, what the
journal already has is skipped, provided that the bytes are the same.
"""

import os
import re
import select
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from isal import isal_zlib

from wordtide.errors import InputError
from wordtide.spelling import counted
from wordtide.storage.folders import explained_write_errors, new_own_files
from wordtide.streaming.rows import CHUNK_BYTES, RowPosition, RowReader, Rows, StreamFile
from wordtide.system import APPENDING, READING, interrupts_deferred

_NAME = re.compile(r"rows-(\d{20})-(\d{10})-([0-9a-f]{8})")
_SHOWN = "standard input"
#: The journal is rewritten once this much of it is no longer needed.
_OBSOLETE_BYTES = 4 << 20
#: The longest time until input is safe from a power cut.
_FLUSH_SECONDS = 1.0


class JournaledInput:
    """The rows of standard input (or another descriptor) from a saved position on.

    `replayed`: the stream is sent again from its first row. `whole_at_end`: at the end of input, the last row
    is complete even without a line break.
    """

    kind: ClassVar[str] = "input"

    def __init__(
        self,
        folder: Path,
        fd: int,
        reader: RowReader,
        position: Mapping[str, Any] | None = None,
        replayed: bool = False,
        whole_at_end: bool = True,
    ) -> None:
        self.ended = False
        self.reader = reader
        self._folder, self._fd, self._whole_at_end = folder, fd, whole_at_end
        self._exhausted, self._flushed, self._dirty = False, time.monotonic(), False
        self._path, self._start, self._crc = self._last_journal()
        self._open()
        self._resume(position)
        self._to_skip, self._skipped_crc = 0, 0  # bytes that are sent again
        self._expected_header = b""  # the header line that each start of a new stream repeats
        if replayed:
            self._to_skip = self._file.end
            return
        if self._file.end > self._start:
            self._end_torn_row()
        self._expected_header = self._header()

    @property
    def _file(self) -> StreamFile:
        return self.reader.position.file

    def read(self) -> list[Rows] | None:
        rows = self.reader.next_rows(final=False)
        if rows is None and self._exhausted:
            self.ended = True
            rows = self.reader.next_rows(final=True) if self._whole_at_end else None
        return rows

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for input and append it to the journal. Returns True if input or its end came.

        Nothing is read while a model is fitted, so the pipe fills up and its writer has to wait.
        """
        if self._exhausted:
            return False
        # On Windows `select` takes sockets only: there the read below waits, for as long as no input comes.
        if os.name != "nt" and not select.select([self._fd], [], [], seconds)[0]:
            self._flush(0.0)
            return False
        with interrupts_deferred():  # input that was read must reach the journal
            data = os.read(self._fd, CHUNK_BYTES)
            if data:
                self._append(self._new_bytes(data))
        if not data:
            self._exhausted = True
            if self._to_skip:
                raise InputError(
                    f"The stream ended {counted(self._to_skip, 'byte')} before the position reached earlier.",
                    "Send all of it from its first row, or omit --replayed if it continues where it stopped.",
                )
        self._flush(_FLUSH_SECONDS)
        return True

    def saved_position(self, position: RowPosition) -> dict[str, Any]:
        """Return offset and line of a row."""
        return {"place": position.offset, "line": position.line}

    def discard_before(self, offset: int) -> None:
        """Rewrite the journal without rows before an offset, if they take up much space."""
        if offset - self._start < _OBSOLETE_BYTES:
            return
        old, position, header = self._file, self.reader.position, self._header()
        crc = self._checksum(offset)
        path = self._folder / f"rows-{offset:020d}-{len(header):010d}-{crc:08x}"
        with new_own_files([path]) as (partial,), open(partial, "wb") as new:
            new.write(header)
            for data in _chunks(old, offset, old.end):
                new.write(data)
        os.unlink(self._path)
        self._path, self._start, self._crc = path, offset, crc
        os.close(self._writing)
        old.close()
        self._open()
        self.reader.seek(self._file, position.offset, position.line)

    def close(self) -> None:
        """Flush and close the journal."""
        self._flush(0.0)
        os.close(self._writing)
        self._file.close()

    def _last_journal(self) -> tuple[Path, int, int]:
        """Return path, first offset and preceding checksum.

        If a killed process left two journals, the later is complete.
        """
        names = sorted(name for name in os.listdir(self._folder) if _NAME.fullmatch(name))
        for name in names[:-1]:
            os.unlink(self._folder / name)
        last = names[-1] if names else f"rows-{0:020d}-{0:010d}-{0:08x}"
        _, start, _, crc = last.split("-")
        return self._folder / last, int(start), int(crc, 16)

    def _open(self) -> None:
        with explained_write_errors(self._path):
            self._writing = os.open(self._path, APPENDING, 0o666)
        header_bytes = int(self._path.name.split("-")[2])
        reading = os.open(self._path, READING)
        start = self._start - header_bytes
        file = StreamFile(reading, start, str(self._path), _SHOWN, self.reader.format)
        self.reader.seek(file, self._start)

    def _resume(self, position: Mapping[str, Any] | None) -> None:
        offset, line = (position["place"], position["line"]) if position else (0, 1)
        if not self._start <= offset <= self._file.end:
            raise InputError(
                f"The folder {self._folder} lacks rows that were read but are not yet in the model.",
                "Restore that folder. Or give these rows up: --forget-position starts over with new input.",
            )
        self.reader.seek(self._file, offset, line)

    def _header(self) -> bytes:
        """Return the header line of CSV and TSV; empty while it is incomplete, and for JSON Lines."""
        return b"" if self.reader.format == "jsonl" else self.reader.header_of(self._file)

    def _end_torn_row(self) -> None:
        """End a row that a killed writer left incomplete, so that it does not swallow the first new row."""
        if self._file.read(self._file.end - 1, 1) != b"\n":
            self._append(b"\n")

    def _new_bytes(self, data: bytes) -> bytes:
        """Return input without what the journal already has; raises an error if that part differs."""
        if self._to_skip:
            known, data = data[: self._to_skip], data[self._to_skip :]
            self._skipped_crc = isal_zlib.crc32(known, self._skipped_crc)
            self._to_skip -= len(known)
            if not self._to_skip and self._skipped_crc != self._checksum(self._file.end):
                raise InputError(
                    "The stream does not begin as it did before.",
                    "Omit --replayed if it continues where it stopped, or start over with --forget-position.",
                )
        if self._expected_header and data:
            known, data = data[: len(self._expected_header)], data[len(self._expected_header) :]
            if not self._expected_header.startswith(known):
                header = self._header().decode("utf-8", "replace").strip()
                raise InputError(
                    f"The stream does not begin with the same header line as before: {header}",
                    "Send the same header line first, as tail -n +1 does.",
                )
            self._expected_header = self._expected_header[len(known) :]
        return data

    def _checksum(self, offset: int) -> int:
        """Return the checksum of the stream up to an offset."""
        crc = self._crc
        for data in _chunks(self._file, self._start, offset):
            crc = isal_zlib.crc32(data, crc)
        return crc

    def _append(self, data: bytes) -> None:
        with explained_write_errors(self._path):
            while data:
                data = data[os.write(self._writing, data) :]
                self._dirty = True

    def _flush(self, after: float) -> None:
        """Force the journal to disk, unless that happened less than `after` seconds ago."""
        if self._dirty and time.monotonic() - self._flushed >= after:
            with explained_write_errors(self._path):
                os.fsync(self._writing)
            self._flushed, self._dirty = time.monotonic(), False


def drop_journal(folder: Path) -> None:
    """Delete the journal in a folder."""
    for name in os.listdir(folder):
        if _NAME.fullmatch(name):
            os.unlink(folder / name)


def _chunks(file: StreamFile, start: int, stop: int) -> Iterator[bytes]:
    while start < stop and (data := file.read(start, min(CHUNK_BYTES, stop - start))):
        yield data
        start += len(data)
