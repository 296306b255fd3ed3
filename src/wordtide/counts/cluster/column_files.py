"""Column files: parts with the same named columns (arrays and lists of strings), stored in one file per
column.

A column is one .npy file with all parts in sequence, memory-mapped when it is read; `parts.json` holds the
ends of the parts. A shard with a hundred segments takes twenty files instead of two thousand.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.storage.arrays import GrowingArray

#: The columns of one part.
Part = Mapping[str, "npt.NDArray[Any] | Sequence[str]"]

_INDEX = "parts.json"
_LENGTHS = "_lengths"  # beside the bytes of a column of strings


def write_parts(folder: Path, parts: Iterable[Part]) -> None:
    """Write parts, all with the same columns, to a folder."""
    files: dict[str, GrowingArray] = {}
    columns: dict[str, dict[str, Any]] = {}
    ends: list[dict[str, int]] = []
    try:
        for part in parts:
            for name, values in part.items():
                columns.setdefault(name, _kind(values))
                for column, array in _arrays(name, values):
                    if column not in files:
                        files[column] = GrowingArray(folder, column, array.dtype)
                    files[column].append(array.ravel())
            ends.append({column: file.length for column, file in files.items()})
        for file in files.values():
            file.close()
    finally:
        for file in files.values():
            file.abandon()
    (folder / _INDEX).write_text(json.dumps({"columns": columns, "ends": ends}), encoding="utf-8")


def read_parts(folder: Path) -> list[dict[str, Any]]:
    """Read the parts of a folder; their arrays are memory-mapped."""
    index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
    stored: dict[str, npt.NDArray[Any]] = {}
    parts: list[dict[str, Any]] = []
    before: dict[str, int] = {}
    for ends in index["ends"]:
        part: dict[str, Any] = {}
        for column, stop in ends.items():
            if column not in stored:
                stored[column] = np.load(folder / f"{column}.npy", mmap_mode="c", allow_pickle=False).view(
                    np.ndarray
                )
            part[column] = stored[column][before.get(column, 0) : stop]
        for name, facts in index["columns"].items():
            if facts["strings"]:
                part[name] = _strings(part[name], part.pop(name + _LENGTHS))
            elif facts["width"]:
                part[name] = part[name].reshape(-1, facts["width"])
        before = ends
        parts.append(part)
    return parts


def _kind(values: object) -> dict[str, Any]:
    if isinstance(values, np.ndarray):
        return {"strings": False, "width": values.shape[1] if values.ndim == 2 else 0}
    return {"strings": True, "width": 0}


def _arrays(name: str, values: Any) -> list[tuple[str, npt.NDArray[Any]]]:
    if isinstance(values, np.ndarray):
        return [(name, values)]
    coded = [text.encode("utf-8", "surrogatepass") for text in values]
    lengths = np.array([len(text) for text in coded], dtype=np.int64)
    return [(name, np.frombuffer(b"".join(coded), dtype=np.uint8)), (name + _LENGTHS, lengths)]


def _strings(letters: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int64]) -> list[str]:
    data = letters.tobytes()
    ends = np.cumsum(lengths)
    starts = ends - lengths
    return [
        data[start:stop].decode("utf-8", "surrogatepass")
        for start, stop in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
