"""Folders of evaluations and tunings, which can be continued after an interruption.

The header is written first. It identifies the counts, the settings and, in an evaluation, the held-out
slices, so that interrupted work continues with its own models and never with those of other work. The header
of a tuning does not contain the lists of values: each finished fit has its own file, so that values and
splits can be added later without fitting anything twice.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordtide.embeddings.state_files import read_curve
from wordtide.errors import FolderError, OutputError
from wordtide.evaluation.scores import SliceScore
from wordtide.inference.checkpoints import checkpoint_path, has_checkpoint
from wordtide.storage.folders import (
    check_writable,
    clean_up,
    explained_write_errors,
    new_folder,
    write_files,
)
from wordtide.storage.header import kind_of, read_header, read_json, write_header
from wordtide.storage.locks import locked

_SECONDS = "seconds.json"
_LARGEST_CURVE = 1 << 30


@dataclass(frozen=True)
class ResumableFolder:
    """A kind of folder whose work can be continued: an evaluation or a tuning.

    `differences` says how messages describe differences in those parts of the identity whose values are not
    shown.
    """

    kind: str
    version: int
    article: str
    differences: Mapping[str, str]

    def check(self, folder: Path, identity: Mapping[str, Any], overwrite: bool, resume: bool) -> bool:
        """Check whether the folder holds a part of the work with this identity, to be continued.

        Raises:
            OutputError: The folder holds something else.
        """
        if overwrite or not resume or kind_of(folder) != self.kind:
            check_writable(folder, overwrite, self.kind)
            return False
        header = read_header(folder, self.kind, self.version)
        for name, value in identity.items():
            if header.get(name) != value:
                difference = self.differences.get(name, f"with {name} = {header.get(name)}, not {value}")
                raise OutputError(
                    f"{folder} holds {self.article} {self.kind} {difference}.",
                    "Use the settings it was started with, choose another --output, "
                    "or add --overwrite to replace it.",
                )
        return True

    def begin(self, folder: Path, identity: Mapping[str, Any], overwrite: bool) -> None:
        """Create the folder with its header. A folder that another process works in is not replaced."""
        with (
            exclusive_use(folder) if kind_of(folder) == self.kind else nullcontext(),
            new_folder(folder, overwrite, self.kind) as fresh,
        ):
            write_header(fresh, self.kind, self.version, identity)


EVALUATION = ResumableFolder(
    "evaluation", 1, "an", {"counts": "of other counts", "held_out": "with another --holdout"}
)


@contextmanager
def exclusive_use(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes, and remove the leftovers of killed ones."""
    with locked(
        folder.with_name(f".{folder.name}.working.lock"),
        f"Another process is working in {folder}.",
        "Wait for it, or choose another --output.",
    ):
        clean_up(folder)
        yield


def models_folder(folder: Path) -> Path:
    """The folder of an evaluation's models, each in a folder named after its method."""
    models = folder / "models"
    with explained_write_errors(models):
        models.mkdir(exist_ok=True)
    return models


def seconds_of_fits(folder: Path) -> dict[str, float]:
    """The seconds of each fit by method, as far as they are known."""
    path = models_folder(folder) / _SECONDS
    try:
        found = read_json(path)
        return {str(method): float(seconds) for method, seconds in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise FolderError(
            f"{path} is damaged: {error}.", "Remove it; the training times are then missing."
        ) from error


def record_seconds(folder: Path, method: str, seconds: float) -> None:
    """Record how long a fit took."""
    known = {**seconds_of_fits(folder), method: round(seconds, 1)}
    write_files(models_folder(folder), {_SECONDS: json_bytes(known)})


def seconds_of_checkpoint(model: Path) -> float:
    """The seconds that an interrupted fit took until its checkpoint; 0 if there is none."""
    if not has_checkpoint(model):
        return 0.0
    curve = read_curve(checkpoint_path(model) / "curve.csv", _LARGEST_CURVE)
    return float(curve[-1]["seconds"]) if curve else 0.0


TUNING = ResumableFolder("tuning", 1, "a", {"counts": "of other counts"})


@dataclass(frozen=True)
class FitRecord:
    """The scores of the slices that a fit predicts, and the seconds it took (None if unknown)."""

    scores: list[SliceScore]
    seconds: float | None


def model_folder(folder: Path, name: str) -> Path:
    """The folder of the model of a tuning's fit. Its checkpoint is beside it."""
    return folder / f"model-{name}"


def json_bytes(content: object) -> bytes:
    """Encode content as a JSON file."""
    return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def save_record(folder: Path, name: str, facts: Mapping[str, Any], record: FitRecord) -> None:
    """Save the record of a fit; `facts` describe the fit for human readers."""
    fits = folder / "fits"
    with explained_write_errors(fits):
        fits.mkdir(exist_ok=True)
    content = {**facts, "seconds": record.seconds, "scores": [asdict(score) for score in record.scores]}
    write_files(fits, {f"{name}.json": json_bytes(content)})


def load_record(folder: Path, name: str, slices: Sequence[int]) -> FitRecord | None:
    """The saved record of a fit for these slices; None if the fit is not finished."""
    path = folder / "fits" / f"{name}.json"
    try:
        content = read_json(path)
        scores, seconds = [SliceScore(**score) for score in content["scores"]], content["seconds"]
        if [score.slice for score in scores] != list(slices):
            raise ValueError("it describes other slices")
        if not all(
            math.isfinite(number)
            for score in scores
            for number in (score.time, score.log_likelihood, score.pairs)
        ):
            raise ValueError("a score is not a finite number")
        return FitRecord(scores, None if seconds is None else float(seconds))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise FolderError(f"{path} is damaged: {error}.", "Remove it to repeat the fit.") from error
