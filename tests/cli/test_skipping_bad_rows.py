"""--skip-bad: bad rows are counted by reason and reported, and the rest is counted as without them."""

import gzip
import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command_line import run
from corpus.dated_documents import assert_same_counts

import wordtide

GOOD = [
    b'{"date": "1850", "text": "Steam power drives the mill."}',
    b'{"date": "1862", "text": "Steam engines are strong."}',
    b'{"date": "1950", "text": "Atomic power is strong power."}',
]
BAD = {
    b'{"text": "No date."}': "date missing",
    b'{"date": null, "text": "No date."}': "date missing",
    b'{"date": "", "text": "No date."}': "date missing",
    b'{"date": "soon", "text": "No date."}': "date not understood",
    b'{"date": 1e300, "text": "No date."}': "date not understood",
    b'{"date": "1862"}': "text missing",
    b'{"date": "1862", "text": 7}': "text not a string",
    b'{"date": "1862", "text": "caf\xe9 \xc3\xa9\xc3\xa9"}': "not UTF-8",
    b'{"date": "1862", "text": "\\ud800"}': "not UTF-8",
    b'{"date": "1862", "te': "not JSON",
    b"[1862]": "not an object",
}


def lines(*rows):
    return b"".join(row + b"\n" for row in rows)


@pytest.fixture
def clean(tmp_path):
    path = tmp_path / "clean.jsonl"
    path.write_bytes(lines(*GOOD))
    return wordtide.count(path)


def skipped_reasons(folder):
    """Every reason with its number that `wordtide info --format json` tells, wherever it stands."""
    answer = json.loads(run("info", folder, "--format", "json").out)
    found = {}

    def look(value):
        if isinstance(value, dict):
            for name, inner in value.items():
                if isinstance(inner, int) and name in {
                    *BAD.values(),
                    "wrong number of fields",
                    "number not understood",
                }:
                    found[name] = inner
                look(inner)

    look(answer)
    return found


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.decode("latin-1"))
def test_a_bad_json_row_is_skipped_and_counted_by_its_reason(row, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(GOOD[0], row, *GOOD[1:]))
    assert wordtide.count(path, skip_bad=True).summary.skipped == {BAD[row]: 1}


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.decode("latin-1"))
def test_the_rest_is_counted_as_if_the_bad_json_row_were_not_there(row, clean, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(GOOD[0], row, *GOOD[1:]))
    assert_same_counts(wordtide.count(path, skip_bad=True), clean)


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.decode("latin-1"))
def test_a_bad_row_may_be_the_first(row, clean, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(row, *GOOD))
    assert_same_counts(wordtide.count(path, skip_bad=True), clean)


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.decode("latin-1"))
def test_a_bad_row_may_be_the_first_where_the_fields_are_named(row, clean, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(row, *GOOD))
    assert_same_counts(wordtide.count(path, skip_bad=True, date_field="date", text_field="text"), clean)


def test_all_reasons_are_counted(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(GOOD[0], *BAD))
    expected = {reason: list(BAD.values()).count(reason) for reason in BAD.values()}
    assert wordtide.count(path, skip_bad=True).summary.skipped == expected


@pytest.fixture
def counted(tmp_path):
    """A run with two kinds of bad rows."""
    (tmp_path / "x.jsonl").write_bytes(
        lines(GOOD[0], *[b'{"date": "soon", "text": "x"}'] * 2, b'{"date": "", "text": "x"}')
    )
    return run("count", tmp_path / "x.jsonl", "-o", tmp_path / "counts", "--skip-bad"), tmp_path / "counts"


def test_the_summary_tells_how_many_rows_were_skipped_and_why(counted):
    done, _ = counted
    assert "skipped 1 row: date missing" in done.err
    assert "skipped 2 rows: date not understood" in done.err


def test_a_run_that_skipped_rows_ends_with_0(counted):
    assert counted[0].code == 0


def test_the_answer_in_json_tells_how_many_rows_were_skipped_and_why(counted):
    assert skipped_reasons(counted[1]) == {"date missing": 1, "date not understood": 2}


CSV = b"""date,text
1850,"Steam power
drives the mill."
soon,No date.
1862
1862,one,two
,No date.
1862,caf\xe9 \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9
1862,one,caf\xe9
18\xe962,ok
1862,Steam engines are strong.

1950,Atomic power is strong power.
"""


def test_bad_csv_rows_are_skipped_and_counted_by_reason(tmp_path):
    (tmp_path / "x.csv").write_bytes(CSV)
    skipped = wordtide.count(tmp_path / "x.csv", skip_bad=True).summary.skipped
    assert (skipped["date missing"], skipped["wrong number of fields"], sum(skipped.values())) == (1, 3, 7)


def test_the_rest_of_a_csv_file_is_counted_as_if_the_bad_rows_were_not_there(clean, tmp_path):
    (tmp_path / "x.csv").write_bytes(CSV)
    assert_same_counts(wordtide.count(tmp_path / "x.csv", skip_bad=True), clean)


def test_many_bad_csv_rows_are_skipped_without_delay(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"date,text\n1862,steam power\n" + b"soon,No date at all.\n" * 5_000)
    wordtide.count([("1862", "steam")])  # so that compilation is not timed
    started = time.perf_counter()
    wordtide.count(tmp_path / "x.csv", skip_bad=True)
    assert time.perf_counter() - started < 3


def test_bad_parquet_rows_are_skipped(clean, tmp_path):
    rows = [json.loads(line) for line in GOOD]
    dates = [rows[0]["date"], None, "soon", rows[1]["date"], "1862", rows[2]["date"]]
    texts = [rows[0]["text"], "x", "x", rows[1]["text"], None, rows[2]["text"]]
    pq.write_table(pa.table({"date": dates, "text": texts}), tmp_path / "x.parquet")
    counts = wordtide.count(tmp_path / "x.parquet", skip_bad=True)
    assert counts.summary.skipped == {"date missing": 1, "date not understood": 1, "text missing": 1}
    assert_same_counts(counts, clean)


def test_bad_pairs_are_skipped(clean):
    rows = [json.loads(line) for line in GOOD]
    pairs = [(row["date"], row["text"]) for row in rows]
    assert_same_counts(
        wordtide.count([*pairs, (None, "x"), ("soon", "x"), ("1862", None)], skip_bad=True), clean
    )


def test_a_missing_date_is_counted_as_missing_among_pairs_too():
    assert wordtide.count([("1862", "steam"), (None, "x")], skip_bad=True).summary.skipped == {
        "date missing": 1
    }


def test_bad_text_files_are_skipped(clean, tmp_path):
    folder = tmp_path / "speeches"
    folder.mkdir()
    for row in map(json.loads, GOOD):
        (folder / f"{row['date']}.txt").write_text(row["text"], encoding="utf-8")
    (folder / "undated.txt").write_text("x", encoding="utf-8")
    (folder / "1870.txt").write_bytes(b"caf\xe9 \xc3\xa9\xc3\xa9")
    counts = wordtide.count(folder, skip_bad=True)
    assert counts.summary.skipped == {"date missing": 1, "not UTF-8": 1}
    assert_same_counts(counts, clean)


NGRAMS = b"steam power\t1862\t3\t2\nsteam mill\t1862\t1\t1\n"
BAD_NGRAMS = {
    b"steam power\t1862\n": "wrong number of fields",
    b"steam\n": "wrong number of fields",
    b"steam power\tMDCCC\t3\t2\n": "number not understood",
    b"steam power\t1862\t-3\t2\n": "number not understood",
    b"a b c d e f\t1862\t3\t2\n": "more than 5 words",
    b"caf\xe9 power\t1862\t3\t2\n": "not UTF-8",
}


@pytest.mark.parametrize("line", BAD_NGRAMS, ids=lambda line: line.decode("latin-1").strip())
def test_a_bad_ngram_line_is_skipped_and_counted_by_its_reason(line, tmp_path):
    (tmp_path / "x").write_bytes(NGRAMS + line + NGRAMS)
    assert wordtide.count(tmp_path / "x", format="ngrams", skip_bad=True).summary.skipped == {
        BAD_NGRAMS[line]: 1
    }


@pytest.mark.parametrize("line", BAD_NGRAMS, ids=lambda line: line.decode("latin-1").strip())
def test_the_rest_of_an_ngram_table_is_counted_as_if_the_bad_line_were_not_there(line, tmp_path):
    (tmp_path / "x").write_bytes(NGRAMS + line + NGRAMS)
    (tmp_path / "y").write_bytes(NGRAMS + NGRAMS)
    found, expected = (wordtide.count(tmp_path / name, format="ngrams", skip_bad=True) for name in "xy")
    assert_same_counts(found, expected)


def test_a_truncated_gzip_is_an_error_even_if_bad_rows_are_skipped(tmp_path):
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(lines(*GOOD * 500))[:-10])
    assert run("count", tmp_path / "x.jsonl.gz", "-o", tmp_path / "counts", "--skip-bad").code == 3


def test_nothing_but_bad_rows_is_an_error_that_tells_their_number(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(lines(*[b'{"date": "soon", "text": "x"}'] * 3))
    done = run("count", tmp_path / "x.jsonl", "-o", tmp_path / "counts", "--skip-bad")
    assert (done.code, "3 skipped" in done.err) == (3, True)
