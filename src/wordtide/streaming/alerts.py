"""Alerts: the surprising words of a model's last slice, with their neighbors, as JSON Lines.

The alerts of a slice follow from the model alone. After a restart they are computed again, and those missing
from the file are added: none is lost or written twice, whenever the process is killed.
"""

import json
import os
import sys
from pathlib import Path
from typing import IO, Any

from wordtide.embeddings.states import Embeddings
from wordtide.questions.neighbors import neighbors
from wordtide.questions.surprise import surprises
from wordtide.storage.folders import explained_write_errors, write_files
from wordtide.streaming.settings import AlertRule

_LF = 0x0A


def find_alerts(model: Embeddings, rule: AlertRule, start: str, end: str) -> list[str]:
    """List the alerts of the last slice of a filtering model, the most surprising word first.

    Each is a JSON object without line breaks. The slice lasts from `start` to `end`, exclusive.
    """
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
                "before": _neighbors_at(model, row["word"], last - 1, rule.neighbors),
                "after": _neighbors_at(model, row["word"], last, rule.neighbors),
            },
            ensure_ascii=False,
        )
        for row in found.rows()
        if row["score"] is not None and row["score"] >= rule.threshold  # a slice of few words has no scores
    ]


def _neighbors_at(model: Embeddings, word: str, t: int, top: int) -> list[dict[str, Any]]:
    """List the neighbors of a word at slice t; none if the word had not occurred yet."""
    seen = model.fitted.occurrences.of_word(model.word_number(word), len(model))
    if t < 0 or not seen[: t + 1].any():
        return []
    rows = neighbors(model, word, float(model.times[t]), top).rows()
    return [{name: _rounded(row[name]) for name in ("word", "similarity", "low", "high")} for row in rows]


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


class AlertFile:
    """Appends alerts to a file, or to standard output if `path` is None.

    The file `marker` names the last slice whose alerts are complete.
    """

    def __init__(self, path: Path | None, marker: Path) -> None:
        self._path, self._marker = path, marker
        if path is not None:
            with explained_write_errors(path), open(path, "ab"):
                pass

    def is_complete(self, label: str) -> bool:
        """Return whether all alerts of this slice have been written."""
        try:
            return self._marker.read_text(encoding="utf-8") == label
        except FileNotFoundError:
            return False

    def write(self, label: str, lines: list[str]) -> None:
        """Write the alerts of a slice except those already in the file, completing a torn line."""
        text = "".join(f"{line}\n" for line in lines)
        if self._path is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            with explained_write_errors(self._path), open(self._path, "ab+") as file:
                file.write(_missing_bytes(file, text.encode()))
                file.flush()
                os.fsync(file.fileno())
        write_files(self._marker.parent, {self._marker.name: label.encode()})


def _missing_bytes(file: IO[bytes], wanted: bytes) -> bytes:
    """Return what to append so that the file ends with the wanted lines, some of which it may have."""
    size = file.seek(0, os.SEEK_END)
    tail_start = max(0, size - len(wanted) - 1)
    file.seek(tail_start)
    tail = file.read()
    starts = [at + 1 for at, byte in enumerate(tail) if byte == _LF]
    for start in [0, *starts] if tail_start == 0 else starts:
        if wanted.startswith(tail[start:]):
            return wanted[len(tail) - start :]
    return b"\n" + wanted if wanted else b""  # the last line is torn, and not one of these
