"""Settings of a watch: those that decide the resulting model, and those that do not."""

import re
from dataclasses import dataclass, field
from os import PathLike

from wordtide.corpus.fields import Fields
from wordtide.errors import SettingsError
from wordtide.questions.change import MIN_OCCURRENCES
from wordtide.streaming.alerts import AlertRule
from wordtide.streaming.open_slices import LATE

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True)
class WatchSettings:
    """How a stream is cut into slices and fitted.

    Attributes:
        every: The length of a slice. None: as the model was counted.
        patience: How long after its end a slice stays open for rows, in seconds.
        close_after: Close a slice by the clock this many seconds after its end, even if no row follows. None: never.
        close_at_end: Close open slices when the input ends. Otherwise their rows are kept for the next start.
        late: "drop" late rows or "fold" them into the next slice.
        grow: Admit at most this many new words with each slice.
        grow_min_count: A new word must occur this often in the slice.
        tokenizer: The tokenizer that the model was counted with, if it was counted with one.
        alerts: Which words are reported.
    """

    every: str | None = None
    patience: int = 0
    close_after: int | None = None
    close_at_end: bool = False
    late: str = "drop"
    grow: int = 0
    grow_min_count: int = MIN_OCCURRENCES
    tokenizer: str | None = None
    alerts: AlertRule = field(default_factory=AlertRule)

    def __post_init__(self) -> None:
        if self.late not in LATE:
            raise SettingsError(f"--late {self.late!r} is not known.", f"Use {' or '.join(LATE)}.")


@dataclass(frozen=True)
class WatchOptions:
    """How a stream is read and where alerts go.

    Attributes:
        format: "auto", "jsonl", "csv" or "tsv".
        fields: The columns with date and text.
        follow: Wait for rows that are yet to be written to the file.
        replayed: Standard input is sent again from its first row.
        forget_position: Start over after the model's last slice.
        skip_bad: Count and skip bad rows. Otherwise the first one is an error.
        alerts: The file that alerts are appended to. None: standard output.
        slices: Stop after this many slices.
        threads: The number of threads. None: one for each processor.
    """

    format: str = "auto"
    fields: Fields = field(default_factory=Fields)
    follow: bool = False
    replayed: bool = False
    forget_position: bool = False
    skip_bad: bool = True
    alerts: str | PathLike[str] | None = None
    slices: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.slices is not None and self.slices < 1:
            raise SettingsError(f"--slices {self.slices} is out of range.", "Give 1 or more.")


def parse_seconds(text: str, option: str) -> int:
    """Read a duration like "30s", "10m", "36h", "7d" or "2w" in seconds.

    Args:
        text: The duration.
        option: The name of the option, for the error.

    Raises:
        SettingsError: The text is not a duration.
    """
    match = re.fullmatch(r"(\d{1,9})\s*([smhdw])?", text.strip())
    if not match or (match[2] is None and int(match[1])):
        raise SettingsError(f"{option} {text!r} is not a duration.", "Write it like 30s, 10m, 36h or 7d.")
    return int(match[1]) * _SECONDS[match[2] or "s"]
