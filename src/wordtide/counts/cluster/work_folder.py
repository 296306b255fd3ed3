"""The folder in which the finished pieces of a job on a cluster are kept until the counts are complete.

Each piece is a folder of its own, named after what it is made from, built under a hidden name and renamed when it is whole: so
a killed worker, or a killed job, costs only what was not finished. What an earlier run left is used if its checksums are
right. All workers must see the folder. Jobs with other settings have other subfolders.
"""

import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wordtide.errors import FolderError, OutputError
from wordtide.storage.folders import (
    HEADER,
    is_made_by_wordtide,
    new_folder,
    read_header,
    remove_folder,
    verify,
    write_header,
)
from wordtide.storage.locks import take_lock

KIND = "work"
VERSION = 1
_PIECE = "piece"
_LOCK = "lock"
_JOB = "job-"
_BUILDING = ".building-"


def fingerprint(*things: object) -> str:
    """A short name that changes with any of the things, which must be plain data."""
    text = json.dumps(things, ensure_ascii=True, sort_keys=True)
    return hashlib.blake2b(text.encode("ascii"), digest_size=12).hexdigest()


class WorkFolder:
    """The pieces of one job. The client and all workers open the same."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, piece: str) -> bool:
        """Is this piece finished?"""
        return (self.path / piece / HEADER).is_file()

    def folder(self, piece: str) -> Path:
        """Where a finished piece lies."""
        return self.path / piece

    def facts(self, piece: str) -> dict[str, Any]:
        """What is written beside the arrays of a piece."""
        facts: dict[str, Any] = read_header(self.path / piece, _PIECE, VERSION)["facts"]
        return facts

    @contextmanager
    def new_piece(self, piece: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """A folder and facts to fill, which become the piece when the block ends without an error."""
        with explained_work_errors(self.path):
            folder = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=self.path))
            facts: dict[str, Any] = {}
            try:
                yield folder, facts
                write_header(folder, _PIECE, VERSION, {"facts": facts})
                try:
                    os.rename(folder, self.path / piece)
                except (
                    OSError
                ) as error:  # a worker that was believed dead has finished the same piece: it is as good
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not self.has(piece):
                        raise
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def clean(self) -> None:
        """Remove what an earlier run left unfinished, or what has been damaged since."""
        for unfinished in self.path.glob(f"{_BUILDING}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        for header in list(self.path.glob(f"*/{HEADER}")):
            try:
                verify(header.parent, read_header(header.parent, _PIECE, VERSION))
            except FolderError as error:
                print(f"wordtide: {error.problem} It is made again.", file=sys.stderr, flush=True)
                removed = self.path / f"{_BUILDING}{header.parent.name}"
                os.rename(
                    header.parent, removed
                )  # at once: half a piece would stand in the way of the new one
                shutil.rmtree(removed, ignore_errors=True)


@contextmanager
def open_work(root: Path, job: str, keep_root: bool) -> Iterator[WorkFolder]:
    """The work folder of a job below `root`, with what an earlier run of it left. After an error it stays, for the next run,
    unless nothing in it is finished.
    """
    with explained_work_errors(root):
        _prepare(root)
        lock = _lock(root)
        work = WorkFolder(root / f"{_JOB}{job}")
        work.path.mkdir(exist_ok=True)
        work.clean()
    try:
        yield work
    except BaseException:
        if not any(root.glob(f"{_JOB}*/*/{HEADER}")):
            remove_work(root, keep_root)
        raise
    finally:
        os.close(lock)


def remove_work(root: Path, keep_root: bool) -> None:
    """Remove a work folder when the counts are in their place; of a folder of the user's (`keep_root`) what was put into it."""
    if not keep_root:
        remove_folder(root)
        return
    for path in root.iterdir():
        if path.is_dir() and path.name.startswith(_JOB):
            shutil.rmtree(path, ignore_errors=True)
    for name in (_LOCK, HEADER):
        (root / name).unlink(missing_ok=True)


@contextmanager
def explained_work_errors(folder: Path) -> Iterator[None]:
    """Turn the system's errors while writing into ones that name the work folder and the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(
                f"The disk is full: the work folder {folder} could not be written.",
                "Make room, or give another folder with --work. What is finished is kept there for the next run.",
            ) from error
        raise OutputError(
            f"The work folder {folder} cannot be written: {error.strerror or error}.",
            "Give another folder with --work.",
        ) from error


def _prepare(root: Path) -> None:
    """Make the folder, or see that it is one of ours. By its header it is known, and not taken for a folder of texts."""
    if not root.exists():
        with new_folder(root) as folder:
            write_header(folder, KIND, VERSION, {})
    elif not any(root.iterdir()):
        write_header(root, KIND, VERSION, {})
    elif not is_made_by_wordtide(root):
        raise OutputError(
            f"{root} holds other things than finished shards.", "Give an empty folder with --work."
        )


def _lock(root: Path) -> int:
    lock = os.open(root / _LOCK, os.O_CREAT | os.O_RDWR)
    try:
        take_lock(
            lock,
            f"Another run is counting with the work folder {root}.",
            "Wait for it, or give another folder with --work.",
        )
    except OutputError:
        os.close(lock)
        raise
    return lock
