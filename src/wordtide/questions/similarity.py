"""Similarity: the posterior of the cosine of two words' vectors, by its mean and its 90% interval.

Uncertainty makes a posterior mean shorter than the vector itself, so vectors are measured in units of their
expected lengths: with x = u / sqrt(E[|u|^2]), and m, s the mean and variance of x,

    E[x_i . x_j] = m_i . m_j,    Var[x_i . x_j] = sum_k m_ik^2 s_jk + m_jk^2 s_ik + s_ik s_jk

and Var[cos] is about (1 - E^2) Var, because noise along the vectors turns neither of them. Without a
posterior E is the cosine of the point estimates.

The prior treats words as unrelated, and so pulls E to zero. The calibration measures the part p of the
precision 1 / Var that this wrongly adds (`closeness`). Without it, E and Var grow by the factor
1 / (1 - p Var). Of a cosine within its error of zero less is taken away, since most words are unrelated.

The cosine of posterior means, the paper's measure, is m_i . m_j divided by the lengths of both. For words
that are barely known it is far above the true cosine.

**An axis** runs between two poles: the position of a word on it is its mean similarity to the words of one
pole minus that to the words of the other. This is the projection of a word's vector, in units of its length,
on the difference of the poles' mean directions; its variance adds those of the word and of each pole word.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.states import Embeddings, Times
from wordtide.errors import SettingsError
from wordtide.questions.answers import Answer, QuestionTimes, empty_intervals, occurrences_at, word_numbers
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
    """Place words between two poles over time; positions near the pole `to_words` are positive.

    Columns: time, word, position, low, high, occurrences.
    """
    words, from_words, to_words = (
        [names] if isinstance(names, str) else names for names in (words, from_words, to_words)
    )
    if not words or not from_words or not to_words:
        raise SettingsError(
            "A pole, or the list of words between them, is empty.", "Give at least one word for each."
        )
    asked = QuestionTimes.of(model, times)
    chosen = vectors_of(model, vectors)
    poles = dict.fromkeys(word_numbers(model, [*from_words, *to_words]), 0.0)
    if set(word_numbers(model, from_words)) & set(word_numbers(model, to_words)):
        raise SettingsError("A word is at both poles of the axis.", "Leave it out on one side.")
    for sign, names in ((-1.0, from_words), (1.0, to_words)):
        for number in word_numbers(model, names):
            poles[number] += sign / len(names)
    columns: dict[str, list[object]] = {
        name: [] for name in ("time", "word", "position", "low", "high", "occurrences")
    }
    numbers = word_numbers(model, words)
    for number in numbers:
        if number in poles:
            raise SettingsError(
                f"{model.words[number]!r} is a pole of the axis.", "Leave it out on one side."
            )
    ends = dict(zip(poles, scaled_words(chosen, list(poles), asked.years), strict=True))
    for number, one in zip(numbers, scaled_words(chosen, numbers, asked.years), strict=True):
        direction: Floats = np.sum([weight * ends[pole].mean for pole, weight in poles.items()], axis=0)
        variance = np.einsum("nk,nk->n", direction**2, one.variance)
        for pole, weight in poles.items():
            across = np.einsum("nk,nk->n", one.mean**2, ends[pole].variance) + one.noise_of_both(ends[pole])
            variance += weight**2 * across
        position = np.einsum("nk,nk->n", one.mean, direction)
        low, high = interval(position, np.sqrt(variance), most=2.0)
        if not chosen.uncertain:
            low = high = empty_intervals(len(position))
        columns["time"] += asked.years.tolist()
        columns["word"] += [model.words[number]] * len(position)
        columns["position"] += position.tolist()
        columns["low"] += low.tolist()
        columns["high"] += high.tolist()
        columns["occurrences"] += occurrences_at(model, number, asked).tolist()
    return Answer(columns, asked.notes)


#: Half the width of a 90% interval in standard deviations.
SIDES = 1.6448536269514722
NOTHING = 1e-30  # far below the square of any cosine


@dataclass(frozen=True)
class Scaled:
    """Vectors in units of their expected lengths: means and variances, both (..., d).

    `length` (...) is that of the means, the known share of the expected length. `share` is the share of the
    axes that have errors, and `closeness` that of the calibration.
    """

    mean: Floats
    variance: Floats
    length: Floats
    share: float = 1.0
    closeness: float = 0.0

    def __getitem__(self, rows: Integers) -> "Scaled":
        return replace(self, mean=self.mean[rows], variance=self.variance[rows], length=self.length[rows])

    def noise_of_both(self, other: "Scaled") -> Floats:
        """The part of the variance of inner products that comes from the noise of both vectors together."""
        return np.asarray(self.share * np.einsum("...k,...k->...", self.variance, other.variance))


def scaled(
    mean: npt.NDArray[np.floating],
    variance: npt.NDArray[np.floating],
    share: float = 1.0,
    closeness: float = 0.0,
) -> Scaled:
    """Divide by the expected lengths; a mean of length zero gives NaN."""
    squared = lengths_of(mean) ** 2
    lengths = np.sqrt(squared + share * variance.sum(axis=-1, dtype=np.float64))
    known = np.sqrt(squared) / lengths
    return Scaled(mean / lengths[..., None], variance / lengths[..., None] ** 2, known, share, closeness)


@dataclass(frozen=True)
class Similarity:
    """Mean and standard deviation of the posterior of cosines, (...).

    `stretch` is the factor by which the cosines are farther from zero than those of independent vectors.
    """

    mean: Floats
    spread: Floats
    stretch: Floats

    def interval(self) -> tuple[Floats, Floats]:
        """The 90% interval, cut off at -1 and 1."""
        return interval(self.mean, self.spread)


#: The largest share of its precision that a cosine owes to the prior of independent vectors.
MOST_OF_PRIOR = 0.5
#: Closeness is an estimate: the standard deviation of what a stretch adds to a cosine, relative to it.
STRETCH_ERROR = 0.4


def similarities(one: Scaled, other: Scaled) -> Similarity:
    """Compare different words."""
    mean = np.clip(np.einsum("...k,...k->...", one.mean, other.mean), -1.0, 1.0)
    variance = np.einsum("...k,...k->...", one.mean**2, other.variance)
    variance += np.einsum("...k,...k->...", other.mean**2, one.variance) + one.noise_of_both(other)
    return stretched(mean, variance * (1.0 - mean**2), one.closeness)


def stretched(mean: Floats, variance: Floats, closeness: float) -> Similarity:
    """Cosines with this mean and variance under the prior of independent vectors."""
    squared = mean**2
    weight = squared / np.maximum(squared + variance, NOTHING)
    stretch = 1.0 / (1.0 - np.minimum(closeness * weight * variance, MOST_OF_PRIOR))
    spread = np.sqrt(stretch * variance + (STRETCH_ERROR * (stretch - 1.0) * mean) ** 2)
    return Similarity(np.clip(stretch * mean, -1.0, 1.0), spread, stretch)


def interval(mean: Floats, spread: Floats, most: float = 1.0) -> tuple[Floats, Floats]:
    """The central 90% of normal posteriors, cut off at -most and most."""
    return np.maximum(mean - SIDES * spread, -most), np.minimum(mean + SIDES * spread, most)


def scaled_words(vectors: Vectors, words: Sequence[int], times: Floats) -> list[Scaled]:
    """Words at several times, (n, d) each."""
    curves = vectors.variance_curves(np.array(words, dtype=np.int64), times)
    return [
        scaled(vectors.means_of(word, times), variance, vectors.noise_share, vectors.closeness)
        for word, variance in zip(words, curves, strict=True)
    ]


def similarity(
    model: Embeddings, word: str, *others: str, times: Times = None, vectors: str | None = None
) -> Answer:
    """Similarity of a word to others over time.

    Columns: time, word, other, similarity, low, high, occurrences, other_occurrences.
    """
    if not others:
        raise SettingsError(f"There is no word to compare {word!r} with.", "Give at least one more word.")
    asked = QuestionTimes.of(model, times)
    number, *numbers = word_numbers(model, [word, *others])
    chosen = vectors_of(model, vectors)
    one, *rest = scaled_words(chosen, [number, *numbers], asked.years)
    columns: dict[str, list[object]] = {
        name: [] for name in ("time", "word", "other", "similarity", "low", "high")
    }
    columns |= {"occurrences": [], "other_occurrences": []}
    for other, vector in zip(numbers, rest, strict=True):
        found = similarities(one, vector)
        if other == number:
            itself = np.where(np.isnan(found.mean), np.nan, 1.0)
            found = Similarity(itself, np.zeros_like(itself), found.stretch)
        mean = found.mean
        low, high = found.interval() if chosen.uncertain else (empty_intervals(len(mean)),) * 2
        columns["time"] += asked.years.tolist()
        columns["word"] += [model.words[number]] * len(mean)
        columns["other"] += [model.words[other]] * len(mean)
        columns["similarity"] += mean.tolist()
        columns["low"] += low.tolist()
        columns["high"] += high.tolist()
        columns["occurrences"] += occurrences_at(model, number, asked).tolist()
        columns["other_occurrences"] += occurrences_at(model, other, asked).tolist()
    return Answer(columns, asked.notes)
