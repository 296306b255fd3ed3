"""Arrays in files, memory-mapped when read: .npy files to append to, and safetensors files written in pieces.

A safetensors file holds eight bytes with the length of the description, the description (JSON: dtype, shape
and offsets of each array), and the arrays. The safetensors library copies arrays into memory when it reads
them for NumPy, so a query about one word would read the whole model. Here the description is read with strict
checks, and the arrays stay on disk.
"""

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.errors import FolderError
from wordtide.types import Array

_DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LARGEST_DESCRIPTION = 1 << 20
_ALIGNMENT = 64
_PIECE_BYTES = 1 << 24
REMEDY = "Copy the model folder again, or fit the model again."


def load_array(folder: Path, name: str, dtypes: str, in_memory: bool = False) -> Array:
    """Load `name.npy`, a one-dimensional array of one of the given dtypes, such as "u2 u4".

    It is mapped, or read if `in_memory`. A file that is missing or damaged is a FolderError.
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


class GrowingArrays(dict[str, GrowingArray]):
    """The growing arrays of a folder, by name. A context manager, at whose end all files are closed."""

    def __init__(self, folder: Path, dtypes: Mapping[str, npt.DTypeLike]) -> None:
        super().__init__({name: GrowingArray(folder, name, dtype) for name, dtype in dtypes.items()})

    def __enter__(self) -> "GrowingArrays":
        return self

    def __exit__(self, *_: object) -> None:
        for array in self.values():
            array.abandon()

    def append(self, **values: Array) -> None:
        """Write values at the end of arrays."""
        for name, added in values.items():
            self[name].append(added)

    def close(self) -> None:
        """Complete all files."""
        for array in self.values():
            array.close()


@dataclass(frozen=True)
class StreamedArray:
    """An array that is never in memory as a whole: its pieces are made while they are written.

    Pieces are successive rows. A piece may be overwritten by the next one.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Callable[[], Iterator[Array]]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


Storable = Array | StreamedArray


def in_file_order(arrays: Mapping[str, Storable]) -> dict[str, Storable]:
    """Arrays in the order in which they are written: wide dtypes first, so that all are aligned."""
    return dict(sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])))


def header_bytes(ordered: Mapping[str, Storable]) -> bytes:
    """The bytes of a file before its first array: the length of the description, and the description."""
    description, end = {}, 0
    for name, array in ordered.items():
        begin, end = end, end + array.nbytes
        dtype = _NAMES[array.dtype.newbyteorder("<")]
        description[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(description, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def write_tensors(path: Path, arrays: Mapping[str, Storable]) -> None:
    """Write arrays of float32, float64, int32 or int64."""
    ordered = in_file_order(arrays)
    with open(path, "wb") as file:
        file.write(header_bytes(ordered))
        for array in ordered.values():
            for piece in array.pieces() if isinstance(array, StreamedArray) else pieces(array):
                file.write(np.ascontiguousarray(piece, dtype=array.dtype.newbyteorder("<")).data)


def pieces(array: Array) -> Iterator[Array]:
    """The rows of an array, a few megabytes at a time."""
    array = array if array.ndim else np.atleast_1d(array)
    rows = max(1, _PIECE_BYTES // max(1, array[:1].nbytes))
    for start in range(0, len(array), rows):
        yield array[start : start + rows]


def map_tensors(path: Path, dimensions: range = range(1, 3), changeable: bool = False) -> dict[str, Array]:
    """Map the arrays of a file, which have one of these numbers of dimensions.

    `changeable` arrays may be changed in memory; the file stays as it is.

    Raises:
        FolderError: The file departs from the format in any way.
    """
    try:
        size = path.stat().st_size
        if not path.is_file():  # reading a pipe would block forever
            raise ValueError("it is not a regular file")
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, _LARGEST_DESCRIPTION):
                raise FolderError(
                    f"{path} is damaged: it does not begin with a description of its arrays.", REMEDY
                )
            description = json.loads(file.read(length).decode("utf-8"), object_pairs_hook=_without_repeats)
        if not isinstance(description, dict):
            raise ValueError("the description is not a table")
        places = {
            name: _place(name, facts, dimensions)
            for name, facts in description.items()
            if name != "__metadata__"
        }
        _check_places(places, size - 8 - length)
        content = np.memmap(path, dtype=np.uint8, mode="c" if changeable else "r")
        if len(content) != size:
            raise ValueError("it changed while it was read")
    except (OSError, ValueError, RecursionError) as error:
        raise FolderError(f"{path} is damaged: {error}.", REMEDY) from error
    data = content[8 + length :]
    return {
        name: data[begin:end].view(dtype).reshape(shape)
        for name, (dtype, shape, begin, end) in places.items()
    }


#: Dtype, shape, and first and last offset of an array.
_Place = tuple["np.dtype[Any]", tuple[int, ...], int, int]


def _place(name: str, facts: object, dimensions: range) -> _Place:
    """Check and read the description of one array."""
    if not isinstance(facts, dict) or set(facts) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{name[:50]!r} lacks dtype, shape or place")
    dtype = _DTYPES.get(facts["dtype"]) if isinstance(facts["dtype"], str) else None
    shape, offsets = facts["shape"], facts["data_offsets"]
    if dtype is None:
        raise ValueError(f"{name[:50]!r} has a dtype that a model does not have")
    if not _are_sizes(shape) or len(shape) not in dimensions or not _are_sizes(offsets) or len(offsets) != 2:
        raise ValueError(f"{name[:50]!r} has an impossible shape or place")
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name[:50]!r} has a place that does not fit its shape")
    return dtype, tuple(shape), offsets[0], offsets[1]


def _are_sizes(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 1 << 62 for value in values)


def _check_places(places: Mapping[str, _Place], size: int) -> None:
    """Check that arrays follow each other without gaps, from the first byte to the last."""
    reached = 0
    for begin, end in sorted((begin, end) for _, _, begin, end in places.values()):
        if begin != reached:
            raise ValueError("arrays overlap, or there is a hole between them")
        reached = end
    if reached != size:
        raise ValueError(f"its arrays take {reached} bytes, and it has {size}")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)
