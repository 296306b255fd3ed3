"""Standard input that survives a restart: what is read is put into a journal on disk at once, and rows are taken from there.

The journal holds what is not yet in a model, so it does not grow without end. Its name says where in the stream it begins and
the checksum of all before: `rows-PLACE-HEADER-CRC32`, with the length of the header line (CSV, TSV) that is repeated in it.
A stream that is sent again from its first row is skipped up to the journal's end, if its bytes are the same up to there.
"""

import os
import re
import select
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isal import isal_zlib

from wordtide.corpus.documents import BadRows
from wordtide.corpus.fields import Fields
from wordtide.errors import InputError
from wordtide.storage.folders import explained_write_errors
from wordtide.streaming.rows import CHUNK_BYTES, Mark, RowCutter, Rows, StreamFile

_NAME = re.compile(r"rows-(\d{20})-(\d{10})-([0-9a-f]{8})")
_SHOWN = "standard input"
#: So much of the journal may be done with before it is written anew without it; and the longest time until it is on the disk.
_SUPERFLUOUS_BYTES = 4 << 20
_FLUSH_SECONDS = 1.0


class JournaledInput:
    """The rows of standard input (or another descriptor), from a saved position on.

    `replayed`: the stream comes again from its first row. `whole_at_end`: when it ends, its last row is whole though no line
    break follows.
    """

    def __init__(
        self,
        folder: Path,
        fd: int,
        format: str,
        fields: Fields,
        bad: BadRows,
        position: Mapping[str, Any] | None = None,
        replayed: bool = False,
        whole_at_end: bool = True,
    ) -> None:
        self.ended = False
        self.cutter = RowCutter(fields, bad)
        self._folder, self._fd, self._format, self._whole_at_end = folder, fd, format, whole_at_end
        self._exhausted, self._flushed, self._dirty = False, time.monotonic(), False
        self._path, self._place, self._crc = self._last_journal()
        self._open()
        self._go_to(position)
        self._repeated = b""  # a header that has to come again
        self._skip = 0
        self._skipped_crc = 0
        if replayed:
            self._skip = self._file.end
        elif self._file.end > self._place:
            self._mend_end()
        if not replayed and format != "jsonl":
            self._repeated = self._header()

    @property
    def _file(self) -> StreamFile:
        return self.cutter.reading.file

    def read(self) -> list[Rows] | None:
        """The next rows; None if there are none just now."""
        rows = self.cutter.next_rows(final=False)
        if rows is None and self._exhausted:
            self.ended = True
            rows = self.cutter.next_rows(final=True) if self._whole_at_end else None
        return rows

    def wait(self, seconds: float) -> bool:
        """Wait for input, at most so long, and put what there is into the journal. Did any come? Nobody reads while a model is
        fitted: then the pipe is full, and its writer waits.
        """
        if self._exhausted:
            return False
        if not select.select([self._fd], [], [], seconds)[0]:
            self._flush(0.0)
            return False
        with _without_interruption():  # what was read must not get lost before it is written
            data = os.read(self._fd, CHUNK_BYTES)
            if data:
                self._append(self._new_bytes(data))
        if not data:
            self._exhausted = True
            if self._skip:
                raise InputError(
                    f"The stream ended {self._skip:,} bytes before the place that was reached before.",
                    "Send all of it, from its first row; or leave out --replayed if it goes on where it stopped.",
                )
        self._flush(_FLUSH_SECONDS)
        return True

    def position(self, mark: Mark) -> dict[str, Any]:
        """Place and line of a row."""
        return {"place": mark.place, "line": mark.line}

    def taken(self, place: int) -> None:
        """Write the journal anew without what is done with, if that is much."""
        if place - self._place < _SUPERFLUOUS_BYTES:
            return
        header = self._header()
        old, reading = self._file, self.cutter.reading
        crc = self._checksum(place)
        path = self._folder / f"rows-{place:020d}-{len(header):010d}-{crc:08x}"
        with explained_write_errors(path):
            beside = self._folder / "new-journal"
            with open(beside, "wb") as new:
                new.write(header)
                at = place
                while data := old.read(at, CHUNK_BYTES):
                    new.write(data)
                    at += len(data)
                new.flush()
                os.fsync(new.fileno())
            os.rename(beside, path)
            os.unlink(self._path)
        self._path, self._place, self._crc = path, place, crc
        os.close(self._writing)
        old.close()
        self._open()
        self.cutter.begin(self._file, reading.place, reading.line)

    def close(self) -> None:
        """Put all on the disk, and let go of the journal."""
        self._flush(0.0)
        os.close(self._writing)
        self._file.close()

    def _last_journal(self) -> tuple[Path, int, int]:
        """The journal, its first place and the checksum before it. If a killed process left two, the later one is complete."""
        names = sorted(name for name in os.listdir(self._folder) if _NAME.fullmatch(name))
        for name in names[:-1]:
            os.unlink(self._folder / name)
        last = names[-1] if names else f"rows-{0:020d}-{0:010d}-{0:08x}"
        _, place, _, crc = last.split("-")
        return self._folder / last, int(place), int(crc, 16)

    def _open(self) -> None:
        with explained_write_errors(self._path):
            self._writing = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        header = int(self._path.name.split("-")[2])
        file = StreamFile(os.open(self._path, os.O_RDONLY), self._place - header, _SHOWN, self._format)
        self.cutter.begin(file, self._place)

    def _go_to(self, position: Mapping[str, Any] | None) -> None:
        place = position["place"] if position else 0
        if not self._place <= place <= self._file.end:
            raise InputError(
                f"The rows that were read and are not yet in the model should be in {self._folder}, and are not.",
                "Put that folder back. Or give them up: --forget-position begins anew with what comes now.",
            )
        self.cutter.begin(self._file, place, position["line"] if position else 1)

    def _header(self) -> bytes:
        """The header line of CSV and TSV as it stands in the journal; nothing if it is not whole, or of JSON Lines."""
        if self._format == "jsonl":
            return b""
        return self.cutter.header_of(self._file)

    def _mend_end(self) -> None:
        """A row that a killed writer left half-written is ended, so that it does not swallow the first of the new ones."""
        if self._file.read(self._file.end - 1, 1) != b"\n":
            self._append(b"\n")

    def _new_bytes(self, data: bytes) -> bytes:
        """What of the input was not taken before: without the part that comes again, which must be as it was."""
        if self._skip:
            known, data = data[: self._skip], data[self._skip :]
            self._skipped_crc = isal_zlib.crc32(known, self._skipped_crc)
            self._skip -= len(known)
            if not self._skip and self._skipped_crc != self._checksum(self._file.end):
                raise InputError(
                    "The stream does not begin as it did before.",
                    "Leave out --replayed if it goes on where it stopped; or begin anew with --forget-position.",
                )
        if self._repeated and data:
            known, data = data[: len(self._repeated)], data[len(self._repeated) :]
            if not self._repeated.startswith(known):
                header = self._header().decode("utf-8", "replace").strip()
                raise InputError(
                    f"The stream does not begin with the header that it had before: {header}",
                    "Send the same header line first: tail -n +1 does.",
                )
            self._repeated = self._repeated[len(known) :]
        return data

    def _checksum(self, place: int) -> int:
        """The checksum of the stream up to a place."""
        crc, at = self._crc, self._place
        while at < place and (data := self._file.read(at, min(CHUNK_BYTES, place - at))):
            crc, at = isal_zlib.crc32(data, crc), at + len(data)
        return crc

    def _append(self, data: bytes) -> None:
        with explained_write_errors(self._path):
            while data:
                data = data[os.write(self._writing, data) :]
                self._dirty = True

    def _flush(self, after: float) -> None:
        """Have the disk hold what is in the journal, if that was last done so many seconds ago."""
        if self._dirty and time.monotonic() - self._flushed >= after:
            with explained_write_errors(self._path):
                os.fsync(self._writing)
            self._flushed, self._dirty = time.monotonic(), False


def drop_journal(folder: Path) -> None:
    """Give up what is in the journal."""
    for name in os.listdir(folder):
        if _NAME.fullmatch(name):
            os.unlink(folder / name)


@contextmanager
def _without_interruption() -> Iterator[None]:
    """Ctrl-C and a request to end wait until the block is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
