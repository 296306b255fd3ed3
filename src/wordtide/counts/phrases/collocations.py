"""The search for phrases: words that follow each other far more often than by chance, in any era.

The score of the words a and b, in that order, is their normalized pointwise mutual information

    npmi(a, b) = log(n(ab) N / (n(a) n(b))) / log(N / n(ab)),

where n counts occurrences and N all words: 0 for words that meet by chance, 1 for words that never occur
apart. The more frequent a word is, the more grammar shapes its company ("has been", "more than"), so the
score that a pair needs rises with the relative frequency p of its more frequent word:

    npmi(a, b) >= LEAST_SCORE + SCORE_PER_DECADE * max(0, log10(p / PLAIN_FREQUENCY)).

The test is applied in each era and over all of time, wherever the pair occurs LEAST_COUNT times or more;
passing one of them is enough. Eras have the same length in years, so phrases of all times have the same
chance. The search is repeated with the phrases it found as words, which gives phrases of up to four words.

Sums of neighbors are exact and bounded in memory: candidates are at most `MOST_WORDS` words, pairs whose
words occur too unequally to reach the score are not counted (`least_partners`), and what does not fit goes to
disk (`SliceSums`).
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.compiled import kernel
from wordtide.corpus.tokens.lexicon import LONGEST_WORD
from wordtide.corpus.tokens.tokenizers import MASKS
from wordtide.counts.pairs import bits_for, sort_codes, sum_runs
from wordtide.counts.phrases.phrase_table import join_parts, name_of
from wordtide.counts.segments import Segment
from wordtide.counts.sums import KeySums
from wordtide.counts.workers import PairRule
from wordtide.timeline import Slices
from wordtide.types import Array, Floats, Integers

ERAS: Final = 8
MOST_WORDS: Final = 1 << 16
LONGEST_PHRASE: Final = 4
LEAST_COUNT: Final = 10
LEAST_SCORE: Final = 0.5
SCORE_PER_DECADE: Final = 0.2
PLAIN_FREQUENCY: Final = 1e-4


class Units(NamedTuple):
    """What may be part of a phrase: words, and phrases found so far."""

    words: list[str]
    phrases: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Their names, in the order of their numbers."""
        return [*self.words, *map(name_of, self.phrases)]

    def lengths(self) -> Integers:
        """The number of words of each."""
        longer = [phrase.count(" ") + 1 for phrase in self.phrases]
        return np.array([1] * len(self.words) + longer, dtype=np.int64)

    def joined(self, pairs: Array) -> list[str]:
        """The phrases that pairs of units make."""
        texts, bits = [*self.words, *self.phrases], bits_for(len(self.words) + len(self.phrases))
        low = (1 << bits) - 1
        return [f"{texts[pair >> bits]} {texts[pair & low]}" for pair in pairs.tolist()]


def find_eras(slices: Slices) -> Integers:
    """The era of each slice, (T,): `ERAS` periods of the same length."""
    times = slices.times()
    span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    if span <= 0:
        return np.zeros(len(times), dtype=np.int64)
    eras: Integers = np.minimum((times - times[0]) / span * ERAS, ERAS - 1).astype(np.int64)
    return eras


def era_sizes(slices: Slices) -> Integers:
    """The number of words of each era, and of all of time, (ERAS + 1,)."""
    sizes = np.bincount(find_eras(slices), weights=slices.tokens, minlength=ERAS).astype(np.int64)
    return np.append(sizes, sizes.sum())


@kernel
def _count_units(
    ids: npt.NDArray[np.int32],
    starts: Integers,
    eras: Integers,
    numbering: npt.NDArray[np.int32],
    occurrences: Integers,
) -> None:
    for entry in range(starts.size - 1):
        era = eras[entry]
        if era < 0:
            continue
        for place in range(starts[entry], starts[entry + 1]):
            if ids[place] >= 0 and numbering[ids[place]] >= 0:
                occurrences[era, numbering[ids[place]]] += 1


@kernel
def _find_neighbors(
    ids: npt.NDArray[np.int32],
    starts: Integers,
    eras: Integers,
    numbering: npt.NDArray[np.int32],
    lengths: Integers,
    longest: int,
    occurrences: Integers,
    least: Integers,
    bits: int,
    codes: Array,
) -> int:
    """Write the codes of units a and b that follow each other and may form a phrase; returns their number.

    A code is `(era << bits | a) << bits | b`. Pairs of single words are left out if there are longer units:
    they have been scored before.
    """
    found = 0
    shortest = 2 if lengths[-1] == 1 else 3
    whole = occurrences.shape[0] - 1
    for entry in range(starts.size - 1):
        era = eras[entry]
        if era < 0:
            continue
        before = np.int32(-1)
        for place in range(starts[entry], starts[entry + 1]):
            unit = np.int32(-1)
            if ids[place] >= 0:
                unit = numbering[ids[place]]
            if unit >= 0 and before >= 0 and shortest <= lengths[before] + lengths[unit] <= longest:
                able = False
                for period in (era, whole):
                    one, other = occurrences[period, before], occurrences[period, unit]
                    able = able or (
                        other >= least[period, before] if one >= other else one >= least[period, unit]
                    )
                if able:
                    pair = np.uint64(era) << np.uint64(bits) | np.uint64(before)
                    codes[found] = pair << np.uint64(bits) | np.uint64(unit)
                    found += 1
            before = unit
    return found


class NeighborRule(NamedTuple):
    """Which neighbors are counted.

    `pairs` maps numbers to units and joins phrases. `occurrences` (ERAS + 1, units): of each unit in each era
    and, last, in all of time. `least`, of the same shape: how often another unit must occur to form a phrase
    with a unit that occurs more often.
    """

    pairs: PairRule
    lengths: Integers
    occurrences: Integers
    least: Integers

    @staticmethod
    def of(pairs: PairRule, units: Units, occurrences: Integers, sizes: Integers) -> "NeighborRule":
        """Make a rule for units with these occurrences in eras of these sizes."""
        return NeighborRule(pairs, units.lengths(), occurrences, least_partners(occurrences, sizes))


def least_partners(occurrences: Integers, sizes: Integers) -> Integers:
    """How often a unit must occur at least to form a phrase with a more frequent one.

    The score of a pair is highest if the rarer unit occurs in the pair only: log p / log q for the
    frequencies p > q. That reaches the score s that the pair needs only if q >= p^(1/s).
    """
    words = np.maximum(1, sizes)[:, None]
    frequency = np.maximum(occurrences, 1) / words
    needed = needed_score(frequency)
    with np.errstate(under="ignore"):
        least = 0.999 * words * frequency ** (1 / needed)  # rounding must not exclude a pair
    least = np.where(needed > 1, np.iinfo(np.int64).max / 2, np.maximum(least, LEAST_COUNT))
    return np.ceil(least).astype(np.int64)


def count_units(segment: Segment, eras: Integers, rule: PairRule) -> Integers:
    """How often each unit occurs in each era and, last, in all of time, (ERAS + 1, units).

    `eras` has the era of each entry of the segment; -1 leaves an entry out.
    """
    occurrences = np.zeros((ERAS + 1, rule.words), dtype=np.int64)
    _count_units(*_stream(segment, rule), eras, rule.numberings[segment.scanner], occurrences)
    occurrences[ERAS] = occurrences[:ERAS].sum(axis=0)
    return occurrences


def count_neighbors(segment: Segment, eras: Integers, rule: NeighborRule) -> list[KeySums]:
    """Count the units of a segment that follow each other, in each era; see `count_units`."""
    ids, starts = _stream(segment, rule.pairs)
    bits = bits_for(rule.pairs.words)
    high = bits_for(ERAS) + 2 * bits
    codes = np.empty(len(ids), dtype=np.uint32 if high <= 32 else np.uint64)
    found = _find_neighbors(
        ids, starts, eras, rule.pairs.numberings[segment.scanner], rule.lengths, LONGEST_PHRASE,
        rule.occurrences, rule.least, bits, codes,
    )  # fmt: skip
    kept, spare = sort_codes(codes[:found], np.empty(found, dtype=codes.dtype), 0, high)
    sums = spare.view(np.uint32)
    found = sum_runs(kept, 0, kept, sums)
    keys = kept[:found].astype(np.uint64)
    ends = np.searchsorted(keys, np.arange(ERAS + 1, dtype=np.uint64) << np.uint64(2 * bits))
    keys &= np.uint64((1 << 2 * bits) - 1)
    totals = sums[:found].astype(np.int64)
    return [KeySums(keys[start:stop], totals[start:stop]) for start, stop in pairwise(ends)]


def _stream(segment: Segment, rule: PairRule) -> tuple[npt.NDArray[np.int32], Integers]:
    ids = np.asarray(segment.ids)
    return (
        join_parts(ids, segment.starts, rule.tables[segment.scanner])
        if rule.tables
        else (ids, segment.starts)
    )


def needed_score(frequency: Floats) -> Floats:
    """The score that a pair needs, by the frequency of its more frequent unit."""
    with np.errstate(divide="ignore"):
        return LEAST_SCORE + SCORE_PER_DECADE * np.maximum(0.0, np.log10(frequency / PLAIN_FREQUENCY))


def score_pairs(both: Integers, one: Integers, other: Integers, words: int) -> tuple[Floats, Floats]:
    """The normalized pointwise mutual information of pairs, and how far it exceeds what they need, (n,) each.

    `both`, `one` and `other` count the pairs, their first and their second units, (n,); `words` counts all
    words.
    """
    information = np.log(both * (float(words) / one / other))
    scores = information / np.log(words / both)
    return scores, scores - needed_score(np.maximum(one, other) / words)


def select_pairs(blocks: Iterable[KeySums], occurrences: Integers, words: int) -> Array:
    """The pairs of one era that have the score they need, ascending, from ascending blocks of all pairs.

    `occurrences` counts each unit, and `words` all words of the era.
    """
    bits = np.uint64(bits_for(len(occurrences)))
    mask = (np.uint64(1) << bits) - np.uint64(1)
    chosen = [np.zeros(0, dtype=np.uint64)]
    for block in blocks:
        frequent = block.sums >= LEAST_COUNT
        keys, both = block.keys[frequent].astype(np.uint64), block.sums[frequent]
        one, other = occurrences[(keys >> bits).astype(np.int64)], occurrences[(keys & mask).astype(np.int64)]
        chosen.append(keys[score_pairs(both, one, other, words)[1] >= 0])
    return np.concatenate(chosen)


def candidate_words(ranked: Sequence[str]) -> list[str]:
    """The words that may be part of a phrase, from those of the vocabulary, most frequent first."""
    able = (word for word in ranked if " " not in word and word not in MASKS)
    return [word for _, word in zip(range(MOST_WORDS), able, strict=False)]


def candidate_phrases(units: Units, pairs: Array) -> list[str]:
    """The phrases that pairs make, in alphabetical order; without those whose names are too long."""
    return sorted(
        phrase
        for phrase in units.joined(pairs)
        if len(name_of(phrase).encode("utf-8")) <= LONGEST_WORD and phrase.count(" ") < LONGEST_PHRASE
    )
