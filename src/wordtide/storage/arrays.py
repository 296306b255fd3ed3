"""Arrays in .npy files: memory-mapped when read, appended to when written."""

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.errors import FolderError
from wordtide.types import Array


def load_array(folder: Path, name: str, dtypes: str, in_memory: bool = False) -> Array:
    """Load `name.npy`, a one-dimensional array of one of the given dtypes.

    Args:
        folder: Where the file is.
        name: The name without extension.
        dtypes: The dtypes that are allowed, such as "u2 u4".
        in_memory: Read the array instead of mapping the file.

    Raises:
        FolderError: The file is missing or damaged.
    """
    path = folder / f"{name}.npy"
    try:
        if path.exists() and not path.is_file():  # reading a pipe would block forever
            raise FolderError(f"{path} is not a regular file.", "Make the folder again.")
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FolderError:
        raise
    except FileNotFoundError:
        raise FolderError(f"{path} is missing.", "Make the folder again.") from None
    except Exception as error:  # NumPy raises errors of many kinds for a damaged header
        raise FolderError(f"{path} is damaged: {error}", "Make the folder again.") from error
    if array.ndim != 1 or array.dtype not in [np.dtype(f"<{name}") for name in dtypes.split()]:
        raise FolderError(
            f"{path} is damaged: it holds {array.ndim}-dimensional {array.dtype}, not {dtypes}.",
            "Make the folder again.",
        )
    return np.array(array) if in_memory else array


def save_array(folder: Path, name: str, array: Array) -> None:
    """Write an array as `name.npy`, little-endian."""
    whole = GrowingArray(folder, name, array.dtype)
    try:
        whole.append(array)
    finally:
        whole.close()


class GrowingArray:
    """A one-dimensional .npy file to append to. `close` writes its length into the header."""

    def __init__(self, folder: Path, name: str, dtype: npt.DTypeLike) -> None:
        self.path = folder / f"{name}.npy"
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.length = 0
        self._file: Any = open(self.path, "wb")  # noqa: SIM115 (closed by close)
        self._write_npy_header()

    def append(self, values: Array) -> None:
        """Write values at the end."""
        self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)  # tofile hides a full disk
        self.length += len(values)

    def replace_last(self, value: int) -> None:
        """Replace the last value."""
        self._file.seek(-self.dtype.itemsize, os.SEEK_END)
        self._file.write(np.array([value], dtype=self.dtype).tobytes())

    def widen(self, dtype: npt.DTypeLike) -> None:
        """Rewrite the file in a wider dtype."""
        self.close()
        narrow = np.load(self.path, mmap_mode="r")
        wider = GrowingArray(self.path.parent, self.path.stem + ".wider", dtype)
        for start in range(0, len(narrow), 1 << 22):
            wider.append(narrow[start : start + (1 << 22)].astype(dtype))
        wider.close()
        os.replace(wider.path, self.path)
        self.dtype = wider.dtype
        self._file = open(self.path, "r+b")  # noqa: SIM115
        self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Write the final length and close the file."""
        with self._file:
            self._file.seek(0)
            self._write_npy_header()

    def abandon(self) -> None:
        """Close the file after an error, without completing it."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _write_npy_header(self) -> None:
        # NumPy pads the header so that the first dimension can grow to 21 digits in place.
        description = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, description)
