"""What a word moved away from and toward: the neighbors it lost between two times, and those it gained."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.trajectories import Years
from wordtide.questions.vectors import Vectors, lengths_of
from wordtide.types import Flags, Floats, Integers

#: The number of lost and of gained neighbors shown by default, and the number chosen. No word is both.
SHOWN, CHOSEN = 3, 5
_NEAREST = 20  # candidates at either time
_ASKED = 60  # nearest words among which well-known candidates are sought
_ASKED_FIRST = 26  # of these, which suffice for most words
_LIKENESS = 0.3  # penalty for similarity to a word already chosen (maximal marginal relevance)
_UNSURE = 0.5  # penalty for each standard deviation of a similarity: rare words are near by chance
_ELSEWHERE = 0.25  # penalty for similarity at the other time
_WORDS_AT_ONCE = 500  # words whose similarities to all others are in memory together


@dataclass(frozen=True)
class Contrast:
    """Numbers of words that are near at the start and less near at the end, and vice versa."""

    lost: list[int]
    gained: list[int]


@dataclass(frozen=True)
class _Pool:
    """The candidates for the neighbors that a word lost or gained, as they are at one time.

    `numbers` (m,) of the words, their similarities to the word `here`, at this time, and `there`, at the
    other time (m,), and their `likeness` to each other (m, m).

    `noise` (m,): the standard deviation of each similarity due to the candidate's own uncertainty; 0 without
    a posterior.
    """

    numbers: Integers
    here: Floats
    noise: Floats
    there: Floats
    likeness: Floats


def contrasts(
    vectors: Vectors, words: Integers, start: Years, end: Years, shown: int = SHOWN
) -> list[Contrast]:
    """Find the neighbors that each word lost and gained between two times in order.

    Times are the same for all words, or given for each.
    """
    starts, ends = (np.broadcast_to(np.asarray(time, np.float64), len(words)) for time in (start, end))
    found = [Contrast([], []) for _ in words]
    for year in np.unique(np.concatenate([starts, ends])):  # a word starts before it ends: first `lost`
        now = _WordsAtTime(vectors, float(year))
        for row, pool in _pools(now, words, np.flatnonzero(starts == year), vectors, ends):
            found[row].lost.extend(_diverse(pool, max(shown, CHOSEN)))
        for row, pool in _pools(now, words, np.flatnonzero(ends == year), vectors, starts):
            found[row].gained.extend(_diverse(pool, shown, found[row].lost[:CHOSEN]))
    for one in found:  # showing more words does not change the first ones
        one.lost[:] = [
            word for place, word in enumerate(one.lost[:shown]) if place < CHOSEN or word not in one.gained
        ]
    return found


def contrast_of_groups(one: Vectors, other: Vectors, word: int, time: float) -> Contrast:
    """Find the neighbors of a word that only one of two sets of vectors has."""
    found: list[list[int]] = []
    for here, there in ((one, other), (other, one)):
        ((_, pool),) = _pools(
            _WordsAtTime(here, time), np.array([word]), np.zeros(1, int), there, np.array([time])
        )
        found.append(_diverse(pool, SHOWN, found[0] if found else None))
    return Contrast(*found)


class _WordsAtTime:
    """All words at one time: means scaled to length 1 (L, d), their lengths (L,), and variances on demand."""

    def __init__(self, vectors: Vectors, year: float) -> None:
        means = vectors.means_at(year)
        self.vectors, self.year = vectors, year
        self.lengths = lengths_of(means)
        self.units: Floats = means / np.where(np.isnan(self.lengths), np.inf, self.lengths)[:, None]
        self._variances = np.empty_like(means)
        self._has_variance = np.zeros(len(means), dtype=bool)

    def variances(self, words: Integers) -> Floats:
        """Variances of some words, (n, d), each computed once."""
        missing = np.unique(words[~self._has_variance[words]])
        if len(missing):
            self._variances[missing] = self.vectors.variances_at(self.year, missing)
            self._has_variance[missing] = True
        return np.asarray(self._variances[words])

    def are_known(self, words: Integers) -> Flags:
        """Whether some words are well known at this time, (n,)."""
        means = self.units[words] * np.nan_to_num(self.lengths[words])[:, None]
        return self.vectors.are_known(words, np.full(len(words), self.year), means, self.variances(words))


def _pools(
    now: _WordsAtTime, words: Integers, rows: Integers, other: Vectors, other_times: Floats
) -> Iterator[tuple[int, _Pool]]:
    """Yield the row and the pool of each word in `rows`.

    `other` are the vectors in which words are compared at their other times.
    """
    for first in range(0, len(rows), _WORDS_AT_ONCE):
        some = rows[first : first + _WORDS_AT_ONCE]
        nearness = now.units[words[some]] @ now.units.T
        nearness[np.arange(len(some)), words[some]] = -np.inf
        asked = [np.argpartition(-row, min(_ASKED, len(row) - 1))[:_ASKED] for row in nearness]
        asked = [
            pool[np.argsort(-row[pool], kind="stable")][: np.count_nonzero(row[pool] > 0)]
            for pool, row in zip(asked, nearness, strict=True)
        ]
        pools = _nearest_known(now, asked)
        elsewhere = _nearness_elsewhere(other, words[some], pools, other_times[some])
        noises = _noises(now, words[some], pools)
        for row, near, pool, noise, there in zip(
            some.tolist(), nearness, pools, noises, elsewhere, strict=True
        ):
            units = now.units[pool]
            yield row, _Pool(pool, near[pool], noise, there, units @ units.T)


def _nearest_known(now: _WordsAtTime, asked: list[Integers]) -> list[Integers]:
    """The first `_NEAREST` well-known words of each list, which is sorted by descending similarity.

    Computing variances takes most of the time, so a list is read to its end only if its first words do not
    suffice.
    """
    pools: list[Integers] = [pool[:0] for pool in asked]
    for start, stop in ((0, _ASKED_FIRST), (_ASKED_FIRST, _ASKED)):
        parts = [
            near[start:stop] if len(pool) < _NEAREST else near[:0]
            for near, pool in zip(asked, pools, strict=True)
        ]
        distinct = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
        known = now.are_known(distinct)
        pools = [
            np.concatenate([pool, part[known[np.searchsorted(distinct, part)]]])[:_NEAREST]
            for pool, part in zip(pools, parts, strict=True)
        ]
    return pools


def _noises(now: _WordsAtTime, words: Integers, pools: list[Integers]) -> list[Floats]:
    """The standard deviations of similarities due to the uncertainty of the words in each pool."""
    if not now.vectors.uncertain:
        return [np.zeros(len(pool)) for pool in pools]
    return [
        np.sqrt(now.variances(pool) / now.lengths[pool, None] ** 2 @ now.units[word] ** 2)
        for word, pool in zip(words, pools, strict=True)
    ]


def _nearness_elsewhere(
    vectors: Vectors, words: Integers, pools: list[Integers], times: Floats
) -> list[Floats]:
    """The similarities of words to those of their pools at their other times; 0 without a direction."""
    sizes = [len(pool) for pool in pools]
    own = np.repeat(np.nan_to_num(_units(vectors.means_of_each(words, times))), sizes, axis=0)
    when = np.repeat(times, sizes)
    means = vectors.means_of_each(np.concatenate([np.zeros(0, np.int64), *pools]), when)
    return np.split(np.einsum("nk,nk->n", np.nan_to_num(_units(means)), own), np.cumsum(sizes)[:-1])


def _units(means: Floats) -> Floats:
    return np.asarray(means / lengths_of(means)[:, None])


def _diverse(pool: _Pool, shown: int, without: list[int] | None = None) -> list[int]:
    """Choose words that are reliably near at this time, less near at the other, and unlike each other."""
    worth = pool.here - _UNSURE * pool.noise - _ELSEWHERE * np.maximum(pool.there, 0.0)
    if without:
        worth[np.isin(pool.numbers, without)] = -np.inf
    likeness: npt.NDArray[np.float64] = np.zeros(len(worth))
    chosen: list[int] = []
    for _ in range(min(shown, int(np.count_nonzero(np.isfinite(worth))))):
        best = int(np.argmax(worth - _LIKENESS * likeness))
        likeness = pool.likeness[best] if not chosen else np.maximum(likeness, pool.likeness[best])
        worth[best] = -np.inf
        chosen.append(int(pool.numbers[best]))
    return chosen
