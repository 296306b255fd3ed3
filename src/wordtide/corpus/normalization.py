"""Texts before they are split into words: valid UTF-8 in composed form (NFC), without entities.

The matches of a pattern can be removed, too. RE2 (in Arrow) finds them in time linear in the text. It does
not backtrack, so patterns have neither back-references nor lookaround.
"""

import html
import re
import unicodedata
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wordtide.compiled import kernel
from wordtide.corpus.columns import text_buffers
from wordtide.corpus.documents import ENCODING_REMEDY, BadRows, Batch
from wordtide.corpus.findings import SCRIPTS
from wordtide.corpus.tokens.unicode import TABLE_SIZE, character_tables, decode
from wordtide.types import Bytes, Flags, Integers

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


@kernel
def _unspaced_script(code: int) -> int:
    """The place in `SCRIPTS` of the script of a character; -1 if words have spaces between them in it."""
    if code < 0x0E00 or code >= 0x30000:
        return -1
    if code >= 0x3400:
        return 0 if code < 0xA000 or (code >= 0xF900 and code < 0xFB00) or code >= 0x20000 else -1
    if code >= 0x3041 and code < 0x3100:
        return 1
    return (
        2 if code < 0x0F00 or (code >= 0x1000 and code < 0x10A0) or (code >= 0x1780 and code < 0x1800) else -1
    )


@kernel
def inspect_texts(data: Bytes, offsets: Integers, unstable: Flags, scripts: Integers) -> Bytes:
    """Classify documents: 0 if they are UTF-8 in composed form, 1 if not composed, 2 if not UTF-8.

    Adds the bytes of characters in scripts without spaces between words to `scripts` (see `SCRIPTS`).
    """
    verdicts = np.zeros(offsets.size - 1, dtype=np.uint8)
    for document in range(offsets.size - 1):
        end = offsets[document + 1]
        at = offsets[document]
        high = np.uint8(0)
        for position in range(at, end):
            high |= data[position]
        if high < 0x80:
            continue
        while at < end:
            first = data[at]
            if first < 0x80:
                at += 1
                continue
            width = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            if first < 0xC2 or first > 0xF4 or at + width > end:
                verdicts[document] = 2
                break
            proper = True
            for position in range(at + 1, at + width):
                proper = proper and (data[position] & 0xC0) == 0x80
            code, _ = decode(data, at)
            if not proper or (width == 3 and code < 0x800) or (code >= 0xD800 and code < 0xE000):
                verdicts[document] = 2
                break
            if (width == 4 and code < 0x10000) or code > 0x10FFFF:
                verdicts[document] = 2
                break
            if code >= TABLE_SIZE or unstable[code]:
                verdicts[document] = 1
            script = _unspaced_script(code)
            if script >= 0:
                scripts[script] += width
            at += width
    return verdicts


def normalize_texts(batch: Batch, bad: BadRows) -> Batch:
    """Normalize the texts of a batch to NFC, and report and drop those that are not valid UTF-8."""
    scripts = np.zeros(len(SCRIPTS), dtype=np.int64)
    verdicts = inspect_texts(batch.data, batch.offsets, character_tables(True).unstable, scripts)
    bad.findings.add_scripts(int(batch.offsets[-1] - batch.offsets[0]), scripts)
    if not verdicts.any():
        return batch
    texts: list[bytes] = []
    for document, verdict in enumerate(verdicts):
        text = batch.text(document)
        if verdict == 2:
            _report_bad_encoding(batch, document, text, bad)
        elif verdict == 1:
            text = unicodedata.normalize("NFC", text.decode("utf-8")).encode("utf-8")
        texts.append(text)
    return batch.with_texts(texts).where(verdicts != 2)


def _report_bad_encoding(batch: Batch, document: int, text: bytes, bad: BadRows) -> None:
    try:
        text.decode("utf-8")
        raise AssertionError("inspect_texts and Python disagree about UTF-8")
    except UnicodeDecodeError as error:
        start = error.start
    place = batch.place(document)
    if not batch.rows[document]:  # the document is a whole file
        line = text.count(b"\n", 0, start) + 1
        place = f"{place}, line {line}"
    detail = f"byte {start + 1} of the text (0x{text[start]:02x}) is not valid UTF-8."
    bad.report(place, "not UTF-8", detail, ENCODING_REMEDY)
