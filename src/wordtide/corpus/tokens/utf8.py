"""Characters of UTF-8 text inside compiled code: decoding, encoding, and their class."""

import numpy as np
import numpy.typing as npt

from wordtide.compiled import integer, kernel
from wordtide.corpus.tokens.characters import CASED, OTHER, TABLE_SIZE


@kernel
def decode(data: npt.NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Code point and width of the character at a byte. The bytes are valid UTF-8 (see `inspect_texts`)."""
    first = integer(data[at])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | integer(data[at + 1]) & 0x3F, 2
    if first < 0xF0:
        return (first & 0x0F) << 12 | (integer(data[at + 1]) & 0x3F) << 6 | integer(data[at + 2]) & 0x3F, 3
    high = (first & 0x07) << 18 | (integer(data[at + 1]) & 0x3F) << 12
    return high | (integer(data[at + 2]) & 0x3F) << 6 | integer(data[at + 3]) & 0x3F, 4


@kernel
def kind_of(code: int, kind: npt.NDArray[np.uint8]) -> int:
    """Class of a code point; beyond the table lie CJK ideographs (letters) and nothing else that makes words."""
    if code < TABLE_SIZE:
        return integer(kind[code])
    return CASED if code < 0x40000 else OTHER


@kernel
def encode(code: int, word: npt.NDArray[np.uint8], length: int) -> int:
    """Append a character's UTF-8 bytes to a word; the new length."""
    if code < 0x80:
        word[length] = code
        return length + 1
    if code < 0x800:
        word[length] = 0xC0 | code >> 6
        word[length + 1] = 0x80 | code & 0x3F
        return length + 2
    if code < 0x10000:
        word[length] = 0xE0 | code >> 12
        word[length + 1] = 0x80 | code >> 6 & 0x3F
        word[length + 2] = 0x80 | code & 0x3F
        return length + 3
    word[length] = 0xF0 | code >> 18
    word[length + 1] = 0x80 | code >> 12 & 0x3F
    word[length + 2] = 0x80 | code >> 6 & 0x3F
    word[length + 3] = 0x80 | code & 0x3F
    return length + 4


@kernel
def kind_at(data: npt.NDArray[np.uint8], at: int, end: int, kind: npt.NDArray[np.uint8]) -> int:
    """Class of the character at a byte; OTHER behind the end."""
    if at >= end:
        return OTHER
    if data[at] < 0x80:
        return integer(kind[data[at]])
    code, _ = decode(data, at)
    return kind_of(code, kind)
