"""A file of the given bytes, read as `wordtide count` reads it, up to the words."""

import tempfile
from pathlib import Path

from wordtide.corpus.byte_streams import no_progress
from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.corpus.normalization import normalize_texts
from wordtide.corpus.sources import find_corpus
from wordtide.corpus.tokens.tokenizers import Scanner, TokenRule
from wordtide.errors import WordtideError

_PLACE = tempfile.TemporaryDirectory(prefix="wordtide-fuzz-")


def read_file(name: str, data: bytes, skip_bad: bool = False) -> None:
    """Read a file of this name and content, and number its words; what is refused is fine."""
    path = Path(_PLACE.name) / name
    path.write_bytes(data)
    bad = BadRows(skip_bad)
    scanner = Scanner(TokenRule())
    try:
        for block in find_corpus(path).blocks(Fields(), bad, no_progress):
            scanner.scan(normalize_texts(block(bad), bad))
    except WordtideError:
        pass
