"""The choice of phrases together with the vocabulary: a phrase must be frequent enough to be a word.

`TextPasses` goes through the segments of texts on the threads of this process.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts.count_arrays import entries_by_slice
from wordtide.counts.counts import Counts
from wordtide.counts.phrases.collocations import (
    ERAS,
    NeighborRule,
    Units,
    candidate_phrases,
    candidate_words,
    count_neighbors,
    count_units,
    era_sizes,
    find_eras,
    select_pairs,
)
from wordtide.counts.phrases.phrase_table import PhraseTable, count_numbers, join_phrases, name_of
from wordtide.counts.segments import Segment, add_shares, words_of_slice
from wordtide.counts.settings import CountSettings, Summary
from wordtide.counts.sums import KeySums, SliceSums
from wordtide.counts.vocabulary import choose_vocabulary, numbering_of
from wordtide.counts.workers import PairRule, Resources, in_order
from wordtide.timeline import Slices
from wordtide.types import Array, Floats, Integers

_ROUNDS = 4  # leaving out phrases changes the occurrences of few others, and by little


class Passes(Protocol):
    """Passes through the word numbers of a corpus, which are here or on a cluster."""

    def occurrences(self, phrases: Sequence[str]) -> Integers:
        """How often each phrase occurs if all of them are joined."""

    def shares(self, phrases: Sequence[str]) -> Floats:
        """The sum over slices of the share of each word of the lexicon, then of each phrase."""

    def find_pairs(self, units: Units) -> Array:
        """The pairs of units that form phrases, ascending."""


def choose_words(
    passes: Passes, whole: Lexicon, settings: CountSettings, vocabulary: list[str] | None, slices: int
) -> tuple[list[str], tuple[str, ...]]:
    """Choose the vocabulary, unless it is fixed, and the phrases in it, if there are any slices."""
    phrases = settings.joined_phrases
    if (phrases or settings.phrases == "auto") and slices > 0:
        return choose_with_phrases(passes, whole, settings, vocabulary)
    if vocabulary is None:
        shared = settings.vocabulary_by == "share" and slices > 0
        vocabulary = _ranked(whole, passes.shares(()) if shared else whole.totals, settings)
    return vocabulary, phrases


def choose_with_phrases(
    passes: Passes, whole: Lexicon, settings: CountSettings, vocabulary: list[str] | None
) -> tuple[list[str], tuple[str, ...]]:
    """Choose the vocabulary, unless it is fixed, and the phrases in it.

    `whole` has the words of the corpus with their totals; the names of phrases are added to it. The `phrases`
    of the settings are "auto" or listed.
    """
    phrases = settings.joined_phrases
    if vocabulary is not None:
        known = set(vocabulary)
        return vocabulary, tuple(phrase for phrase in phrases if name_of(phrase) in known)
    size, totals = len(whole), whole.totals.copy()
    if settings.phrases == "auto":
        phrases = _find_phrases(passes, whole, settings)
    for _ in range(_ROUNDS):
        names = whole.add([name_of(phrase) for phrase in phrases])
        occurrences = passes.occurrences(phrases)
        whole.totals[:] = 0
        whole.totals[:size] = totals
        words = whole.find([word for phrase in phrases for word in phrase.split(" ")])
        lengths = [phrase.count(" ") + 1 for phrase in phrases]
        np.subtract.at(whole.totals, words, np.repeat(occurrences, lengths))
        np.add.at(whole.totals, names, occurrences)
        scores: Array = whole.totals
        if settings.vocabulary_by == "share":
            shares = passes.shares(phrases)
            scores = np.zeros(len(whole), dtype=np.float64)
            scores[:size] = shares[:size]
            np.add.at(scores, names, shares[size:])
        vocabulary = _ranked(whole, scores, settings)
        known = set(vocabulary)
        kept = tuple(phrase for phrase in phrases if name_of(phrase) in known)
        if len(kept) == len(phrases):
            break
        phrases = kept
    return vocabulary or [], phrases


def _find_phrases(passes: Passes, whole: Lexicon, settings: CountSettings) -> tuple[str, ...]:
    """Find phrases of two words, and then of up to four."""
    scores: Array = whole.totals if settings.vocabulary_by == "total" else passes.shares(())
    words = candidate_words(_ranked(whole, scores, settings))
    units = Units(words, ())
    for _ in range(2):
        found = candidate_phrases(units, passes.find_pairs(units))
        units = Units(words, tuple(sorted({*units.phrases, *found})))
    return units.phrases


def _ranked(whole: Lexicon, scores: Array, settings: CountSettings) -> list[str]:
    return choose_vocabulary(
        whole, scores, settings.vocabulary_size, settings.min_count, settings.listed_stop_words
    )


def with_phrase_facts(counts: Counts, listed: int) -> Summary:
    """The summary of counts with what is known of their phrases, `listed` of which were given."""
    phrases, summary = counts.settings.joined_phrases, counts.summary
    if not phrases and not listed:
        return summary
    lengths = np.zeros(len(counts.words), dtype=np.int64)
    for phrase in phrases:
        lengths[counts.index[name_of(phrase)]] = phrase.count(" ") + 1
    lengths = lengths[np.asarray(counts.arrays.unigram_words)]
    values = np.asarray(counts.arrays.unigram_values)
    return replace(
        summary,
        phrases=len(phrases),
        phrases_left_out=max(0, listed - len(phrases)),
        phrase_occurrences=int(values[lengths > 0].sum()) // counts.places,
        words_in_phrases=int((values * lengths).sum()) // counts.places,
    )


@dataclass(frozen=True)
class TextPasses:
    """Passes through the segments of texts; `members` has for each the slice of each entry, or -1.

    `lexicons` are those of the scanners, the first with the words of all; `numbers` has for each scanner the
    number of each of its words in the first.
    """

    segments: Sequence[Segment]
    members: Sequence[Integers]
    slices: Slices
    lexicons: Sequence[Lexicon]
    numbers: Sequence[Integers]
    resources: Resources

    def occurrences(self, phrases: Sequence[str]) -> Integers:
        """How often each phrase occurs if all of them are joined."""
        tables = make_tables(phrases, self.lexicons, [len(own) for own in self.numbers])
        tasks = (
            partial(
                count_phrases,
                segment,
                tables[segment.scanner],
                len(self.numbers[segment.scanner]),
                len(phrases),
            )
            for segment in self.segments
        )
        total = np.zeros(len(phrases), dtype=np.int64)
        for counted in in_order(tasks, self.resources.workers):
            total += counted
        return total

    def shares(self, phrases: Sequence[str]) -> Floats:
        """The sum over slices of the share of each word of the lexicon, then of each phrase."""
        words = max(int(own.max(initial=-1)) for own in self.numbers) + 1
        scores = np.zeros(words + len(phrases), dtype=np.float64)
        added = np.arange(words, words + len(phrases))
        numbers = [np.concatenate([own, added]) for own in self.numbers]
        tables = make_tables(phrases, self.lexicons, [len(own) for own in self.numbers]) if phrases else ()
        for entries in entries_by_slice(self.segments, self.members, len(self.slices)):
            add_shares(scores, words_of_slice(entries, numbers, tables))
        return scores

    def find_pairs(self, units: Units) -> Array:
        """The pairs of units that form phrases, ascending."""
        eras = np.append(find_eras(self.slices), -1)  # of slice -1: none
        numbering = numbering_of(self.lexicons[0], units.words)
        rule = PairRule([numbering[own] for own in self.numbers], len(units.names), 1, CountSettings())
        rule = with_phrases(rule, units.phrases, units.names, self.lexicons)
        parts = [(segment, eras[places]) for segment, places in zip(self.segments, self.members, strict=True)]
        occurrences = np.zeros((ERAS + 1, rule.words), dtype=np.int64)
        tasks = (partial(count_units, *part, rule) for part in parts)
        for counted in in_order(tasks, self.resources.workers):
            occurrences += counted
        sizes = era_sizes(self.slices)
        neighbors = NeighborRule.of(rule, units, occurrences, sizes)
        sums = SliceSums(ERAS + 1, self.resources.spill, self.resources.memory // 2)
        with closing(sums):
            pairs = (partial(count_neighbors, *part, neighbors) for part in parts)
            for found in in_order(pairs, self.resources.workers):
                add_neighbors(found, sums)
            chosen = [
                select_pairs(sums.take(era), occurrences[era], int(sizes[era])) for era in range(ERAS + 1)
            ]
        return np.unique(np.concatenate(chosen))


def add_neighbors(found: Sequence[KeySums], sums: SliceSums) -> None:
    """Add the neighbors of a part to their eras and to all of time, which is the last."""
    for era, pairs in enumerate(found):
        sums.add(era, pairs)
        sums.add(ERAS, pairs)


def make_tables(
    phrases: Sequence[str], lexicons: Sequence[Lexicon], sizes: Sequence[int]
) -> list[PhraseTable]:
    """The phrases for the streams of each scanner, whose numbers are below the given sizes."""
    return [PhraseTable.of(phrases, lexicon, size) for lexicon, size in zip(lexicons, sizes, strict=True)]


def with_phrases(
    rule: PairRule, phrases: Sequence[str], words: Sequence[str], lexicons: Sequence[Lexicon]
) -> PairRule:
    """A rule that joins phrases, whose names are among the words of the vocabulary."""
    if not phrases:
        return rule
    index = {word: number for number, word in enumerate(words)}
    places = np.array([index[name_of(phrase)] for phrase in phrases], dtype=np.int32)
    tables = make_tables(phrases, lexicons, [len(own) for own in rule.numberings])
    numberings = [np.concatenate([own, places]) for own in rule.numberings]
    return replace(rule, numberings=numberings, tables=tables)


def count_phrases(segment: Segment, table: PhraseTable, words: int, phrases: int) -> Integers:
    """How often each phrase of a table occurs in a segment of numbers below `words`."""
    total = np.zeros(phrases, dtype=np.int64)
    count_numbers(join_phrases(np.asarray(segment.ids), table), words, total)
    return total
