"""Time slices: how dates are assigned to slices, what is stored for each slice, and times as users give them.

Times are float years (1862.92); sums of dates are kept as integers, so slices can be merged in any order with
one result. A user may give a number with a fraction (1862.5), which is that moment; a whole number or a date
(1862, "1862-12", "1862-12-01", datetime.date), which names the slice in that period, or else its middle; or
"first" or "last".
"""

import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.dates import DAY, bounds, parse_date
from wordtide.errors import SettingsError
from wordtide.types import Floats, Integers

#: A time as users give it.
Time = float | int | str | dt.date | np.datetime64

_UNITS = ("document", "hour", "day", "week", "month", "quarter", "year", "decade", "century")
_YEARS = {"decade": 10, "century": 100}
#: The longest period of each unit, in seconds.
_LONGEST = {
    "hour": 3600,
    "day": DAY,
    "week": 7 * DAY,
    "month": 31 * DAY,
    "quarter": 92 * DAY,
    "year": 366 * DAY,
}
_HOUR = 3600
_SECONDS = {"s": 1, "m": 60, "h": _HOUR, "d": DAY, "w": 7 * DAY}
_WEEK_OFFSET = 3  # 1970-01-01 was a Thursday: three days after the Monday that began its week
_FARTHEST = 500_000_000_000  # seconds from 1970: beyond the years -9999 to 9999
_LARGEST_YEAR = 10_000  # dates are written with four digits
_REMEDY = "Give a year (1850 or 1850.5), a month (1862-12), a day (1862-12-01), or first or last."


@dataclass(frozen=True)
class SliceLength:
    """The length of slices: `count` times a `unit`; or one slice per document."""

    unit: str
    count: int = 1

    @staticmethod
    def parse(text: str) -> "SliceLength":
        """Parse a unit ("document", "hour" to "century") or a number of them ("5-years", "2 weeks")."""
        match = re.fullmatch(r"(?:(\d{1,9})[- ]?)?([a-z]+?)s?", text.replace("centuries", "century"))
        unit = match[2] if match else ""
        count = int(match[1]) if match and match[1] else 1
        if unit in _YEARS:
            count, unit = count * _YEARS[unit], "year"
        if unit not in _UNITS or not 1 <= count <= 10_000 or (unit == "document" and count > 1):
            raise SettingsError(
                f"{text!r} is not a length for slices.",
                f"Use one of {', '.join(_UNITS)}, or a number of them: 5-years.",
            )
        return SliceLength(unit, count)

    def __str__(self) -> str:
        return self.unit if self.count == 1 else f"{self.count}-{self.unit}s"

    @property
    def longest(self) -> int:
        """The length of the longest slice in seconds; of documents, which have none, a large number."""
        return _FARTHEST if self.unit == "document" else self.count * _LONGEST[self.unit]

    def ordinals(self, stamps: Integers) -> Integers:
        """The number of the period each stamp lies in; for documents the stamp itself."""
        if self.unit == "document":
            return stamps
        days = np.floor_divide(stamps, DAY)
        if self.unit == "hour":
            periods = np.floor_divide(stamps, _HOUR)
        elif self.unit == "day":
            periods = days
        elif self.unit == "week":
            periods = np.floor_divide(days + _WEEK_OFFSET, 7)
        elif self.unit in ("month", "quarter"):
            months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
            periods = months if self.unit == "month" else np.floor_divide(months, 3)
        else:
            periods = days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970
        return np.floor_divide(periods, self.count)

    def label(self, ordinal: int) -> str:
        """The label of a slice: 1862, 1860-1864, 1862-12, 1862-Q4, 1862-12-01, 1862-12-01T14."""
        first, last = ordinal * self.count, ordinal * self.count + self.count - 1
        if self.unit == "year":
            return str(first) if self.count == 1 else f"{first}-{last}"
        if self.unit == "quarter":
            return f"{first // 4 + 1970}-Q{first % 4 + 1}"
        if self.unit == "month":
            return str(np.datetime64(first, "M"))
        if self.unit == "week":
            return str(np.datetime64(first * 7 - _WEEK_OFFSET, "D"))
        return str(np.datetime64(first, "h" if self.unit == "hour" else "D"))


@dataclass(frozen=True)
class Slices:
    """Facts about slices, one array element per slice (T), in order of time.

    `ordinals`: the period's number (for documents the stamp). `moment_days`, `moment_seconds`: the sum over
    tokens of their date, in whole days and seconds of the day from 1970, from which the mean date follows
    exactly. `first`, `last`: the earliest and latest stamp. `spans`: how much time the most precise date
    names. `labels`: the slice's name.
    """

    ordinals: Integers
    tokens: Integers
    documents: Integers
    moment_days: Integers
    moment_seconds: Integers
    first: Integers
    last: Integers
    spans: Integers
    labels: Sequence[str]

    def __len__(self) -> int:
        return len(self.ordinals)

    def chosen(self, numbers: Sequence[int]) -> "Slices":
        """Some of the slices."""
        arrays = {name: getattr(self, name)[list(numbers)] for name in INTEGER_FIELDS}
        return Slices(**arrays, labels=[self.labels[t] for t in numbers])

    def are_sound(self) -> bool:
        """Whether the arrays are consistent: equal lengths, positive counts, increasing valid dates."""
        arrays = [getattr(self, name) for name in INTEGER_FIELDS]
        if (
            not len(self)
            or any(len(values) != len(self) for values in [*arrays, self.labels])
            or (self.tokens <= 0).any()
        ):
            return False
        means = (self.moment_days * float(DAY) + self.moment_seconds) / self.tokens
        dates = np.concatenate([means, self.first, self.last])
        return bool(
            (np.abs(dates) < _FARTHEST).all() and (np.diff(means) > -1.0).all() and (self.spans > 0).all()
        )

    def mean_stamps(self) -> list[Fraction]:
        """The exact mean date of each slice's tokens in seconds from 1970, strictly increasing.

        If each document is a slice, several may have the same date. They are placed at equal distances within
        the period that it names (a day or a year), but at most half-way to another date.
        """
        means = [
            Fraction(int(days) * DAY + int(seconds), int(tokens))
            for days, seconds, tokens in zip(self.moment_days, self.moment_seconds, self.tokens, strict=True)
        ]
        spread = list(means)
        start = 0
        for stop in range(1, len(means) + 1):
            if stop < len(means) and means[stop] == means[start]:
                continue
            ties = stop - start
            if ties > 1:
                reach = Fraction(int(self.spans[start:stop].min()), 2)
                if start > 0:
                    reach = min(reach, (means[start] - means[start - 1]) / 2)
                if stop < len(means):
                    reach = min(reach, (means[stop] - means[start]) / 2)
                for place in range(ties):
                    spread[start + place] += reach * (2 * place + 1 - ties) / ties
            start = stop
        return spread

    def nearest(self, date: str) -> int:
        """Return the slice that contains a date (1850, 1862-12, 1862-12-01), else the nearest."""
        try:
            start, after = bounds(date)
        except ValueError as error:
            raise SettingsError(
                f"{getattr(error, 'problem', error)}.",
                "Give a year, a month (1862-12) or a day (1862-12-01).",
            ) from None
        distances = [abs(stamp - Fraction(start + after, 2)) for stamp in self.mean_stamps()]
        holding = [t for t in range(len(self)) if self.first[t] < after and self.last[t] >= start]
        return min(holding or range(len(self)), key=distances.__getitem__)

    def times(self) -> Floats:
        """The mean date of each slice as a float year, (T,)."""
        return np.array([float_year(stamp) for stamp in self.mean_stamps()], dtype=np.float64)

    def dates(self) -> npt.NDArray[np.datetime64]:
        """The mean date of each slice as a calendar day, (T,)."""
        return np.array([int(stamp // DAY) for stamp in self.mean_stamps()], dtype="datetime64[D]")


#: The fields of `Slices` that are arrays.
INTEGER_FIELDS = tuple(field.name for field in fields(Slices) if field.name != "labels")


@dataclass(frozen=True)
class DatedSlices(Slices):
    """Slices with given mean dates: those of a group of documents, which may have no tokens in a slice."""

    stamps: Sequence[Fraction] = ()

    def mean_stamps(self) -> list[Fraction]:
        """The given dates."""
        return list(self.stamps)

    def chosen(self, numbers: Sequence[int]) -> "DatedSlices":
        """Some of the slices."""
        part = super().chosen(numbers)
        return DatedSlices(**vars(part), stamps=[self.stamps[t] for t in numbers])


def float_year(stamp: Fraction | int) -> float:
    """Convert seconds from 1970 to calendar years with a fraction; leap years are a day longer."""
    year = int(np.datetime64(int(stamp // DAY), "D").astype("datetime64[Y]").astype(np.int64))
    start = int(np.datetime64(year, "Y").astype("datetime64[D]").astype(np.int64)) * DAY
    after = int(np.datetime64(year + 1, "Y").astype("datetime64[D]").astype(np.int64)) * DAY
    return float(year + 1970 + (Fraction(stamp) - start) / (after - start))


def unite_slices(
    parts: Sequence[Slices], every: SliceLength, merge_within: int = 0
) -> tuple[Slices, list[Integers]]:
    """Combine the slices of parts of a corpus.

    Slices of the same period become one. If each document is a slice, documents stay apart, in order of
    date and name, unless neighbors are less than `merge_within` seconds apart; chains of them become one.

    Returns:
        The slices with tokens, and for each part the new slice of each of its own (-1: no tokens).
    """
    columns = {
        name: np.concatenate([np.zeros(0, dtype=np.int64), *(getattr(part, name) for part in parts)])
        for name in INTEGER_FIELDS
    }
    labels = [label for part in parts for label in part.labels]
    used = np.flatnonzero(columns["tokens"] > 0)
    if every.unit == "document":
        used = np.array(sorted(used.tolist(), key=lambda n: (columns["first"][n], labels[n])), dtype=np.int64)
        members = _chains(columns["first"][used], columns["last"][used], merge_within)
    else:
        _, members = np.unique(columns["ordinals"][used], return_inverse=True)
    total = int(members.max(initial=-1)) + 1
    names: list[list[str]] = [[] for _ in range(total)]
    for entry, member in zip(used, members, strict=True):
        names[member].append(labels[entry])
    united = Slices(
        **{name: _gathered(name, columns[name][used], members, total) for name in INTEGER_FIELDS},
        labels=[" + ".join(own if every.unit == "document" else own[:1]) for own in names],
    )
    assigned = np.full(len(labels), -1, dtype=np.int64)
    assigned[used] = members
    ends = np.cumsum([0, *(len(part) for part in parts)])
    return united, [assigned[start:stop] for start, stop in pairwise(ends)]


def _chains(first: Integers, last: Integers, gap: int) -> Integers:
    """Number the chains of documents, in order of date, whose neighbors are less than `gap` seconds apart."""
    starts = np.ones(len(first), dtype=np.bool_)
    if gap:
        starts[1:] = first[1:] - np.maximum.accumulate(last)[:-1] >= gap
    return np.cumsum(starts) - 1


def _gathered(name: str, values: Integers, members: Integers, total: int) -> Integers:
    if name in ("first", "spans", "ordinals"):
        gathered = np.full(total, np.iinfo(np.int64).max, dtype=np.int64)
        np.minimum.at(gathered, members, values)
    elif name == "last":
        gathered = np.full(total, np.iinfo(np.int64).min, dtype=np.int64)
        np.maximum.at(gathered, members, values)
    else:
        gathered = np.zeros(total, dtype=np.int64)
        np.add.at(gathered, members, values)
    return gathered


def parse_duration(text: str, option: str) -> int:
    """Read a duration like "30s", "10m", "36h", "7d" or "2w" in seconds; a SettingsError names the option."""
    match = re.fullmatch(r"(\d{1,9})\s*([smhdw])?", text.strip())
    if not match or (match[2] is None and int(match[1])):
        raise SettingsError(f"{option}={text!r} is not a duration.", "Write it like 30s, 10m, 36h or 7d.")
    return int(match[1]) * _SECONDS[match[2] or "s"]


def is_one_time(time: Any) -> bool:
    """Whether this is one time, not a sequence of them."""
    return isinstance(time, (str, bytes, dt.date, np.datetime64)) or np.ndim(time) == 0


def year_of(time: Any, times: Floats, extents: Floats | None = None) -> float:
    """The float year of one time, for slices at `times` (T,) that hold the dates of `extents` (T, 2)."""
    if isinstance(time, str) and time.strip().lower() in ("first", "last"):
        return float(times[0 if time.strip().lower() == "first" else -1])
    if re.fullmatch(r"\s*-?(\d{5,7}|\d{9,})\s*", str(time)):  # an epoch number, or a typing error
        raise SettingsError(f"{time} is not a year.", _REMEDY)
    if isinstance(time, str) and re.fullmatch(r"\s*-?\d{1,4}\.\d+\s*", time):
        time = float(time)
    if isinstance(time, np.ndarray) and time.ndim == 0:
        time = time[()]
    if isinstance(time, (float, np.floating)):
        year = float(time)
        if not math.isfinite(year) or abs(year) > _LARGEST_YEAR:
            raise SettingsError(f"{year} is not a year.", _REMEDY)
        return year
    try:
        stamp, span = parse_date(time)
        first, middle, after = (
            float_year(moment) for moment in (stamp - span // 2, stamp, stamp - span // 2 + span)
        )
    except (ValueError, OverflowError) as error:
        problem = str(getattr(error, "problem", error)).removesuffix(".")
        reason = "" if problem.startswith(f"{time!r} is not a date") else f": {problem}"
        raise SettingsError(f"{time!r} is not a time{reason}.", _REMEDY) from None
    earliest, latest = (times, times) if extents is None else (extents[:, 0], extents[:, 1])
    inside = np.flatnonzero((np.minimum(earliest, times) < after) & (np.maximum(latest, times) >= first))
    return float(times[inside[np.argmin(np.abs(times[inside] - middle))]]) if len(inside) else middle


def years_of(times: Any, grid: Floats, extents: Floats | None = None) -> Floats:
    """The float years of a sequence of times, (n,)."""
    try:
        listed = list(times)
    except TypeError:
        raise SettingsError(f"{times!r} is not a time.", _REMEDY) from None
    if not listed:
        raise SettingsError("The list of times is empty.", "Give at least one time, or None for all slices.")
    return np.array([year_of(time, grid, extents) for time in listed])
