"""From what to what: words that a word was near and left, and words that it was not near and came to."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.trajectories import Moments
from wordtide.questions.vectors import Vectors, lengths_of
from wordtide.types import Flags, Floats, Integers

#: So many words on either side are shown, and chosen: words that a word left are not among those that it came
#: to.
SHOWN, CHOSEN = 3, 5
_NEAREST = 20  # at either time: the words to choose from
_ASKED = 60  # of these those that are well known
_LOOKED_AT_FIRST = 26  # the first of these, which mostly are enough
_LIKENESS = 0.3  # what likeness to a word already chosen costs (maximal marginal relevance)
_UNSURE = (
    0.5  # what each standard deviation of what is not known of a word costs: rare words are near by chance
)
_ELSEWHERE = 0.25  # what nearness at the other time costs
_WORDS_AT_ONCE = 500  # their similarities to all words are in memory together


@dataclass(frozen=True)
class Contrast:
    """Numbers of words near at the start that are less near at the end, and the other way round."""

    lost: list[int]
    gained: list[int]


@dataclass(frozen=True)
class _Pool:
    """The words nearest to a word at one time: numbers, similarities then and at another time (m,), to each
    other (m, m).

    `noise` (m,): what is not known of each of them, as the standard deviation of its similarity; 0 without a
    posterior.
    """

    numbers: Integers
    here: Floats
    noise: Floats
    there: Floats
    likeness: Floats


def contrasts(
    vectors: Vectors, words: Integers, start: Moments, end: Moments, shown: int = SHOWN
) -> list[Contrast]:
    """For each of some words from what to what it moved between two times in order: the same for all, or two
    for each word.
    """
    starts, ends = (np.broadcast_to(np.asarray(time, np.float64), len(words)) for time in (start, end))
    found = [Contrast([], []) for _ in words]
    for year in np.unique(
        np.concatenate([starts, ends])
    ):  # a word's start comes before its end, so `lost` is known there
        moment = _Moment(vectors, float(year))
        for row, pool in _pools(moment, words, np.flatnonzero(starts == year), vectors, ends):
            found[row].lost.extend(_diverse(pool, max(shown, CHOSEN)))
        for row, pool in _pools(moment, words, np.flatnonzero(ends == year), vectors, starts):
            found[row].gained.extend(_diverse(pool, shown, found[row].lost[:CHOSEN]))
    for one in found:  # the first ones are the same, however many are shown
        one.lost[:] = [
            word for place, word in enumerate(one.lost[:shown]) if place < CHOSEN or word not in one.gained
        ]
    return found


def contrast_of_groups(one: Vectors, other: Vectors, word: int, time: float, shown: int = SHOWN) -> Contrast:
    """The words that a word is near by one choice of vectors and not by another, and the other way round."""
    found: list[list[int]] = []
    for here, there in ((one, other), (other, one)):
        ((_, pool),) = _pools(
            _Moment(here, time), np.array([word]), np.zeros(1, int), there, np.array([time])
        )
        found.append(_diverse(pool, shown, found[0] if found else None))
    return Contrast(*found)


class _Moment:
    """All words at one time: means in units of their lengths (L, d), the lengths (L,), and variances where
    they are needed.
    """

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
    moment: _Moment, words: Integers, rows: Integers, other: Vectors, other_times: Floats
) -> Iterator[tuple[int, _Pool]]:
    """The pools of the words in some rows, with nearness by other vectors at each word's other time; each
    with its row.
    """
    for first in range(0, len(rows), _WORDS_AT_ONCE):
        some = rows[first : first + _WORDS_AT_ONCE]
        nearness = moment.units[words[some]] @ moment.units.T
        nearness[np.arange(len(some)), words[some]] = -np.inf
        asked = [np.argpartition(-row, min(_ASKED, len(row) - 1))[:_ASKED] for row in nearness]
        asked = [
            pool[np.argsort(-row[pool], kind="stable")][: np.count_nonzero(row[pool] > 0)]
            for pool, row in zip(asked, nearness, strict=True)
        ]
        pools = _nearest_known(moment, asked)
        elsewhere = _nearness_elsewhere(other, words[some], pools, other_times[some])
        noises = _noises(moment, words[some], pools)
        for row, near, pool, noise, there in zip(
            some.tolist(), nearness, pools, noises, elsewhere, strict=True
        ):
            units = moment.units[pool]
            yield row, _Pool(pool, near[pool], noise, there, units @ units.T)


def _nearest_known(moment: _Moment, asked: list[Integers]) -> list[Integers]:
    """The first `_NEAREST` well known words of each list, which is in falling order of nearness.

    Variances cost most of the time, so only lists that lack known words among their first ones are read to
    the end.
    """
    pools: list[Integers] = [pool[:0] for pool in asked]
    for start, stop in ((0, _LOOKED_AT_FIRST), (_LOOKED_AT_FIRST, _ASKED)):
        parts = [
            near[start:stop] if len(pool) < _NEAREST else near[:0]
            for near, pool in zip(asked, pools, strict=True)
        ]
        distinct = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
        known = moment.are_known(distinct)
        pools = [
            np.concatenate([pool, part[known[np.searchsorted(distinct, part)]]])[:_NEAREST]
            for pool, part in zip(pools, parts, strict=True)
        ]
    return pools


def _noises(moment: _Moment, words: Integers, pools: list[Integers]) -> list[Floats]:
    """For each word the standard deviations of its similarities that are due to the uncertainty of the words
    of its pool.
    """
    if not moment.vectors.uncertain:
        return [np.zeros(len(pool)) for pool in pools]
    return [
        np.sqrt(moment.variances(pool) / moment.lengths[pool, None] ** 2 @ moment.units[word] ** 2)
        for word, pool in zip(words, pools, strict=True)
    ]


def _nearness_elsewhere(
    vectors: Vectors, words: Integers, pools: list[Integers], times: Floats
) -> list[Floats]:
    """For each word its similarities to the words of its pool at its other time.

    0 for those without a direction then.
    """
    sizes = [len(pool) for pool in pools]
    own = np.repeat(np.nan_to_num(_units(vectors.means_of_each(words, times))), sizes, axis=0)
    when = np.repeat(times, sizes)
    means = vectors.means_of_each(np.concatenate([np.zeros(0, np.int64), *pools]), when)
    return np.split(np.einsum("nk,nk->n", np.nan_to_num(_units(means)), own), np.cumsum(sizes)[:-1])


def _units(means: Floats) -> Floats:
    return np.asarray(means / lengths_of(means)[:, None])


def _diverse(pool: _Pool, shown: int, without: list[int] | None = None) -> list[int]:
    """Words of the pool surely near here and less near there, that differ from each other."""
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
