"""Similarity: the inner product of two vectors, in units of the lengths of their posterior means.

With x = u / |mean| its posterior mean is the cosine of the means, the paper's measure, and its variance has a
closed form:

    s = x_i . x_j,    E[s] = cos(mean_i, mean_j),    Var[s] = sum_k m_ik^2 s_jk + m_jk^2 s_ik + s_ik s_jk

with m, s the mean and variance of x. The last term is the product of both noises (docs/mathematics.md).

**An axis** runs between two poles: the position of a word on it is its mean similarity to the words of one
pole minus that to the words of the other. That is the projection of a word's vector, in units of its length,
on the difference of the poles' mean directions; its variance adds what is not known of the word, and of each
pole word.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.states import Embeddings, Times
from wordtide.errors import SettingsError
from wordtide.questions.asking import Answer, Occasions, empty_intervals, occurrences_at, words_numbers
from wordtide.questions.vectors import Vectors, lengths_of, vectors_of
from wordtide.types import Floats, Integers


def axis(
    model: Embeddings,
    words: Sequence[str],
    from_words: Sequence[str],
    to_words: Sequence[str],
    times: Times = None,
    vectors: str | None = None,
) -> Answer:
    """Words between two poles over time: positive is nearer to the pole `to_words`.

    Columns: time, word, position, low, high, occurrences.
    """
    words, from_words, to_words = (
        [names] if isinstance(names, str) else names for names in (words, from_words, to_words)
    )
    if not words or not from_words or not to_words:
        raise SettingsError(
            "A pole, or the list of words between them, is empty.", "Give at least one word for each."
        )
    occasions = Occasions.of(model, times)
    chosen = vectors_of(model, vectors)
    poles = dict.fromkeys(words_numbers(model, [*from_words, *to_words]), 0.0)
    if set(words_numbers(model, from_words)) & set(words_numbers(model, to_words)):
        raise SettingsError("A word is at both poles of the axis.", "Leave it out on one side.")
    for sign, names in ((-1.0, from_words), (1.0, to_words)):
        for number in words_numbers(model, names):
            poles[number] += sign / len(names)
    columns: dict[str, list[object]] = {
        name: [] for name in ("time", "word", "position", "low", "high", "occurrences")
    }
    numbers = words_numbers(model, words)
    for number in numbers:
        if number in poles:
            raise SettingsError(
                f"{model.words[number]!r} is a pole of the axis.", "Leave it out on one side."
            )
    ends = dict(zip(poles, scaled_words(chosen, list(poles), occasions.years), strict=True))
    for number, one in zip(numbers, scaled_words(chosen, numbers, occasions.years), strict=True):
        direction: Floats = np.sum([weight * ends[pole].mean for pole, weight in poles.items()], axis=0)
        position = np.einsum("nk,nk->n", one.mean, direction)
        variance = np.einsum("nk,nk->n", direction**2, one.variance)
        for pole, weight in poles.items():
            variance += weight**2 * np.einsum("nk,nk->n", one.mean**2 + one.variance, ends[pole].variance)
        reach = SIDES * np.sqrt(variance) if chosen.uncertain else empty_intervals(len(position))
        columns["time"] += occasions.years.tolist()
        columns["word"] += [model.words[number]] * len(position)
        columns["position"] += position.tolist()
        columns["low"] += np.maximum(position - reach, -2.0).tolist()
        columns["high"] += np.minimum(position + reach, 2.0).tolist()
        columns["occurrences"] += occurrences_at(model, number, occasions).tolist()
    return Answer(columns, occasions.notes)


#: Half the width of a 90% interval in standard deviations.
SIDES = 1.6448536269514722


@dataclass(frozen=True)
class Scaled:
    """Vectors in units of the lengths of their means: means of length 1, and variances, both (..., d)."""

    mean: Floats
    variance: Floats

    def __getitem__(self, rows: Integers) -> "Scaled":
        return Scaled(self.mean[rows], self.variance[rows])


def scaled(mean: npt.NDArray[np.floating], variance: npt.NDArray[np.floating]) -> Scaled:
    """Divide by the lengths of the means; a mean of length zero gives NaN."""
    lengths = lengths_of(mean)[..., None]
    return Scaled(mean / lengths, variance / lengths**2)


def similarity_and_spread(one: Scaled, other: Scaled) -> tuple[Floats, Floats]:
    """Posterior mean and standard deviation of the similarity of two words, whose vectors are independent."""
    mean = np.einsum("...k,...k->...", one.mean, other.mean)
    variance = np.einsum("...k,...k->...", one.mean**2 + one.variance, other.variance)
    variance += np.einsum("...k,...k->...", other.mean**2, one.variance)
    return np.clip(mean, -1.0, 1.0), np.sqrt(variance)


def interval(mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """The 90% interval, cut off at -1 and 1."""
    return np.maximum(mean - SIDES * spread, -1.0), np.minimum(mean + SIDES * spread, 1.0)


def scaled_words(vectors: Vectors, words: Sequence[int], times: Floats) -> list[Scaled]:
    """Words at several times, (n, d) each."""
    curves = vectors.variance_curves(np.array(words, dtype=np.int64), times)
    return [
        scaled(vectors.means_of(word, times), variance) for word, variance in zip(words, curves, strict=True)
    ]


def similarity(
    model: Embeddings, word: str, *others: str, times: Times = None, vectors: str | None = None
) -> Answer:
    """Similarity of a word to others over time: columns time, word, other, similarity, low, high, and both
    occurrences.
    """
    if not others:
        raise SettingsError(f"There is no word to compare {word!r} with.", "Give at least one more word.")
    occasions = Occasions.of(model, times)
    number, *numbers = words_numbers(model, [word, *others])
    chosen = vectors_of(model, vectors)
    one, *rest = scaled_words(chosen, [number, *numbers], occasions.years)
    columns: dict[str, list[object]] = {
        name: [] for name in ("time", "word", "other", "similarity", "low", "high")
    }
    columns |= {"occurrences": [], "other_occurrences": []}
    for other, vector in zip(numbers, rest, strict=True):
        mean, spread = similarity_and_spread(one, vector)
        if other == number:
            mean, spread = np.where(np.isnan(mean), mean, 1.0), np.zeros_like(spread)
        low, high = interval(mean, spread) if chosen.uncertain else (empty_intervals(len(mean)),) * 2
        columns["time"] += occasions.years.tolist()
        columns["word"] += [model.words[number]] * len(mean)
        columns["other"] += [model.words[other]] * len(mean)
        columns["similarity"] += mean.tolist()
        columns["low"] += low.tolist()
        columns["high"] += high.tolist()
        columns["occurrences"] += occurrences_at(model, number, occasions).tolist()
        columns["other_occurrences"] += occurrences_at(model, other, occasions).tolist()
    return Answer(columns, occasions.notes)
