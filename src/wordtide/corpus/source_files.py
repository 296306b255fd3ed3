"""A file to read, wherever it lies, or a portion of one that is too long for a single worker."""

import os
from dataclasses import dataclass
from typing import Final

from wordtide.errors import SettingsError

STANDARD_INPUT: Final = "-"
#: How many times longer than its compressed form a file may become.
MAX_EXPANSION: Final = 200


@dataclass(frozen=True)
class Portion:
    """Part of a file: the bytes from `start` to `stop` of plain lines or records, or those row groups of a Parquet file.

    `first` is the file's number of the first line or row, so that messages and labels are those of the whole file. `columns`
    is what only the head of the file tells: the header of a CSV file, the date and text field of JSON Lines.
    """

    start: int
    stop: int
    first: int
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceFile:
    """One file to read.

    `path` names it in messages, as the user did; `label` in the counts, the same wherever its folder lies. `location` is where
    it is opened, if not at `path`: workers of a cluster have folders of their own. `size` and `version` (an entity tag or a
    date of change) are known beforehand of files behind URLs. `max_expansion`: how many times longer it may become when it is
    decompressed.
    """

    path: str
    label: str
    format: str
    location: str = ""
    size: int | None = None
    version: str = ""
    portion: Portion | None = None
    max_expansion: int = MAX_EXPANSION

    @property
    def opened_at(self) -> str:
        """The path or URL that is opened."""
        return self.location or self.path

    @property
    def shown(self) -> str:
        """How messages name it."""
        return "standard input" if self.path == STANDARD_INPUT else self.path

    @property
    def first(self) -> int:
        """The number of the first line or row."""
        return self.portion.first if self.portion else 1

    def byte_count(self) -> int:
        """Bytes to read, before decompression; 0 for standard input and whatever has no size."""
        if self.portion is not None and self.format != "parquet":
            return self.portion.stop - self.portion.start
        if self.size is not None:
            return self.size
        try:
            return 0 if self.path == STANDARD_INPUT else os.stat(self.opened_at).st_size
        except OSError:
            return 0


def check_max_expansion(limit: int) -> None:
    """SettingsError for a limit that is none."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 1 << 40:
        raise SettingsError(
            f"--max-expansion {limit} is out of range.", f"Give a whole number from 1 to {1 << 40}."
        )
