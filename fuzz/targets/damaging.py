"""A sound folder of which one file is replaced, overwritten in part, or truncated.

The sizes in the header are those of the files as they are, so that the damage is not found by its size alone.
"""

import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from wordtide.errors import WordtideError

_HEADER = "header.json"
_REPLACED, _CUT = 0, 1  # any other way: overwritten from a place on


class Damaged:
    """A folder made by `make`, whose files are damaged one at a time and given to `use`."""

    def __init__(self, make: Callable[[Path], object], use: Callable[[Path, bool], object]) -> None:
        self._use = use
        self._place = tempfile.TemporaryDirectory(prefix="wordtide-fuzz-")
        self._folder = Path(self._place.name) / "folder"
        make(self._folder)
        self._files = {
            path.name: path.read_bytes() for path in sorted(self._folder.iterdir()) if path.is_file()
        }
        self._names = list(self._files)

    def seeds(self) -> list[bytes]:
        """Each file as it is and cut to a half, and a byte changed in its middle."""
        seeds = []
        for number, (name, content) in enumerate(self._files.items()):
            half = len(content) // 2
            seeds.append(bytes([number, _REPLACED]) + content)
            seeds.append(bytes([number, _CUT]) + half.to_bytes(3, "little"))
            seeds.append(bytes([number + 128, 2]) + half.to_bytes(3, "little") + b"\xff")
            if name.endswith(".npy"):  # a description that promises more than there is
                seeds.append(
                    bytes([number, _REPLACED]) + content.replace(b"'shape': (", b"'shape': (9999999999999")
                )
        return seeds

    def try_input(self, data: bytes) -> None:
        """Damage one file: the first byte names it, its highest bit asks for a check; the second says how."""
        if len(data) < 2:
            return
        name = self._names[(data[0] & 127) % len(self._names)]
        self._write(name, _damaged(self._files[name], data[1], data[2:]))
        try:
            with contextlib.suppress(WordtideError):
                self._use(self._folder, data[0] >= 128)
        finally:
            self._write(name, self._files[name])

    def _write(self, name: str, content: bytes) -> None:
        """Replace a file, which may still be mapped into memory, and put its size into the header."""
        self._put(name, content)
        if name != _HEADER:
            header = json.loads(self._files[_HEADER])
            header["files"][name]["bytes"] = len(content)
            self._put(_HEADER, json.dumps(header).encode())

    def _put(self, name: str, content: bytes) -> None:
        (self._folder / name).unlink(missing_ok=True)
        (self._folder / name).write_bytes(content)


def _damaged(content: bytes, way: int, rest: bytes) -> bytes:
    if way == _REPLACED:
        return rest
    place = int.from_bytes(rest[:3], "little") % (len(content) + 1)
    return content[:place] if way == _CUT else content[:place] + rest[3:] + content[place + len(rest[3:]) :]
