"""A file read in portions gives the documents, names and lines of the whole file."""

import numpy as np
import pytest
from corpus.dated_documents import write_compressed
from corpus.serving_files import serving
from hypothesis import given
from hypothesis import strategies as st

from wordtide.corpus import delimited
from wordtide.corpus.byte_streams import SourceFile
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.corpus.sources import Corpus
from wordtide.counts.cluster.shards import (
    can_be_cut,
    columns_of_lines,
    cut_lines,
    cut_parquet,
    cut_records,
    find_line_breaks,
    ranges_of,
)
from wordtide.errors import InputError


def read(files):
    """Texts, dates, names and places of all documents, and the reasons of bad rows."""
    bad = BadRows(skip=True)
    found = []
    for block in Corpus(tuple(files)).blocks(Fields(), bad, lambda _: None):
        batch = block(bad)
        found += [
            (batch.text(n), int(batch.stamps[n]), batch.name(n), batch.place(n)) for n in range(len(batch))
        ]
    return found, bad.reasons


def cut(file, step):
    if file.format in ("csv", "tsv"):
        return cut_records(file, step)
    if file.format == "parquet":
        return cut_parquet(file, step)
    ranges = ranges_of(file, step)
    return cut_lines(
        file,
        ranges,
        [find_line_breaks(file, *part) for part in ranges],
        columns_of_lines(file, Fields(), skip_bad=True),
    )


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_file_with_another_delimiter_is_cut_between_records(tmp_path, delimiter):
    rows = "".join(f'{1900 + n}{delimiter}"a, b\n{n}"\n' for n in range(30))
    (tmp_path / "x.csv").write_text(f"date{delimiter}text\n{rows}", encoding="utf-8")
    file = SourceFile(str(tmp_path / "x.csv"), "x.csv", "csv")
    portions = cut(file, 64)
    assert len(portions) > 3
    assert read(portions) == read([file])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", ("date,text\n" + "1901,Gr\u00fc\u00dfe aus K\u00f6ln\n" * 50).encode("cp1252")),
        ("x.csv", ("date,text\n" + "1901,steam\n" * 50).encode("utf-16")),
        ("x.json", b"[" + b",".join([b'{"date": "1901", "text": "steam"}'] * 50) + b"]"),
    ],
)
def test_a_file_in_another_encoding_is_not_cut(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    file = SourceFile(str(tmp_path / name), name, "csv" if name.endswith("csv") else "jsonl")
    assert not can_be_cut(file, 64)
    assert len(read([file])[0]) == 50


FIELD = st.sampled_from(["a", '"b"', '"c\nd"', '"e""f,\r\n"', "", "g\r", '"', 'h"i', "\n", '"\n\n"'])


@given(st.lists(FIELD, min_size=1, max_size=12), st.integers(1, 40), st.booleans())
def test_any_csv_file_read_in_portions_is_the_whole_file(tmp_path_factory, rows, step, marked):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    content = "date,text\n" + "\n".join(f"{1900 + n},{field}" for n, field in enumerate(rows))
    path.write_bytes(("\ufeff" if marked else "").encode() + content.encode())
    file = SourceFile(str(path), "table.csv", "csv")
    try:
        whole = read([file])
    except InputError:  # such a file is not cut: reading it reports what is wrong
        with pytest.raises(InputError, match=r"table\.csv"):
            cut(file, step)
        return
    portions = cut(file, step)
    assert read(portions) == whole
    assert portions[-1].portion.stop == path.stat().st_size


def test_records_do_not_depend_on_where_blocks_end(tmp_path, monkeypatch):
    rows = "".join(f'{1900 + n},"line {n}\nand ""more"", {n}"\n' for n in range(60))
    (tmp_path / "table.csv").write_text("date,text\n" + rows)
    file = SourceFile(str(tmp_path / "table.csv"), "table.csv", "csv")
    whole, portions = read([file]), cut(file, 200)
    assert len(portions) > 5
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 37)
    assert cut(file, 200) == portions
    assert read(portions) == whole


LINE = st.sampled_from(
    ['{"date": "1900", "text": "a\\nb"}', "", "no json", '{"date": "1901", "text": "é"}', '{"date": 1}', "  "]
)


@given(st.lists(LINE, min_size=1, max_size=12), st.integers(1, 90), st.booleans(), st.booleans())
def test_any_json_lines_read_in_portions_are_the_whole_file(tmp_path_factory, lines, step, ended, marked):
    path = tmp_path_factory.mktemp("json") / "posts.jsonl"
    content = ('{"date": "1899", "text": "head"}\n' + "\n".join(lines) + "\n" * ended).encode()
    path.write_bytes(("\ufeff" if marked else "").encode() + content)
    file = SourceFile(str(path), "posts.jsonl", "jsonl")
    assert read(cut(file, step)) == read([file])


def test_portions_over_http_are_requested_as_byte_ranges(tmp_path):
    lines = "".join(f'{{"date": "{1900 + n}", "text": "text {n}"}}\n' for n in range(50))
    (tmp_path / "posts.jsonl").write_text(lines)
    here = SourceFile(str(tmp_path / "posts.jsonl"), "posts.jsonl", "jsonl")
    with serving(tmp_path) as (address, asked):
        there = SourceFile(f"{address}/posts.jsonl", "posts.jsonl", "jsonl", size=len(lines))
        assert can_be_cut(there, 500)
        portions = cut(there, 500)
        found, _ = read(portions)
        assert len(portions) > 2
        assert [row[:3] for row in found] == [row[:3] for row in read([here])[0]]
        assert any(
            request.endswith(f"bytes={portions[1].portion.start}-{len(lines) - 1}") for request in asked
        )


def test_compressed_short_and_unseekable_files_are_not_cut(tmp_path):
    content = b'{"date": "1900", "text": "steam"}\n' * 50
    for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl.zst"):
        write_compressed(tmp_path / name, content)
    assert can_be_cut(SourceFile(str(tmp_path / "a.jsonl"), "a", "jsonl"), 10)
    assert not can_be_cut(SourceFile(str(tmp_path / "a.jsonl"), "a", "jsonl"), 10_000)
    assert not can_be_cut(SourceFile(str(tmp_path / "a.jsonl.gz"), "a", "jsonl"), 10)
    assert not can_be_cut(SourceFile(str(tmp_path / "a.jsonl.zst"), "a", "jsonl"), 10)
    assert not can_be_cut(SourceFile(str(tmp_path / "a.jsonl"), "a", "text"), 10)
    with serving(tmp_path, ranges=False) as (address, _):
        assert not can_be_cut(SourceFile(f"{address}/a.jsonl", "a", "jsonl", size=len(content)), 10)


def test_ranges_cover_a_file_without_gaps(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 1000)
    ranges = ranges_of(SourceFile(str(tmp_path / "a"), "a", "ngrams"), 300)
    assert [start for start, _ in ranges[1:]] == [stop for _, stop in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (0, 1000)
    assert np.ptp([stop - start for start, stop in ranges]) <= 1
