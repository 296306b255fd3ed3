"""Phrases joined in streams of word numbers, from left to right, the longest that begins at each place.

A phrase is a text, its words separated by one space ("united states"); in the vocabulary its name has
underscores ("united_states"). Joined, it takes one place of the stream. Words of a phrase are next to each
other within a sentence: a skipped number between them keeps them apart, punctuation does not.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import integer, kernel
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.types import Integers

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NO_STARTS = np.zeros(0, dtype=np.int64)
_ROWS_AT_ONCE = 1 << 18


def name_of(phrase: str) -> str:
    """The name of a phrase in the vocabulary."""
    return phrase.replace(" ", "_")


def words_of(phrases: Sequence[str]) -> list[str]:
    """The distinct words of phrases, in order of first occurrence."""
    return list(dict.fromkeys(word for phrase in phrases for word in phrase.split(" ")))


class PhraseTable(NamedTuple):
    """Phrases as a tree of word numbers.

    `first` (words,): the node below the root for a first word, or -1. The child of a node for a further word
    is found by hash: `keys` (2^k) has node << 32 | word, plus 1 (0: empty), and `children` the nodes.
    `numbers` (nodes,): the number that stands for the phrase that ends there, or -1.
    """

    first: npt.NDArray[np.int32]
    keys: npt.NDArray[np.uint64]
    children: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.int32]

    @staticmethod
    def of(phrases: Sequence[str], lexicon: Lexicon, size: int) -> "PhraseTable":
        """Make a table for a stream of numbers of the first `size` words of a lexicon.

        Phrase p gets the number `size` + p. Phrases with other words cannot occur, and are left out.
        """
        words = words_of(phrases)
        known = dict(zip(words, lexicon.find(words).tolist(), strict=True))
        first = np.full(max(1, size), -1, dtype=np.int32)
        below: dict[tuple[int, int], int] = {}
        numbers: list[int] = []
        for place, phrase in enumerate(phrases):
            path = [known[word] for word in phrase.split(" ")]
            if not all(0 <= word < size for word in path):
                continue
            node = int(first[path[0]])
            if node < 0:
                node = first[path[0]] = len(numbers)
                numbers.append(-1)
            for word in path[1:]:
                node = below.setdefault((node, word), len(numbers))
                if node == len(numbers):
                    numbers.append(-1)
            numbers[node] = size + place
        slots = 1 << max(4, (3 * len(below)).bit_length())
        table = PhraseTable(
            first,
            np.zeros(slots, dtype=np.uint64),
            np.zeros(slots, dtype=np.int32),
            np.array(numbers or [-1], dtype=np.int32),
        )
        edges = np.array([(node, word, child) for (node, word), child in below.items()], dtype=np.int64)
        _fill(table.keys, table.children, edges.reshape(-1, 3))
        return table


@kernel
def _slot_of(keys: npt.NDArray[np.uint64], node: int, word: int) -> int:
    """The slot of a child, or the empty slot where it belongs."""
    key = (np.uint64(node) << np.uint64(32) | np.uint64(word)) + np.uint64(1)
    mask = np.uint64(keys.size - 1)
    code = key * _FACTOR
    slot = (code ^ (code >> np.uint64(32))) & mask
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return integer(slot)


@kernel
def _fill(keys: npt.NDArray[np.uint64], children: npt.NDArray[np.int32], edges: Integers) -> None:
    for edge in range(edges.shape[0]):
        node, word = edges[edge, 0], edges[edge, 1]
        slot = _slot_of(keys, node, word)
        keys[slot] = (np.uint64(node) << np.uint64(32) | np.uint64(word)) + np.uint64(1)
        children[slot] = edges[edge, 2]


@kernel
def _join(
    ids: npt.NDArray[np.int32],
    first: npt.NDArray[np.int32],
    keys: npt.NDArray[np.uint64],
    children: npt.NDArray[np.int32],
    numbers: npt.NDArray[np.int32],
    starts: Integers,
    joined: npt.NDArray[np.int32],
    joined_starts: Integers,
) -> int:
    filled = 0
    place = 0
    part = 0
    while place < ids.size:
        while part < starts.size and starts[part] <= place:
            joined_starts[part] = filled
            part += 1
        number = ids[place]
        step = 1
        if number >= 0 and first[number] >= 0:
            node = integer(first[number])
            further = place + 1
            while further < ids.size and ids[further] >= 0:
                slot = _slot_of(keys, node, integer(ids[further]))
                if keys[slot] == 0:
                    break
                node = integer(children[slot])
                further += 1
                if numbers[node] >= 0:
                    number = numbers[node]
                    step = further - place
        joined[filled] = number
        filled += 1
        place += step
    joined_starts[part:] = filled
    return filled


def join_phrases(
    ids: npt.NDArray[np.int32], table: PhraseTable, room: npt.NDArray[np.int32] | None = None
) -> npt.NDArray[np.int32]:
    """Replace the phrases of a stream by their numbers. The result is in `room`, or else a new array."""
    out = np.empty(len(ids), dtype=np.int32) if room is None else room
    return out[: _join(ids, *table, _NO_STARTS, out, _NO_STARTS.copy())]


def join_parts(
    ids: npt.NDArray[np.int32], starts: Integers, table: PhraseTable
) -> tuple[npt.NDArray[np.int32], Integers]:
    """Join the phrases of a stream of parts; returns the new stream and its starts.

    Part n is `ids[starts[n]:starts[n + 1]]`. Parts end with a sentence, so no phrase lies in two of them.
    """
    out, new_starts = np.empty(len(ids), dtype=np.int32), np.empty_like(starts)
    return out[: _join(ids, *table, starts, out, new_starts)], new_starts


def join_rows(
    ids: npt.NDArray[np.int32], sizes: npt.NDArray[np.uint8], table: PhraseTable
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Join the phrases inside rows such as n-grams, `ids[n, :sizes[n]]`; returns new rows and their sizes."""
    places = np.arange(ids.shape[1])
    joined, lengths = np.full_like(ids, -1), np.empty_like(sizes)
    for first in range(0, len(ids), _ROWS_AT_ONCE):
        some = slice(first, first + _ROWS_AT_ONCE)
        rows = np.full((len(ids[some]), ids.shape[1] + 1), -1, dtype=np.int32)  # -1 keeps rows apart
        rows[:, :-1] = np.where(places < sizes[some, None], ids[some], -1)
        stream, starts = join_parts(rows.ravel(), np.arange(len(rows) + 1) * rows.shape[1], table)
        lengths[some] = sizes[some] - (rows.shape[1] - np.diff(starts))
        found = stream[np.minimum(starts[:-1, None] + places, len(stream) - 1)]
        joined[some] = np.where(places < lengths[some, None], found, -1)
    return joined, lengths


@kernel
def count_numbers(ids: npt.NDArray[np.int32], first: int, counts: Integers) -> None:
    """Add to `counts` how often each number from `first` on occurs."""
    for number in ids:
        if number >= first:
            counts[number - first] += 1
