"""The words nearest to a word at every slice, with intervals.

A smoothed mean is a weighted sum of the means at the knot before and at the knot after. So inner products are taken with the
knots alone, in one matrix product for many words, and weighed afterwards; intervals are worked out for the nearest only. A
filter's mean between knots is no such sum: there the slices are gone through in order of time.
"""

from collections.abc import Sequence

import numpy as np

from wordtide.embeddings.filtered import FilteredTrajectories
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.embeddings.states import Embeddings
from wordtide.questions.answers import Answer, empty_intervals
from wordtide.questions.asking import are_inferred, checked_number
from wordtide.questions.similarity import Scaled, interval, scaled, scaled_words, similarity_and_spread
from wordtide.questions.vectors import Vectors, lengths_of, vectors_of
from wordtide.types import Floats, Integers

_WORDS_AT_ONCE = 500
_SPARE = 20


def neighbors_over_time(model: Embeddings, word: str, top: int = 10, vectors: str | None = None) -> Answer:
    """The words nearest to a word at every slice. Columns: time, word, similarity, low, high, occurrences, inferred."""
    number, chosen = model.word_number(word), vectors_of(model, vectors)
    words, slices, similarity = _nearest_at_slices(model, chosen, number, checked_number("top", top))
    low = high = empty_intervals(len(words))
    if chosen.uncertain and len(words):
        (own,) = scaled_words(chosen, [number], model.times)
        others = scaled(chosen.means_at_places(words, slices), chosen.variances_at_places(words, slices))
        low, high = interval(
            similarity, similarity_and_spread(Scaled(own.mean[slices], own.variance[slices]), others)[1]
        )
    return Answer(
        {
            "time": model.times[slices],
            "word": [model.words[near] for near in words],
            "similarity": similarity,
            "low": low,
            "high": high,
            "occurrences": model.fitted.occurrences.at(words, slices),
            "inferred": are_inferred(model, words, model.times[slices]),
        },
        []
        if len(words)
        else [
            "No other word is well known at any slice: there is too little text. Count with longer slices (--every)."
        ],
    )


def _nearest_at_slices(
    model: Embeddings, vectors: Vectors, word: int, top: int
) -> tuple[Integers, Integers, Floats]:
    """The nearest well known words of each slice, slice by slice: their numbers, the slices, and similarities, each (n,).

    Who is well known is asked of the nearest only: of four times as many, and of more if these are too few.
    """
    pool = 4 * top + _SPARE
    while True:
        numbers, cosines = _most_similar(model, vectors, word, pool)
        slices, places = np.nonzero(np.isfinite(cosines))
        words = numbers[slices, places]
        means, variances = (
            of(words, slices) for of in (vectors.means_at_places, vectors.variances_at_places)
        )
        known = np.zeros(cosines.shape, dtype=bool)
        known[slices, places] = vectors.are_known(words, model.times[slices], means, variances)
        known &= np.cumsum(known, axis=1) <= top
        if (
            pool >= len(model.words)
            or (known.sum(axis=1) >= np.minimum(top, np.isfinite(cosines).sum(axis=1))).all()
        ):
            slices, places = np.nonzero(known)
            return numbers[slices, places], slices, np.clip(cosines[slices, places], -1.0, 1.0)
        pool *= 8


def _most_similar(model: Embeddings, vectors: Vectors, word: int, most: int) -> tuple[Integers, Floats]:
    """Numbers and similarities of the words most similar to a word at each slice, (T, most); -inf where there are fewer."""
    own = vectors.means_of(word, model.times)
    own /= lengths_of(own)[:, None]
    numbers, cosines = np.zeros((len(model), 0), dtype=np.int64), np.zeros((len(model), 0))
    for first in range(0, len(model.words), _WORDS_AT_ONCE):
        words = np.arange(first, min(first + _WORDS_AT_ONCE, len(model.words)))
        product, length = _products(vectors, words, own)
        with np.errstate(divide="ignore", invalid="ignore"):  # words without a direction
            cosine = product / length
        cosine[(words == word)[:, None] | ~np.isfinite(cosine)] = -np.inf
        numbers = np.concatenate([numbers, np.broadcast_to(words, (len(model), len(words)))], axis=1)
        cosines = np.concatenate([cosines, cosine.T], axis=1)
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :most]
        numbers, cosines = (
            np.take_along_axis(numbers, best, axis=1),
            np.take_along_axis(cosines, best, axis=1),
        )
    return numbers, cosines


def _products(vectors: Vectors, words: Integers, own: Floats) -> tuple[Floats, Floats]:
    """Inner products of the means of words, whose numbers follow each other, with `own` (T, d), and their lengths, (n, T)."""
    smoothed = [side for side in vectors.sides if isinstance(side, SmoothedTrajectories)]
    if len(smoothed) == len(vectors.sides):
        return _products_by_knots(vectors, smoothed, words, own)
    filtered = [side for side in vectors.sides if isinstance(side, FilteredTrajectories)]
    if len(filtered) == len(vectors.sides):
        return _products_by_slices(vectors, filtered, words, own)
    slices = np.tile(np.arange(len(own)), len(words))
    means = vectors.means_at_places(np.repeat(words, len(own)), slices).reshape(len(words), *own.shape)
    return np.einsum("ntk,tk->nt", means, own), lengths_of(means)


def _products_by_slices(
    vectors: Vectors, sides: Sequence[FilteredTrajectories], words: Integers, own: Floats
) -> tuple[Floats, Floats]:
    """The same slice after slice, as a filter goes: all slices of so many words at once would not stay in the cache."""
    product, length = np.empty((2, len(own), len(words)))
    for t, parts in enumerate(zip(*(side.means_at_slices(words) for side in sides), strict=True)):
        means = vectors.summed(parts)
        product[t], length[t] = np.einsum("nk,k->n", means, own[t]), lengths_of(means)
    return product.T, length.T


def _products_by_knots(
    vectors: Vectors, sides: Sequence[SmoothedTrajectories], words: Integers, own: Floats
) -> tuple[Floats, Floats]:
    """The same by products with the knots. All sides have the same knots and the same prior, so the same weights."""
    weights, starts = sides[0].weights_at_slices(words), sides[0].knots.starts
    first, last = int(starts[words[0]]), int(starts[words[-1] + 1])
    means = vectors.summed(side.mean[first:last] for side in sides).astype(np.float32)
    if not len(means):
        return np.zeros(weights.before.shape), np.full(weights.before.shape, np.nan)
    inner = means @ own.T.astype(np.float32)
    squares = np.einsum("nk,nk->n", means, means)
    beside = np.append(np.einsum("nk,nk->n", means[:-1], means[1:]), 0.0)
    # a missing knot has weight zero, so that any row will do
    before, after = np.maximum(weights.before - first, 0), np.maximum(weights.after - first, 0)
    slices = np.arange(len(own))
    left, right = weights.before_weight, weights.after_weight
    product = left * inner[before, slices] + right * inner[after, slices]
    squared = left**2 * squares[before] + right**2 * squares[after] + 2.0 * left * right * beside[before]
    return product, np.where(squared > 0, np.sqrt(np.maximum(squared, 0.0)), np.nan)
