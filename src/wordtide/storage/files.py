"""Files written whole or not at all: each is filled beside its target under a hidden name and renamed at the end.

What a killed process left behind is swept away by the next one that writes to the same target; of two at once the second is
refused.
"""

import glob
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from wordtide.errors import OutputError
from wordtide.storage.folders import (
    check_writable,
    explained_write_errors,
    is_made_by_wordtide,
    link_or_copy,
    real_target,
)
from wordtide.storage.locks import only_writer, refuse_if_written


@contextmanager
def new_files(targets: Sequence[Path], overwrite: bool = False) -> Iterator[list[Path]]:
    """Hidden files to fill, which become the targets, all of them, when the block ends without an error; else they vanish."""
    targets = [real_target(target) for target in targets]
    for target in targets:
        check_file_writable(target, overwrite)
    with explained_write_errors(targets[0]), ExitStack() as held:
        for target in targets:
            held.enter_context(only_writer(target))
        partials = [held.enter_context(_partial(target)) for target in targets]
        yield partials
        for partial in partials:
            with open(partial, "rb") as file:
                os.fsync(file.fileno())
        for target in targets:
            _check_place(target, overwrite)  # something may have come into being in the meantime
        if len(targets) == 1:
            os.replace(partials[0], targets[0])
        else:
            _put_all_in_place(partials, targets)


def check_file_writable(target: Path, overwrite: bool) -> None:
    """Refuse early a target that exists, or that is no file, or whose folder is missing or belongs to wordtide itself."""
    if is_made_by_wordtide(target.parent):
        raise OutputError(
            f"{target.parent} is a folder made by wordtide, whose files are its own.",
            "Choose another folder.",
        )
    if overwrite:
        with explained_write_errors(target):
            refuse_if_written(target)
        _check_place(target, overwrite)
    else:
        check_writable(target, overwrite=False)


def _check_place(target: Path, overwrite: bool) -> None:
    if not overwrite:
        if os.path.lexists(target):
            raise OutputError(
                f"{target} exists already.", "Choose another name, or add --overwrite to replace it."
            )
    elif os.path.lexists(target) and not target.is_file():
        raise OutputError(f"{target} is not a file, so it will not be replaced.", "Choose another name.")
    else:
        check_writable(_hidden(target, "partial", "new"), overwrite=False)  # can a file be made beside it?


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """A hidden empty file; gone at the end unless it was renamed."""
    _sweep(target)
    path = _hidden(target, "partial", secrets.token_hex(4))
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _sweep(target: Path) -> None:
    """Remove what killed processes left of earlier attempts."""
    for state in ("partial", "replaced"):
        for leftover in target.parent.glob(f".{glob.escape(target.name)}.{state}-*"):
            if leftover.is_file():
                leftover.unlink(missing_ok=True)


def _put_all_in_place(partials: Sequence[Path], targets: Sequence[Path]) -> None:
    """Rename several files; if one cannot be, all are as they were before. None is missing meanwhile."""
    new = [target for target in targets if not target.exists()]
    kept = {target: _hidden(target, "replaced", str(os.getpid())) for target in targets if target not in new}
    try:
        for target, second_name in kept.items():
            link_or_copy(target, second_name)
        for partial, target in zip(partials, targets, strict=True):
            os.rename(partial, target)
    except BaseException:
        for target in new:
            target.unlink(missing_ok=True)
        for target, second_name in kept.items():
            if second_name.exists():
                os.replace(second_name, target)
        raise
    finally:
        for second_name in kept.values():
            second_name.unlink(missing_ok=True)  # renaming leaves both names where they lead to one file


def _hidden(target: Path, state: str, ending: str) -> Path:
    return target.with_name(f".{target.name}.{state}-{ending}")
