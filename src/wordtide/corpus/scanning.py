"""The compiled token rule: UTF-8 bytes in, word numbers out, at some 20 million words a second.

`docs/tokens.md` states the rule in words; `tests/oracles/tokens.py` is its slow, obvious twin. A stream of numbers
holds one entry per place in the text: a word's number in the lexicon, `UNNAMED` for something that keeps its place
but can never be in the vocabulary (a skipped number, debris), `BREAK` where a sentence or a document ends.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.corpus.characters import (
    APOSTROPHE,
    AT,
    CASED,
    CLOSER,
    COMMA,
    DIGIT,
    EXCLAMATION,
    HYPHEN,
    IGNORED,
    JOINER,
    LOWER,
    MARK,
    NEWLINE,
    OTHER,
    PERIOD,
    SPACE,
    STOP,
    TABLE_SIZE,
)
from wordtide.corpus.lexicon import (
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
from wordtide.kernels import integer, kernel

BREAK: Final = -1
UNNAMED: Final = -2

SKIP: Final = 0
KEEP: Final = 1
MASK: Final = 2

_WWW: Final = np.uint64(0x777777)  # "www", which may begin a URL
_CAPITAL_SIGMA: Final = 0x3A3
_CAPITAL_I_WITH_DOT: Final = 0x130


class ScanRules(NamedTuple):
    """Numbers the kernel needs: what to do with numbers, URLs and user names, and where reserved words lie.

    The lexicon's first three words are the masks; those below `abbreviations_end` after them are abbreviations, whose
    full stop ends no sentence.
    """

    numbers: int
    urls: int
    user_names: int
    abbreviations_end: int


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
def _kind_at(data: npt.NDArray[np.uint8], at: int, end: int, kind: npt.NDArray[np.uint8]) -> int:
    if at >= end:
        return OTHER
    if data[at] < 0x80:
        return integer(kind[data[at]])
    code, _ = decode(data, at)
    return kind_of(code, kind)


@kernel
def _is_wordlike(character_kind: int) -> bool:
    return character_kind == LOWER or character_kind == CASED or character_kind == DIGIT


@kernel
def _url_length(data: npt.NDArray[np.uint8], at: int, end: int, kind: npt.NDArray[np.uint8]) -> int:
    """Bytes of the URL that starts here (http://, https://, www.), up to the next white space; 0 if there is none."""
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
            if colon + 2 < end and data[colon] == 0x3A and data[colon + 1] == 0x2F and data[colon + 2] == 0x2F:
                prefix = colon + 3 - at
    if prefix == 0:
        return 0
    stop = at + prefix
    while stop < end:
        character_kind = _kind_at(data, stop, end, kind)
        if character_kind == SPACE or character_kind == NEWLINE:
            break
        stop += 1 if data[stop] < 0x80 else decode(data, stop)[1]
    return stop - at


@kernel
def _user_name_length(data: npt.NDArray[np.uint8], at: int, end: int) -> int:
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
def _copy_lowered(data: npt.NDArray[np.uint8], at: int, length: int, word: npt.NDArray[np.uint8]) -> int:
    """Copy bytes with ASCII capitals lowered; the length, or LONGEST_WORD + 1 if they are too many."""
    if length > LONGEST_WORD:
        return LONGEST_WORD + 1
    for position in range(length):
        byte = data[at + position]
        word[position] = byte | 0x20 if byte >= 0x41 and byte <= 0x5A else byte
    return length


@kernel
def _ends_sentence(
    data: npt.NDArray[np.uint8], at: int, end: int, kind: npt.NDArray[np.uint8], after_abbreviation: bool
) -> bool:
    """Does the . ! or ? at this byte end a sentence? It must be followed, closing marks aside, by white space."""
    only_periods = True
    stop = at
    while stop < end:
        character_kind = _kind_at(data, stop, end, kind)
        if character_kind == EXCLAMATION or character_kind == STOP:
            only_periods = False
        elif character_kind != PERIOD and character_kind != CLOSER and character_kind != APOSTROPHE:
            break
        stop += decode(data, stop)[1]
    if stop >= end:
        return True
    character_kind = _kind_at(data, stop, end, kind)
    if character_kind != SPACE and character_kind != NEWLINE:
        return False
    if not only_periods:
        return True
    if after_abbreviation:
        return False
    while stop < end and (character_kind == SPACE or character_kind == NEWLINE):
        stop += decode(data, stop)[1]
        character_kind = _kind_at(data, stop, end, kind)
    return character_kind != LOWER


@kernel
def _scan_word(
    data: npt.NDArray[np.uint8],
    at: int,
    end: int,
    kind: npt.NDArray[np.uint8],
    lower: npt.NDArray[np.int32],
    word: npt.NDArray[np.uint8],
) -> tuple[int, int, bool, bool]:
    """One word in full generality: letters, marks and digits of any script, with what may join two of them.

    Returns the byte after it, the length of its lower-case form in `word` (more than LONGEST_WORD: too long), whether it holds
    a letter, and whether it is short: an initial or an acronym, whose period ends no sentence.
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
        character_kind = kind_of(code_point, kind)
        added = integer(-1)
        if character_kind == LOWER or character_kind == CASED:
            added = integer(lower[code_point]) if code_point < TABLE_SIZE else code_point
            if code_point == _CAPITAL_SIGMA:
                following = _kind_at(data, at + 2, end, kind)
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
            if not _is_wordlike(_kind_at(data, at + width, end, kind)):
                break
            added = 0x27 if character_kind == APOSTROPHE else 0x2D if character_kind == HYPHEN else code_point
            piece = 0
            single_letters = False
        elif character_kind == PERIOD or character_kind == COMMA:
            following = _kind_at(data, at + 1, end, kind)
            if not has_letter:  # 3.5 and 1,000 are one number each
                if following != DIGIT:
                    break
            else:
                if character_kind == COMMA or not single_letters or (following != LOWER and following != CASED):
                    break
                beyond = _kind_at(data, at + 1 + decode(data, at + 1)[1], end, kind)
                if _is_wordlike(beyond) or beyond == MARK:
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


@kernel
def _fold_further(
    data: npt.NDArray[np.uint8],
    at: int,
    end: int,
    fold: npt.NDArray[np.uint8],
    word: npt.NDArray[np.uint8],
    code: np.uint64,
) -> tuple[int, np.uint64]:
    """The ninth and further letters of a word of ASCII letters: its length and, all but mixed, its hash (see `hash_bytes`)."""
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


#: Places of `scan_texts`'s cursor: where it stands, so that it can stop to have the lexicon enlarged and go on.
CURSOR_SIZE: Final = 8


@kernel
def scan_texts(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    kind: npt.NDArray[np.uint8],
    lower: npt.NDArray[np.int32],
    lexicon: LexiconState,
    may_add: bool,
    rules: ScanRules,
    ids: npt.NDArray[np.int32],
    sentences: npt.NDArray[np.int64],
    document_ids: npt.NDArray[np.int64],
    document_sentences: npt.NDArray[np.int64],
    cursor: npt.NDArray[np.int64],
) -> bool:
    """Number the words of documents `data[offsets[n]:offsets[n + 1]]`; False if the lexicon must grow first (then call again).

    Writes `ids` (room for bytes + documents), the byte span of each sentence to `sentences` (rows of 2, one per BREAK), and
    per document the running ends of both.
    """
    slots, entries, arena, size = lexicon
    word = np.empty(LONGEST_WORD + 8, dtype=np.uint8)
    fold = np.zeros(256, dtype=np.uint8)  # ASCII letters, lowered
    shortest = np.full(256, LONGEST_WORD + 1, dtype=np.int64)  # a word of this many letters surely ends before this byte
    for byte in range(0x80):
        if kind[byte] == LOWER or kind[byte] == CASED:
            fold[byte] = byte | 0x20
        elif kind[byte] == PERIOD:
            shortest[byte] = 2
        elif kind[byte] != DIGIT and kind[byte] != APOSTROPHE and kind[byte] != HYPHEN and byte != 0x3A:  # http:
            shortest[byte] = 1
    most_words = words_that_fit(lexicon)
    document, at, filled, sentence, last_break, sentence_start, token_end = cursor[:7]
    token_is_short = cursor[7] != 0
    while document < offsets.size - 1:
        end = offsets[document + 1]
        while at < end:
            # Nearly all words are ASCII letters with something plain behind them: those are taken in this tight loop, which
            # leaves everything else, from the first letter of the word on, to the general rule below.
            while at < end and size[0] < most_words:
                folded = fold[data[at]]
                if folded == 0:
                    if data[at] != 0x20:
                        break
                    at += 1
                    continue
                prefix = np.uint64(0)
                length = 0
                while folded != 0 and length < 8:
                    word[length] = folded
                    prefix |= np.uint64(folded) << np.uint64(8 * length)
                    length += 1
                    folded = fold[data[at + length]] if at + length < end else np.uint8(0)
                code = hash_step(HASH_START, prefix)
                if folded != 0:
                    length, code = _fold_further(data, at, end, fold, word, code)
                if at + length < end and (length < shortest[data[at + length]] or prefix == _WWW):
                    break
                number = find_or_add(slots, entries, arena, size, word, length, prefix, mixed(code), may_add)
                if filled == last_break:
                    sentence_start = at
                if number >= 0:
                    entries[number, TOTAL] += 1
                    ids[filled] = number
                    token_is_short = (length == 1 and word[0] != 0x69) or number < rules.abbreviations_end
                else:
                    ids[filled] = UNNAMED
                    token_is_short = length == 1 and word[0] != 0x69
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
            character_kind = kind_of(code_point, kind)

            token = 0  # bytes of the token that starts here
            length = 0  # of the word to be looked up
            number = integer(UNNAMED)
            if character_kind == LOWER or character_kind == CASED or character_kind == DIGIT:
                if code_point | 0x20 == 0x68 or code_point | 0x20 == 0x77:  # h, w
                    token = _url_length(data, at, end, kind)
                if token > 0:
                    token_is_short = False
                    if rules.urls == MASK:
                        number = 1
                    elif rules.urls == KEEP:
                        length = _copy_lowered(data, at, token, word)
                else:
                    stop, length, has_letter, token_is_short = _scan_word(data, at, end, kind, lower, word)
                    token = stop - at
                    if not has_letter:
                        if rules.numbers == MASK:
                            number = 0
                        if rules.numbers != KEEP:
                            length = 0
            elif character_kind == AT and token_end != at:
                token = _user_name_length(data, at, end)
                if token > 0:
                    token_is_short = False
                    if rules.user_names == MASK:
                        number = 2
                    elif rules.user_names == KEEP:
                        length = _copy_lowered(data, at, token, word)

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
                            following = _kind_at(data, at, end, kind)
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
                    following = _kind_at(data, stop, end, kind)
                    while following == SPACE:
                        stop += decode(data, stop)[1]
                        following = _kind_at(data, stop, end, kind)
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
