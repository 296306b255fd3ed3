"""The date, text and group columns of a table: which they are, and how a whole column is parsed at once."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wordtide.dates import DAY, ParsedDate, parse_date
from wordtide.errors import InputError
from wordtide.types import Bytes, Integers

#: Beside a year, "month" and "day" are only parts of a date: they come last.
_DATE_NAMES = (
    "date", "datetime", "date_time", "timestamp", "time", "created_at", "created", "created_utc",
    "published", "published_at", "publication_date", "pub_date", "year", "month", "day",
)  # fmt: skip
_TEXT_NAMES = ("text", "body", "content", "full_text", "message", "speech", "tweet", "article", "selftext")
#: What `parse_date` reports for a missing value.
DATE_MISSING = "the date is missing"
#: What `group_name` reports for a missing value.
GROUP_MISSING = "the group is missing"
_LONGEST_GROUP = 100
_NOT_IN_NAMES = ("Cc", "Cs", "Zl", "Zp")  # categories of characters: control, surrogates, separators
_FIRST_YEAR = -62_135_596_800  # seconds from 1970: the beginning of the year 1
_SAFE_STAMPS = 250_000_000_000  # seconds from 1970: the years -5952 to 9892 need no check


@dataclass(frozen=True)
class Fields:
    """Names of the date and text columns; None: choose the column by its name.

    `group` is the column with the groups of documents, if they have any.
    """

    date: str | None = None
    text: str | None = None
    date_format: str | None = None
    group: str | None = None

    def found_in(self, columns: Sequence[str], place: str) -> "Fields":
        """Return a copy with both names chosen for a table with these columns."""
        return Fields(
            _chosen_column(self.date, _DATE_NAMES, columns, "date", place),
            _chosen_column(self.text, _TEXT_NAMES, columns, "text", place),
            self.date_format,
            None if self.group is None else _chosen_column(self.group, (), columns, "group", place),
        )

    def names(self) -> tuple[str, str]:
        """Both names, once they are chosen."""
        if self.date is None or self.text is None:
            raise AssertionError("the fields are not chosen yet")
        return self.date, self.text

    def columns(self) -> tuple[str, ...]:
        """The names of all columns to read, once they are chosen; the last is the group, if there is one."""
        return self.names() if self.group is None else (*self.names(), self.group)


def _chosen_column(
    given: str | None, usual: Sequence[str], columns: Sequence[str], what: str, place: str
) -> str:
    remedy = f"The fields are: {', '.join(columns) or 'none'}. Choose one with --{what}-field."
    name = given if given is not None else _usual(usual, columns)
    if name is None:
        raise InputError(f"{place}: no field looks like the {what}.", remedy)
    if name not in columns:
        raise InputError(f"{place}: there is no field {name!r}.", remedy)
    if columns.count(name) > 1:
        raise InputError(
            f"{place}: there are {columns.count(name)} fields {name!r}.", "Give each field a different name."
        )
    return name


def _usual(usual: Sequence[str], columns: Sequence[str]) -> str | None:
    """The first usual name among the columns, ignoring case."""
    by_lower_case = {column.lower(): column for column in reversed(columns)}
    return next((by_lower_case[name] for name in usual if name in by_lower_case), None)


#: Stamps and spans of a column, and the problem of each row without a valid date.
DateColumn = tuple[Integers, Integers, dict[int, str]]
#: For each row the number of its group, or -1; the names of groups; and the problem of each row without one.
GroupColumn = tuple[Integers, list[str], dict[int, str]]


def holds_dates(kind: pa.DataType) -> bool:
    """Whether a column of this type can hold dates."""
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return (
        is_text(kind)
        or number
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_null(kind)
    )


def is_text(kind: pa.DataType) -> bool:
    """Whether this is one of Arrow's string types."""
    return any((pa.types.is_string(kind), pa.types.is_large_string(kind), pa.types.is_string_view(kind)))


def parse_column(column: pa.Array, date_format: str | None) -> DateColumn:
    """Parse a column of dates: calendar types and plain ISO dates at once, others value by distinct value."""
    if pa.types.is_dictionary(column.type) and pa.types.is_temporal(column.type.value_type):
        column = column.dictionary_decode()
    if pa.types.is_temporal(column.type):
        return _from_calendar(column)
    if date_format is None and is_text(column.type):
        plain = _from_iso(column)
        if plain is not None:
            return plain
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    parsed = [_parsed(value, date_format) for value in _values(encoded.dictionary)]
    parsed.append(DATE_MISSING)
    indices = pc.fill_null(encoded.indices, len(parsed) - 1).to_numpy(zero_copy_only=False)
    good = [entry if isinstance(entry, tuple) else (0, 0) for entry in parsed]
    stamps = np.array([stamp for stamp, _ in good], dtype=np.int64)[indices]
    spans = np.array([span for _, span in good], dtype=np.int64)[indices]
    wrong = {int(row): str(parsed[indices[row]]) for row in np.flatnonzero(spans == 0)}
    return stamps, spans, wrong


def _from_calendar(column: pa.Array) -> DateColumn:
    """Convert Arrow's dates and timestamps."""
    days = pa.types.is_date(column.type)
    moments = column.cast(pa.timestamp("s", tz=None if days else column.type.tz), safe=False).cast(pa.int64())
    stamps = pc.fill_null(moments, 0).to_numpy(zero_copy_only=False) + (DAY // 2 if days else 0)
    spans = np.full(len(column), DAY if days else 1)
    wrong = {
        int(row): DATE_MISSING for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
    }
    for row in np.flatnonzero((stamps < -_SAFE_STAMPS) | (stamps > _SAFE_STAMPS)):
        verdict = _parsed(np.datetime64(int(stamps[row]), "s"), None)
        if isinstance(verdict, str):
            wrong[int(row)] = verdict
    return stamps, spans, wrong


def _from_iso(column: pa.Array) -> DateColumn | None:
    """Parse a column of ISO days or of ISO moments as `parse_date` does.

    Returns None unless all values are valid and of one form: 1862-12-01, 1862-12-01T09:30:00, or that with Z.
    """
    if column.null_count or len(column) == 0 or pa.types.is_string_view(column.type):
        return None
    lengths = pc.binary_length(column)
    length = lengths[0].as_py()
    if length not in (10, 19, 20) or not pc.all(pc.equal(lengths, length)).as_py():
        return None
    try:
        moments = column.cast(pa.timestamp("s", tz="UTC" if length == 20 else None)).cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    stamps = moments.to_numpy(zero_copy_only=False)
    if stamps.min() < _FIRST_YEAR:
        return None
    days = length == 10
    return stamps + (DAY // 2 if days else 0), np.full(len(stamps), DAY if days else 1), {}


def folder_level(field: str | None) -> int | None:
    """The level of folders that a group field names: 1 for "folder:1"; None if it names a column."""
    match = re.fullmatch(r"folder:(\d{1,3})", field or "")
    return int(match[1]) if match else None


def group_name(value: object) -> str:
    """The name of a group, in composed form (NFC) and without white space around it.

    Raises:
        ValueError: There is no name (the message is `GROUP_MISSING`), or it cannot be one.
    """
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"the group {_abridged(repr(value)[1:])} is not valid UTF-8") from None
    if value is None or value != value:  # not a number
        raise ValueError(GROUP_MISSING)
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, float) and value.is_integer():
        value = int(value)  # columns of numbers with gaps
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"the group is a {type(value).__name__}, not a name")
    name = unicodedata.normalize("NFC", str(value).strip())
    if not name:
        raise ValueError(GROUP_MISSING)
    if len(name) > _LONGEST_GROUP:
        raise ValueError(f"the group {_abridged(repr(name))} has more than {_LONGEST_GROUP} characters")
    if any(unicodedata.category(letter) in _NOT_IN_NAMES for letter in name):
        raise ValueError(f"the group {_abridged(ascii(name))} contains a control character")
    return name


def _abridged(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def holds_groups(kind: pa.DataType) -> bool:
    """Whether a column of this type can hold the names of groups."""
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return is_text(kind) or number or pa.types.is_null(kind)


def parse_groups(column: pa.Array) -> GroupColumn:
    """Parse a column of groups, each distinct value once."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values = encoded.dictionary
    if is_text(values.type):
        values = values.cast(pa.large_binary())
    names: dict[str, int] = {}
    problems: dict[int, str] = {}
    numbers = np.full(len(values) + 1, -1, dtype=np.int64)
    problems[len(values)] = GROUP_MISSING
    for place, value in enumerate(values.to_pylist()):
        try:
            numbers[place] = names.setdefault(group_name(value), len(names))
        except ValueError as error:
            problems[place] = str(error)
    indices = pc.fill_null(encoded.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
    found = numbers[indices]
    return found, list(names), {int(row): problems[int(indices[row])] for row in np.flatnonzero(found < 0)}


def _values(dictionary: pa.Array) -> list[object]:
    """Convert to Python values; invalid UTF-8 is escaped (\\xff), so that no such value is a date."""
    if not is_text(dictionary.type):
        return dictionary.to_pylist()  # type: ignore[no-any-return]
    coded = dictionary.cast(pa.large_binary()).to_pylist()
    return [None if value is None else value.decode("utf-8", "backslashreplace") for value in coded]


def _parsed(value: object, date_format: str | None) -> ParsedDate | str:
    try:
        return parse_date(value, date_format)
    except (ValueError, OverflowError) as error:
        return str(error)


def text_buffers(texts: pa.Array) -> tuple[Bytes, Integers]:
    """Return the bytes of an Arrow string array, without a copy, and int64 offsets into them."""
    large = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
    if not large and not (pa.types.is_string(texts.type) or pa.types.is_binary(texts.type)):
        texts, large = texts.cast(pa.large_string()), True
    _, offset_buffer, data_buffer = texts.buffers()
    if len(texts) == 0:
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    width = np.int64 if large else np.int32
    offsets = np.frombuffer(offset_buffer, dtype=width)[texts.offset : texts.offset + len(texts) + 1].astype(
        np.int64
    )
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer else np.zeros(0, dtype=np.uint8)
    return data, offsets
