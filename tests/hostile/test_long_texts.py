"""Generated texts with very long lines and words, direction marks or NUL are counted or rejected."""

import subprocess
import sys

import pytest

import wordtide
from wordtide.errors import InputError

_CHILD = """
import resource, sys
import wordtide
wordtide.count([("1862", "steam power")], workers=1)  # what has to be compiled is
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tokens = [wordtide.count(path, workers=1).summary.tokens for path in sys.argv[1:]]
print(*tokens, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_word_of_ten_thousand_letters_keeps_its_place_and_gets_no_number():
    counts = wordtide.count([("1862", f"steam {'x' * 10_000} power")], window=1)
    assert counts.words == ["power", "steam"]
    assert counts.tokens.tolist() == [3]
    assert counts[0].nnz == 0  # they are two places apart, so no pair at distance one


def test_memory_grows_in_proportion_to_the_longest_line(tmp_path):
    texts = {"words": "steam " * (4 << 20), "letters": "x" * (24 << 20)}
    for name, text in texts.items():
        (tmp_path / f"{name}.jsonl").write_text(f'{{"date": "1862", "text": "{text}"}}\n', encoding="ascii")
    paths = [tmp_path / f"{name}.jsonl" for name in texts]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *paths], capture_output=True, text=True, timeout=300, check=True
    )
    words, letters, megabytes = map(int, done.stdout.split())
    assert (words, letters) == (4 << 20, 1)
    assert megabytes < 40 * 24


def test_an_overlong_row_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr("wordtide.corpus.delimited._LONGEST_ROW", 1 << 20)
    monkeypatch.setattr("wordtide.corpus.delimited.BLOCK_BYTES", 1 << 18)
    (tmp_path / "x.csv").write_bytes(b"date,text\n1862," + b"x" * (3 << 20))
    with pytest.raises(InputError, match="longer than 1 MB"):
        wordtide.count(tmp_path / "x.csv", workers=1)


def test_words_contain_no_direction_marks_and_control_characters():
    counts = wordtide.count(
        [("1862", "st\u200eeam\u202e power\x00mill \x1b[31mred \u2066ship\u2069 \u200bx\ufeffy")]
    )
    assert set(counts.words) == {"steam", "power", "mill", "31mred", "ship", "xy"}


def test_an_overlong_date_is_quoted_by_its_beginning(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"date,text\n" + b"9" * 1_000_000 + b",steam\n")
    with pytest.raises(InputError) as refused:
        wordtide.count(tmp_path / "x.csv", workers=1)
    assert len(str(refused.value)) < 1000
