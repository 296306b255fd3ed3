"""Pairs from n-gram tables: each distinct pair gathers the year lists of all n-grams that hold it.

A pair at distance d lies in n - d overlapping n-grams of a running text. With "overlap" every pair of an
n-gram adds its match count in units of 1/window, so with window = n - 1 the sum over the overlapping n-grams
is the text's own (n - d) / window. With "literal" the window rule is applied again inside each n-gram.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from wordtide.corpus.ngram_tables import NgramBatch
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts.ngrams.codes import (
    MOST_KEYS,
    WEIGHT_BITS,
    KeyLayout,
    YearLists,
    add_lists,
    describe_lists,
    divide_by_slice,
    list_codes,
)
from wordtide.counts.pairs import bits_for, sort_codes
from wordtide.counts.phrases.collocations import Units
from wordtide.counts.phrases.phrase_choice import make_tables
from wordtide.counts.phrases.phrase_table import PhraseTable, join_rows
from wordtide.counts.segments import SpillSpace, is_on_disk, release
from wordtide.counts.sums import KeySums, SliceSums
from wordtide.counts.workers import Resources, in_order
from wordtide.types import Array, Bytes, Floats, Integers

SEGMENT_ENTRIES: Final = 1 << 22
_GRAM_BITS: Final = 19  # n-grams whose codes are sorted together


@dataclass(frozen=True)
class NgramSegment:
    """N-grams of many blocks, as in `NgramBatch`."""

    ids: npt.NDArray[np.int32]
    sizes: Bytes
    ends: Integers
    years: npt.NDArray[np.int16]
    matches: Array
    scanner: int

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays."""
        return self.ids, self.sizes, self.ends, self.years, self.matches

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
        spans, slices = np.empty(grams + 1, dtype=np.uint64), np.empty(entries, dtype=np.uint16)
        describe_lists(segment.ends, segment.years, self.slice_of_year, spans, slices)
        return YearLists(spans, slices, segment.matches)


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

    def sums_dtype(self, matches: Array) -> npt.DTypeLike:
        """The type of sums of these matches: as narrow as possible, because fresh memory is expensive."""
        weight = self.layout.window if self.literal else 1
        largest = MOST_KEYS * max(1, weight) * float(matches.sum(dtype=np.float64))
        return np.uint32 if largest <= np.iinfo(np.uint32).max else np.int64


def sum_keys(
    segment: NgramSegment,
    numbering: npt.NDArray[np.int32],
    rule: KeyRule,
    lists: YearLists,
    slices: int,
) -> Iterator[tuple[int, KeySums]]:
    """Add up the keys of one segment; yields slices and sums. A slice may repeat, with ascending keys."""
    if slices == 0:  # no n-gram has a year
        return
    layout, sums_dtype = rule.layout, rule.sums_dtype(segment.matches)
    lists = lists._replace(matches=lists.matches.astype(sums_dtype, copy=False))
    step = 1 << min(_GRAM_BITS, 64 - layout.key_bits - WEIGHT_BITS)
    for first in range(0, len(segment.sizes), step):
        last = min(first + step, len(segment.sizes))
        gram_bits = bits_for(last - first)
        room = np.empty(MOST_KEYS * (last - first), dtype=np.uint64)
        found, entries = list_codes(
            segment.ids, segment.sizes, first, last, numbering, layout, gram_bits, lists.spans, room
        )
        low_bit = gram_bits + WEIGHT_BITS
        codes, spare = sort_codes(
            room[:found], np.empty(found, dtype=np.uint64), low_bit, low_bit + layout.key_bits
        )
        per_slice = np.zeros(slices, dtype=np.int64)
        slice_of, sums = (np.empty(entries + 1, dtype=dtype) for dtype in (np.uint16, sums_dtype))
        found = add_lists(codes, first, gram_bits, lists, per_slice, codes, spare, slice_of, sums)
        ends = np.cumsum(per_slice)
        keys_there, sums_there = (np.empty(ends[-1], dtype=dtype) for dtype in (rule.dtype, sums_dtype))
        divide_by_slice(codes[:found], spare, slice_of, sums, ends - per_slice, keys_there, sums_there)
        for t in np.flatnonzero(per_slice).tolist():
            part = slice(ends[t] - per_slice[t], ends[t])
            yield t, KeySums(keys_there[part], sums_there[part])


def sum_segments(
    segments: Sequence[NgramSegment],
    numberings: Sequence[Array],
    rule: KeyRule,
    calendar: YearSlices,
    resources: Resources,
    also: Callable[[NgramSegment, YearLists], None] = lambda *_: None,
) -> SliceSums:
    """Add up all segments per slice, pairs or single words, and do something else with each.

    The sums may take the memory that the segments leave.
    """
    held = sum(array.nbytes for segment in segments for array in segment.arrays if not is_on_disk(array))
    sums = SliceSums(calendar.total, resources.spill, resources.memory - held, rule.dtype)

    def work(segment: NgramSegment) -> list[tuple[int, KeySums]]:
        lists = calendar.lists_of(segment)
        also(segment, lists)
        found = list(sum_keys(segment, numberings[segment.scanner], rule, lists, calendar.total))
        for array in segment.arrays:
            release(array)
        return found

    for partials in in_order((partial(work, segment) for segment in segments), resources.workers):
        for t, summed in partials:
            sums.add(t, summed)
        resources.observer.step(1)
    return sums


@dataclass(frozen=True)
class NgramPasses:
    """Passes through tables of n-grams, which join phrases inside each n-gram.

    Attributes:
        segments: The segments.
        calendar: The slice of each year.
        lexicons: The lexicons of the readers.
        numbers: For each reader the number of each of its words in the lexicon of all.
        resources: What counting may use.
    """

    segments: Sequence[NgramSegment]
    calendar: YearSlices
    lexicons: Sequence[Lexicon]
    numbers: Sequence[Integers]
    resources: Resources

    def joined(self, tables: Sequence[PhraseTable]) -> list[NgramSegment]:
        """The segments with phrases joined, on disk if memory is short."""
        folder = Path(tempfile.mkdtemp(dir=self.resources.spill))
        space = SpillSpace(folder, self.resources.memory // 4)

        def join(segment: NgramSegment) -> NgramSegment:
            ids, sizes = join_rows(segment.ids, segment.sizes, tables[segment.scanner])
            kept: Any = space.keep(ids)
            return replace(segment, ids=kept, sizes=sizes)

        return list(in_order((partial(join, segment) for segment in self.segments), self.resources.workers))

    def _tables(self, phrases: Sequence[str]) -> list[PhraseTable]:
        return make_tables(phrases, self.lexicons, [len(own) for own in self.numbers])

    def occurrences(self, phrases: Sequence[str]) -> Integers:
        """How often each phrase occurs if all of them are joined, at any place of an n-gram."""
        total = np.zeros(len(phrases), dtype=np.int64)
        for segment in self.joined(self._tables(phrases)):
            ends = np.concatenate([[0], np.cumsum(segment.matches, dtype=np.int64)])
            matches = np.diff(ends[np.concatenate([[0], segment.ends])])
            grams, places = np.nonzero(segment.ids >= len(self.numbers[segment.scanner]))
            numbers = segment.ids[grams, places] - len(self.numbers[segment.scanner])
            np.add.at(total, numbers, matches[grams])
        return total

    def shares(self, phrases: Sequence[str]) -> Floats:
        """The sum over slices of the share of each word of the lexicon, then of each phrase."""
        words = max(int(own.max(initial=-1)) for own in self.numbers) + 1
        added = np.arange(words, words + len(phrases))
        translations = [np.concatenate([own, added]).astype(np.int32) for own in self.numbers]
        segments = self.joined(self._tables(phrases)) if phrases else self.segments
        rule = KeyRule(words + len(phrases), None)
        scores = np.zeros(rule.words, dtype=np.float64)
        with closing(sum_segments(segments, translations, rule, self.calendar, self.resources)) as sums:
            for t in range(self.calendar.total):
                blocks = list(sums.take(t))
                total = max(1, sum(int(block.sums.sum()) for block in blocks))
                for block in blocks:
                    scores[block.keys.astype(np.int64)] += block.sums / total
        return scores

    def find_pairs(self, units: Units) -> Array:
        """Phrases of n-grams are listed, not found."""
        raise AssertionError("phrases of n-grams are listed")
