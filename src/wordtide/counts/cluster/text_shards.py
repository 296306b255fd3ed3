"""Counts of texts shard by shard, by the functions of a single process."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.corpus.documents import BadRows
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts.cluster.column_files import Part, read_parts, write_parts
from wordtide.counts.cluster.job import CountPlan, Job, Shard, read_lexicon, write_lexicon
from wordtide.counts.cluster.shard_counts import save_slice_numbers
from wordtide.counts.segments import Segment, SentenceTexts
from wordtide.counts.settings import CountSettings, Summary
from wordtide.counts.slices import count_slices
from wordtide.counts.texts import TEXT_WINDOW, scan_texts, words_of_slice
from wordtide.counts.vocabulary import numbering_of
from wordtide.counts.writer import CountsWriter
from wordtide.storage.work_folder import WorkFolder
from wordtide.timeline import NUMBERS, Every, Slices, parse_duration, unite
from wordtide.types import Integers


@dataclass(frozen=True)
class Survey:
    """What is known when all shards are read: the slices, each shard's part of the plan, and facts for the
    summary.
    """

    slices: Slices
    shares: list[Part]
    window: int
    places: int
    summary: Summary


def scan_text_shard(job: Job, shard: Shard) -> None:
    """Scan a shard and store its word numbers."""
    bad = BadRows(job.settings.skip_bad)
    with job.work.new_piece(shard.scan) as (folder, facts):
        with job.room(folder) as resources:
            scan = scan_texts(
                shard.corpus(), job.settings, job.dates, job.fixed_words(), job.tokenizer, bad, resources
            )
            write_parts(folder, [_flattened(segment) for segment in scan.segments])
        write_lexicon(folder, scan.lexicons[0])
        facts.update(documents=scan.documents, outside=scan.outside_dates, skipped=dict(bad.reasons))


def survey_texts(work: WorkFolder, scans: Sequence[str], settings: CountSettings) -> Survey:
    """Combine the entries of all shards into slices."""
    every = Every.parse(settings.every)
    within = parse_duration(settings.merge_within) if settings.merge_within else 0
    entries = [_entries(read_parts(work.folder(scan))) for scan in scans]
    slices, members = unite(entries, every, within)
    facts = [work.facts(scan) for scan in scans]
    skipped: Counter[str] = Counter()
    for of_shard in facts:
        skipped.update(of_shard["skipped"])
    summary = Summary(
        documents=sum(of_shard["documents"] for of_shard in facts),
        tokens=int(slices.tokens.sum()),
        outside_dates=sum(of_shard["outside"] for of_shard in facts),
        skipped=dict(sorted(skipped.items())),
    )
    return Survey(
        slices, [{"members": places} for places in members], settings.window or TEXT_WINDOW, 1, summary
    )


def count_text_shard(job: Job, plan: CountPlan, scan: str, folder: Path) -> None:
    """Count the pairs of a shard, with the vocabulary of the plan."""
    numbers, by_slice = _by_slice(job.work.folder(scan), plan.share["members"])
    numbering = numbering_of(read_lexicon(job.work.folder(scan)), plan.words)
    tokens = np.zeros(len(by_slice), dtype=np.int64)  # for progress, which is not shown
    with job.room(folder) as resources:
        count_slices(
            by_slice, tokens, [numbering], len(plan.words), plan.window, job.settings, resources, folder
        )
    save_slice_numbers(folder, numbers)


def count_words_of_text_shard(job: Job, plan: CountPlan, scan: str, whole: Lexicon, folder: Path) -> None:
    """Count the single words of a shard, slice by slice, by their numbers in the lexicon of all shards."""
    numbers, by_slice = _by_slice(job.work.folder(scan), plan.share["members"])
    own = read_lexicon(job.work.folder(scan))
    translation = whole.find(own.words(np.arange(len(own))))
    with CountsWriter(folder, len(whole)) as writer:
        for entries in by_slice:
            words = words_of_slice(entries, [translation])
            writer.end_slice(words.keys.astype(np.int64), words.sums)
        writer.close()
    save_slice_numbers(folder, numbers)


def _by_slice(scan: Path, members: Integers) -> tuple[Integers, list[list[tuple[Segment, int]]]]:
    """The slices of a shard, and its entries for each."""
    numbers = np.unique(members[members >= 0])
    by_slice: list[list[tuple[Segment, int]]] = [[] for _ in numbers]
    start = 0
    for part in read_parts(scan):
        segment = _restored(part)
        for entry, member in enumerate(members[start : start + len(segment.entries)]):
            if member >= 0:
                by_slice[int(np.searchsorted(numbers, member))].append((segment, entry))
        start += len(segment.entries)
    return numbers, by_slice


def _flattened(segment: Segment) -> Part:
    """A segment as columns."""
    part: dict[str, Any] = {"ids": segment.ids, "starts": segment.starts, "labels": segment.entries.labels}
    part |= {name: getattr(segment.entries, name) for name in NUMBERS}
    texts = segment.texts
    if texts is not None:
        part |= {
            "sentence_starts": segment.sentence_starts,
            "sentence_spans": texts.spans,
            "sentence_documents": texts.documents,
            "sentence_places": texts.places,
            "text": texts.text,
            "names": texts.names,
            "stamps": texts.stamps,
            "date_spans": texts.date_spans,
        }
    return part


def _restored(part: dict[str, Any]) -> Segment:
    entries = Slices(**{name: part[name] for name in NUMBERS}, labels=part["labels"])
    if "text" not in part:
        return Segment(part["ids"], part["starts"], entries, 0)
    texts = SentenceTexts(
        part["sentence_spans"],
        part["sentence_documents"],
        part["sentence_places"],
        part["text"],
        part["names"],
        part["stamps"],
        part["date_spans"],
    )
    return Segment(part["ids"], part["starts"], entries, 0, texts, part["sentence_starts"])


def _entries(parts: Sequence[dict[str, Any]]) -> Slices:
    """Concatenate the entries of all segments of a shard."""
    columns = {
        name: np.concatenate([[], *(part[name] for part in parts)]).astype(np.int64) for name in NUMBERS
    }
    return Slices(**columns, labels=[label for part in parts for label in part["labels"]])
