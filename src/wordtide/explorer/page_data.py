"""The content of a page except its vectors, each part computed once. All three hosts use it.

The parts are the header (words, slices, what was left out, facts about the model), occurrences, stories, the
table of changed words, word cards, the map and sentences. They are compressed JSON without NaN, or compressed
arrays: the same bytes for the same content.
"""

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.explorer.evidence import Evidence
from wordtide.explorer.nearest_lists import lists_block, nearest_lists
from wordtide.explorer.page_views import (
    PageSelection,
    changed_table,
    divided_table,
    left_out,
    mapped_words,
    page_stories,
    word_cards,
    word_map,
)
from wordtide.explorer.quantization import LEVELS, differences_along_time, join_blocks, word_blocks
from wordtide.progress import Observer
from wordtide.questions.answers import shown_year, slices_nearby
from wordtide.questions.divided import in_group
from wordtide.questions.vectors import DEFAULT_VECTORS, OFTEN, Vectors, vectors_of
from wordtide.types import Indices, Integers
from wordtide.version import __version__

FORMAT, VERSION = "wordtide-explorer", 1
_CITE = (
    "wordtide: how the meaning of words moves through time, with credible intervals.",
    "Robert Bamler and Stephan Mandt: Dynamic Word Embeddings. "
    "International Conference on Machine Learning (ICML), 2017.",
)
_BIBTEX = f"""@software{{wordtide,
  title = {{wordtide: how the meaning of words moves through time, with credible intervals}},
  author = {{{{The wordtide authors}}}},
  version = {{{__version__}}},
}}

@inproceedings{{bamler2017dynamic,
  title = {{Dynamic Word Embeddings}},
  author = {{Bamler, Robert and Mandt, Stephan}},
  booktitle = {{Proceedings of the 34th International Conference on Machine Learning}},
  year = {{2017}},
}}"""
_NATURAL = ("rate", "final_rate", "trust", "tolerance", "max_steps")  # settings of the natural solver
_LEVEL = 6  # 9 takes three times as long and saves 1 %
_GZIP = 31  # zlib's code for a gzip frame; it carries no date
_DECIMALS = 6  # of numbers in JSON: years to half a minute, cosines far below the quantization of vectors
_SMALL, _DIGITS = 1e-3, 4  # smaller numbers, such as settings, keep this many significant digits


@dataclass(frozen=True)
class Labels:
    """The user's own texts on a page: its title, and the license of what it shows."""

    title: str
    license: str | None = None


@dataclass(frozen=True)
class PageData:
    """A model and the part of it on a page; `why` says why other words and slices were left out.

    `map_words` are the most words on the map, 0 for no map; `evidence` has sentences from the corpus, if
    requested; `threads` are those for lists of neighbors and the map.
    """

    model: Embeddings
    kept: PageSelection
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

    def keeping(self, kept: PageSelection, why: str) -> "PageData":
        """The same data for other words or slices; stories of the same words are not computed again."""
        other = replace(self, kept=kept, why=why)
        if "stories" in self.__dict__ and np.array_equal(kept.words, self.kept.words):
            other.__dict__["stories"] = self.stories
        return other

    @cached_property
    def words_on_map(self) -> int:
        """The number of words on the map; 0 if there is no map."""
        return mapped_words(self.model, self.kept, self.map_words)

    @cached_property
    def stories(self) -> list[dict[str, Any]]:
        """The stories of all words, computed together, which is far faster than one by one."""
        with self.observer.stage("stories", len(self.kept.words), "words"):
            return page_stories(self.model, self.kept, self.kept.words, self.observer.step)

    @cached_property
    def changed(self) -> dict[str, Any]:
        """The table of changed words."""
        with self.observer.stage("changes", 0, "words"):
            return changed_table(self.model, self.vectors, self.kept)

    @cached_property
    def nearest(self) -> Indices:
        """The nearest words of every word at every slice."""
        return nearest_lists(self.vectors, self.kept, self.threads, self.observer)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups of texts that can be compared; empty if there are not two."""
        known = self.model.fitted.groups
        return known.names if known is not None and len(known.names) > 1 else ()

    @cached_property
    def divided(self) -> dict[str, Any]:
        """The table of words that groups use differently."""
        return divided_table(self.model, self.kept)

    @property
    def group_resources(self) -> tuple[str, ...]:
        """The resources on groups: none without groups, and no vectors if groups use all words alike."""
        if not self.groups:
            return ()
        return ("divided", "groups") if self.divided["columns"]["word"] else ("divided",)

    def header(self, **facts: Any) -> bytes:
        """The header, with `facts` that depend on the host."""
        content = {
            **_header(self.model, self.vectors, self.kept, self.labels, self.evidence),
            "groups": list(self.groups),
            "left_out": left_out(self.model, self.kept, self.why),
            "map": self.words_on_map > 0,
            "examples": self.evidence is not None,
            **facts,
            "about": _about(self.model, self.labels, self.evidence),
        }
        return packed_json(content)

    def packed_occurrences(self) -> bytes:
        """The occurrences of words in slices."""
        return gzipped([_occurrences(self.model, self.kept)])

    def packed_nearest(self, places: Integers | slice = slice(None)) -> bytes:
        """The nearest words of the words at some positions, or of all."""
        return gzipped([lists_block(self.nearest[places])])

    def packed_stories(self, places: Integers) -> bytes:
        """The stories of the words at some positions, without computing those of others."""
        return packed_json(page_stories(self.model, self.kept, self.kept.words[places]))

    def packed_view(self, name: str) -> bytes:
        """What a view shows: "changed" or "divided" words, the "cards" of the first view, or the "map"."""
        if name == "map":
            words, threads, observer = self.words_on_map, self.threads, self.observer
            return packed_json(word_map(self.model, self.vectors, self.kept, words, threads, observer))
        if name == "cards":
            return packed_json(word_cards(self.model, self.vectors, self.kept, self.changed))
        return packed_json(self.changed if name == "changed" else self.divided)

    def packed_groups(self, levels: int = LEVELS) -> bytes:
        """The vectors of these words in each group: by group, word and slice, as differences along time."""
        words = self.kept.words[self.divided["columns"]["word"]]
        names, blocks = [self.model.words[number] for number in words], []
        for group in self.groups:
            vectors = vectors_of(in_group(self.model, group, *names)[0])
            made = word_blocks(
                vectors, self.model.times, words, self.kept.slices, one_scale=True, levels=levels
            )
            blocks += [block for _, block in made]
        directions, noise, settled = join_blocks(blocks).parts()
        rows = len(self.groups) * len(words) * len(self.kept.slices)
        differences = differences_along_time(
            np.frombuffer(directions, dtype=np.int8).reshape(rows, -1), len(self.kept.slices)
        )
        return gzipped([differences.tobytes(), noise, settled])

    def packed_examples(self, most: int, places: Integers | None = None) -> bytes:
        """Up to `most` sentences of each word at some positions, or of all words."""
        if self.evidence is None:
            raise ValueError("the page has no sentences")
        if places is None:
            every, stories = np.arange(len(self.kept.words)), self.stories
            with self.observer.stage("sentences", 0, "words"):
                return packed_json(self.evidence.sentences(self.kept, every, most, stories))
        if "stories" in self.__dict__:
            stories = [self.stories[place] for place in places]
        else:
            stories = page_stories(self.model, self.kept, self.kept.words[places])
        return packed_json(self.evidence.sentences(self.kept, places, most, stories))


def _estimand(vectors: Vectors) -> str:
    """A sentence that defines similarity and its interval, and one that defines vectors."""
    similarity = (
        "the expected cosine of the vectors of two words under the posterior, with its 90% interval"
        if vectors.uncertain
        else "the cosine of the vectors of two words, without an interval"
    )
    return f"Similarity is {similarity}. A vector is the sum of a word's and its context's vector."


def _header(
    model: Embeddings, vectors: Vectors, kept: PageSelection, labels: Labels, evidence: Evidence | None
) -> dict[str, Any]:
    tokens, documents = model.slice_occurrences, evidence.documents if evidence else [None] * len(model)
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": labels.title,
        "estimand": _estimand(vectors),
        "method": model.method,
        "uncertain": vectors.uncertain,
        "vectors": DEFAULT_VECTORS,
        "dim": model.dim,
        "words": [model.words[number] for number in kept.words],
        "totals": [whole_or_float(total) for total in model.total_occurrences[kept.words]],
        "slices": [
            {
                "time": float(model.times[t]),
                "label": model.labels[t],
                "shown": shown_year(model, float(model.times[t])),
                "tokens": whole_or_float(tokens[t]),
                "documents": documents[t],
            }
            for t in kept.slices
        ],
        "all_slices": [
            {"time": float(time), "tokens": whole_or_float(number)}
            for time, number in zip(model.times, tokens, strict=True)
        ],
        "known": {"noise": vectors.most_noise, "often": OFTEN},
        "slices_nearby": slices_nearby(model),
    }


def _about(model: Embeddings, labels: Labels, evidence: Evidence | None) -> dict[str, Any]:
    tokens = whole_or_float(model.total_occurrences.sum())
    corpus: dict[str, Any] = {"documents": None, "tokens": tokens, "distinct_words": None}
    return {
        "corpus": {
            **(evidence.corpus if evidence else corpus),
            "first": model.labels[0],
            "last": model.labels[-1],
            "slices": len(model),
            "words": len(model.words),
        },
        "settings": {
            **_effective(model.settings),
            "diffusion": model.diffusion.constant,
            "prior": model.diffusion.name,
            "prior_variance": model.diffusion.prior_variance,
        },
        "wordtide": __version__,
        "licence": labels.license,
        "cite": list(_CITE),
        "bibtex": _BIBTEX,
    }


def _effective(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the chosen solver and method used."""
    unused: tuple[str, ...] = ("adam_",)
    if settings.get("solver") == "adam":
        smoothing = settings.get("method") == "smoothing"
        unused = (*_NATURAL, *(("adam_steps",) if smoothing else ("adam_minibatch", "adam_full")))
    return {
        name: value for name, value in settings.items() if value is not None and not name.startswith(unused)
    }


def _occurrences(model: Embeddings, kept: PageSelection) -> bytes:
    """The number of occurrences of each word in each slice, word by word, as uint32."""
    place = np.full(len(model.words), -1)
    place[kept.words] = np.arange(len(kept.words))
    column = np.full(len(model), -1)
    column[kept.slices] = np.arange(len(kept.slices))
    places, values = model.fitted.occurrences.places, model.fitted.occurrences.values
    rows, columns = place[places.words], column[places.slices]
    there = (rows >= 0) & (columns >= 0)
    table = np.zeros((len(kept.words), len(kept.slices)), dtype="<u4")
    counted = np.asarray(values)[there]
    table[rows[there], columns[there]] = np.clip(np.rint(counted), counted > 0, 2**32 - 1).astype("<u4")
    return table.tobytes()


def gzipped(parts: Iterable[bytes]) -> bytes:
    """Concatenate parts and compress them into one gzip frame."""
    press = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return b"".join([*(press.compress(part) for part in parts), press.flush()])


def packed_json(content: object) -> bytes:
    """Encode content as compressed JSON in UTF-8; NaN and infinities become null."""
    text = json.dumps(json_ready(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzipped([text.encode("utf-8", "surrogatepass")])


def json_ready(value: Any) -> Any:
    """Convert content to Python's own types, with rounded floats and None for what is not finite."""
    if isinstance(value, np.ndarray):
        return [json_ready(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return _rounded(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): json_ready(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(one) for one in value]
    return value


def _rounded(value: float) -> float:
    return round(value, _DECIMALS) if abs(value) >= _SMALL else float(f"{value:.{_DIGITS}g}")


def whole_or_float(number: Any) -> int | float:
    """A count as an integer if it is whole; counts of n-grams may not be."""
    return int(number) if float(number).is_integer() else float(number)
