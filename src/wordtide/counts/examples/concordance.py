"""Words in their sentences (keyword in context), from the examples of a counts folder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordtide.counts.examples.store import ExampleStore
from wordtide.counts.groups import CountsLike
from wordtide.dates import format_date
from wordtide.storage.cells import spelled_out

_MARGIN, _SIDE = 12, 60  # characters of the date, and on each side of the word


@dataclass(frozen=True)
class Example:
    """A word in its sentence. `group` is that of the document, "" if documents have no groups."""

    time: float
    slice: str
    date: str
    document: str
    before: str
    word: str
    after: str
    group: str = ""


class Examples(list[Example]):
    """Sentences in order of time, which print one per line with the word in the middle.

    `pandas.DataFrame(examples)` makes a table of them.
    """

    def __init__(self, why_empty: str) -> None:
        super().__init__()
        self.why_empty = why_empty

    def __str__(self) -> str:
        lines = []
        for one in self:
            before, after = one.before[-_SIDE:], one.after[:_SIDE]
            lines.append(f"{one.date:{_MARGIN}}{before:>{_SIDE}}{one.word}{after}")
        return spelled_out("\n".join(lines) or self.why_empty)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))  # what notebooks show


def find_examples(counts: CountsLike, word: str, slices: Sequence[int]) -> Examples:
    """Find the sentences of a word in the given slices, in order of time."""
    store = ExampleStore.open(counts.path, len(counts.slices))
    number = counts.word_number(word)
    where = counts.slices.labels[slices[0]] if len(slices) == 1 else "any slice"
    found = Examples(why_empty=f"No sentence with {word!r} was kept for {where}.")
    for t in slices:
        rows = store.rows(t)
        start, stop = np.searchsorted(store.words[rows], [number, number + 1]) + rows.start
        sentences = sorted(store.sentence(int(row)) for row in store.sentences[start:stop])
        for sentence in sentences:
            before, keyword, after = split_at_word(sentence.text, counts.words[number])
            date = format_date(sentence.stamp, sentence.span)
            when = float(counts.times[t]), counts.slices.labels[t], date
            found.append(Example(*when, sentence.document, before, keyword, after, sentence.group))
    return found


def split_at_word(sentence: str, word: str) -> tuple[str, str, str]:
    """Split a sentence into the text before a word, the word as it is written there, and the rest.

    A lemma may not occur literally; then all of the sentence is the text before.
    """
    pattern = re.escape(word).replace("'", "['’]").replace(r"\-", "[-‐‑]")  # noqa: RUF001
    pattern = pattern.replace("_", r"[\W_]+")  # between the words of a phrase
    match = re.search(rf"(?<![\w]){pattern}(?![\w])", sentence, re.IGNORECASE)
    if match is None:
        return sentence, "", ""
    return sentence[: match.start()], match[0], sentence[match.end() :]
