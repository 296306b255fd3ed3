"""The folder of a tuning: what it is a tuning of, the scores of each fit that is finished, and the tables.

The header tells which counts, method, seed and other fixed settings the scores belong to. The lists of values are not in it:
each finished fit has a file of its own, so that values and splits can be added later and nothing is fitted twice.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordtide.errors import FolderError
from wordtide.evaluation.folder import Work
from wordtide.evaluation.scores import Score
from wordtide.storage.folders import explained_write_errors, remove_folder, write_files

TUNING = Work("tuning", 1, "a", {"counts": "of other counts"})


@dataclass(frozen=True)
class FitRecord:
    """What is kept of a fit: the scores of the slices it predicts, and how long it took (None where that is not known)."""

    scores: list[Score]
    seconds: float | None


def model_place(folder: Path, name: str) -> Path:
    """Where a fit is made; its checkpoint lies beside."""
    return folder / f"model-{name}"


def keep_record(folder: Path, name: str, facts: Mapping[str, Any], record: FitRecord) -> None:
    """Write down what a fit gave; `facts` say for people which fit it is."""
    place = folder / "fits"
    with explained_write_errors(place):
        place.mkdir(exist_ok=True)
    content = {**facts, "seconds": record.seconds, "scores": [asdict(score) for score in record.scores]}
    write_files(place, {_file(name): (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()})


def kept_record(folder: Path, name: str, slices: Sequence[int]) -> FitRecord | None:
    """What a finished fit gave for these slices; None if there is no such fit yet."""
    place = folder / "fits" / _file(name)
    try:
        if place.exists() and not place.is_file():  # a pipe would make the reader wait for ever
            raise OSError("it is not a regular file")
        content = json.loads(place.read_text(encoding="utf-8"))
        scores, seconds = [Score(**score) for score in content["scores"]], content["seconds"]
        if [score.slice for score in scores] != list(slices):
            raise ValueError("it is about other slices")
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
        raise FolderError(
            f"{place} is damaged: {error}.", "Remove it; the fit will be made again."
        ) from error


def forget_model(folder: Path, name: str) -> None:
    """Remove the model of a fit whose scores are kept."""
    remove_folder(model_place(folder, name))


def _file(name: str) -> str:
    return f"{name}.json"
