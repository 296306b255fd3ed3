"""Folders on disk: a header (JSON) and files of arrays. Written whole or not at all; reading one runs no code.

A folder is built beside its target under a hidden name and renamed at the end, so a reader never sees half of it. What a
killed process left behind is swept away by the next one that writes to the same target.
"""

import errno
import fcntl
import glob
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isal import isal_zlib

from wordtide.errors import FolderError, OutputError, VersionError

HEADER = "header.json"
_LARGEST_HEADER = 64 << 20
_LOCK = ".lock"


@contextmanager
def new_folder(target: Path, overwrite: bool = False) -> Iterator[Path]:
    """A hidden folder to fill, which becomes `target` when the block ends without an error and vanishes otherwise."""
    target = real_target(target)
    check_writable(target, overwrite)
    with explained_write_errors(target):
        _sweep(target)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
        try:
            with _locked(folder):
                yield folder
                (folder / _LOCK).unlink()
                os.chmod(folder, 0o777 & ~_umask())
                _put_in_place(folder, target, overwrite)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def real_target(target: str | os.PathLike[str]) -> Path:
    """Where a folder is written: a symbolic link stays, and what it points to is replaced."""
    if os.path.islink(target) and not os.path.exists(target):
        raise OutputError(f"{target} is a symbolic link that leads nowhere.", "Remove the link, or choose another name.")
    return Path(os.path.realpath(target))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock in a folder, by which others see that its process lives."""
    lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def check_writable(target: Path, overwrite: bool) -> None:
    """Refuse early, before hours of work, a target that exists or whose parent does not."""
    with explained_write_errors(target):
        exists = _exists(target)
        if not exists and _put_back(target):
            exists = True
    if exists and not overwrite:
        raise OutputError(f"{target} exists already.", "Choose another name, or add --overwrite to replace it.")
    if exists and not is_made_by_wordtide(target):
        raise OutputError(f"{target} is not a folder made by wordtide, so it will not be replaced.", "Choose another name.")
    if not target.parent.is_dir():
        raise OutputError(f"The folder {target.parent} does not exist.", f"Make it first: mkdir -p {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"The folder {target.parent} cannot be written to.", "Choose another place for the output.")


@contextmanager
def explained_write_errors(target: Path) -> Iterator[None]:
    """Turn the system's errors while writing into ones that name the target and the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(
                f"The disk is full: {target} could not be written.",
                f"Make room, or write to another disk. Nothing was left behind in {target.parent}.",
            ) from error
        raise OutputError(
            f"{target} cannot be written: {error.strerror or error}.", "Choose another place for the output."
        ) from error


def write_header(folder: Path, kind: str, version: int, content: Mapping[str, Any]) -> None:
    """Write the header last: it lists every other file with its size and checksum."""
    files = {
        path.name: {"bytes": path.stat().st_size, "crc32": _checksum(path)}
        for path in sorted(folder.iterdir())
        if path.name not in (HEADER, _LOCK)
    }
    header = {"kind": kind, "version": version, **content, "files": files}
    text = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / HEADER).write_text(text + "\n", encoding="utf-8")


def read_header(folder: Path, kind: str, version: int) -> dict[str, Any]:
    """The header of a folder, after a check of kind, version, and the size of every file."""
    path = folder / HEADER
    try:
        if path.stat().st_size > _LARGEST_HEADER:
            raise FolderError(f"{path} is too large to be a header.", f"Make the {kind} folder again.")
        header = _read_json(path)
    except FileNotFoundError:
        raise FolderError(f"There is no {kind} folder at {folder}: {path} is missing.", "Check the path.") from None
    except NotADirectoryError:
        raise FolderError(f"{folder} is a file, not a {kind} folder.", "Check the path.") from None
    except (ValueError, RecursionError) as error:
        raise FolderError(f"{path} is damaged: {error}", f"Make the {kind} folder again.") from error
    if not isinstance(header, dict) or header.get("kind") != kind:
        found = header.get("kind") if isinstance(header, dict) else None
        raise FolderError(f"{folder} is not a {kind} folder (it says: {found!r}).", f"Give a {kind} folder.")
    if header.get("version") != version:
        raise VersionError(
            f"{folder} has version {header.get('version')!r} of the {kind} format; this program reads version {version}.",
            "Use the version of wordtide that wrote it, or make the folder again.",
        )
    files = header.get("files")
    if not isinstance(files, dict):
        raise FolderError(f"{path} is damaged: it lists no files.", f"Make the {kind} folder again.")
    for name, facts in files.items():
        _check_size(folder, name, facts, kind)
    return header


def kind_of(folder: Path) -> str | None:
    """The kind that a folder's header names; None if there is none that can be read."""
    try:
        header = _read_json(folder / HEADER)
    except (OSError, ValueError, RecursionError):
        return None
    kind = header.get("kind") if isinstance(header, dict) else None
    return kind if isinstance(kind, str) else None


def verify(folder: Path, header: Mapping[str, Any]) -> None:
    """Read every file and compare its checksum with the header's."""
    for name, facts in header["files"].items():
        if _checksum(folder / name) != facts.get("crc32"):
            raise FolderError(f"{folder / name} is damaged: its checksum is wrong.", "Make the folder again.")


def _checksum(path: Path) -> int:
    value = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            value = isal_zlib.crc32(block, value)
    return value


def _read_json(path: Path) -> Any:
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe of this name would make the reader wait for ever
        raise ValueError("it is not a regular file")
    return json.loads(path.read_text(encoding="utf-8"))


def _check_size(folder: Path, name: object, facts: object, kind: str) -> None:
    remedy = f"Make the {kind} folder again."
    if not isinstance(name, str) or Path(name).name != name or not isinstance(facts, dict):
        raise FolderError(f"{folder / HEADER} is damaged: {name!r} is not the name of a file.", remedy)
    try:
        size = (folder / name).stat().st_size
    except (OSError, ValueError):
        raise FolderError(f"{folder / name} is missing.", remedy) from None
    if size != facts.get("bytes"):
        raise FolderError(f"{folder / name} has {size} bytes, not the {facts.get('bytes')} it was written with.", remedy)


def is_made_by_wordtide(target: Path) -> bool:
    """Is this a folder that wordtide wrote? One that cannot be read is not known to be."""
    try:
        header = _read_json(target / HEADER)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and {"kind", "version", "files"} <= header.keys()


def _exists(target: Path) -> bool:
    """Is there anything of this name? (Unlike `Path.exists` it does not take a name that is too long for a missing file.)"""
    try:
        os.lstat(target)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _put_back(target: Path) -> bool:
    """Put back what a process was about to replace when it was killed between two renames. Was there anything?"""
    for replaced in target.parent.glob(f".{glob.escape(target.name)}.replaced-*"):
        os.rename(replaced, target)
        return True
    return False


def _sweep(target: Path) -> None:
    """Remove what killed processes left of earlier attempts."""
    for replaced in target.parent.glob(f".{glob.escape(target.name)}.replaced-*"):
        shutil.rmtree(replaced, ignore_errors=True)
    for partial in target.parent.glob(f".{glob.escape(target.name)}.partial-*"):
        try:
            lock = os.open(partial / _LOCK, os.O_RDWR)
        except OSError:  # just made by another process, or already gone
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(partial, ignore_errors=True)
        except BlockingIOError:  # its process lives
            continue
        finally:
            os.close(lock)


def _put_in_place(folder: Path, target: Path, overwrite: bool) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
    if not target.exists():
        os.rename(folder, target)
        return
    check_writable(target, overwrite)
    replaced = target.parent / f".{target.name}.replaced-{os.getpid()}"
    os.rename(target, replaced)
    os.rename(folder, target)
    shutil.rmtree(replaced, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
