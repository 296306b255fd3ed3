"""Dates as text, with and without a pattern, and in the names of files."""

from wordtide.dates import check_format, date_of_parts, parse_date
from wordtide.written_dates import dates_in_name

SEEDS = [
    b"1862", b"1862-12", b"1862-12-01", b"18621201", b"-0044", b"1862-12-01T10:00:00+02:00", b"2020-W01-1", b"1400000000",
    b"01/12/1862\n%d/%m/%Y", b"1400000000000\nepoch-ms", b"1862-02-31_1863.txt", b"9" * 300, b"12:00\n%Y%H:%M",
]  # fmt: skip


def try_input(data: bytes) -> None:
    """Parse the first line as a date; the second, if there is one, is its pattern.

    ValueError is the answer to what is none.
    """
    text, _, pattern = data.decode("utf-8", "replace").partition("\n")
    for found in dates_in_name(text):
        date_of_parts(found.parts)
    try:
        if pattern:
            check_format(pattern)
        parse_date(text, pattern or None)
    except (ValueError, OverflowError):
        pass
