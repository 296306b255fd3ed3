"""Counting scanned text slice by slice, in parts that fit into memory: pairs, occurrences, and example sentences."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wordtide.counts.counts import CountArrays
from wordtide.counts.example_draws import Candidates, draw_sentences, join_candidates
from wordtide.counts.examples import ExamplesWriter
from wordtide.counts.pairs import bits_for, code_dtype, find_pairs, sum_runs
from wordtide.counts.partials import Partial, PartialSums
from wordtide.counts.segments import Segment
from wordtide.counts.settings import CountSettings
from wordtide.counts.workers import Resources, in_order
from wordtide.counts.writer import CountsWriter
from wordtide.timeline import Integers

_PART_IDS = 1 << 21  # numbers counted at a time: their pair codes are sorted in memory


class _Scratch(threading.local):
    """Work arrays of one thread, used again and again: fresh memory is dear."""

    def __init__(self) -> None:
        self.places = np.empty(0, dtype=np.int32)
        self.codes: npt.NDArray[np.generic] = np.empty(0, dtype=np.uint32)
        self.sums = np.empty(0, dtype=np.uint32)

    def make_room(self, ids: int, window: int, dtype: npt.DTypeLike) -> None:
        if len(self.places) < ids:
            self.places = np.empty(ids, dtype=np.int32)
        if len(self.codes) < ids * window or self.codes.dtype != dtype:
            self.codes = np.empty(ids * window, dtype=dtype)
            self.sums = np.empty(ids * window, dtype=np.uint32)


@dataclass(frozen=True)
class _PartCounts:
    slice: int
    pairs: Partial
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
    """Count all slices and write them; the arrays, and the number of tokens in the vocabulary."""
    scratch = _Scratch()
    dtype = np.dtype(code_dtype(words, window))
    word_bits, weight_bits = bits_for(words), bits_for(window)

    def count_part(slice_index: int, entries: Sequence[tuple[Segment, int]]) -> _PartCounts:
        sizes = [int(segment.starts[entry + 1] - segment.starts[entry]) for segment, entry in entries]
        scratch.make_room(sum(sizes), window, dtype)
        occurrences = np.zeros(words, dtype=np.int64)
        candidates = []
        filled = 0
        for segment, entry in entries:
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
        codes = scratch.codes[:filled]
        codes.sort()
        found = sum_runs(codes, weight_bits, codes, scratch.sums)
        pairs = Partial(codes[:found].copy(), scratch.sums[:found].astype(np.int64))
        return _PartCounts(slice_index, pairs, occurrences, candidates)

    resources.observer.start("counting", int(tokens.sum()), "words")
    stack = contextlib.ExitStack()
    writer = stack.enter_context(CountsWriter(folder, words))
    examples = stack.enter_context(ExamplesWriter(folder, settings.examples)) if settings.examples else None
    sums = PartialSums(len(by_slice), resources.spill, resources.memory // 2, dtype)
    stack.callback(sums.close)
    occurrences = np.zeros(words, dtype=np.int64)
    candidates: list[Candidates] = []
    in_vocabulary = 0
    parts = list(_parts(by_slice))
    tasks = (partial(count_part, slice_index, entries) for slice_index, entries in parts)
    with stack:
        for number, part in enumerate(in_order(tasks, resources.workers)):
            sums.add(part.slice, part.pairs)
            occurrences += part.occurrences
            candidates += part.candidates
            if number + 1 == len(parts) or parts[number + 1][0] != part.slice:
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


def _parts(
    by_slice: Sequence[Sequence[tuple[Segment, int]]],
) -> Iterator[tuple[int, list[tuple[Segment, int]]]]:
    """Slices in order of time, each in parts of at most `_PART_IDS` numbers (or one entry, if that is larger)."""
    for slice_index, entries in enumerate(by_slice):
        part: list[tuple[Segment, int]] = []
        size = 0
        for segment, entry in entries:
            ids = int(segment.starts[entry + 1] - segment.starts[entry])
            if part and size + ids > _PART_IDS:
                yield slice_index, part
                part, size = [], 0
            part.append((segment, entry))
            size += ids
        yield slice_index, part
