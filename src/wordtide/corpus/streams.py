"""Bytes in: plain, gzip or Zstandard files and standard input, in blocks of whole lines, with errors that name the file."""

import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
from isal import igzip, isal_zlib

from wordtide.errors import InputError

BLOCK_BYTES = 8 << 20
LONGEST_LINE = 1 << 30
STANDARD_INPUT = "-"
_DAMAGE: tuple[Any, ...] = (igzip.BadGzipFile, isal_zlib.error, zlib.error, pa.ArrowException)
_GZIP = b"\x1f\x8b"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"

#: Called with the number of (compressed) bytes read since the last call.
Progress = Callable[[int], None]


def shown(path: str) -> str:
    """How messages name a path."""
    return "standard input" if path == STANDARD_INPUT else path


def no_progress(_: int) -> None:
    """For callers that show nothing."""


class Tally(io.RawIOBase):
    """A file that reports how much of it has been read, before any decompression."""

    def __init__(self, raw: IO[bytes], progress: Progress) -> None:
        self._raw = raw
        self._progress = progress

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read, and report how much."""
        count = int(self._raw.readinto(buffer))  # type: ignore[attr-defined]
        self._progress(count)
        return count

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._raw is not sys.stdin.buffer:
            self._raw.close()
        super().close()


@contextmanager
def open_bytes(path: str, progress: Progress = no_progress) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file, or of standard input for "-". The first bytes tell the compression, not the name."""
    with explained_read_errors(path):
        raw = sys.stdin.buffer if path == STANDARD_INPUT else open(path, "rb", buffering=0)  # noqa: SIM115
        with io.BufferedReader(Tally(cast(IO[bytes], raw), progress), 1 << 20) as buffered:
            start = buffered.peek(4)[:4]
            if start.startswith(_GZIP):
                with igzip.IGzipFile(fileobj=buffered) as inflated:  # type: ignore[no-untyped-call]
                    yield cast(IO[bytes], inflated)
            elif start == _ZSTANDARD:
                with pa.CompressedInputStream(pa.PythonFile(buffered, mode="r"), "zstd") as inflated:
                    yield cast(IO[bytes], inflated)
            else:
                yield cast(IO[bytes], buffered)


@contextmanager
def explained_read_errors(path: str) -> Iterator[None]:
    """Turn errors of the system and of the decompressors into ones that name the file and the remedy."""
    path = shown(path)
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist.", "Check the path.") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder where a file was expected.", "Give the files in it.") from error
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied.", "Check the file's permissions.") from error
    except EOFError as error:
        raise InputError(f"{path} is cut short: the compressed data end too early.", "Fetch or copy the file again.") from error
    except _DAMAGE as error:
        raise InputError(f"{path} is damaged: {error}", "Fetch or copy the file again.") from error
    except OSError as error:
        if "Truncated" in str(error) or "compress" in str(error).lower() or "ZSTD" in str(error):
            raise InputError(f"{path} is damaged or cut short: {error}", "Fetch or copy the file again.") from error
        raise InputError(f"{path} cannot be read: {error}", "Check the file and the disk.") from error


def line_blocks(stream: IO[bytes], path: str, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the number of its first line (from 1)."""
    line = 1
    carried: list[bytes] = []
    carried_bytes = 0
    while chunk := stream.read(block_bytes):
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            carried.append(chunk)
            carried_bytes += len(chunk)
            if carried_bytes > LONGEST_LINE:
                raise InputError(
                    f"{shown(path)}, line {line}: the line is longer than a gigabyte.",
                    "Check that this is a file of lines.",
                )
            continue
        block = b"".join([*carried, chunk[:cut]])
        yield line, block
        line += int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == 0x0A))  # short lines: faster than bytes.count
        carried = [chunk[cut:]]
        carried_bytes = len(carried[0])
    rest = b"".join(carried)
    if rest:
        yield line, rest


def size_of(path: str) -> int:
    """Bytes on disk; 0 for standard input and whatever has no size."""
    if path == STANDARD_INPUT:
        return 0
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
