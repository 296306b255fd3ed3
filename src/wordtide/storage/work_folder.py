"""The folder with the finished pieces of a long job, which outlive a killed worker or a killed job.

A piece is a folder named after what it is made from. It is built under a hidden name and renamed when it is
complete, so a kill costs only unfinished pieces. The next run uses the pieces of an earlier one if their
checksums are right. All workers of a cluster must see the folder. Jobs with different settings have different
subfolders.
"""

import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from wordtide.errors import FolderError, OutputError
from wordtide.storage.folders import new_folder, remove_folder
from wordtide.storage.header import HEADER, kind_of, read_header, verify, write_header
from wordtide.storage.locks import locked

KIND = "work"
VERSION = 1
_PIECE = "piece"
_LOCK = "lock"
_JOB = "job-"
_BUILDING = ".building-"


def fingerprint(*things: object) -> str:
    """A short hash of plain data (what JSON can express)."""
    text = json.dumps(things, ensure_ascii=True, sort_keys=True)
    return hashlib.blake2b(text.encode("ascii"), digest_size=12).hexdigest()


class WorkFolder:
    """The pieces of one job. The client and all workers open the same folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, piece: str) -> bool:
        """Whether a piece is complete."""
        return (self.path / piece / HEADER).is_file()

    def folder(self, piece: str) -> Path:
        """The folder of a complete piece."""
        return self.path / piece

    def facts(self, piece: str) -> dict[str, Any]:
        """The facts stored with a piece."""
        facts: dict[str, Any] = read_header(self.path / piece, _PIECE, VERSION)["facts"]
        return facts

    @contextmanager
    def new_piece(self, piece: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield a folder and a dictionary of facts to fill.

        They become the piece if the block ends without an error; otherwise they are removed.
        """
        with explained_work_errors(self.path):
            folder = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=self.path))
            facts: dict[str, Any] = {}
            try:
                yield folder, facts
                write_header(folder, _PIECE, VERSION, {"facts": facts})
                try:
                    os.rename(folder, self.path / piece)
                except OSError as error:  # a worker believed dead may have completed the same piece
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not self.has(piece):
                        raise
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def clean(self) -> None:
        """Remove pieces that an earlier run left unfinished, and damaged ones."""
        for unfinished in self.path.glob(f"{_BUILDING}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        for header in list(self.path.glob(f"*/{HEADER}")):
            try:
                verify(header.parent, read_header(header.parent, _PIECE, VERSION))
            except FolderError as error:
                print(f"wordtide: {error.problem} It will be made again.", file=sys.stderr, flush=True)
                removed = self.path / f"{_BUILDING}{header.parent.name}"
                os.rename(header.parent, removed)  # atomic: half a piece would block the new one
                shutil.rmtree(removed, ignore_errors=True)


@contextmanager
def open_work(root: Path, job: str, keep_root: bool) -> Iterator[WorkFolder]:
    """Open and lock the work folder of a job below `root`, with the pieces of earlier runs.

    The name of the job must change with everything that its pieces depend on. After an error the folder stays
    for the next run, unless nothing in it is complete; a `root` of the user's (`keep_root`) stays even then.

    Raises:
        OutputError: The folder cannot be written, holds other files, or is used by another run.
    """
    with ExitStack() as held:
        with explained_work_errors(root):
            _prepare(root)
            held.enter_context(
                locked(
                    root / _LOCK,
                    f"Another run is using the work folder {root}.",
                    "Wait until it ends, or choose another folder with --work.",
                )
            )
            work = WorkFolder(root / f"{_JOB}{job}")
            work.path.mkdir(exist_ok=True)
            work.clean()
        try:
            yield work
        except BaseException:
            if not any(root.glob(f"{_JOB}*/*/{HEADER}")):
                remove_work(root, keep_root)
            raise


def remove_work(root: Path, keep_root: bool) -> None:
    """Remove a work folder when the job is complete.

    A folder of the user's (`keep_root`) stays, without what wordtide put there.
    """
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
    """Turn the system's write errors into errors that name the work folder and the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(
                f"The disk is full: the work folder {folder} could not be written.",
                "Free some space, or choose another folder with --work. "
                "Finished pieces are kept for the next run.",
            ) from error
        raise OutputError(
            f"The work folder {folder} cannot be written: {error.strerror or error}.",
            "Choose another folder with --work.",
        ) from error


def _prepare(root: Path) -> None:
    """Make a work folder, or check that it is one. By its header, readers of texts know it as one, too."""
    if not root.exists():
        with new_folder(root) as folder:
            write_header(folder, KIND, VERSION, {})
    elif not any(root.iterdir()):
        write_header(root, KIND, VERSION, {})
    elif kind_of(root) != KIND:
        raise OutputError(
            f"{root} is neither empty nor a work folder.", "Choose an empty folder with --work."
        )
