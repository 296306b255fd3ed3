"""Compilation of the kernels before the work begins, with a message; later runs read them from the cache."""

import sys
from dataclasses import replace

import numpy as np

from wordtide.compiled import is_cached, notice_of_compiling
from wordtide.corpus.delimited import find_records
from wordtide.corpus.documents import BadRows, make_batch
from wordtide.corpus.jsonlines import find_items
from wordtide.corpus.ngram_tables import NgramScanner
from wordtide.corpus.normalization import inspect_texts
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.corpus.tokens.tokenizers import Scanner, TokenRule
from wordtide.counts.examples.draws import draw_from
from wordtide.counts.ngrams.codes import add_words, add_years
from wordtide.counts.ngrams.pair_lists import KeyRule, NgramSegment, YearSlices, sum_keys
from wordtide.counts.pairs import compress_rows, find_pairs, sort_codes, sum_runs
from wordtide.counts.phrases.collocations import ERAS, NeighborRule, Units, count_neighbors, count_units
from wordtide.counts.phrases.phrase_table import PhraseTable, count_numbers
from wordtide.counts.segments import Segment, gather
from wordtide.counts.settings import CountSettings
from wordtide.counts.sums import KeySums, add_sums
from wordtide.counts.workers import PairRule
from wordtide.timeline import INTEGER_FIELDS, Slices


def warm_up(ngrams: bool, say: bool = True, phrases: bool = False) -> None:
    """Compile the kernels for texts or n-grams, or load them, before several threads need them."""
    with notice_of_compiling(_say if say else lambda: None):
        Lexicon().make_room()
        Lexicon().absorb(Lexicon(["one"]))
        if ngrams:
            _warm_ngrams()
        else:
            _warm_texts()
        if phrases:
            _warm_phrases()
        for dtype in (np.uint32, np.uint64):
            one = KeySums(np.array([1, 2], dtype=dtype), np.array([1, 1]))
            add_sums([one, one])
            for sums in (one.sums, one.sums.astype(np.uint32)):
                compress_rows(one.keys, sums, 2)
            many = np.arange(1 << 12, dtype=dtype)
            sort_codes(many, many.copy(), 0, 12)


def _say() -> None:
    often = (
        "on first use only"
        if is_cached(find_pairs)
        else "every time, because no folder to keep it in can be written"
    )
    print(f"wordtide: compiling the counting code; this happens {often} ...", file=sys.stderr, flush=True)


def _warm_texts() -> None:
    find_records(np.frombuffer(b"a,b\n", dtype=np.uint8), ord(","))
    find_items(np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.uint8), np.zeros(4, dtype=np.int64))
    batch = make_batch([b"One two. Three"], [(0, 1)], [""], [0])
    inspect_texts(batch.data, batch.offsets, np.zeros(1 << 17, dtype=np.bool_), np.zeros(3, dtype=np.int64))
    Scanner(TokenRule(pretokenized=True)).scan(batch)
    ids = Scanner(TokenRule()).scan(batch).ids.copy()
    numbering = np.zeros(64, dtype=np.int32)
    gather(ids, np.array([len(ids)]), np.array([0]), np.empty_like(ids))
    for dtype in (np.uint32, np.uint64):
        codes = np.empty(64, dtype=dtype)
        found = find_pairs(
            ids, numbering, 4, 2, 2, False, np.empty(64, dtype=np.int32), codes, np.zeros(64, dtype=np.int64)
        )
        sum_runs(codes[:found], 2, codes, np.empty(64, dtype=np.uint32))
    draw_from(ids, numbering, np.zeros(8, dtype=np.uint64), np.ones(8, dtype=np.bool_), 1, 1)


def _warm_phrases() -> None:
    ids = np.array([0, 1, -1], dtype=np.int32)
    rule = PairRule([ids], 2, 1, CountSettings(), [PhraseTable.of(["a b"], Lexicon("ab"), 2)])
    slices = Slices(**{name: np.zeros(1, dtype=np.int64) for name in INTEGER_FIELDS}, labels=[""])
    segment = Segment(ids, np.array([0, 3]), slices, 0)
    eras = np.zeros(1, dtype=np.int64)
    occurrences = count_units(segment, eras, rule)
    for words in (2, 1 << 16):  # narrow and wide codes
        rule = replace(rule, words=words)
        sizes = np.full(ERAS + 1, 2)
        count_neighbors(segment, eras, NeighborRule.of(rule, Units(["a", "b"], ()), occurrences, sizes))
    count_numbers(ids, 0, np.zeros(2, dtype=np.int64))
    for dtype in (np.uint32, np.uint64):
        codes = np.zeros(1, dtype=dtype)
        sum_runs(codes, 0, codes, codes.view(np.uint32))


def _warm_ngrams() -> None:
    batch = NgramScanner(TokenRule(), (1, 9999)).scan(
        b"one two\t1900,1,1\nx y" + b"\t1900,1,1" * 9 + b"\n", 1, "", BadRows()
    )
    segment = NgramSegment(batch.ids, batch.sizes, batch.ends, batch.years, batch.matches, 0)
    calendar = YearSlices(np.zeros(10_000, dtype=np.int64), 1)
    lists, numbering = calendar.lists_of(segment), np.zeros(64, dtype=np.int32)
    for matches in (segment.matches, segment.matches.astype(np.int64) << 40):  # narrow and wide
        same, lists = replace(segment, matches=matches), lists._replace(matches=matches)
        for words in (2, 1 << 20):  # narrow and wide keys
            list(sum_keys(same, numbering, KeyRule(words, 4), lists, calendar.total))
        add_words(segment.ids, segment.sizes, numbering, lists, np.zeros((2, 1), dtype=np.int64))
        add_years(segment.years, matches, np.zeros((2, 10_000), dtype=np.int64))
