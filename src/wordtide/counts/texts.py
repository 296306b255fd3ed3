"""Counts of texts: scan all into word numbers, choose the vocabulary, then count pairs slice by slice."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wordtide.corpus.columns import folder_level
from wordtide.corpus.documents import BadRows, Batch, Block, grouped_by_folder
from wordtide.corpus.normalization import decode_entities, drop_matches, normalize_texts
from wordtide.corpus.tokens.lexicon import Lexicon, combine_lexicons
from wordtide.corpus.tokens.tokenizers import Scanner, apply_tokenizer, load_tokenizer
from wordtide.counts.cluster.reduce import add_groups
from wordtide.counts.count_arrays import CountArrays, CountsWriter, RowBlock, entries_by_slice
from wordtide.counts.counts import Counts
from wordtide.counts.examples.draws import draw_sentences
from wordtide.counts.examples.store import DrawnSentences, ExamplesWriter
from wordtide.counts.groups import FOLDER, GroupNumbers, entries_of_groups, split_groups
from wordtide.counts.pairs import bits_for, code_dtype, compress_rows, find_pairs, sort_codes, sum_runs
from wordtide.counts.phrases.phrase_choice import TextPasses, choose_words, with_phrases
from wordtide.counts.phrases.phrase_table import words_of
from wordtide.counts.segments import Entry, Segment, SegmentBuilder, SpillSpace, release
from wordtide.counts.settings import Summary
from wordtide.counts.sums import KeySums, SliceSums
from wordtide.counts.vocabulary import numbering_of
from wordtide.counts.workers import (
    CountInput,
    PairRule,
    ResourcePool,
    Resources,
    fields_of,
    in_order,
    token_rule,
)
from wordtide.timeline import SliceLength
from wordtide.types import Array, Integers

TEXT_WINDOW = 4  # c_max in the paper's table of hyper-parameters
_PART_IDS = 1 << 21  # numbers counted at a time: their pair codes are sorted in memory
_NO_WORDS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class ScannedTexts:
    """A corpus as word numbers, and facts for the summary."""

    segments: list[Segment]
    lexicons: list[Lexicon]
    documents: int
    outside_dates: int
    groups: list[str]  # in the order of their numbers in segments


def count_texts(source: CountInput, folder: Path) -> Counts:
    """Count a corpus of texts; the large arrays are written to `folder`."""
    settings = source.settings
    bad = BadRows(settings.skip_bad)
    scan = scan_texts(source, bad)
    slices, members = settings.unite_slices([segment.entries for segment in scan.segments])
    whole, numbers = combine_lexicons(scan.lexicons)
    distinct = int(np.count_nonzero(whole.totals))
    passes = TextPasses(scan.segments, members, slices, scan.lexicons, numbers, source.resources)
    vocabulary, phrases = choose_words(passes, whole, settings, source.vocabulary, len(slices))
    window = settings.window or TEXT_WINDOW
    numbering = numbering_of(whole, vocabulary)
    numberings = [numbering[numbers_of_scanner] for numbers_of_scanner in numbers]
    rule = PairRule(numberings, len(vocabulary), window, settings, groups=scan.groups)
    if phrases:
        rule = with_phrases(rule, phrases, vocabulary, scan.lexicons)
    groups = _count_groups(scan, members, len(slices), rule, source.resources, folder / FOLDER)
    if groups is not None and not settings.examples:
        arrays = add_groups(groups[1], len(slices), len(vocabulary), source.resources, folder)
        occurrences = int(arrays.unigram_values.sum())
    else:
        by_slice = entries_by_slice(scan.segments, members, len(slices))
        arrays, occurrences = count_slices(by_slice, slices.tokens, rule, source.resources, folder)
    summary = Summary(
        documents=scan.documents,
        tokens=int(slices.tokens.sum()),
        tokens_in_vocabulary=occurrences,
        distinct_words=distinct,
        outside_dates=scan.outside_dates,
        ignored_files=source.corpus.ignored.total(),
        skipped=dict(sorted(bad.reasons.items())),
    )
    settings = replace(settings, phrases=phrases)
    counts = Counts(vocabulary, slices, arrays, settings, window, summary=summary)
    counts.findings = bad.findings
    if groups is not None:
        counts.groups = split_groups(counts, *groups)
    return counts


def _count_groups(
    scan: ScannedTexts,
    members: list[Integers],
    slices: int,
    rule: PairRule,
    resources: Resources,
    folder: Path,
) -> tuple[list[str], CountArrays, dict[str, Integers]] | None:
    """Count the pairs of each group, if there are groups; the large arrays are written to `folder`."""
    if not scan.groups or not slices:
        return None
    folder.mkdir()
    names, found = entries_of_groups(scan.segments, members, slices, scan.groups)
    rule = replace(rule, settings=replace(rule.settings, examples=0))
    arrays, _ = count_slices(found.entries, found.numbers["tokens"], rule, resources, folder, "groups")
    return names, arrays, found.numbers


def scan_texts(source: CountInput, bad: BadRows) -> ScannedTexts:
    """Read a corpus, or a shard of one, and number its words."""
    settings, resources, (since, until) = source.settings, source.resources, source.dates
    rule = token_rule(settings)
    known = None if source.vocabulary is None else [*source.vocabulary, *words_of(settings.joined_phrases)]
    every = SliceLength.parse(settings.every)
    space = SpillSpace(resources.spill, resources.memory // 2)
    builders = [
        SegmentBuilder(number, Scanner(rule, known), every, space, settings.examples > 0)
        for number in range(resources.workers)
    ]
    idle = ResourcePool(builders)
    level, groups = folder_level(settings.group_field), GroupNumbers(settings.group_field)
    observer = resources.observer
    observer.start("reading", source.corpus.total_bytes, "bytes")
    with ExitStack() as stack:
        split = _splitter(source, stack)

        def read(block: Block) -> int:
            batch = block(bad)
            if level is not None:
                batch = grouped_by_folder(batch, level, bad)
            if not settings.pretokenized:
                batch = decode_entities(batch)
            batch = normalize_texts(batch, bad)
            inside = (batch.stamps >= since) & (batch.stamps < until)
            outside = len(batch) - int(inside.sum())
            batch = batch.where(inside)
            bad.findings.add_documents(batch, every.longest)
            if settings.drop:
                batch = drop_matches(batch, settings.drop)
            batch = split(batch)
            numbers = groups.of_documents(batch)
            with idle.borrowed() as builder:
                builder.add(batch, numbers)
            return outside

        fields = fields_of(settings)
        blocks = source.corpus.blocks(fields, bad, observer.step)
        outside_dates = sum(in_order((partial(read, block) for block in blocks), resources.workers))
    for _ in in_order((builder.seal for builder in builders), resources.workers):
        pass
    observer.finish()
    segments = [segment for builder in builders for segment in builder.segments]
    documents = sum(builder.documents for builder in builders)
    lexicons = [builder.scanner.lexicon for builder in builders]
    return ScannedTexts(segments, lexicons, documents, outside_dates, groups.names())


def _splitter(source: CountInput, stack: ExitStack) -> Callable[[Batch], Batch]:
    """The function that splits texts into tokens before they are numbered.

    The compiled rule needs none. A custom tokenizer runs in processes of its own if there are several
    workers, because Python code holds the GIL.
    """
    name, tokenizer, workers = source.settings.tokenizer, source.tokenizer, source.resources.workers
    if name is None:
        return lambda batch: batch
    if tokenizer is not None:
        return lambda batch: apply_tokenizer(batch, tokenizer, name)
    load_tokenizer(name)  # reject a wrong name early
    if workers == 1:
        return partial(_apply_named, name)
    pool = stack.enter_context(ProcessPoolExecutor(workers, mp_context=get_context("spawn")))
    return lambda batch: pool.submit(_apply_named, name, batch).result()


def _apply_named(name: str, batch: Batch) -> Batch:
    return apply_tokenizer(batch, load_tokenizer(name), name)


class _Scratch(threading.local):
    """Work arrays of one thread, kept from part to part: fresh memory is expensive."""

    def __init__(self) -> None:
        self.places = np.empty(0, dtype=np.int32)
        self.joined = np.empty(0, dtype=np.int32)
        self.codes: Array = np.empty(0, dtype=np.uint32)
        self.spare: Array = np.empty(0, dtype=np.uint32)

    def make_room(self, ids: int, window: int, dtype: npt.DTypeLike, phrases: bool) -> None:
        if phrases and len(self.joined) < ids:
            self.joined = np.empty(ids, dtype=np.int32)
        if len(self.places) < ids:
            self.places = np.empty(ids, dtype=np.int32)
        if len(self.codes) < ids * window or self.codes.dtype != dtype:
            self.codes = np.empty(ids * window, dtype=dtype)
            self.spare = np.empty(ids * window, dtype=dtype)


class _Part(NamedTuple):
    """Entries of one slice that are counted together; `is_whole` if they are all of it."""

    slice: int
    entries: list[Entry]
    is_whole: bool


@dataclass(frozen=True)
class _PartCounts:
    """Counts of one part: `rows` of a whole slice, ready to be written, else `pairs` to be added up."""

    pairs: KeySums | None
    rows: RowBlock | None
    occurrences: Integers
    candidates: list[DrawnSentences]


def count_slices(
    by_slice: Sequence[Sequence[Entry]],
    tokens: Integers,
    rule: PairRule,
    resources: Resources,
    folder: Path,
    stage: str = "counting",
) -> tuple[CountArrays, int]:
    """Count all slices and write them; returns the arrays and the number of tokens in the vocabulary."""
    words, most_examples = rule.words, rule.settings.examples
    parts = list(_parts(by_slice))
    scratch = _Scratch()
    tasks = (partial(_count_part, part, rule, scratch) for part in parts)
    resources.observer.start(stage, int(tokens.sum()), "words")
    in_vocabulary = 0
    with ExitStack() as stack:
        writer = stack.enter_context(CountsWriter(folder, words))
        examples = stack.enter_context(ExamplesWriter(folder, most_examples)) if most_examples else None
        dtype = code_dtype(words, rule.window)
        sums = SliceSums(len(by_slice), resources.spill, resources.memory // 2, dtype)
        stack.callback(sums.close)
        counts = in_order(tasks, resources.workers)
        for t, of_slice in groupby(zip(parts, counts, strict=True), key=lambda found: found[0].slice):
            occurrences, candidates = _NO_WORDS, list[DrawnSentences]()
            for _, counted in of_slice:
                occurrences = occurrences + counted.occurrences if len(occurrences) else counted.occurrences
                candidates += counted.candidates
                writer.add_rows(counted.rows)
                if counted.pairs is not None:
                    sums.add(t, counted.pairs)
            for block in sums.take(t):
                writer.add_rows(compress_rows(block.keys, block.sums, words))
            there = np.flatnonzero(occurrences)
            writer.end_slice(there, occurrences[there])
            in_vocabulary += int(occurrences.sum())
            if examples is not None:
                examples.add_slice(candidates)
            resources.observer.step(int(tokens[t]))
        arrays = writer.close()
        if examples is not None:
            examples.close()
    resources.observer.finish()
    return arrays, in_vocabulary


def _count_part(part: _Part, rule: PairRule, scratch: _Scratch) -> _PartCounts:
    """Find the pairs of a part, add up their weights, and draw its example sentences."""
    words, window, settings = rule.words, rule.window, rule.settings
    if not part.entries:  # of a group: most have text in few slices
        return _PartCounts(None, None, _NO_WORDS, [])
    word_bits, weight_bits = bits_for(words), bits_for(window)
    sizes = [int(segment.starts[entry + 1] - segment.starts[entry]) for segment, entry in part.entries]
    scratch.make_room(sum(sizes), window, np.dtype(code_dtype(words, window)), len(rule.tables) > 0)
    occurrences = np.zeros(words, dtype=np.int64)
    candidates = []
    filled = 0
    for segment, entry in part.entries:
        ids = rule.stream(segment, entry, scratch.joined)
        numbering = rule.numberings[segment.scanner]
        filled += find_pairs(
            ids, numbering, window, word_bits, weight_bits, settings.close_gaps,
            scratch.places, scratch.codes[filled:], occurrences,
        )  # fmt: skip
        if settings.examples:
            candidates.append(draw_sentences(segment, entry, ids, rule))
        release(segment.ids, int(segment.starts[entry]), int(segment.starts[entry + 1]))
    codes, spare = sort_codes(
        scratch.codes[:filled], scratch.spare[:filled], weight_bits, weight_bits + 2 * word_bits
    )
    sums = spare.view(np.uint32)
    found = sum_runs(codes, weight_bits, codes, sums)
    if part.is_whole:
        rows = compress_rows(codes[:found], sums[:found], words)
        return _PartCounts(None, rows, occurrences, candidates)
    pairs = KeySums(codes[:found].copy(), sums[:found].astype(np.int64))
    return _PartCounts(pairs, None, occurrences, candidates)


def _parts(by_slice: Sequence[Sequence[Entry]]) -> Iterator[_Part]:
    """Slices in order of time, in parts of at most `_PART_IDS` numbers; an entry is never divided."""
    for slice_index, entries in enumerate(by_slice):
        waiting: list[Entry] = []
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
