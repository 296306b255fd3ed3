"""Pairs of words within a window, as integer codes, and sums of their weights.

Supplement of the paper, "Construction of n+": a pair of words with k words between them adds max(0, 1 -
k/window) to n+ in both directions. In units of 1/window that is window - k, an integer, so sums are exact and
do not depend on their order. The pair {i, j} is stored once, as the code i << bits | j with i <= j; n+ is
symmetric.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from wordtide.compiled import kernel
from wordtide.corpus.tokens.scanner import BREAK
from wordtide.counts.count_arrays import RowBlock, column_dtype
from wordtide.types import Array, Integers

_OUTSIDE = -2  # a place whose word is not in the vocabulary
_DIGIT_BITS: Final = 11  # 2048 counters fit into the fastest cache
_FEW: Final = 1 << 11


def bits_for(words: int) -> int:
    """The number of bits for the numbers of this many words."""
    return max(1, (words - 1).bit_length())


def code_dtype(words: int, window: int) -> npt.DTypeLike:
    """The narrowest integer type for a pair and its weight; narrow codes sort faster."""
    return np.uint32 if 2 * bits_for(words) + bits_for(window) <= 32 else np.uint64


@kernel
def find_pairs(
    ids: npt.NDArray[np.int32],
    numbering: npt.NDArray[np.int32],
    window: int,
    word_bits: int,
    weight_bits: int,
    close_gaps: bool,
    places: npt.NDArray[np.int32],
    codes: Array,
    counts: Integers,
) -> int:
    """Write the codes of all pairs in sentences; returns their number.

    A code is `(i << word_bits | j) << weight_bits | weight - 1`. `numbering` maps the stream's numbers to the
    vocabulary (-1: not in it); `places` is room for as many numbers. Adds the occurrences of each vocabulary
    word to `counts`.
    """
    length = 0
    for place in range(ids.size):
        number = ids[place]
        index = np.int32(_OUTSIDE)
        if number >= 0:
            index = numbering[number]
            if index >= 0:
                counts[index] += 1
            else:
                index = np.int32(_OUTSIDE)
        elif number == BREAK:
            index = np.int32(BREAK)
        if close_gaps and index == _OUTSIDE:
            continue
        places[length] = index
        length += 1
    found = 0
    for place in range(length):
        one = places[place]
        if one < 0:
            continue
        last = min(place + window, length - 1)
        weight = window - 1
        for further in range(place + 1, last + 1):
            other = places[further]
            if other == BREAK:
                break
            if other >= 0:
                low, high = (one, other) if one <= other else (other, one)
                codes[found] = (np.uint64(low) << np.uint64(word_bits) | np.uint64(high)) << np.uint64(
                    weight_bits
                ) | np.uint64(weight)
                found += 1
            weight -= 1
    return found


@kernel
def sum_runs(sorted_codes: Array, weight_bits: int, pairs: Array, sums: Array) -> int:
    """Write the distinct pairs of sorted codes and the sums of their weights; returns their number.

    `pairs` may be the array of codes itself.
    """
    if sorted_codes.size == 0:
        return 0
    mask = np.uint64((1 << weight_bits) - 1)
    shift = np.uint64(weight_bits)
    found = 0
    current = np.uint64(sorted_codes[0]) >> shift
    total = np.int64(0)
    for place in range(sorted_codes.size):
        code = np.uint64(sorted_codes[place])
        pair = code >> shift
        if pair != current:
            pairs[found] = current
            sums[found] = total
            found += 1
            current = pair
            total = np.int64(0)
        total += np.int64(code & mask) + 1
    pairs[found] = current
    sums[found] = total
    return found + 1


@kernel
def _split_pairs(
    pairs: Array,
    sums: Array,
    word_bits: int,
    columns: Array,
    values: Array,
    rows: npt.NDArray[np.uint32],
    ends: Integers,
) -> int:
    """Write ascending pair codes as compressed rows; returns the number of rows."""
    mask = np.uint64((1 << word_bits) - 1)
    found = 0
    current = np.uint64(pairs[0]) >> np.uint64(word_bits)
    for place in range(pairs.size):
        pair = np.uint64(pairs[place])
        row = pair >> np.uint64(word_bits)
        if row != current:
            rows[found] = current
            ends[found] = place
            found += 1
            current = row
        columns[place] = pair & mask
        values[place] = sums[place]
    rows[found] = current
    ends[found] = pairs.size
    return found + 1


def compress_rows(pairs: Array, sums: Array, words: int) -> RowBlock | None:
    """Compress ascending pair codes and their sums to rows; None if there are no pairs."""
    if len(sums) == 0:
        return None
    narrow = sums.dtype == np.uint32 or int(sums.max()) <= np.iinfo(np.uint32).max
    columns = np.empty(len(pairs), dtype=column_dtype(words))
    values = np.empty(len(pairs), dtype=np.uint32 if narrow else np.uint64)
    rows = np.empty(min(len(pairs), words), dtype=np.uint32)
    ends = np.empty(len(rows), dtype=np.int64)
    found = _split_pairs(pairs, sums, bits_for(words), columns, values, rows, ends)
    return RowBlock(columns, values, rows[:found], ends[:found])


@kernel
def _sort_by_digits(codes: Array, spare: Array, low_bit: int, high_bit: int) -> bool:
    """Least significant digit first; returns whether the sorted codes are in `spare`."""
    passes = max(1, (high_bit - low_bit + _DIGIT_BITS - 1) // _DIGIT_BITS)
    width = (high_bit - low_bit + passes - 1) // passes
    mask = np.uint64((1 << width) - 1)
    places = np.empty(1 << width, dtype=np.int64)
    source, target = codes, spare
    for number in range(passes):
        shift = np.uint64(low_bit + number * width)
        places[:] = 0
        for place in range(source.size):
            places[(np.uint64(source[place]) >> shift) & mask] += 1
        start = 0
        for digit in range(places.size):
            found = places[digit]
            places[digit] = start
            start += found
        for place in range(source.size):
            code = source[place]
            digit_of_code = (np.uint64(code) >> shift) & mask
            target[places[digit_of_code]] = code
            places[digit_of_code] += 1
        source, target = target, source
    return passes % 2 == 1


def sort_codes(codes: Array, spare: Array, low_bit: int, high_bit: int) -> tuple[Array, Array]:
    """Sort unsigned integers by their bits from `low_bit` up to `high_bit`; bits from there on are zero.

    `codes` and `spare`, room for as many, are overwritten. Returns the one with the sorted codes, and the
    other.
    """
    if len(codes) < _FEW:
        codes.sort()
        return codes, spare
    return (spare, codes) if _sort_by_digits(codes, spare, low_bit, high_bit) else (codes, spare)
