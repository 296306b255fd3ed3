"""Compiled counting of n-grams: the keys (pairs, or words) of each, and the sums of year lists per key.

Each key of an n-gram is one 64-bit code. Codes are sorted by key; then the year lists of all n-grams that
share a key are added up. Most n-grams occur in every slice of their time, so that most lists are added as
vectors.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import fetch_early, integer, kernel, leaf
from wordtide.types import Array, Bytes, Integers

WEIGHT_BITS: Final = 8  # a weight is at most the window, at most 255
MOST_KEYS: Final = 10  # pairs of an n-gram of five words
_AHEAD: Final = 8  # codes whose year lists are on their way to the cache


class KeyLayout(NamedTuple):
    """How keys are written: `key_bits` for a key and, for pairs, `word_bits` for each of its two words.

    `window` is 0 for single words; `literal` asks for the window rule inside each n-gram.
    """

    key_bits: int
    word_bits: int
    window: int
    literal: bool


class YearLists(NamedTuple):
    """The year lists of n-grams: `slices` and `matches` of all entries, and the span of each n-gram's.

    A span (one more than n-grams) holds the first entry, whether each entry has the slice after that of the
    entry before, and the last and the first slice: one number, because n-grams are looked up in random order.
    """

    spans: npt.NDArray[np.uint64]
    slices: npt.NDArray[np.uint16]
    matches: Array


@leaf
def _start(span: np.uint64) -> int:
    return integer(span >> np.uint64(33))


@leaf
def _is_dense(span: np.uint64) -> bool:
    return bool(span & np.uint64(1 << 32) != 0)


@leaf
def _last_slice(span: np.uint64) -> int:
    return integer(span >> np.uint64(16) & np.uint64(0xFFFF))


@leaf
def _first_slice(span: np.uint64) -> int:
    return integer(span & np.uint64(0xFFFF))


@kernel
def describe_lists(
    ends: Integers,
    years: npt.NDArray[np.int16],
    slice_of_year: Integers,
    spans: npt.NDArray[np.uint64],
    slices: npt.NDArray[np.uint16],
) -> None:
    """Fill `spans` and `slices`. An empty list is dense, and its first slice is after its last."""
    start = 0
    for gram in range(ends.size):
        lowest, highest = integer(np.iinfo(np.uint16).max), integer(0)
        dense = 1
        for entry in range(start, ends[gram]):
            t = slice_of_year[years[entry]]
            slices[entry] = t
            if entry > start and t != slices[entry - 1] + 1:
                dense = 0
            lowest, highest = min(lowest, t), max(highest, t)
        spans[gram] = start << 33 | dense << 32 | highest << 16 | lowest
        start = ends[gram]
    spans[ends.size] = start << 33


@leaf
def _list_keys(
    ids: npt.NDArray[np.int32],
    gram: int,
    places: int,
    numbering: npt.NDArray[np.int32],
    layout: KeyLayout,
    keys: npt.NDArray[np.uint64],
    weights: Integers,
) -> int:
    """Write the keys of one n-gram (words or pairs of the vocabulary) and their weights; returns how many."""
    found = 0
    for place in range(places):
        one = numbering[ids[gram, place]] if ids[gram, place] >= 0 else -1
        if one < 0:
            continue
        if layout.window == 0:
            keys[found] = one
            weights[found] = 1
            found += 1
            continue
        for further in range(place + 1, places):
            other = numbering[ids[gram, further]] if ids[gram, further] >= 0 else -1
            weight = layout.window - (further - place - 1) if layout.literal else 1
            if other >= 0 and weight > 0:
                low, high = (one, other) if one <= other else (other, one)
                keys[found] = np.uint64(low) << np.uint64(layout.word_bits) | np.uint64(high)
                weights[found] = weight
                found += 1
    return found


@kernel
def list_codes(
    ids: npt.NDArray[np.int32],
    sizes: Bytes,
    first_gram: int,
    last_gram: int,
    numbering: npt.NDArray[np.int32],
    layout: KeyLayout,
    gram_bits: int,
    spans: npt.NDArray[np.uint64],
    codes: npt.NDArray[np.uint64],
) -> tuple[int, int]:
    """Write codes `(key << gram_bits | gram - first_gram) << WEIGHT_BITS | weight`.

    Returns their number, and that of the entries of their year lists.
    """
    keys = np.empty(MOST_KEYS, dtype=np.uint64)
    weights = np.empty(MOST_KEYS, dtype=np.int64)
    found = entries = 0
    for gram in range(first_gram, last_gram):
        listed = _list_keys(ids, gram, sizes[gram], numbering, layout, keys, weights)
        for item in range(listed):
            code = keys[item] << np.uint64(gram_bits) | np.uint64(gram - first_gram)
            codes[found] = code << np.uint64(WEIGHT_BITS) | np.uint64(weights[item])
            found += 1
        entries += listed * (_start(spans[gram + 1]) - _start(spans[gram]))
    return found, entries


@leaf
def _add_list(lists: YearLists, gram: int, weight: int, sums: Array) -> None:
    """Add the year list of an n-gram, times a weight, to `sums` (T,)."""
    span = lists.spans[gram]
    start, first = _start(span), _first_slice(span)
    if _is_dense(span):
        for place in range(_last_slice(span) + 1 - first):  # unsigned, so that the loop runs on vector units
            sums[np.uint64(first + place)] += weight * lists.matches[np.uint64(start + place)]
    else:
        for entry in range(start, _start(lists.spans[gram + 1])):
            sums[lists.slices[entry]] += weight * lists.matches[entry]


@kernel
def add_lists(
    codes: npt.NDArray[np.uint64],
    first_gram: int,
    gram_bits: int,
    lists: YearLists,
    per_slice: Integers,
    keys: npt.NDArray[np.uint64],
    ends: npt.NDArray[np.uint64],
    slices: npt.NDArray[np.uint16],
    sums: Array,
) -> int:
    """Add up the year lists of each key of sorted codes; returns the number of keys.

    Key k has the entries `ends[k - 1]` to `ends[k]` of `slices` and `sums`. Adds to `per_slice` (T,) how many
    entries each slice has. `keys` may be the array of codes itself. The entry after the last is overwritten.
    """
    gram_mask = np.uint64((1 << gram_bits) - 1)
    key_shift = np.uint64(gram_bits + WEIGHT_BITS)
    of_key = np.zeros(per_slice.size, dtype=sums.dtype)
    place = found = filled = 0
    while place < codes.size:
        key = codes[place] >> key_shift
        lowest, highest = integer(of_key.size), integer(-1)
        while place < codes.size and codes[place] >> key_shift == key:
            later = codes[min(place + _AHEAD, codes.size - 1)] >> np.uint64(WEIGHT_BITS)
            entry = _start(lists.spans[first_gram + integer(later & gram_mask)])
            fetch_early(lists.matches, entry)
            fetch_early(lists.matches, entry + 16)
            gram = first_gram + integer((codes[place] >> np.uint64(WEIGHT_BITS)) & gram_mask)
            weight = integer(codes[place] & np.uint64((1 << WEIGHT_BITS) - 1))
            lowest = min(lowest, _first_slice(lists.spans[gram]))
            highest = max(highest, _last_slice(lists.spans[gram]))
            _add_list(lists, gram, weight, of_key)
            place += 1
        for t in range(lowest, highest + 1):
            occurs = 1 if of_key[t] > 0 else 0
            slices[np.uint64(filled)] = t
            sums[np.uint64(filled)] = of_key[t]
            per_slice[t] += occurs
            filled += occurs
            of_key[t] = 0
        keys[found] = key
        ends[found] = filled
        found += 1
    return found


@kernel
def divide_by_slice(
    keys: npt.NDArray[np.uint64],
    ends: npt.NDArray[np.uint64],
    slices: npt.NDArray[np.uint16],
    sums: Array,
    next_place: Integers,
    keys_of_slices: Array,
    sums_of_slices: Array,
) -> None:
    """Write the keys and sums of each slice from `next_place` (T,) on."""
    start = np.uint64(0)
    for k in range(keys.size):
        for entry in range(start, ends[k]):
            t = np.uint64(slices[entry])
            place = np.uint64(next_place[t])
            keys_of_slices[place] = keys[k]
            sums_of_slices[place] = sums[entry]
            next_place[t] += 1
        start = ends[k]


@kernel
def add_words(
    ids: npt.NDArray[np.int32],
    sizes: Bytes,
    numbering: npt.NDArray[np.int32],
    lists: YearLists,
    totals: Integers,
) -> None:
    """Add each word's matches to `totals` (words, T)."""
    for gram in range(sizes.size):
        for place in range(sizes[gram]):
            word = numbering[ids[gram, place]] if ids[gram, place] >= 0 else -1
            if word >= 0:
                _add_list(lists, gram, 1, totals[word])


@kernel
def add_years(years: npt.NDArray[np.int16], matches: Array, totals: Integers) -> None:
    """Add matches and entries to `totals` (2, years)."""
    for entry in range(years.size):
        totals[0, years[entry]] += matches[entry]
        totals[1, years[entry]] += 1
