"""Passes through the shards of a corpus that choose the vocabulary and the phrases, and their pieces."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from wordtide.counts.cluster.job import (
    CountPlan,
    Job,
    Part,
    Run,
    on_shards,
    read_lexicon,
    read_plan,
    read_word_list,
    write_plan,
    write_word_list,
)
from wordtide.counts.cluster.reduce import ShardCounts, add_up, save_slice_numbers, summed_pairs
from wordtide.counts.cluster.scans import Survey, count_shard_words, read_segments
from wordtide.counts.count_arrays import CountsWriter
from wordtide.counts.pairs import compress_rows
from wordtide.counts.phrases.collocations import (
    ERAS,
    NeighborRule,
    Units,
    count_neighbors,
    count_units,
    era_sizes,
    find_eras,
    select_pairs,
)
from wordtide.counts.phrases.phrase_choice import add_neighbors, count_phrases, with_phrases
from wordtide.counts.phrases.phrase_table import PhraseTable
from wordtide.counts.segments import Segment, add_shares
from wordtide.counts.sums import SliceSums
from wordtide.counts.vocabulary import numbering_of
from wordtide.counts.workers import PairRule
from wordtide.storage.arrays import load_array, save_array
from wordtide.storage.work_folder import WorkFolder, fingerprint
from wordtide.types import Array, Floats, Integers

_OCCURRENCES = "phrase_occurrences"
_UNITS = "unit_occurrences"


@dataclass(frozen=True)
class ShardPasses:
    """Passes through shards, whose word numbers are in the pieces `scans`.

    `run` makes pieces on the cluster; `whole` is the piece with the words of all shards, and `words` their
    number.
    """

    work: WorkFolder
    run: Run
    scans: Sequence[str]
    survey: Survey
    whole: str
    words: int

    def occurrences(self, phrases: Sequence[str]) -> Integers:
        """How often each phrase occurs if all of them are joined."""
        listed = f"phrases-{fingerprint(list(phrases))}"
        if not self.work.has(listed):
            with self.work.new_piece(listed) as (folder, _):
                write_word_list(folder, phrases)
        total = np.zeros(len(phrases), dtype=np.int64)
        for piece in on_shards(self.run, "joining", "occurrences", _count_shard_phrases, listed, self.scans):
            total += load_array(self.work.folder(piece), _OCCURRENCES, "i8")
        return total

    def shares(self, phrases: Sequence[str]) -> Floats:
        """The sum over slices, in order of time, of the share of each word, then of each phrase."""
        words = self.words + len(phrases)
        plan = make_plan(self.work, self.survey, [], phrases)
        pieces = on_shards(self.run, "weighing", "words", count_shard_words, plan, self.scans, self.whole)
        scores = np.zeros(words, dtype=np.float64)
        for part in add_up(pieces, self.survey.slices.tokens, words, False, self.run):
            counts = ShardCounts.open(self.work.folder(part.piece))
            for place in range(len(counts.numbers)):
                add_shares(scores, counts.unigrams(place))
        return scores

    def find_pairs(self, units: Units) -> Array:
        """The pairs of units that form phrases, ascending."""
        eras = np.append(find_eras(self.survey.slices), -1)  # of slice -1: none
        shares: list[Part] = [{"members": eras[np.asarray(share["members"])]} for share in self.survey.shares]
        plan = make_plan(self.work, replace(self.survey, shares=shares), units.words, units.phrases)
        pieces = on_shards(
            self.run, "finding words of phrases", "units", _count_shard_units, plan, self.scans
        )
        words, sizes = len(units.names), era_sizes(self.survey.slices)
        occurrences = np.zeros((ERAS + 1, words), dtype=np.int64)
        for piece in pieces:
            occurrences += _read_units(self.work, piece)
        known = f"units-{fingerprint(plan, list(self.scans))}"
        if not self.work.has(known):
            with self.work.new_piece(known) as (folder, _):
                save_array(folder, _UNITS, occurrences.ravel())
        pieces = on_shards(
            self.run,
            "finding phrases",
            "neighbors",
            _count_shard_neighbors,
            plan,
            self.scans,
            known,
            sizes.tolist(),
        )
        chosen = [np.zeros(0, dtype=np.uint64)]
        for part in add_up(pieces, sizes, words, False, self.run):
            counts = ShardCounts.open(self.work.folder(part.piece))
            for place, era in enumerate(counts.numbers.tolist()):
                pairs = summed_pairs([counts.rows(place)], words)
                chosen.append(select_pairs(pairs, occurrences[era], int(sizes[era])))
        return np.unique(np.concatenate(chosen))


def _read_units(work: WorkFolder, piece: str) -> Integers:
    stored: Integers = load_array(work.folder(piece), _UNITS, "i8", in_memory=True)
    return stored.reshape(ERAS + 1, -1)


def make_plan(work: WorkFolder, survey: Survey, words: Sequence[str], phrases: Sequence[str]) -> str:
    """Store how all shards are counted; returns the piece."""
    digest = hashlib.blake2b(digest_size=12)
    for part in survey.shares:
        for array in part.values():
            digest.update(np.ascontiguousarray(array).tobytes())
    total = len(survey.slices)
    piece = f"plan-{fingerprint(digest.hexdigest(), list(words), list(phrases), survey.window, total)}"
    write_plan(work, piece, words, phrases, survey.window, total, survey.shares)
    return piece


def _count_shard_phrases(job: Job, piece: str, listed: str, shard: int, scan: str) -> None:
    """Count the phrases of a shard."""
    phrases = read_word_list(job.work.folder(listed))
    lexicon = read_lexicon(job.work.folder(scan))
    table = PhraseTable.of(phrases, lexicon, len(lexicon))
    total = np.zeros(len(phrases), dtype=np.int64)
    for segment in read_segments(job.work.folder(scan)):
        total += count_phrases(segment, table, len(lexicon), len(phrases))
    with job.work.new_piece(piece) as (folder, _):
        save_array(folder, _OCCURRENCES, total)


def _unit_rule(job: Job, plan: CountPlan, scan: str) -> tuple[PairRule, Units]:
    """Map the numbers of a shard to units."""
    units = Units(plan.words, tuple(plan.phrases))
    lexicon = read_lexicon(job.work.folder(scan))
    rule = PairRule([numbering_of(lexicon, units.words)], len(units.names), 1, job.settings)
    return with_phrases(rule, units.phrases, units.names, [lexicon]), units


def _segments_with_eras(job: Job, plan: CountPlan, scan: str) -> Iterator[tuple[Segment, Integers]]:
    start = 0
    for segment in read_segments(job.work.folder(scan)):
        stop = start + len(segment.entries)
        yield segment, plan.share["members"][start:stop]
        start = stop


def _count_shard_units(job: Job, piece: str, plan: str, shard: int, scan: str) -> None:
    """Count the units of a shard, era by era and in all of time."""
    own = read_plan(job.work, plan, shard)
    rule, _ = _unit_rule(job, own, scan)
    total = np.zeros((ERAS + 1, rule.words), dtype=np.int64)
    for segment, eras in _segments_with_eras(job, own, scan):
        total += count_units(segment, eras, rule)
    with job.work.new_piece(piece) as (folder, _):
        save_array(folder, _UNITS, total.ravel())


def _count_shard_neighbors(
    job: Job, piece: str, plan: str, shard: int, scan: str, known: str, sizes: Sequence[int]
) -> None:
    """Count the neighbors of a shard, era by era and in all of time, as if they were pairs of slices."""
    own = read_plan(job.work, plan, shard)
    rule, units = _unit_rule(job, own, scan)
    neighbors = NeighborRule.of(rule, units, _read_units(job.work, known), np.array(sizes))
    with job.work.new_piece(piece) as (folder, _):
        with (
            job.room(folder) as resources,
            closing(SliceSums(ERAS + 1, resources.spill, job.memory // 2)) as sums,
            CountsWriter(folder, rule.words) as writer,
        ):
            for segment, eras in _segments_with_eras(job, own, scan):
                add_neighbors(count_neighbors(segment, eras, neighbors), sums)
            for era in range(ERAS + 1):
                for block in sums.take(era):
                    writer.add_rows(compress_rows(block.keys, block.sums, rule.words))
                writer.end_slice(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
            writer.close()
        save_slice_numbers(folder, np.arange(ERAS + 1))
