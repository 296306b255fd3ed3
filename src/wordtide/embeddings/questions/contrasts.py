"""From what to what: words that a word was near and left, and words that it was not near and came to."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.diffusion import Floats
from wordtide.embeddings.knots import Integers
from wordtide.embeddings.questions.vectors import Vectors, is_settled, lengths_of

#: So many words on either side.
SHOWN = 3
_NEAREST = 40  # at either time: the words to choose from
_LIKENESS = 0.3  # what likeness to a word already chosen costs (maximal marginal relevance)
_ELSEWHERE = 0.25  # what nearness at the other time costs


@dataclass(frozen=True)
class Contrast:
    """Numbers of words near at the start that are less near at the end, and the other way round."""

    lost: list[int]
    gained: list[int]


@dataclass(frozen=True)
class _Moment:
    """All words at one time: means in units of their lengths (L, d); for some words similarities to all (n, L)."""

    units: Floats
    nearness: Floats
    pools: list[Integers]


def contrasts(vectors: Vectors, words: Integers, start: float, end: float, shown: int = SHOWN) -> list[Contrast]:
    """For each of some words from what to what it moved between two times."""
    first, last = _moment(vectors, words, start), _moment(vectors, words, end)
    found = []
    for n in range(len(words)):
        lost = _diverse(first.pools[n], first.nearness[n], last.nearness[n], first.units, shown)
        left = last.pools[n][~np.isin(last.pools[n], lost)]
        found.append(Contrast(lost, _diverse(left, last.nearness[n], first.nearness[n], last.units, shown)))
    return found


def _moment(vectors: Vectors, words: Integers, year: float) -> _Moment:
    means = vectors.means_at(year)
    lengths = lengths_of(means)
    units = np.nan_to_num(means / lengths[:, None])
    nearness = units[words] @ units.T
    nearness[np.arange(len(words)), words] = -np.inf
    nearness[:, ~is_settled(vectors, lengths, year)] = -np.inf
    pools = [np.argpartition(-row, min(_NEAREST, len(row) - 1))[:_NEAREST] for row in nearness]
    pools = [pool[row[pool] > 0] for pool, row in zip(pools, nearness, strict=True)]
    return _Moment(units, nearness, pools)


def _diverse(pool: Integers, here: Floats, there: Floats, units: Floats, shown: int) -> list[int]:
    """Words of the pool near here and less near there, that differ from each other."""
    score = here[pool] - _ELSEWHERE * np.maximum(there[pool], 0.0)
    chosen: list[int] = []
    while len(chosen) < min(shown, len(pool)):
        likeness: npt.NDArray[np.float64] = np.zeros(len(pool))
        if chosen:
            likeness = np.max([units[pool] @ units[one] for one in chosen], axis=0)
        worth = np.where(np.isin(pool, chosen), -np.inf, score - _LIKENESS * likeness)
        chosen.append(int(pool[np.argmax(worth)]))
    return chosen
