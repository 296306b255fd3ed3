"""Counts of n-gram tables: read once, choose the vocabulary, then add the year lists of each pair."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from wordtide.corpus.byte_streams import line_blocks, open_bytes
from wordtide.corpus.documents import BadRows
from wordtide.corpus.ngram_tables import NgramBatch, NgramScanner
from wordtide.corpus.tokens.lexicon import combine_lexicons
from wordtide.corpus.tokens.tokenizers import TokenRule
from wordtide.counts.count_arrays import CountArrays, CountsWriter, RowBlock
from wordtide.counts.counts import Counts
from wordtide.counts.ngrams.codes import YearLists, add_words, add_years
from wordtide.counts.ngrams.pair_lists import (
    SEGMENT_ENTRIES,
    KeyRule,
    NgramPasses,
    NgramSegment,
    YearSlices,
    sum_segments,
)
from wordtide.counts.pairs import compress_rows
from wordtide.counts.phrases.phrase_choice import choose_with_phrases, with_phrases
from wordtide.counts.phrases.phrase_table import words_of
from wordtide.counts.segments import SpillSpace
from wordtide.counts.settings import CountSettings, Summary
from wordtide.counts.sums import KeySums, add_sums
from wordtide.counts.texts import TEXT_WINDOW
from wordtide.counts.vocabulary import choose_vocabulary, numbering_of
from wordtide.counts.workers import BLOCKS_AHEAD, CountInput, PairRule, ResourcePool, Resources, in_order
from wordtide.dates import DAY
from wordtide.errors import SettingsError
from wordtide.timeline import SliceLength, Slices, unite_slices
from wordtide.types import Integers

_YEARS = (1, 9999)


class NgramReader:
    """The scanner of one worker and the batches of the segment that it fills."""

    def __init__(self, number: int, scanner: NgramScanner, space: SpillSpace) -> None:
        self.number = number
        self.scanner = scanner
        self.segments: list[NgramSegment] = []
        self.dropped = 0
        self.longest = 1
        self.year_totals = np.zeros((2, _YEARS[1] + 1), dtype=np.int64)  # matches and entries of each year
        self._space = space
        self._batches: list[NgramBatch] = []
        self._entries = 0

    def add(self, block: bytes, first_line: int, path: str, bad: BadRows) -> None:
        """Read a block of lines."""
        batch = self.scanner.scan(block, first_line, path, bad)
        self.dropped += batch.dropped
        self.longest = max(self.longest, int(batch.sizes.max(initial=1)))
        add_years(batch.years, batch.matches, self.year_totals)
        self._batches.append(batch)
        self._entries += len(batch.years)
        if self._entries >= SEGMENT_ENTRIES:
            self.seal()

    def seal(self) -> None:
        """Complete the segment."""
        if self._batches:
            self.segments.append(NgramSegment.join(self._batches, self.number, self._space))
        self._batches, self._entries = [], 0


def count_ngrams(source: CountInput, folder: Path) -> Counts:
    """Count tables of n-grams; the large arrays are written to `folder`."""
    settings, vocabulary, resources = source.settings, source.vocabulary, source.resources
    check_ngram_settings(settings)
    bad = BadRows(settings.skip_bad)
    readers = read_ngrams(source, bad)
    segments = [segment for reader in readers for segment in reader.segments]
    totals = np.sum([reader.year_totals for reader in readers], axis=0)
    slices, calendar = make_calendar(totals, SliceLength.parse(settings.every))
    whole, numbers = combine_lexicons([reader.scanner.lexicon for reader in readers])
    longest = max(reader.longest for reader in readers)
    passes = NgramPasses(
        segments, calendar, [reader.scanner.lexicon for reader in readers], numbers, resources
    )
    phrases, ranked = settings.joined_phrases, replace(settings, min_count=least_total(settings, longest))
    if phrases and len(slices) > 0:
        vocabulary, phrases = choose_with_phrases(passes, whole, ranked, vocabulary)
    if vocabulary is None:
        scores = whole.totals if settings.vocabulary_by == "total" else passes.shares(())
        vocabulary = choose_vocabulary(
            whole, scores, settings.vocabulary_size, ranked.min_count, settings.listed_stop_words
        )
    numbering = numbering_of(whole, vocabulary)
    numberings = [numbering[numbers_of_reader] for numbers_of_reader in numbers]
    window = ngram_window(settings, longest)
    pairs = PairRule(numberings, len(vocabulary), window, settings)
    if phrases:
        pairs = with_phrases(pairs, phrases, vocabulary, passes.lexicons)
        segments = passes.joined(pairs.tables)
    arrays, occurrences = write_ngram_counts(segments, calendar, pairs, resources, folder)
    summary = Summary(
        documents=int(slices.documents.sum()),
        tokens=int(slices.tokens.sum()),
        tokens_in_vocabulary=occurrences / longest,
        distinct_words=int(np.count_nonzero(whole.totals)),
        tagged_ngrams=sum(reader.dropped for reader in readers),
        ignored_files=source.corpus.ignored.total(),
        skipped=dict(sorted(bad.reasons.items())),
    )
    settings = replace(settings, phrases=phrases)
    return Counts(vocabulary, slices, arrays, settings, window, longest, summary)


def check_ngram_settings(settings: CountSettings) -> None:
    """Reject settings that do not apply to tables of n-grams."""
    if SliceLength.parse(settings.every).unit != "year":
        raise SettingsError(
            f"N-gram tables have years only: --every={settings.every} does not apply.", "Use year or N-years."
        )
    if settings.examples or settings.tokenizer or settings.pretokenized or settings.close_gaps:
        raise SettingsError(
            "N-gram tables have no sentences.",
            "Leave out --examples, --tokenizer, --pretokenized and --close-gaps.",
        )
    if settings.group_field is not None:
        raise SettingsError("N-gram tables have no documents, and so no groups.", "Leave out --group-field.")
    if settings.drop or settings.encoding or settings.delimiter:
        raise SettingsError(
            "N-gram tables are tab-separated UTF-8 with complete n-grams.",
            "Leave out --drop, --encoding and --delimiter.",
        )


def ngram_window(settings: CountSettings, longest: int) -> int:
    """The window: as given, or n - 1 for n-grams of up to n = `longest` words, to which overlaps add up."""
    return settings.window or (longest - 1 if longest > 1 else TEXT_WINDOW)


def least_total(settings: CountSettings, longest: int) -> int:
    """The smallest total of a word that occurs `min_count` times: each token occurs at `longest` places."""
    return (settings.min_count - 1) * longest + 1


def read_ngrams(source: CountInput, bad: BadRows) -> list[NgramReader]:
    """Read tables, or a shard of them, and number their words; returns the reader of each worker."""
    corpus, resources, years = source.corpus, source.resources, _year_bounds(source.dates)
    rule = TokenRule(numbers=source.settings.numbers, hyphens=source.settings.hyphens)
    space = SpillSpace(resources.spill, resources.memory // 2)
    known = source.vocabulary
    if known is not None:
        known = [*known, *words_of(source.settings.joined_phrases)]
    readers = [NgramReader(n, NgramScanner(rule, years, known), space) for n in range(resources.workers)]
    idle = ResourcePool(readers)

    def read(block: bytes, first_line: int, path: str) -> None:
        with idle.borrowed() as reader:
            reader.add(block, first_line, path, bad)

    def blocks() -> Iterator[partial[None]]:
        for file in corpus.files:
            with open_bytes(file, resources.observer.step) as stream:
                for line, block in line_blocks(stream, file):
                    yield partial(read, block, line, file.shown)

    resources.observer.start("reading", corpus.total_bytes, "bytes")
    for _ in in_order(blocks(), resources.workers, BLOCKS_AHEAD):
        pass
    for _ in in_order((reader.seal for reader in readers), resources.workers):
        pass
    resources.observer.finish()
    return readers


def _year_bounds(dates: tuple[int, int]) -> tuple[int, int]:
    """The first and the last year between two stamps."""
    first, after = (
        np.array([stamp]).astype("datetime64[s]").astype("datetime64[Y]")
        for stamp in (dates[0], dates[1] - 1)
    )
    return max(_YEARS[0], int(first.astype(np.int64)[0]) + 1970), min(
        _YEARS[1], int(after.astype(np.int64)[0]) + 1970
    )


def make_calendar(totals: Integers, every: SliceLength) -> tuple[Slices, YearSlices]:
    """Make slices from the years that occur; returns them and the slice of each year."""
    tokens, entries = totals
    years = np.flatnonzero(tokens)
    starts, ends = (
        (years + shift).astype("datetime64[Y]").astype("datetime64[s]").astype(np.int64)
        for shift in (-1970, -1969)
    )
    stamps: Integers = (starts + ends) // 2
    days, seconds = np.divmod(stamps, DAY)
    ordinals = every.ordinals(stamps)
    per_year = Slices(
        ordinals=ordinals,
        tokens=tokens[years],
        documents=entries[years],
        moment_days=tokens[years] * days,
        moment_seconds=tokens[years] * seconds,
        first=stamps,
        last=stamps,
        spans=ends - starts,
        labels=[every.label(int(ordinal)) for ordinal in ordinals],
    )
    slices, (members,) = unite_slices([per_year], every)
    slice_of_year = np.zeros(_YEARS[1] + 1, dtype=np.int64)
    slice_of_year[years] = members
    return slices, YearSlices(slice_of_year, len(slices))


def write_ngram_counts(
    segments: Sequence[NgramSegment],
    calendar: YearSlices,
    rule: PairRule,
    resources: Resources,
    folder: Path,
) -> tuple[CountArrays, int]:
    """Count the pairs and words of segments and write them; returns the arrays and the sum of all words."""
    resources.observer.start("counting", len(segments), "segments")
    words = rule.words
    keys = KeyRule(words, rule.window, rule.settings.ngram_weights == "literal")
    unigrams, *others = (
        np.zeros((words, calendar.total), dtype=np.int64) for _ in range(max(1, resources.workers))
    )
    idle = ResourcePool([unigrams, *others])

    def count_words(segment: NgramSegment, lists: YearLists) -> None:
        with idle.borrowed() as totals:
            add_words(segment.ids, segment.sizes, rule.numberings[segment.scanner], lists, totals)

    pairs = sum_segments(segments, rule.numberings, keys, calendar, resources, count_words)
    for totals in others:
        unigrams += totals
    resources.observer.finish()

    def rows_and_words(parts: list[KeySums], t: int | None) -> tuple[RowBlock | None, KeySums | None]:
        merged = add_sums(parts) if parts else None
        rows = None if merged is None else compress_rows(merged.keys, merged.sums, words)
        if t is None:
            return rows, None
        there = np.flatnonzero(unigrams[:, t])
        return rows, KeySums(there, unigrams[there, t])

    def tasks() -> Iterator[Callable[[], tuple[RowBlock | None, KeySums | None]]]:
        for t in range(calendar.total):
            *others, last = list(pairs.take_unmerged(t)) or [[]]
            yield from (partial(rows_and_words, parts, None) for parts in others)
            yield partial(rows_and_words, last, t)

    with CountsWriter(folder, words) as writer, closing(pairs):
        for rows, occurring in in_order(tasks(), resources.workers):
            writer.add_rows(rows)
            if occurring is not None:
                writer.end_slice(occurring.keys, occurring.sums)
        return writer.close(), int(unigrams.sum())
