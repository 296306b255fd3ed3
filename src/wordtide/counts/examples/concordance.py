"""Words in their sentences (keyword in context), from the examples of a counts folder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.counts.examples.store import ExampleStore
from wordtide.dates import shown_date


@dataclass(frozen=True)
class Example:
    """A word in its sentence."""

    time: float
    slice: str
    date: str
    document: str
    before: str
    word: str
    after: str


def find_examples(counts: Counts, word: str, slices: Sequence[int]) -> list[Example]:
    """Find the sentences of a word in the given slices, in order of time."""
    store = ExampleStore.open(counts.path, len(counts))
    number = counts.word_number(word)
    found: list[Example] = []
    for t in slices:
        rows = store.rows(t)
        start, stop = np.searchsorted(store.words[rows], [number, number + 1]) + rows.start
        sentences = sorted(store.sentence(int(row)) for row in store.sentences[start:stop])
        for sentence in sentences:
            before, keyword, after = split_at_word(sentence.text, counts.words[number])
            date = shown_date(sentence.stamp, sentence.span)
            label = counts.slices.labels[t]
            found.append(
                Example(float(counts.times[t]), label, date, sentence.document, before, keyword, after)
            )
    return found


def split_at_word(sentence: str, word: str) -> tuple[str, str, str]:
    """Split a sentence into the text before a word, the word as it is written there, and the rest.

    A lemma may not occur literally; then all of the sentence is the text before.
    """
    pattern = re.escape(word).replace("'", "['’]").replace(r"\-", "[-‐‑]")  # noqa: RUF001
    match = re.search(rf"(?<![\w]){pattern}(?![\w])", sentence, re.IGNORECASE)
    if match is None:
        return sentence, "", ""
    return sentence[: match.start()], match[0], sentence[match.end() :]
