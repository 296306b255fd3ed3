"""The compiled token rule: UTF-8 bytes in, word numbers out, at some 20 million words a second.

`docs/count.md` states the rule in words; `tests/oracles/tokens.py` is its slow, obvious twin. A stream of
numbers holds one entry per place in the text: a word's number in the lexicon, `UNNAMED` for something that
keeps its place but can never be in the vocabulary (a skipped number, debris), `BREAK` where a sentence or a
document ends.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import integer, kernel
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
from wordtide.corpus.tokens.unicode import (
    APOSTROPHE,
    AT,
    CASED,
    CLOSER,
    DIGIT,
    EXCLAMATION,
    HYPHEN,
    LOWER,
    NEWLINE,
    PERIOD,
    SPACE,
    STOP,
    decode,
    kind_at,
    kind_of_code,
)
from wordtide.corpus.tokens.words import copy_lowered, scan_word, url_length, user_name_length
from wordtide.types import Bytes, Integers

BREAK: Final = -1
UNNAMED: Final = -2

SKIP: Final = 0
KEEP: Final = 1
MASK: Final = 2

_WWW: Final = np.uint64(0x777777)  # "www", which may begin a URL


class ScanRules(NamedTuple):
    """Numbers the kernel needs: what to do with numbers, URLs and user names, and where reserved words lie.

    The lexicon's first three words are the masks; those below `abbreviations_end` after them are
    abbreviations, whose full stop ends no sentence.
    """

    numbers: int
    urls: int
    user_names: int
    abbreviations_end: int


@kernel
def _ends_sentence(data: Bytes, at: int, end: int, kind: Bytes, after_abbreviation: bool) -> bool:
    """Whether the . ! or ? at this byte ends a sentence: white space must follow, closing marks aside."""
    only_periods = True
    stop = at
    while stop < end:
        character_kind = kind_at(data, stop, end, kind)
        if character_kind == EXCLAMATION or character_kind == STOP:
            only_periods = False
        elif character_kind != PERIOD and character_kind != CLOSER and character_kind != APOSTROPHE:
            break
        stop += decode(data, stop)[1]
    if stop >= end:
        return True
    character_kind = kind_at(data, stop, end, kind)
    if character_kind != SPACE and character_kind != NEWLINE:
        return False
    if not only_periods:
        return True
    if after_abbreviation:
        return False
    while stop < end and (character_kind == SPACE or character_kind == NEWLINE):
        stop += decode(data, stop)[1]
        character_kind = kind_at(data, stop, end, kind)
    return character_kind != LOWER


@kernel
def _fold_further(
    data: Bytes,
    at: int,
    end: int,
    fold: Bytes,
    word: Bytes,
    code: np.uint64,
) -> tuple[int, np.uint64]:
    """Read the ninth and further letters of an ASCII word; returns its length and its hash before `mixed`."""
    chunk = np.uint64(0)
    length = 8
    while at + length < end and fold[data[at + length]] != 0 and length < LONGEST_WORD:
        if length > 8 and length & 7 == 0:
            code = hash_step(code, chunk)
            chunk = np.uint64(0)
        word[length] = fold[data[at + length]]
        chunk |= np.uint64(word[length]) << np.uint64(8 * (length & 7))
        length += 1
    return length, hash_step(code, chunk)


#: The size of the cursor of `number_words`, which can stop to have the lexicon enlarged and then continue.
CURSOR_SIZE: Final = 8


@kernel
def number_words(
    data: Bytes,
    offsets: Integers,
    kind: Bytes,
    lower: npt.NDArray[np.int32],
    lexicon: LexiconState,
    may_add: bool,
    rules: ScanRules,
    ids: npt.NDArray[np.int32],
    sentences: Integers,
    document_ids: Integers,
    document_sentences: Integers,
    cursor: Integers,
) -> bool:
    """Number the words of documents; returns False if the lexicon must grow first (then call again).

    Document n is `data[offsets[n]:offsets[n + 1]]`. Writes `ids` (room for bytes + documents), the byte span
    of each sentence to `sentences` (rows of 2, one per BREAK), and per document the running ends of both.
    """
    # One long function: divided into compiled helpers, it takes from 1.1 to 3 times as long.
    slots, entries, arena, size = lexicon
    word = np.empty(LONGEST_WORD + 8, dtype=np.uint8)
    fold = np.zeros(256, dtype=np.uint8)  # ASCII letters, lowered
    # A word of this many letters surely ends before this byte.
    shortest = np.full(256, LONGEST_WORD + 1, dtype=np.int64)
    for byte in range(0x80):
        if kind[byte] == LOWER or kind[byte] == CASED:
            fold[byte] = byte | 0x20
        elif kind[byte] == PERIOD:
            shortest[byte] = 2
        elif kind[byte] != DIGIT and kind[byte] != APOSTROPHE and kind[byte] != HYPHEN and byte != 0x3A:
            shortest[byte] = 1  # a colon (0x3A) may belong to http:
    most_words = words_that_fit(lexicon)
    document, at, filled, sentence, last_break, sentence_start, token_end = cursor[:7]
    token_is_short = cursor[7] != 0
    while document < offsets.size - 1:
        end = offsets[document + 1]
        while at < end:
            # Most words are ASCII letters followed by a plain character: this tight loop reads those and
            # leaves all others, from their first letter on, to the general rule below.
            while at < end and size[0] < most_words:
                folded = fold[data[at]]
                if folded == 0:
                    if data[at] != 0x20:
                        break
                    at += 1
                    continue
                prefix = np.uint64(folded)
                length = 1
                room = min(8, end - at)
                while length < room:
                    folded = fold[data[at + length]]
                    if folded == 0:
                        break
                    prefix |= np.uint64(folded) << np.uint64(8 * length)
                    length += 1
                code = hash_step(HASH_START, prefix)
                if length == 8 and at + 8 < end and fold[data[at + 8]] != 0:
                    length, code = _fold_further(data, at, end, fold, word, code)
                if at + length < end and (length < shortest[data[at + length]] or prefix == _WWW):
                    break
                number = find_or_add(slots, entries, arena, size, word, length, prefix, mixed(code), may_add)
                if filled == last_break:
                    sentence_start = at
                if number >= 0:
                    entries[number, TOTAL] += 1
                    ids[filled] = number
                    token_is_short = (length == 1 and prefix != 0x69) or number < rules.abbreviations_end
                else:
                    ids[filled] = UNNAMED
                    token_is_short = length == 1 and prefix != 0x69
                filled += 1
                at += length
                token_end = at
            if at >= end:
                break

            if size[0] >= most_words:
                cursor[0], cursor[1], cursor[2], cursor[3] = document, at, filled, sentence
                cursor[4], cursor[5], cursor[6] = last_break, sentence_start, token_end
                cursor[7] = 1 if token_is_short else 0
                return False
            width = 1
            code_point = integer(data[at])
            if code_point >= 0x80:
                code_point, width = decode(data, at)
            character_kind = kind_of_code(code_point, kind)

            token = 0  # bytes of the token that starts here
            length = 0  # of the word to be looked up
            number = integer(UNNAMED)
            if character_kind == LOWER or character_kind == CASED or character_kind == DIGIT:
                if code_point | 0x20 == 0x68 or code_point | 0x20 == 0x77:  # h, w
                    token = url_length(data, at, end, kind)
                if token > 0:
                    token_is_short = False
                    if rules.urls == MASK:
                        number = 1
                    elif rules.urls == KEEP:
                        length = copy_lowered(data, at, token, word)
                else:
                    stop, length, has_letter, token_is_short = scan_word(data, at, end, kind, lower, word)
                    token = stop - at
                    if not has_letter:
                        if rules.numbers == MASK:
                            number = 0
                        if rules.numbers != KEEP:
                            length = 0
            elif character_kind == AT and token_end != at:
                token = user_name_length(data, at, end)
                if token > 0:
                    token_is_short = False
                    if rules.user_names == MASK:
                        number = 2
                    elif rules.user_names == KEEP:
                        length = copy_lowered(data, at, token, word)

            if token > 0:
                if filled == last_break:
                    sentence_start = at
                if length > 0 and length <= LONGEST_WORD:
                    prefix, code = prefix_of(word, length), hash_bytes(word, length)
                    number = find_or_add(slots, entries, arena, size, word, length, prefix, code, may_add)
                if number >= 0:
                    entries[number, TOTAL] += 1
                    if number < rules.abbreviations_end:
                        token_is_short = True
                else:
                    number = integer(UNNAMED)
                ids[filled] = number
                filled += 1
                at += token
                token_end = at
                continue

            sentence_end = integer(-1)
            if filled > last_break:
                if character_kind == PERIOD or character_kind == EXCLAMATION:
                    if _ends_sentence(data, at, end, kind, token_is_short and token_end == at):
                        while at < end:  # the closing marks belong to the sentence
                            following = kind_at(data, at, end, kind)
                            if following == SPACE or following == NEWLINE:
                                break
                            at += decode(data, at)[1]
                        sentence_end = at
                        width = 0
                elif character_kind == STOP:
                    sentence_end = at + width
                elif character_kind == NEWLINE:
                    # A blank line ends a paragraph and so a sentence; a single line break does not.
                    stop = at + width
                    following = kind_at(data, stop, end, kind)
                    while following == SPACE:
                        stop += decode(data, stop)[1]
                        following = kind_at(data, stop, end, kind)
                    if following == NEWLINE:
                        sentence_end = at
                    width = stop - at
            if sentence_end >= 0:
                sentences[sentence, 0] = sentence_start
                sentences[sentence, 1] = sentence_end
                sentence += 1
                ids[filled] = BREAK
                filled += 1
                last_break = filled
            at += width

        if filled > last_break:
            sentences[sentence, 0] = sentence_start
            sentences[sentence, 1] = end
            sentence += 1
            ids[filled] = BREAK
            filled += 1
            last_break = filled
        document_ids[document] = filled
        document_sentences[document] = sentence
        document += 1
        at = end
        token_end = integer(-1)
        token_is_short = False
    return True
