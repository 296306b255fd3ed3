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

from wordtide.corpus.ngram_tables import NgramBatch
from wordtide.counts.ngrams.codes import (
    SHORT_LIST,
    WEIGHT_BITS,
    Layout,
    add_words,
    add_year_lists,
    codes_of_long_lists,
    codes_of_short_lists,
    scatter,
    slice_bounds,
)
from wordtide.counts.pairs import bits_for, sum_runs
from wordtide.counts.partials import Partial
from wordtide.counts.segments import SpillSpace

SEGMENT_ENTRIES: Final = 1 << 22
_CODES: Final = 1 << 23
_OUT_ENTRIES: Final = 1 << 22
_PLACE_BITS: Final = 20


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


@dataclass(frozen=True)
class YearSlices:
    """Which slice each year belongs to: `slice_of_year[year]`, of `total` slices."""

    slice_of_year: npt.NDArray[np.int64]
    total: int


def sum_pairs(
    segment: NgramSegment,
    numbering: npt.NDArray[np.int32],
    words: int,
    window: int,
    literal: bool,
    calendar: YearSlices,
) -> Iterator[tuple[int, Partial]]:
    """Partial sums of pairs, per slice, of one segment."""
    word_bits = bits_for(words)
    layout = Layout(2 * word_bits, bits_for(calendar.total), word_bits, window, literal)
    yield from _sums_per_slice(segment, numbering, layout, calendar)


def count_words(
    segment: NgramSegment, numbering: npt.NDArray[np.int32], words: int, calendar: YearSlices
) -> npt.NDArray[np.int64]:
    """How often each word stands at any place of an n-gram, (words, T): for a vocabulary, where that fits into memory."""
    totals = np.zeros((words, calendar.total), dtype=np.int64)
    add_words(
        segment.ids,
        segment.sizes,
        segment.ends,
        segment.years,
        segment.matches,
        numbering,
        calendar.slice_of_year,
        totals,
    )
    return totals


def sum_words(
    segment: NgramSegment, numbering: npt.NDArray[np.int32], words: int, calendar: YearSlices
) -> Iterator[tuple[int, Partial]]:
    """The same as `count_words` in partial sums, for all words of a large corpus."""
    layout = Layout(bits_for(words), bits_for(calendar.total), 0, 0, False)
    yield from _sums_per_slice(segment, numbering, layout, calendar)


def _sums_per_slice(
    segment: NgramSegment, numbering: npt.NDArray[np.int32], layout: Layout, calendar: YearSlices
) -> Iterator[tuple[int, Partial]]:
    is_long = np.zeros(len(segment.sizes), dtype=np.bool_)
    yield from _sums_of_short_lists(segment, numbering, layout, calendar, is_long)
    chosen = np.flatnonzero(is_long)
    step = 1 << min(_PLACE_BITS, 64 - layout.key_bits - WEIGHT_BITS)
    for first in range(0, len(chosen), step):
        yield from _sums_of_long_lists(segment, chosen[first : first + step], numbering, layout, calendar)


def _sums_of_short_lists(
    segment: NgramSegment,
    numbering: npt.NDArray[np.int32],
    layout: Layout,
    calendar: YearSlices,
    is_long: npt.NDArray[np.bool_],
) -> Iterator[tuple[int, Partial]]:
    grams = len(segment.sizes)
    value_bits = 64 - layout.key_bits - layout.slice_bits
    codes = np.empty(min(_CODES, 10 * max(SHORT_LIST, len(segment.years)) + 10 * SHORT_LIST), dtype=np.uint64)
    gram = 0
    while gram < grams:
        gram, found = codes_of_short_lists(
            segment.ids, segment.sizes, segment.ends, segment.years, segment.matches, gram, grams, numbering,
            calendar.slice_of_year, layout, codes, is_long,
        )  # fmt: skip
        if found:
            codes[:found].sort()
            keys, sums = np.empty(found, dtype=np.uint64), np.empty(found, dtype=np.int64)
            distinct = sum_runs(codes[:found], value_bits, keys, sums)
            slices = np.arange(calendar.total + 1, dtype=np.uint64) << np.uint64(layout.key_bits)
            cuts = np.searchsorted(keys[:distinct], slices)
            keys &= np.uint64((1 << layout.key_bits) - 1)
            for place in np.flatnonzero(np.diff(cuts)).tolist():
                part = slice(cuts[place], cuts[place + 1])
                yield place, Partial(keys[part].copy(), sums[part].copy())


def _sums_of_long_lists(
    segment: NgramSegment,
    chosen: npt.NDArray[np.int64],
    numbering: npt.NDArray[np.int32],
    layout: Layout,
    calendar: YearSlices,
) -> Iterator[tuple[int, Partial]]:
    place_bits = bits_for(len(chosen))
    codes = np.empty(10 * len(chosen), dtype=np.uint64)
    found = codes_of_long_lists(segment.ids, segment.sizes, chosen, numbering, layout, place_bits, codes)
    codes = codes[:found]
    codes.sort()
    room = max(_OUT_ENTRIES, calendar.total)
    out_slices = np.empty(room, dtype=np.uint16)
    out_keys = np.empty(room, dtype=np.uint64)
    out_sums = np.empty(room, dtype=np.int64)
    sums = np.zeros(calendar.total, dtype=np.int64)
    slices = calendar.slice_of_year.astype(np.uint16)[segment.years]
    bounds = slice_bounds(chosen, segment.ends, slices)
    start = 0
    while start < found:
        per_slice = np.zeros(calendar.total, dtype=np.int64)
        start, written = add_year_lists(
            codes, start, place_bits, chosen, bounds, segment.ends, slices, segment.matches,
            sums, out_slices, out_keys, out_sums, per_slice,
        )  # fmt: skip
        starts = np.cumsum(per_slice) - per_slice
        sorted_keys, sorted_sums = np.empty(written, dtype=np.uint64), np.empty(written, dtype=np.int64)
        scatter(out_slices[:written], out_keys, out_sums, starts.copy(), sorted_keys, sorted_sums)
        for place in np.flatnonzero(per_slice).tolist():
            part = slice(starts[place], starts[place] + per_slice[place])
            yield place, Partial(sorted_keys[part], sorted_sums[part])
