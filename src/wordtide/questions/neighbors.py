"""The words nearest to a word at one time; and whose place a word of one time has at another.

The probability of a word to be among the nearest is how often it is, when all words are drawn from the
posterior. Vectors are compared at the lengths they are drawn with, not at those of their means. A word that
is hardly known has a short mean and much noise; measured by its mean alone it would often be drawn as
nearest, or as having moved furthest, of all.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.questions.answers import (
    Answer,
    absence_note,
    are_inferred,
    checked_number,
    empty_intervals,
    empty_list_note,
    question_time,
    shown_year,
)
from wordtide.questions.movement import expected_change
from wordtide.questions.similarity import Scaled, Similarity, scaled, similarities
from wordtide.questions.vectors import Vectors, lengths_of, vectors_of
from wordtide.spelling import counted
from wordtide.timeline import Time
from wordtide.types import Flags, Floats, Integers

#: The number of draws for a probability, which is then mostly within 0.015 of its value.
DRAWS = 1000


def share_among_best(draws: npt.NDArray[np.floating], best: int) -> Floats:
    """From draws (r, n): in which share of them each of n values is one of the `best` largest, (n,)."""
    if draws.shape[1] <= best:
        return np.ones(draws.shape[1])
    threshold = np.partition(draws, -best, axis=1)[:, -best, None]
    return np.asarray((draws >= threshold).mean(axis=0))


#: The number of most similar words that compete for a place among the nearest; only these get intervals.
CANDIDATES = 500
#: How many of the most similar words are ranked, for each that is listed and in addition.
_POOL, _SPARE = 3, 10
#: By the similarity, by the low end of its interval, or by the probability.
RANKINGS = ("similarity", "low", "probability")
#: A word is faint if its mean has less than this share of its expected length: it is mostly noise.
FAINT = 0.5
_AT_LEAST = 16  # words whose variances are computed together
_TIE = 1e-6  # words with the same probability are ranked by similarity
_NOTHING_ACROSS = 1e-6  # of unit length, squared: below it is rounding


def pool_size(top: int) -> int:
    """The number of most similar words from which a list of `top` words is chosen."""
    return _POOL * top + _SPARE


@dataclass(frozen=True)
class Candidates:
    """Words that may be near, in falling order of the cosines of means, with their probability to be among
    the nearest.

    The certainty is the share of the expected length of a word that its mean has.
    """

    words: Integers
    similarity: Similarity
    probability: Floats
    certainty: Floats

    def __len__(self) -> int:
        return len(self.words)

    def ranked(self, by: str, top: int) -> "Candidates":
        """The best `top` of them; those that are faint follow the others."""
        if by not in RANKINGS:
            choices = f"{', '.join(RANKINGS[:-1])} or {RANKINGS[-1]}"
            raise SettingsError(f"Neighbors cannot be ranked by {by!r}.", f"Choose {choices}.")
        score = self.similarity.mean
        if by != "similarity" and not np.isnan(self.probability).any():
            low = self.similarity.interval()[0]
            score = low if by == "low" else self.probability + _TIE * score
        best = np.argsort(-score[: pool_size(top)], kind="stable")[:top]
        return self.taken(best[np.argsort(self.faint[best], kind="stable")])

    @property
    def faint(self) -> Flags:
        """Whether words are mostly noise."""
        return np.asarray(self.certainty < FAINT)

    def taken(self, rows: Integers) -> "Candidates":
        """Some of them."""
        similarity = Similarity(*(array[rows] for array in vars(self.similarity).values()))
        return Candidates(self.words[rows], similarity, self.probability[rows], self.certainty[rows])


def neighbors(
    model: Embeddings,
    word: str,
    at: Time = "last",
    top: int = 10,
    by: str = "similarity",
    min_occurrences: int = 0,
    vectors: str | None = None,
) -> Answer:
    """The words nearest to a word at one time.

    Columns: word, similarity, low, high, probability, occurrences, faint (it is barely known), inferred (it
    does not occur near that time).
    """
    number = model.word_number(word)
    year, slice_number, notes = question_time(model, at)
    chosen = vectors_of(model, vectors)
    least = checked_number("min_occurrences", min_occurrences, least=0)
    found = candidates(model, chosen, number, year, year, checked_number("top", top), least)
    notes += absence_note(model, number, year, slice_number)
    if not len(found):
        notes += _why_empty(model, chosen, number, year, year, least)
    return _answer(model, chosen, found.ranked(by, top), year, slice_number, notes)


def analogy(
    model: Embeddings,
    word: str,
    at: Time = "first",
    then: Time = "last",
    top: int = 10,
    by: str = "similarity",
    min_occurrences: int = 0,
    vectors: str | None = None,
) -> Answer:
    """The words whose place at the time `then` is nearest to the word's place at the time `at`.

    Columns as in `neighbors`.

    The word itself may be among them: then it kept its place.
    """
    number = model.word_number(word)
    year, slice_number, notes = question_time(model, at)
    other_year, other_slice, other_notes = question_time(model, then)
    chosen = vectors_of(model, vectors)
    least = checked_number("min_occurrences", min_occurrences, least=0)
    found = candidates(model, chosen, number, year, other_year, checked_number("top", top), least)
    notes += [*other_notes, *absence_note(model, number, year, slice_number)]
    if not len(found):
        notes += _why_empty(model, chosen, number, year, other_year, least)
    return _answer(model, chosen, found.ranked(by, top), other_year, other_slice, notes)


def _why_empty(
    model: Embeddings, vectors: Vectors, word: int, year: float, then: float, least: int
) -> list[str]:
    """Why a list has no words, where no other note says it."""
    if np.isnan(lengths_of(vectors.means_of(word, np.array([year]))[0])):
        return []  # the word itself is unknown
    if least > 0:
        return [
            f"No other word occurs {counted(least, 'time')} in {shown_year(model, then)} and is well known: "
            "lower --min-occurrences."
        ]
    return [empty_list_note(model, then)]


@dataclass(frozen=True)
class _Nearest:
    """Where a word is (d,), and the words near it: numbers (n,) in falling order of the cosines of means, and
    their means and variances, (n, d) each.
    """

    mean: Floats
    words: Integers
    means: Floats
    variances: Floats


def nearest(model: Embeddings, vectors: Vectors, word: int, year: float, top: int) -> Integers:
    """The numbers of the words nearest to a word, in the order of `neighbors`."""
    near = _nearest(model, vectors, word, year, year, pool_size(top), 0)
    found, _, some = _compared(vectors, near, word, year)
    unused = np.zeros(len(near.words)) if vectors.uncertain else empty_intervals(len(near.words))
    return Candidates(near.words, found, unused, some.length).ranked("similarity", top).words


def _nearest(
    model: Embeddings, vectors: Vectors, word: int, year: float, then: float, most: int, min_occurrences: int
) -> _Nearest:
    """The words whose place at `then` is most similar to the word's place in `year`, of those that are well
    known.
    """
    mean, means = vectors.means_of(word, np.array([year]))[0], vectors.means_at(then)
    lengths = lengths_of(means)
    cosine = means @ mean / (lengths * lengths_of(mean))
    if year == then:
        cosine[word] = np.nan
    if min_occurrences > 0:
        slice_then = model.slice_of_year(then)
        counted = model.fitted.occurrences.of_slice(-1 if slice_then is None else slice_then)
        cosine[counted < min_occurrences] = np.nan
    order = np.argsort(np.where(np.isnan(cosine), np.inf, -cosine), kind="stable")
    order = order[: np.count_nonzero(~np.isnan(cosine))]
    found, spread = _well_known(vectors, order, then, means, most)
    return _Nearest(mean, found, means[found], spread)


def _well_known(
    vectors: Vectors, order: Integers, year: float, means: Floats, most: int
) -> tuple[Integers, Floats]:
    """The first `most` well known words in the given order, and their variances (n, d).

    Variances take most of the time, so they are computed in batches until there are enough words.
    """
    words, variances, taken, step = [order[:0]], [np.zeros((0, vectors.dim))], 0, most + most // 4 + _AT_LEAST
    while sum(map(len, words)) < most and taken < len(order):
        some = order[taken : taken + step]
        spread = vectors.variances_at(year, some)
        known = vectors.are_known(some, np.full(len(some), year), means[some], spread)
        words.append(some[known])
        variances.append(spread[known])
        taken += step
    return np.concatenate(words)[:most], np.concatenate(variances)[:most]


def candidates(
    model: Embeddings,
    vectors: Vectors,
    word: int,
    year: float,
    then: float,
    top: int,
    min_occurrences: int = 0,
) -> Candidates:
    """Words near to where the word is in `year`, by where they are at `then`.

    The probability is to be among `top`.
    """
    most = max(CANDIDATES, pool_size(top))
    near = _nearest(model, vectors, word, year, then, most, min_occurrences)
    order, size = near.words, len(near.words)
    found, one, some = _compared(vectors, near, word, year)
    if not vectors.uncertain:
        return Candidates(order, found, empty_intervals(size), some.length)
    past = _own_past(vectors, word, year, then, order, one, some) if year != then and word in order else None
    if past is not None:
        found.mean[past.place], found.spread[past.place] = _own_similarity(vectors, word, year, then)
    probability = share_among_best(_draws(one, some, word, past), top) if size else np.zeros(0)
    return Candidates(order, found, probability, some.length)


def _compared(vectors: Vectors, near: _Nearest, word: int, year: float) -> tuple[Similarity, Scaled, Scaled]:
    """The similarities of the words near a word to it, the word itself, and these words."""
    own, share = np.zeros(vectors.dim), vectors.noise_share
    if vectors.uncertain:
        own = vectors.variances_at(year, np.array([word]))[0]
    one, some = scaled(near.mean, own, share), scaled(near.means, near.variances, share)
    return similarities(some, one), one, some


def _own_similarity(vectors: Vectors, word: int, year: float, then: float) -> tuple[float, float]:
    """A word's similarity to itself at another time, and its standard deviation: those of its change, which
    knows how the two go together.
    """
    change, deviation = expected_change(vectors, np.array([word]), *sorted((year, then)))
    return 1.0 - float(change[0]), float(deviation[0])


@dataclass(frozen=True)
class _OwnPast:
    """The place of the word itself among the candidates, and its scaled covariance (d,) between the times."""

    place: int
    covariance: Floats


def _own_past(
    vectors: Vectors, word: int, year: float, then: float, order: Integers, one: Scaled, some: Scaled
) -> _OwnPast:
    """The word itself at another time is not independent of itself: Var[a - b] = Var[a] + Var[b] - 2 Cov[a,
    b].
    """
    place = int(np.flatnonzero(order == word)[0])
    earlier, later = sorted((year, then))
    known = np.array([one.length, some.length[place]])[:: 1 if year == earlier else -1]
    weights = known / lengths_of(vectors.means_of(word, np.array([earlier, later])))
    moved = vectors.movement(np.array([word]), earlier, later, weights[:1], weights[1:])
    return _OwnPast(place, (one.variance + some.variance[place] - moved.posterior[0]) / 2.0)


def _draws(one: Scaled, some: Scaled, seed: int, past: _OwnPast | None = None) -> npt.NDArray[np.float32]:
    """Joint draws (r, n) of the cotangents, which are in the order of the cosines, of vectors drawn from the
    posterior.

    Given the word's vector, the part of another along it is normal. What is across has a length that adds up
    many coordinates, so its mean and variance say enough. Words that are hardly known are drawn as long
    vectors, and seldom near.
    """
    generator = np.random.default_rng([seed, len(some.mean)])
    shift = np.sqrt(one.variance) * generator.standard_normal((DRAWS, len(one.mean)))
    own = one.mean + shift
    own /= lengths_of(own)[:, None]
    drawn, means, variances = (array.astype(np.float32) for array in (own, some.mean, some.variance))
    along, spread = drawn @ means.T, drawn**2 @ variances.T
    across = (means**2).sum(axis=1) + some.share * variances.sum(axis=1) - along**2
    scatter = ((2.0 * some.share * variances + 4.0 * means**2) * variances).sum(axis=1)
    if past is not None:  # given where the word is at one time, it is surer where it is at the other
        slope = past.covariance / np.where(one.variance > 0, one.variance, np.inf)  # an axis may be removed
        mean = some.mean[past.place] + slope * shift
        variance = np.maximum(some.variance[past.place] - slope * past.covariance, 0.0)
        along[:, past.place], spread[:, past.place] = np.einsum("rk,rk->r", own, mean), own**2 @ variance
        across[:, past.place] = (mean**2 + some.share * variance).sum(axis=1) - along[:, past.place] ** 2
        scatter[past.place] = ((2.0 * variance + 4.0 * mean**2) @ variance).mean()
    across -= spread
    np.maximum(across, _NOTHING_ACROSS, out=across)
    scatter -= ((2.0 * spread + 4.0 * along**2) * spread).mean(axis=0)
    relative = np.sqrt(np.maximum(scatter, 0.0)) / across.mean(axis=0)
    along += np.sqrt(spread, out=spread) * generator.standard_normal(along.shape, dtype=np.float32)
    across *= np.exp(relative * generator.standard_normal(along.shape, dtype=np.float32))
    along /= np.sqrt(across, out=across)
    return along


def _answer(
    model: Embeddings, vectors: Vectors, found: Candidates, year: float, slice_number: int, notes: list[str]
) -> Answer:
    low, high = found.similarity.interval()
    if not vectors.uncertain:
        low = high = empty_intervals(len(found))
    return Answer(
        {
            "word": [model.words[number] for number in found.words],
            "similarity": found.similarity.mean,
            "low": low,
            "high": high,
            "probability": found.probability,
            "occurrences": model.fitted.occurrences.of_slice(slice_number)[found.words],
            "faint": found.faint,
            "inferred": are_inferred(model, found.words, np.full(len(found), year)),
        },
        notes,
    )
