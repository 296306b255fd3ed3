"""Sentences from the corpus for the page.

They are the text of the corpus, so a page has them only on request.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.counts.examples.concordance import split_at_word
from wordtide.counts.examples.store import ExampleStore
from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.explorer.page_views import PageSelection
from wordtide.questions.answers import shown_year
from wordtide.questions.vectors import lengths_of, vectors_of
from wordtide.types import Floats, Integers

#: The most sentences per word: in a light file (the old and the new use), in a single file, and elsewhere.
PAIR, FEW, MANY = 2, 6, 60
_CANDIDATES = 16  # sentences of each side from which the one that shows the use best is chosen
_TELLING = 3  # words beside the word that count
_LENGTHS = 40, 320  # characters of a sentence that is quoted, if there is one
_MOMENTS = 6  # at which words are compared with neighbors
_TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")


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
        self._known = {word: number for number, word in enumerate(model.words)}
        self._moments = np.linspace(model.times[0], model.times[-1], _MOMENTS)
        self._units: dict[int, Floats] = {}

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

    def sentences(
        self, kept: PageSelection, places: Integers, most: int, stories: Sequence[dict[str, Any]]
    ) -> dict[str, list[dict[str, Any]]]:
        """Choose sentences of words: one that shows the old use, one the new use, others evenly over time.

        Words are given by their positions on the page, as in the result, each with its story;
        `shows` is "old", "new" or None. A sentence from a slice that is not on the page is assigned to the
        nearest slice that is.
        """
        rows = self._rows(
            {self._numbers.get(self._model.words[kept.words[place]], -1): int(place) for place in places}
        )
        times = self._model.times
        nearest = np.abs(times[:, None] - times[kept.slices]).argmin(axis=1)
        shown = [shown_year(self._model, float(time)) for time in times]
        story_of = dict(zip(map(int, places), stories, strict=True))
        found: dict[str, list[dict[str, Any]]] = {}
        for place, held in sorted(rows.items()):
            word = self._model.words[kept.words[place]]
            uses = self._typical(word, held, story_of[place])
            rest = [one for one in held if one not in uses]
            chosen = sorted([*uses, *_evenly(rest, most - len(uses))])
            found[str(place)] = [
                {
                    "slice": int(nearest[t]),
                    "shown": shown[t],
                    "shows": uses.get((t, row)),
                    **self._sentence(word, row),
                }
                for t, row in chosen
            ]
        return found

    def _typical(
        self, word: str, held: list[tuple[int, int]], story: dict[str, Any]
    ) -> dict[tuple[int, int], str]:
        """The sentences that use a word most like the neighbors that it left, and those that it came to."""
        before = after = (story["since"] + story["until"]) / 2.0
        if story["verdict"] in ("jump", "gradual"):
            before, after = story["date_low"], story["second_date"] or story["date_high"]
        times = self._model.times
        chosen: dict[tuple[int, int], str] = {}
        for name, near, time, side in (
            ("old", story["from"], story["since"], [one for one in held if times[one[0]] <= before]),
            ("new", story["to"], story["until"], [one for one in held if times[one[0]] >= after]),
        ):
            side = [one for one in side if one not in chosen]
            if not side:
                side = held[:1] if name == "old" else [one for one in held[-1:] if one not in chosen]
            if side:
                some = _evenly(side, _CANDIDATES)
                scores = self._closeness([row for _, row in some], word, near, float(time))
                chosen[some[int(np.argmax(scores))]] = name
        return chosen

    def _closeness(self, rows: list[int], word: str, near: Sequence[str], time: float) -> Floats:
        """How close the words beside a word in each sentence are to some neighbors.

        The words beside it are those within the window of the counts, from which the model knows its use.
        Sentences that are unwieldy, or spell the word differently, come last.
        """
        texts = [self._store.sentence(int(self._store.sentences[row])).text for row in rows]
        scores = np.array([0.0 if _LENGTHS[0] <= len(text) <= _LENGTHS[1] else -1.0 for text in texts])
        numbers = [self._known[name] for name in near if name in self._known]
        if numbers:
            moment = int(np.argmin(np.abs(self._moments - time)))
            target = self._units_at(moment)[numbers].sum(axis=0)
            own, window = self._known[word], self._counts.window
            for place, text in enumerate(texts):
                before, written, after = split_at_word(text, word)
                beside = _TOKEN.findall(before)[-window:] + _TOKEN.findall(after)[:window]
                tokens = {self._known.get(token.lower(), own) for token in beside} - {own}
                likeness = np.sort(self._units_at(moment)[list(tokens)] @ target)[-_TELLING:]
                scores[place] += likeness.sum() / (_TELLING * len(numbers)) - (not written)
        return scores

    def _units_at(self, moment: int) -> Floats:
        """The directions of all words at one of a few times, (L, d)."""
        if moment not in self._units:
            means = vectors_of(self._model).means_at(float(self._moments[moment]))
            self._units[moment] = np.nan_to_num(means / lengths_of(means)[:, None]).astype(np.float32)
        return self._units[moment]

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
        found = {"document": sentence.document, "before": before, "word": written, "after": after}
        return {**found, "group": sentence.group} if sentence.group else found


def _evenly(held: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    return held if len(held) <= most else [held[round(n)] for n in np.linspace(0, len(held) - 1, most)]
