"""Pairs from n-gram tables: each distinct pair gathers the year lists of all n-grams that hold it.

A pair at distance d lies in n - d overlapping n-grams of a running text. With "overlap" every pair of an
n-gram adds its match count in units of 1/window, so with window = n - 1 the sum over the overlapping n-grams
is the text's own (n - d) / window. With "literal" the window rule is applied again inside each n-gram.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from wordtide.corpus.ngram_tables import NgramBatch
from wordtide.counts.ngrams.codes import (
    MOST_KEYS,
    WEIGHT_BITS,
    KeyLayout,
    YearLists,
    add_lists,
    describe_lists,
    list_codes,
    scatter,
)
from wordtide.counts.pairs import bits_for, sort_codes
from wordtide.counts.segments import SpillSpace
from wordtide.counts.sums import KeySums
from wordtide.types import Bytes, Integers

SEGMENT_ENTRIES: Final = 1 << 22
_OUT_ENTRIES: Final = 1 << 22
_GRAM_BITS: Final = 19  # n-grams whose codes are sorted together


@dataclass(frozen=True)
class NgramSegment:
    """N-grams of many blocks, as in `NgramBatch`."""

    ids: npt.NDArray[np.int32]
    sizes: Bytes
    ends: Integers
    years: npt.NDArray[np.int16]
    matches: Integers
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

    slice_of_year: Integers
    total: int

    def lists_of(self, segment: NgramSegment) -> YearLists:
        """The year lists of a segment by slice."""
        grams, entries = len(segment.ends), len(segment.years)
        slices = np.empty(entries, dtype=np.uint16)
        first, last = np.empty(grams, dtype=np.uint16), np.empty(grams, dtype=np.uint16)
        dense = np.empty(grams, dtype=np.bool_)
        describe_lists(segment.ends, segment.years, self.slice_of_year, slices, first, last, dense)
        return YearLists(segment.ends, slices, segment.matches, first, last, dense)


@dataclass(frozen=True)
class KeyRule:
    """What is counted: pairs of a vocabulary of `words` words, or single words if there is no window."""

    words: int
    window: int | None
    literal: bool = False

    @cached_property
    def layout(self) -> KeyLayout:
        """The layout of the keys."""
        bits = bits_for(self.words)
        if self.window is None:
            return KeyLayout(bits, 0, 0, False)
        return KeyLayout(2 * bits, bits, self.window, self.literal)

    @property
    def dtype(self) -> npt.DTypeLike:
        """The type of the keys in the sums."""
        return np.uint32 if self.layout.key_bits <= 32 else np.uint64


def sum_keys(
    segment: NgramSegment,
    numbering: npt.NDArray[np.int32],
    rule: KeyRule,
    lists: YearLists,
    slices: int,
) -> Iterator[tuple[int, KeySums]]:
    """Add up the keys of one segment; yields slices and sums. A slice may repeat, with ascending keys."""
    layout = rule.layout
    step = 1 << min(_GRAM_BITS, 64 - layout.key_bits - WEIGHT_BITS)
    for first in range(0, len(segment.sizes), step):
        last = min(first + step, len(segment.sizes))
        gram_bits = bits_for(last - first)
        codes = np.empty(MOST_KEYS * (last - first), dtype=np.uint64)
        found = list_codes(segment.ids, segment.sizes, first, last, numbering, layout, gram_bits, codes)
        low_bit = gram_bits + WEIGHT_BITS
        ordered, _ = sort_codes(
            codes[:found], np.empty_like(codes)[:found], low_bit, low_bit + layout.key_bits
        )
        yield from _sums_of_codes(ordered, first, gram_bits, lists, slices, np.dtype(rule.dtype))


def _sums_of_codes(
    codes: npt.NDArray[np.uint64],
    first_gram: int,
    gram_bits: int,
    lists: YearLists,
    total: int,
    key_dtype: np.dtype[Any],
) -> Iterator[tuple[int, KeySums]]:
    room = max(_OUT_ENTRIES, total)
    out_slices = np.empty(room, dtype=np.uint16)
    out_keys = np.empty(room, dtype=key_dtype)
    out_sums = np.empty(room, dtype=np.int64)
    sums = np.zeros(total, dtype=np.int64)
    start = 0
    while start < len(codes):
        per_slice = np.zeros(total, dtype=np.int64)
        start, written = add_lists(
            codes, start, first_gram, gram_bits, lists, sums, out_slices, out_keys, out_sums, per_slice
        )
        starts = np.cumsum(per_slice) - per_slice
        sorted_keys, sorted_sums = np.empty(written, dtype=key_dtype), np.empty(written, dtype=np.int64)
        scatter(out_slices[:written], out_keys, out_sums, starts.copy(), sorted_keys, sorted_sums)
        for t in np.flatnonzero(per_slice).tolist():
            part = slice(starts[t], starts[t] + per_slice[t])
            yield t, KeySums(sorted_keys[part], sorted_sums[part])
