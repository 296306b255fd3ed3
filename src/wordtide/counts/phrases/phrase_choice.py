"""The choice of phrases together with the vocabulary: only phrases that are frequent enough to be words are
joined.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts.counts import Counts
from wordtide.counts.phrases.collocations import Units, candidate_phrases, candidate_words
from wordtide.counts.phrases.phrase_table import name_of
from wordtide.counts.settings import CountSettings, Summary
from wordtide.counts.vocabulary import choose_vocabulary
from wordtide.types import Array, Floats, Integers

_ROUNDS = 4  # phrases that are left out change the occurrences of others, of few and by little


class Passes(Protocol):
    """Passes through the word numbers of a corpus, which are here or on a cluster."""

    def occurrences(self, phrases: Sequence[str]) -> Integers:
        """How often each phrase occurs if all of them are joined."""

    def shares(self, phrases: Sequence[str]) -> Floats:
        """The sum over slices of the share of each word of the lexicon, then of each phrase."""

    def find_pairs(self, units: Units) -> Array:
        """The pairs of units that form phrases, ascending."""


def choose_with_phrases(
    passes: Passes, whole: Lexicon, settings: CountSettings, vocabulary: list[str] | None
) -> tuple[list[str], tuple[str, ...]]:
    """Choose the vocabulary and the phrases in it.

    Args:
        passes: Passes through the corpus.
        whole: The words of the corpus with their totals. The names of phrases are added.
        settings: The settings, whose `phrases` are "auto" or listed.
        vocabulary: The fixed vocabulary, if there is one.
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
        phrase_occurrences=int(values[lengths > 0].sum()),
        words_in_phrases=int((values * lengths).sum()),
    )
