"""The header of a folder: a JSON file with kind, version, content, and the checksums of all other files."""

import functools
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from isal import isal_zlib

from wordtide.errors import FolderError, VersionError

HEADER = "header.json"
_LARGEST = 64 << 20  # bytes of a JSON file
#: A function whose first argument is the path of a folder.
Reader = TypeVar("Reader", bound=Callable[..., Any])


def file_facts(path: Path) -> dict[str, int]:
    """The size and checksum of a file, as a header lists them."""
    return {"bytes": path.stat().st_size, "crc32": _checksum(path)}


def write_header(
    folder: Path,
    kind: str,
    version: int,
    content: Mapping[str, Any],
    known: Mapping[str, Mapping[str, int]] | None = None,
) -> None:
    """Write the header of a folder that is otherwise complete, with further entries (`content`).

    It lists size and checksum of all files, also those in subfolders; `known` ones are not read again.
    """
    found = sorted(path for path in folder.rglob("*") if not path.is_dir())
    names = [path.relative_to(folder).as_posix() for path in found]
    files = {
        name: dict(known[name]) if known and name in known else file_facts(folder / name)
        for name in names
        if name != HEADER
    }
    header = {"kind": kind, "version": version, **content, "files": files}
    text = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / HEADER).write_text(text + "\n", encoding="utf-8", newline="\n")


def read_header(folder: Path, kind: str, *versions: int) -> dict[str, Any]:
    """Read a header, and check kind, version and the size of every file.

    Raises:
        FolderError: The folder is missing, damaged, or of another kind.
        VersionError: Its version is not one of `versions`.
    """
    path = folder / HEADER
    try:
        header = read_json(path)
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
        raise FolderError(
            f"{folder} is not a {kind} folder, but of kind {found!r}.", f"Give a {kind} folder."
        )
    if header.get("version") not in versions:
        known = " and ".join(map(str, versions))
        raise VersionError(
            f"{folder} has version {header.get('version')!r} of the {kind} format; "
            f"this program reads version {known}.",
            "Use the version of wordtide that wrote it, or make the folder again.",
        )
    files = header.get("files")
    if not isinstance(files, dict):
        raise FolderError(f"{path} is damaged: it lists no files.", f"Make the {kind} folder again.")
    for name, facts in files.items():
        _check_size(folder, name, facts, kind)
    return header


def kind_of(folder: Path) -> str | None:
    """The kind that a folder's header states; None if the header cannot be read."""
    kind = _entries(folder).get("kind")
    return kind if isinstance(kind, str) else None


def is_made_by_wordtide(folder: Path) -> bool:
    """Whether the folder has a header. False if it cannot be read."""
    return {"kind", "version", "files"} <= _entries(folder).keys()


def verify(folder: Path, header: Mapping[str, Any]) -> None:
    """Compare the checksum of every file with the header."""
    for name, facts in header["files"].items():
        if _checksum(folder / name) != facts.get("crc32"):
            raise FolderError(f"{folder / name} is damaged: its checksum is wrong.", "Make the folder again.")


def read_as_one(read: Reader) -> Reader:
    """Repeat a function that reads the files of a folder if the folder was replaced before all were read."""

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


def _identity(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    """A value that changes when another folder takes this name; None if there is none.

    Inode numbers are reused, so the time of the last change belongs to it.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _entries(folder: Path) -> dict[str, Any]:
    try:
        header = read_json(folder / HEADER)
    except (OSError, ValueError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}


def read_json(path: Path) -> Any:
    """Read a JSON file; ValueError if it is not a regular file, or too large."""
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST:  # a pipe would block forever
        raise ValueError("it is not a regular file, or too large for one of its kind")
    return json.loads(path.read_text(encoding="utf-8"))


def _checksum(path: Path) -> int:
    value = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            value = isal_zlib.crc32(block, value)
    return value


def _is_inside(name: str) -> bool:
    """Whether this names a file of a folder or of a subfolder."""
    parts = name.split("/")
    return len(parts) <= 2 and all(Path(part).name == part and "\\" not in part for part in parts)


def _check_size(folder: Path, name: object, facts: object, kind: str) -> None:
    remedy = f"Make the {kind} folder again."
    if not isinstance(name, str) or not _is_inside(name) or not isinstance(facts, dict):
        raise FolderError(f"{folder / HEADER} is damaged: {name!r} is not the name of a file.", remedy)
    try:
        found = (folder / name).lstat()
        if stat.S_ISLNK(found.st_mode) or (folder / name).parent != folder:
            home = Path(os.path.realpath(folder), name).parent
            if Path(os.path.realpath(folder / name)).parent != home:
                raise FolderError(f"{folder / name} is a link that leaves the folder.", remedy)
            found = (folder / name).stat()
    except (OSError, ValueError):
        raise FolderError(f"{folder / name} is missing.", remedy) from None
    if not stat.S_ISREG(found.st_mode):  # reading a pipe would block forever
        raise FolderError(f"{folder / name} is not a regular file.", remedy)
    if found.st_size != facts.get("bytes"):
        raise FolderError(
            f"{folder / name} has {found.st_size} bytes, not the {facts.get('bytes')} it was written with.",
            remedy,
        )
