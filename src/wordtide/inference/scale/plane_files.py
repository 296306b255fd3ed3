"""Files of the arrays of a smoothing fit, which the tasks of a `smoothing_job` exchange."""

import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.errors import OutputError
from wordtide.storage.folders import explained_write_errors
from wordtide.types import Array


class PlaneFile:
    """A file of several (rows, d) arrays, one after the other, written whole and read by runs of rows."""

    def __init__(self, path: Path, rows: int, dim: int, dtype: np.dtype[np.floating]) -> None:
        self.path, self.rows, self.dim, self.dtype = path, rows, dim, dtype

    def read(self, plane: int, start: int, out: Array) -> int:
        """Fill `out` (n, d), which is contiguous, with rows from `start` of one plane.

        Returns the bytes read.
        """
        offset = (plane * self.rows + start) * self.dim * self.dtype.itemsize
        if not out.size:
            return 0
        whole: Any = out  # the type of an array does not declare its buffer
        view = memoryview(whole).cast("B")
        with open(self.path, "rb", buffering=0) as file:
            file.seek(offset)
            done = 0
            while done < len(view):
                count = file.readinto(view[done:])
                if not count:
                    raise OutputError(
                        f"The file {self.path} is truncated.", "Fit again, with a folder on another disk."
                    )
                done += count
        return out.nbytes

    def write(self, planes: list[Array]) -> int:
        """Write all planes. Returns the bytes written."""
        hidden = self.path.with_name(f".{self.path.name}-{uuid.uuid4().hex}")
        with explained_write_errors(self.path), open(hidden, "wb") as file:
            for plane in planes:
                file.write(np.ascontiguousarray(plane).data)
        os.replace(hidden, self.path)
        return sum(plane.nbytes for plane in planes)
