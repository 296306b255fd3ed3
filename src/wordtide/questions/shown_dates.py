"""Float years as people write dates: as fine as the slices of the model are."""

import calendar
import datetime as dt

import numpy as np

from wordtide.embeddings.states import Embeddings

_ROUNDING = 1e-6  # days: the float year of a day's beginning may fall short of it by less


def shown_year(model: Embeddings, year: float) -> str:
    """A year, a month or a day, as the distance between slices asks for."""
    gap = float(np.median(np.diff(model.times))) if len(model) > 1 else 1.0
    if gap > 0.75 or not 1 <= year < 9999:
        # the middle of a year is what a year means where no slice is
        return str(int(np.floor(year))) if year in model.times or year % 1.0 == 0.5 else f"{year:.1f}"
    days = 366 if calendar.isleap(int(year)) else 365
    day = dt.date(int(year), 1, 1) + dt.timedelta(days=min(int((year % 1.0) * days + _ROUNDING), days - 1))
    return day.isoformat() if gap < 0.06 else day.isoformat()[:7]
