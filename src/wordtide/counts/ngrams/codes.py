"""Compiled counting of n-grams: the keys (pairs, or words) of each, and the sums of year lists per key.

Each key of an n-gram is one 64-bit code. Codes are sorted by key; then the year lists of all n-grams that
share a key are added up. Most n-grams occur in every slice of their time, so that most lists are added as
vectors.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import inlined, integer, kernel
from wordtide.types import Array, Bytes, Flags, Integers

WEIGHT_BITS: Final = 8  # a weight is at most the window, at most 255
MOST_KEYS: Final = 10  # pairs of an n-gram of five words


class KeyLayout(NamedTuple):
    """How keys are written: `key_bits` for a key and, for pairs, `word_bits` for each of its two words.

    `window` is 0 for single words; `literal` asks for the window rule inside each n-gram.
    """

    key_bits: int
    word_bits: int
    window: int
    literal: bool


class YearLists(NamedTuple):
    """The year lists of n-grams: gram g has the entries `ends[g - 1]` to `ends[g]` of `slices` and `matches`.

    `first` and `last` are its first and last slice; `dense` if each entry has the slice after that of the
    entry before.
    """

    ends: Integers
    slices: npt.NDArray[np.uint16]
    matches: Integers
    first: npt.NDArray[np.uint16]
    last: npt.NDArray[np.uint16]
    dense: Flags


@kernel
def describe_lists(
    ends: Integers,
    years: npt.NDArray[np.int16],
    slice_of_year: Integers,
    slices: npt.NDArray[np.uint16],
    first: npt.NDArray[np.uint16],
    last: npt.NDArray[np.uint16],
    dense: Flags,
) -> None:
    """Fill the fields of `YearLists`. An empty list is dense, and its first slice is after its last."""
    start = 0
    for gram in range(ends.size):
        lowest, highest = integer(np.iinfo(np.uint16).max), integer(0)
        is_dense = True
        for entry in range(start, ends[gram]):
            t = slice_of_year[years[entry]]
            slices[entry] = t
            is_dense = is_dense and (entry == start or t == slices[entry - 1] + 1)
            lowest, highest = min(lowest, t), max(highest, t)
        first[gram], last[gram], dense[gram] = lowest, highest, is_dense
        start = ends[gram]


@kernel
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
    codes: npt.NDArray[np.uint64],
) -> int:
    """Write codes `(key << gram_bits | gram - first_gram) << WEIGHT_BITS | weight`; returns their number."""
    keys = np.empty(MOST_KEYS, dtype=np.uint64)
    weights = np.empty(MOST_KEYS, dtype=np.int64)
    found = 0
    for gram in range(first_gram, last_gram):
        listed = _list_keys(ids, gram, sizes[gram], numbering, layout, keys, weights)
        for item in range(listed):
            code = keys[item] << np.uint64(gram_bits) | np.uint64(gram - first_gram)
            codes[found] = code << np.uint64(WEIGHT_BITS) | np.uint64(weights[item])
            found += 1
    return found


@inlined
def _add_list(
    ends: Integers,
    slices: npt.NDArray[np.uint16],
    matches: Integers,
    first: npt.NDArray[np.uint16],
    dense: Flags,
    gram: int,
    weight: int,
    sums: Integers,
) -> None:
    """Add the year list of an n-gram, times a weight, to `sums` (T,)."""
    start = ends[gram - 1] if gram > 0 else 0
    if dense[gram]:
        shift = integer(first[gram])
        for place in range(ends[gram] - start):  # unsigned indices, so that the loop runs on vector units
            sums[np.uint64(shift + place)] += weight * matches[np.uint64(start + place)]
    else:
        for entry in range(start, ends[gram]):
            sums[slices[entry]] += weight * matches[entry]


@kernel
def count_entries(
    codes: npt.NDArray[np.uint64], first_gram: int, gram_bits: int, lists: YearLists, per_slice: Integers
) -> None:
    """Add to `per_slice` (T,) in how many entries, one for each key that occurs there, `add_lists` writes."""
    ends, slices, _, first, last, dense = lists
    gram_mask = np.uint64((1 << gram_bits) - 1)
    key_shift = np.uint64(gram_bits + WEIGHT_BITS)
    occurs = np.zeros(per_slice.size, dtype=np.uint8)
    place = 0
    while place < codes.size:
        key = codes[place] >> key_shift
        lowest, highest = integer(per_slice.size), integer(-1)
        while place < codes.size and codes[place] >> key_shift == key:
            gram = first_gram + integer((codes[place] >> np.uint64(WEIGHT_BITS)) & gram_mask)
            lowest = min(lowest, integer(first[gram]))
            highest = max(highest, integer(last[gram]))
            if dense[gram]:
                for t in range(integer(first[gram]), integer(last[gram]) + 1):
                    occurs[np.uint64(t)] = 1
            else:
                for entry in range(ends[gram - 1] if gram > 0 else 0, ends[gram]):
                    occurs[slices[entry]] = 1
            place += 1
        for t in range(lowest, highest + 1):
            per_slice[np.uint64(t)] += occurs[np.uint64(t)]
            occurs[np.uint64(t)] = 0


@kernel
def add_lists(
    codes: npt.NDArray[np.uint64],
    first_gram: int,
    gram_bits: int,
    lists: YearLists,
    next_place: Integers,
    keys: Array,
    sums: Array,
) -> None:
    """Write the keys of sorted codes and their sums in each slice.

    `next_place` (T,) is where the next key of each slice goes in `keys` and `sums`.
    """
    ends, slices, matches, first, last, dense = lists
    gram_mask = np.uint64((1 << gram_bits) - 1)
    key_shift = np.uint64(gram_bits + WEIGHT_BITS)
    of_key = np.zeros(next_place.size, dtype=np.int64)
    place = 0
    while place < codes.size:
        key = codes[place] >> key_shift
        lowest, highest = integer(of_key.size), integer(-1)
        while place < codes.size and codes[place] >> key_shift == key:
            gram = first_gram + integer((codes[place] >> np.uint64(WEIGHT_BITS)) & gram_mask)
            weight = integer(codes[place] & np.uint64((1 << WEIGHT_BITS) - 1))
            lowest = min(lowest, integer(first[gram]))
            highest = max(highest, integer(last[gram]))
            _add_list(ends, slices, matches, first, dense, gram, weight, of_key)
            place += 1
        for t in range(lowest, highest + 1):
            if of_key[t] > 0:
                keys[next_place[t]] = key
                sums[next_place[t]] = of_key[t]
                next_place[t] += 1
                of_key[t] = 0


@kernel
def add_words(
    ids: npt.NDArray[np.int32],
    sizes: Bytes,
    numbering: npt.NDArray[np.int32],
    lists: YearLists,
    totals: Integers,
) -> None:
    """Add each word's matches to `totals` (words, T)."""
    ends, slices, matches, first, _, dense = lists
    for gram in range(sizes.size):
        for place in range(sizes[gram]):
            word = numbering[ids[gram, place]] if ids[gram, place] >= 0 else -1
            if word >= 0:
                _add_list(ends, slices, matches, first, dense, gram, 1, totals[word])


@kernel
def add_years(years: npt.NDArray[np.int16], matches: Integers, totals: Integers) -> None:
    """Add matches and entries to `totals` (2, years)."""
    for entry in range(years.size):
        totals[0, years[entry]] += matches[entry]
        totals[1, years[entry]] += 1
