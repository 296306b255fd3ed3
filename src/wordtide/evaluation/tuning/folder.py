"""The folder of a tuning: its header, the scores of each finished fit, and the tables.

The header identifies the counts, the method, the seed and other fixed settings. It does not contain the lists
of values: each finished fit has its own file, so that values and splits can be added later without fitting
anything twice.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordtide.errors import FolderError
from wordtide.evaluation.folder import ResumableFolder
from wordtide.evaluation.scores import SliceScore
from wordtide.storage.folders import explained_write_errors, remove_folder, write_files

TUNING = ResumableFolder("tuning", 1, "a", {"counts": "of other counts"})


@dataclass(frozen=True)
class FitRecord:
    """The scores of the slices that a fit predicts, and the seconds it took (None if unknown)."""

    scores: list[SliceScore]
    seconds: float | None


def model_place(folder: Path, name: str) -> Path:
    """The model folder of a fit. Its checkpoint lies beside it."""
    return folder / f"model-{name}"


def save_record(folder: Path, name: str, facts: Mapping[str, Any], record: FitRecord) -> None:
    """Save the record of a fit; `facts` describe the fit for human readers."""
    place = folder / "fits"
    with explained_write_errors(place):
        place.mkdir(exist_ok=True)
    content = {**facts, "seconds": record.seconds, "scores": [asdict(score) for score in record.scores]}
    write_files(place, {_file(name): (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()})


def load_record(folder: Path, name: str, slices: Sequence[int]) -> FitRecord | None:
    """The saved record of a fit for these slices; None if the fit is not finished.

    Raises:
        FolderError: The record is damaged.
    """
    place = folder / "fits" / _file(name)
    try:
        if place.exists() and not place.is_file():  # reading a pipe would block forever
            raise OSError("it is not a regular file")
        content = json.loads(place.read_text(encoding="utf-8"))
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
        raise FolderError(f"{place} is damaged: {error}.", "Remove it to repeat the fit.") from error


def remove_model(folder: Path, name: str) -> None:
    """Remove the model of a fit whose scores are saved."""
    remove_folder(model_place(folder, name))


def _file(name: str) -> str:
    return f"{name}.json"
