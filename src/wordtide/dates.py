"""Dates, parsed to a stamp (seconds from 1970 in UTC) and a span (the seconds of the period they name).

The stamp is the middle of the period: the middle of the year for "1862", noon for "1862-12-01", the second
itself for a date-time. Dates of different precision can be mixed without a bias towards January.
"""

import datetime as dt
import email.utils
import math
import re
from functools import lru_cache

import numpy as np

from wordtide.written_dates import (
    DAY_FIRST,
    MONTH_FIRST,
    AmbiguousDateError,
    DateParts,
    parse_written,
)

DAY = 86_400
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
#: Numbers below the first bound are years, above the second seconds since 1970, above the third milliseconds.
_FIRST_AMBIGUOUS = 10_000
_FIRST_EPOCH_SECOND = 100_000_000
_FIRST_EPOCH_MILLISECOND = 100_000_000_000
#: What numbers with this many digits may mean besides seconds: the usual name and the pattern.
_DIGITS = {
    6: (("YYYYMM", "%Y%m"), ("YYMMDD", "%y%m%d"), ("DDMMYY", "%d%m%y"), ("MMDDYY", "%m%d%y")),
    7: (("YYYYDDD", "%Y%j"),),
    8: (("DDMMYYYY", "%d%m%Y"), ("MMDDYYYY", "%m%d%Y")),
    12: (("YYYYMMDDHHMM", "%Y%m%d%H%M"),),
}
_LIKELY_YEARS = range(1400, 2101)
_EXCEL_START = dt.datetime(1899, 12, 30, tzinfo=dt.UTC)
_EXCEL_LEAP_DAY = 60  # Excel's calendar has a day 1900-02-29
_MAIL = re.compile(r"\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d")
_TWITTER = re.compile(
    r"[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) (?P<day>\d\d) (?P<time>\d\d:\d\d:\d\d) "
    r"(?P<zone>[+-]\d{4}) (?P<year>\d{4})"
)

_FIRST_STAMP = int(np.datetime64("-9999-01-01", "s").astype(np.int64))
_END_STAMP = int(np.datetime64("10000-01-01", "s").astype(np.int64))
_LONGEST_DATE = 200  # characters
#: Names of formats for numbers.
NUMBER_FORMATS = ("epoch", "epoch-ms", "year", "excel")
#: All names of formats; others are `strptime` patterns.
NAMED_FORMATS = (*NUMBER_FORMATS, DAY_FIRST, MONTH_FIRST)

#: A stamp and a span.
ParsedDate = tuple[int, int]


def parse_date(value: object, date_format: str | None = None) -> ParsedDate:
    """Parse a date to a stamp and a span; ValueError if it is invalid.

    `date_format`: None for years, year-months, ISO dates and date-times, compact dates, epoch numbers and the
    forms of `written_dates`; "epoch", "epoch-ms", "year" or "excel" to say what numbers are; "day-first" or
    "month-first" to say what 03/04/1999 is; else a `strptime` pattern.
    """
    if value is None:
        raise ValueError("the date is missing")
    if isinstance(value, str):
        if len(value) > _LONGEST_DATE:  # also keeps the cache small
            raise ValueError(f"{value[:40]!r} and {len(value) - 40:,} further characters are not a date")
        return parse_text_date(value.strip(), date_format)
    if isinstance(value, dt.datetime):
        return _checked(_from_datetime(value), 1)
    if isinstance(value, dt.date):
        return _from_parts(value.year, value.month, value.day)
    if isinstance(value, np.datetime64):
        return _from_numpy(value)
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return _from_number(float(value), date_format)
    raise ValueError(f"{repr(value)[:_LONGEST_DATE]} is not a date")


@lru_cache(maxsize=1 << 16)
def parse_text_date(text: str, date_format: str | None) -> ParsedDate:
    """`parse_date` for a string, with a cache, because dates repeat."""
    if not text:
        raise ValueError("the date is missing")
    if date_format is not None and date_format not in NAMED_FORMATS:
        return _from_pattern(text, date_format)
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        return _from_number(float(text), date_format)
    year_month = re.fullmatch(r"(-?\d{4})-(\d{2})", text)
    if year_month:
        return _from_parts(int(year_month[1]), int(year_month[2]))
    day = re.fullmatch(r"\d{4}-\d{2}-\d{2}|\d{4}-W\d{2}-\d|\d{4}W\d{3}", text)
    try:
        parsed = dt.datetime.fromisoformat(text)
    except ValueError:
        return _from_written(text, date_format)
    return _from_parts(parsed.year, parsed.month, parsed.day) if day else _checked(_from_datetime(parsed), 1)


def _from_written(text: str, date_format: str | None) -> ParsedDate:
    parts = parse_written(text, date_format if date_format in (DAY_FIRST, MONTH_FIRST) else None)
    if parts is not None:
        return date_of_parts(parts)
    tweet = _TWITTER.fullmatch(text)
    mail = "{day} {month} {year} {time} {zone}".format(**tweet.groupdict()) if tweet else text
    try:
        if not _MAIL.search(mail):
            raise ValueError
        return _checked(_from_datetime(email.utils.parsedate_to_datetime(mail)), 1)
    except (ValueError, TypeError, IndexError, OverflowError):
        raise ValueError(f"{text!r} is not a date in a known format") from None


def date_of_parts(parts: DateParts) -> ParsedDate:
    """The stamp and span of the parts of a date."""
    if parts.last is None:
        return _from_parts(parts.year, parts.month, parts.day)
    (first, length), (last, last_length) = _from_parts(parts.year), _from_parts(parts.last)
    start, end = first - length // 2, last - last_length // 2 + last_length
    return (start + end) // 2, end - start


def format_date(stamp: int, span: int) -> str:
    """Format a date with the precision of its span: 1860s, 1862, 1862-12 or 1862-12-01."""
    if span > 366 * DAY:
        first, last = (
            str(np.datetime64(end, "s").astype("datetime64[Y]"))
            for end in (stamp - span // 2, stamp - span // 2 + span - 1)
        )
        return f"{first}s" if int(first) % 10 == 0 and int(last) == int(first) + 9 else f"{first}-{last}"
    unit = "Y" if span > 31 * DAY else "M" if span > DAY else "D"
    return str(np.datetime64(stamp, "s").astype(f"datetime64[{unit}]"))


def bounds(text: str) -> tuple[int, int]:
    """Return the first second of the period that a date names, and the first second after it."""
    stamp, span = parse_date(text)
    return stamp - span // 2, stamp - span // 2 + span


def check_format(date_format: str) -> None:
    """Raise a ValueError unless this is one of `NAMED_FORMATS` or a `strptime` pattern with a year."""
    if date_format in NAMED_FORMATS:
        return
    if not re.search(r"%[YyGcxsD]", date_format):
        raise ValueError("it has no year (%Y)")
    try:
        dt.datetime.strptime("", date_format)
    except re.error:
        raise ValueError("it has the same part twice") from None
    except ValueError as error:
        if "directive" in str(error) or "stray" in str(error):
            raise


def _from_number(number: float, date_format: str | None) -> ParsedDate:
    if not math.isfinite(number):
        raise ValueError("the date is missing")
    whole = int(number)
    if date_format in ("epoch", "epoch-ms"):
        return _checked(whole // (1 if date_format == "epoch" else 1000), 1)
    if date_format == "excel":
        return _from_excel(number)
    if date_format is not None and date_format not in NAMED_FORMATS:
        return _from_pattern(str(whole), date_format)
    if number == whole and abs(number) < _FIRST_AMBIGUOUS:
        return _from_parts(whole)
    if date_format == "year" or abs(number) < _FIRST_AMBIGUOUS:
        raise ValueError(f"{number:g} is not a {date_format or 'date in a known format'}")
    if re.fullmatch(r"\d{8}|\d{14}", str(whole)):  # 18621201, 18621201120000: a compact date if it can be one
        try:
            parsed = dt.datetime.strptime(str(whole), "%Y%m%d" if whole < 10**8 else "%Y%m%d%H%M%S")
        except ValueError:
            parsed = None
        if parsed is not None:
            day = whole < 10**8
            return _from_parts(parsed.year, parsed.month, parsed.day) if day else (_from_datetime(parsed), 1)
    others = _meanings(whole)
    if abs(number) < _FIRST_EPOCH_SECOND or others:
        unit, option = (
            ("milliseconds", "epoch-ms") if whole >= _FIRST_EPOCH_MILLISECOND else ("seconds", "epoch")
        )
        since = format_date(whole // (1000 if option == "epoch-ms" else 1), DAY)
        raise AmbiguousDateError(str(whole), [*others, (f"{since} in {unit} since 1970", option)])
    return _checked(whole // (1 if abs(number) < _FIRST_EPOCH_MILLISECOND else 1000), 1)


def _meanings(number: int) -> list[tuple[str, str]]:
    """What a number may mean, other than seconds: a description with the date, and the format for it."""
    meanings = []
    for name, pattern in (("an Excel serial date", "excel"), *_DIGITS.get(len(str(number)), ())):
        if pattern == "excel" and not _FIRST_AMBIGUOUS <= number < 100_000:
            continue
        try:
            stamp, span = parse_text_date(str(number), pattern)
        except ValueError:
            continue
        shown = format_date(stamp, max(span, DAY))
        if int(shown[:4]) in _LIKELY_YEARS:
            meanings.append((f"{shown} as {name}", pattern if pattern == "excel" else f"'{pattern}'"))
    return meanings


def _from_excel(number: float) -> ParsedDate:
    """Convert a serial date of spreadsheets: days from 1900 (1 is 1900-01-01), the time as a fraction."""
    if not 1 <= number < 2_958_466 or int(number) == _EXCEL_LEAP_DAY:
        raise ValueError(f"{number:g} is not an Excel serial date")
    days = number + 1 if number < _EXCEL_LEAP_DAY else number
    start = _from_datetime(_EXCEL_START) + int(days) * DAY
    seconds = round((number - int(number)) * DAY)
    return (start + seconds, 1) if seconds else (start + DAY // 2, DAY)


def _from_numpy(value: np.datetime64) -> ParsedDate:
    """Convert a NumPy date, whose unit is the precision: a year, a month, a day, or a moment."""
    if np.isnat(value):
        raise ValueError("the date is missing")
    unit = np.datetime_data(value.dtype)[0]
    start = _seconds(value)
    if unit not in ("Y", "M", "D"):
        return _checked(start, 1)
    span = _seconds((value.astype(np.int64) + 1).astype(value.dtype)) - start
    return _checked(start + span // 2, span)


def _seconds(value: np.datetime64) -> int:
    return int(value.astype("datetime64[s]").astype(np.int64))


def _checked(stamp: int, span: int) -> ParsedDate:
    """Reject stamps outside years of four digits, such as microseconds read as seconds."""
    if not _FIRST_STAMP <= stamp < _END_STAMP:
        raise ValueError("the date lies outside the years -9999 to 9999")
    return stamp, span


def _from_pattern(text: str, pattern: str) -> ParsedDate:
    try:
        parsed = dt.datetime.strptime(text, pattern)
    except (ValueError, re.error) as error:
        raise ValueError(f"{text!r} does not fit the date format {pattern!r}") from error
    if re.search(r"%[HIMSfcXsT]", pattern):
        return _from_datetime(parsed), 1
    if re.search(r"%[djxDUWVuwaA]", pattern):
        return _from_parts(parsed.year, parsed.month, parsed.day)
    return _from_parts(parsed.year, parsed.month if re.search(r"%[mbB]", pattern) else None)


def _from_datetime(moment: dt.datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (aware - _EPOCH) // dt.timedelta(seconds=1)


def _from_parts(year: int, month: int | None = None, day: int | None = None) -> ParsedDate:
    """The middle and length of a year, a month or a day."""
    if not -9999 <= year <= 9999:
        raise ValueError("the date lies outside the years -9999 to 9999")
    if month is not None and not 1 <= month <= 12:
        raise ValueError(f"{year}-{month:02d} is not a month")
    if day is not None:
        noon = (dt.date(year, month or 1, day).toordinal() - _EPOCH.toordinal()) * DAY + DAY // 2
        return noon, DAY
    first = (year - 1970) * 12 + (month or 1) - 1
    after = first + (1 if month else 12)
    start, end = (_seconds(np.datetime64(number, "M")) for number in (first, after))  # with years before 1
    return (start + end) // 2, end - start
