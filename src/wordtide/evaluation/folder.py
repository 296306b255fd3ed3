"""The folder of an evaluation: what it is an evaluation of, the models made so far, and the report.

The header is written first and tells which counts, settings and slices left out the models belong to, so that an evaluation
that was stopped can go on with the models it has, and never with those of another.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordtide.embeddings.training_curve import read_curve
from wordtide.errors import FolderError, OutputError
from wordtide.inference.checkpoints import checkpoint_path, has_checkpoint
from wordtide.storage.folders import check_writable, clean_up, explained_write_errors, new_folder, write_files
from wordtide.storage.header import kind_of, read_header, write_header
from wordtide.storage.locks import locked

_SECONDS = "seconds.json"
_LARGEST_CURVE = 1 << 30


@dataclass(frozen=True)
class Work:
    """A kind of folder that work is done in, and can be gone on with: an evaluation or a tuning.

    `named`: how a message names what differs, for those parts of the identity that are not named by their values.
    """

    kind: str
    version: int
    article: str
    named: Mapping[str, str]

    def check(self, folder: Path, identity: Mapping[str, Any], overwrite: bool, resume: bool) -> bool:
        """Whether the folder holds the beginning of this very work; an error if it is in the way."""
        if overwrite or not resume or kind_of(folder) != self.kind:
            check_writable(folder, overwrite)
            return False
        header = read_header(folder, self.kind, self.version)
        for name, value in identity.items():
            if header.get(name) != value:
                named = self.named.get(name, f"with {name} = {header.get(name)}, not {value}")
                raise OutputError(
                    f"{folder} holds {self.article} {self.kind} {named}.",
                    "Give what it was begun with, choose another name (-o), or add --overwrite to replace it.",
                )
        return True

    def begin(self, folder: Path, identity: Mapping[str, Any], overwrite: bool) -> None:
        """Make the folder, with its header. One that another process works in is not replaced."""
        with (
            working_alone(folder) if kind_of(folder) == self.kind else nullcontext(),
            new_folder(folder, overwrite) as fresh,
        ):
            write_header(fresh, self.kind, self.version, identity)


EVALUATION = Work("evaluation", 1, "an", {"counts": "of other counts", "held_out": "with another --holdout"})


@contextmanager
def working_alone(folder: Path) -> Iterator[None]:
    """Keep other processes from working in the same folder; an error if one does so already. What was left beside it goes."""
    with locked(
        folder.with_name(f".{folder.name}.working.lock"),
        f"Another process makes fits in {folder}.",
        "Wait for it, or choose another folder (-o).",
    ):
        clean_up(folder)
        yield


def models_folder(folder: Path) -> Path:
    """Where the models are, each in a folder named by its method."""
    models = folder / "models"
    with explained_write_errors(models):
        models.mkdir(exist_ok=True)
    return models


def seconds_of_fits(folder: Path) -> dict[str, float]:
    """How long each fit took, by method; those that are not known are missing."""
    place = models_folder(folder) / _SECONDS
    try:
        if place.exists() and not place.is_file():  # a pipe would make the reader wait for ever
            raise OSError("it is not a regular file")
        found = json.loads(place.read_text(encoding="utf-8"))
        return {str(method): float(seconds) for method, seconds in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise FolderError(
            f"{place} is damaged: {error}.", "Remove it; the training times will then be missing."
        ) from error


def record_seconds(folder: Path, method: str, seconds: float) -> None:
    """Keep how long a fit took."""
    known = {**seconds_of_fits(folder), method: round(seconds, 1)}
    write_files(models_folder(folder), {_SECONDS: (json.dumps(known) + "\n").encode()})


def seconds_of_checkpoint(model: Path) -> float:
    """How long a fit that was stopped had taken until its checkpoint; 0 if there is none."""
    if not has_checkpoint(model):
        return 0.0
    curve = read_curve(checkpoint_path(model) / "curve.csv", _LARGEST_CURVE)
    return float(curve[-1]["seconds"]) if curve else 0.0
