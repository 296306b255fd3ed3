"""How a corpus was counted: one frozen record, saved with the counts, so that they can be made again and merged safely."""

import os
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from wordtide.dates import check_format
from wordtide.errors import SettingsError
from wordtide.timeline import Every, parse_duration


@dataclass(frozen=True)
class CountSettings:
    """Settings that decide the result. (The number of workers and the memory do not.)"""

    every: str = "year"
    since: str | None = None
    until: str | None = None
    merge_within: str | None = None
    date_field: str | None = None
    text_field: str | None = None
    date_format: str | None = None
    format: str = "auto"
    numbers: str = "skip"
    urls: str = "skip"
    user_names: str = "skip"
    hyphens: str = "keep"
    tokenizer: str | None = None
    pretokenized: bool = False
    vocabulary_size: int = 10_000
    vocabulary_by: str = "total"
    min_count: int = 1
    vocabulary: str | None = None
    window: int | None = None
    close_gaps: bool = False
    ngram_weights: str = "overlap"
    examples: int = 0
    seed: int = 0
    skip_bad: bool = False

    def __post_init__(self) -> None:
        for name in ("vocabulary", "since", "until"):  # in Python one gives a path, or a year as a number
            value = getattr(self, name)
            if isinstance(value, (os.PathLike, int)):
                object.__setattr__(self, name, str(value))
        every = Every.parse(self.every)
        if self.merge_within is not None:
            parse_duration(self.merge_within)
            if every.unit != "document":
                raise SettingsError("--merge-within joins documents.", "Use it with --every document.")
        if self.date_format is not None:
            try:
                check_format(self.date_format)
            except ValueError as error:
                raise SettingsError(
                    f"--date-format {self.date_format!r} is no pattern for dates: {error}.",
                    "Write it like --date-format '%d/%m/%Y', or give epoch, epoch-ms or year.",
                ) from None
        for name, smallest, largest in (
            ("vocabulary_size", 1, 1 << 24),
            ("min_count", 1, 1 << 62),
            ("window", 1, 255),
            ("examples", 0, 1000),
            ("seed", 0, (1 << 63) - 1),
        ):
            value = getattr(self, name)
            if value is not None and not smallest <= value <= largest:
                option = "--" + name.replace("_", "-")
                raise SettingsError(
                    f"{option} {value} is out of range.", f"Give a number from {smallest} to {largest}."
                )
        for name, choices in (
            ("vocabulary_by", ("total", "share")),
            ("ngram_weights", ("overlap", "literal")),
        ):
            if getattr(self, name) not in choices:
                option = "--" + name.replace("_", "-")
                raise SettingsError(
                    f"{option} {getattr(self, name)!r} is not known.", f"Use {' or '.join(choices)}."
                )

    def as_json(self) -> dict[str, Any]:
        """For the header of the counts folder."""
        return asdict(self)

    @staticmethod
    def from_json(saved: object) -> "CountSettings":
        """Read back; what an older or newer version wrote beside is ignored."""
        known = {field.name for field in fields(CountSettings)}
        if not isinstance(saved, dict):
            raise SettingsError("The settings in the header are damaged.", "Make the counts folder again.")
        try:
            return CountSettings(**{name: value for name, value in saved.items() if name in known})
        except TypeError as error:
            raise SettingsError(
                f"The settings in the header are damaged: {error}", "Make the folder again."
            ) from error


#: Two counts can be added only if these agree: otherwise their sum is the count of nothing.
MUST_AGREE = ("every", "merge_within", "close_gaps", "ngram_weights")

#: Later texts for a model are counted with these settings. Each source has its own columns for date and text.
RECIPE = (
    *("every", "merge_within", "close_gaps", "ngram_weights"),
    *("numbers", "urls", "user_names", "hyphens", "tokenizer", "pretokenized"),
)


@dataclass(frozen=True)
class Summary:
    """What was met on the way: for the user, and kept in the header."""

    documents: int = 0
    tokens: int = 0
    tokens_in_vocabulary: float = 0.0
    distinct_words: int = 0
    outside_dates: int = 0  # documents, or n-gram years, before --since or after --until
    tagged_ngrams: int = 0
    ignored_files: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
