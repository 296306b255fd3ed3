"""gzip and Zstandard: damaged, cut short, with garbage behind, and packed more than once."""

import gzip

import pyarrow as pa

from targets.reading import read_file

_LINES = b'{"date": "1862", "text": "Steam power drives the mill."}\n' * 20
_ZSTANDARD = bytes(pa.compress(_LINES, codec="zstd", asbytes=True))
SEEDS = [
    gzip.compress(_LINES, mtime=0),
    gzip.compress(_LINES[:80], mtime=0) + gzip.compress(_LINES, mtime=0),
    gzip.compress(gzip.compress(_LINES, mtime=0), mtime=0),
    gzip.compress(_LINES, mtime=0)[:-5],
    _ZSTANDARD,
    _ZSTANDARD * 2,
    b"\x28\xb5\x2f\xfd" + bytes(20),
]


def try_input(data: bytes) -> None:
    """Read the bytes as a file that may be compressed: the first bytes tell, not the name."""
    read_file("x.jsonl.gz", data)
