"""The compiled part of counting n-grams: 64-bit codes of keys (pairs, or words) and years, and the sums of their runs.

An n-gram with few years is spread out, one code for each key and year, and the codes are sorted. One with many years has one
code for each key, and its year list is added up as a whole.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import integer, kernel

#: The longest year list that is spread out.
SHORT_LIST: Final = 8
WEIGHT_BITS: Final = 8  # a weight is at most the window, at most 255


class Layout(NamedTuple):
    """Where the parts of a 64-bit code lie: keys (a pair or a word) have `key_bits`, slices `slice_bits`, and for pairs each
    word has `word_bits`. `window` is 0 for single words; `literal` asks for the window rule inside each n-gram.
    """

    key_bits: int
    slice_bits: int
    word_bits: int
    window: int
    literal: bool


@kernel
def _list_keys(
    ids: npt.NDArray[np.int32],
    gram: int,
    places: int,
    numbering: npt.NDArray[np.int32],
    layout: Layout,
    keys: npt.NDArray[np.uint64],
    weights: npt.NDArray[np.int64],
) -> int:
    """The keys of one n-gram, words or pairs in the vocabulary, and their weights; how many there are."""
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
def codes_of_short_lists(
    ids: npt.NDArray[np.int32],
    sizes: npt.NDArray[np.uint8],
    ends: npt.NDArray[np.int64],
    years: npt.NDArray[np.int16],
    matches: npt.NDArray[np.int64],
    first: int,
    last: int,
    numbering: npt.NDArray[np.int32],
    slice_of_year: npt.NDArray[np.int64],
    layout: Layout,
    codes: npt.NDArray[np.uint64],
    is_long: npt.NDArray[np.bool_],
) -> tuple[int, int]:
    """Codes `(slice << key_bits | key) << value_bits | value - 1`, one for each key and year of each n-gram with few years.

    Stops at gram `last` or when the codes might overflow; returns the next gram and the number of codes. N-grams with many
    years, or with a count too large for a code, are marked in `is_long`.
    """
    keys = np.empty(10, dtype=np.uint64)
    weights = np.empty(10, dtype=np.int64)
    value_bits = 64 - layout.key_bits - layout.slice_bits
    largest = integer(1) << min(value_bits, 62)
    found = 0
    gram = first
    while gram < last and found + 10 * SHORT_LIST <= codes.size:
        start = ends[gram - 1] if gram > 0 else 0
        short = ends[gram] - start <= SHORT_LIST
        for entry in range(start, ends[gram] if short else start):
            short = short and matches[entry] * 256 <= largest  # a weight is at most 255
        is_long[gram] = not short
        if short:
            listed = _list_keys(ids, gram, sizes[gram], numbering, layout, keys, weights)
            for entry in range(start, ends[gram]):
                slice_part = np.uint64(slice_of_year[years[entry]]) << np.uint64(layout.key_bits)
                for place in range(listed):
                    value = np.uint64(weights[place] * matches[entry] - 1)
                    codes[found] = (slice_part | keys[place]) << np.uint64(value_bits) | value
                    found += 1
        gram += 1
    return gram, found


@kernel
def codes_of_long_lists(
    ids: npt.NDArray[np.int32],
    sizes: npt.NDArray[np.uint8],
    chosen: npt.NDArray[np.int64],
    numbering: npt.NDArray[np.int32],
    layout: Layout,
    place_bits: int,
    codes: npt.NDArray[np.uint64],
) -> int:
    """Codes `(key << place_bits | place among the chosen n-grams) << WEIGHT_BITS | weight` of the chosen n-grams."""
    keys = np.empty(10, dtype=np.uint64)
    weights = np.empty(10, dtype=np.int64)
    found = 0
    for place in range(chosen.size):
        listed = _list_keys(ids, chosen[place], sizes[chosen[place]], numbering, layout, keys, weights)
        for item in range(listed):
            code = keys[item] << np.uint64(place_bits) | np.uint64(place)
            codes[found] = code << np.uint64(WEIGHT_BITS) | np.uint64(weights[item])
            found += 1
    return found


@kernel
def slice_bounds(
    chosen: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], slices: npt.NDArray[np.uint16]
) -> npt.NDArray[np.int64]:
    """The first and the last slice of each chosen n-gram, (chosen, 2)."""
    bounds = np.empty((chosen.size, 2), dtype=np.int64)
    for place in range(chosen.size):
        gram = chosen[place]
        start = ends[gram - 1] if gram > 0 else 0
        bounds[place, 0] = slices[start : ends[gram]].min()
        bounds[place, 1] = slices[start : ends[gram]].max()
    return bounds


@kernel
def add_year_lists(
    codes: npt.NDArray[np.uint64],
    start: int,
    place_bits: int,
    chosen: npt.NDArray[np.int64],
    bounds: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    slices: npt.NDArray[np.uint16],
    matches: npt.NDArray[np.int64],
    sums: npt.NDArray[np.int64],
    out_slices: npt.NDArray[np.uint16],
    out_keys: npt.NDArray[np.uint64],
    out_sums: npt.NDArray[np.int64],
    per_slice: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """From sorted codes on, one key after the other: its sum in each slice. Stops when the output might overflow; returns
    the next code and the number of entries written, and counts them in `per_slice`. `sums` (T,) is zero before and after.
    `slices` says to which slice each entry of a year list belongs, `bounds` (see `slice_bounds`) where to look for sums.
    """
    written = 0
    place_mask = np.uint64((1 << place_bits) - 1)
    key_shift = np.uint64(place_bits + WEIGHT_BITS)
    while start < codes.size and written + sums.size <= out_keys.size:
        key = codes[start] >> key_shift
        lowest, highest = sums.size, -1
        while start < codes.size and codes[start] >> key_shift == key:
            place = integer((codes[start] >> np.uint64(WEIGHT_BITS)) & place_mask)
            weight = integer(codes[start] & np.uint64((1 << WEIGHT_BITS) - 1))
            lowest, highest = min(lowest, bounds[place, 0]), max(highest, bounds[place, 1])
            gram = chosen[place]
            for entry in range(ends[gram - 1] if gram > 0 else 0, ends[gram]):
                sums[slices[entry]] += weight * matches[entry]
            start += 1
        for t in range(lowest, highest + 1):
            if sums[t] > 0:
                out_slices[written] = t
                out_keys[written] = key
                out_sums[written] = sums[t]
                per_slice[t] += 1
                sums[t] = 0
                written += 1
    return start, written


@kernel
def scatter(
    slices: npt.NDArray[np.uint16],
    keys: npt.NDArray[np.uint64],
    sums: npt.NDArray[np.int64],
    next_place: npt.NDArray[np.int64],
    sorted_keys: npt.NDArray[np.uint64],
    sorted_sums: npt.NDArray[np.int64],
) -> None:
    """Entries in order of their slices, within a slice as they came; `next_place` says where each slice begins."""
    for entry in range(slices.size):
        place = next_place[slices[entry]]
        next_place[slices[entry]] += 1
        sorted_keys[place] = keys[entry]
        sorted_sums[place] = sums[entry]


@kernel
def add_words(
    ids: npt.NDArray[np.int32],
    sizes: npt.NDArray[np.uint8],
    ends: npt.NDArray[np.int64],
    years: npt.NDArray[np.int16],
    matches: npt.NDArray[np.int64],
    numbering: npt.NDArray[np.int32],
    slice_of_year: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64],
) -> None:
    """Add each word's matches to `totals` (words, T)."""
    for gram in range(sizes.size):
        for place in range(sizes[gram]):
            word = numbering[ids[gram, place]] if ids[gram, place] >= 0 else -1
            if word >= 0:
                for entry in range(ends[gram - 1] if gram > 0 else 0, ends[gram]):
                    totals[word, slice_of_year[years[entry]]] += matches[entry]
