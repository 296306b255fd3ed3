"""Shards scanned into word numbers and counted, by the functions of a single process."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.corpus.documents import BadRows
from wordtide.corpus.findings import Findings, merge_findings
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts.cluster.job import (
    CountPlan,
    Job,
    Part,
    Shard,
    read_lexicon,
    read_parts,
    read_plan,
    write_lexicon,
    write_parts,
)
from wordtide.counts.cluster.reduce import save_slice_numbers
from wordtide.counts.count_arrays import CountsWriter, entries_by_slice
from wordtide.counts.ngrams.pair_lists import KeyRule, NgramSegment, YearSlices, sum_segments
from wordtide.counts.ngrams.tables import (
    make_calendar,
    ngram_window,
    read_ngrams,
    write_ngram_counts,
)
from wordtide.counts.phrases.phrase_choice import make_tables, with_phrases
from wordtide.counts.segments import Entry, Segment, SentenceTexts, words_of_slice
from wordtide.counts.settings import CountSettings, Summary
from wordtide.counts.sums import KeySums
from wordtide.counts.texts import TEXT_WINDOW, count_slices, scan_texts
from wordtide.counts.vocabulary import numbering_of
from wordtide.storage.arrays import load_array, save_array
from wordtide.storage.work_folder import WorkFolder
from wordtide.timeline import INTEGER_FIELDS, SliceLength, Slices
from wordtide.types import Integers

_COLUMNS = ("ids", "sizes", "ends", "years", "matches")
_YEARS = "year_totals"
_OF_TEXTS = "texts_"  # before the names of columns with sentences
_NO_WORDS = KeySums(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class Survey:
    """What is known once all shards are read: the slices, and facts for the summary.

    `shares` has each shard's part of the plan, or one part for all.
    """

    slices: Slices
    shares: list[Part]
    window: int
    places: int
    summary: Summary
    findings: Findings | None = None


def scan_text_shard(job: Job, piece: str, shard: Shard) -> None:
    """Scan a shard and store its word numbers."""
    bad = BadRows(job.settings.skip_bad)
    with job.work.new_piece(piece) as (folder, facts):
        with job.room(folder) as resources:
            scan = scan_texts(job.task(shard.corpus(), resources), bad)
            write_parts(folder, [_flattened(segment) for segment in scan.segments])
        write_lexicon(folder, scan.lexicons[0])
        facts.update(
            documents=scan.documents,
            outside=scan.outside_dates,
            skipped=dict(bad.reasons),
            findings=bad.findings.as_json(),
        )


def survey_texts(work: WorkFolder, scans: Sequence[str], settings: CountSettings) -> Survey:
    """Combine the entries of all shards into slices."""
    slices, members = settings.unite_slices([_entries(read_parts(work.folder(scan))) for scan in scans])
    facts = [work.facts(scan) for scan in scans]
    summary = Summary(
        documents=sum(of_shard["documents"] for of_shard in facts),
        tokens=int(slices.tokens.sum()),
        outside_dates=sum(of_shard["outside"] for of_shard in facts),
        skipped=_skipped(facts),
    )
    return Survey(
        slices,
        [{"members": places} for places in members],
        settings.window or TEXT_WINDOW,
        1,
        summary,
        merge_findings(of_shard["findings"] for of_shard in facts),
    )


def _count_text_shard(job: Job, plan: CountPlan, scan: str, folder: Path) -> None:
    """Count the pairs of a shard, with the vocabulary of the plan."""
    numbers, by_slice = _by_slice(job.work.folder(scan), plan.share["members"])
    lexicon = read_lexicon(job.work.folder(scan))
    rule = plan.pair_rule(numbering_of(lexicon, plan.words), job.settings)
    rule = with_phrases(rule, plan.phrases, plan.words, [lexicon])
    tokens = np.zeros(len(by_slice), dtype=np.int64)  # for progress, which is not shown
    with job.room(folder) as resources:
        count_slices(by_slice, tokens, rule, resources, folder)
    save_slice_numbers(folder, numbers)


def _count_words_of_text_shard(job: Job, plan: CountPlan, scan: str, whole: Lexicon, folder: Path) -> None:
    """Count the single words of a shard, slice by slice, by their numbers in the lexicon of all shards."""
    numbers, by_slice = _by_slice(job.work.folder(scan), plan.share["members"])
    own = read_lexicon(job.work.folder(scan))
    added = np.arange(len(whole), len(whole) + len(plan.phrases))
    translation = np.concatenate([whole.find(own.words(np.arange(len(own)))), added])
    tables = make_tables(plan.phrases, [own], [len(own)]) if plan.phrases else ()
    with CountsWriter(folder, len(whole) + len(added)) as writer:
        for entries in by_slice:
            words = words_of_slice(entries, [translation], tables)
            writer.end_slice(words.keys.astype(np.int64), words.sums)
        writer.close()
    save_slice_numbers(folder, numbers)


def count_shard_words(job: Job, piece: str, plan: str, shard: int, scan: str, lexicon: str) -> None:
    """Count the single words of a shard, slice by slice."""
    whole = read_lexicon(job.work.folder(lexicon))
    count = _count_words_of_ngram_shard if job.ngrams else _count_words_of_text_shard
    with job.work.new_piece(piece) as (folder, _):
        count(job, read_plan(job.work, plan, shard), scan, whole, folder)


def count_shard_pairs(job: Job, piece: str, plan: str, shard: int, scan: str) -> None:
    """Count the pairs of a shard, slice by slice, and draw its example sentences."""
    count = _count_ngram_shard if job.ngrams else _count_text_shard
    with job.work.new_piece(piece) as (folder, _):
        count(job, read_plan(job.work, plan, shard), scan, folder)


def _by_slice(scan: Path, members: Integers) -> tuple[Integers, list[list[Entry]]]:
    """The slices of a shard, and its entries for each."""
    segments = list(read_segments(scan))
    numbers = np.unique(members[members >= 0])
    places = np.where(members >= 0, np.searchsorted(numbers, members), -1)
    ends = np.cumsum([0, *(len(segment.entries) for segment in segments)])
    parts = [places[start:stop] for start, stop in pairwise(ends)]
    return numbers, entries_by_slice(segments, parts, len(numbers))


def read_segments(scan: Path) -> Iterator[Segment]:
    """The segments of a shard."""
    return map(_restored, read_parts(scan))


def _flattened(segment: Segment) -> Part:
    """A segment as columns."""
    part: dict[str, Any] = {"ids": segment.ids, "starts": segment.starts, "labels": segment.entries.labels}
    part |= {name: getattr(segment.entries, name) for name in INTEGER_FIELDS}
    if segment.texts is not None:
        part["sentence_starts"] = segment.sentence_starts
        part |= {f"{_OF_TEXTS}{name}": values for name, values in vars(segment.texts).items()}
    return part


def _restored(part: dict[str, Any]) -> Segment:
    entries = Slices(**{name: part[name] for name in INTEGER_FIELDS}, labels=part["labels"])
    of_texts = {
        name.removeprefix(_OF_TEXTS): values for name, values in part.items() if name.startswith(_OF_TEXTS)
    }
    texts = SentenceTexts(**of_texts) if of_texts else None
    return Segment(part["ids"], part["starts"], entries, 0, texts, part.get("sentence_starts"))


def _entries(parts: Sequence[dict[str, Any]]) -> Slices:
    """Concatenate the entries of all segments of a shard."""
    columns = {
        name: np.concatenate([[], *(part[name] for part in parts)]).astype(np.int64)
        for name in INTEGER_FIELDS
    }
    return Slices(**columns, labels=[label for part in parts for label in part["labels"]])


def scan_ngram_shard(job: Job, piece: str, shard: Shard) -> None:
    """Scan a shard and store its word numbers."""
    bad = BadRows(job.settings.skip_bad)
    with job.work.new_piece(piece) as (folder, facts):
        with job.room(folder) as resources:
            (reader,) = read_ngrams(job.task(shard.corpus(), resources), bad)
            write_parts(
                folder, [{name: getattr(segment, name) for name in _COLUMNS} for segment in reader.segments]
            )
            save_array(folder, _YEARS, reader.year_totals.ravel())
        write_lexicon(folder, reader.scanner.lexicon)
        facts.update(dropped=reader.dropped, longest=reader.longest, skipped=dict(bad.reasons))


def survey_ngrams(work: WorkFolder, scans: Sequence[str], settings: CountSettings) -> Survey:
    """The slices of all years that occur in any shard."""
    totals = sum(load_array(work.folder(scan), _YEARS, "i8").reshape(2, -1) for scan in scans)
    slices, calendar = make_calendar(np.asarray(totals), SliceLength.parse(settings.every))
    facts = [work.facts(scan) for scan in scans]
    longest = max(of_shard["longest"] for of_shard in facts)
    summary = Summary(
        documents=int(slices.documents.sum()),
        tokens=int(slices.tokens.sum()),
        tagged_ngrams=sum(of_shard["dropped"] for of_shard in facts),
        skipped=_skipped(facts),
    )
    return Survey(
        slices, [{"slice_of_year": calendar.slice_of_year}], ngram_window(settings, longest), longest, summary
    )


def _count_ngram_shard(job: Job, plan: CountPlan, scan: str, folder: Path) -> None:
    """Count the pairs of a shard, with the vocabulary of the plan."""
    numbering = numbering_of(read_lexicon(job.work.folder(scan)), plan.words)
    calendar = YearSlices(plan.share["slice_of_year"], plan.slices)
    segments = _segments(job.work.folder(scan))
    with job.room(folder) as resources:
        write_ngram_counts(segments, calendar, plan.pair_rule(numbering, job.settings), resources, folder)
    save_slice_numbers(folder, np.arange(plan.slices))


def _count_words_of_ngram_shard(job: Job, plan: CountPlan, scan: str, whole: Lexicon, folder: Path) -> None:
    """Count the single words of a shard, slice by slice, by their numbers in the lexicon of all shards."""
    own = read_lexicon(job.work.folder(scan))
    translation = whole.find(own.words(np.arange(len(own)))).astype(np.int32)
    calendar = YearSlices(plan.share["slice_of_year"], plan.slices)
    segments = _segments(job.work.folder(scan))
    with job.room(folder) as resources, CountsWriter(folder, len(whole)) as writer:
        with closing(
            sum_segments(segments, [translation], KeyRule(len(whole), None), calendar, resources)
        ) as sums:
            for t in range(plan.slices):
                words = [_NO_WORDS, *sums.take(t)]  # with ascending keys from block to block
                writer.end_slice(
                    np.concatenate([block.keys for block in words]).astype(np.int64),
                    np.concatenate([block.sums for block in words]),
                )
        writer.close()
    save_slice_numbers(folder, np.arange(plan.slices))


def _segments(scan: Path) -> list[NgramSegment]:
    return [NgramSegment(**part, scanner=0) for part in read_parts(scan)]


def _skipped(facts: Sequence[dict[str, Any]]) -> dict[str, int]:
    """The skipped rows of all shards, by reason."""
    skipped: Counter[str] = Counter()
    for of_shard in facts:
        skipped.update(of_shard["skipped"])
    return dict(sorted(skipped.items()))
