"""The nearest words of every word at every slice, as the library lists them, in a form that is small.

The page's vectors are too coarse to order words whose similarities differ by a few thousandths: of the lists
of the State of the Union, four of ten would not be those of `wordtide neighbors`. So the page is given the
lists themselves. From slice to slice most stay the same, which makes them small.

A block of lists is the number of fresh words, uint32; their numbers, uint32; then a code per list, word by
word. The code is `SAME` if the list is that of the slice before, or else ten bytes: the position of each word
in the list before (`FRESH`: the next fresh word; `NONE`: the list is shorter). A word's first list follows an
empty one.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from wordtide.compiled import inlined, kernel
from wordtide.explorer.page_views import PageSelection
from wordtide.progress import Observer
from wordtide.questions.neighbors import FAINT, pool_size
from wordtide.questions.similarity import MOST_OF_PRIOR, NOTHING, scaled
from wordtide.questions.vectors import Vectors, lengths_of
from wordtide.system import available_processors, one_blas_thread
from wordtide.types import Floats, Indices, Integers

Array = Any

#: The length of a list, which is the default of `wordtide neighbors`.
LISTED = 10
SAME, FRESH, NONE = 255, 254, 253
_WORDS_AT_ONCE = 500
_SPARE = 8  # words near the end of the pool, whose order single precision may mistake


@one_blas_thread()
def nearest_lists(
    vectors: Vectors,
    kept: PageSelection,
    threads: int | None = None,
    observer: Observer | None = None,
    asked: Integers | None = None,
) -> Indices:
    """The lists of the words `asked` for (or all), at all slices of a page, among the words of the page.

    They are positions on the page, (N, S, 10); -1 where a list is shorter. The number of threads does not
    change the result.
    """
    observer = observer or Observer()
    words = np.arange(len(kept.words)) if asked is None else asked
    lists = np.empty((len(words), len(kept.slices), LISTED), dtype=np.int32)

    def of_slice(place: int) -> None:
        lists[:, place] = lists_at(vectors, kept, place, words)
        observer.step()

    with (
        observer.stage("neighbors", len(kept.slices), "slices"),
        ThreadPoolExecutor(threads or available_processors()) as pool,
    ):
        list(pool.map(of_slice, range(len(kept.slices))))
    return lists


def lists_at(vectors: Vectors, kept: PageSelection, place: int, asked: Integers) -> Indices:
    """The lists of words at one slice, given by their positions on the page, (n, 10)."""
    order = np.argsort(kept.words, kind="stable")  # ties are broken by the numbers of words
    time = float(vectors.times[kept.slices[place]])
    units, certainty, variances, known = _described(vectors, kept.words[order], time)
    shape = vectors.noise_share, vectors.closeness
    rough, found = units.astype(np.float32), np.full((len(asked), LISTED), -1)
    rows = np.argsort(order)[asked]
    for first in range(0, len(rows), _WORDS_AT_ONCE):
        some = slice(first, first + _WORDS_AT_ONCE)
        cosine = rough[rows[some]] @ rough[known].T
        _choose(
            cosine, rows[some], known, units, certainty, variances, *shape, pool_size(LISTED), found[some]
        )
    return np.where(found < 0, -1, order[found]).astype(np.int32)


def _described(vectors: Vectors, words: Integers, time: float) -> tuple[Floats, Floats, Floats, Integers]:
    """Unit means of words at a time (n, d), the known share of their expected lengths (n,), their variances
    in units of these lengths (n, d), and the rows of those that are well known.
    """
    means = vectors.means_at(time, words)
    variances = vectors.variances_at(time, words) if vectors.uncertain else np.zeros_like(means)
    known = vectors.are_known(words, np.full(len(words), time), means, variances)
    found = scaled(means, variances, vectors.noise_share)
    return means / lengths_of(means)[:, None], found.length, found.variance, np.flatnonzero(known)


@inlined
def _insert(scores: Array, places: Array, score: Any, place: Any) -> None:
    """Insert into lists that are sorted by falling scores, after equal scores; the last entry drops out."""
    if score > scores[-1]:
        at = len(scores) - 1
        while at > 0 and score > scores[at - 1]:
            scores[at], places[at] = scores[at - 1], places[at - 1]
            at -= 1
        scores[at], places[at] = score, place


@inlined
def _similarity(
    own: Any, other: Any, cosine: Any, units: Any, certainty: Any, variances: Any, share: Any, closeness: Any
) -> float:
    """The similarity of two words whose unit means have this cosine, as in `questions.similarity`."""
    mean, variance = cosine * certainty[own] * certainty[other], 0.0
    for k in range(units.shape[1]):
        one, two = units[own, k] * certainty[own], units[other, k] * certainty[other]
        variance += one * one * variances[other, k] + two * two * variances[own, k]
        variance += share * variances[own, k] * variances[other, k]
    variance *= 1.0 - mean * mean
    weight = mean * mean / max(mean * mean + variance, NOTHING)
    return float(mean / (1.0 - min(closeness * weight * variance, MOST_OF_PRIOR)))


@kernel
def _choose(
    cosine: Array,
    rows: Array,
    known: Array,
    units: Array,
    certainty: Array,
    variances: Array,
    share: float,
    closeness: float,
    pool: int,
    lists: Array,
) -> None:
    """Fill the lists of the words in some rows, given their approximate cosines with known words.

    As in `questions.neighbors`: the `pool` words with the highest cosines are ranked by similarity, and faint
    ones follow the others.
    """
    least = -2.0
    for row in range(cosine.shape[0]):
        own = rows[row]
        rough, near = np.full(pool + _SPARE, np.float32(least)), np.full(pool + _SPARE, -1)
        for column in range(len(known)):
            if known[column] != own:
                _insert(rough, near, cosine[row, column], known[column])
        exact, closest = np.full(pool, least), np.full(pool, -1)
        for other in np.sort(near):
            if other >= 0:
                _insert(exact, closest, units[own] @ units[other], other)
        top = lists.shape[1]
        similar, best = np.full(top, least), np.full(top, -1)
        for place in range(pool):
            if closest[place] >= 0:
                other = closest[place]
                found = _similarity(own, other, exact[place], units, certainty, variances, share, closeness)
                _insert(similar, best, found, other)
        end = 0
        for faint in (False, True):
            for other in best:
                if other >= 0 and (certainty[other] < FAINT) == faint:
                    lists[row, end] = other
                    end += 1


def lists_block(lists: Indices) -> bytes:
    """The stored form of lists (N, S, 10), before compression."""
    codes, fresh = np.empty(lists.size, dtype=np.uint8), np.empty(lists.size, dtype=np.uint32)
    length, number = _encode(lists, codes, fresh)
    stored = np.array([number], dtype="<u4").tobytes(), fresh[:number].astype("<u4").tobytes()
    return b"".join([*stored, codes[:length].tobytes()])


@kernel
def _encode(lists: Array, codes: Array, fresh: Array) -> tuple[int, int]:
    """Fill codes and fresh words; returns how many there are of each."""
    length = number = 0
    for word in range(lists.shape[0]):
        before = np.full(lists.shape[2], -1, dtype=np.int32)
        for place in range(lists.shape[1]):
            now = lists[word, place]
            if np.all(now == before):
                codes[length] = SAME
                length += 1
                continue
            for other in now:
                codes[length] = NONE if other < 0 else FRESH
                for position in range(len(before)):
                    if other >= 0 and before[position] == other:
                        codes[length] = position
                if codes[length] == FRESH:
                    fresh[number] = other
                    number += 1
                length += 1
            before = now
    return length, number
