"""A lexicon: every distinct word of a stream gets a number, in order of first sight, and its total is kept.

The words' UTF-8 bytes lie one after the other in an arena; an open-addressing table finds them by hash. The same
arrays are used by the compiled scanners (`LexiconState`) and by Python (`Lexicon`).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.kernels import inlined, integer, kernel

#: A longer word (in UTF-8 bytes) is not a word but debris: it keeps its place in the sentence and gets no number.
LONGEST_WORD = 128
#: Room that `with_room` makes for certain: words of any length that can be added before the next look.
SPARE_WORDS = 8
HASH_START = np.uint64(14695981039346656037)
HASH_FACTOR = np.uint64(1099511628211)
_FIRST_SLOTS = 1 << 15
_FIRST_ARENA = 1 << 18


class LexiconState(NamedTuple):
    """Arrays of a lexicon.

    `slots` (2^k): 0 for empty, else upper half of the hash << 32 | number + 1. `ends` (capacity + 1): word w is
    `arena[ends[w]:ends[w + 1]]`. `totals` (capacity): occurrences. `size` (1): the number of words.
    """

    slots: npt.NDArray[np.uint64]
    ends: npt.NDArray[np.int64]
    arena: npt.NDArray[np.uint8]
    totals: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]


@kernel
def hash_bytes(word: npt.NDArray[np.uint8], length: int) -> np.uint64:
    """FNV-1a with a final mix, because the table takes the low bits and the tag the high ones."""
    code = HASH_START
    for position in range(length):
        code = (code ^ np.uint64(word[position])) * HASH_FACTOR
    return mixed(code)


@kernel
def mixed(code: np.uint64) -> np.uint64:
    """The last step of `hash_bytes`, for a scanner that has hashed the bytes on its way."""
    code ^= code >> np.uint64(32)
    code *= np.uint64(0x9E3779B97F4A7C15)
    return code ^ (code >> np.uint64(29))


@kernel
def with_room(state: LexiconState) -> LexiconState:
    """The same lexicon, in larger arrays where one more word might not fit."""
    slots, ends, arena, totals, size = state
    words = size[0]
    if ends[words] + SPARE_WORDS * LONGEST_WORD > arena.size:
        larger = np.empty(2 * arena.size, dtype=np.uint8)
        larger[: arena.size] = arena
        arena = larger
    if words + SPARE_WORDS >= totals.size:
        more_ends = np.zeros(2 * totals.size + 1, dtype=np.int64)
        more_ends[: ends.size] = ends
        more_totals = np.zeros(2 * totals.size, dtype=np.int64)
        more_totals[: totals.size] = totals
        ends, totals = more_ends, more_totals
    if 2 * (words + SPARE_WORDS) >= slots.size:
        mask = np.uint64(2 * slots.size - 1)
        more_slots = np.zeros(2 * slots.size, dtype=np.uint64)
        for word in range(words):
            length = ends[word + 1] - ends[word]
            code = hash_bytes(arena[ends[word] : ends[word + 1]], length)
            slot = code & mask
            while more_slots[slot] != 0:
                slot = (slot + np.uint64(1)) & mask
            more_slots[slot] = (code & np.uint64(0xFFFFFFFF00000000)) | np.uint64(word + 1)
        slots = more_slots
    return LexiconState(slots, ends, arena, totals, size)


@kernel
def words_that_fit(state: LexiconState) -> int:
    """The size up to which words of any length can be added without `with_room`."""
    words = integer(state.size[0])
    by_letters = words + (state.arena.size - state.ends[words]) // LONGEST_WORD
    return integer(min(state.totals.size - 1, state.slots.size // 2 - 1, by_letters))


@inlined
def find_or_add(
    slots: npt.NDArray[np.uint64],
    ends: npt.NDArray[np.int64],
    arena: npt.NDArray[np.uint8],
    size: npt.NDArray[np.int64],
    word: npt.NDArray[np.uint8],
    length: int,
    code: np.uint64,
    may_add: bool,
) -> int:
    """The number of a word; a new one if `may_add`, else -1. The caller has made room (`with_room`).

    It takes the arrays one by one: a tuple of them would be counted in and out at every call, which costs more than the search.
    """
    mask = np.uint64(slots.size - 1)
    tag = code & np.uint64(0xFFFFFFFF00000000)
    slot = code & mask
    while True:
        entry = slots[slot]
        if entry == 0:
            break
        if (entry & np.uint64(0xFFFFFFFF00000000)) == tag:
            number = integer(entry & np.uint64(0xFFFFFFFF)) - 1
            start = ends[number]
            if ends[number + 1] - start == length:
                position = 0
                while position < length and arena[start + position] == word[position]:
                    position += 1
                if position == length:
                    return number
        slot = (slot + np.uint64(1)) & mask
    if not may_add:
        return -1
    number = integer(size[0])
    start = ends[number]
    for position in range(length):
        arena[start + position] = word[position]
    ends[number + 1] = start + length
    slots[slot] = tag | np.uint64(number + 1)
    size[0] = number + 1
    return number


@kernel
def _add_all(
    state: LexiconState, arena: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], may_add: bool
) -> tuple[LexiconState, npt.NDArray[np.int64]]:
    numbers = np.empty(ends.size - 1, dtype=np.int64)
    for word in range(ends.size - 1):
        state = with_room(state)
        letters = arena[ends[word] : ends[word + 1]]
        code = hash_bytes(letters, letters.size)
        numbers[word] = find_or_add(state.slots, state.ends, state.arena, state.size, letters, letters.size, code, may_add)
    return state, numbers


class Lexicon:
    """Words, their numbers and their totals. A frozen lexicon (a fixed vocabulary) admits no new word."""

    def __init__(self, words: Iterable[str] = (), frozen: bool = False) -> None:
        self.frozen = frozen
        self.state = LexiconState(
            slots=np.zeros(_FIRST_SLOTS, dtype=np.uint64),
            ends=np.zeros(_FIRST_SLOTS // 2 + 1, dtype=np.int64),
            arena=np.empty(_FIRST_ARENA, dtype=np.uint8),
            totals=np.zeros(_FIRST_SLOTS // 2, dtype=np.int64),
            size=np.zeros(1, dtype=np.int64),
        )
        self.add(list(words))

    def __len__(self) -> int:
        return int(self.state.size[0])

    @property
    def totals(self) -> npt.NDArray[np.int64]:
        """Occurrences of each word, in the order of the numbers."""
        return self.state.totals[: len(self)]

    def add(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """The numbers of the given words, new ones for those not met before."""
        return self._numbers(*_laid_out(words), may_add=True)

    def find(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """The numbers of the given words, -1 for those never met."""
        return self._numbers(*_laid_out(words), may_add=False)

    def absorb(self, other: "Lexicon") -> npt.NDArray[np.int64]:
        """Add the words and totals of another lexicon; its number w becomes the returned array's element w."""
        numbers = self._numbers(other.state.arena, other.state.ends[: len(other) + 1], may_add=True)
        np.add.at(self.state.totals, numbers, other.totals)
        return numbers

    def word(self, number: int) -> str:
        """The word with this number."""
        ends = self.state.ends
        return bytes(self.state.arena[ends[number] : ends[number + 1]]).decode("utf-8")

    def _numbers(self, arena: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], may_add: bool) -> npt.NDArray[np.int64]:
        self.state, numbers = _add_all(self.state, arena, ends, may_add)
        return numbers

    def make_room(self) -> None:
        """Enlarge the arrays that are nearly full."""
        self.state = with_room(self.state)


def _laid_out(words: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    encoded = [word.encode("utf-8") for word in words]
    ends = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum([len(letters) for letters in encoded], out=ends[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8).copy(), ends
