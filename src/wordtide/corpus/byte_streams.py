"""Files to read and their bytes, in blocks of whole lines; errors name the file.

Files are plain, gzip or Zstandard, on disk, behind URLs, or on standard input.

Compressed input may expand only so far: a few kilobytes must not fill the memory. Text shrinks to a third or
a tenth when it is compressed, and hardly ever to less than a fiftieth. Input that becomes longer than
`MAX_EXPANSION` times its compressed bytes, and than `ALWAYS_ALLOWED`, is rejected; the user can raise the
limit.
"""

import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from isal import igzip, isal_zlib

from wordtide.corpus.remote import is_url, open_url
from wordtide.errors import InputError, SettingsError

STANDARD_INPUT: Final = "-"
#: How many times longer than its compressed form a file may become.
MAX_EXPANSION: Final = 200
#: Input of up to this many bytes is accepted however well it was compressed.
ALWAYS_ALLOWED: Final = 64 << 20
BLOCK_BYTES: Final = 1 << 20
LONGEST_LINE: Final = 1 << 30
_PIECE: Final = 8 << 20
_DAMAGE: Final[tuple[Any, ...]] = (igzip.BadGzipFile, isal_zlib.error, zlib.error, pa.ArrowException)
_GZIP: Final = b"\x1f\x8b"
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class Portion:
    """Part of a file: the bytes from `start` to `stop`, or those row groups of a Parquet file.

    Bytes are whole lines or records of a plain file. `first` is the number of the first line or row, so that
    messages and labels are those of the whole file. `columns` is what only the head of the file holds: the
    header of a CSV file, the date and text field of JSON Lines.
    """

    start: int
    stop: int
    first: int
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceFile:
    """One file to read.

    `path` names it in messages, as the user did; `label` in the counts, independent of the location of its
    folder. `location` is where it is opened, if not at `path`: workers of a cluster have other current
    folders. `size` and `version` (an entity tag or a date of change) are known beforehand of files behind
    URLs. `max_expansion`: how many times longer it may become when it is decompressed. `encoding` and
    `delimiter` are those of the user, or found before; if empty, the head of the file determines them.
    """

    path: str
    label: str
    format: str
    location: str = ""
    size: int | None = None
    version: str = ""
    portion: Portion | None = None
    max_expansion: int = MAX_EXPANSION
    encoding: str = ""
    delimiter: str = ""

    @property
    def opened_at(self) -> str:
        """The path or URL to open."""
        return self.location or self.path

    @property
    def shown(self) -> str:
        """The name in messages."""
        return "standard input" if self.path == STANDARD_INPUT else self.path

    @property
    def first(self) -> int:
        """The number of the first line or row."""
        return self.portion.first if self.portion else 1

    def byte_count(self) -> int:
        """Bytes to read, before decompression; 0 if the size is unknown."""
        if self.portion is not None and self.format != "parquet":
            return self.portion.stop - self.portion.start
        if self.size is not None:
            return self.size
        try:
            return 0 if self.path == STANDARD_INPUT else os.stat(self.opened_at).st_size
        except OSError:
            return 0


def check_max_expansion(limit: int) -> None:
    """Raise a SettingsError if this is not a limit of expansion."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 1 << 40:
        raise SettingsError(
            f"--max-expansion {limit} is out of range.", f"Give a whole number from 1 to {1 << 40}."
        )


def check_expansion(shown: str, compressed: int, length: int, limit: int) -> None:
    """Raise an InputError if `compressed` bytes have expanded to too many (`length`)."""
    if length > max(ALWAYS_ALLOWED, limit * compressed):
        raise InputError(
            f"{shown} expands to more than {limit} times its compressed size ({length >> 20:,} MB so far).",
            f"It may be damaged or malicious. If you trust it, count it with --max-expansion {10 * limit}.",
        )


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes, or all if no number is given."""


class CheckedExpansion:
    """A decompressed stream whose expansion is checked as it is read.

    `compressed` returns the number of compressed bytes read so far.
    """

    def __init__(self, stream: Readable, compressed: Callable[[], int], limit: int, shown: str) -> None:
        self._stream = stream
        self._compressed = compressed
        self._limit = limit
        self._shown = shown
        self._length = 0

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes, or all if no number is given, and check the expansion piece by piece."""
        pieces = []
        while size != 0:
            piece = self._stream.read(min(size, _PIECE) if size > 0 else _PIECE)
            if not piece:
                break
            pieces.append(piece)
            self._length += len(piece)
            size -= len(piece) if size > 0 else 0
            check_expansion(self._shown, self._compressed(), self._length, self._limit)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


#: Called with the number of (compressed) bytes read since the last call.
Progress = Callable[[int], None]


def no_progress(_: int) -> None:
    """Ignore progress."""


class CountedBytes(io.RawIOBase):
    """A file, or its next `length` bytes, that reports how many raw bytes have been read."""

    def __init__(self, raw: Any, progress: Progress, length: int | None = None) -> None:
        self._raw = raw
        self._progress = progress
        self._left = length
        self.total = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read into a buffer and report the number of bytes."""
        if self._left is not None and len(buffer) > self._left:
            buffer = memoryview(buffer)[: self._left]
        count = int(self._raw.readinto(buffer))
        self._progress(count)
        self.total += count
        if self._left is not None:
            self._left -= count
        return count


@contextmanager
def open_bytes(file: SourceFile, progress: Progress = no_progress) -> Iterator[Readable]:
    """Open the decompressed bytes of a file. The first bytes, not the name, show the compression."""
    portion = file.portion
    length = portion.stop - portion.start if portion else None
    with (
        explained_read_errors(file.shown),
        _open_raw(file) as raw,
        CountedBytes(raw, progress, length) as counted,
        io.BufferedReader(counted, 1 << 20) as buffered,
    ):

        def checked(inflated: Any) -> Readable:
            return CheckedExpansion(inflated, lambda: counted.total, file.max_expansion, file.shown)

        start = buffered.peek(4)[:4] if portion is None else b""
        if start.startswith(_GZIP):
            with igzip.IGzipFile(fileobj=buffered) as inflated:  # type: ignore[no-untyped-call]
                yield checked(inflated)
        elif start == _ZSTANDARD:
            with pa.CompressedInputStream(pa.PythonFile(buffered, mode="r"), "zstd") as inflated:
                yield checked(inflated)
        else:
            yield buffered


def is_compressed(file: SourceFile) -> bool:
    """Whether the first bytes are those of gzip or Zstandard."""
    with explained_read_errors(file.shown), _open_raw(file) as raw:
        start = io.BufferedReader(CountedBytes(raw, no_progress), 16).peek(4)[:4]
    return start.startswith(_GZIP) or start == _ZSTANDARD


@contextmanager
def _open_raw(file: SourceFile) -> Iterator[Any]:
    """Open the raw bytes, from the start of the portion on; standard input stays open."""
    start, stop = (file.portion.start, file.portion.stop) if file.portion else (0, None)
    if file.path == STANDARD_INPUT:
        yield sys.stdin.buffer
    elif is_url(file.opened_at):
        with open_url(file.opened_at, start, stop) as remote:
            yield remote
    else:
        _check_ends(file)
        with open(file.opened_at, "rb", buffering=0) as local:
            local.seek(start)
            yield local


def _check_ends(file: SourceFile) -> None:
    """Refuse what may never end: devices, and pipes of texts, which are read whole."""
    mode = os.stat(file.opened_at).st_mode
    ends = stat.S_ISFIFO(mode) and file.format != "text"
    if not (ends or stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(f"{file.shown} is not a regular file and may never end.", "Save it in a file first.")


@contextmanager
def explained_read_errors(path: str) -> Iterator[None]:
    """Turn errors of the system and of decompressors into errors that name the file and the remedy."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist.", "Check the path.") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder, not a file.", "Give the files in it.") from error
    except PermissionError as error:
        raise InputError(
            f"{path} cannot be read: permission denied.", "Check the file's permissions."
        ) from error
    except EOFError as error:
        raise InputError(
            f"{path} is cut short: the compressed data end too early.", "Fetch or copy the file again."
        ) from error
    except _DAMAGE as error:
        raise InputError(f"{path} is damaged: {error}", "Fetch or copy the file again.") from error
    except OSError as error:
        if "Truncated" in str(error) or "compress" in str(error).lower() or "ZSTD" in str(error):
            raise InputError(
                f"{path} is damaged or cut short: {error}", "Fetch or copy the file again."
            ) from error
        raise InputError(f"{path} cannot be read: {error}", "Check the file and the disk.") from error


def line_blocks(stream: Readable, file: SourceFile) -> Iterator[tuple[int, bytes]]:
    """Read blocks of whole lines, each with the number of its first line in the file (from 1)."""
    line = file.first
    carried: list[bytes] = []
    carried_bytes = 0
    while chunk := stream.read(BLOCK_BYTES):
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            carried.append(chunk)
            carried_bytes += len(chunk)
            if carried_bytes > LONGEST_LINE:
                raise InputError(
                    f"{file.shown}, line {line}: the line is longer than a gigabyte.",
                    "Check that this is a file of lines.",
                )
            continue
        block = b"".join([*carried, memoryview(chunk)[:cut]])
        yield line, block
        line += count_line_breaks(block)
        carried = [chunk[cut:]]
        carried_bytes = len(carried[0])
    rest = b"".join(carried)
    if rest:
        yield line, rest


def count_line_breaks(block: bytes) -> int:
    """Count line feeds, faster than `bytes.count` if lines are short."""
    return int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == 0x0A))
