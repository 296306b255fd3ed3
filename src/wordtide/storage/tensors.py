"""Arrays in a safetensors file, written in pieces and memory-mapped when read.

The format: eight bytes with the length of the description, the description (JSON: dtype, shape and offsets of
each array), the arrays. The safetensors library copies arrays into memory when it reads them for NumPy, so a
query about one word would read the whole model. Here the description is read with strict checks, and the
arrays stay on disk.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

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


@dataclass(frozen=True)
class Streamed:
    """An array that is never in memory as a whole: its pieces, successive rows, are made while they are
    written.

    A piece may be overwritten by the next one.
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


Storable = Array | Streamed


def in_file_order(arrays: Mapping[str, Storable]) -> dict[str, Storable]:
    """Arrays in the order in which they are written: wide dtypes first, so that all are aligned."""
    return dict(sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])))


def beginning_of(ordered: Mapping[str, Storable]) -> bytes:
    """The bytes before the first array of a file."""
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
        file.write(beginning_of(ordered))
        for array in ordered.values():
            for piece in array.pieces() if isinstance(array, Streamed) else pieces(array):
                file.write(np.ascontiguousarray(piece, dtype=array.dtype.newbyteorder("<")).data)


def pieces(array: Array) -> Iterator[Array]:
    """The rows of an array, a few megabytes at a time."""
    array = np.atleast_1d(array)
    rows = max(1, _PIECE_BYTES // max(1, array[:1].nbytes))
    for start in range(0, len(array), rows):
        yield array[start : start + rows]


def map_tensors(path: Path, dimensions: range = range(1, 3), changeable: bool = False) -> dict[str, Array]:
    """Map the arrays of a file.

    Args:
        path: The file.
        dimensions: The numbers of dimensions that arrays may have.
        changeable: Allow changes, which stay in memory and leave the file as it is.

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


_Place = tuple["np.dtype[Any]", tuple[int, ...], int, int]


def _place(name: str, facts: object, dimensions: range) -> _Place:
    """Dtype, shape, and first and last offset of one array."""
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
