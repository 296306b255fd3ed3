"""How dates become slices: their length, their bounds, their names, and the time stamp of each."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordtide
from wordtide.errors import InputError, SettingsError
from wordtide.timeline import SliceLength


def labels(dates, **settings):
    """The slices that documents of these dates fall into."""
    return wordtide.count([(date, "steam power") for date in dates], **settings).labels


def tokens(dates, **settings):
    return wordtide.count([(date, "steam power") for date in dates], **settings).tokens.tolist()


@pytest.mark.parametrize(
    ("every", "dates", "expected"),
    [
        (
            "hour",
            ["1969-12-31T23:59:59", "1970-01-01T00:00:00", "1970-01-01T00:59:59"],
            ["1969-12-31T23", "1970-01-01T00"],
        ),
        ("6-hours", ["2024-01-01T05:59:59", "2024-01-01T06:00:00"], ["2024-01-01T00", "2024-01-01T06"]),
        ("day", ["1862-12-01", "1862-12-01T23:59:59", "1862-12-02T00:00:00"], ["1862-12-01", "1862-12-02"]),
        ("week", ["2024-01-01", "2024-01-07", "2024-01-08"], ["2024-01-01", "2024-01-08"]),
        ("month", ["1862-12-01", "1862-12-31", "1863-01-01"], ["1862-12", "1863-01"]),
        ("quarter", ["1862-10-01", "1862-12-31", "1863-01-01"], ["1862-Q4", "1863-Q1"]),
        ("year", ["1862-01-01", "1862-12-31", "1863-01-01"], ["1862", "1863"]),
        ("5-years", ["1860", "1864", "1865"], ["1860-1864", "1865-1869"]),
        ("10-years", ["1900", "1909", "1910"], ["1900-1909", "1910-1919"]),
        ("6-months", ["1862-06-30", "1862-07-01", "1862-12-31"], ["1862-01", "1862-07"]),
    ],
)
def test_slices_of_every_length_have_labels(every, dates, expected):
    assert labels(dates, every=every) == expected


@pytest.mark.parametrize(
    ("every", "dates", "expected"),
    [
        ("day", ["1862-12-01", "1862-12-01T23:59:59", "1862-12-02T00:00:00"], [4, 2]),
        ("week", ["2024-01-01", "2024-01-07", "2024-01-08"], [4, 2]),
        ("month", ["1862-12-01", "1862-12-31", "1863-01-01"], [4, 2]),
        ("quarter", ["1862-10-01", "1862-12-31", "1863-01-01"], [4, 2]),
        ("year", ["1862-01-01", "1862-12-31", "1863-01-01"], [4, 2]),
        ("5-years", ["1860", "1864", "1865"], [4, 2]),
        ("document", ["1860", "1860", "1865"], [2, 2, 2]),
    ],
)
def test_slices_of_every_length_hold_the_documents_of_their_time(every, dates, expected):
    assert tokens(dates, every=every) == expected


def test_a_fortnight_lasts_fourteen_days():
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=n) for n in range(70)]
    sizes = wordtide.count([(day, "steam") for day in days], every="2-weeks").tokens.tolist()
    assert set(sizes[1:-1]) == {14}


def test_singular_and_plural_name_the_same_length():
    assert SliceLength.parse("5-year") == SliceLength.parse("5-years")


@pytest.mark.parametrize(
    "every", ["hour", "day", "week", "month", "quarter", "year", "5-years", "2-weeks", "document"]
)
def test_a_slice_length_can_be_parsed_back(every):
    assert str(SliceLength.parse(every)) == every


@given(
    st.lists(st.dates(min_value=dt.date(1, 1, 2)), min_size=1, max_size=20),
    st.sampled_from(["week", "month", "quarter"]),
)
def test_periods_never_go_backwards(days, every):
    stamps = np.array(sorted((day - dt.date(1970, 1, 1)).days * 86_400 for day in days))
    assert (np.diff(SliceLength.parse(every).ordinals(stamps)) >= 0).all()


@given(st.dates(min_value=dt.date(1, 1, 8)))
def test_a_week_begins_on_its_monday(day):
    ordinal = SliceLength.parse("week").ordinals(np.array([(day - dt.date(1970, 1, 1)).days * 86_400]))[0]
    assert (
        SliceLength.parse("week").label(int(ordinal)) == (day - dt.timedelta(days=day.weekday())).isoformat()
    )


@given(st.dates())
def test_a_quarter_is_named_after_its_three_months(day):
    ordinal = SliceLength.parse("quarter").ordinals(np.array([(day - dt.date(1970, 1, 1)).days * 86_400]))[0]
    assert SliceLength.parse("quarter").label(int(ordinal)) == f"{day.year}-Q{(day.month + 2) // 3}"


@pytest.mark.parametrize(
    "every",
    [
        "",
        "fortnight",
        "0-years",
        "-1-years",
        "2-documents",
        "years-5",
        "1.5-years",
        "YEAR",
        "9" * 30 + "-years",
    ],
)
def test_an_invalid_slice_length_is_rejected_with_the_valid_ones(every):
    with pytest.raises(SettingsError, match="quarter"):
        wordtide.count([("1862", "steam")], every=every)


DATES = ["1861-12-31", "1862-01-01", "1862-06-15", "1862-06-30", "1862-07-01", "1862-12-31", "1863-01-01"]


@pytest.mark.parametrize(
    ("since", "until", "first", "last"),
    [
        ("1862", "1862", "1862-01-01", "1862-12-31"),
        ("1862-06", "1862-06", "1862-06-15", "1862-06-30"),
        ("1862-06-30", "1862-07-01", "1862-06-30", "1862-07-01"),
        ("1862-07-01", None, "1862-07-01", "1863-01-01"),
        (None, "1862-01-01", "1861-12-31", "1862-01-01"),
    ],
)
def test_since_and_until_include_what_they_name(since, until, first, last):
    found = [
        str(date)
        for date in wordtide.count(
            [(date, "steam") for date in DATES], every="day", since=since, until=until
        ).dates
    ]
    assert (found[0], found[-1]) == (first, last)


def test_documents_outside_the_dates_are_reported():
    counts = wordtide.count([(date, "steam") for date in DATES], since="1862", until="1862")
    assert counts.summary.outside_dates == 2


def test_documents_outside_the_dates_do_not_change_the_vocabulary():
    assert wordtide.count([("1850", "old"), ("1950", "new")], since="1900").words == ["new"]


def test_since_after_until_says_that_nothing_is_left():
    with pytest.raises(InputError, match="nothing to count"):
        wordtide.count([("1862", "steam")], since="1870", until="1860")


@pytest.mark.parametrize("option", ["since", "until"])
@pytest.mark.parametrize("value", ["yesterday", "1862-13", "9" * 30])
def test_an_invalid_bound_is_rejected_with_its_option(option, value):
    with pytest.raises(SettingsError, match=f"{option}="):
        wordtide.count([("1862", "steam")], **{option: value})


def merged(dates, within="7d"):
    return wordtide.count([(date, "steam power") for date in dates], every="document", merge_within=within)


def test_documents_less_than_seven_days_apart_are_merged():
    assert len(merged(["1973-02-02T12:00:01", "1973-02-09T12:00:00"])) == 1


def test_documents_exactly_seven_days_apart_stay_apart():
    assert len(merged(["1973-02-02", "1973-02-09"])) == 2


def test_chains_of_close_documents_become_one_slice():
    assert len(merged(["1973-02-02", "1973-02-06", "1973-02-11", "1973-02-16"])) == 1


def test_a_chain_is_found_for_any_order_of_documents():
    assert merged(["1973-02-11", "1973-03-30", "1973-02-02", "1973-02-06"]).tokens.tolist() == [6, 2]


def test_merged_documents_have_their_mean_date():
    assert str(merged(["1973-02-02", "1973-02-06"]).dates[0]) == "1973-02-04"


def test_merged_documents_share_a_label():
    counts = wordtide.count(
        [("1973-02-02", "steam"), ("1973-02-06", "power")], every="document", merge_within="7d"
    )
    assert counts.labels == ["the documents:1 + the documents:2"]


def test_windows_do_not_cross_the_borders_of_merged_documents():
    counts = wordtide.count(
        [("1973-02-02", "steam"), ("1973-02-06", "power")], every="document", merge_within="7d"
    )
    assert counts[0].nnz == 0


@pytest.mark.parametrize(("within", "slices"), [("36h", 1), ("24h", 2), ("2w", 1), ("1d", 2)])
def test_durations_may_be_given_in_hours_days_and_weeks(within, slices):
    assert len(merged(["1973-02-02", "1973-02-03"], within)) == slices


@pytest.mark.parametrize("within", ["7", "d", "a week", "-7d", "1.5d"])
def test_an_invalid_duration_is_rejected_with_an_example(within):
    with pytest.raises(SettingsError, match="7d"):
        merged(["1973-02-02"], within)


def test_merging_close_documents_needs_one_slice_per_document():
    with pytest.raises(SettingsError, match="every='document'"):
        wordtide.count([("1862", "steam")], every="year", merge_within="7d")


def test_the_time_stamp_is_the_mean_date_of_the_tokens():
    counts = wordtide.count([("2001-01-01T00:00:00", "one two three"), ("2001-01-05T00:00:00", "four")])
    assert counts.times.tolist() == [pytest.approx(2001 + 1 / 365, abs=1e-12)]


def test_the_calendar_date_is_that_of_the_time_stamp():
    counts = wordtide.count([("2001-01-01", "one two three"), ("2001-01-05", "four")])
    assert counts.dates.tolist() == [dt.date(2001, 1, 2)]


def test_a_document_without_words_does_not_move_the_time_stamp():
    counts = wordtide.count([("2001-01-01", "one two"), ("2001-12-31", "!!! ...")])
    assert str(counts.dates[0]) == "2001-01-01"


def test_periods_without_documents_make_no_slices():
    assert labels(["1850", "1950"]) == ["1850", "1950"]


def test_a_document_without_words_makes_no_slice():
    assert wordtide.count([("1850", "steam"), ("1900", "...!"), ("1950", "power")]).labels == ["1850", "1950"]


@pytest.mark.parametrize("date", ["1862-12-01", "1862-12", "1862", "1862-12-01T06:30:00"])
def test_documents_of_the_same_date_have_times_that_increase_strictly(date):
    counts = wordtide.count([(date, "steam power")] * 5, every="document")
    assert len(counts) == 5
    assert (np.diff(counts.times) > 0).all()


def test_documents_of_the_same_day_stay_within_that_day():
    counts = wordtide.count([("1862-12-01", "steam power")] * 5, every="document")
    assert {str(date) for date in counts.dates} == {"1862-12-01"}


def test_documents_of_the_same_year_stay_within_that_year():
    times = wordtide.count([("1862", "steam power")] * 5, every="document").times
    assert (times >= 1862).all()
    assert (times < 1863).all()


@pytest.mark.parametrize(
    "dates",
    [
        ["1862-12-01", "1862-12-01", "1862-12-01T13:00:00"],
        ["1862-12-01T11:00:00", "1862-12-01", "1862-12-01"],
        ["1862", "1862", "1862-08-01"],
        ["1862", "1862", "1862-07", "1862-07", "1862-07-03"],
    ],
)
def test_dates_of_different_precision_have_times_that_increase_strictly(dates):
    counts = wordtide.count([(date, "steam power") for date in dates], every="document")
    assert (np.diff(counts.times) > 0).all()


@given(
    st.lists(
        st.sampled_from(
            [
                "1862",
                "1862-06",
                "1862-07",
                "1862-07-01",
                "1862-07-02",
                "1862-07-02T11:59:00",
                "1862-07-02T12:00:00",
            ]
        ),
        min_size=2,
        max_size=8,
    )
)
def test_any_mixture_of_dates_has_times_that_increase_strictly(dates):
    counts = wordtide.count([(date, "steam power") for date in dates], every="document", workers=1)
    assert (np.diff(counts.times) > 0).all()


def test_the_order_of_the_documents_does_not_change_the_slices():
    dates = ["1862-12-01", "1850", "1862-12-01T06:00:00", "1900-05"]
    assert labels(dates, every="month") == labels(list(reversed(dates)), every="month")


def test_years_before_the_common_era_are_allowed():
    counts = wordtide.count([("-0044-03", "et tu"), ("-0043-12", "brute")])
    assert counts.times.tolist() == [pytest.approx(-43.8, abs=0.2), pytest.approx(-42.05, abs=0.2)]


def test_a_date_selects_the_slice_that_contains_it():
    counts = wordtide.count([("1850", "steam"), ("1862-12-01", "power"), ("1950", "atomic")])
    assert [counts.slice_at(date) for date in ("1850", "1862", "1862-03", "1949", "2100", "1")] == [
        0,
        1,
        1,
        2,
        2,
        0,
    ]
