"""The words nearest to a word at every slice, with intervals.

The similarities of a word to all others are computed at all slices; uncertainty and intervals follow for the
nearest words only. A smoothed mean is a weighted sum of the means at the knots before and after, so inner
products are computed with the knots alone, in one matrix product for many words, and weighted afterwards. A
filter's mean is that of the last knot, shrunk, so the slices are visited in order of time, and the
uncertainty of each word follows from a few sums per knot.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordtide.embeddings.filtered import FilteredTrajectories
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.embeddings.states import Embeddings
from wordtide.questions.answers import Answer, are_inferred, checked_number, empty_intervals
from wordtide.questions.neighbors import FAINT, pool_size
from wordtide.questions.similarity import Similarity, scaled, scaled_words, similarities
from wordtide.questions.vectors import OFTEN, Vectors, lengths_of, vectors_of
from wordtide.types import Flags, Floats, Integers, Singles

_WORDS_AT_ONCE = 500
_EXAMINED = 1.5  # words examined at first for each word wanted, because some are barely known


@dataclass(frozen=True)
class _Similarities:
    """Similarities of a word to all words at all slices, (T, L); -inf where there is none.

    `known` (T, L): whether each word is well known at each slice; None if not computed.
    """

    cosine: Singles
    known: Flags | None = None


def neighbors_over_time(model: Embeddings, word: str, top: int = 10, vectors: str | None = None) -> Answer:
    """The words nearest to a word at every slice.

    Columns: time, word, similarity, low, high, occurrences, faint, inferred.
    """
    number, chosen = model.word_number(word), vectors_of(model, vectors)
    found = _nearest_at_slices(model, chosen, number, checked_number("top", top))
    words, slices = found.words, found.slices
    low = high = empty_intervals(len(words))
    if chosen.uncertain and len(words):
        low, high = found.similarity.interval()
    return Answer(
        {
            "time": model.times[slices],
            "word": [model.words[near] for near in words],
            "similarity": found.similarity.mean,
            "low": low,
            "high": high,
            "occurrences": model.fitted.occurrences.at(words, slices),
            "faint": found.certainty < FAINT,
            "inferred": are_inferred(model, words, model.times[slices]),
        },
        []
        if len(words)
        else [
            "No other word is well known at any slice: there is too little text. "
            "Count with longer slices (--every)."
        ],
    )


@dataclass(frozen=True)
class _Listed:
    """The words listed at each slice, slice by slice; fields are (n,), as in `neighbors.Candidates`."""

    words: Integers
    slices: Integers
    similarity: Similarity
    certainty: Floats


def _nearest_at_slices(model: Embeddings, vectors: Vectors, word: int, top: int) -> _Listed:
    """The nearest well-known words of each slice, by similarity as in `Candidates.ranked`."""
    own = vectors.means_of(word, model.times)
    own /= lengths_of(own)[:, None]
    found = _similarities(vectors, len(model.words), own)
    cosine = np.where(np.isfinite(found.cosine), found.cosine, -np.inf)
    cosine[:, word] = -np.inf
    if found.known is not None:
        cosine[~found.known] = -np.inf
        words, slices = _best(cosine, np.arange(len(model)), pool_size(top))
    else:
        words, slices = _best_known(vectors, cosine, pool_size(top))
    (one,) = scaled_words(vectors, [word], model.times)
    means, variances = (of(words, slices) for of in (vectors.means_at_places, vectors.variances_at_places))
    others = scaled(means, variances, vectors.noise_share, vectors.closeness)
    compared = similarities(one[slices], others)
    order = np.lexsort((-compared.mean, slices))
    order = order[np.arange(len(order)) - np.searchsorted(slices[order], slices[order]) < top]
    order = order[np.lexsort((others.length[order] < FAINT, slices[order]))]
    listed = Similarity(*(array[order] for array in vars(compared).values()))
    return _Listed(words[order], slices[order], listed, others.length[order])


def _best(cosine: Singles, slices: Integers, most: int) -> tuple[Integers, Integers]:
    """The most similar words at some slices, in descending order of similarity, and the slice of each."""
    part = cosine[slices]
    most = min(most, part.shape[1])
    best = np.argpartition(-part, most - 1, axis=1)[:, :most]
    best = np.take_along_axis(best, np.argsort(-np.take_along_axis(part, best, 1), axis=1, kind="stable"), 1)
    there = np.isfinite(np.take_along_axis(part, best, 1))
    return best[there], np.broadcast_to(slices[:, None], best.shape)[there]


def _best_known(vectors: Vectors, cosine: Singles, most: int) -> tuple[Integers, Integers]:
    """The `most` similar well-known words of each slice, in descending order of similarity."""
    words, slices = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    open_slices, pool = np.arange(len(cosine)), int(_EXAMINED * most)
    while len(open_slices):
        near, where = _best(cosine, open_slices, pool)
        means, variances = (of(near, where) for of in (vectors.means_at_places, vectors.variances_at_places))
        known = vectors.are_known(near, vectors.times[where], means, variances)
        near, where = near[known], where[known]
        first = np.searchsorted(where, where)  # of its slice
        counts = np.bincount(where, minlength=len(cosine))
        done = (counts >= most) | (pool >= cosine.shape[1])
        kept = done[where] & (np.arange(len(where)) - first < most)
        words.append(near[kept])
        slices.append(where[kept])
        open_slices, pool = open_slices[~done[open_slices]], 8 * pool
    found, when = np.concatenate(words), np.concatenate(slices)
    order = np.argsort(when, kind="stable")
    return found[order], when[order]


def _similarities(vectors: Vectors, size: int, own: Floats) -> _Similarities:
    """Similarities of all `size` words to unit vectors `own` (T, d)."""
    filtered = [side for side in vectors.sides if isinstance(side, FilteredTrajectories)]
    if len(filtered) == len(vectors.sides) and not filtered[0].diffusion.pulls:
        return _by_slices(vectors, filtered, size, own)
    cosine = np.empty((len(own), size), dtype=np.float32)
    smoothed = [side for side in vectors.sides if isinstance(side, SmoothedTrajectories)]
    if len(smoothed) == len(vectors.sides):
        for first in range(0, size, _WORDS_AT_ONCE):
            words = np.arange(first, min(first + _WORDS_AT_ONCE, size))
            cosine[:, words] = _by_knots(vectors, smoothed, words, own).T
        return _Similarities(cosine)
    for t, means in enumerate(vectors.means_at_slices(np.arange(size))):
        cosine[t] = means @ own[t] / lengths_of(means)
    return _Similarities(cosine)


def _by_slices(
    vectors: Vectors, sides: Sequence[FilteredTrajectories], size: int, own: Floats
) -> _Similarities:
    """Similarities in a filter that propagates beliefs by gain and noise, and which words are well known.

    With m and s the mean and variance of a word at its last knot, its mean is now a m and its variance
    a^2 s + q. So its cosines are those of m, and its noise along the mean (see `relative_noise`) follows from
    sums over the coordinates.
    """
    knots, diffusion, dim = sides[0].knots, sides[0].diffusion, own.shape[1]
    means = np.zeros((size, dim), dtype=np.float32)
    square, spread, added = np.zeros((3, size))  # sums of m^2, of m^2 s, and of m^2 for each unit of noise
    variances = np.zeros(size)  # means over the coordinates
    since = np.full(size, diffusion.times[0])
    cosine, known = np.empty((len(own), size), dtype=np.float32), np.zeros((len(own), size), dtype=bool)
    for t, rows in enumerate(knots.rows_by_slice(len(own))):
        words, time = knots.words_of(rows), diffusion.times[t]
        mean = vectors.summed(side.mean[rows] for side in sides)
        own_variance = [side.variance[rows] for side in sides]
        variance = vectors.summed(own_variance, power=2)
        variances[words] = own_variance[0].mean(axis=1, dtype=np.float64)
        means[words], since[words] = mean, time
        square[words] = np.einsum("nk,nk->n", mean, mean)
        spread[words] = np.einsum("nk,nk,nk->n", mean, mean, variance)
        again = mean if vectors.scale is None else mean * vectors.scale
        added[words] = len(sides) * np.einsum("nk,nk->n", again, again)
        transition = diffusion.transition(since, np.full(size, time))
        product = np.einsum(
            "nk,k->n", means, own[t].astype(np.float32)
        )  # not with BLAS, whose threads would wait
        factors = vectors.factors(transition.gain**2 * variances + transition.noise, len(sides))
        noise = np.sqrt(factors * (spread + transition.noise / transition.gain**2 * added))
        with np.errstate(divide="ignore", invalid="ignore"):  # words without a direction
            cosine[t] = np.where(square > 0, product / np.sqrt(square), -np.inf)
        often = vectors.occurrences.of_slice(t) >= OFTEN
        known[t] = ((noise <= vectors.most_noise * square) | often) & (square > 0)
    return _Similarities(cosine, known)


def _by_knots(
    vectors: Vectors, sides: Sequence[SmoothedTrajectories], words: Integers, own: Floats
) -> Floats:
    """Similarities of a contiguous range of words in a smoother, from products with their knots, (n, T).

    All sides have the same knots and the same prior, and so the same weights.
    """
    weights, starts = sides[0].weights_at_slices(words), sides[0].knots.starts
    first, last = int(starts[words[0]]), int(starts[words[-1] + 1])
    if first == last:
        return np.full(weights.before.shape, -np.inf)
    means = vectors.summed(side.mean[first:last] for side in sides).astype(np.float32, copy=False)
    inner = means @ own.T.astype(np.float32)
    squares = np.einsum("nk,nk->n", means, means)
    beside = np.append(np.einsum("nk,nk->n", means[:-1], means[1:]), np.float32(0.0))
    # a missing knot has weight zero, so any row will do
    before, after = np.maximum(weights.before - first, 0), np.maximum(weights.after - first, 0)
    slices = np.arange(len(own))
    left, right = weights.before_weight, weights.after_weight
    product = left * inner[before, slices] + right * inner[after, slices]
    squared = left**2 * squares[before] + right**2 * squares[after] + 2.0 * left * right * beside[before]
    with np.errstate(divide="ignore", invalid="ignore"):  # words without a direction
        return np.where(squared > 0, product / np.sqrt(squared), -np.inf)
