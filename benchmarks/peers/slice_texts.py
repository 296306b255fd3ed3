"""The sentences behind counts: what a peer reads is word for word what was counted.

The package's own scanner cuts the texts, and the occurrences of every word in every slice are compared with
the counts. Words outside the vocabulary are left out. Peers close the gap that such a word leaves, so counts
must be made with `close_gaps`.
"""

from collections.abc import Sequence

import numpy as np
from sentence_files import Sentences

from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows
from wordtide.corpus.normalization import normalize_texts
from wordtide.corpus.sources import find_corpus
from wordtide.corpus.tokens.scanner import BREAK
from wordtide.corpus.tokens.tokenizers import Scanner, TokenRule
from wordtide.counts.counts import Counts
from wordtide.counts.vocabulary import numbering_of
from wordtide.timeline import SliceLength


def sentences_by_slice(source: object, counts: Counts) -> list[Sentences]:
    """For each slice of `counts`, which were made of `source` by the usual token rule, its sentences of
    counted words.
    """
    if not counts.settings.close_gaps:
        raise ValueError("Peers close gaps: count with close_gaps=True.")
    scanner = Scanner(TokenRule(), counts.words)
    numbering = numbering_of(scanner.lexicon, counts.words)
    every = SliceLength.parse(counts.settings.every)
    place = {label: t for t, label in enumerate(counts.labels)}
    found: list[Sentences] = [[] for _ in counts.labels]
    bad = BadRows()
    for block in find_corpus(source).blocks(Fields(), bad, lambda _: None):
        batch = normalize_texts(block(bad), bad)
        scanned = scanner.scan(batch)
        start = 0
        for ordinal, end in zip(every.ordinals(batch.stamps).tolist(), scanned.ends.tolist(), strict=True):
            found[place[every.label(ordinal)]] += _sentences(scanned.ids[start:end], numbering, counts.words)
            start = end
    _check(found, counts)
    return found


def _sentences(ids: np.ndarray, numbering: np.ndarray, words: Sequence[str]) -> Sentences:
    cuts = np.flatnonzero(ids == BREAK)
    parts = [part[part >= 0] for part in np.split(ids, cuts)]
    numbers = [numbering[part] for part in parts]
    sentences = [[words[number] for number in part.tolist() if number >= 0] for part in numbers]
    return [sentence for sentence in sentences if sentence]


def _check(found: Sequence[Sentences], counts: Counts) -> None:
    number = {word: n for n, word in enumerate(counts.words)}
    for t, sentences in enumerate(found):
        occurrences = np.bincount(
            [number[word] for sentence in sentences for word in sentence], minlength=len(number)
        )
        if not np.array_equal(occurrences, counts.unigrams(t)):
            raise ValueError(f"The sentences of slice {counts.labels[t]} are not those that were counted.")
