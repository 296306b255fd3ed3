"""Times as people give them, and what is said about those that are outside the data."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pytest
from embeddings.models import KINDS, MOMENTS, TIMES, diffusion_of, model_of
from oracles.questions import is_inferred, planted

from wordtide.api import NoteWarning
from wordtide.errors import SettingsError
from wordtide.questions.answers import (
    QuestionTimes,
    absence_note,
    are_inferred,
    checked_number,
    empty_list_note,
    question_period,
    question_time,
    shown_year,
    slices_nearby,
)
from wordtide.timeline import float_year

MODEL = model_of("smoother")
ASKED = ["first", "last", "1862", 1860, "1860-02-15", 1855.0, dt.date(1854, 1, 1)]


def sure_model(kind="smoother"):
    """Two words known so well that no interval reaches its bounds."""
    means = 20.0 * np.random.default_rng(2).standard_normal((2, 12, 40))
    return planted(kind, means, 1000.0 if kind == "smoother" else 0.001)


def widths(frame):
    return (frame["high"] - frame["low"]).to_numpy()


def test_times_are_first_last_years_and_dates():
    asked = QuestionTimes.of(MODEL, ASKED)
    assert asked.years.tolist() == [1850.25, 1870.5, 1862.9, 1860.125, 1860.125, 1855.0, 1854.0]
    assert asked.slices.tolist() == [0, 7, 6, 4, 4, -1, 3]
    assert asked.notes == ()


def test_no_times_means_all_slices():
    asked = QuestionTimes.of(MODEL, None)
    assert asked.years.tolist() == TIMES.tolist()
    assert asked.slices.tolist() == list(range(8))


def test_a_time_before_the_first_slice_is_noted():
    (note,) = QuestionTimes.of(MODEL, [1840.5, "first"]).notes
    assert (
        note
        == "1840 is 9.8 years before the first slice (1850): a prediction, less certain the further away."
    )


def test_a_time_after_the_last_slice_is_noted():
    assert question_time(MODEL, 1890.5) == (
        1890.5, -1, ["1890 is 20 years after the last slice (1870): a prediction, less certain the further away."],
    )  # fmt: skip


def test_of_many_times_outside_the_data_the_outermost_are_noted():
    notes = QuestionTimes.of(MODEL, [1800.0, 1810.0, 1860.0, 1900.0, 1990.0, 1990.0]).notes
    assert [note[:4] for note in notes] == ["1800", "1990"]


@pytest.mark.parametrize(
    ("since", "until"), [("last", "first"), ("first", "first"), (1860, "1860-02-15"), (1999, 1998)]
)
def test_times_between_which_no_time_passes_are_refused(since, until):
    with pytest.raises(SettingsError, match="Give a later time"):
        question_period(MODEL, since, until)


def test_two_times_in_order_come_with_their_notes():
    start, end, notes = question_period(MODEL, 1840.0, "last")
    assert (start, end) == (1840.0, 1870.5)
    assert len(notes) == 1


@pytest.mark.parametrize("time", ["soon", float("nan"), "1862-13"])
def test_a_time_that_is_none_is_refused(time):
    with pytest.raises(SettingsError, match="Give a year"):
        question_time(MODEL, time)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_intervals_grow_after_the_last_slice_and_a_warning_says_so(kind):
    model = sure_model(kind)
    with pytest.warns(NoteWarning, match="after the last slice"):
        frame = model.similarity("w0", "w1", times=["last", 1920.0, 1950.0, 1990.0])
    assert (np.diff(widths(frame)) > 0).all()


def test_intervals_grow_before_the_first_slice_and_a_warning_says_so():
    with pytest.warns(NoteWarning, match="before the first slice"):
        frame = sure_model().similarity("w0", "w1", times=["first", 1880.0, 1850.0])
    assert (np.diff(widths(frame)) > 0).all()


def test_the_interval_of_a_change_grows_into_the_future():
    found = []
    for until in ("last", 1930.0, 1970.0):
        model = sure_model()
        if until == "last":
            frame = model.changed("first", until, min_occurrences=1)
        else:
            with pytest.warns(NoteWarning, match="after the last slice"):
                frame = model.changed("first", until, min_occurrences=1)
        found.append(widths(frame.sort_values("word")))
    assert (np.diff(found, axis=0) > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_that_is_absent_at_a_time_is_noted_with_the_nearest_time(kind):
    model = model_of(kind)
    assert absence_note(model, model.index["gaps"], TIMES[3], 3) == []
    (note,) = absence_note(model, model.index["gaps"], TIMES[6], 6)
    assert (
        note == "'gaps' does not occur in 1862 (nearest: 1860); its place there is inferred from other times."
    )


def test_a_filter_says_that_it_knows_nothing_of_a_word_before_its_first_occurrence():
    model = model_of("filter")
    assert absence_note(model, model.index["middle"], TIMES[0], 0) == [
        "Nothing is known of 'middle' before 1851."
    ]


def test_a_word_that_is_nowhere_is_noted():
    assert absence_note(MODEL, MODEL.index["never"], TIMES[0], 0) == [
        "'never' has no occurrences in any slice."
    ]


@pytest.mark.parametrize(
    ("slices", "nearby"), [(1, 1), (8, 1), (74, 1), (76, 2), (100, 2), (126, 3), (1000, 20)]
)
def test_near_a_time_are_the_slices_next_to_it_or_two_percent_of_all(slices, nearby):
    assert slices_nearby(model_of("point", {"a": [0]}, diffusion_of(np.arange(float(slices))))) == nearby


@pytest.mark.parametrize("time", MOMENTS)
def test_a_word_is_inferred_where_it_does_not_occur_near_the_time(time):
    found = are_inferred(MODEL, np.arange(len(MODEL.words)), np.full(len(MODEL.words), time))
    assert found.tolist() == [is_inferred(MODEL, word, time) for word in MODEL.words]


def test_words_are_inferred_pair_by_pair_beyond_all_slices_that_are_near():
    model = model_of("smoother", {"rare": [50], "never": []}, diffusion_of(np.arange(1900.0, 2000.0)))
    times = 1950.0 + np.array([-3.0, -2.0, 0.0, 2.0, 2.4, 2.6])
    assert are_inferred(model, np.zeros(6, dtype=np.int64), times).tolist() == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]
    assert are_inferred(model, np.ones(6, dtype=np.int64), times).all()


def test_an_empty_list_of_neighbors_is_explained_with_what_to_do_about_it():
    note = empty_list_note(MODEL, TIMES[4])
    assert note.startswith("No other word is well known in 1860: there is too little text.")
    assert [advice for advice in ("wordtide info", "--every") if advice not in note] == []


def test_a_number_that_is_too_small_is_refused_by_name():
    assert checked_number("top", 1) == 1
    with pytest.raises(SettingsError, match=r"top=0 is too small\.\n  Give 1 or more"):
        checked_number("top", 0)


def moment(day, hour=0):
    return float_year(Fraction((day - dt.date(1970, 1, 1)).days * 86400 + hour * 3600))


@pytest.mark.parametrize("hour", [0, 12, 23])
def test_slices_of_days_are_shown_as_their_days(hour):
    days = [dt.date(2019, 12, 1) + dt.timedelta(days=n) for n in range(800)]
    model = model_of("point", {"a": [0]}, diffusion_of([moment(day, hour) for day in days]))
    assert [shown_year(model, time) for time in model.times] == [day.isoformat() for day in days]


def test_slices_of_months_are_shown_as_their_months():
    months = [dt.date(2019 + n // 12, n % 12 + 1, 1) for n in range(30)]
    model = model_of("point", {"a": [0]}, diffusion_of([moment(day) for day in months]))
    assert [shown_year(model, time) for time in model.times] == [day.isoformat()[:7] for day in months]


@pytest.mark.parametrize("times", [[1850.5], [1850.5, 1851.5, 1852.5]])
def test_slices_of_years_are_shown_as_their_years(times):
    model = model_of("point", {"a": [0]}, diffusion_of(times))
    assert [shown_year(model, time) for time in times] == [str(int(time)) for time in times]


def test_a_year_before_our_era_can_be_shown():
    model = model_of("point", {"a": [0]}, diffusion_of([-44.0, -43.99, -43.98]))
    assert shown_year(model, -44.0) == "-44"
    assert shown_year(model, -43.8) == "-43.8"
