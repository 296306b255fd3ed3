"""Pairs from n-gram tables: each distinct pair gathers the year lists of all n-grams that hold it.

A pair at distance d lies in n - d overlapping n-grams of a running text. With "overlap" every pair of an n-gram adds its match
count in units of 1/window, so with window = n - 1 the sum over the overlapping n-grams is the text's own (n - d) / window. With
"literal" the window rule is applied again inside each n-gram.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from wordtide.corpus.ngrams import NgramBatch
from wordtide.counts.partials import Partial
from wordtide.counts.segments import SpillSpace
from wordtide.kernels import kernel

SEGMENT_ENTRIES: Final = 1 << 22
_OUT_ENTRIES: Final = 1 << 22


@dataclass(frozen=True)
class NgramSegment:
    """N-grams of many blocks, as in `NgramBatch`."""

    ids: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    years: npt.NDArray[np.int16]
    matches: npt.NDArray[np.int64]
    scanner: int

    @staticmethod
    def join(batches: list[NgramBatch], scanner: int, space: SpillSpace) -> "NgramSegment":
        """One segment of several batches, on disk if memory is short."""
        shifts = np.cumsum([0] + [len(batch.years) for batch in batches[:-1]])
        arrays = (
            np.concatenate([batch.ids for batch in batches]),
            np.concatenate([batch.sizes for batch in batches]),
            np.concatenate([batch.ends + shift for batch, shift in zip(batches, shifts, strict=True)]),
            np.concatenate([batch.years for batch in batches]),
            np.concatenate([batch.matches for batch in batches]),
        )
        ids, sizes, ends, years, matches = (cast(Any, space.keep(array)) for array in arrays)
        return NgramSegment(ids, sizes, ends, years, matches, scanner)


@kernel
def _pair_codes(
    ids: npt.NDArray[np.int32],
    sizes: npt.NDArray[np.uint8],
    numbering: npt.NDArray[np.int32],
    window: int,
    literal: bool,
    word_bits: int,
    gram_bits: int,
    weight_bits: int,
    codes: npt.NDArray[np.uint64],
) -> int:
    """Codes `((i << word_bits | j) << gram_bits | gram) << weight_bits | weight - 1` of the pairs of all grams."""
    found = 0
    for gram in range(sizes.size):
        for place in range(sizes[gram]):
            one = numbering[ids[gram, place]] if ids[gram, place] >= 0 else -1
            if one < 0:
                continue
            for further in range(place + 1, sizes[gram]):
                other = numbering[ids[gram, further]] if ids[gram, further] >= 0 else -1
                weight = window - (further - place - 1) if literal else 1
                if other < 0 or weight <= 0:
                    continue
                low, high = (one, other) if one <= other else (other, one)
                pair = np.uint64(low) << np.uint64(word_bits) | np.uint64(high)
                codes[found] = (pair << np.uint64(gram_bits) | np.uint64(gram)) << np.uint64(weight_bits) | np.uint64(
                    weight - 1
                )
                found += 1
    return found


@kernel
def _word_codes(
    ids: npt.NDArray[np.int32],
    sizes: npt.NDArray[np.uint8],
    numbering: npt.NDArray[np.int32],
    gram_bits: int,
    weight_bits: int,
    codes: npt.NDArray[np.uint64],
) -> int:
    """Codes `(word << gram_bits | gram) << weight_bits` of the words of all grams."""
    found = 0
    for gram in range(sizes.size):
        for place in range(sizes[gram]):
            word = numbering[ids[gram, place]] if ids[gram, place] >= 0 else -1
            if word >= 0:
                codes[found] = (np.uint64(word) << np.uint64(gram_bits) | np.uint64(gram)) << np.uint64(weight_bits)
                found += 1
    return found


@kernel
def _add_year_lists(
    codes: npt.NDArray[np.uint64],
    start: int,
    gram_bits: int,
    weight_bits: int,
    first_gram: int,
    ends: npt.NDArray[np.int64],
    years: npt.NDArray[np.int16],
    matches: npt.NDArray[np.int64],
    slice_of_year: npt.NDArray[np.int64],
    sums: npt.NDArray[np.int64],
    out_slices: npt.NDArray[np.int32],
    out_keys: npt.NDArray[np.uint64],
    out_sums: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """From sorted codes on, one key after the other: its sum in each slice. Stops when the output might overflow; returns
    the next code and the number of entries written. `sums` (T,) is zero before and after.
    """
    written = 0
    weight_mask = np.uint64((1 << weight_bits) - 1)
    gram_mask = np.uint64((1 << gram_bits) - 1)
    key_shift = np.uint64(gram_bits + weight_bits)
    while start < codes.size and written + sums.size <= out_keys.size:
        key = codes[start] >> key_shift
        lowest, highest = sums.size, -1
        while start < codes.size and codes[start] >> key_shift == key:
            gram = np.int64((codes[start] >> np.uint64(weight_bits)) & gram_mask) + first_gram
            weight = np.int64(codes[start] & weight_mask) + 1
            for entry in range(ends[gram - 1] if gram > 0 else 0, ends[gram]):
                place = slice_of_year[years[entry]]
                sums[place] += weight * matches[entry]
                lowest, highest = min(lowest, place), max(highest, place)
            start += 1
        for place in range(lowest, highest + 1):
            if sums[place] > 0:
                out_slices[written] = place
                out_keys[written] = key
                out_sums[written] = sums[place]
                sums[place] = 0
                written += 1
    return start, written


@dataclass(frozen=True)
class YearSlices:
    """Which slice each year belongs to: `slice_of_year[year]`, of `total` slices."""

    slice_of_year: npt.NDArray[np.int64]
    total: int


def sum_pairs(
    segment: NgramSegment,
    numbering: npt.NDArray[np.int32],
    word_bits: int,
    window: int,
    literal: bool,
    calendar: YearSlices,
) -> Iterator[tuple[int, Partial]]:
    """Partial sums of pairs, per slice, of one segment."""
    weight_bits = max(1, (window - 1).bit_length())
    gram_bits = min(40, 64 - 2 * word_bits - weight_bits)
    for first, last in _gram_chunks(segment, gram_bits):
        ids, sizes = segment.ids[first:last], segment.sizes[first:last]
        codes = np.empty(10 * (last - first), dtype=np.uint64)
        found = _pair_codes(ids, sizes, numbering, window, literal, word_bits, gram_bits, weight_bits, codes)
        yield from _sums_per_slice(segment, codes[:found], first, gram_bits, weight_bits, calendar)


def sum_words(segment: NgramSegment, numbering: npt.NDArray[np.int32], calendar: YearSlices) -> Iterator[tuple[int, Partial]]:
    """Partial sums of single words, per slice: how often each stands at any place of an n-gram."""
    for first, last in _gram_chunks(segment, 30):
        codes = np.empty(5 * (last - first), dtype=np.uint64)
        found = _word_codes(segment.ids[first:last], segment.sizes[first:last], numbering, 30, 1, codes)
        yield from _sums_per_slice(segment, codes[:found], first, 30, 1, calendar)


def _gram_chunks(segment: NgramSegment, gram_bits: int) -> Iterator[tuple[int, int]]:
    step = min(1 << gram_bits, SEGMENT_ENTRIES)
    for first in range(0, len(segment.sizes), step):
        yield first, min(first + step, len(segment.sizes))


def _sums_per_slice(
    segment: NgramSegment,
    codes: npt.NDArray[np.uint64],
    first_gram: int,
    gram_bits: int,
    weight_bits: int,
    calendar: YearSlices,
) -> Iterator[tuple[int, Partial]]:
    codes = np.sort(codes)
    room = max(_OUT_ENTRIES, calendar.total)
    out_slices = np.empty(room, dtype=np.int32)
    out_keys = np.empty(room, dtype=np.uint64)
    out_sums = np.empty(room, dtype=np.int64)
    sums = np.zeros(calendar.total, dtype=np.int64)
    start = 0
    while start < len(codes):
        start, written = _add_year_lists(
            codes, start, gram_bits, weight_bits, first_gram, segment.ends, segment.years, segment.matches,
            calendar.slice_of_year, sums, out_slices, out_keys, out_sums,
        )  # fmt: skip
        order = np.argsort(out_slices[:written], kind="stable")
        cuts = np.searchsorted(out_slices[:written][order], np.arange(calendar.total + 1))
        for place in range(calendar.total):
            chosen = order[cuts[place] : cuts[place + 1]]
            if len(chosen):
                yield place, Partial(out_keys[chosen], out_sums[chosen])
