"""A few dated documents, written to disk in every format that is read, and what "the same counts" means."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from wordtide import Counts

#: Dates of whole days; the texts hold quotes, commas, tabs and line breaks, which every format must carry.
DOCUMENTS = [
    ("1850-03-04", "Steam power drives the mill. Steam engines, said he, are strong."),
    (
        "1862-12-01",
        'We say "we are for the Union";\nthe world, will not forget.\n\nIn giving freedom we assure freedom.',
    ),
    ("1862-12-09", "Écoutez: l’énergie des machines à vapeur.\tCoal and steam."),
    ("1950-07-02", "Atomic energy drives engines. Atomic power is strong power."),
]
YEARS = [(int(date[:4]), text) for date, text in DOCUMENTS]


def write_json_lines(path: Path, documents: Sequence[tuple[object, str]] = DOCUMENTS) -> Path:
    """JSON Lines with the fields id, date and text; compressed as the name's ending says."""
    lines = (json.dumps({"id": n, "date": date, "text": text}) for n, (date, text) in enumerate(documents))
    return write_compressed(path, "".join(f"{line}\n" for line in lines).encode())


def write_compressed(path: Path, content: bytes) -> Path:
    """Write bytes as gzip (.gz), Zstandard (.zst), or plain."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content, mtime=0))
    elif path.suffix == ".zst":
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(content)
    else:
        path.write_bytes(content)
    return path


def assert_same_counts(found: Counts, expected: Counts) -> None:
    """Words, slices, times, tokens, unigrams and every pair count agree exactly."""
    assert found.words == expected.words
    assert found.labels == expected.labels
    assert found.times.tolist() == expected.times.tolist()
    assert found.tokens.tolist() == expected.tokens.tolist()
    for t in range(len(expected)):
        assert np.array_equal(found.unigrams(t), expected.unigrams(t))
        assert np.array_equal(found[t].toarray(), expected[t].toarray())
