"""What people give as a time, turned into float years.

A number with a fraction (1862.5) is that moment. A whole number and a date (1862, "1862-12", "1862-12-01",
datetime.date) name a stretch of time: the slice that falls into it, or else the middle of the stretch.
"first" and "last" are slices.
"""

import datetime as dt
import math
import re
from typing import Any

import numpy as np

from wordtide.dates import parse_date
from wordtide.errors import SettingsError
from wordtide.timeline import float_year
from wordtide.types import Floats

Time = float | int | str | dt.date | np.datetime64

_LARGEST_YEAR = 10_000  # dates are written with four digits
_REMEDY = "Give a year (1850 or 1850.5), a month (1862-12), a day (1862-12-01), or first or last."


def is_one_time(time: Any) -> bool:
    """Is this one time, and not a sequence of them?"""
    return isinstance(time, (str, bytes, dt.date, np.datetime64)) or np.ndim(time) == 0


def year_of(time: Any, times: Floats, extents: Floats | None = None) -> float:
    """The float year of one time, for slices at `times` (T,) that hold the dates of `extents` (T, 2)."""
    if isinstance(time, str) and time.strip().lower() in ("first", "last"):
        return float(times[0 if time.strip().lower() == "first" else -1])
    if re.fullmatch(r"\s*-?(\d{5,7}|\d{9,})\s*", str(time)):  # an epoch number is no time that anybody types
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
        raise SettingsError(f"{time!r} is not a time: {error}.", _REMEDY) from None
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
