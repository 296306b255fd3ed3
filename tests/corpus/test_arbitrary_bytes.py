"""Arbitrary bytes are counted, or rejected with an explained error, never another exception."""

import contextlib
import gzip
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wordtide
from wordtide.errors import WordtideError


def count_or_refuse(content, name, **options):
    """Count a file with this content, in a folder of its own; explained errors are fine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            counts = wordtide.count(path, workers=1, **options)
        except WordtideError:
            return
        assert len(counts) > 0
        assert (np.diff(counts.times) > 0).all()


def lines(*pieces):
    """Lines made of pieces that nearly make sense, so that the parsers get past the first byte."""
    return st.lists(st.lists(st.sampled_from(pieces), max_size=8).map(b"".join), max_size=6).map(b"\n".join)


json_pieces = lines(
    b'{"date": "1862", "text": "steam power"}', b'{"date": 1862, "text": "a b"}', b'{"date": "', b'", "text": "', b'"}', b"{",
    b"}", b'"', b":", b",", b"[1]", b"null", b"1e999", b"-1e18", b"1862", b"\\ud800", b"\\u0000", b"\xff", b"\x00", b"\r",
    b"caf\xc3\xa9", b'"date"', b'"text"', b"NaN", b" ", b"\xef\xbb\xbf", b"99999999999999999999999",
)  # fmt: skip
csv_pieces = lines(
    b"date,text", b"1862,steam power", b"1862,", b",", b'"', b'""', b'"a\nb"', b"\r", b"\x00", b"\xff", b"1862-13", b"x",
    b"date", b"text", b"\t", b"\xef\xbb\xbf", b"1e999", b"caf\xc3\xa9", b"99999999999999999999999",
)  # fmt: skip
ngram_pieces = lines(
    b"steam power", b"\t", b"1862", b"\t1862\t3\t2", b"\t1862,3,2", b",", b"-1", b"99999999999999999999", b"0", b"a b c d e f",
    b" ", b"_NOUN_", b"run_VERB", b"_", b"\xff", b"\x00", b"\r", b"e\xcc\x81", b"a_",
)  # fmt: skip


@given(st.binary(max_size=200) | json_pieces)
@example(b"")
@example(b'{"date": "1862", "text": "\\ud800"}\n')
@example(b'{"date": 1e300, "text": "steam"}\n')
@example(b'{"date": 99999999999999999999999, "text": "steam"}\n')
@example(b'{"date": {"$date": 1862}, "text": "steam"}\n')
@example(b'{"date": "1862", "text": ["steam"]}\n')
@example(b"[" * 100_000)
def test_any_json_lines_are_counted_or_refused(content):
    count_or_refuse(content, "x.jsonl")


@given(st.binary(max_size=200) | json_pieces)
def test_any_json_lines_are_counted_or_refused_when_bad_rows_are_skipped(content):
    count_or_refuse(content, "x.jsonl", skip_bad=True, every="document")


@given(st.binary(max_size=200) | csv_pieces | csv_pieces.map(lambda rows: b"date,text\n" + rows))
@example(b"")
@example(b"\n")
@example(b"date,text\r1862,steam\r")
@example(b"date,text\n")
@example(b'date,text\n1862,"steam\n')
@example(b'"date,text\n1862,steam\n')
@example(b"date,text,text\n1862,steam,power\n")
@example(b"date,text\n" + b"9" * 300 + b",steam\n")
@example(b"date,text\n18\xff62,steam\n")
@example(b"date,text\n1862,steam,\xff\n")
@example(b'"' + b"x" * 200_000 + b'",date,text\n1,1862,steam\n')
@example(b"x" * 2_000_000)
def test_any_csv_is_counted_or_refused(content):
    count_or_refuse(content, "x.csv")


@given(csv_pieces.map(lambda rows: b"date,text\n" + rows))
def test_any_csv_is_counted_or_refused_when_bad_rows_are_skipped(content):
    count_or_refuse(content, "x.csv", skip_bad=True, every="document")


@given(csv_pieces.map(lambda rows: b"date\ttext\n" + rows.replace(b",", b"\t")))
def test_any_tsv_is_counted_or_refused(content):
    count_or_refuse(content, "x.tsv")


@given(st.binary(max_size=200) | ngram_pieces)
@example(b"")
@example(b"steam power\t1862\t3\t2")
@example(b"steam power\t1862,3,2\t1863,1,1")
@example(b"steam power\t99999\t3\t2\n")
@example(b"steam power\t1862\t999999999999999\t2\n")
def test_any_ngram_table_is_counted_or_refused(content):
    count_or_refuse(content, "x", format="ngrams")


@given(st.binary(max_size=200) | ngram_pieces)
def test_any_ngram_table_is_counted_or_refused_when_bad_rows_are_skipped(content):
    count_or_refuse(content, "x", format="ngrams", skip_bad=True, ngram_weights="literal")


@given(
    st.binary(max_size=300) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
@example(b"")
@example(b"\xef\xbb\xbfsteam power")
@example(b"\xff\xfes\x00t\x00")
@example(b"\xed\xa0\x80")
@example(b"\xf4\x90\x80\x80")
@example(b"www." + b"x" * 1000)
def test_any_text_file_is_counted_or_refused(content):
    count_or_refuse(content, "1862.txt")


@given(st.text(max_size=200), st.sampled_from(["keep", "mask", "skip"]), st.sampled_from(["keep", "split"]))
def test_any_valid_text_is_counted_with_all_token_options(text, way, hyphens):
    count_or_refuse(
        text.encode("utf-8", "replace"), "1862.txt", numbers=way, urls=way, user_names=way, hyphens=hyphens
    )


@given(st.text(max_size=200))
def test_any_valid_text_is_counted_pretokenized(text):
    count_or_refuse(text.encode("utf-8", "replace"), "1862.txt", pretokenized=True)


@given(
    st.binary(max_size=100), st.sampled_from([b"\x1f\x8b", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"PAR1"])
)
def test_any_bytes_after_a_magic_number_are_counted_or_refused(rest, magic):
    count_or_refuse(magic + rest, "1862.txt.gz")


@given(st.binary(max_size=100))
def test_any_bytes_as_parquet_are_counted_or_refused(content):
    count_or_refuse(b"PAR1" + content + b"PAR1", "x.parquet")


@settings(max_examples=40)
@given(st.integers(0, 400), st.integers(1, 255))
def test_a_gzip_with_a_changed_byte_is_counted_or_refused(place, change):
    whole = bytearray(
        gzip.compress(b'{"date": "1862", "text": "steam power drives the mill"}\n' * 50, mtime=0)
    )
    whole[place % len(whole)] ^= change
    count_or_refuse(bytes(whole), "x.jsonl.gz")


@settings(max_examples=40)
@given(st.integers(0, 400))
def test_a_zst_cut_anywhere_is_counted_or_refused(cut):
    whole = pa.compress(
        b'{"date": "1862", "text": "steam power drives the mill"}\n' * 50, codec="zstd", asbytes=True
    )
    count_or_refuse(whole[: cut % len(whole)], "x.jsonl.zst")


dates = st.one_of(
    st.text(max_size=12), st.integers(), st.floats(), st.none(), st.booleans(), st.binary(max_size=4), st.datetimes(),
    st.dates(), st.just(np.datetime64("NaT")), st.just([]),
)  # fmt: skip


@given(
    st.lists(st.tuples(dates, st.one_of(st.text(max_size=20), st.none(), st.binary(max_size=4))), max_size=4)
)
@example([(10**30, "steam")])
@example([(1e300, "steam")])
@example([("1862", "\ud800")])
def test_any_pairs_are_counted_or_refused(pairs):
    with contextlib.suppress(WordtideError):
        wordtide.count(pairs, workers=1)


@given(st.lists(st.tuples(dates, st.text(max_size=20)), max_size=4))
def test_any_pairs_are_counted_or_refused_when_bad_ones_are_skipped(pairs):
    with contextlib.suppress(WordtideError):
        wordtide.count(pairs, workers=1, skip_bad=True, every="document")


@pytest.mark.parametrize("item", ["steam", ("1862",), 1862, None, ("1862", "steam", "power")])
def test_items_that_are_not_pairs_are_rejected(item):
    with pytest.raises(WordtideError, match="pair"):
        wordtide.count([("1862", "steam"), item])


@pytest.mark.parametrize("source", [None, 7, b"bytes", {"1862": "steam"}, object()])
def test_objects_that_are_not_sources_are_rejected(source):
    with pytest.raises(WordtideError, match="not a source"):
        wordtide.count(source)


@pytest.mark.parametrize("column", ["date", "text"])
@pytest.mark.parametrize("number", [2, -1, 99])
def test_dictionary_indices_out_of_range_are_rejected(column, number):
    good = pa.array(["1850", "1950"])
    bad = pa.DictionaryArray.from_arrays(pa.array([0, number], pa.int32()), good, safe=False)
    frame = pa.table({"date": good, "text": good} | {column: bad})
    with pytest.raises(WordtideError, match=f"the column '{column}' refers to values that do not exist"):
        wordtide.count(frame)
