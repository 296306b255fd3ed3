"""Settings of a count: a frozen record, saved with the counts, so that they can be repeated and merged."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from wordtide.dates import check_format
from wordtide.errors import SettingsError
from wordtide.settings import check_settings, setting
from wordtide.timeline import SliceLength, Slices, parse_duration, unite_slices
from wordtide.types import Integers

_WAYS = ("skip", "keep", "mask")
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


@dataclass(frozen=True)
class CountSettings:
    """Settings that determine the result. (Workers and memory are arguments of `count`.)"""

    every: str = setting(
        "year", "Length of a slice: document, hour, day, week, month, quarter, year, decade or N-years"
    )
    since: str | None = setting(None, "First date to count: 1800, 1862-12 or 1862-12-01")
    until: str | None = setting(None, "Last date to count, inclusive")
    merge_within: str | None = setting(
        None, "With --every document: merge documents closer than this (7d, 36h)"
    )
    date_field: str | None = setting(None, "Column with the date", shown_default="found by its name")
    text_field: str | None = setting(None, "Column with the text", shown_default="found by its name")
    group_field: str | None = setting(
        None, "Column with each document's group, such as a party, or folder:1, the first level of folders"
    )
    date_format: str | None = setting(
        None,
        "Pattern of dates ('%d/%m/%Y'), or epoch, epoch-ms, year, excel, day-first or month-first",
        shown_default="detected",
    )
    format: str = setting(
        "auto", "Format: auto, text, csv, tsv, jsonl, parquet, xlsx, or ngrams (Google Books, version 2 or 3)"
    )
    encoding: str | None = setting(None, "Encoding of files, such as cp1252", shown_default="detected")
    delimiter: str | None = setting(
        None, "Delimiter of CSV files: tab, or a character such as ';'", shown_default="detected"
    )
    drop: str | None = setting(None, "Remove matches of this regular expression from texts")
    numbers: str = setting(
        "skip", "Numbers", choices=_WAYS, note="skipped ones keep their place; the mask is <number>"
    )
    urls: str = setting("skip", "URLs", choices=_WAYS, note="the mask is <url>")
    user_names: str = setting("skip", "@names", choices=_WAYS, note="the mask is <user>")
    hyphens: str = setting("keep", "Hyphens", choices=["keep", "split"], note="if kept, to-day is one word")
    tokenizer: str | None = setting(None, "Your own tokenizer, as module:function")
    pretokenized: bool = setting(False, "Split at white space only; each line is a sentence")
    vocabulary_size: int = setting(
        10_000, "Keep this many of the most frequent words", minimum=1, maximum=1 << 24
    )
    vocabulary_by: str = setting(
        "total",
        "Rank words by",
        choices=["total", "share"],
        note="share is the mean relative frequency of slices",
    )
    min_count: int = setting(1, "Leave out words with fewer occurrences", minimum=1, maximum=1 << 62)
    vocabulary: str | None = setting(
        None, "Fixed vocabulary: a file with one word per line, or a counts folder"
    )
    stop_words: str | tuple[str, ...] | None = setting(
        None, "Leave out the words of this file, one per line", example="a file or a list of words"
    )
    window: int | None = setting(
        None,
        "Largest distance between the words of a pair",
        minimum=1,
        maximum=255,
        shown_default="4; n - 1 for n-grams",
    )
    phrases: str | tuple[str, ...] | None = setting(
        None,
        "Count phrases as words: auto, none, a file with one per line, or a counts folder",
        example="auto, none or a file",
        shown_default="none, or those of the counts given as --vocabulary",
    )
    close_gaps: bool = setting(False, "Close the gaps left by words outside the vocabulary")
    ngram_weights: str = setting(
        "overlap",
        "Weights of pairs in n-grams",
        choices=["overlap", "literal"],
        note="overlap matches running text, literal applies the window inside each n-gram",
    )
    examples: int = setting(0, "Example sentences to keep per word and slice", minimum=0, maximum=1000)
    seed: int = setting(0, "Seed for choosing example sentences", minimum=0, maximum=(1 << 63) - 1)
    skip_bad: bool = setting(False, "Leave out bad rows, and report how many and why")

    def __post_init__(self) -> None:
        for name in ("stop_words", "phrases"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
            words = getattr(self, name)
            if isinstance(words, tuple) and not all(isinstance(word, str) for word in words):
                option = f"--{name.replace('_', '-')}"
                raise SettingsError(f"{option} holds something other than words.", "Give a list of words.")
        # in Python one may give a path, or a year as a number
        for name in ("vocabulary", "stop_words", "phrases", "since", "until"):
            value = getattr(self, name)
            if isinstance(value, (os.PathLike, int)) and not isinstance(value, bool):
                object.__setattr__(self, name, str(value))
        check_settings(self)
        every = SliceLength.parse(self.every)
        object.__setattr__(self, "every", str(every))  # a decade is 10-years
        if self.merge_within is not None:
            parse_duration(self.merge_within, "--merge-within")
            if every.unit != "document":
                raise SettingsError("--merge-within joins documents.", "Use it with --every=document.")
        if self.date_format is not None:
            try:
                check_format(self.date_format)
            except ValueError as error:
                raise SettingsError(
                    f"--date-format={self.date_format!r} is not a pattern of dates: {error}.",
                    "Write it like --date-format='%d/%m/%Y', or give epoch, epoch-ms, year, excel, "
                    "day-first or month-first.",
                ) from None
        self._check_reading()

    def _check_reading(self) -> None:
        """Check the settings of files and texts."""
        if self.group_field is not None and not self.group_field.strip():
            raise SettingsError("--group-field is empty.", "Name a column, or a level of folders: folder:1.")
        if self.group_field is not None and self.group_field.startswith("folder:"):
            level = self.group_field.removeprefix("folder:")
            if not (level.isascii() and level.isdigit() and 1 <= int(level[:4]) <= 100):
                raise SettingsError(
                    f"--group-field={self.group_field!r} is not a level of folders.",
                    "Give folder:1 for the first level below the source, folder:2 for the next.",
                )
        if self.encoding is not None:
            from wordtide.corpus.encodings import check_encoding  # loads Arrow

            try:
                check_encoding(self.encoding)
            except ValueError as error:
                raise SettingsError(
                    f"--encoding={self.encoding!r}: {error}.", "Use utf-8, cp1252, latin-1, utf-16, ..."
                ) from None
        if self.delimiter is not None:
            character = _DELIMITERS.get(self.delimiter, self.delimiter)
            if len(character) != 1 or not character.isascii() or character in '"\r\n\0':
                raise SettingsError(
                    f"--delimiter={self.delimiter!r} is not one character.", "Give tab, or one like ';'."
                )
            object.__setattr__(self, "delimiter", character)
        if self.tokenizer and self.pretokenized:
            raise SettingsError("A tokenizer cannot be combined with --pretokenized.", "Choose one.")
        if self.drop is not None:
            from wordtide.corpus.normalization import check_pattern  # loads Arrow

            try:
                check_pattern(self.drop)
            except ValueError as error:
                raise SettingsError(
                    f"--drop={self.drop!r} cannot be used: {error}.",
                    "Write a regular expression in the syntax of RE2, like --drop='RT @[a-z]+:'.",
                ) from None

    @property
    def listed_stop_words(self) -> tuple[str, ...]:
        """The stop words themselves, once the file is read."""
        return self.stop_words if isinstance(self.stop_words, tuple) else ()

    @property
    def joined_phrases(self) -> tuple[str, ...]:
        """The phrases themselves, once they are read or found."""
        return self.phrases if isinstance(self.phrases, tuple) else ()

    def unite_slices(self, parts: Sequence[Slices]) -> tuple[Slices, list[Integers]]:
        """Unite the slices of parts of a corpus; see `timeline.unite_slices`."""
        within = parse_duration(self.merge_within, "--merge-within") if self.merge_within else 0
        return unite_slices(parts, SliceLength.parse(self.every), within)

    def as_json(self) -> dict[str, Any]:
        """For the header of the counts folder."""
        return asdict(self)

    @staticmethod
    def from_json(saved: object) -> "CountSettings":
        """Read settings back. Entries of other versions are ignored."""
        known = {field.name for field in fields(CountSettings)}
        if not isinstance(saved, dict):
            raise SettingsError("The settings in the header are damaged.", "Make the counts folder again.")
        try:
            return CountSettings(**{name: value for name, value in saved.items() if name in known})
        except TypeError as error:
            raise SettingsError(
                f"The settings in the header are damaged: {error}", "Make the folder again."
            ) from error


#: Settings on which counts must agree to be added.
MUST_AGREE = ("every", "merge_within", "close_gaps", "ngram_weights")

#: Later texts for a model are counted with these settings. Each source has its own columns for date and text.
RECIPE = (
    *("every", "merge_within", "close_gaps", "ngram_weights", "group_field"),
    *("numbers", "urls", "user_names", "hyphens", "tokenizer", "pretokenized", "drop", "stop_words"),
    "phrases",
)


@dataclass(frozen=True)
class Summary:
    """What counting found, for the user and for the header."""

    documents: int = 0
    tokens: int = 0
    tokens_in_vocabulary: float = 0.0
    distinct_words: int = 0
    outside_dates: int = 0  # documents, or n-gram years, before --since or after --until
    tagged_ngrams: int = 0
    ignored_files: int = 0
    phrases: int = 0  # joined; they are in the vocabulary
    phrases_left_out: int = 0  # listed, but absent from the text, or too rare for the vocabulary
    phrase_occurrences: int = 0
    words_in_phrases: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
