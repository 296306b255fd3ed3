"""Files and folders that are written whole or not at all.

An output is filled beside its target under a hidden name and renamed when it is complete, so a reader never
sees half of it. Where the system can exchange two names in one step, the target's name always leads to the
old folder or to the new one, even if the process is killed. The next process that writes the same target
removes what a killed one left behind. While one process writes a target, others are refused.
"""

import errno
import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from wordtide.errors import OutputError, write_error
from wordtide.storage.header import is_made_by_wordtide, kind_of
from wordtide.storage.locks import only_writer, refuse_if_written
from wordtide.system import exchange

#: The mode in which a file is opened to flush it to disk: Windows flushes only writable files.
_FLUSHED = "r+b" if os.name == "nt" else "rb"
#: Errors of file systems that cannot give a file a second name, or another one.
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
def new_folder(target: Path, overwrite: bool = False, kind: str = "") -> Iterator[Path]:
    """A hidden folder to fill. It becomes `target` if the block ends without an error; else it is removed.

    `overwrite` replaces an existing folder, only one of the given `kind` (if there is one).
    """
    target = real_target(target)
    check_writable(target, overwrite, kind)
    with (
        explained_write_errors(target),
        only_writer(target),
        _new_outputs([target], os.mkdir, lambda place: _check_folder(place, overwrite, kind)) as (folder,),
    ):
        yield folder


@contextmanager
def new_files(targets: Sequence[Path], overwrite: bool = False) -> Iterator[list[Path]]:
    """Hidden files to fill.

    They become the targets if the block ends without an error; else they are removed.
    """
    targets = [real_target(target) for target in targets]
    for target in targets:
        check_file_writable(target, overwrite)
    with explained_write_errors(targets[0]), ExitStack() as held:
        for target in targets:
            held.enter_context(only_writer(target))
        yield held.enter_context(
            _new_outputs(targets, _create_file, lambda place: _check_file(place, overwrite))
        )


@contextmanager
def new_own_files(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """Like `new_files`, in a folder that only this process works in. Files of these names are replaced."""
    with (
        explained_write_errors(targets[0]),
        _new_outputs(targets, _create_file, lambda place: None) as files,
    ):
        yield files


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files, all or none, into a folder that only this process works in."""
    with new_own_files([folder / name for name in contents]) as files:
        for file, content in zip(files, contents.values(), strict=True):
            file.write_bytes(content)


@contextmanager
def _new_outputs(
    targets: Sequence[Path], create: Callable[[Path], None], check: Callable[[Path], None]
) -> Iterator[list[Path]]:
    """The writer behind all others. The caller keeps other processes from writing the targets.

    `create` makes an empty file or folder, with the process's umask. `check` raises an error if a target must
    not be replaced; it is called before the outputs get their names.
    """
    for target in targets:
        _sweep(target)
    partials = [_hidden(target, "partial", secrets.token_hex(4)) for target in targets]
    try:
        for partial in partials:
            create(partial)
        yield partials
        for partial in partials:
            _flush(partial)
        for target in targets:
            check(target)
        if len(targets) == 1:
            _put_in_place(partials[0], targets[0])
        else:
            _put_all_in_place(partials, targets)
    finally:
        for partial in partials:
            _remove(partial)  # an incomplete output, or the folder that was replaced


def real_target(target: str | os.PathLike[str]) -> Path:
    """The path to write: a symbolic link stays, and what it points to is replaced."""
    if os.path.islink(target) and not os.path.exists(target):
        raise OutputError(
            f"{target} is a symbolic link that leads nowhere.", "Remove the link, or choose another name."
        )
    found = Path(os.path.realpath(target))
    if not found.name:  # the root of a disk
        raise OutputError(
            f"{found} cannot be replaced.", f"Give the name of a new folder or file in {found} ."
        )
    return found


def check_not_input(target: Path, inputs: Iterable[object]) -> None:
    """Refuse a target (from `real_target`) that is one of the inputs, or contains one, even with --overwrite.

    Inputs that are not the paths of files or folders are skipped.
    """
    for given in inputs:
        if not isinstance(given, str | os.PathLike) or not os.path.exists(given):
            continue
        source = Path(os.path.realpath(given))
        if target == source or target in source.parents:
            held = "is" if target == source else "contains"
            raise OutputError(
                f"{target} {held} the input {os.fspath(given)!s}, so it will not be replaced.",
                "Choose another name for the output.",
            )


def check_writable(target: Path, overwrite: bool, kind: str = "") -> None:
    """Refuse a folder that cannot be written, before hours of work.

    Raises:
        OutputError: The target exists (and is not to be overwritten, was not made by wordtide, or is not of
            this `kind`), another process is writing it, or its parent is missing or read-only.
    """
    with explained_write_errors(target):
        refuse_if_written(target)
        if not _exists(target) and any(_leftovers(target, "replaced")):
            with only_writer(target):
                _put_back(target)
    _check_folder(target, overwrite, kind)


def check_file_writable(target: Path, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or that lies in a folder made by wordtide."""
    if is_made_by_wordtide(target.parent):
        raise OutputError(
            f"{target.parent} is a folder made by wordtide, whose files are its own.",
            "Choose another folder.",
        )
    with explained_write_errors(target):
        refuse_if_written(target)
    _check_file(target, overwrite)


@contextmanager
def explained_write_errors(target: Path) -> Iterator[None]:
    """Turn errors of the system into ones that name the target and the remedy."""
    try:
        yield
    except OSError as error:
        raise write_error(error, target) from error


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file that never changes a second name, or copy it where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(source, target)


def remove_folder(target: Path) -> None:
    """Remove a folder if it exists.

    It is renamed first, so a process killed here does not leave half of it behind.
    """
    with explained_write_errors(target), only_writer(target):
        _sweep(target)
        if _exists(target):
            removed = _hidden(target, "partial", "removed")
            os.rename(target, removed)
            shutil.rmtree(removed, ignore_errors=True)


def clean_up(target: Path) -> None:
    """Remove what killed processes left beside a target."""
    with explained_write_errors(target), only_writer(target):
        _sweep(target)


def clean_inside(folder: Path) -> None:
    """Remove what killed processes left in a folder that only this process works in."""
    with explained_write_errors(folder):
        for state in ("partial-*", "replaced-*", "lock"):
            for leftover in folder.glob(f".*.{state}"):
                _remove(leftover)


def _check_folder(target: Path, overwrite: bool, kind: str) -> None:
    _check_place(target, overwrite)
    if _exists(target) and not is_made_by_wordtide(target):
        raise OutputError(
            f"{target} is not a folder made by wordtide, so it will not be replaced.", "Choose another name."
        )
    if _exists(target) and kind and kind_of(target) != kind:
        raise OutputError(
            f"{target} is of another kind ({kind_of(target)}), so the new {kind} will not replace it.",
            "Choose another name.",
        )


def _check_file(target: Path, overwrite: bool) -> None:
    _check_place(target, overwrite)
    if _exists(target) and not target.is_file():
        raise OutputError(f"{target} is not a file, so it will not be replaced.", "Choose another name.")


def _check_place(target: Path, overwrite: bool) -> None:
    with explained_write_errors(target):
        exists = _exists(target)
    if exists and not overwrite:
        raise OutputError(
            f"{target} exists already.", "Choose another name, or add --overwrite to replace it."
        )
    if not target.parent.is_dir():
        raise OutputError(
            f"The folder {target.parent} does not exist.", f"Make it first: mkdir -p {target.parent}"
        )
    if not os.access(target.parent, os.W_OK):
        raise OutputError(
            f"The folder {target.parent} cannot be written to.", "Choose another place for the output."
        )


def _create_file(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))


def _flush(path: Path) -> None:
    """Flush a file, or all files of a folder, to disk."""
    for file in path.rglob("*") if path.is_dir() else [path]:
        if file.is_file():
            with open(file, _FLUSHED) as opened:
                os.fsync(opened.fileno())


def _put_in_place(partial: Path, target: Path) -> None:
    """Rename an output. A folder that had the name of the target gets the hidden one, or is removed."""
    if not partial.is_dir() or not target.exists():
        os.replace(partial, target)
    elif not exchange(partial, target):
        replaced = _hidden(target, "replaced", str(os.getpid()))
        os.rename(target, replaced)
        os.rename(partial, target)
        shutil.rmtree(replaced, ignore_errors=True)


def _put_all_in_place(partials: Sequence[Path], targets: Sequence[Path]) -> None:
    """Rename several files. If one cannot be renamed, all are restored; none is ever missing."""
    new = [target for target in targets if not target.exists()]
    kept = {target: _hidden(target, "replaced", str(os.getpid())) for target in targets if target not in new}
    try:
        for target, second_name in kept.items():
            link_or_copy(target, second_name)
        for partial, target in zip(partials, targets, strict=True):
            os.replace(partial, target)  # on Windows a renamed file replaces no other
    except BaseException:
        for target in new:
            target.unlink(missing_ok=True)
        for target, second_name in kept.items():
            if second_name.exists():
                os.replace(second_name, target)
        raise
    finally:
        for second_name in kept.values():
            second_name.unlink(missing_ok=True)  # renaming keeps both names where they are one file


def _exists(target: Path) -> bool:
    """Whether anything has this name.

    Unlike `Path.exists`, this raises an error for a name that is too long.
    """
    try:
        os.lstat(target)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _hidden(target: Path, state: str, ending: str) -> Path:
    return target.with_name(f".{target.name}.{state}-{ending}")


def _leftovers(target: Path, state: str) -> Iterator[Path]:
    return target.parent.glob(f".{glob.escape(target.name)}.{state}-*")


def _put_back(target: Path) -> None:
    """Restore a folder whose replacement was killed between two renames."""
    for replaced in _leftovers(target, "replaced"):
        if replaced.is_dir() and not _exists(target):
            os.rename(replaced, target)


def _sweep(target: Path) -> None:
    """Remove what killed processes left. The caller holds the right to write the target."""
    _put_back(target)
    for state in ("replaced", "partial"):
        for leftover in _leftovers(target, state):
            _remove(leftover)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
