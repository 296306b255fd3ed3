"""Google Books n-gram tables, version 2 (one line per n-gram and year) and 3 (one line per n-gram), told apart line by line.

An n-gram with a part-of-speech tag or a placeholder is a second record of text that its untagged twin records already, so it
is dropped. Words are lower-cased; a token without a letter keeps its place but cannot be in the vocabulary.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.corpus.characters import APOSTROPHE, CASED, DIGIT, HYPHEN, IGNORED, LOWER, TABLE_SIZE, character_tables
from wordtide.corpus.documents import BadRows
from wordtide.corpus.encoding import inspect_texts
from wordtide.corpus.lexicon import (
    HASH_START,
    LONGEST_WORD,
    TOTAL,
    Lexicon,
    LexiconState,
    find_or_add,
    hash_bytes,
    hash_step,
    mixed,
    prefix_of,
    words_that_fit,
)
from wordtide.corpus.scanning import KEEP, MASK, SKIP, UNNAMED
from wordtide.corpus.tokens import MASKS, TokenRule
from wordtide.corpus.utf8 import decode, encode, kind_of
from wordtide.kernels import integer, kernel

LONGEST_NGRAM: Final = 5
_TAGS: Final = ("NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "X", ".")
_PLACEHOLDERS: Final = ("START", "END", "ROOT")

# What a token holds.
_LETTER: Final = 1
_DIGIT: Final = 2
_UNDERSCORE: Final = 4
_BEYOND_ASCII: Final = 8

_DONE: Final = 0
_LEXICON_FULL: Final = 1
_WRONG_FIELDS: Final = 2
_BAD_NUMBER: Final = 3
_TOO_MANY_WORDS: Final = 4
_PROBLEMS: Final = {
    _WRONG_FIELDS: ("wrong number of fields", "the line does not have the fields of an n-gram table."),
    _BAD_NUMBER: ("number not understood", "a year or a count is not a whole number."),
    _TOO_MANY_WORDS: ("more than 5 words", "the n-gram has more than 5 words."),
}
_REMEDY: Final = (
    "A line is: n-gram, tab, year, tab, matches, tab, volumes (version 2), or n-gram, then tab and year,matches,volumes "
    "for each year (version 3)."
)


@dataclass(frozen=True)
class NgramBatch:
    """N-grams of a block: gram g has the words `ids[g, :sizes[g]]`, the years `years[ends[g - 1]:ends[g]]` and `matches`."""

    ids: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    years: npt.NDArray[np.int16]
    matches: npt.NDArray[np.int64]
    dropped: int  # lines whose n-gram holds a tag or a placeholder


class NgramScanner:
    """Reads one block of lines after another with one lexicon. Not shared between threads."""

    def __init__(self, rule: TokenRule, years: tuple[int, int], vocabulary: Iterable[str] | None = None) -> None:
        self.lexicon = Lexicon([*MASKS, *(vocabulary or ())], frozen=vocabulary is not None)
        self._years = years
        self._numbers = {"skip": SKIP, "keep": KEEP, "mask": MASK}[rule.numbers]
        self._tables = character_tables(rule.hyphens == "keep")
        self._tags = Lexicon(_TAGS)
        self._placeholders = Lexicon([*_TAGS, *_PLACEHOLDERS])

    def scan(self, block: bytes, first_line: int, path: str, bad: BadRows) -> NgramBatch:
        """The n-grams of a block of whole lines."""
        block = _valid_text(block, first_line, path, bad)
        data = np.frombuffer(block, dtype=np.uint8)
        # A gram needs at least "a\t1,1,1" and a newline, and a year of a known gram "\t1,1,1" in version 3.
        grams, entries = len(data) // 6 + 2, len(data) // 6 + 2
        ids = np.empty((grams, LONGEST_NGRAM), dtype=np.int32)
        sizes = np.empty(grams, dtype=np.uint8)
        ends = np.empty(grams, dtype=np.int64)
        years = np.empty(entries, dtype=np.int16)
        matches = np.empty(entries, dtype=np.int64)
        cursor = np.zeros(6, dtype=np.int64)
        while True:
            status = scan_ngrams(
                data, self._tables.kind, self._tables.lower, self.lexicon.state, self._tags.state,
                self._placeholders.state, not self.lexicon.frozen, self._numbers, self._years[0], self._years[1],
                ids, sizes, ends, years, matches, cursor,
            )  # fmt: skip
            if status == _DONE:
                break
            if status == _LEXICON_FULL:
                self.lexicon.make_room()
                continue
            reason, detail = _PROBLEMS[status]
            start = int(cursor[0])
            line = first_line + block.count(b"\n", 0, start)
            bad.report(f"{path}, line {line}", reason, detail, _REMEDY)
            after = block.find(b"\n", start)
            cursor[0] = len(block) if after < 0 else after + 1
        grams, entries = int(cursor[1]), int(cursor[2])
        return NgramBatch(
            ids[:grams].copy(), sizes[:grams].copy(), ends[:grams].copy(), years[:entries].copy(),
            matches[:entries].copy(), int(cursor[3]),
        )  # fmt: skip


def _valid_text(block: bytes, first_line: int, path: str, bad: BadRows) -> bytes:
    """The block in composed form (NFC) and without the lines that are not UTF-8, which are reported."""
    if block.isascii():
        return block
    unstable = character_tables(True).unstable
    verdict = inspect_texts(np.frombuffer(block, dtype=np.uint8), np.array([0, len(block)]), unstable)[0]
    if verdict == 2:
        good = []
        for number, line in enumerate(block.split(b"\n"), first_line):
            try:
                line.decode("utf-8")
                good.append(line)
            except UnicodeDecodeError as error:
                detail = f"byte {error.start + 1} is not valid UTF-8."
                bad.report(f"{path}, line {number}", "not UTF-8", detail, "Fetch the file again.")
        return _valid_text(b"\n".join(good), first_line, path, bad)
    return unicodedata.normalize("NFC", block.decode("utf-8")).encode("utf-8") if verdict == 1 else block


@kernel
def _number(data: npt.NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """A whole number and the byte after it; -1 if there is none or it is absurd."""
    value = 0
    start = at
    while at < end and data[at] >= 0x30 and data[at] <= 0x39:
        value = value * 10 + integer(data[at]) - 0x30
        at += 1
    return (value if at > start and at - start <= 15 else -1), at


@kernel
def _is_in(words: LexiconState, word: npt.NDArray[np.uint8]) -> bool:
    prefix, code = prefix_of(word, word.size), hash_bytes(word, word.size)
    return find_or_add(words.slots, words.entries, words.arena, words.size, word, word.size, prefix, code, False) >= 0


@kernel
def _is_tagged(data: npt.NDArray[np.uint8], start: int, stop: int, tags: LexiconState, placeholders: LexiconState) -> bool:
    """Is this token word_TAG, or _TAG_, _START_, _END_, _ROOT_?"""
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
def _ascii_tables(
    kind: npt.NDArray[np.uint8], lower: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """For each byte its lower-case form, and what it tells of a token that holds it."""
    fold = np.zeros(256, dtype=np.uint8)
    traits = np.full(256, _BEYOND_ASCII)
    for byte in range(0x80):
        fold[byte] = lower[byte]
        letter = kind[byte] == LOWER or kind[byte] == CASED
        traits[byte] = _LETTER if letter else _DIGIT if kind[byte] == DIGIT else _UNDERSCORE if byte == 0x5F else 0
    return fold, traits


@kernel
def _fold_token(
    data: npt.NDArray[np.uint8],
    start: int,
    stop: int,
    kind: npt.NDArray[np.uint8],
    lower: npt.NDArray[np.int32],
    word: npt.NDArray[np.uint8],
) -> tuple[int, int]:
    """The lower-case form of a token in any script: its length in `word`, and its traits."""
    length = 0
    seen = 0
    while start < stop:
        code_point, width = decode(data, start)
        character_kind = kind_of(code_point, kind)
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
    data: npt.NDArray[np.uint8],
    kind: npt.NDArray[np.uint8],
    lower: npt.NDArray[np.int32],
    lexicon: LexiconState,
    tags: LexiconState,
    placeholders: LexiconState,
    may_add: bool,
    numbers: int,
    first_year: int,
    last_year: int,
    ids: npt.NDArray[np.int32],
    sizes: npt.NDArray[np.uint8],
    ends: npt.NDArray[np.int64],
    years: npt.NDArray[np.int16],
    matches: npt.NDArray[np.int64],
    cursor: npt.NDArray[np.int64],
) -> int:
    """Read lines from `cursor[0]` on; the cursor also holds the numbers of grams, years and dropped lines so far, and the
    place of the last n-gram, so that the many lines of one n-gram in version 2 are one gram.
    """
    slots, entries, arena, size = lexicon
    most_words = words_that_fit(lexicon) - LONGEST_NGRAM
    word = np.empty(LONGEST_WORD + 8, dtype=np.uint8)
    fold, traits = _ascii_tables(kind, lower)
    at, grams, listed, dropped, last_start, last_length = cursor
    while at < data.size:
        cursor[0], cursor[1], cursor[2], cursor[3], cursor[4], cursor[5] = at, grams, listed, dropped, last_start, last_length
        if size[0] >= most_words:
            return _LEXICON_FULL
        if data[at] == 0x0A:  # a blank line
            at += 1
            continue

        # Is it the n-gram of the line before? In version 2 it mostly is.
        position = 0
        while position < last_length and at + position < data.size and data[at + position] == data[last_start + position]:
            position += 1
        same = last_length > 0 and position == last_length and at + position < data.size and data[at + position] == 0x09
        tagged = False
        new_size = 0
        tab = at + last_length
        if same:
            tagged = sizes[grams - 1] == 0  # how a dropped n-gram is marked
        else:
            tab = at
            while True:
                if new_size == LONGEST_NGRAM:
                    return _TOO_MANY_WORDS
                start = tab
                length = 0
                seen = 0
                prefix = np.uint64(0)
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
            if tab >= data.size or data[tab] == 0x0A or tab == at:
                return _WRONG_FIELDS

        # The years: "year TAB matches TAB volumes", or "year,matches,volumes" once or more.
        added = listed
        total = 0
        field = tab
        while field < data.size and data[field] == 0x09:
            year, field = _number(data, field + 1, data.size)
            separator = data[field] if field < data.size else np.uint8(0)
            if separator != 0x2C and separator != 0x09:
                return _BAD_NUMBER if year < 0 else _WRONG_FIELDS
            count, field = _number(data, field + 1, data.size)
            if year < 0 or count < 0:
                return _BAD_NUMBER
            if field >= data.size or data[field] != separator:
                return _WRONG_FIELDS
            volumes, field = _number(data, field + 1, data.size)
            if volumes < 0:
                return _BAD_NUMBER
            if year >= first_year and year <= last_year and count > 0 and not tagged:
                years[added] = year
                matches[added] = count
                total += count
                added += 1
            if separator == 0x09:
                break
        if field < data.size and data[field] == 0x0D:
            field += 1
        if field < data.size and data[field] != 0x0A:
            return _WRONG_FIELDS
        if tagged:
            dropped += 1
        if not same:
            last_start, last_length = at, tab - at
            sizes[grams] = 0 if tagged else new_size
            grams += 1
        for place in range(sizes[grams - 1]):
            if ids[grams - 1, place] >= 0:
                entries[ids[grams - 1, place], TOTAL] += total
        listed = added
        ends[grams - 1] = listed
        at = field + 1
    cursor[0], cursor[1], cursor[2], cursor[3], cursor[4], cursor[5] = at, grams, listed, dropped, last_start, last_length
    return _DONE
