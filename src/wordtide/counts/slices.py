"""Pairs, word frequencies and examples of scanned text, slice by slice, in parts that fit into memory."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.counts.count_arrays import CountArrays
from wordtide.counts.examples.draws import Candidates, draw_sentences, join_candidates
from wordtide.counts.examples.store import ExamplesWriter
from wordtide.counts.pairs import bits_for, code_dtype, find_pairs, sort_codes, sum_runs
from wordtide.counts.segments import Segment
from wordtide.counts.settings import CountSettings
from wordtide.counts.sums import KeySums, SliceSums
from wordtide.counts.workers import Resources, in_order
from wordtide.counts.writer import CountsWriter, RowBlock, compress_rows
from wordtide.types import Integers

_PART_IDS = 1 << 21  # numbers counted at a time: their pair codes are sorted in memory


class _Scratch(threading.local):
    """Work arrays of one thread, kept from part to part: fresh memory is expensive."""

    def __init__(self) -> None:
        self.places = np.empty(0, dtype=np.int32)
        self.codes: npt.NDArray[Any] = np.empty(0, dtype=np.uint32)
        self.spare: npt.NDArray[Any] = np.empty(0, dtype=np.uint32)

    def make_room(self, ids: int, window: int, dtype: npt.DTypeLike) -> None:
        if len(self.places) < ids:
            self.places = np.empty(ids, dtype=np.int32)
        if len(self.codes) < ids * window or self.codes.dtype != dtype:
            self.codes = np.empty(ids * window, dtype=dtype)
            self.spare = np.empty(ids * window, dtype=dtype)


class _Part(NamedTuple):
    """Entries of one slice that are counted together; `is_whole` if they are all of it."""

    slice: int
    entries: list[tuple[Segment, int]]
    is_whole: bool


@dataclass(frozen=True)
class _PartCounts:
    """Counts of one part. The pairs of a whole slice are ready to be written, others are still to be added
    up.
    """

    pairs: KeySums | None
    rows: RowBlock | None
    occurrences: Integers
    candidates: list[Candidates]


def count_slices(
    by_slice: Sequence[Sequence[tuple[Segment, int]]],
    tokens: Integers,
    numberings: Sequence[npt.NDArray[np.int32]],
    words: int,
    window: int,
    settings: CountSettings,
    resources: Resources,
    folder: Path,
) -> tuple[CountArrays, int]:
    """Count all slices and write them; returns the arrays and the number of tokens in the vocabulary."""
    scratch = _Scratch()
    dtype = np.dtype(code_dtype(words, window))
    word_bits, weight_bits = bits_for(words), bits_for(window)

    def count_part(part: _Part) -> _PartCounts:
        sizes = [int(segment.starts[entry + 1] - segment.starts[entry]) for segment, entry in part.entries]
        scratch.make_room(sum(sizes), window, dtype)
        occurrences = np.zeros(words, dtype=np.int64)
        candidates = []
        filled = 0
        for segment, entry in part.entries:
            ids = np.asarray(segment.ids[segment.starts[entry] : segment.starts[entry + 1]])
            numbering = numberings[segment.scanner]
            filled += find_pairs(
                ids, numbering, window, word_bits, weight_bits, settings.close_gaps,
                scratch.places, scratch.codes[filled:], occurrences,
            )  # fmt: skip
            if settings.examples:
                candidates.append(
                    draw_sentences(segment, entry, numbering, words, settings.examples, settings.seed)
                )
        codes, spare = sort_codes(
            scratch.codes[:filled], scratch.spare[:filled], weight_bits, weight_bits + 2 * word_bits
        )
        sums = spare.view(np.uint32)
        found = sum_runs(codes, weight_bits, codes, sums)
        if part.is_whole:
            return _PartCounts(
                None, compress_rows(codes[:found], sums[:found], words), occurrences, candidates
            )
        pairs = KeySums(codes[:found].copy(), sums[:found].astype(np.int64))
        return _PartCounts(pairs, None, occurrences, candidates)

    resources.observer.start("counting", int(tokens.sum()), "words")
    stack = contextlib.ExitStack()
    writer = stack.enter_context(CountsWriter(folder, words))
    examples = stack.enter_context(ExamplesWriter(folder, settings.examples)) if settings.examples else None
    sums = SliceSums(len(by_slice), resources.spill, resources.memory // 2, dtype)
    stack.callback(sums.close)
    occurrences = np.zeros(words, dtype=np.int64)
    candidates: list[Candidates] = []
    in_vocabulary = 0
    parts = list(_parts(by_slice))
    tasks = (partial(count_part, part) for part in parts)
    with stack:
        for number, (part, counted) in enumerate(zip(parts, in_order(tasks, resources.workers), strict=True)):
            if counted.pairs is not None:
                sums.add(part.slice, counted.pairs)
            occurrences += counted.occurrences
            candidates += counted.candidates
            if number + 1 == len(parts) or parts[number + 1].slice != part.slice:
                if counted.rows is not None:
                    writer.add_rows(counted.rows)
                for block in sums.take(part.slice):
                    writer.add_pairs(block.keys, block.sums)
                there = np.flatnonzero(occurrences)
                writer.end_slice(there, occurrences[there])
                in_vocabulary += int(occurrences.sum())
                if examples is not None:
                    drawn = join_candidates(candidates)
                    examples.add_slice(drawn.words, drawn.priorities, drawn.references, drawn.sentences)
                resources.observer.step(int(tokens[part.slice]))
                occurrences[:] = 0
                candidates = []
        arrays = writer.close()
        if examples is not None:
            examples.close()
    resources.observer.finish()
    return arrays, in_vocabulary


def _parts(by_slice: Sequence[Sequence[tuple[Segment, int]]]) -> Iterator[_Part]:
    """Slices in order of time, each in parts of at most `_PART_IDS` numbers (or one entry, if that is
    larger).
    """
    for slice_index, entries in enumerate(by_slice):
        waiting: list[tuple[Segment, int]] = []
        size = 0
        is_whole = True
        for segment, entry in entries:
            ids = int(segment.starts[entry + 1] - segment.starts[entry])
            if waiting and size + ids > _PART_IDS:
                is_whole = False
                yield _Part(slice_index, waiting, is_whole)
                waiting, size = [], 0
            waiting.append((segment, entry))
            size += ids
        yield _Part(slice_index, waiting, is_whole)
