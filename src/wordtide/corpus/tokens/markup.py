"""Cleaning of texts before they are split into words: character entities are decoded, and matches of the
user's pattern are dropped.

RE2 (in Arrow) matches patterns in time linear in the text. It does not backtrack, so patterns have neither
back-references nor lookaround.
"""

import html
import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wordtide.corpus.columns import text_buffers
from wordtide.corpus.documents import Batch

_AMPERSAND: Final = 0x26
_ENTITY: Final = re.compile(rb"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def decode_entities(batch: Batch) -> Batch:
    """Replace character entities (&amp;, &uuml;, &#8217;) by their characters, once."""
    start = int(batch.offsets[0])
    places = np.flatnonzero(batch.data[start : batch.offsets[-1]] == _AMPERSAND)
    if not len(places):
        return batch
    documents = np.unique(np.searchsorted(batch.offsets, places + start, side="right") - 1)
    changed: dict[int, bytes] = {}
    for document in documents.tolist():
        text, number = _ENTITY.subn(_character, batch.text(document))
        if number:
            changed[document] = text
    if not changed:
        return batch
    return batch.with_texts([changed[n] if n in changed else batch.text(n) for n in range(len(batch))])


def _character(entity: re.Match[bytes]) -> bytes:
    return html.unescape(entity[0].decode("ascii")).encode("utf-8", "replace")


def drop_matches(batch: Batch, pattern: str) -> Batch:
    """Replace every match of a pattern by a space. The texts are valid UTF-8."""
    offsets = pa.py_buffer(np.ascontiguousarray(batch.offsets, dtype=np.int64))
    texts = pa.Array.from_buffers(
        pa.large_string(), len(batch), [None, offsets, pa.py_buffer(np.ascontiguousarray(batch.data))]
    )
    data, ends = text_buffers(pc.replace_substring_regex(texts, pattern=pattern, replacement=" "))
    return batch.with_buffers(data, ends)


def check_pattern(pattern: str) -> None:
    """Raise a ValueError for a pattern that RE2 does not accept, or that matches the empty text."""
    try:
        for sample in ("", "a"):
            dropped = pc.replace_substring_regex(pa.array([sample]), pattern=pattern, replacement=" ")
            if len(dropped[0].as_py()) > len(sample):
                raise ValueError("it matches between any two characters")
    except pa.ArrowInvalid as error:
        raise ValueError(str(error).removeprefix("Invalid regular expression: ")) from None
