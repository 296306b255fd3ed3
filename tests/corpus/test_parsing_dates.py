"""Dates as people write them: each names a span of time and stands for its middle."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtide.corpus.columns import parse_column
from wordtide.dates import DAY, bounds, date_of_parts, parse_date
from wordtide.written_dates import dates_in_name

EARLIEST, LATEST = (
    -377_736_739_200,
    253_402_300_800,
)  # the years -10,000 to 9,999: nobody means a date beyond them


def seconds(text):
    """Seconds from 1970 of an ISO date-time, in UTC unless it says otherwise."""
    moment = dt.datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp())


def year_span(year):
    return (365 + (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))) * DAY


@pytest.mark.parametrize("value", ["1862", 1862, 1862.0, np.int64(1862), np.float64(1862), " 1862 ", "+1862"])
def test_a_year_stands_for_its_middle(value):
    assert parse_date(value) == (seconds("1862-07-02T12:00"), 365 * DAY)


@pytest.mark.parametrize(
    ("text", "middle", "days"), [("1862-12", "1862-12-16T12:00", 31), ("2024-02", "2024-02-15T12:00", 29)]
)
def test_a_year_and_month_stands_for_the_middle_of_the_month(text, middle, days):
    assert parse_date(text) == (seconds(middle), days * DAY)


@pytest.mark.parametrize("value", ["1862-12-01", "18621201", 18621201, dt.date(1862, 12, 1)])
def test_a_day_stands_for_its_noon(value):
    assert parse_date(value) == (seconds("1862-12-01T12:00"), DAY)


@pytest.mark.parametrize("text", ["2020-W01-1", "2020W011"])
def test_an_iso_week_date_stands_for_the_noon_of_its_day(text):
    assert parse_date(text) == (seconds("2019-12-30T12:00"), DAY)


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2020-05-17T23:30:15", "2020-05-17T23:30:15"),
        ("2020-05-17 23:30:15", "2020-05-17T23:30:15"),
        ("2020-05-17T23:30", "2020-05-17T23:30:00"),
        ("20200517T233015", "2020-05-17T23:30:15"),
        ("2020-05-17T23:30:15Z", "2020-05-17T23:30:15"),
        ("2020-05-17T23:30:15+02:00", "2020-05-17T21:30:15"),
        ("2020-05-17T23:30:15-05:30", "2020-05-18T05:00:15"),
        ("2020-05-17T23:30:15.987654+0100", "2020-05-17T22:30:15"),
        ("1862-12-01T00:00:00", "1862-12-01T00:00:00"),
    ],
)
def test_a_date_time_stands_for_its_second_in_utc(text, utc):
    assert parse_date(text) == (seconds(utc), 1)


def test_a_datetime_object_with_a_zone_is_turned_into_utc():
    moment = dt.datetime(2020, 5, 17, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-4)))
    assert parse_date(moment) == (seconds("2020-05-18T03:30"), 1)


def test_a_numpy_moment_stands_for_its_second():
    assert parse_date(np.datetime64("1862-12-01T06:30:00.25")) == (seconds("1862-12-01T06:30:00"), 1)


def test_a_numpy_day_stands_for_its_noon_like_any_day():
    assert parse_date(np.datetime64("1862-12-01", "D")) == parse_date("1862-12-01")


@pytest.mark.parametrize("value", [1589758215, "1589758215", 1589758215.9, 1589758215000, "1589758215999"])
def test_large_numbers_are_epoch_seconds_or_milliseconds(value):
    assert parse_date(value) == (1589758215, 1)


def test_epoch_seconds_before_1970_are_negative():
    assert parse_date(-1_000_000_000) == (seconds("1938-04-24T22:13:20"), 1)


@pytest.mark.parametrize(
    ("value", "date_format", "stamp"),
    [
        (5000, "epoch", 5000),
        ("5000", "epoch", 5000),
        (18621201, "epoch", 18621201),
        (5000, "epoch-ms", 5),
        ("-5000", "epoch-ms", -5),
    ],
)
def test_the_date_formats_epoch_and_epoch_ms_say_what_numbers_are(value, date_format, stamp):
    assert parse_date(value, date_format) == (stamp, 1)


def test_the_date_format_year_rejects_other_numbers():
    with pytest.raises(ValueError, match="not a year"):
        parse_date("18621201", "year")


@pytest.mark.parametrize(
    ("text", "pattern", "stamp_and_span"),
    [
        ("01/12/1862", "%d/%m/%Y", ("1862-12-01T12:00", DAY)),
        ("Dec 1, 1862", "%b %d, %Y", ("1862-12-01T12:00", DAY)),
        ("12.1862", "%m.%Y", ("1862-12-16T12:00", 31 * DAY)),
        ("December 1862", "%B %Y", ("1862-12-16T12:00", 31 * DAY)),
        ("A.D. 1862", "A.D. %Y", ("1862-07-02T12:00", 365 * DAY)),
        ("01/12/1862 06:30", "%d/%m/%Y %H:%M", ("1862-12-01T06:30", 1)),
        ("Mon May 18 03:30:15 -0400 2020", "%a %b %d %H:%M:%S %z %Y", ("2020-05-18T07:30:15", 1)),
    ],
)
def test_a_custom_pattern_has_the_precision_that_it_names(text, pattern, stamp_and_span):
    middle, span = stamp_and_span
    assert parse_date(text, pattern) == (seconds(middle), span)


def test_a_number_with_a_pattern_is_read_as_its_digits():
    assert parse_date(1862335, "%Y%j") == parse_date("1862-12-01")


@pytest.mark.parametrize("pattern", ["%Y %Y", "%", "%Q", "(%Y", "%s"])
def test_an_invalid_pattern_is_a_value_error(pattern):
    with pytest.raises(ValueError, match="date format"):
        parse_date("1862", pattern)


@pytest.mark.parametrize(
    "value",
    [None, "", "  ", float("nan"), float("inf"), np.datetime64("NaT"), True, "last Tuesday", "1862-13", "1862-02-30",
     "01/12/1862", "1862.5", b"1862", [1862], "2020-05-17T25:00"],
)  # fmt: skip
def test_a_value_that_is_not_a_date_is_a_value_error(value):
    with pytest.raises(ValueError, match=r"date|month"):
        parse_date(value)


@pytest.mark.parametrize("value", [1e300, "9" * 300, 10**400, 10**25, -(10**25), "-99999999999999999"])
def test_a_date_beyond_all_calendars_is_a_value_error(value):
    with pytest.raises((ValueError, OverflowError)):
        parse_date(value)


@pytest.mark.parametrize("value", ["20200517233015", 1589758215000000, 1589758215000000000])
def test_compact_date_times_and_microseconds_are_not_read_as_milliseconds(value):
    try:
        stamp, _ = parse_date(value)
    except (ValueError, OverflowError):
        return  # refusing it is as good as understanding it
    assert stamp == seconds("2020-05-17T23:30:15")


@given(st.text())
def test_any_text_is_a_date_or_a_value_error(text):
    try:
        stamp, span = parse_date(text)
    except (ValueError, OverflowError):
        return
    assert EARLIEST < stamp < LATEST
    assert span >= 1


@given(st.from_regex(r"[+-]?\d{1,30}([-.:T/ ]\d{0,4}){0,6}(Z|[+-]\d\d:?\d\d)?", fullmatch=True))
def test_any_text_that_looks_like_a_date_is_a_date_or_a_value_error(text):
    try:
        stamp, span = parse_date(text)
    except (ValueError, OverflowError):
        return
    assert EARLIEST < stamp < LATEST
    assert span >= 1


@given(st.text(max_size=12), st.text(alphabet="%YmdHMSbBjyzZfGVuaAcxXpIUWw -/.:(", max_size=10))
def test_any_text_with_any_pattern_is_a_date_or_a_value_error(text, pattern):
    try:
        stamp, span = parse_date(text, pattern or None)
    except (ValueError, OverflowError):
        return
    assert EARLIEST < stamp < LATEST
    assert span >= 1


@given(st.one_of(st.integers(), st.floats(), st.booleans(), st.binary(), st.none(), st.lists(st.integers())))
def test_any_value_is_a_date_or_a_value_error(value):
    try:
        stamp, span = parse_date(value)
    except (ValueError, OverflowError):
        return
    assert EARLIEST < stamp < LATEST
    assert span >= 1


@given(st.dates())
def test_the_iso_text_of_any_day_gives_noon_of_that_day(day):
    noon = (day.toordinal() - dt.date(1970, 1, 1).toordinal()) * DAY + DAY // 2
    assert parse_date(day.isoformat()) == (noon, DAY)


@given(st.dates())
def test_the_three_ways_to_write_a_day_agree(day):
    assert parse_date(day) == parse_date(day.isoformat())


@given(st.dates(min_value=dt.date(1000, 1, 1)))
def test_the_compact_text_of_any_day_is_that_day(day):
    assert parse_date(f"{day:%Y%m%d}") == parse_date(day)


@given(st.integers(0, 9999))
def test_any_year_stands_for_its_middle_and_lasts_a_year(year):
    stamp, span = parse_date(f"{year:04d}")
    assert (span, (stamp - span // 2) % DAY) == (year_span(year), 0)


@given(
    st.datetimes(min_value=dt.datetime(2, 1, 1), max_value=dt.datetime(9998, 12, 31)).map(
        lambda m: m.replace(microsecond=0)
    ),
    st.integers(-14 * 60, 14 * 60),
)
def test_a_zone_shifts_a_date_time_by_its_offset(moment, minutes):
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    zoned, _ = parse_date(f"{moment.isoformat()}{sign}{size // 60:02d}:{size % 60:02d}")
    assert zoned == parse_date(moment.isoformat())[0] - minutes * 60


@given(st.integers(100_000_000, 9_999_999_999))
def test_milliseconds_and_seconds_of_one_moment_agree(second):
    assert parse_date(second * 1000 + 999) == parse_date(second)


@given(st.dates(min_value=dt.date(1000, 1, 1)))
def test_the_bounds_of_a_day_are_its_two_midnights(day):
    midnight = parse_date(day)[0] - DAY // 2
    assert bounds(day.isoformat()) == (midnight, midnight + DAY)


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("1862-12-01_lincoln", "1862-12-01"),
        ("lincoln_1862_12_01", "1862-12-01"),
        ("1862.12.01", "1862-12-01"),
        ("18621201_x", "1862-12-01"),
        ("lincoln-1862-12", "1862-12"),
        ("186212", "1862-12"),
        ("1862", "1862"),
        ("speech1862b", "1862"),
        ("vol3_1862", "1862"),
        ("1862-02-31_or_1863", "1863"),
    ],
)
def test_the_date_in_a_name_is_found(name, date):
    assert date_of_parts(dates_in_name(name)[0].parts) == parse_date(date)


@pytest.mark.parametrize("name", ["lincoln", "", "12345678901", "0862", "file_00123", "1862-02-31"])
def test_a_name_without_a_date_has_none(name):
    assert dates_in_name(name) == []


@given(st.text(max_size=30))
def test_every_date_found_in_a_name_is_a_day_or_longer(name):
    for found in dates_in_name(name):
        assert date_of_parts(found.parts)[1] >= DAY


@given(
    st.dates(min_value=dt.date(1000, 1, 1), max_value=dt.date(2999, 12, 31)),
    st.sampled_from(["-", "_", ".", ""]),
)
def test_any_day_in_a_name_is_found(day, dash):
    best = dates_in_name(f"speech {day:%Y}{dash}{day:%m}{dash}{day:%d} final")[0]
    assert date_of_parts(best.parts) == parse_date(day)


@given(
    st.lists(st.datetimes(max_value=dt.datetime(9999, 12, 31)), min_size=1, max_size=5),
    st.sampled_from(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%SZ"]),
)
def test_a_column_is_parsed_like_its_values(moments, form):
    values = [f"{moment.year:04d}-{moment.strftime(form.removeprefix('%Y-'))}" for moment in moments]
    stamps, spans, wrong = parse_column(pa.array(values), None)
    assert list(zip(stamps.tolist(), spans.tolist(), strict=True)) == [parse_date(value) for value in values]
    assert wrong == {}


@pytest.mark.parametrize(
    "value",
    [
        *("0000-01-01", "1862-00-01", "1862-13-01", "1862-02-29", "1862-12-00", "1862-12-32", "1862/13/01"),
        *("1862-12-1x", "1862-12-01T24:00:00", "1862-12-01T09:60:00", "1862-12-01T09:30:60"),
    ],
)
def test_a_bad_value_is_reported_alike_in_a_column_and_alone(value):
    good = "2000-02-29" if len(value) == 10 else "2000-02-29T09:30:00"
    with pytest.raises(ValueError, match=r".") as alone:
        parse_date(value)
    stamps, spans, wrong = parse_column(pa.array([good, value]), None)
    assert wrong == {1: str(alone.value)}
    assert (stamps[0], spans[0]) == parse_date(good)
