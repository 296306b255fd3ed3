"""Alerts: the words of a model's last slice that surprise, as JSON Lines, with their neighbours before and after it.

The lines of a slice follow from the model alone. So after a restart they are made again, and what of them is not yet in the
file is added: none is lost or doubled, whenever the process was killed.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.questions.change import MIN_OCCURRENCES
from wordtide.questions.neighbors import neighbors
from wordtide.questions.surprise import surprises
from wordtide.storage.folders import explained_write_errors

#: Of a million ordinary words some thirty have such a score.
THRESHOLD = 4.0
NEIGHBORS = 5
_LF = 0x0A


@dataclass(frozen=True)
class AlertRule:
    """Which words are told of: those with such a score at least that occur so often in the slice; and with how many others."""

    threshold: float = THRESHOLD
    min_occurrences: int = MIN_OCCURRENCES
    neighbors: int = NEIGHBORS

    def __post_init__(self) -> None:
        if not -1e9 < self.threshold < 1e9:
            raise SettingsError(
                f"--threshold {self.threshold} is out of range.", f"Give a score, like {THRESHOLD:g}."
            )
        for name, number in (("min-occurrences", self.min_occurrences), ("neighbors", self.neighbors)):
            if number < 1:
                raise SettingsError(f"--{name} {number} is out of range.", "Give 1 or more.")


def alerts_of(model: Embeddings, rule: AlertRule, start: str, end: str) -> list[str]:
    """The lines of the last slice, which lasts from `start` until just before `end`, the most surprising word first."""
    last = len(model) - 1
    found = surprises(model, "last", len(model.words), rule.min_occurrences)
    slice_facts = {
        "slice": model.labels[last],
        "start": start,
        "end": end,
        "compared": found.facts["compared"],
    }
    return [
        json.dumps(
            {
                **slice_facts,
                "word": row["word"],
                "score": round(row["score"], 3),
                "p_value": float(f"{row['p_value']:.3g}"),
                "information": round(row["information"], 3),
                "occurrences": row["occurrences"],
                "before": _near(model, row["word"], last - 1, rule.neighbors),
                "after": _near(model, row["word"], last, rule.neighbors),
            },
            ensure_ascii=False,
        )
        for row in found.rows()
        if row["score"] is not None and row["score"] >= rule.threshold  # a slice of few words has no scores
    ]


def _near(model: Embeddings, word: str, number: int, top: int) -> list[dict[str, Any]]:
    """The neighbours of a word at a slice; none where nothing was known of it yet."""
    seen = model.fitted.occurrences.of_word(model.word_number(word), len(model))
    if number < 0 or not seen[: number + 1].any():
        return []
    rows = neighbors(model, word, float(model.times[number]), top).rows()
    return [{name: _rounded(row[name]) for name in ("word", "similarity", "low", "high")} for row in rows]


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


class AlertFile:
    """Where alerts go: appended to a file, or to standard output. The file `told` names the last slice that is done."""

    def __init__(self, path: Path | None, told: Path) -> None:
        self._path, self._told = path, told
        if path is not None:
            with explained_write_errors(path), open(path, "ab"):
                pass

    def is_told(self, label: str) -> bool:
        """Are all alerts of this slice written?"""
        try:
            return self._told.read_text(encoding="utf-8") == label
        except FileNotFoundError:
            return False

    def write(self, label: str, lines: list[str]) -> None:
        """Write the alerts of a slice, but for those that are in the file already; what was torn is made whole."""
        text = "".join(f"{line}\n" for line in lines)
        if self._path is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            with explained_write_errors(self._path), open(self._path, "ab+") as file:
                file.write(_missing(file, text.encode()))
                file.flush()
                os.fsync(file.fileno())
        with explained_write_errors(self._told):
            beside = self._told.with_suffix(".new")
            beside.write_text(label, encoding="utf-8")
            os.replace(beside, self._told)


def _missing(file: IO[bytes], wanted: bytes) -> bytes:
    """What has to be added to a file that it ends with the wanted lines, of which some, or part of one, may be there."""
    size = file.seek(0, os.SEEK_END)
    from_here = max(0, size - len(wanted) - 1)
    file.seek(from_here)
    end = file.read()
    starts = [at + 1 for at, byte in enumerate(end) if byte == _LF]
    for start in [0, *starts] if from_here == 0 else starts:
        if wanted.startswith(end[start:]):
            return wanted[len(end) - start :]
    return b"\n" + wanted if wanted else b""  # the last line is torn, but none of these


def rule_of(record: Mapping[str, Any]) -> AlertRule:
    """The rule that is saved with a model."""
    return AlertRule(float(record["threshold"]), int(record["min_occurrences"]), int(record["neighbors"]))
