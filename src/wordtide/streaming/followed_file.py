"""Following a file that grows: no row twice and none left out, though it is rotated (renamed and begun anew) meanwhile.

A position that was saved finds its file again by its inode, or else by how the file begins, among the file of the given name
and those that rotation made of it (posts.jsonl.1, posts.jsonl-20200131). A rotated file is read to its end first.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from isal import isal_zlib

from wordtide.corpus.byte_streams import explained_read_errors, is_compressed
from wordtide.corpus.documents import BadRows
from wordtide.corpus.fields import Fields
from wordtide.corpus.source_files import SourceFile
from wordtide.errors import InputError
from wordtide.streaming.rows import HEAD_BYTES, Mark, RowCutter, Rows, StreamFile

_FORGET = (
    "Or begin anew with --forget-position: rows of slices that are in the model are then left out as late."
)


class RowSource(Protocol):
    """Where a watch has its rows from. `ended`: no more will come."""

    ended: bool
    cutter: RowCutter

    def read(self) -> list[Rows] | None:
        """The next rows; None if there are none just now."""

    def wait(self, seconds: float) -> bool:
        """Wait for more, at most so long. Is it known that some came?"""

    def position(self, mark: Mark) -> dict[str, Any]:
        """What it takes to go on from a row after a restart."""

    def taken(self, place: int) -> None:
        """Rows before this place will not be asked for again."""

    def close(self) -> None:
        """Let go of all files."""


class FollowedFile:
    """The rows of a file, from a saved position on; with `follow` also those that are still to be written."""

    def __init__(
        self,
        path: Path,
        format: str,
        fields: Fields,
        bad: BadRows,
        position: Mapping[str, Any] | None = None,
        follow: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.ended = False
        self.cutter = RowCutter(fields, bad)
        self._path, self._format, self._follow, self._tell = path, format, follow, tell
        with explained_read_errors(str(path)):
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise InputError(
                    f"{path} is no regular file.",
                    "Send it to standard input: cat FILE | wordtide watch MODEL -",
                )
            if is_compressed(SourceFile(str(path), path.name, format)):
                raise InputError(
                    f"{path} is compressed, and such a file does not grow row by row.", "Use wordtide update."
                )
        if position is None:
            self._begin(path, 0)
        else:
            with explained_read_errors(str(path)):
                self._find(position)

    @property
    def _file(self) -> StreamFile:
        return self.cutter.reading.file

    def _open(self, path: Path, start: int) -> StreamFile:
        with explained_read_errors(str(path)):
            return StreamFile(os.open(path, os.O_RDONLY), start, str(path), self._format)

    def _begin(self, path: Path, start: int) -> None:
        self.cutter.begin(self._open(path, start))

    def read(self) -> list[Rows] | None:
        """The next rows; None if there are none just now."""
        with explained_read_errors(str(self._path)):
            return self._next_rows()

    def _next_rows(self) -> list[Rows] | None:
        while not self.ended:
            if (rows := self.cutter.next_rows(final=False)) is not None:
                return rows
            successor = self._successor()
            if successor is None and (self._follow or self._is_current()):
                if not self._follow:
                    self.ended = True
                    return self.cutter.next_rows(final=True)
                return None
            if (rows := self.cutter.next_rows(final=True)) is not None:
                return rows
            self._go_on_to(successor)
        return None

    def wait(self, seconds: float) -> bool:
        """Files cannot be waited for: look again a little later."""
        time.sleep(min(seconds, 0.2))
        return False

    def position(self, mark: Mark) -> dict[str, Any]:
        """Place and line of a row, and by what its file is known."""
        inside = mark.place - mark.file.start
        head = mark.file.head(min(HEAD_BYTES, inside))
        return {
            "place": mark.place,
            "line": mark.line,
            "file_start": mark.file.start,
            "inode": mark.file.identity[1],
            "head_bytes": len(head),
            "head_crc32": isal_zlib.crc32(head),
        }

    def taken(self, place: int) -> None:
        """The file is not ours: nothing to tidy up."""

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _is_current(self) -> bool:
        """Does the name still lead to the file that is open?"""
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            return False
        return (now.st_dev, now.st_ino) == self._file.identity

    def _successor(self) -> Path | None:
        """The file to go on with after the one that is open; None while rows may still be added to that."""
        if self._is_current():
            if self._file.end >= self.cutter.reading.place:
                return None
            self._tell(
                f"{self._path} was cut short and is read again from its first row; what was not yet read is lost"
            )
            return self._path
        mine = os.fstat(self._file.fd).st_mtime_ns
        later = [(facts.st_mtime_ns, path) for path, facts in self._rotated() if facts.st_mtime_ns > mine]
        if later:
            return min(later)[1]
        try:  # its writer goes on there, and no more here, once there is something
            return self._path if os.stat(self._path).st_size or not self._follow else None
        except FileNotFoundError:
            return None

    def _go_on_to(self, path: Path | None) -> None:
        if path is None:
            self.ended = True
            return
        old, place = self._file, self.cutter.reading.place
        self._begin(path, place)
        old.close()

    def _rotated(self) -> list[tuple[Path, os.stat_result]]:
        """Files that rotation made of this one."""
        pattern = re.compile(re.escape(self._path.name) + r"[.-]\d[\d._T:-]*")
        found = []
        for name in os.listdir(self._path.parent):
            with suppress(FileNotFoundError):  # it is being renamed, and will be seen the next time
                if pattern.fullmatch(name) and stat.S_ISREG(
                    (facts := os.stat(self._path.parent / name)).st_mode
                ):
                    found.append((self._path.parent / name, facts))
        return found

    def _find(self, position: Mapping[str, Any]) -> None:
        """Go on where a saved position says, in the file of that name or in one that rotation made of it."""
        candidates = [
            self._path,
            *(path for path, _ in sorted(self._rotated(), key=lambda found: -found[1].st_mtime_ns)),
        ]
        for same_inode in (True, False):
            for path in candidates:
                file = self._open(path, position["file_start"])
                if (file.identity[1] == position["inode"]) == same_inode and _begins_alike(
                    file, position, same_inode
                ):
                    self.cutter.begin(file, position["place"], position["line"])
                    return
                file.close()
        if os.stat(self._path).st_ino == position["inode"]:
            self._tell(f"{self._path} was emptied and begun anew; what was not yet read of it is lost")
            self._begin(self._path, position["place"])
            return
        raise InputError(
            f"{self._path} is not the file that was watched last, and no rotated file beside it is.",
            f"Put that file back, or beside it as {self._path.name}.1. {_FORGET}",
        )


def _begins_alike(file: StreamFile, position: Mapping[str, Any], same_inode: bool) -> bool:
    """Is this the file of a saved position: long enough, and with the same first bytes? Too few of them say nothing."""
    head = file.head(position["head_bytes"])
    told = same_inode or len(head) >= HEAD_BYTES // 16
    return told and file.end >= position["place"] and isal_zlib.crc32(head) == position["head_crc32"]
