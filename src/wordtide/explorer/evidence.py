"""Sentences from the corpus for the page.

They are the text of the corpus, so a page has them only on request.
"""

from typing import Any

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.counts.examples.concordance import split_at_word
from wordtide.counts.examples.store import ExampleStore
from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.explorer.page_selection import PageSelection
from wordtide.questions.asking import shown_year
from wordtide.types import Integers

#: The most sentences per word: in the single file, and elsewhere.
FEW, MANY = 6, 60


class Evidence:
    """The sentences of a counts folder for the words of a model."""

    def __init__(self, model: Embeddings, counts: Counts) -> None:
        if len(counts) != len(model) or not np.allclose(counts.times, model.times, rtol=0.0, atol=1e-6):
            raise SettingsError(
                f"The counts {counts.path} have other slices than the model, "
                "so their sentences do not belong to it.",
                "Give --examples the counts that the model was fitted to.",
            )
        self._model, self._counts, self._store = model, counts, ExampleStore.open(counts.path, len(counts))
        self._numbers = {word: number for number, word in enumerate(counts.words)}

    @property
    def documents(self) -> list[int]:
        """Documents of each slice, (T,)."""
        return [int(number) for number in self._counts.slices.documents]

    @property
    def corpus(self) -> dict[str, int]:
        """Sizes of the corpus that only the counts know."""
        summary = self._counts.summary
        return {
            "documents": summary.documents,
            "tokens": summary.tokens,
            "distinct_words": summary.distinct_words,
        }

    def sentences(self, kept: PageSelection, places: Integers, most: int) -> dict[str, list[dict[str, Any]]]:
        """Choose sentences of some words, evenly over time.

        Args:
            kept: The words and slices on the page.
            places: The positions of the words among those on the page.
            most: The most sentences per word.

        Returns:
            Sentences by the position of the word. A sentence from a slice that is not on the page is assigned
            to the nearest slice that is.
        """
        rows = self._rows(
            {self._numbers.get(self._model.words[kept.words[place]], -1): int(place) for place in places}
        )
        times = self._model.times
        nearest = np.abs(times[:, None] - times[kept.slices]).argmin(axis=1)
        shown = [shown_year(self._model, float(time)) for time in times]
        found: dict[str, list[dict[str, Any]]] = {}
        for place, held in sorted(rows.items()):
            chosen = (
                held if len(held) <= most else [held[round(n)] for n in np.linspace(0, len(held) - 1, most)]
            )
            word = self._model.words[kept.words[place]]
            found[str(place)] = [
                {"slice": int(nearest[t]), "shown": shown[t], **self._sentence(word, row)}
                for t, row in chosen
            ]
        return found

    def _rows(self, wanted: dict[int, int]) -> dict[int, list[tuple[int, int]]]:
        """The slices and rows of each wanted word's sentences, in order of time."""
        numbers = np.array(sorted(number for number in wanted if number >= 0), dtype=np.int64)
        rows: dict[int, list[tuple[int, int]]] = {}
        for t in range(len(self._counts)):
            held = self._store.rows(t)
            starts, stops = (
                np.searchsorted(self._store.words[held], numbers, side) for side in ("left", "right")
            )
            for number, start, stop in zip(numbers.tolist(), starts.tolist(), stops.tolist(), strict=True):
                if stop > start:
                    rows.setdefault(wanted[number], []).extend(
                        (t, held.start + row) for row in range(start, stop)
                    )
        return rows

    def _sentence(self, word: str, row: int) -> dict[str, str]:
        sentence = self._store.sentence(int(self._store.sentences[row]))
        before, written, after = split_at_word(sentence.text, word)
        return {"document": sentence.document, "before": before, "word": written, "after": after}
