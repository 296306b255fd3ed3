"""Everything a page is made of but the vectors, each part worked out once: what all three hosts have in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordtide.counts.workers import Observer
from wordtide.embeddings.states import Embeddings
from wordtide.explorer.evidence import Evidence
from wordtide.explorer.packing import gzipped, packed_json
from wordtide.explorer.page_cache import Kept, left_out
from wordtide.explorer.page_header import Labels, header, occurrences
from wordtide.explorer.page_stories import changed_table, told_stories, word_cards
from wordtide.explorer.word_map import map_steps, mapped_words, word_map
from wordtide.model.knots import Integers
from wordtide.questions.vectors import Vectors, vectors_of


@dataclass(frozen=True)
class PageData:
    """A model and what of it goes into a page. `map_words`: on the map at most, 0 for none. `why` others are left out."""

    model: Embeddings
    kept: Kept
    labels: Labels
    map_words: int = 0
    evidence: Evidence | None = None
    why: str = ""
    threads: int | None = None
    observer: Observer = field(default_factory=Observer)

    @cached_property
    def vectors(self) -> Vectors:
        """The vectors that similarity compares."""
        return vectors_of(self.model)

    def keeping(self, kept: Kept, why: str) -> "PageData":
        """The same of other words or slices."""
        return replace(self, kept=kept, why=why)

    @cached_property
    def words_on_map(self) -> int:
        """How many words the map has; 0: no map."""
        return mapped_words(self.model, self.kept, self.map_words)

    @cached_property
    def stories(self) -> list[dict[str, Any]]:
        """The stories of all words, told together, which is far quicker than one by one."""
        with _stage(self.observer, "stories", len(self.kept.words), "words"):
            return told_stories(self.model, self.kept, self.kept.words, self.observer.advance)

    @cached_property
    def changed(self) -> dict[str, Any]:
        """The table of changed words."""
        with _stage(self.observer, "changes", 0, "words"):
            return changed_table(self.model, self.vectors, self.kept)

    def header(self, **facts: Any) -> bytes:
        """The header, with facts that depend on the host."""
        content = header(
            self.model,
            self.vectors,
            self.kept,
            self.labels,
            self.evidence,
            left_out=left_out(self.model, self.kept, self.why),
            map=self.words_on_map > 0,
            examples=self.evidence is not None,
            **facts,
        )
        return packed_json(content)

    def packed_occurrences(self) -> bytes:
        """Occurrences of words in slices."""
        return gzipped([occurrences(self.model, self.kept)])

    def packed_stories(self, places: Integers) -> bytes:
        """The stories of some kept words by their places, without those of others."""
        return packed_json(told_stories(self.model, self.kept, self.kept.words[places]))

    def packed_changed(self) -> bytes:
        """The table of changed words."""
        return packed_json(self.changed)

    def packed_cards(self) -> bytes:
        """The words of the first view."""
        return packed_json(word_cards(self.model, self.vectors, self.kept, self.changed))

    def packed_map(self) -> bytes:
        """The map."""
        told = 0

        def hear(done: int, total: int) -> None:
            nonlocal told
            self.observer.advance(done - told)
            told = done

        with _stage(self.observer, "mapping", map_steps(self.model), "steps"):
            return packed_json(
                word_map(self.model, self.vectors, self.kept, self.words_on_map, self.threads, hear)
            )

    def packed_examples(self, most: int, places: Integers | None = None) -> bytes:
        """Sentences of some kept words by their places, or of all; `most` for each."""
        if self.evidence is None:
            raise ValueError("no sentences were asked for")
        if places is not None:
            return packed_json(self.evidence.sentences(self.kept, places, most))
        with _stage(self.observer, "sentences", 0, "words"):
            return packed_json(self.evidence.sentences(self.kept, np.arange(len(self.kept.words)), most))


@contextmanager
def _stage(observer: Observer, name: str, total: int, unit: str) -> Iterator[None]:
    """A stage that the observer hears of, however it ends."""
    observer.start(name, total, unit)
    try:
        yield
    finally:
        observer.finish()
