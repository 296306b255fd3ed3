"""Three ways to follow words through time with gensim's word2vec, each slice by slice on the same sentences.

    per-slice a model for each slice alone, turned onto the slice before by Procrustes on the words that both
    have chained each slice starts where the one before it ended compass the output layer of a model of all
    slices stays as it is; each slice trains the other layer against it

Rows are matched by word, never by their place in a model: gensim orders words by frequency, so each slice has
its own order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gensim.models import Word2Vec
from scipy.linalg import orthogonal_procrustes
from sentence_files import Sentences
from slice_vectors import SliceVectors

#: Negative samples per pair: gensim's scores are log odds against this many noise words.
NEGATIVES = 5


@dataclass(frozen=True)
class Training:
    """What is open to choice.

    `sample`: gensim's threshold for leaving out frequent words, 0 for none of that.

    `start` is the compass's: what a slice's vectors begin with, "zero" or those of the model of all slices
    ("pooled").
    """

    dim: int = 50
    epochs: int = 5
    sample: float = 0.0
    seed: int = 1
    window: int = 4
    start: str = "zero"


class Vocabulary:
    """Numbers of words, the same for all slices."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self._numbers = {word: number for number, word in enumerate(words)}

    def numbers_in(self, model: Word2Vec) -> np.ndarray:
        """The number of each row of a model, in the model's own order."""
        return np.array([self._numbers[word] for word in model.wv.index_to_key], dtype=np.int64)


def untrained(sentences: Sentences, training: Training) -> Word2Vec:
    """A skip-gram model with the words of the sentences, and gensim's own start."""
    model = Word2Vec(
        sg=1,
        vector_size=training.dim,
        window=training.window,
        negative=NEGATIVES,
        ns_exponent=0.75,
        min_count=1,
        sample=training.sample,
        epochs=training.epochs,
        seed=training.seed,
        workers=1,
    )
    model.build_vocab(sentences)
    return model


def train(model: Word2Vec, sentences: Sentences) -> None:
    """All epochs over the sentences."""
    model.train(sentences, total_examples=model.corpus_count, epochs=model.epochs)


def per_slice(slices: Sequence[Sentences], words: Sequence[str], training: Training) -> list[SliceVectors]:
    """A model for each slice, turned onto the slice before."""
    vocabulary, found = Vocabulary(words), []
    for sentences in slices:
        model = untrained(sentences, training)
        train(model, sentences)
        fitted = SliceVectors(vocabulary.numbers_in(model), model.wv.vectors, model.syn1neg)
        found.append(turned_onto(found[-1], fitted) if found else fitted)
    return found


def turned_onto(before: SliceVectors, here: SliceVectors) -> SliceVectors:
    """Words and contexts under the rotation that brings the shared words nearest to their earlier vectors."""
    _, rows_before, rows_here = np.intersect1d(
        before.words, here.words, assume_unique=True, return_indices=True
    )
    rotation, _ = orthogonal_procrustes(here.u[rows_here], before.u[rows_before])
    return SliceVectors(here.words, here.u @ rotation, here.v @ rotation)


def chained(slices: Sequence[Sentences], words: Sequence[str], training: Training) -> list[SliceVectors]:
    """Each slice from where its words were left; a word that is new starts as gensim starts it."""
    vocabulary, found = Vocabulary(words), []
    latest = np.zeros((2, len(words), training.dim), dtype=np.float32)
    seen = np.zeros(len(words), dtype=bool)
    for sentences in slices:
        model = untrained(sentences, training)
        numbers = vocabulary.numbers_in(model)
        begin_where_left(model, numbers, latest, seen)
        train(model, sentences)
        latest[0][numbers], latest[1][numbers], seen[numbers] = model.wv.vectors, model.syn1neg, True
        found.append(SliceVectors(numbers, model.wv.vectors, model.syn1neg))
    return found


def begin_where_left(model: Word2Vec, numbers: np.ndarray, latest: np.ndarray, seen: np.ndarray) -> None:
    """Put the latest vectors (2, L, d) of words seen before into an untrained model whose rows have these
    numbers.
    """
    known = seen[numbers]
    model.wv.vectors[known], model.syn1neg[known] = latest[0][numbers[known]], latest[1][numbers[known]]


def compass(slices: Sequence[Sentences], words: Sequence[str], training: Training) -> list[SliceVectors]:
    """Each slice against the frozen output layer of a model of all slices."""
    vocabulary = Vocabulary(words)
    together = [sentence for sentences in slices for sentence in sentences]
    pooled = untrained(together, training)
    train(pooled, together)
    start, frozen = np.zeros((2, len(words), training.dim), dtype=np.float32)
    numbers = vocabulary.numbers_in(pooled)
    frozen[numbers] = pooled.syn1neg
    if training.start == "pooled":
        start[numbers] = pooled.wv.vectors
    return [_against(frozen, start, sentences, vocabulary, training) for sentences in slices]


def _against(
    frozen: np.ndarray, start: np.ndarray, sentences: Sentences, vocabulary: Vocabulary, training: Training
) -> SliceVectors:
    """A slice with its contexts frozen.

    gensim can freeze its input layer only (`vectors_lockf`), so the two layers change roles: contexts are put
    into the input layer, and the output layer is trained. Windows are symmetric, so the pairs are the same;
    noise words are then drawn for the words in place of the contexts.
    """
    model = untrained(sentences, training)
    numbers = vocabulary.numbers_in(model)
    model.wv.vectors[:] = frozen[numbers]
    model.syn1neg[:] = start[numbers]
    model.wv.vectors_lockf = np.zeros(1, dtype=np.float32)
    train(model, sentences)
    if not np.array_equal(model.wv.vectors, frozen[numbers]):
        raise RuntimeError("The frozen layer has moved.")
    return SliceVectors(numbers, model.syn1neg, model.wv.vectors)


PEERS = {"per-slice": per_slice, "chained": chained, "compass": compass}
