"""The compiled reader of n-gram tables: numbers words, recognizes tags, parses years and counts."""

from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.compiled import eight_bytes, integer, kernel, leaf
from wordtide.corpus.tokens.eight_characters import digits_ahead, letters_ahead, lowered, number_ahead
from wordtide.corpus.tokens.lexicon import (
    HASH_START,
    LONGEST_WORD,
    TOTAL,
    LexiconState,
    find_or_add,
    hash_bytes,
    hash_step,
    mixed,
    prefix_of,
    words_that_fit,
)
from wordtide.corpus.tokens.scanner import KEEP, MASK, UNNAMED
from wordtide.corpus.tokens.unicode import (
    APOSTROPHE,
    CASED,
    DIGIT,
    HYPHEN,
    IGNORED,
    LOWER,
    TABLE_SIZE,
    decode,
    encode,
    kind_of_code,
)
from wordtide.types import Bytes, Integers

LONGEST_NGRAM: Final = 5

# How reading ended.
DONE: Final = 0
LEXICON_FULL: Final = 1
WRONG_FIELDS: Final = 2
BAD_NUMBER: Final = 3
TOO_MANY_WORDS: Final = 4

_MOST_DIGITS: Final = 15  # of a number

# What a token holds.
_LETTER: Final = 1
_DIGIT: Final = 2
_UNDERSCORE: Final = 4
_BEYOND_ASCII: Final = 8


@kernel
def _is_in(words: LexiconState, word: Bytes) -> bool:
    prefix, code = prefix_of(word, word.size), hash_bytes(word, word.size)
    return (
        find_or_add(words.slots, words.entries, words.arena, words.size, word, word.size, prefix, code, False)
        >= 0
    )


@kernel
def _is_tagged(data: Bytes, start: int, stop: int, tags: LexiconState, placeholders: LexiconState) -> bool:
    """Whether a token is word_TAG, or _TAG_, _START_, _END_, _ROOT_."""
    underscore = -1
    for position in range(start, stop):
        if data[position] == 0x5F:
            underscore = position
    if underscore < 0:
        return False
    if underscore == stop - 1:
        if stop - start < 3 or data[start] != 0x5F:
            return False
        return _is_in(placeholders, data[start + 1 : stop - 1])
    return underscore > start and _is_in(tags, data[underscore + 1 : stop])


@kernel
def _number(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Parse a whole number; returns it, or -1 if it is missing or too long, and the byte after it."""
    value = 0
    start = at
    while at < end and data[at] >= 0x30 and data[at] <= 0x39:
        value = value * 10 + integer(data[at]) - 0x30
        at += 1
    return (value if at > start and at - start <= _MOST_DIGITS else -1), at


@leaf
def _plain_numbers(data: Bytes, at: int) -> tuple[int, int, int, int]:
    """Read a year of four digits, matches and volumes of up to seven.

    Returns the year, the matches, the separator and the byte after the volumes; -1 for the last if these are
    any other numbers, good or bad, which the general code reads.
    """
    if at + 21 > data.size:
        return 0, 0, 0, -1
    year, count = eight_bytes(data, at), eight_bytes(data, at + 5)
    separator, length = integer(data[at + 4]), digits_ahead(count)
    field = at + length + 6
    volumes = digits_ahead(eight_bytes(data, field))
    is_plain = digits_ahead(year) == 4 and 0 < length < 8 and 0 < volumes < 8
    if not is_plain or data[field - 1] != separator or (separator != 0x09 and separator != 0x2C):
        return 0, 0, 0, -1
    return number_ahead(year, 4), number_ahead(count, length), separator, field + volumes


@leaf
def _is_same(data: Bytes, one: int, other: int, length: int) -> bool:
    """Compare two stretches of bytes, eight at a time; False near the end of the data. `one` is the later."""
    if one + max(length, 8) > data.size:
        return False
    if length < 8:
        unequal = eight_bytes(data, one) ^ eight_bytes(data, other)
        return unequal << np.uint64(64 - 8 * length) == 0 if length > 0 else True
    unequal = eight_bytes(data, one + length - 8) ^ eight_bytes(data, other + length - 8)
    for position in range(0, length - 8, 8):
        unequal |= eight_bytes(data, one + position) ^ eight_bytes(data, other + position)
    return bool(unequal == 0)


@kernel
def _ascii_tables(kind: Bytes, lower: npt.NDArray[np.int32]) -> tuple[Bytes, Integers]:
    """For each byte its lower-case form and the traits of a token that holds it."""
    fold = np.zeros(256, dtype=np.uint8)
    traits = np.full(256, _BEYOND_ASCII)
    for byte in range(0x80):
        fold[byte] = lower[byte]
        letter = kind[byte] == LOWER or kind[byte] == CASED
        traits[byte] = (
            _LETTER if letter else _DIGIT if kind[byte] == DIGIT else _UNDERSCORE if byte == 0x5F else 0
        )
    return fold, traits


@kernel
def _fold_token(
    data: Bytes,
    start: int,
    stop: int,
    kind: Bytes,
    lower: npt.NDArray[np.int32],
    word: Bytes,
) -> tuple[int, int]:
    """Write the lower-case form of a token in any script to `word`; returns its length and traits."""
    length = 0
    seen = 0
    while start < stop:
        code_point, width = decode(data, start)
        character_kind = kind_of_code(code_point, kind)
        if character_kind == LOWER or character_kind == CASED:
            seen |= _LETTER
        elif character_kind == DIGIT:
            seen |= _DIGIT
        if character_kind == APOSTROPHE:
            code_point = 0x27
        elif character_kind == HYPHEN:
            code_point = 0x2D
        elif code_point < TABLE_SIZE:
            code_point = integer(lower[code_point])
        if character_kind != IGNORED and length <= LONGEST_WORD:
            length = encode(code_point, word, length)
        start += width
    return length, seen


@kernel
def scan_ngrams(
    data: Bytes,
    kind: Bytes,
    lower: npt.NDArray[np.int32],
    lexicon: LexiconState,
    tags: LexiconState,
    placeholders: LexiconState,
    may_add: bool,
    numbers: int,
    first_year: int,
    last_year: int,
    ids: npt.NDArray[np.int32],
    sizes: Bytes,
    ends: Integers,
    years: npt.NDArray[np.int16],
    matches: Integers,
    cursor: Integers,
) -> int:
    """Read lines from `cursor[0]` on; returns how reading ended.

    The cursor also holds the numbers of grams, years and dropped lines so far, and the place and length of
    the last n-gram: the many lines of one n-gram in version 2 are one gram.
    """
    slots, entries, arena, size = lexicon
    most_words = words_that_fit(lexicon) - LONGEST_NGRAM
    word = np.empty(LONGEST_WORD + 8, dtype=np.uint8)
    fold, traits = _ascii_tables(kind, lower)
    # Where each word of the last n-gram starts in it, and how many words come before the last and any tag.
    starts = np.zeros(LONGEST_NGRAM + 1, dtype=np.int64)
    known = 0
    at, grams, listed, dropped, last_start, last_length = cursor
    while at < data.size:
        cursor[0], cursor[1], cursor[2], cursor[3] = at, grams, listed, dropped
        cursor[4], cursor[5] = last_start, last_length
        if size[0] >= most_words:
            return LEXICON_FULL
        if data[at] == 0x0A:  # a blank line
            at += 1
            continue

        # In version 2, most lines have the n-gram of the line before.
        tab = at + last_length
        same = last_length > 0 and _is_same(data, at, last_start, last_length + 1)
        tagged = same and sizes[grams - 1] == 0  # how a dropped n-gram is marked
        new_size = 0
        if not same:
            # Tables are sorted, so that most n-grams begin with words of the one before.
            tab = at
            while new_size < known:
                length = starts[new_size + 1] - starts[new_size]
                if not _is_same(data, tab, last_start + starts[new_size], length):
                    break
                ids[grams, new_size] = ids[grams - 1, new_size]
                new_size += 1
                tab += length
            known = new_size
            while True:
                if new_size == LONGEST_NGRAM:
                    return TOO_MANY_WORDS
                start = tab
                length = 0
                seen = 0
                prefix = np.uint64(0)
                if start + 8 <= data.size:
                    characters = eight_bytes(data, start)
                    letters = letters_ahead(characters)
                    if 0 < letters < 8 and (data[start + letters] == 0x20 or data[start + letters] == 0x09):
                        length, seen, tab = letters, _LETTER, start + letters
                        prefix = lowered(characters, length)
                if length == 0:
                    while tab < data.size and data[tab] != 0x20 and data[tab] != 0x09 and data[tab] != 0x0A:
                        seen |= traits[data[tab]]
                        if length < LONGEST_WORD:
                            word[length] = fold[data[tab]]
                            if length < 8:
                                prefix |= np.uint64(word[length]) << np.uint64(8 * length)
                        length += 1
                        tab += 1
                if seen & _UNDERSCORE and _is_tagged(data, start, tab, tags, placeholders):
                    tagged = True
                if seen & _BEYOND_ASCII:
                    length, seen = _fold_token(data, start, tab, kind, lower, word)
                    prefix = prefix_of(word, length)
                number = integer(UNNAMED)
                if not seen & _LETTER:
                    if seen & _DIGIT and numbers == MASK:
                        number = 0
                    if not seen & _DIGIT or numbers != KEEP:
                        length = 0
                if length > 0 and length <= LONGEST_WORD and not tagged:
                    code = hash_bytes(word, length) if length > 8 else mixed(hash_step(HASH_START, prefix))
                    number = find_or_add(slots, entries, arena, size, word, length, prefix, code, may_add)
                    if number < 0:
                        number = integer(UNNAMED)
                ids[grams, new_size] = number
                new_size += 1
                if tab >= data.size or data[tab] != 0x20:
                    break
                tab += 1
                if not tagged:
                    known = new_size
                    starts[known] = tab - at
            if tab >= data.size or data[tab] == 0x0A or tab == at:
                return WRONG_FIELDS

        # The years: "year TAB matches TAB volumes", or "year,matches,volumes" once or more.
        added = listed
        field = tab
        while field < data.size and data[field] == 0x09:
            year, count, separator, after = _plain_numbers(data, field + 1)
            if after >= 0:
                field = after
            else:
                year, field = _number(data, field + 1, data.size)
                separator = integer(data[field]) if field < data.size else 0
                if separator != 0x2C and separator != 0x09:
                    return BAD_NUMBER if year < 0 else WRONG_FIELDS
                count, field = _number(data, field + 1, data.size)
                if year < 0 or count < 0:
                    return BAD_NUMBER
                if field >= data.size or data[field] != separator:
                    return WRONG_FIELDS
                volumes, field = _number(data, field + 1, data.size)
                if volumes < 0:
                    return BAD_NUMBER
            if year >= first_year and year <= last_year and count > 0 and not tagged:
                years[added] = year
                matches[added] = count
                added += 1
            if separator == 0x09:
                break
        if field < data.size and data[field] == 0x0D:
            field += 1
        if field < data.size and data[field] != 0x0A:
            return WRONG_FIELDS
        if tagged:
            dropped += 1
        if not same:
            last_start, last_length = at, tab - at
            sizes[grams] = 0 if tagged else new_size
            grams += 1
        at = field + 1
        # Version 2 has a line for each year: read the plain ones of the same n-gram in a tight loop.
        while _is_same(data, at, last_start, last_length + 1):
            year, count, separator, after = _plain_numbers(data, at + last_length + 1)
            if separator != 0x09 or data[after] != 0x0A:
                break
            if tagged:
                dropped += 1
            elif year >= first_year and year <= last_year and count > 0:
                years[added] = year
                matches[added] = count
                added += 1
            at = after + 1
        listed = added
        ends[grams - 1] = listed
    cursor[0], cursor[1], cursor[2], cursor[3] = at, grams, listed, dropped
    cursor[4], cursor[5] = last_start, last_length
    return DONE


@kernel
def add_totals(
    ids: npt.NDArray[np.int32],
    sizes: Bytes,
    ends: Integers,
    matches: Integers,
    entries: Integers,
) -> None:
    """Add the matches of each n-gram to the totals of its words in the lexicon's `entries`."""
    for gram in range(sizes.size):
        total = 0
        for entry in range(ends[gram - 1] if gram > 0 else 0, ends[gram]):
            total += matches[entry]
        for place in range(sizes[gram]):
            if ids[gram, place] >= 0:
                entries[ids[gram, place], TOTAL] += total
