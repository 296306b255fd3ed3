"""Locks: only one process at a time writes a target, changes a folder, or works in it.

A lock is a hidden file that the operating system holds for its process and releases when the process ends,
whatever ends it. The holder removes the file when it is done. A file left by a killed process is taken over
by the next holder.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from wordtide.errors import FolderError, OutputError, write_error

#: Seconds to wait for a lock, long enough for a holder that has just finished to remove its file; and between
#: attempts.
_PATIENCE, _PAUSE = 0.1, 0.01


@contextmanager
def locked(path: Path, problem: str, remedy: str, target: Path | None = None) -> Iterator[None]:
    """Hold a lock on `path`, a file in a folder that exists.

    Raises:
        OutputError: Another process holds the lock (`problem`, `remedy`), or the file cannot be made; this
            error names the `target`, by default the file.
    """
    lock = FileLock(path, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(timeout=_PATIENCE, poll_interval=_PAUSE)
    except Timeout:
        raise OutputError(problem, remedy) from None
    except OSError as error:
        raise write_error(error, target or path) from error
    try:
        yield
    finally:
        _release(lock, path)


def _release(lock: BaseFileLock, path: Path) -> None:
    """Remove the file of a lock while it is held, so that others notice, and then release the lock."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:  # Windows removes no open file
        lock.release()
        with suppress(OSError):  # the next holder may have opened it
            path.unlink(missing_ok=True)
    finally:
        lock.release()


@contextmanager
def only_writer(target: Path) -> Iterator[None]:
    """Hold the exclusive right to write a target, which need not exist."""
    with locked(
        _lock_file(target),
        f"Another process is writing {target} .",
        "Wait until it has finished, or choose another name.",
        target,
    ):
        yield


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Hold the exclusive right to read a folder and replace it by a changed one."""
    try:
        os.listdir(folder)
    except OSError as error:
        raise FolderError(f"{folder} cannot be opened: {error.strerror}.", "Check the path.") from error
    with locked(
        folder.with_name(f".{folder.name}.changing.lock"),
        f"Another process is changing {folder} .",
        "Wait until it has finished, and run the command again.",
        folder,
    ):
        yield


def refuse_if_written(target: Path) -> None:
    """Refuse a target that another process is writing, before hours of work."""
    if os.path.lexists(_lock_file(target)):
        with only_writer(target):
            pass


def _lock_file(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")
