"""Settings of updates and watches."""

from dataclasses import dataclass, field
from os import PathLike

from wordtide.corpus.columns import Fields
from wordtide.counts.settings import CountSettings
from wordtide.errors import SettingsError
from wordtide.questions.change import MIN_OCCURRENCES
from wordtide.settings import check_settings, setting
from wordtide.timeline import parse_duration

#: The formats of files whose rows can be read as they arrive.
FORMATS = ("jsonl", "csv", "tsv")
_MOST = 1 << 62


@dataclass(frozen=True)
class GrowthSettings:
    """How the vocabulary of a model grows with an update."""

    grow: int = setting(0, "Admit up to this many of the most frequent new words", maximum=_MOST)
    grow_min_count: int = setting(
        MIN_OCCURRENCES, "Occurrences that a new word needs", minimum=1, maximum=_MOST
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class AlertRule:
    """Which words of a slice are reported, and with how many neighbors.

    About thirty of a million ordinary words reach the default threshold.
    """

    threshold: float = setting(4.0, "Report words with at least this score", minimum=-1e9, maximum=1e9)
    min_occurrences: int = setting(
        MIN_OCCURRENCES,
        "Report words with at least this many occurrences in the slice",
        minimum=1,
        maximum=_MOST,
    )
    neighbors: int = setting(5, "Neighbors to list, before and after the slice", minimum=1, maximum=_MOST)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class WatchSettings(GrowthSettings):
    """How a stream is cut into slices and fitted: all that decides the model and its alerts.

    `every` and `tokenizer` are those of `CountSettings`. Without `every`, slices have the length that the
    model was counted with; a `tokenizer` must be given if it was counted with one.
    """

    patience: str = setting("0", "How long a slice stays open after its end: 10m, 36h, 7d")
    close_after: str | None = setting(
        None, "Close a slice this long after its end by the clock, even if no row follows"
    )
    close_at_end: bool = setting(False, "Also close the open slices when the input ends")
    late: str = setting(
        "drop",
        "Rows of closed slices",
        choices=["drop", "fold"],
        note="fold adds them to the next slice",
    )
    every: str | None = None
    tokenizer: str | None = None
    alerts: AlertRule = field(default_factory=AlertRule)

    def __post_init__(self) -> None:
        check_settings(self)
        _ = self.patience_seconds, self.close_after_seconds  # raises an error if one is not a duration

    @property
    def patience_seconds(self) -> int:
        """How long a slice stays open after its end."""
        return parse_duration(self.patience, "--patience")

    @property
    def close_after_seconds(self) -> int | None:
        """How long after its end the clock closes a slice; None: never."""
        return None if self.close_after is None else parse_duration(self.close_after, "--close-after")


@dataclass(frozen=True)
class WatchOptions:
    """How a stream is read and where alerts go: to the end of a file, or to standard output (None).

    Rows are UTF-8 unless an `encoding` is given; those in which a line break is not one byte cannot be
    watched. By default the header line determines the `delimiter` of CSV files. `skip_bad` counts bad rows
    and continues; otherwise the first one is an error.
    """

    follow: bool = setting(False, "Files: wait for new rows")
    format: str = setting("auto", "Format", choices=["auto", *FORMATS])
    replayed: bool = setting(False, "Standard input starts again from its first row")
    forget_position: bool = setting(False, "Start over after the model's last slice; drop waiting rows")
    slices: int | None = setting(None, "Stop after this many slices", minimum=1, maximum=_MOST)
    fields: Fields = field(default_factory=Fields)
    encoding: str | None = None
    delimiter: str | None = None
    skip_bad: bool = True
    alerts: str | PathLike[str] | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        checked = CountSettings(encoding=self.encoding, delimiter=self.delimiter)
        object.__setattr__(self, "delimiter", checked.delimiter)
        if self.encoding is not None and "\n".encode(self.encoding) != b"\n":
            raise SettingsError(
                f"Rows in {self.encoding} cannot be watched: a line break is not one byte.",
                "Write them as UTF-8, or convert them: iconv -f "
                f"{self.encoding} -t utf-8 FILE | wordtide watch MODEL -",
            )
