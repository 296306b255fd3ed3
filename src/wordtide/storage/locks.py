"""One writer at a time for each target, and readers that see one state of a folder even if it is replaced meanwhile.

A lock is a hidden file beside the target. The system lets it go when its process ends, in whatever way; the file that a killed
process left is taken over by the next writer, and removed when that one has finished.
"""

import fcntl
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from wordtide.errors import FolderError, OutputError

#: A function whose first argument is the path of a folder.
Reader = TypeVar("Reader", bound=Callable[..., Any])


@contextmanager
def only_writer(target: Path) -> Iterator[None]:
    """Hold the one right to write a target, whose folder must be there: who else wants it meanwhile is refused at once.

    When the lock is had, the file of that name may be another one, because the holder before removed it at its end; then the
    lock is on what is gone, and is taken anew.
    """
    place = _place(target)
    while True:
        held = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            _lock(held, target)
            if leads_to(place, held):
                try:
                    yield
                finally:
                    place.unlink(missing_ok=True)
                return
        finally:
            os.close(held)


def refuse_if_written(target: Path) -> None:
    """Refuse, before hours of work, a target that another process is writing."""
    try:
        held = os.open(_place(target), os.O_RDWR | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        _lock(held, target)
    finally:
        os.close(held)


def take_lock(held: int, problem: str, remedy: str) -> None:
    """Lock what was opened for this process alone; the error that is given if another process has it."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(problem, remedy) from None


def leads_to(path: Path, opened: int) -> bool:
    """Does this name still lead to the file or folder that was opened?"""
    try:
        there = os.stat(path)
    except OSError:
        return False
    here = os.fstat(opened)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def read_as_one(read: Reader) -> Reader:
    """A function that reads the files of a folder, repeated if the folder was replaced before it had them all."""

    @functools.wraps(read)
    def reading(path: str | os.PathLike[str], *arguments: Any, **options: Any) -> Any:
        while True:
            before = _identity(path)
            try:
                content = read(path, *arguments, **options)
            except (FolderError, OSError):
                if _identity(path) == before:
                    raise
            else:
                if _identity(path) == before:
                    return content

    return cast(Reader, reading)


def _place(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")


def _lock(held: int, target: Path) -> None:
    take_lock(
        held,
        f"Another process is writing {target} just now.",
        "Wait until it has finished, or choose another name.",
    )


def _identity(path: str | os.PathLike[str]) -> tuple[Any, ...] | None:
    """What tells a folder from the one that takes its place; None if there is none. Numbers of files are used again, so the
    time of its last change belongs to it: that of being put into place.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns
