"""Files to read, local or remote, and portions of long files."""

import os
from dataclasses import dataclass
from typing import Final

from wordtide.errors import SettingsError

STANDARD_INPUT: Final = "-"
#: How many times longer than its compressed form a file may become.
MAX_EXPANSION: Final = 200


@dataclass(frozen=True)
class Portion:
    """Part of a file: the bytes from `start` to `stop` of plain lines or records, or those row groups of a
    Parquet file.

    `first` is the file's number of the first line or row, so that messages and labels are those of the whole
    file. `columns` is what only the head of the file holds: the header of a CSV file, the date and text field
    of JSON Lines.
    """

    start: int
    stop: int
    first: int
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceFile:
    """One file to read.

    `path` names it in messages, as the user did; `label` in the counts, independent of the location of its
    folder. `location` is where it is opened, if not at `path`: workers of a cluster have other current
    folders. `size` and `version` (an entity tag or a date of change) are known beforehand of files behind
    URLs. `max_expansion`: how many times longer it may become when it is decompressed. `encoding` and
    `delimiter` are those of the user, or found before; if empty, the head of the file determines them.
    """

    path: str
    label: str
    format: str
    location: str = ""
    size: int | None = None
    version: str = ""
    portion: Portion | None = None
    max_expansion: int = MAX_EXPANSION
    encoding: str = ""
    delimiter: str = ""

    @property
    def opened_at(self) -> str:
        """The path or URL to open."""
        return self.location or self.path

    @property
    def shown(self) -> str:
        """The name in messages."""
        return "standard input" if self.path == STANDARD_INPUT else self.path

    @property
    def first(self) -> int:
        """The number of the first line or row."""
        return self.portion.first if self.portion else 1

    def byte_count(self) -> int:
        """Bytes to read, before decompression; 0 if the size is unknown."""
        if self.portion is not None and self.format != "parquet":
            return self.portion.stop - self.portion.start
        if self.size is not None:
            return self.size
        try:
            return 0 if self.path == STANDARD_INPUT else os.stat(self.opened_at).st_size
        except OSError:
            return 0


def check_max_expansion(limit: int) -> None:
    """Raise a SettingsError if this is not a limit of expansion."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 1 << 40:
        raise SettingsError(
            f"--max-expansion {limit} is out of range.", f"Give a whole number from 1 to {1 << 40}."
        )
