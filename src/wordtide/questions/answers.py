"""Answers of questions, and what all questions share: words, times, and notes about them.

An answer has columns of equal length. Python gets it as a data frame, the command line as rows, which need no
pandas.

An answer has columns of equal length. Python gets them as a data frame, the command line as rows, so that it
need not load pandas.
"""

import calendar
import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.states import Embeddings, Times
from wordtide.errors import SettingsError
from wordtide.model.prior import nearest_slice, slice_before
from wordtide.timeline import Time
from wordtide.types import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd

_ROUNDING = 1e-6  # in days: the float year of a day may fall this short of its beginning
_NEARBY = 0.02  # share of all slices


@dataclass(frozen=True)
class Answer:
    """Columns by name, with notes for the reader, such as a time outside the data, and further facts."""

    columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def frame(self) -> "pd.DataFrame":
        """The answer as a data frame that notebooks display well.

        Notes and further facts are in its `attrs`.

        Raises:
            SettingsError: pandas is not installed.
        """
        try:  # importing pandas takes half a second, which the shell does not spend
            from wordtide.embeddings.frames import AnswerFrame
        except ModuleNotFoundError as error:
            if error.name != "pandas":
                raise
            raise SettingsError(
                "Answers in Python are pandas data frames, and pandas is not installed.",
                "Install it: pip install 'wordtide[pandas]'",
            ) from None
        frame = AnswerFrame(dict(self.columns))
        frame.attrs.update(self.facts)
        frame.attrs["notes"] = list(self.notes)
        return frame

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows with plain Python values; unknown values are None."""
        for values in zip(*self.columns.values(), strict=True):
            yield {name: plain(value) for name, value in zip(self.columns, values, strict=True)}


def plain(value: Any) -> Any:
    """Convert a NumPy value to plain Python; unknown values become None."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def empty_intervals(size: int) -> npt.NDArray[np.float64]:
    """A column of NaN, for models without a posterior."""
    return np.full(size, np.nan)


def shown_year(model: Embeddings, year: float) -> str:
    """Format a float year as a year, a month or a day, depending on the distance between slices."""
    gap = float(np.median(np.diff(model.times))) if len(model) > 1 else 1.0
    if gap > 0.75 or not 1 <= year < 9999:
        # off the grid, a year means its middle
        return str(int(np.floor(year))) if year in model.times or year % 1.0 == 0.5 else f"{year:.1f}"
    days = 366 if calendar.isleap(int(year)) else 365
    day = dt.date(int(year), 1, 1) + dt.timedelta(days=min(int((year % 1.0) * days + _ROUNDING), days - 1))
    return day.isoformat() if gap < 0.06 else day.isoformat()[:7]


def shown_date(model: Embeddings, year: float) -> str:
    """Format the date of a change: a whole year, or a month or a day if slices are close together."""
    shown = shown_year(model, year)
    return shown if "-" in shown.lstrip("-") else str(int(np.floor(year)))


@dataclass(frozen=True)
class QuestionTimes:
    """The times of a question.

    `years` (n,) are float years, `slices` (n,) their slices, -1 off the grid; `notes` name times outside the
    data.
    """

    years: Floats
    slices: Integers
    notes: tuple[str, ...]

    @staticmethod
    def of(model: Embeddings, times: Times) -> "QuestionTimes":
        """The times asked for; None means all slices."""
        years = model.years(times)
        before = slice_before(model.times, years)
        slices = np.where((before >= 0) & (model.times[np.maximum(before, 0)] == years), before, -1)
        outside = np.unique(years[(years < model.times[0]) | (years > model.times[-1])])
        return QuestionTimes(
            years, slices, tuple(_outside(model, float(year)) for year in outside[[0, -1][: len(outside)]])
        )


def _outside(model: Embeddings, year: float) -> str:
    first, last = model.times[0], model.times[-1]
    side, end = ("before the first", first) if year < first else ("after the last", last)
    years = abs(year - end)
    distance = (
        f"{years:,.0f} years" if years >= 10 else f"{years:.1f} years" if years >= 1 else "less than a year"
    )
    return (
        f"{shown_year(model, year)} is {distance} {side} slice ({shown_year(model, float(end))}): "
        "a prediction, less certain the further away."
    )


def question_time(model: Embeddings, time: Time) -> tuple[float, int, list[str]]:
    """The float year of one time, its slice (-1: none), and notes."""
    asked = QuestionTimes.of(model, [time])
    return float(asked.years[0]), int(asked.slices[0]), list(asked.notes)


def question_period(model: Embeddings, since: Time, until: Time) -> tuple[float, float, list[str]]:
    """The float years of two times, and notes; a SettingsError if they are not in order."""
    asked = QuestionTimes.of(model, [since, until])
    start, end = asked.years.tolist()
    if start >= end:
        raise SettingsError(f"{since} is not before {until}.", "Give a later time as the end.")
    return start, end, list(asked.notes)


def word_numbers(model: Embeddings, words: Sequence[str]) -> list[int]:
    """The numbers of words; the error for an unknown word suggests similar spellings."""
    return [model.word_number(word) for word in words]


def occurrences_at(model: Embeddings, word: int, asked: QuestionTimes) -> npt.NDArray[Any]:
    """Occurrences of a word at each time, (n,); 0 off the grid."""
    occurrences = model.fitted.occurrences.of_word(word, len(model))
    return np.where(asked.slices >= 0, occurrences[asked.slices], 0)


def absence_note(model: Embeddings, word: int, year: float, slice_number: int) -> list[str]:
    """A note if a word does not occur at the time of the question."""
    occurrences = model.fitted.occurrences.of_word(word, len(model))
    if slice_number >= 0 and occurrences[slice_number] > 0:
        return []
    seen = np.flatnonzero(occurrences)
    when = f"in {shown_year(model, year)}"
    if not len(seen):
        return [f"{model.words[word]!r} has no occurrences in any slice."]
    nearest = float(model.times[seen[np.argmin(np.abs(model.times[seen] - year))]])
    if model.kind == "filter" and year < model.times[seen[0]]:
        return [
            f"Nothing is known of {model.words[word]!r} "
            f"before {shown_year(model, float(model.times[seen[0]]))}."
        ]
    return [
        f"{model.words[word]!r} does not occur {when} (nearest: {shown_year(model, nearest)}); "
        "its place there is inferred from other times."
    ]


def are_inferred(model: Embeddings, words: Integers, years: Floats) -> npt.NDArray[np.bool_]:
    """Whether words do not occur near the times, (n,), so that their vectors there are inferred."""
    places, reach = model.fitted.occurrences.places, slices_nearby(model)
    slices = nearest_slice(model.times, years)
    seen = places.rows_until_each(words, slices + reach) - places.rows_until_each(words, slices - reach - 1)
    return np.asarray(seen == 0)


def slices_nearby(model: Embeddings) -> int:
    """The number of slices before and after a time that count as near: one, or 2% of all."""
    return max(1, round(_NEARBY * len(model)))


def empty_list_note(model: Embeddings, *years: float) -> str:
    """The note on empty lists of neighbors at these times."""
    *others, last = dict.fromkeys(shown_year(model, year) for year in years)
    when = f"{', '.join(others)} or {last}" if others else last
    return (
        f"No other word is well known in {when}: there is too little text. Ask for a time with more text "
        "(wordtide info lists the slices), or count with longer slices (--every)."
    )


def checked_number(name: str, value: int, least: int = 1) -> int:
    """Return a whole number, or raise a SettingsError if it is below `least`."""
    if value < least:
        raise SettingsError(f"--{name.replace('_', '-')} {value} is too small.", f"Give {least} or more.")
    return value
