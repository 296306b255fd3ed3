"""The rows of a file that grows, each read exactly once, and the choice between a file and standard input.

A file may be rotated: renamed and started again. A rotated file is read to its end first. A saved position is
matched to its file by inode, or else by the first bytes of the file, among the file of the given name and its
rotated predecessors (posts.jsonl.1, posts.jsonl-20200131).
"""

import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from isal import isal_zlib

from wordtide.corpus.byte_streams import STANDARD_INPUT, SourceFile, explained_read_errors, is_compressed
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.corpus.sources import find_corpus
from wordtide.errors import InputError, SettingsError
from wordtide.progress import Observer
from wordtide.streaming.journal import JournaledInput, drop_journal
from wordtide.streaming.rows import HEAD_BYTES, RowPosition, RowReader, Rows, RowSource, StreamFile
from wordtide.streaming.settings import FORMATS, WatchOptions
from wordtide.streaming.watch_record import WatchRecord
from wordtide.system import READING

_FEWEST_HEAD_BYTES = HEAD_BYTES // 16  # that identify a file with another inode


class FollowedFile:
    """The rows of a file from a saved position on.

    With `follow`, rows that are yet to be written follow.
    """

    kind: ClassVar[str] = "file"

    def __init__(
        self,
        path: Path,
        reader: RowReader,
        position: Mapping[str, Any] | None = None,
        follow: bool = False,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.ended = False
        self.reader = reader
        self._path, self._follow, self._report = path, follow, report
        with explained_read_errors(str(path)):
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise InputError(
                    f"{path} is not a regular file.",
                    "Send it to standard input: cat FILE | wordtide watch MODEL -",
                )
            if is_compressed(SourceFile(str(path), path.name, reader.format)):
                raise InputError(
                    f"{path} is compressed, so it cannot grow row by row.", "Use wordtide update instead."
                )
        if position is None:
            self._start(path, 0)
        else:
            with explained_read_errors(str(path)):
                self._resume(position)

    @property
    def _file(self) -> StreamFile:
        return self.reader.position.file

    def read(self) -> list[Rows] | None:
        with explained_read_errors(str(self._path)):
            return self._next_rows()

    def wait(self, seconds: float) -> bool:
        """Sleep briefly: nothing announces that a file has grown."""
        time.sleep(min(seconds, 0.2))
        return False

    def saved_position(self, position: RowPosition) -> dict[str, Any]:
        """Return offset and line of a row, and what identifies its file."""
        file = position.file
        head = file.head(min(HEAD_BYTES, position.offset - file.start))
        return {
            "place": position.offset,
            "line": position.line,
            "file_start": file.start,
            "inode": file.identity[1],
            "head_bytes": len(head),
            "head_crc32": isal_zlib.crc32(head),
        }

    def discard_before(self, offset: int) -> None:
        """Leave the file alone: it belongs to its writer."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _open(self, path: Path, start: int) -> StreamFile:
        with explained_read_errors(str(path)):
            return StreamFile(os.open(path, READING), start, str(path), str(path), self.reader.format)

    def _start(self, path: Path, start: int) -> None:
        self.reader.seek(self._open(path, start))

    def _next_rows(self) -> list[Rows] | None:
        while not self.ended:
            if (rows := self.reader.next_rows(final=False)) is not None:
                return rows
            successor = self._successor()
            if successor is None and (self._follow or self._is_current()):
                if not self._follow:
                    self.ended = True
                    return self.reader.next_rows(final=True)
                return None
            if (rows := self.reader.next_rows(final=True)) is not None:
                return rows
            self._continue_with(successor)
        return None

    def _is_current(self) -> bool:
        """Return whether the path still names the open file."""
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            return False
        return (now.st_dev, now.st_ino) == self._file.identity

    def _successor(self) -> Path | None:
        """Return the file that follows the open one, or None while the open one may still grow."""
        if self._is_current():
            if self._file.end >= self.reader.position.offset:
                return None
            self._report(
                f"{self._path} was truncated: reading it again from its first row; unread rows are lost"
            )
            return self._path
        mine = os.fstat(self._file.fd).st_mtime_ns
        later = [(facts.st_mtime_ns, path) for path, facts in self._rotated() if facts.st_mtime_ns > mine]
        if later:
            return min(later)[1]
        try:  # once the new file has content, its writer no longer writes to the open one
            return self._path if os.stat(self._path).st_size or not self._follow else None
        except FileNotFoundError:
            return None

    def _continue_with(self, path: Path | None) -> None:
        if path is None:
            self.ended = True
            return
        old, offset = self._file, self.reader.position.offset
        self._start(path, offset)
        old.close()

    def _rotated(self) -> list[tuple[Path, os.stat_result]]:
        """List the files that rotation made of this one."""
        pattern = re.compile(re.escape(self._path.name) + r"[.-]\d[\d._T:-]*")
        found = []
        for path in (self._path.parent / name for name in os.listdir(self._path.parent)):
            with suppress(FileNotFoundError):  # it is being renamed; the next look finds it
                if pattern.fullmatch(path.name) and stat.S_ISREG((facts := os.stat(path)).st_mode):
                    found.append((path, facts))
        return found

    def _resume(self, position: Mapping[str, Any]) -> None:
        """Continue at a saved position, in the file of this name or a rotated one."""
        rotated = sorted(self._rotated(), key=lambda found: -found[1].st_mtime_ns)
        candidates = [self._path, *(path for path, _ in rotated)]
        for same_inode in (True, False):
            for path in candidates:
                file = self._open(path, position["file_start"])
                if (file.identity[1] == position["inode"]) == same_inode and _matches(
                    file, position, same_inode
                ):
                    self.reader.seek(file, position["place"], position["line"])
                    return
                file.close()
        if os.stat(self._path).st_ino == position["inode"]:
            self._report(f"{self._path} was emptied and started again; unread rows are lost")
            self._start(self._path, position["place"])
            return
        raise InputError(
            f"Neither {self._path} nor a rotated file beside it is the file that was watched last.",
            f"Put that file back, or beside this one as {self._path.name}.1. Or start over with "
            "--forget-position: rows of slices that the model already contains are then dropped as late.",
        )


def _matches(file: StreamFile, position: Mapping[str, Any], same_inode: bool) -> bool:
    """Return whether a file is long enough for a saved position and begins with the same bytes."""
    head = file.head(position["head_bytes"])
    conclusive = same_inode or len(head) >= _FEWEST_HEAD_BYTES
    return conclusive and file.end >= position["place"] and isal_zlib.crc32(head) == position["head_crc32"]


def find_stream(source: str | PathLike[str], options: WatchOptions) -> SourceFile:
    """Find the file to watch and its format, and check that the options suit it."""
    files = find_corpus(os.fspath(source), options.format).files
    if len(files) != 1 or files[0].format not in FORMATS or "://" in files[0].path:
        raise InputError(
            f"{source} is not a file of rows that can be watched.",
            "Give one file, or - for standard input, and --format if the name does not end in "
            f"{', '.join(f'.{format}' for format in FORMATS)}.",
        )
    is_input = files[0].path == STANDARD_INPUT
    if options.follow and is_input:
        raise SettingsError("--follow is for files: standard input is always followed.", "Omit --follow.")
    if options.replayed and not is_input:
        raise SettingsError(
            "--replayed is for standard input: files are resumed where the last watch stopped.",
            "Omit --replayed.",
        )
    return files[0]


def open_stream(
    stream: SourceFile,
    folder: Path,
    options: WatchOptions,
    whole_at_end: bool,
    record: WatchRecord | None,
    observer: Observer,
) -> RowSource:
    """Open a stream where the last watch stopped; the journal of standard input is in `folder`.

    `whole_at_end`: at the end of standard input, the last row is complete even without a line break.
    `observer` is notified when rows are lost because a file was emptied.

    Raises:
        SettingsError: The last watch read another kind of source.
    """
    kind = JournaledInput.kind if stream.path == STANDARD_INPUT else FollowedFile.kind
    if options.forget_position:
        drop_journal(folder)
        record = None
    if record is not None and record.source != kind:
        before = "a file" if record.source == FollowedFile.kind else "standard input"
        raise SettingsError(
            f"The last watch of this model read {before}, and this one continues there.",
            "Watch the same source; or start over with another one after the model's last slice: "
            "--forget-position.",
        )
    names = [None, None] if record is None else record.fields
    given = options.fields
    fields = Fields(given.date or names[0], given.text or names[1], given.date_format)
    reader = RowReader(
        stream.format, fields, BadRows(options.skip_bad), options.encoding or "", options.delimiter or ""
    )
    position = None if record is None else record.position
    if kind == FollowedFile.kind:
        return FollowedFile(Path(stream.path), reader, position, options.follow, observer.message)
    return JournaledInput(folder, 0, reader, position, options.replayed, whole_at_end)
