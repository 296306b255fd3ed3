"""Function words, found from the data in any language, and the style axes along which they moved.

A function word is frequent and short, has few forms, and says little about the words around it: the
contexts that the model predicts for it are diverse and close to those of all words. The product of a word's
ranks by frequency and by the divergence of its contexts, of its length to the power 1.5, and of the number
of its forms scores each frequent word at three times. Forms are words of the vocabulary that differ by
common endings, such as *end*, *ends* and *ended*; the endings are found in the vocabulary. Function words
are near each other, so each score is averaged with those of the nearest words a few times, as in
personalized PageRank. The best of the three times counts, because a word such as *about* may be a function
word at one time only.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.questions.movement import lifetimes
from wordtide.questions.vectors import lengths_of
from wordtide.system import available_processors, one_blas_thread
from wordtide.types import Flags, Floats, Integers

#: The most frequent words are scored: this share of the vocabulary, at most this many.
FREQUENT, MOST_FREQUENT = 0.05, 500
#: Function words score this many standard deviations above the mean.
THRESHOLD = 0.5
#: Style axes; fewer if there are few function words or dimensions.
STYLE_AXES = 5
_RANKED = 3  # this many times as many words are ranked by divergence
_NEAREST = 0.02  # the share of scored words that count as neighbors of each
_NEIGHBOR_WEIGHT, _ROUNDS = 0.5, 5  # of the neighbors' scores; rounds of averaging
_ENDINGS = 12  # the most frequent endings count
_LONGEST_ENDING, _SHORTEST_STEM = 3, 3  # in characters
_NOTHING = 1e-300
_CONTEXT_EXPONENT = 0.75
_WORDS_AT_ONCE = 100  # words whose scores with all contexts are in memory together


@dataclass(frozen=True)
class Contexts:
    """Context vectors and their squares (L, d) at one time, and the probabilities P' of contexts (L,)."""

    vectors: Floats
    squares: Floats
    share: Floats

    @staticmethod
    def of(model: Embeddings, time: float) -> "Contexts":
        """The contexts of a model at a time."""
        exponent = float(model.settings.get("context_exponent", _CONTEXT_EXPONENT))
        share = np.asarray(model.total_occurrences, dtype=np.float64) ** exponent
        vectors = model.sides[1].means_at(time)
        return Contexts(vectors, vectors**2, share / share.sum())

    def predicted(self, words: Floats) -> Floats:
        """The probabilities p(j|i) of all contexts, (n, L), given word vectors (n, d)."""
        scores = words @ self.vectors.T
        chances = self.share * np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def divergences(self, words: Floats, threads: int | None) -> Floats:
        """The divergence, in nats, of the predicted contexts from q ~ sqrt(P'), (n,).

        q lies between P', the contexts of all words, and equal probabilities, so that diverse contexts
        diverge less. KL(p || q) = E_p[x + log P' / 2] - log E_P'[exp x] + log sum(sqrt P') with x the scores,
        so no logarithm of a matrix is needed.
        """
        half = np.log(np.maximum(self.share, _NOTHING)) / 2.0
        base = np.log(np.exp(half).sum())

        def of_some(first: int) -> Floats:
            scores = words[first : first + _WORDS_AT_ONCE] @ self.vectors.T
            top = scores.max(axis=1, keepdims=True)
            weights = np.exp(scores - top)
            weights *= self.share
            total = weights.sum(axis=1)
            expected = (np.einsum("nl,nl->n", weights, scores) + weights @ half) / total
            return np.asarray(expected - top[:, 0] - np.log(total) + base)

        with ThreadPoolExecutor(threads or available_processors()) as pool:
            return np.concatenate(list(pool.map(of_some, range(0, len(words), _WORDS_AT_ONCE))))


def function_words(model: Embeddings, threads: int | None = None) -> Flags:
    """Which words are function words, (L,): stored with the model, or computed once."""
    if "function words" not in model.derived:
        stored = None if model.dynamics is None else model.dynamics.function_word
        known = stored is not None and not np.isnan(stored).any()
        model.derived["function words"] = stored == 1.0 if known else _function_words(model, threads)
    return np.asarray(model.derived["function words"])


@one_blas_thread()
def _function_words(model: Embeddings, threads: int | None) -> Flags:
    found = np.zeros(len(model.words), dtype=bool)
    number = min(int(FREQUENT * len(found)), MOST_FREQUENT)
    often = np.argsort(-model.total_occurrences, kind="stable")[: _RANKED * number]
    if number >= 2:
        found[often[:number]] = np.max(list(_scores(model, often, number, threads)), axis=0) > THRESHOLD
    return found


def _scores(model: Embeddings, often: Integers, number: int, threads: int | None) -> Iterator[Floats]:
    """The standardized scores of the `number` most frequent words at three times, (number,) each."""
    spelled = [model.words[word] for word in often[:number]]
    letters = np.array([len(word) for word in spelled]) ** 1.5 * (1 + number_of_forms(model.words, spelled))
    for time in (model.times[0], float(np.median(model.times)), model.times[-1]):
        means = model.sides[0].means_at(float(time), often)
        divergences = Contexts.of(model, float(time)).divergences(means, threads)
        order = np.argsort(divergences, kind="stable")
        rank = np.empty(len(often))
        rank[order] = np.arange(1, len(often) + 1)
        own = _standardized(-np.log(rank[:number] * np.arange(1, number + 1) * letters))
        nearest, score = _nearest(means[:number]), own
        for _ in range(_ROUNDS):
            score = (1.0 - _NEIGHBOR_WEIGHT) * own + _NEIGHBOR_WEIGHT * score[nearest].mean(axis=1)
        yield _standardized(score)


def number_of_forms(vocabulary: Sequence[str], words: Sequence[str]) -> Integers:
    """How many other words of a vocabulary each word turns into by a common ending, (n,).

    An ending is common if it makes words out of words: *ended* is *end* and *-ed*.
    """
    known = set(vocabulary)
    made = Counter(ending for word in known for stem, ending in _parts(word) if stem in known)
    common = sorted(made, key=lambda ending: (-made[ending], ending))[:_ENDINGS]

    def forms(word: str) -> int:
        stems = {word, *(stem for stem, ending in _parts(word) if ending in common)}
        return len((stems | {stem + ending for stem in stems for ending in common}) & known - {word})

    return np.array([forms(word) for word in words])


def _parts(word: str) -> Iterator[tuple[str, str]]:
    """A word cut before each of its last letters, into a stem and an ending."""
    for cut in range(max(len(word) - _LONGEST_ENDING, _SHORTEST_STEM), len(word)):
        yield word[:cut], word[cut:]


def _nearest(means: Floats) -> Integers:
    """The nearest vectors of each vector by the cosine, (n, k)."""
    units = np.nan_to_num(means / lengths_of(means)[:, None])
    likeness = units @ units.T
    np.fill_diagonal(likeness, -np.inf)
    return np.argsort(-likeness, axis=1, kind="stable")[:, : max(1, round(_NEAREST * len(means)))]


def _standardized(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / max(float(values.std()), _NOTHING))


@one_blas_thread()
def style_axes(model: Embeddings) -> Floats:
    """The principal directions in which function words moved, (n, d) with n up to `STYLE_AXES`."""
    if "style axes" not in model.derived:
        words = np.flatnonzero(function_words(model))
        number = min(STYLE_AXES, len(words) // 4, model.dim // 10)
        first, last = lifetimes(model, words)
        moved = model.sides[0].means_of_each(words, last) - model.sides[0].means_of_each(words, first)
        axes = np.linalg.svd(moved, full_matrices=False)[2][:number] if number else np.zeros((0, model.dim))
        model.derived["style axes"] = axes
    return np.asarray(model.derived["style axes"])
