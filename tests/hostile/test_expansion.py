"""Compressed input that would fill the memory is rejected with the option that allows it."""

import gzip
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command_line import listing, run

import wordtide
from wordtide.corpus import byte_streams
from wordtide.errors import InputError, SettingsError

ROW = b'{"date": "1862", "text": "steam power"}\n'
SMALL = 1 << 16


@pytest.fixture(autouse=True)
def little_is_allowed(monkeypatch):
    """Lower the limit, so that bombs of some hundred kilobytes suffice."""
    monkeypatch.setattr(byte_streams, "ALWAYS_ALLOWED", SMALL)


def zst(content):
    return pa.compress(content, codec="zstd", asbytes=True)


def dictionary_bomb(path):
    """Many rows with the same long text, which the file holds once."""
    texts = pa.DictionaryArray.from_arrays(
        pa.array([0] * 3000, pa.int32()), pa.array(["steam power " * 5000])
    )
    pq.write_table(pa.table({"date": ["1862"] * 3000, "text": texts}), path, compression="zstd")


def prefix_bomb(path):
    """Each text is the previous one with one more letter; the file holds the letters."""
    texts = ["steam power " * 200 + "x" * number for number in range(3000)]
    options = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY", "date": "PLAIN"}}
    pq.write_table(pa.table({"date": ["1862"] * 3000, "text": texts}), path, compression="zstd", **options)


BOMBS = {
    "x.jsonl.gz": gzip.compress(ROW * 50_000, mtime=0),
    "x.jsonl.zst": zst(ROW * 50_000),
    "x.csv.gz": gzip.compress(b"date,text\n" + b"1862,steam power\n" * 50_000, mtime=0),
    "one-line.jsonl.gz": gzip.compress(b" " * 2_000_000, mtime=0),
    "1862.txt.gz": gzip.compress(b"steam power " * 100_000, mtime=0),
    "1862.txt.zst": zst(b"steam power " * 100_000),
    "members.jsonl.gz": gzip.compress(ROW, mtime=0) + gzip.compress(ROW * 50_000, mtime=0),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_compressed_bomb_is_refused(name, tmp_path):
    (tmp_path / name).write_bytes(BOMBS[name])
    with pytest.raises(InputError, match=rf"{name} expands to more than 50 times.*\n.*max_expansion=500"):
        wordtide.count(tmp_path / name, workers=1, max_expansion=50)


@pytest.mark.parametrize("bomb", [dictionary_bomb, prefix_bomb])
def test_a_parquet_bomb_is_refused(bomb, tmp_path):
    bomb(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x\.parquet expands to more than 50 times"):
        wordtide.count(tmp_path / "x.parquet", workers=1, max_expansion=50)


def test_a_bomb_of_ngrams_is_refused(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"steam power\t1862\t3\t2\n" * 50_000))
    with pytest.raises(InputError, match="expands to more than 50 times"):
        wordtide.count(tmp_path / "x.gz", format="ngrams", workers=1, max_expansion=50)


def test_a_raised_limit_reads_the_whole_file(tmp_path):
    (tmp_path / "x.jsonl.gz").write_bytes(BOMBS["x.jsonl.gz"])
    counts = wordtide.count(tmp_path / "x.jsonl.gz", workers=1, max_expansion=100_000)
    assert counts.summary.documents == 50_000


def test_a_parquet_file_with_dictionaries_is_counted_like_one_without(tmp_path):
    columns = {"date": ["1862", "1863"] * 500, "text": ["steam power", None, "atomic power", "steam"] * 250}
    pq.write_table(pa.table(columns), tmp_path / "plain.parquet", use_dictionary=False)
    pq.write_table(pa.table(columns), tmp_path / "shared.parquet", row_group_size=300)
    plain, shared = (
        wordtide.count(tmp_path / f"{name}.parquet", workers=1, skip_bad=True) for name in ("plain", "shared")
    )
    assert plain.words == shared.words
    assert all((a != b).nnz == 0 for a, b in zip(plain, shared, strict=True))
    assert plain.summary == shared.summary


def test_ordinary_compression_is_read_with_the_default(tmp_path):
    rows = b"".join(b'{"date": "1862", "text": "%s"}\n' % os.urandom(40).hex().encode() for _ in range(5000))
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(rows))
    assert wordtide.count(tmp_path / "x.jsonl.gz", workers=1).summary.documents == 5000


def test_the_command_names_its_option_and_leaves_nothing_behind(tmp_path):
    (tmp_path / "x.jsonl.gz").write_bytes(BOMBS["x.jsonl.gz"])
    refused = run("count", tmp_path / "x.jsonl.gz", "-o", tmp_path / "counts", "--max-expansion", "50")
    assert (refused.code, listing(tmp_path)) == (3, ["x.jsonl.gz"])
    assert "--max-expansion 500" in refused.err
    allowed = run("count", tmp_path / "x.jsonl.gz", "-o", tmp_path / "counts", "--max-expansion", "100000")
    assert allowed.code == 0


@pytest.mark.parametrize("limit", [0, -1, 1 << 50, True, 2.5])
def test_an_invalid_limit_is_rejected(limit):
    with pytest.raises(SettingsError, match="max_expansion="):
        wordtide.count([("1862", "steam")], max_expansion=limit)
