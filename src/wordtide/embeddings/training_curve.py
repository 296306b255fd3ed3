"""The training curve as a CSV file: one row per step, with exact numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordtide.embeddings.posterior import CURVE
from wordtide.errors import FolderError, SettingsError
from wordtide.storage.arrays import REMEDY

_WHOLE = ("step", "slice")


def write_curve(path: Path, curve: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows of a curve; missing values and None are empty fields."""
    lines = [",".join(CURVE)]
    for row in curve:
        unknown = set(row) - set(CURVE)
        if unknown:
            raise SettingsError(
                f"A training curve has no column {min(unknown)!r}.", f"Its columns are {', '.join(CURVE)}."
            )
        lines.append(",".join(_shown(name, row.get(name)) for name in CURVE))
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def read_curve(path: Path, largest: int) -> list[dict[str, Any]]:
    """The rows of a curve, from a file of at most `largest` bytes; empty fields are None."""
    try:
        if path.stat().st_size > largest or not path.is_file():
            raise ValueError("it is too large, or not a regular file")
        title, *lines = path.read_text(encoding="ascii").splitlines()
        if title != ",".join(CURVE):
            raise ValueError("it has other columns")
        return [
            {name: _read(name, field) for name, field in zip(CURVE, line.split(","), strict=True)}
            for line in lines
        ]
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} is damaged: {error}.", REMEDY) from error


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if name in _WHOLE else repr(float(value))


def _read(name: str, field: str) -> int | float | None:
    if not field:
        return None
    return int(field) if name in _WHOLE else float(field)
