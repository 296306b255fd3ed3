"""The file of a fixed vocabulary."""

import contextlib
import tempfile
from pathlib import Path

from wordtide.corpus.tokens.tokenizers import Scanner, TokenRule
from wordtide.counts.vocabulary import read_vocabulary
from wordtide.errors import WordtideError

SEEDS = [
    b"steam\npower\n",
    b"caf\xc3\xa9\r\n <number> \n\n",
    b"x" * 200 + b"\n",
    b"a\x1b[2Jb\n\xff\n",
    b"steam\nsteam\n",
]
_PLACE = tempfile.TemporaryDirectory(prefix="wordtide-fuzz-")


def try_input(data: bytes) -> None:
    """Read a vocabulary, and make a scanner with it."""
    path = Path(_PLACE.name) / "words.txt"
    path.write_bytes(data)
    with contextlib.suppress(WordtideError):
        Scanner(TokenRule(), read_vocabulary(path))
