"""Files for what a fit has no room for in memory. They have no names: when the process ends, however it ends, they are gone."""

import os
import shutil
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from wordtide.errors import OutputError, SettingsError
from wordtide.storage.folders import explained_write_errors

Array = npt.NDArray[Any]
_MAPPED = 1 << 14  # arrays of so many bytes are worth a place in a file
_ARENA = 1 << 30
_ALIGNMENT = 64
_FILES = "the files of the fit"


class OffloadFolder:
    """A folder for files that live as long as the fit. They need no room in memory but what the system has to spare.

    `block_bytes`: how much memory a block of words may take that is read from them.
    """

    def __init__(self, path: Path, block_bytes: int) -> None:
        self.path, self.block_bytes = path, block_bytes
        self.moved = 0  # bytes read and written
        self._open = ExitStack()
        self._lock = threading.Lock()
        self._arena: tuple[IO[bytes], Array] | None = None  # where kept arrays go, and a map of it
        self._filled = 0

    def __enter__(self) -> "OffloadFolder":
        if not self.path.is_dir():
            raise SettingsError(
                f"The folder {self.path} of --offload does not exist.", f"Make it first: mkdir -p {self.path}"
            )
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def file(self, size: int) -> IO[bytes]:
        """A file of so many bytes, whose room on the disk is taken at once."""
        free = shutil.disk_usage(self.path).free
        if size > free:
            raise OutputError(
                f"The disk of {self.path} has {free / 1e9:.1f} GB free, and the fit needs {size / 1e9:.1f} GB more there.",
                "Make room, or give --offload a folder on another disk.",
            )
        with explained_write_errors(self.path / _FILES):
            file = self._nameless()
            if hasattr(os, "posix_fallocate") and size:
                os.posix_fallocate(file.fileno(), 0, size)
            file.truncate(size)
        return file

    def _nameless(self) -> IO[bytes]:
        return self._open.enter_context(tempfile.TemporaryFile(dir=self.path))  # closed with all the others

    def kept(self, array: Array) -> Array:
        """An array that will only be read, as a map of a file; a small one as it is.

        Many arrays share a file and a map, because a process may have few files open. It has holes until it is written to.
        """
        if array.nbytes < _MAPPED:
            return array
        begin = -(-self._filled // _ALIGNMENT) * _ALIGNMENT
        if self._arena is None or begin + array.nbytes > len(self._arena[1]):
            with explained_write_errors(self.path / _FILES):
                file = self._nameless()
                file.truncate(max(_ARENA, array.nbytes))
            # A map that may be written to, though nobody does: tensors cannot be read-only.
            self._arena, begin = (file, np.memmap(file, dtype=np.uint8, mode="r+")), 0
        file, content = self._arena
        self.write(file, np.ascontiguousarray(array), begin)
        self._filled = begin + array.nbytes
        return content[begin : self._filled].view(array.dtype).reshape(array.shape)

    def read(self, file: IO[bytes], into: Array, offset: int) -> None:
        """Fill an array from a place in a file."""
        view = _bytes(into)
        done = 0
        while done < len(view):
            with explained_write_errors(self.path / _FILES):
                count = os.preadv(file.fileno(), [view[done:]], offset + done)
            if count == 0:
                raise OutputError(
                    f"A file in {self.path} ends too early.", "Fit again, with --offload on another disk."
                )
            done += count
        self._count(len(view))

    def write(self, file: IO[bytes], array: Array, offset: int) -> None:
        """Write an array to a place in a file."""
        view = _bytes(array)
        done = 0
        with explained_write_errors(self.path / _FILES):
            while done < len(view):
                done += os.pwritev(file.fileno(), [view[done:]], offset + done)
        self._count(len(view))

    def _count(self, moved: int) -> None:
        with self._lock:  # threads read and write slices at the same time
            self.moved += moved


def _bytes(array: Array) -> memoryview:
    whole: Any = array  # NumPy's arrays have a buffer, which its types do not say
    return memoryview(whole).cast("B") if array.size else memoryview(b"")
