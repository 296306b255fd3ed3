"""Counts of n-gram tables shard by shard, by the functions of a single process."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from wordtide.corpus.documents import BadRows
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts.cluster.column_files import read_parts, write_parts
from wordtide.counts.cluster.job import CountPlan, Job, Shard, read_lexicon, write_lexicon
from wordtide.counts.cluster.shard_counts import save_slice_numbers
from wordtide.counts.cluster.text_shards import Survey
from wordtide.counts.ngrams.pair_lists import KeyRule, NgramSegment, YearSlices
from wordtide.counts.ngrams.tables import (
    make_calendar,
    ngram_window,
    read_ngrams,
    sum_segments,
    write_ngram_counts,
)
from wordtide.counts.settings import CountSettings, Summary
from wordtide.counts.sums import KeySums
from wordtide.counts.vocabulary import numbering_of
from wordtide.counts.writer import CountsWriter
from wordtide.storage.arrays import load_array, save_array
from wordtide.storage.work_folder import WorkFolder
from wordtide.timeline import Every

_COLUMNS = ("ids", "sizes", "ends", "years", "matches")
_YEARS = "year_totals"
_NO_WORDS = KeySums(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64))


def scan_ngram_shard(job: Job, shard: Shard) -> None:
    """Scan a shard and store its word numbers."""
    bad = BadRows(job.settings.skip_bad)
    with job.work.new_piece(shard.scan) as (folder, facts):
        with job.room(folder) as resources:
            (reader,) = read_ngrams(
                shard.corpus(), job.settings, job.dates, job.fixed_words(), bad, resources
            )
            write_parts(
                folder, [{name: getattr(segment, name) for name in _COLUMNS} for segment in reader.segments]
            )
            save_array(folder, _YEARS, reader.year_totals.ravel())
        write_lexicon(folder, reader.scanner.lexicon)
        facts.update(dropped=reader.dropped, longest=reader.longest, skipped=dict(bad.reasons))


def survey_ngrams(work: WorkFolder, scans: Sequence[str], settings: CountSettings) -> Survey:
    """The slices of all years that occur in any shard."""
    totals = sum(load_array(work.folder(scan), _YEARS, "i8").reshape(2, -1) for scan in scans)
    slices, calendar = make_calendar(np.asarray(totals), Every.parse(settings.every))
    facts = [work.facts(scan) for scan in scans]
    longest = max(of_shard["longest"] for of_shard in facts)
    skipped: Counter[str] = Counter()
    for of_shard in facts:
        skipped.update(of_shard["skipped"])
    summary = Summary(
        documents=int(slices.documents.sum()),
        tokens=int(slices.tokens.sum()),
        tagged_ngrams=sum(of_shard["dropped"] for of_shard in facts),
        skipped=dict(sorted(skipped.items())),
    )
    return Survey(
        slices, [{"slice_of_year": calendar.slice_of_year}], ngram_window(settings, longest), longest, summary
    )


def count_ngram_shard(job: Job, plan: CountPlan, scan: str, folder: Path) -> None:
    """Count the pairs of a shard, with the vocabulary of the plan."""
    numbering = numbering_of(read_lexicon(job.work.folder(scan)), plan.words)
    calendar = YearSlices(plan.share["slice_of_year"], plan.slices)
    segments = _segments(job.work.folder(scan))
    with job.room(folder) as resources:
        write_ngram_counts(
            segments, [numbering], len(plan.words), plan.window, calendar, job.settings, resources, folder
        )
    save_slice_numbers(folder, np.arange(plan.slices))


def count_words_of_ngram_shard(job: Job, plan: CountPlan, scan: str, whole: Lexicon, folder: Path) -> None:
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
