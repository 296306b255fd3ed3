"""Characters: their classes for the token rule, and UTF-8 inside compiled code."""

import unicodedata
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import integer, kernel
from wordtide.types import Bytes, Flags

OTHER: Final = 0
CASED: Final = 1  # a letter that is not lower case: a capital, or a letter of a script without case
LOWER: Final = 2  # a lower-case letter
MARK: Final = 3  # a combining mark: part of a word, never its first character
DIGIT: Final = 4
APOSTROPHE: Final = 5
HYPHEN: Final = 6
JOINER: Final = 7  # zero-width non-joiner: kept between letters (Persian, Indic scripts)
IGNORED: Final = 8  # invisible: soft hyphen, direction marks; dropped, and does not end a word
PERIOD: Final = 9
COMMA: Final = 10
EXCLAMATION: Final = 11  # ! and ?: end a sentence before white space
STOP: Final = 12  # full stops of scripts that need no white space after them
CLOSER: Final = 13  # quotes and brackets that may follow a full stop
SPACE: Final = 14
NEWLINE: Final = 15
AT: Final = 16

#: Code points from here on are looked up by range: the CJK extension planes are letters, the rest is not.
TABLE_SIZE: Final = 0x20000
_APOSTROPHES = "'’ʼ＇"  # noqa: RUF001 (these look-alikes are the point)
_HYPHENS = "-‐‑"  # noqa: RUF001
_STOPS = "。！？｡。।॥؟۔։።"  # noqa: RUF001
_CLOSERS = ')]}"”»›'  # noqa: RUF001
_LETTERS_OF_CATEGORY = {"Lu": CASED, "Lt": CASED, "Lo": CASED, "Lm": CASED, "Nl": CASED, "Ll": LOWER}


class CharacterTables(NamedTuple):
    """`kind` (uint8), `lower` (int32 code points) and `unstable` (bool), all of length `TABLE_SIZE`.

    `unstable` marks characters that Unicode's composed form (NFC) may change: a text that holds one is
    normalized first.
    """

    kind: Bytes
    lower: npt.NDArray[np.int32]
    unstable: Flags


@cache
def character_tables(keep_hyphens: bool) -> CharacterTables:
    """The tables for one setting of the token rule."""
    kind = np.zeros(TABLE_SIZE, dtype=np.uint8)
    lower = np.arange(TABLE_SIZE, dtype=np.int32)
    unstable = np.zeros(TABLE_SIZE, dtype=np.bool_)
    for code in range(TABLE_SIZE):
        character = chr(code)
        category = unicodedata.category(character)
        if category in _LETTERS_OF_CATEGORY:
            kind[code] = _LETTERS_OF_CATEGORY[category]
            lowered = character.lower()
            if len(lowered) == 1:
                lower[code] = ord(lowered)
        elif category[0] == "M":
            kind[code] = MARK
        elif category == "Nd":
            kind[code] = DIGIT
        elif category == "Cf":
            kind[code] = IGNORED
        elif category in ("Zl", "Zp"):
            kind[code] = NEWLINE
        elif category == "Zs":
            kind[code] = SPACE
        if code >= 0x300 and category[0] in "LMS" and _may_compose(character, category):
            unstable[code] = True
    for characters, value in (
        (_APOSTROPHES, APOSTROPHE),
        (_HYPHENS if keep_hyphens else "", HYPHEN),
        (_STOPS, STOP),
        (_CLOSERS, CLOSER),
        ("!?", EXCLAMATION),
        ("‌", JOINER),
        (".", PERIOD),
        (",", COMMA),
        ("@", AT),
        ("\t\v\f\r\x85", SPACE),
        ("\n", NEWLINE),
    ):
        for character in characters:
            kind[ord(character)] = value
    return CharacterTables(kind, lower, unstable)


def _may_compose(character: str, category: str) -> bool:
    trails_hangul = 0x1160 <= ord(character) <= 0x11FF
    return category[0] == "M" or trails_hangul or not unicodedata.is_normalized("NFC", character)


@kernel
def decode(data: Bytes, at: int) -> tuple[int, int]:
    """The code point and width of the character at a byte of valid UTF-8 (see `inspect_texts`)."""
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
def kind_of_code(code: int, kind: Bytes) -> int:
    """The class of a code point; of those beyond the table only CJK ideographs are letters."""
    if code < TABLE_SIZE:
        return integer(kind[code])
    return CASED if code < 0x40000 else OTHER


@kernel
def encode(code: int, word: Bytes, length: int) -> int:
    """Append the UTF-8 bytes of a character to a word; returns the new length."""
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
def kind_at(data: Bytes, at: int, end: int, kind: Bytes) -> int:
    """The class of the character at a byte; OTHER after the end."""
    if at >= end:
        return OTHER
    if data[at] < 0x80:
        return integer(kind[data[at]])
    code, _ = decode(data, at)
    return kind_of_code(code, kind)
