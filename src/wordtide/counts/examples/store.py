"""The files with example sentences: up to N for each word and slice, drawn at random by the seed.

Each sentence gets a priority, a hash of seed, document and place; a word keeps the N lowest it meets. So the
draw is uniform, the same for every order of input and number of workers, and two draws merge into the draw
from both corpora.
"""

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.counts.count_arrays import entries_by_slice
from wordtide.errors import FolderError, InputError
from wordtide.storage.arrays import GrowingArrays, load_array, save_array
from wordtide.storage.cells import write_lines
from wordtide.types import Bytes, Integers

#: Longer sentences (in bytes) are texts without full stops, and are not kept.
LONGEST_SENTENCE = 4000
_TEXTS = "example_sentences.txt"
_DOCUMENTS = "example_documents.txt"
_GROUPS = "example_groups.txt"
#: The arrays that grow slice by slice, and those that are written at the end. A file is named example_NAME.
_GROWING = {
    "words": "u4",
    "priorities": "u8",
    "sentences": "i8",
    "ends": "i8",
    "sources": "i8",
    "places": "i8",
}
_FIXED = ("stamps", "spans")
_SLICE_ENDS = "slice_examples"


class Sentence(NamedTuple):
    """A sentence with its document, and the document's date and group ("" if documents have none).

    `stamp` and `span` are the date, as `parse_date` returns it.
    """

    stamp: int
    span: int
    document: str
    place: int  # among the sentences of its document
    text: str
    group: str = ""


@dataclass(frozen=True)
class DrawnSentences:
    """Sentences drawn for words of one slice: `sentences[references[n]]`, with a priority, for `words[n]`."""

    words: Integers
    priorities: npt.NDArray[np.uint64]
    references: Integers
    sentences: list[Sentence]


def hash_sentences(names: Sequence[str], documents: Integers, places: Integers, seed: int) -> Any:
    """Hash the seed, the name of the document and the place in it to 64 bits per sentence (splitmix64)."""
    hashes = np.array(
        [
            int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest())
            for name in names
        ],
        dtype=np.uint64,
    )
    with np.errstate(over="ignore"):
        mixed = hashes[documents] + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        mixed += (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


class ExamplesWriter:
    """Writes the example files of a counts folder slice by slice. A context manager."""

    def __init__(self, folder: Path, examples: int) -> None:
        self._folder = folder
        self._examples = examples
        self._arrays = GrowingArrays(folder, {f"example_{name}": dtype for name, dtype in _GROWING.items()})
        self._texts = open(folder / _TEXTS, "wb")  # noqa: SIM115 (closed by close)
        self._documents: dict[str, int] = {}
        self._stamps: list[int] = []
        self._spans: list[int] = []
        self._groups: list[str] = []
        self._slice_ends = [0]

    def __enter__(self) -> "ExamplesWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._arrays.__exit__()
        with contextlib.suppress(OSError):
            self._texts.close()

    def add_slice(self, parts: Sequence[DrawnSentences]) -> None:
        """Add the candidates of all parts of a slice; keep the N with the lowest priorities for each word."""
        words = np.concatenate([part.words for part in parts])
        priorities = np.concatenate([part.priorities for part in parts])
        sentences = [sentence for part in parts for sentence in part.sentences]
        shifts = np.cumsum([0, *(len(part.sentences) for part in parts[:-1])])
        references = np.concatenate([part.references + n for part, n in zip(parts, shifts, strict=True)])
        order = np.lexsort((priorities, words))
        words, priorities, references = words[order], priorities[order], references[order]
        heads = np.concatenate([[True], words[1:] != words[:-1]]) if len(words) else np.zeros(0, dtype=bool)
        rank = np.arange(len(words)) - np.maximum.accumulate(np.where(heads, np.arange(len(words)), 0))
        kept = rank < self._examples
        words, priorities, references = words[kept], priorities[kept], references[kept]
        used = sorted(np.unique(references).tolist(), key=lambda reference: sentences[reference][:4])
        numbers = np.zeros(len(sentences) + 1, dtype=np.int64)
        numbers[used] = np.arange(len(used)) + self._arrays["example_sources"].length
        self._write_sentences([sentences[reference] for reference in used])
        self._arrays.append(
            example_words=words, example_priorities=priorities, example_sentences=numbers[references]
        )
        self._slice_ends.append(self._arrays["example_words"].length)

    def close(self) -> None:
        """Finish the files."""
        self._arrays.close()
        self._texts.close()
        write_lines(self._folder / _DOCUMENTS, (" ".join(name.split()) for name in self._documents))
        if any(self._groups):
            write_lines(self._folder / _GROUPS, self._groups)
        save_array(self._folder, "example_stamps", np.array(self._stamps, dtype=np.int64))
        save_array(self._folder, "example_spans", np.array(self._spans, dtype=np.int64))
        save_array(self._folder, _SLICE_ENDS, np.array(self._slice_ends, dtype=np.int64))

    def _write_sentences(self, sentences: Sequence[Sentence]) -> None:
        ends, sources = [], []
        for sentence in sentences:
            if sentence.document not in self._documents:
                self._documents[sentence.document] = len(self._documents)
                self._stamps.append(sentence.stamp)
                self._spans.append(sentence.span)
                self._groups.append(sentence.group)
            self._texts.write(" ".join(sentence.text.split()).encode("utf-8") + b"\n")
            ends.append(self._texts.tell())
            sources.append(self._documents[sentence.document])
        self._arrays.append(
            example_ends=np.array(ends),
            example_sources=np.array(sources),
            example_places=np.array([sentence.place for sentence in sentences]),
        )


@dataclass(frozen=True)
class ExampleStore:
    """The examples of a counts folder, read from disk on demand."""

    words: npt.NDArray[np.uint32]
    priorities: npt.NDArray[np.uint64]
    sentences: Integers
    ends: Integers
    sources: Integers
    places: Integers
    stamps: Integers
    spans: Integers
    slice_examples: Integers
    documents: list[str]
    groups: list[str]  # of the documents; empty, if they have none
    text: Bytes

    @staticmethod
    def open(folder: Path | None, slices: int) -> "ExampleStore":
        """Open the examples of counts with this number of slices; without a folder they are in memory.

        Raises:
            InputError: The corpus was counted without examples.
            FolderError: The files are damaged.
        """
        if folder is None or not has_examples(folder):
            raise InputError(
                f"{folder or 'The counts'}: no sentences were kept.",
                "Count again with --examples 3 to keep up to three for each word and slice.",
            )
        store = ExampleStore(
            **{name: load_array(folder, f"example_{name}", dtype) for name, dtype in _GROWING.items()},
            **{name: load_array(folder, f"example_{name}", "i8") for name in _FIXED},
            slice_examples=load_array(folder, _SLICE_ENDS, "i8", in_memory=True),
            documents=_lines(folder / _DOCUMENTS),
            groups=_lines(folder / _GROUPS) if (folder / _GROUPS).exists() else [],
            text=_mapped(folder / _TEXTS),
        )
        store.check(slices, folder)
        return store

    def check(self, slices: int, folder: Path) -> None:
        """Raise a FolderError if arrays are inconsistent: later code indexes with them."""
        ends = self.slice_examples
        sound = (
            len(ends) == slices + 1
            and ends[0] == 0
            and ends[-1] == len(self.words)
            and bool((np.diff(ends) >= 0).all())
        )
        sound = sound and len(self.words) == len(self.priorities) == len(self.sentences)
        sound = sound and len(self.groups) in (0, len(self.documents))
        if not sound or not len(self.ends) == len(self.sources) == len(self.places):
            raise FolderError(f"The examples in {folder} are damaged.", "Count again.")

    def rows(self, t: int) -> slice:
        """The rows of slice t in `words`, `priorities` and `sentences`."""
        return slice(int(self.slice_examples[t]), int(self.slice_examples[t + 1]))

    def drawn(self, t: int) -> DrawnSentences:
        """Read what was drawn for slice t."""
        rows = self.rows(t)
        numbers, references = np.unique(self.sentences[rows], return_inverse=True)
        found = [self.sentence(number) for number in numbers.tolist()]
        return DrawnSentences(self.words[rows].astype(np.int64), self.priorities[rows], references, found)

    def sentence(self, number: int) -> Sentence:
        """Read a sentence."""
        if not 0 <= number < len(self.ends) or not 0 <= self.sources[number] < min(
            len(self.documents), len(self.stamps), len(self.spans)
        ):
            raise FolderError("The examples are damaged.", "Count again.")
        start = int(self.ends[number - 1]) if number else 0
        source = int(self.sources[number])
        text = self.text[start : int(self.ends[number])].tobytes().decode("utf-8", "replace").rstrip("\n")
        stamp, span = int(self.stamps[source]), int(self.spans[source])
        group = self.groups[source] if self.groups else ""
        return Sentence(stamp, span, self.documents[source], int(self.places[number]), text, group)


def has_examples(folder: Path | None) -> bool:
    """Whether a counts folder holds sentences."""
    return folder is not None and (folder / _TEXTS).is_file()


def merge_examples(
    stores: Sequence[ExampleStore],
    members: Sequence[Integers],
    slices: int,
    most: int,
    folder: Path,
) -> None:
    """Write the examples of several stores together, `most` per word and slice, to a counts folder.

    `members` has for each slice of each store the slice of the result it belongs to, or -1.
    """
    with ExamplesWriter(folder, most) as writer:
        for slices_of_stores in entries_by_slice(stores, members, slices):
            writer.add_slice([store.drawn(t) for store, t in slices_of_stores])
        writer.close()


def _lines(path: Path) -> list[str]:
    try:
        if not path.is_file():  # a pipe would never end
            raise OSError("it is not a file")
        return path.read_bytes().decode("utf-8").split("\n")[:-1]
    except (OSError, UnicodeDecodeError) as error:
        raise FolderError(f"{path} cannot be read: {error}", "Count again.") from error


def _mapped(path: Path) -> Bytes:
    if path.stat().st_size == 0:
        return np.zeros(0, dtype=np.uint8)
    return np.memmap(path, dtype=np.uint8, mode="r")
