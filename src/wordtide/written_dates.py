"""Dates as people write them: 31.12.1999, 31 Dec 1999, 12/31/1999, 1850s, c. 1850, and dates in file names.

This module finds the parts of a date; `dates` turns them into a stamp and a span.
"""

import calendar
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

#: Formats that decide between 03/04/1999 as 3 April and as March 4.
DAY_FIRST: Final = "day-first"
MONTH_FIRST: Final = "month-first"

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jänner jaenner",
            "feb february februar",
            "mar march märz maerz mär mrz",
            "apr april",
            "may mai",
            "jun june juni",
            "jul july juli",
            "aug august",
            "sep sept september",
            "oct october okt oktober",
            "nov november",
            "dec december dez dezember",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH: Final = rf"(?P<name>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})(?![^\W\d_])\.?"
_GAP: Final = r"[ _-]{1,2}"
_DAY_MONTH_YEAR: Final = r"(?P<one>\d{1,2})(?P<mark>[./_-]) ?(?P<two>\d{1,2})(?P=mark) ?(?P<year>\d{4})"
_NAMED: Final = (
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?{_GAP}{_MONTH},?{_GAP}(?P<year>\d{{4}})",
    rf"(?<![^\W\d_]){_MONTH}{_GAP}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?{_GAP}(?P<year>\d{{4}})",
    rf"(?<![^\W\d_]){_MONTH},?{_GAP}(?P<year>\d{{4}})",
)
_YEAR_FIRST: Final = r"(?P<year>\d{4})(?P<mark>[/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})"
_RANGE: Final = r"(?P<year>\d{4}) ?[-–] ?(?P<last>\d{4})"  # noqa: RUF001 (people type the dash)
_DECADE: Final = r"(?P<year>\d{3}0)(?P<decade>(?:'|’)?s|er)"  # noqa: RUF001
_ABOUT: Final = (
    r"[\[(]?(?:(?:c|ca|circa|about|um)\b\.? ?|~ ?)?(?P<year>\d{4})(?P<decade>(?:'|’)?s|er)?\??[\])]?"  # noqa: RUF001
)

_WHOLE: Final = tuple(
    re.compile(pattern, re.I) for pattern in (_DAY_MONTH_YEAR, _YEAR_FIRST, *_NAMED, _RANGE, _ABOUT)
)
#: The forms of dates in names, the most precise first.
_IN_NAMES: Final = tuple(
    re.compile(rf"(?<!\d)(?:{pattern})(?!\d)", re.I)
    for pattern in (
        r"(?P<year>[12]\d{3})(?P<mark>[-_. ]?)(?P<month>0[1-9]|1[0-2])(?P=mark)(?P<day>0[1-9]|[12]\d|3[01])",
        *(form.replace(r"\d{4}", r"[12]\d{3}") for form in (_DAY_MONTH_YEAR, *_NAMED)),
        r"(?P<year>[12]\d{3})(?P<mark>[-_.]?)(?P<month>0[1-9]|1[0-2])",
        _RANGE.replace(r"\d{4}", r"[12]\d{3}"),
        _DECADE.replace(r"\d{3}0", r"[12]\d{2}0"),
        r"(?P<year>[12]\d{3})",
    )
)
_YEAR: Final = re.compile(r"(?<!\d)[12]\d{3}")
_PLAUSIBLE: Final = range(1400, 2101)
_LONGEST_RANGE: Final = 200  # years
_LONGEST_NAME: Final = 1000  # characters that are searched
#: Words before numbers that are not years: p 1000, MS 1234, No. 1862.
_LABEL: Final = re.compile(
    r"(?<![^\W\d_])(?:pp?|pages?|seiten?|s|mss?|no|nr|num|fols?|ff?|vol|bd|id)[. _-]{0,2}$|#$", re.I
)


class DateParts(NamedTuple):
    """The parts of a date. `last`: the last year of a period of several years."""

    year: int
    month: int | None = None
    day: int | None = None
    last: int | None = None


class FoundDate(NamedTuple):
    """A date in a name, as it is written there.

    `meanings`: the days that it may mean, if day and month could be exchanged; then `parts` is the year only.
    """

    parts: DateParts
    text: str
    is_plausible: bool
    meanings: tuple[str, ...] = ()


class AmbiguousDateError(ValueError):
    """A date that may mean several days. `problem` says so without the options that decide."""

    def __init__(self, text: str, meanings: list[tuple[str, str]]) -> None:
        self.dates = tuple(meaning for meaning, _ in meanings)
        self.problem = f"{text} is {'ambiguous' if len(meanings) > 1 else 'not clearly a date'}"
        listed = ", or ".join(f"{meaning} (--date-format={option})" for meaning, option in meanings)
        super().__init__(f"{self.problem}: {listed}")


def parse_written(text: str, order: str | None) -> DateParts | None:
    """Find the parts of a date that is the whole of a text; None if it has another form.

    Raises:
        AmbiguousDateError: Day and month could be exchanged, and no order (`DAY_FIRST`, `MONTH_FIRST`) is
            given.
    """
    for form in _WHOLE:
        match = form.fullmatch(text)
        if match is not None:
            return _parts(match, order)
    return None


def dates_in_name(name: str, order: str | None = None) -> list[FoundDate]:
    """Find the dates in the name of a file, the best first.

    Plausible years (1400 to 2100, not after "p" or "MS") come before others, then the most precise dates,
    then years in brackets. Of several years the last one counts (1984 by Orwell, 1949), of several days the
    first.
    """
    name = name[:_LONGEST_NAME]
    years = len(_YEAR.findall(name))
    if not years:
        return []
    day = _IN_NAMES[0].search(name) if years == 1 else None
    if day is not None and (parts := _parts(day, order)) and _exists(parts):  # the most frequent form
        return [FoundDate(parts, day[0], parts.year in _PLAUSIBLE)]
    ranked = sorted(_candidates(name, order), key=lambda candidate: candidate[0], reverse=True)
    return [found for _, found in ranked]


def _candidates(name: str, order: str | None) -> Iterator[tuple[tuple[int, ...], FoundDate]]:
    taken: list[tuple[int, int]] = []
    unclear: list[tuple[int, int, tuple[str, ...]]] = []
    for form in _IN_NAMES:
        for match in form.finditer(name):
            start, stop = match.span()
            if any(start < end and stop > begin for begin, end in taken):
                continue
            try:
                parts = _parts(match, order)
            except AmbiguousDateError as error:
                unclear.append((start, stop, error.dates))
                continue  # its year is found later
            if parts is None:
                continue
            taken.append((start, stop))
            if not _exists(parts):
                continue  # 1862-02-31 is neither a day nor a month
            plausible = parts.year in _PLAUSIBLE and not _is_labeled(name[:start])
            compact = parts.day is None and (stop - start) == 6
            precision = 3 if parts.day else 2 if parts.month and not compact else 1
            bracketed = name[start - 1 : start] in ("(", "[") and name[stop : stop + 1] in (")", "]")
            place = start if precision == 1 else -start
            meanings = next((days for begin, end, days in unclear if begin <= start < end), ())
            yield (plausible, precision, bracketed, place), FoundDate(parts, match[0], plausible, meanings)


def _is_labeled(before: str) -> bool:
    return _LABEL.search(before[-12:]) is not None


def _parts(match: re.Match[str], order: str | None) -> DateParts | None:
    found = match.groupdict()
    year = int(found["year"])
    if found.get("one"):
        return _numbered(match, int(found["one"]), int(found["two"]), year, order)
    if found.get("name"):
        day = found.get("day")
        return DateParts(year, _MONTHS[found["name"].casefold()], int(day) if day else None)
    if found.get("month"):
        return DateParts(year, int(found["month"]), int(found["day"]) if found.get("day") else None)
    if found.get("last"):
        last = int(found["last"])
        return DateParts(year, last=last) if 0 < last - year <= _LONGEST_RANGE else None
    return DateParts(year, last=year + 9) if found.get("decade") and year % 10 == 0 else DateParts(year)


def _numbered(match: re.Match[str], one: int, two: int, year: int, order: str | None) -> DateParts | None:
    """Decide which of two numbers is the day: the one above 12; before a period, the first."""
    first, second = DateParts(year, two, one), DateParts(year, one, two)
    if order is not None:
        return first if order == DAY_FIRST else second
    meanings = [
        (f"{parts.year}-{parts.month:02d}-{parts.day:02d}", option)
        for parts, option in ((first, DAY_FIRST), (second, MONTH_FIRST))
        if _exists(parts)
    ]
    if match["mark"] == "." and _exists(first):
        return first
    if not meanings:
        return None
    if match["mark"] == "." or (len(meanings) == 2 and first != second):
        raise AmbiguousDateError(repr(match[0]), meanings)
    return first if meanings[0][1] == DAY_FIRST else second


def _exists(parts: DateParts) -> bool:
    """Whether the calendar has this day."""
    if parts.month is not None and not 1 <= parts.month <= 12:
        return False
    if parts.day is None or parts.month is None:
        return parts.day is None
    return 1 <= parts.day <= calendar.monthrange(parts.year, parts.month)[1]
