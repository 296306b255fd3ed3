"""Validation and normalization of texts: valid UTF-8, in composed form (NFC)."""

import unicodedata

import numpy as np
import numpy.typing as npt

from wordtide.compiled import kernel
from wordtide.corpus.documents import BadRows, Batch, make_batch
from wordtide.corpus.tokens.unicode import TABLE_SIZE, character_tables, decode


@kernel
def inspect_texts(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], unstable: npt.NDArray[np.bool_]
) -> npt.NDArray[np.uint8]:
    """Classify documents: 0 if they are UTF-8 in composed form, 1 if not composed, 2 if not UTF-8."""
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
            at += width
    return verdicts


def normalize_texts(batch: Batch, bad: BadRows) -> Batch:
    """Normalize the texts of a batch to NFC, and report and drop those that are not valid UTF-8."""
    verdicts = inspect_texts(batch.data, batch.offsets, character_tables(True).unstable)
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
    normalized = make_batch(texts, batch.stamps, batch.spans, batch.sources, batch.rows, batch.places)
    return normalized.where(verdicts != 2)


def _report_bad_encoding(batch: Batch, document: int, text: bytes, bad: BadRows) -> None:
    try:
        text.decode("utf-8")
        raise AssertionError("inspect_texts and Python disagree about UTF-8")
    except UnicodeDecodeError as error:
        start = error.start
    place = batch.place(document)
    if not batch.rows[document]:  # a file of its own
        line = text.count(b"\n", 0, start) + 1
        place = f"{place}, line {line}"
    detail = f"byte {start + 1} of the text (0x{text[start]:02x}) is not valid UTF-8."
    bad.report(place, "not UTF-8", detail, "Convert the file: iconv -f LATIN1 -t UTF-8 old.txt > new.txt.")
