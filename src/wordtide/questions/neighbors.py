"""The words nearest to a word at one time, and analogies: those that take the place it has at another time.

The probability of a word to be among the nearest is estimated by drawing all words from the posterior.
Vectors are compared at their drawn lengths, not at those of their means: a word that is hardly known has a
short mean and much noise, and would otherwise often be drawn as the nearest of all.
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

#: Draws for a probability; its standard error is at most 0.016.
DRAWS = 1000


def share_among_best(draws: npt.NDArray[np.floating], best: int) -> Floats:
    """The share of draws (r, n) in which each of n values is one of the `best` largest, (n,)."""
    if draws.shape[1] <= best:
        return np.ones(draws.shape[1])
    threshold = np.partition(draws, -best, axis=1)[:, -best, None]
    return np.asarray((draws >= threshold).mean(axis=0))


#: This many of the most similar words get intervals and may be listed.
CANDIDATES = 500
#: Of these, this many are ranked for each word that is listed, and this many in addition.
_POOL, _SPARE = 3, 10
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
    """Words that may be near, in descending order of the cosines of means, with probabilities to be listed.

    `certainty` is the length of a word's mean as a share of its expected length.
    """

    words: Integers
    similarity: Similarity
    probability: Floats
    certainty: Floats

    def __len__(self) -> int:
        return len(self.words)

    def ranked(self, by: str, top: int) -> "Candidates":
        """The best `top` candidates, faint ones last."""
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
        """The candidates in these rows."""
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
    """The words used at the time `then` as a word was used at the time `at`.

    Columns as in `neighbors`. If the word itself comes first, its use is the same.
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
    """Why a list has no words, unless another note says so."""
    if np.isnan(lengths_of(vectors.means_of(word, np.array([year]))[0])):
        return []  # the word itself is unknown
    if least > 0:
        return [
            f"No other word occurs {counted(least, 'time')} in {shown_year(model, then)} and is well known."
        ]
    return [empty_list_note(model, then)]


@dataclass(frozen=True)
class _Nearest:
    """The mean of a word (d,), and the words near it by descending cosine of the means.

    Their numbers are (n,), their means and variances (n, d).
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
    """The well-known words whose vectors at `then` are most similar to the word's vector in `year`."""
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
    """Words near a word's vector of `year`, compared by their own vectors at `then`.

    Probabilities are those of being among the `top` nearest.
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
        found.stretch[past.place] = 1.0
    drawn = _draws(one, some, found.stretch, word, past) if size else np.zeros((1, 0), np.float32)
    probability = share_among_best(drawn, top)
    return Candidates(order, found, probability, some.length)


def _compared(vectors: Vectors, near: _Nearest, word: int, year: float) -> tuple[Similarity, Scaled, Scaled]:
    """The similarities of the words near a word to it, the word itself, and these words."""
    own, errors = np.zeros(vectors.dim), (vectors.noise_share, vectors.closeness)
    if vectors.uncertain:
        own = vectors.variances_at(year, np.array([word]))[0]
    one, some = scaled(near.mean, own, *errors), scaled(near.means, near.variances, *errors)
    return similarities(some, one), one, some


def _own_similarity(vectors: Vectors, word: int, year: float, then: float) -> tuple[float, float]:
    """A word's similarity to itself at another time, and its standard deviation, from its expected change."""
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
    """Covariance of a word with itself at another time: Cov[a, b] = (Var[a] + Var[b] - Var[a - b]) / 2."""
    place = int(np.flatnonzero(order == word)[0])
    earlier, later = sorted((year, then))
    known = np.array([one.length, some.length[place]])[:: 1 if year == earlier else -1]
    weights = known / lengths_of(vectors.means_of(word, np.array([earlier, later])))
    moved = vectors.movement(np.array([word]), earlier, later, weights[:1], weights[1:])
    return _OwnPast(place, (one.variance + some.variance[place] - moved.posterior[0]) / 2.0)


def _draws(
    one: Scaled, some: Scaled, stretch: Floats, seed: int, past: _OwnPast | None = None
) -> npt.NDArray[np.float32]:
    """Joint draws (r, n) of cotangents, which sort like cosines, of vectors drawn from the posterior.

    Given the word's vector, the component of another vector along it is normal. The length of the component
    across it sums many coordinates, so its mean and variance suffice. Words that are hardly known are drawn
    as long vectors, and seldom near.
    """
    generator = np.random.default_rng([seed, len(some.mean)])
    shift = np.sqrt(one.variance) * generator.standard_normal((DRAWS, len(one.mean)))
    own = one.mean + shift
    own /= lengths_of(own)[:, None]
    drawn, means, variances = (array.astype(np.float32) for array in (own, some.mean, some.variance))
    along, spread = drawn @ means.T, drawn**2 @ variances.T
    across = (means**2).sum(axis=1) + some.share * variances.sum(axis=1) - along**2
    scatter = ((2.0 * some.share * variances + 4.0 * means**2) * variances).sum(axis=1)
    if past is not None:  # conditional on the word's draw at the first time
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
    along *= stretch.astype(np.float32)
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
