"""Folders on disk: a header (JSON) and files of arrays. Written whole or not at all; reading one runs no code.

A folder is built beside its target under a hidden name and renamed at the end, so a reader never sees half of it. What a
killed process left behind is swept away by the next one that writes to the same target; of two at once the second is refused.
"""

import errno
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
from wordtide.storage.exchange import exchange
from wordtide.storage.locks import leads_to, only_writer, refuse_if_written, take_lock

HEADER = "header.json"
_LARGEST_HEADER = 64 << 20
#: What systems answer where a file cannot have a second name, or no more of them.
_NO_LINKS = (
    errno.EPERM,
    errno.EACCES,
    errno.EXDEV,
    errno.EMLINK,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.ENOTSUP,
)


@contextmanager
def new_folder(target: Path, overwrite: bool = False) -> Iterator[Path]:
    """A hidden folder to fill, which becomes `target` when the block ends without an error and vanishes otherwise."""
    target = real_target(target)
    check_writable(target, overwrite)
    with explained_write_errors(target), only_writer(target):
        sweep(target)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
        try:
            yield folder
            os.chmod(folder, 0o777 & ~_umask())
            _put_in_place(folder, target, overwrite)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # half a folder, or the one that was replaced


def real_target(target: str | os.PathLike[str]) -> Path:
    """Where a folder is written: a symbolic link stays, and what it points to is replaced."""
    if os.path.islink(target) and not os.path.exists(target):
        raise OutputError(
            f"{target} is a symbolic link that leads nowhere.", "Remove the link, or choose another name."
        )
    return Path(os.path.realpath(target))


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Hold the one right to replace a folder by a changed one: who else wants it meanwhile is refused.

    The lock is on the folder itself, so nothing is left behind. When it is had, the folder of that name may be another one,
    because the holder before replaced it; then the lock is on what is gone, and is taken anew.
    """
    while True:
        try:
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise FolderError(f"{folder} cannot be opened: {error.strerror}.", "Check the path.") from error
        try:
            take_lock(
                held,
                f"Another process is changing {folder} just now.",
                "Wait until it has finished, and type the command again.",
            )
            if leads_to(folder, held):
                yield
                return
        finally:
            os.close(held)


def check_writable(target: Path, overwrite: bool) -> None:
    """Refuse early, before hours of work, a target that exists, that is being written, or whose parent does not exist."""
    with explained_write_errors(target):
        refuse_if_written(target)
        if not _exists(target) and any(_leftovers(target, "replaced")):
            with only_writer(target):
                _put_back(target)
    _check_place(target, overwrite)


def _check_place(target: Path, overwrite: bool) -> None:
    with explained_write_errors(target):
        exists = _exists(target)
    if exists and not overwrite:
        raise OutputError(
            f"{target} exists already.", "Choose another name, or add --overwrite to replace it."
        )
    if exists and not is_made_by_wordtide(target):
        raise OutputError(
            f"{target} is not a folder made by wordtide, so it will not be replaced.", "Choose another name."
        )
    if not target.parent.is_dir():
        raise OutputError(
            f"The folder {target.parent} does not exist.", f"Make it first: mkdir -p {target.parent}"
        )
    if not os.access(target.parent, os.W_OK):
        raise OutputError(
            f"The folder {target.parent} cannot be written to.", "Choose another place for the output."
        )


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


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file that is never changed a second name; where the file system has no such names, copy it."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(source, target)


def file_facts(path: Path) -> dict[str, int]:
    """Size and checksum of a file, as a header lists them."""
    return {"bytes": path.stat().st_size, "crc32": _checksum(path)}


def write_header(
    folder: Path,
    kind: str,
    version: int,
    content: Mapping[str, Any],
    known: Mapping[str, Mapping[str, int]] | None = None,
) -> None:
    """Write the header last: it lists every other file with its size and checksum.

    `known`: what is known already of some files, which are then not read again.
    """
    files = {
        path.name: dict(known[path.name]) if known and path.name in known else file_facts(path)
        for path in sorted(folder.iterdir())
        if path.name != HEADER
    }
    header = {"kind": kind, "version": version, **content, "files": files}
    text = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / HEADER).write_text(text + "\n", encoding="utf-8")


def read_header(folder: Path, kind: str, *versions: int) -> dict[str, Any]:
    """The header of a folder, after a check of kind, version (one of those given), and the size of every file."""
    path = folder / HEADER
    try:
        if path.stat().st_size > _LARGEST_HEADER:
            raise FolderError(f"{path} is too large to be a header.", f"Make the {kind} folder again.")
        header = _read_json(path)
    except FileNotFoundError:
        raise FolderError(
            f"There is no {kind} folder at {folder}: {path} is missing.", "Check the path."
        ) from None
    except NotADirectoryError:
        raise FolderError(f"{folder} is a file, not a {kind} folder.", "Check the path.") from None
    except (ValueError, RecursionError) as error:
        raise FolderError(f"{path} is damaged: {error}", f"Make the {kind} folder again.") from error
    if not isinstance(header, dict) or header.get("kind") != kind:
        found = header.get("kind") if isinstance(header, dict) else None
        raise FolderError(f"{folder} is not a {kind} folder (it says: {found!r}).", f"Give a {kind} folder.")
    if header.get("version") not in versions:
        known = " and ".join(map(str, versions))
        raise VersionError(
            f"{folder} has version {header.get('version')!r} of the {kind} format; this program reads version {known}.",
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
        found = (folder / name).stat()
    except (OSError, ValueError):
        raise FolderError(f"{folder / name} is missing.", remedy) from None
    if not stat.S_ISREG(found.st_mode):  # a pipe would make the reader wait for ever
        raise FolderError(f"{folder / name} is not a regular file.", remedy)
    size = found.st_size
    if size != facts.get("bytes"):
        raise FolderError(
            f"{folder / name} has {size} bytes, not the {facts.get('bytes')} it was written with.", remedy
        )


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


def _leftovers(target: Path, state: str) -> Iterator[Path]:
    return target.parent.glob(f".{glob.escape(target.name)}.{state}-*")


def _put_back(target: Path) -> None:
    """Put back what a process was about to replace when it was killed between two renames."""
    for replaced in _leftovers(target, "replaced"):
        if not _exists(target):
            os.rename(replaced, target)


def sweep(target: Path) -> None:
    """Remove what killed processes left of earlier attempts. Only for the one that has the right to write the target."""
    _put_back(target)
    for state in ("replaced", "partial"):
        for leftover in _leftovers(target, state):
            shutil.rmtree(leftover, ignore_errors=True)


def remove_folder(target: Path) -> None:
    """Remove a folder, if it is there. It loses its name at once: a process that is killed here leaves no half of it."""
    with explained_write_errors(target), only_writer(target):
        sweep(target)
        if _exists(target):
            removed = target.parent / f".{target.name}.partial-removed"
            os.rename(target, removed)
            shutil.rmtree(removed, ignore_errors=True)


def clean_up(target: Path) -> None:
    """Remove what killed processes left beside a target that is there."""
    with explained_write_errors(target), only_writer(target):
        sweep(target)


def _put_in_place(folder: Path, target: Path, overwrite: bool) -> None:
    """Give the folder the name of the target. What had that name has that of the folder afterwards, or none."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
    if not target.exists():
        os.rename(folder, target)
        return
    _check_place(target, overwrite)
    if exchange(folder, target):
        return  # what was there is hidden now
    replaced = target.parent / f".{target.name}.replaced-{os.getpid()}"
    os.rename(target, replaced)
    os.rename(folder, target)
    shutil.rmtree(replaced, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
