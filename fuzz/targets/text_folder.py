"""A folder of text files: names with dates, and texts of any bytes."""

import contextlib
import tempfile
from pathlib import Path

from wordtide.corpus.byte_streams import no_progress
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.corpus.normalization import normalize_texts
from wordtide.corpus.sources import find_corpus
from wordtide.corpus.tokens.tokenizers import Scanner, TokenRule
from wordtide.errors import WordtideError

SEEDS = [
    b"1862-12-01_lincoln.txt\nSteam power drives the mill. Mr. Lincoln's u.s. men, e\xcc\x81t\xc3\xa9 \xe2\x80\xaex.\n",
    b"1862\x1b[2J.md\n\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xb1\xd9\x88\xd8\xaf. www.example.org @name 3,000.50 to-day\n",
    b"18621301.text\n\xed\xa0\x80\x00\xff\n",
]
_RULES = [
    TokenRule(),
    TokenRule("keep", "keep", "keep", "split"),
    TokenRule("mask", "mask", "mask"),
    TokenRule(pretokenized=True),
]


def try_input(data: bytes) -> None:
    """Read a folder with one file: its name is on the first line, its text after that."""
    name, _, text = data.partition(b"\n")
    bad = BadRows()
    with tempfile.TemporaryDirectory(prefix="wordtide-fuzz-") as folder, contextlib.suppress(WordtideError):
        path = Path(folder) / name.decode("utf-8", "surrogateescape").replace("/", "_").replace("\0", "0")
        try:
            path.write_bytes(text)
        except OSError:  # the file system takes no such name
            return
        scanner = Scanner(_RULES[len(data) % len(_RULES)])
        for block in find_corpus(folder).blocks(Fields(), bad, no_progress):
            scanner.scan(normalize_texts(block(bad), bad))
