"""Segments of scanned text: word numbers sorted by slice, in memory as far as they fit and otherwise on disk.

The vocabulary is known only after everything has been read, so reading leaves a stream of word numbers (4
bytes per word), and counting reads that stream instead of the text.
"""

import mmap
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.compiled import kernel
from wordtide.corpus.documents import Batch
from wordtide.corpus.tokens.tokenizers import ScannedBatch, Scanner
from wordtide.counts.phrases.phrase_table import PhraseTable, join_phrases
from wordtide.counts.sums import KeySums, add_sums
from wordtide.dates import DAY
from wordtide.timeline import SliceLength, Slices
from wordtide.types import Bytes, Floats, Integers

SEGMENT_IDS = 1 << 21


class SpillSpace:
    """Decides whether an array stays in memory or goes to disk. Shared by all workers."""

    def __init__(self, folder: Path, budget: int) -> None:
        self.folder = folder
        self._left = budget
        self._files = 0
        self._lock = threading.Lock()

    def keep(self, array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """Return the array itself, or a memory map of a file with its content."""
        with self._lock:
            self._left -= array.nbytes
            if self._left >= 0 or array.nbytes == 0:
                return array
            self._files += 1
            path = self.folder / f"segment-{self._files}.bin"
        with open(path, "wb") as file:
            file.write(np.ascontiguousarray(array).data)
        return np.memmap(path, dtype=array.dtype, mode="c", shape=array.shape)  # kernels accept this type


def is_on_disk(array: npt.NDArray[Any]) -> bool:
    """Whether an array that `SpillSpace` kept went to disk."""
    return isinstance(array, np.memmap)


def release(array: npt.NDArray[Any], start: int = 0, stop: int | None = None) -> None:
    """Release the cached pages of an array on disk, from one item to another. Arrays in memory stay.

    The system would keep the pages as long as there is room, and count them as memory of this process.
    """
    pages: Any = getattr(array, "_mmap", None)
    if hasattr(pages, "madvise") and len(array[start:stop]):  # Windows lacks it
        item = array[:1].nbytes
        first = start * item // mmap.PAGESIZE * mmap.PAGESIZE
        pages.madvise(mmap.MADV_DONTNEED, first, (len(array) if stop is None else stop) * item - first)


@dataclass(frozen=True)
class SentenceTexts:
    """The sentences of a segment, for examples. Sentence s ends at the s-th BREAK of `ids`."""

    spans: Integers  # (sentences, 2): bytes of `text`
    documents: Integers  # (sentences,): index into `names`, `stamps` and `date_spans`
    places: Integers  # (sentences,): which sentence of its document
    text: Bytes
    names: list[str]
    stamps: Integers
    date_spans: Integers


@dataclass(frozen=True)
class Segment:
    """Scanned documents.

    Entry e (a period, a group's part of it, or one document) has the words `ids[starts[e]:starts[e + 1]]`.
    """

    ids: npt.NDArray[np.int32]
    starts: Integers
    entries: Slices
    scanner: int  # the scanner whose lexicon defines the numbers
    texts: SentenceTexts | None = None
    sentence_starts: Integers | None = None  # (entries + 1,), with texts
    groups: Integers | None = None  # (entries,): the number of each entry's group, if documents have groups


#: An entry of a segment, by its number.
Entry = tuple[Segment, int]


@kernel
def gather(
    ids: npt.NDArray[np.int32],
    ends: Integers,
    order: Integers,
    out: npt.NDArray[np.int32],
) -> None:
    """Concatenate the word numbers of documents in the given order."""
    filled = 0
    for document in order:
        start = ends[document - 1] if document > 0 else 0
        for place in range(start, ends[document]):
            out[filled] = ids[place]
            filled += 1


class SegmentBuilder:
    """The scanner of one worker and the segment that it fills."""

    def __init__(
        self, number: int, scanner: Scanner, every: SliceLength, space: SpillSpace, keep_texts: bool
    ) -> None:
        self.number = number
        self.scanner = scanner
        self.segments: list[Segment] = []
        self.documents = 0  # read so far, including those without words
        self._every = every
        self._space = space
        self._keep_texts = keep_texts
        self._start_over()

    def add(self, batch: Batch, groups: Integers | None = None) -> None:
        """Scan a batch and add its word numbers to the segment; `groups` has the group of each document."""
        if len(batch) == 0:
            return
        scanned = self.scanner.scan(batch)
        self._ids.append(scanned.ids.copy())
        self._ends.append(scanned.ends + self._filled)
        self._sentence_ends.append(scanned.sentence_ends + self._sentence_count)
        self._stamps.append(batch.stamps)
        self._spans.append(batch.spans)
        if groups is not None:
            self._groups.append(groups)
        if self._keep_texts or self._every.unit == "document":
            self._names.extend(batch.name(document) for document in range(len(batch)))
        if self._keep_texts:
            self._add_texts(batch, scanned)
        self.documents += len(batch)
        self._filled += len(scanned.ids)
        self._sentence_count += len(scanned.sentences)
        if self._filled >= SEGMENT_IDS:
            self.seal()

    def seal(self) -> None:
        """Complete the segment: sort its documents by slice."""
        if not self._stamps:
            return
        ids = np.concatenate(self._ids) if len(self._ids) > 1 else self._ids[0]
        ends = np.concatenate(self._ends)
        sentence_ends = np.concatenate(self._sentence_ends)
        stamps, spans = np.concatenate(self._stamps), np.concatenate(self._spans)
        by_document = self._every.unit == "document"
        ordinals = self._every.ordinals(stamps)
        sizes = np.diff(ends, prepend=0)
        sentences = np.diff(sentence_ends, prepend=0)
        tokens = sizes - sentences
        groups = np.concatenate(self._groups) if self._groups else np.zeros(len(stamps), dtype=np.int64)
        order = np.arange(len(stamps)) if by_document else np.lexsort((groups, ordinals))
        order = order[tokens[order] > 0]  # documents without words do not affect the date of a slice
        if len(order) == 0:
            self._start_over()
            return
        if not (order[1:] > order[:-1]).all():
            sorted_ids = np.empty_like(ids)
            gather(ids, ends, order, sorted_ids)
            ids = sorted_ids
        firsts = np.ones(len(order), dtype=np.bool_)
        if not by_document:
            sorted_ordinals, sorted_groups = ordinals[order], groups[order]
            firsts[1:] = sorted_ordinals[1:] != sorted_ordinals[:-1]
            firsts[1:] |= sorted_groups[1:] != sorted_groups[:-1]
        heads = np.flatnonzero(firsts)
        entries = self._entries(order, heads, ordinals, tokens, stamps, spans)
        starts = np.append(np.concatenate([[0], np.cumsum(sizes[order])[:-1]])[heads], len(ids))
        texts, sentence_starts = None, None
        if self._keep_texts:
            sentence_starts = np.append(
                np.concatenate([[0], np.cumsum(sentences[order])[:-1]])[heads], sentences.sum()
            )
            texts = self._texts(order, sentences, sentence_ends, stamps, spans)
        kept: Any = self._space.keep(ids)
        own = groups[order][heads] if self._groups else None
        self.segments.append(Segment(kept, starts, entries, self.number, texts, sentence_starts, own))
        self._start_over()

    def _start_over(self) -> None:
        self._ids: list[npt.NDArray[np.int32]] = []
        self._ends: list[Integers] = []
        self._sentence_ends: list[Integers] = []
        self._stamps: list[Integers] = []
        self._spans: list[Integers] = []
        self._groups: list[Integers] = []
        self._names: list[str] = []
        self._text_spans: list[Integers] = []
        self._texts_so_far: list[Bytes] = []
        self._text_bytes = 0
        self._filled = 0
        self._sentence_count = 0

    def _entries(
        self,
        order: Integers,
        heads: Integers,
        ordinals: Integers,
        tokens: Integers,
        stamps: Integers,
        spans: Integers,
    ) -> Slices:
        days, seconds = np.divmod(stamps, DAY)
        if self._every.unit == "document":
            labels = [self._names[document] for document in order]
        else:
            labels = [self._every.label(int(ordinal)) for ordinal in ordinals[order][heads]]
        return Slices(
            ordinals=ordinals[order][heads],
            tokens=np.add.reduceat(tokens[order], heads),
            documents=np.diff(heads, append=len(order)),
            moment_days=np.add.reduceat((tokens * days)[order], heads),
            moment_seconds=np.add.reduceat((tokens * seconds)[order], heads),
            first=np.minimum.reduceat(stamps[order], heads),
            last=np.maximum.reduceat(stamps[order], heads),
            spans=np.minimum.reduceat(spans[order], heads),
            labels=labels,
        )

    def _add_texts(self, batch: Batch, scanned: ScannedBatch) -> None:
        first, last = int(batch.offsets[0]), int(batch.offsets[-1])
        self._text_spans.append(scanned.sentences - first + self._text_bytes)
        self._texts_so_far.append(batch.data[first:last])
        self._text_bytes += last - first

    def _texts(
        self,
        order: Integers,
        sentences: Integers,
        sentence_ends: Integers,
        stamps: Integers,
        date_spans: Integers,
    ) -> SentenceTexts:
        spans = np.concatenate(self._text_spans)
        by_document = np.repeat(order, sentences[order])
        within = np.arange(len(by_document)) - np.repeat(
            np.cumsum(sentences[order]) - sentences[order], sentences[order]
        )
        rows = (sentence_ends - sentences)[by_document] + within
        text: Any = self._space.keep(np.concatenate(self._texts_so_far))
        return SentenceTexts(spans[rows], by_document, within, text, self._names, stamps, date_spans)


def words_of_slice(
    entries: Sequence[Entry], numbers: Sequence[Integers], tables: Sequence[PhraseTable]
) -> KeySums:
    """Count the words in entries of a slice.

    For each scanner, `numbers` translates its word numbers, and `tables` has its phrases.
    """
    counted = [KeySums(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))]
    for segment, entry in entries:
        ids = segment.ids[segment.starts[entry] : segment.starts[entry + 1]]
        if tables:
            ids = join_phrases(np.asarray(ids), tables[segment.scanner])
        found, times = np.unique(ids[ids >= 0], return_counts=True)
        keys = numbers[segment.scanner][found].astype(np.uint64)
        order = np.argsort(keys)
        counted.append(KeySums(keys[order], times[order].astype(np.int64)))
    return add_sums(counted)


def add_shares(scores: Floats, words: KeySums) -> None:
    """Add the share of each word in one slice to its score."""
    scores[words.keys.astype(np.int64)] += words.sums / max(1, int(words.sums.sum()))
