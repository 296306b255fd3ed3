"""Compiled recognition of single words, URLs and user names: where they end, and their lower-case form."""

from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.compiled import integer, kernel
from wordtide.corpus.tokens.lexicon import LONGEST_WORD
from wordtide.corpus.tokens.unicode import (
    APOSTROPHE,
    CASED,
    COMMA,
    DIGIT,
    HYPHEN,
    IGNORED,
    JOINER,
    LOWER,
    MARK,
    NEWLINE,
    PERIOD,
    SPACE,
    TABLE_SIZE,
    decode,
    encode,
    kind_at,
    kind_of_code,
)
from wordtide.types import Bytes

_CAPITAL_SIGMA: Final = 0x3A3
_CAPITAL_I_WITH_DOT: Final = 0x130


@kernel
def is_wordlike(character_kind: int) -> bool:
    """Whether a joining mark may precede this class of character."""
    return character_kind == LOWER or character_kind == CASED or character_kind == DIGIT


@kernel
def url_length(data: Bytes, at: int, end: int, kind: Bytes) -> int:
    """Bytes of the URL that starts here (http://, https://, www.), up to white space; 0 if none does."""
    first = data[at] | 0x20
    prefix = 0
    if first == 0x77 and at + 4 <= end:  # w
        if (data[at + 1] | 0x20) == 0x77 and (data[at + 2] | 0x20) == 0x77 and data[at + 3] == 0x2E:
            prefix = 4
    elif first == 0x68 and at + 7 <= end:  # h
        if (data[at + 1] | 0x20) == 0x74 and (data[at + 2] | 0x20) == 0x74 and (data[at + 3] | 0x20) == 0x70:
            colon = at + 4
            if (data[colon] | 0x20) == 0x73:
                colon += 1
            if (
                colon + 2 < end
                and data[colon] == 0x3A
                and data[colon + 1] == 0x2F
                and data[colon + 2] == 0x2F
            ):
                prefix = colon + 3 - at
    if prefix == 0:
        return 0
    stop = at + prefix
    while stop < end:
        character_kind = kind_at(data, stop, end, kind)
        if character_kind == SPACE or character_kind == NEWLINE:
            break
        stop += 1 if data[stop] < 0x80 else decode(data, stop)[1]
    return stop - at


@kernel
def user_name_length(data: Bytes, at: int, end: int) -> int:
    """Bytes of the user name (@ and ASCII letters, digits, underscores) that starts here, the @ included."""
    stop = at + 1
    while stop < end:
        byte = data[stop]
        letter = (byte | 0x20) >= 0x61 and (byte | 0x20) <= 0x7A
        if not (letter or (byte >= 0x30 and byte <= 0x39) or byte == 0x5F):
            break
        stop += 1
    return stop - at if stop > at + 1 else 0


@kernel
def copy_lowered(data: Bytes, at: int, length: int, word: Bytes) -> int:
    """Copy bytes in lower case (ASCII); returns the length, or LONGEST_WORD + 1 if it is too long."""
    if length > LONGEST_WORD:
        return LONGEST_WORD + 1
    for position in range(length):
        byte = data[at + position]
        word[position] = byte | 0x20 if byte >= 0x41 and byte <= 0x5A else byte
    return length


@kernel
def scan_word(
    data: Bytes,
    at: int,
    end: int,
    kind: Bytes,
    lower: npt.NDArray[np.int32],
    word: Bytes,
) -> tuple[int, int, bool, bool]:
    """One word in full generality: letters, marks and digits of any script, with what may join two of them.

    Returns the byte after it, the length of its lower-case form in `word` (more than LONGEST_WORD: too long),
    whether it holds a letter, and whether it is short: an initial or an acronym, whose period ends no
    sentence.
    """
    length = 0
    has_letter = False
    piece = 0  # characters since the last joining mark
    periods = 0
    single_letters = True  # so far single letters joined by periods: an acronym, u.s.
    while at < end:
        byte = data[at]
        if byte < 0x80:
            code_point, width = integer(byte), 1
        else:
            code_point, width = decode(data, at)
        character_kind = kind_of_code(code_point, kind)
        added = integer(-1)
        if character_kind == LOWER or character_kind == CASED:
            added = integer(lower[code_point]) if code_point < TABLE_SIZE else code_point
            if code_point == _CAPITAL_SIGMA:
                following = kind_at(data, at + 2, end, kind)
                inside = following == LOWER or following == CASED or following == MARK
                added = 0x3C3 if inside or piece == 0 else 0x3C2
            elif code_point == _CAPITAL_I_WITH_DOT and length <= LONGEST_WORD:
                length = encode(0x69, word, length)
                added = 0x307
            has_letter = True
            piece += 1
            single_letters = single_letters and piece == 1
        elif character_kind == MARK:
            added = code_point
        elif character_kind == DIGIT:
            added = code_point
            piece += 1
            single_letters = False
        elif character_kind == APOSTROPHE or character_kind == HYPHEN or character_kind == JOINER:
            if not is_wordlike(kind_at(data, at + width, end, kind)):
                break
            added = 0x27 if character_kind == APOSTROPHE else 0x2D if character_kind == HYPHEN else code_point
            piece = 0
            single_letters = False
        elif character_kind == PERIOD or character_kind == COMMA:
            following = kind_at(data, at + 1, end, kind)
            if not has_letter:  # 3.5 and 1,000 are one number each
                if following != DIGIT:
                    break
            else:
                if (
                    character_kind == COMMA
                    or not single_letters
                    or (following != LOWER and following != CASED)
                ):
                    break
                beyond = kind_at(data, at + 1 + decode(data, at + 1)[1], end, kind)
                if is_wordlike(beyond) or beyond == MARK:
                    break
                periods += 1
            added = code_point
            piece = 0
        elif character_kind != IGNORED:
            break
        if added >= 0 and length <= LONGEST_WORD:
            length = encode(added, word, length)
        at += width
    if periods > 0 and single_letters and length <= LONGEST_WORD:
        length = encode(0x2E, word, length)  # u.s and u.s. are one word
        if at < end and data[at] == 0x2E:
            at += 1
    is_pronoun_i = length == 1 and word[0] == 0x69
    return at, length, has_letter, has_letter and single_letters and not is_pronoun_i
