"""Folders on disk: a header (JSON) and plain arrays (.npy). Written whole or not at all; reading one runs no code.

A folder is built beside its target under a hidden name and renamed at the end, so a reader never sees half of it. What a
killed process left behind is swept away by the next one that writes to the same target.
"""

import contextlib
import errno
import fcntl
import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from isal import isal_zlib

from wordtide.errors import FolderError, OutputError

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
        header = json.loads(path.read_text(encoding="utf-8"))
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
        raise FolderError(
            f"{folder} has version {header.get('version')!r} of the {kind} format; this program reads version {version}.",
            "Use the version of wordtide that wrote it, or make the folder again.",
        )
    files = header.get("files")
    if not isinstance(files, dict):
        raise FolderError(f"{path} is damaged: it lists no files.", f"Make the {kind} folder again.")
    for name, facts in files.items():
        _check_size(folder, name, facts, kind)
    return header


def verify(folder: Path, header: Mapping[str, Any]) -> None:
    """Read every file and compare its checksum with the header's."""
    for name, facts in header["files"].items():
        if _checksum(folder / name) != facts.get("crc32"):
            raise FolderError(f"{folder / name} is damaged: its checksum is wrong.", "Make the folder again.")


def load_array(folder: Path, name: str, dtypes: str, in_memory: bool = False) -> npt.NDArray[Any]:
    """A one-dimensional array of one of the given dtypes (as "u2 u4"), memory-mapped unless asked otherwise."""
    path = folder / f"{name}.npy"
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise FolderError(f"{path} is missing.", "Make the folder again.") from None
    except Exception as error:  # NumPy's reader of a damaged header raises errors of a dozen kinds
        raise FolderError(f"{path} is damaged: {error}", "Make the folder again.") from error
    if array.ndim != 1 or array.dtype not in [np.dtype(f"<{name}") for name in dtypes.split()]:
        raise FolderError(
            f"{path} is damaged: it holds {array.ndim}-dimensional {array.dtype}, not {dtypes}.", "Make the folder again."
        )
    return np.array(array) if in_memory else array


def save_array(folder: Path, name: str, array: npt.NDArray[Any]) -> None:
    """Write an array as `name.npy`, little-endian."""
    whole = GrowingArray(folder, name, array.dtype)
    try:
        whole.append(array)
    finally:
        whole.close()


class GrowingArray:
    """A one-dimensional .npy file that is appended to: its length is written into the header at the end."""

    def __init__(self, folder: Path, name: str, dtype: npt.DTypeLike) -> None:
        self.path = folder / f"{name}.npy"
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.length = 0
        self._file: Any = open(self.path, "wb")  # noqa: SIM115 (closed by close)
        self._write_npy_header()

    def append(self, values: npt.NDArray[Any]) -> None:
        """Write values at the end."""
        self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)  # unlike tofile it says when the disk is full
        self.length += len(values)

    def replace_last(self, value: int) -> None:
        """Write another value over the last one."""
        self._file.seek(-self.dtype.itemsize, os.SEEK_END)
        self._file.write(np.array([value], dtype=self.dtype).tobytes())

    def widen(self, dtype: npt.DTypeLike) -> None:
        """Rewrite what is there in a wider dtype, because a value came that needs it."""
        self.close()
        narrow = np.load(self.path, mmap_mode="r")
        wider = GrowingArray(self.path.parent, self.path.stem + ".wider", dtype)
        for start in range(0, len(narrow), 1 << 22):
            wider.append(narrow[start : start + (1 << 22)].astype(dtype))
        wider.close()
        os.replace(wider.path, self.path)
        self.dtype = wider.dtype
        self._file = open(self.path, "r+b")  # noqa: SIM115
        self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Write the final length and close the file."""
        with self._file:
            self._file.seek(0)
            self._write_npy_header()

    def abandon(self) -> None:
        """Close the file, if it is open, after an error that makes its content worthless."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _write_npy_header(self) -> None:
        # NumPy pads the header so that the first dimension can grow to 21 digits in place.
        description = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, description)


def _checksum(path: Path) -> int:
    value = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            value = isal_zlib.crc32(block, value)
    return value


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
        header = json.loads((target / HEADER).read_text(encoding="utf-8"))
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
    for path in folder.iterdir():
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
