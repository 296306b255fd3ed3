"""The resources of a folder or a server, by name, with all requested words and slices.

Names have a few fixed forms. Each is checked by a regular expression and against the numbers of slices and
words.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from wordtide.explorer.evidence import MANY
from wordtide.explorer.nearest_lists import lists_at, lists_block
from wordtide.explorer.page_data import PageData, gzipped, packed_json
from wordtide.explorer.quantization import (
    Block,
    Sample,
    SampledBlock,
    join_blocks,
    quantization_facts,
    slice_block,
    word_blocks,
)
from wordtide.types import Integers

#: The most numbers and the most words in a chunk, so that the curve of a word loads instantly.
_CHUNK_NUMBERS, _CHUNK_WORDS = 400_000, 64
_MOST_NUMBERS = 1 << 30  # in memory
_NAME = re.compile(
    r"(?:(header|occurrences|changed|cards|map|divided|groups)"
    r"|(slices|words|stories|examples|nearest)/([0-9]{4,10}))\.bin",
    re.ASCII,
)


class RemoteResources:
    """Everything that the page can fetch, by name, with the words of a chunk in one resource.

    `at_once` computes all stories and vectors with the first one, as far as memory allows: for a caller that
    fetches everything.
    """

    def __init__(self, data: PageData, words_per_chunk: int | None = None, at_once: bool = False) -> None:
        numbers = len(data.kept.slices) * data.model.dim
        self.data, self.at_once = data, at_once
        self.words_per_chunk = words_per_chunk or max(1, min(_CHUNK_WORDS, _CHUNK_NUMBERS // numbers))

    @cached_property
    def chunks(self) -> int:
        """The number of chunks of words."""
        return -(-len(self.data.kept.words) // self.words_per_chunk)

    @property
    def lists_together(self) -> tuple[int, int] | None:
        """The words and slices whose lists of neighbors form one resource; None if there are too many lists
        to compute, so that the page does without them.
        """
        if not self.at_once:
            return 1, 1
        return (self.words_per_chunk, len(self.data.kept.slices)) if self._fits_memory else None

    @property
    def blocks_of_lists(self) -> int:
        """The number of resources with lists of neighbors."""
        if self.lists_together is None:
            return 0
        return self.chunks if self.at_once else self.data.kept.rows

    @property
    def _fits_memory(self) -> bool:
        return self.data.kept.rows * self.data.model.dim <= _MOST_NUMBERS

    def names(self) -> Iterator[str]:
        """All names, those without a number first."""
        yield from ("header.bin", "occurrences.bin", "changed.bin", "cards.bin")
        if self.data.words_on_map:
            yield "map.bin"
        yield from (f"{name}.bin" for name in self.data.group_resources)
        yield from (f"slices/{number:04d}.bin" for number in range(len(self.data.kept.slices)))
        kinds = ("words", "stories", *(("examples",) if self.data.evidence else ()))
        for kind in kinds:
            yield from (f"{kind}/{number:04d}.bin" for number in range(self.chunks))
        yield from (f"nearest/{number:04d}.bin" for number in range(self.blocks_of_lists))

    def has(self, name: str) -> bool:
        """Whether there is a resource of this name."""
        match = _NAME.fullmatch(name)
        if match is None:
            return False
        single, kind, digits = match.groups()
        if single in ("divided", "groups"):
            return single in self.data.group_resources
        if single:
            return single != "map" or self.data.words_on_map > 0
        if kind == "examples" and self.data.evidence is None:
            return False
        number = int(digits)
        most = {"slices": len(self.data.kept.slices), "nearest": self.blocks_of_lists}.get(kind, self.chunks)
        return digits == f"{number:04d}" and number < most

    def resource(self, name: str) -> bytes:
        """The bytes of a resource; KeyError if there is none of this name."""
        match = _NAME.fullmatch(name)
        if match is None or not self.has(name):
            raise KeyError(name)
        single, kind, digits = match.groups()
        if single:
            made = {
                "header": self._header,
                "occurrences": self.data.packed_occurrences,
                "groups": self.data.packed_groups,
            }
            return made[single]() if single in made else self.data.packed_view(single)
        number = int(digits)
        if kind == "slices":
            return self._slice(number)
        if kind == "nearest":
            return self._nearest(number)
        places = self._places(number)
        if kind == "words":
            return self._words(places)
        return self._stories(places) if kind == "stories" else self.data.packed_examples(MANY, places)

    def _places(self, chunk: int) -> Integers:
        """The positions of a chunk's words among those on the page."""
        first = chunk * self.words_per_chunk
        return np.arange(first, min(first + self.words_per_chunk, len(self.data.kept.words)))

    def _stories(self, places: Integers) -> bytes:
        if self.at_once:
            return packed_json([self.data.stories[place] for place in places])
        return self.data.packed_stories(places)

    @cached_property
    def _whole(self) -> Block | None:
        """All rows, word by word; None if rows are computed on request."""
        kept, model = self.data.kept, self.data.model
        if not self.at_once or not self._fits_memory:
            return None
        blocks = []
        with self.data.observer.stage("vectors", len(kept.words), "words"):
            for places, block in word_blocks(self.data.vectors, model.times, kept.words, kept.slices):
                blocks.append(block)
                self.data.observer.step(len(places))
        return join_blocks(blocks)

    def _words(self, places: Integers) -> bytes:
        kept = self.data.kept
        if self._whole is not None:
            first, size = int(places[0]) * len(kept.slices), len(places) * len(kept.slices)
            return gzipped(self._whole.take(np.arange(first, first + size)).parts())
        blocks = [
            block
            for _, block in word_blocks(
                self.data.vectors, self.data.model.times, kept.words[places], kept.slices
            )
        ]
        return gzipped(join_blocks(blocks).parts())

    def _nearest(self, number: int) -> bytes:
        if self.at_once:
            return self.data.packed_nearest(self._places(number))
        word, place = divmod(number, len(self.data.kept.slices))
        listed = lists_at(self.data.vectors, self.data.kept, place, np.array([word]))
        return gzipped([lists_block(listed[:, None])])

    def _slice(self, number: int) -> bytes:
        kept = self.data.kept
        if self._whole is not None:
            return gzipped(self._whole.take(np.arange(number, kept.rows, len(kept.slices))).parts())
        block = slice_block(self.data.vectors, self.data.model.times, kept.words, int(kept.slices[number]))
        return gzipped(block.parts())

    def _header(self) -> bytes:
        shape = {"words_per_chunk": self.words_per_chunk, "nearest": self.lists_together}
        return self.data.header(embedded=False, **shape, **self._quantization_facts())

    def _quantization_facts(self) -> dict[str, Any]:
        kept = self.data.kept
        sample = Sample.draw(len(kept.words), len(kept.slices))
        words, slices = kept.words[sample.words], kept.slices[sample.slices]
        blocks = [block for _, block in word_blocks(self.data.vectors, self.data.model.times, words, slices)]
        return quantization_facts(self.data.vectors, SampledBlock(words, slices, join_blocks(blocks)))
