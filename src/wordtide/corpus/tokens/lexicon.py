"""A lexicon numbers the distinct words of a stream in order of first occurrence and counts them.

The words' UTF-8 bytes lie one after the other in an arena; an open-addressing table finds them by hash. The
same arrays are used by the compiled scanners (`LexiconState`) and by Python (`Lexicon`). Most words have at
most eight bytes, which fit into one 64-bit number: such words are hashed, compared and found without a look
at the arena.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import inlined, integer, kernel, leaf
from wordtide.types import Bytes, Integers

#: Longer words (in UTF-8 bytes) are debris: they keep their place in the sentence and get no number.
LONGEST_WORD: Final = 128
#: `with_room` guarantees room for this many words of any length.
SPARE_WORDS: Final = 8
HASH_START: Final = np.uint64(14695981039346656037)
HASH_FACTOR: Final = np.uint64(0xD6E8FEB86659FD93)
_FIRST_SLOTS: Final = 1 << 15
_FIRST_ARENA: Final = 1 << 18
_TAG: Final = np.uint64(0xFFFFFFFF00000000)

# Columns of `LexiconState.entries`.
START: Final = 0
LENGTH: Final = 1
PREFIX: Final = 2
TOTAL: Final = 3


class LexiconState(NamedTuple):
    """Arrays of a lexicon.

    `slots` (2^k): 0 for empty, else upper half of the hash << 32 | number + 1. `entries` (capacity, 4): of
    each word the place of its bytes in `arena`, their number, the first eight of them as a number, and how
    often it occurred, side by side because they are used together. `size` (1): the number of words.
    """

    slots: npt.NDArray[np.uint64]
    entries: Integers
    arena: Bytes
    size: Integers


@kernel
def prefix_of(word: Bytes, length: int) -> np.uint64:
    """The first eight bytes as a number, the first byte lowest."""
    prefix = np.uint64(0)
    for position in range(min(length, 8)):
        prefix |= np.uint64(word[position]) << np.uint64(8 * position)
    return prefix


@kernel
def hash_bytes(word: Bytes, length: int) -> np.uint64:
    """A hash of a word, eight bytes at a time. For words of up to eight bytes it is one to one."""
    code = HASH_START
    chunk = np.uint64(0)
    shift = np.uint64(0)
    for position in range(length):
        if shift == 64:
            code = hash_step(code, chunk)
            chunk, shift = np.uint64(0), np.uint64(0)
        chunk |= np.uint64(word[position]) << shift
        shift += np.uint64(8)
    return mixed(hash_step(code, chunk))


@inlined
def hash_step(code: np.uint64, chunk: np.uint64) -> np.uint64:
    """Update a hash with eight bytes."""
    return (code ^ chunk) * HASH_FACTOR


@inlined
def mixed(code: np.uint64) -> np.uint64:
    """Finish a hash. The table uses low bits and the tag high ones, so all must depend on every byte."""
    code = (code ^ (code >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return code ^ (code >> np.uint64(29))


@kernel
def with_room(state: LexiconState) -> LexiconState:
    """Enlarge the arrays that might not hold `SPARE_WORDS` more words."""
    slots, entries, arena, size = state
    words = size[0]
    used = entries[words - 1, START] + entries[words - 1, LENGTH] if words else 0
    if used + SPARE_WORDS * LONGEST_WORD > arena.size:
        larger = np.empty(2 * arena.size, dtype=np.uint8)
        larger[:used] = arena[:used]
        arena = larger
    if words + SPARE_WORDS >= entries.shape[0]:
        more_entries = np.zeros((2 * entries.shape[0], 4), dtype=np.int64)
        more_entries[:words] = entries[:words]
        entries = more_entries
    if 2 * (words + SPARE_WORDS) >= slots.size:
        mask = np.uint64(2 * slots.size - 1)
        more_slots = np.zeros(2 * slots.size, dtype=np.uint64)
        for word in range(words):
            start, length = entries[word, START], entries[word, LENGTH]
            code = hash_bytes(arena[start : start + length], length)
            slot = code & mask
            while more_slots[slot] != 0:
                slot = (slot + np.uint64(1)) & mask
            more_slots[slot] = (code & _TAG) | np.uint64(word + 1)
        slots = more_slots
    return LexiconState(slots, entries, arena, size)


@kernel
def words_that_fit(state: LexiconState) -> int:
    """The number of words up to which words of any length can be added without `with_room`."""
    words = integer(state.size[0])
    used = state.entries[words - 1, START] + state.entries[words - 1, LENGTH] if words else 0
    by_letters = words + (state.arena.size - used) // LONGEST_WORD
    return integer(min(state.entries.shape[0] - 1, state.slots.size // 2 - 1, by_letters))


@leaf
def find_or_add(
    slots: npt.NDArray[np.uint64],
    entries: Integers,
    arena: Bytes,
    size: Integers,
    word: Bytes,
    length: int,
    prefix: np.uint64,
    code: np.uint64,
    may_add: bool,
) -> int:
    """Return the number of a word, a new one if `may_add`, or -1. The caller has made room (`with_room`).

    The first eight bytes of the word are taken from `prefix`; `word` is looked at from the ninth on.
    """
    mask = np.uint64(slots.size - 1)
    tag = code & _TAG
    first_bytes = np.int64(prefix)
    slot = code & mask
    number = -1
    while True:
        entry = slots[slot]
        if entry == 0:
            break
        if (entry & _TAG) == tag:
            candidate = integer(entry & np.uint64(0xFFFFFFFF)) - 1
            if entries[candidate, LENGTH] == length and entries[candidate, PREFIX] == first_bytes:
                position = 8
                start = entries[candidate, START]
                while position < length and arena[start + position] == word[position]:
                    position += 1
                if position >= length:
                    number = candidate
                    break
        slot = (slot + np.uint64(1)) & mask
    if number < 0 and may_add:
        number = integer(size[0])
        start = entries[number - 1, START] + entries[number - 1, LENGTH] if number else 0
        for position in range(min(length, 8)):
            arena[start + position] = prefix >> np.uint64(8 * position) & np.uint64(0xFF)
        for position in range(8, length):
            arena[start + position] = word[position]
        entries[number, START] = start
        entries[number, LENGTH] = length
        entries[number, PREFIX] = first_bytes
        slots[slot] = tag | np.uint64(number + 1)
        size[0] = number + 1
    return number


@kernel
def _find_all(
    state: LexiconState, letters: Bytes, ends: Integers, may_add: bool
) -> tuple[LexiconState, Integers]:
    numbers = np.empty(ends.size - 1, dtype=np.int64)
    slots, entries, arena, size = state
    most_words = words_that_fit(state) - 1
    for place in range(ends.size - 1):
        if size[0] >= most_words:
            slots, entries, arena, size = with_room(LexiconState(slots, entries, arena, size))
            most_words = words_that_fit(LexiconState(slots, entries, arena, size)) - 1
        word = letters[ends[place] : ends[place + 1]]
        prefix, code = prefix_of(word, word.size), hash_bytes(word, word.size)
        numbers[place] = find_or_add(slots, entries, arena, size, word, word.size, prefix, code, may_add)
    return LexiconState(slots, entries, arena, size), numbers


@kernel
def _absorb(state: LexiconState, other: LexiconState) -> tuple[LexiconState, Integers]:
    """Add the words and totals of another lexicon; returns the enlarged one and the words' new numbers."""
    slots, entries, arena, size = state
    numbers = np.empty(other.size[0], dtype=np.int64)
    most_words = words_that_fit(state) - 1
    for place in range(numbers.size):
        if size[0] >= most_words:
            slots, entries, arena, size = with_room(LexiconState(slots, entries, arena, size))
            most_words = words_that_fit(LexiconState(slots, entries, arena, size)) - 1
        start, length = other.entries[place, START], other.entries[place, LENGTH]
        prefix = np.uint64(other.entries[place, PREFIX])
        word = other.arena[start : start + length]
        code = hash_bytes(word, length) if length > 8 else mixed(hash_step(HASH_START, prefix))
        number = find_or_add(slots, entries, arena, size, word, length, prefix, code, True)
        entries[number, TOTAL] += other.entries[place, TOTAL]
        numbers[place] = number
    return LexiconState(slots, entries, arena, size), numbers


class Lexicon:
    """Words, their numbers and their totals. A frozen lexicon (a fixed vocabulary) admits no new words."""

    def __init__(self, words: Iterable[str] = (), frozen: bool = False) -> None:
        self.frozen = frozen
        self.state = LexiconState(
            slots=np.zeros(_FIRST_SLOTS, dtype=np.uint64),
            entries=np.zeros((_FIRST_SLOTS // 2, 4), dtype=np.int64),
            arena=np.zeros(_FIRST_ARENA, dtype=np.uint8),
            size=np.zeros(1, dtype=np.int64),
        )
        self.add(list(words))

    @staticmethod
    def restored(letters: Bytes, lengths: Integers, totals: Integers) -> "Lexicon":
        """Restore a lexicon from what `word_bytes` returned."""
        lexicon = Lexicon()
        lexicon._numbers(letters, np.concatenate([[0], np.cumsum(lengths)]), may_add=True)
        lexicon.totals[:] = totals
        return lexicon

    def word_bytes(self) -> tuple[Bytes, Integers, Integers]:
        """The concatenated bytes of all words, their lengths, and the totals."""
        lengths = self.state.entries[: len(self), LENGTH]
        return self.state.arena[: int(lengths.sum())], lengths, self.totals

    def __len__(self) -> int:
        return int(self.state.size[0])

    @property
    def totals(self) -> Integers:
        """Occurrences of each word, in the order of the numbers."""
        return self.state.entries[: len(self), TOTAL]

    def add(self, words: Sequence[str]) -> Integers:
        """Return the numbers of words, adding new words."""
        return self._numbers(*_laid_out(words), may_add=True)

    def find(self, words: Sequence[str]) -> Integers:
        """Return the numbers of words, -1 for unknown ones."""
        return self._numbers(*_laid_out(words), may_add=False)

    def absorb(self, other: "Lexicon") -> Integers:
        """Add the words and totals of another lexicon; returns the new number of each of its words."""
        self.state, numbers = _absorb(self.state, other.state)
        return numbers

    def word(self, number: int) -> str:
        """The word with this number."""
        start, length = self.state.entries[number, START], self.state.entries[number, LENGTH]
        return self.state.arena[start : start + length].tobytes().decode("utf-8")

    def words(self, numbers: Integers) -> list[str]:
        """The words with these numbers."""
        starts = self.state.entries[numbers, START]
        stops = starts + self.state.entries[numbers, LENGTH]
        places = list(zip(starts.tolist(), stops.tolist(), strict=True))
        letters = self.state.arena[: int(stops.max(initial=0))].tobytes()
        if letters.isascii():
            text = letters.decode("ascii")
            return [text[start:stop] for start, stop in places]
        return [letters[start:stop].decode("utf-8") for start, stop in places]

    def make_room(self) -> None:
        """Enlarge arrays that are nearly full."""
        self.state = with_room(self.state)

    def _numbers(self, letters: Bytes, ends: Integers, may_add: bool) -> Integers:
        self.state, numbers = _find_all(self.state, letters, ends, may_add)
        return numbers


def combine_lexicons(lexicons: Sequence[Lexicon]) -> tuple[Lexicon, list[Integers]]:
    """Add all words and totals to the first lexicon.

    Returns:
        The first lexicon, and for each lexicon the new number of each of its words.
    """
    whole = lexicons[0]
    return whole, [np.arange(len(whole)), *(whole.absorb(lexicon) for lexicon in lexicons[1:])]


def _laid_out(words: Sequence[str]) -> tuple[Bytes, Integers]:
    letters = "".join(words).encode("utf-8")
    ends = np.zeros(len(words) + 1, dtype=np.int64)
    lengths = map(len, words) if letters.isascii() else (len(word.encode("utf-8")) for word in words)
    np.cumsum(np.fromiter(lengths, dtype=np.int64, count=len(words)), out=ends[1:])
    return np.frombuffer(letters, dtype=np.uint8).copy(), ends
