"""Counts of texts: scan everything once into word numbers, choose the vocabulary, then count pairs slice by
slice.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wordtide.corpus.columns import Fields
from wordtide.corpus.documents import BadRows, Batch, Block, normalize_texts
from wordtide.corpus.sources import Corpus
from wordtide.corpus.tokens.lexicon import Lexicon, combine_lexicons
from wordtide.corpus.tokens.tokenizers import Scanner, Tokenizer, TokenRule, apply_tokenizer, load_tokenizer
from wordtide.counts.counts import Counts
from wordtide.counts.segments import Segment, SegmentBuilder, SpillSpace
from wordtide.counts.settings import CountSettings, Summary
from wordtide.counts.slices import count_slices
from wordtide.counts.sums import KeySums, add_sums
from wordtide.counts.vocabulary import choose_vocabulary, numbering_of
from wordtide.counts.workers import Lending, Resources, in_order
from wordtide.timeline import Every, parse_duration, unite
from wordtide.types import Integers

TEXT_WINDOW = 4  # c_max in the paper's table of hyper-parameters


@dataclass(frozen=True)
class Scan:
    """A corpus as word numbers, and facts for the summary."""

    segments: list[Segment]
    lexicons: list[Lexicon]
    documents: int
    outside_dates: int


def count_texts(
    corpus: Corpus,
    settings: CountSettings,
    dates: tuple[int, int],
    vocabulary: list[str] | None,
    tokenizer: Tokenizer | None,
    resources: Resources,
    folder: Path,
) -> Counts:
    """Count a corpus of texts; the large arrays are written to `folder`."""
    every = Every.parse(settings.every)
    bad = BadRows(settings.skip_bad)
    scan = scan_texts(corpus, settings, dates, vocabulary, tokenizer, bad, resources)
    within = parse_duration(settings.merge_within) if settings.merge_within else 0
    slices, members = unite([segment.entries for segment in scan.segments], every, within)
    whole, numbers = combine_lexicons(scan.lexicons)
    distinct = int(np.count_nonzero(whole.totals))
    by_slice: list[list[tuple[Segment, int]]] = [[] for _ in range(len(slices))]
    for segment, places in zip(scan.segments, members, strict=True):
        for entry in np.flatnonzero(places >= 0):
            by_slice[places[entry]].append((segment, int(entry)))
    if vocabulary is None:
        scores = whole.totals if settings.vocabulary_by == "total" else _shares(by_slice, numbers, len(whole))
        vocabulary = choose_vocabulary(whole, scores, settings.vocabulary_size, settings.min_count)
    window = settings.window or TEXT_WINDOW
    numbering = numbering_of(whole, vocabulary)
    numberings = [numbering[numbers_of_scanner] for numbers_of_scanner in numbers]
    arrays, occurrences = count_slices(
        by_slice, slices.tokens, numberings, len(vocabulary), window, settings, resources, folder
    )
    summary = Summary(
        documents=scan.documents,
        tokens=int(slices.tokens.sum()),
        tokens_in_vocabulary=occurrences,
        distinct_words=distinct,
        outside_dates=scan.outside_dates,
        ignored_files=corpus.ignored,
        skipped=dict(sorted(bad.reasons.items())),
    )
    return Counts(vocabulary, slices, arrays, settings, window, summary=summary)


def scan_texts(
    corpus: Corpus,
    settings: CountSettings,
    dates: tuple[int, int],
    vocabulary: list[str] | None,
    tokenizer: Tokenizer | None,
    bad: BadRows,
    resources: Resources,
) -> Scan:
    """Read a corpus, or a shard of one, and number its words."""
    rule = TokenRule(
        settings.numbers,
        settings.urls,
        settings.user_names,
        settings.hyphens,
        settings.tokenizer,
        settings.pretokenized,
    )
    every = Every.parse(settings.every)
    space = SpillSpace(resources.spill, resources.memory // 2)
    builders = [
        SegmentBuilder(number, Scanner(rule, vocabulary), every, space, settings.examples > 0)
        for number in range(resources.workers)
    ]
    idle = Lending(builders)
    observer = resources.observer
    observer.start("reading", corpus.total_bytes, "bytes")
    with ExitStack() as stack:
        split = _splitter(settings, tokenizer, resources, stack)

        def read(block: Block) -> int:
            batch = normalize_texts(block(bad), bad)
            inside = (batch.stamps >= dates[0]) & (batch.stamps < dates[1])
            outside = len(batch) - int(inside.sum())
            batch = split(batch.where(inside))
            with idle.borrowed() as builder:
                builder.add(batch)
            return outside

        fields = Fields(settings.date_field, settings.text_field, settings.date_format)
        blocks = corpus.blocks(fields, bad, observer.step)
        outside_dates = sum(in_order((partial(read, block) for block in blocks), resources.workers))
    for _ in in_order((builder.seal for builder in builders), resources.workers):
        pass
    observer.finish()
    segments = [segment for builder in builders for segment in builder.segments]
    documents = sum(builder.documents for builder in builders)
    return Scan(segments, [builder.scanner.lexicon for builder in builders], documents, outside_dates)


def _splitter(
    settings: CountSettings, tokenizer: Tokenizer | None, resources: Resources, stack: ExitStack
) -> Callable[[Batch], Batch]:
    """The function that splits texts into tokens before they are numbered.

    The compiled rule needs none. A custom tokenizer runs in processes of its own if there are several
    workers, because Python code holds the GIL.
    """
    name = settings.tokenizer
    if name is None:
        return lambda batch: batch
    if tokenizer is not None:
        return lambda batch: apply_tokenizer(batch, tokenizer, name)
    load_tokenizer(name)  # reject a wrong name early
    if resources.workers == 1:
        return partial(_apply_named, name)
    pool = stack.enter_context(ProcessPoolExecutor(resources.workers, mp_context=get_context("spawn")))
    return lambda batch: pool.submit(_apply_named, name, batch).result()


def _apply_named(name: str, batch: Batch) -> Batch:
    return apply_tokenizer(batch, load_tokenizer(name), name)


def _shares(
    by_slice: Sequence[Sequence[tuple[Segment, int]]], numbers: Sequence[Integers], words: int
) -> npt.NDArray[np.float64]:
    """The sum of the shares of each word over slices.

    Slices are added in order of time, so that the result does not depend on how the corpus was split.
    """
    scores = np.zeros(words, dtype=np.float64)
    for entries in by_slice:
        add_shares(scores, words_of_slice(entries, numbers))
    return scores


def words_of_slice(entries: Sequence[tuple[Segment, int]], numbers: Sequence[Integers]) -> KeySums:
    """Count the words in parts of a slice; `numbers` translates the numbers of each scanner."""
    counted = [KeySums(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))]
    for segment, entry in entries:
        ids = segment.ids[segment.starts[entry] : segment.starts[entry + 1]]
        found, times = np.unique(ids[ids >= 0], return_counts=True)
        keys = numbers[segment.scanner][found].astype(np.uint64)
        order = np.argsort(keys)
        counted.append(KeySums(keys[order], times[order].astype(np.int64)))
    return add_sums(counted)


def add_shares(scores: npt.NDArray[np.float64], words: KeySums) -> None:
    """Add the share of each word in one slice to its score."""
    scores[words.keys.astype(np.int64)] += words.sums / max(1, int(words.sums.sum()))
