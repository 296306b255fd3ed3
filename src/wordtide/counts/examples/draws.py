"""Random draws of example sentences for each word of a slice, made while the slice is counted."""

import numpy as np
import numpy.typing as npt

from wordtide.compiled import kernel
from wordtide.corpus.tokens.scanner import BREAK
from wordtide.counts.examples.store import LONGEST_SENTENCE, DrawnSentences, Sentence, hash_sentences
from wordtide.counts.segments import Segment
from wordtide.counts.workers import PairRule
from wordtide.types import Flags, Integers

#: Spaces for what a custom tokenizer's words are separated with.
_SPACED = bytes.maketrans(b"\x1e\x1f", b"  ")


@kernel
def _draw(
    ids: npt.NDArray[np.int32],
    numbering: npt.NDArray[np.int32],
    drawn: npt.NDArray[np.uint64],
    eligible: Flags,
    best: npt.NDArray[np.uint64],
    which: Integers,
    filled: Integers,
) -> None:
    """Find the lowest priorities among the sentences of each word, ascending, and these sentences."""
    most = best.shape[1]
    sentence = 0
    for place in range(ids.size):
        if ids[place] == BREAK:
            sentence += 1
            continue
        if ids[place] < 0 or not eligible[sentence]:
            continue
        word = numbering[ids[place]]
        if word < 0:
            continue
        priority = drawn[sentence]
        rank = filled[word]
        if rank == most and priority >= best[word, most - 1]:
            continue
        twice = False
        for earlier in range(rank):
            twice = twice or which[word, earlier] == sentence
        if twice:
            continue
        if rank < most:
            filled[word] += 1
        else:
            rank = most - 1
        while rank > 0 and best[word, rank - 1] > priority:
            best[word, rank], which[word, rank] = best[word, rank - 1], which[word, rank - 1]
            rank -= 1
        best[word, rank], which[word, rank] = priority, sentence


def draw_from(
    ids: npt.NDArray[np.int32],
    numbering: npt.NDArray[np.int32],
    drawn: npt.NDArray[np.uint64],
    eligible: Flags,
    words: int,
    examples: int,
) -> tuple[Integers, npt.NDArray[np.uint64], Integers]:
    """Draw from a stream of sentences; returns words, priorities and sentences."""
    best = np.empty((words, examples), dtype=np.uint64)
    which = np.empty((words, examples), dtype=np.int64)
    filled = np.zeros(words, dtype=np.int64)
    _draw(ids, numbering, drawn, eligible, best, which, filled)
    there = np.arange(examples) < filled[:, None]
    return np.nonzero(there)[0], best[there], which[there]


def draw_sentences(
    segment: Segment, entry: int, ids: npt.NDArray[np.int32], rule: PairRule
) -> DrawnSentences:
    """Draw from one entry of a segment, whose numbers, phrases joined, are `ids`."""
    texts, starts = segment.texts, segment.sentence_starts
    if texts is None or starts is None:
        raise AssertionError("the texts were not kept while reading")
    chosen = slice(int(starts[entry]), int(starts[entry + 1]))
    spans, documents, places = texts.spans[chosen], texts.documents[chosen], texts.places[chosen]
    drawn = hash_sentences(texts.names, documents, places, rule.settings.seed)
    eligible = spans[:, 1] - spans[:, 0] <= LONGEST_SENTENCE
    numbering, examples = rule.numberings[segment.scanner], rule.settings.examples
    drawn_for, best, which = draw_from(ids, numbering, drawn, eligible, rule.words, examples)
    group = "" if segment.groups is None else rule.groups[int(segment.groups[entry])]
    numbers, references = np.unique(which, return_inverse=True)
    sentences = [
        Sentence(
            int(texts.stamps[documents[number]]),
            int(texts.date_spans[documents[number]]),
            _as_stored(texts.names[documents[number]]),
            int(places[number]),
            texts.text[slice(*spans[number])].tobytes().translate(_SPACED).decode("utf-8"),
            group,
        )
        for number in numbers
    ]
    return DrawnSentences(drawn_for, best, references.astype(np.int64), sentences)


def _as_stored(name: str) -> str:
    """A name on one line, as it is stored: sentences are sorted by it."""
    return " ".join(name.encode("utf-8", "replace").decode("utf-8").split())
