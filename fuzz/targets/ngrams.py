"""Tables of n-grams, versions 2 and 3."""

import contextlib

from wordtide.corpus.documents import BadRows
from wordtide.corpus.ngram_tables import NgramScanner
from wordtide.corpus.tokens.tokenizers import TokenRule
from wordtide.errors import WordtideError

SEEDS = [
    b"steam power\t1862\t3\t2\nsteam power\t1863\t4\t2\nrun_VERB fast\t1862\t1\t1\n",
    b"steam power drives\t1862,3,2\t1863,4,2\n_START_ caf\xc3\xa9\t1900,1,1\n",
    b"a b c d e\t1862\t99999999999999999999\t2\n\n\xff\t1\t1\t1\n",
]


def try_input(data: bytes) -> None:
    """Scan the bytes as a block of lines; the last bit of their number tells what becomes of bad rows."""
    scanner = NgramScanner(TokenRule(numbers="mask"), (1500, 2100))
    with contextlib.suppress(WordtideError):
        scanner.scan(data, 1, "x", BadRows(skip=len(data) % 2 == 1))
