"""What the workers of a cluster do. Each task makes one piece of the job in the work folder, from pieces that are there.

A task returns nothing, or the error that the user shall read: class, problem and remedy.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wordtide import errors
from wordtide.corpus.portions import cut_records, find_line_breaks
from wordtide.corpus.source_files import SourceFile
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts.cluster.job import Job, Shard, read_lexicon, read_plan, write_lexicon
from wordtide.counts.cluster.ngram_shards import (
    count_ngram_shard,
    count_words_of_ngram_shard,
    scan_ngram_shard,
)
from wordtide.counts.cluster.partial_counts import PartialCounts, merge_partial_counts, save_slice_numbers
from wordtide.counts.cluster.text_shards import count_text_shard, count_words_of_text_shard, scan_text_shard
from wordtide.errors import InputError, OutputError, WordtideError

Outcome = tuple[str, str, str] | None


@dataclass(frozen=True)
class Task:
    """A piece to make: `work(job, piece, *arguments)` makes it."""

    piece: str
    work: Callable[..., None]
    arguments: tuple[Any, ...]


def attempt(job: Job, task: Task) -> Outcome:
    """Do a task on a worker; an error for the user comes back as plain text, which no version of Python reads otherwise."""
    try:
        if not job.work.path.is_dir():
            raise OutputError(
                f"A worker does not see the work folder {job.folder}.",
                "Give one on a disk that all workers share: --work DIR.",
            )
        if not job.work.has(task.piece):
            job.warm_up()
            task.work(job, task.piece, *task.arguments)
    except WordtideError as error:
        return type(error).__name__, error.problem, error.remedy
    return None


def raise_outcome(outcome: tuple[str, str, str]) -> None:
    """Raise on the client what a worker met."""
    name, problem, remedy = outcome
    raise getattr(errors, name)(problem, remedy)


def find_breaks(job: Job, piece: str, file: SourceFile, start: int, stop: int) -> None:
    """Count the lines of a byte range."""
    with job.work.new_piece(piece) as (_, facts):
        facts.update(find_line_breaks(file, start, stop)._asdict())


def find_portions(job: Job, piece: str, file: SourceFile, step: int) -> None:
    """Cut a file of records. One that cannot be read to its end is not cut: reading it will tell what is wrong with it."""
    with job.work.new_piece(piece) as (_, facts):
        try:
            portions = [asdict(part.portion) for part in cut_records(file, step) if part.portion]
        except InputError:
            portions = []
        facts.update(portions=portions)


def scan_shard(job: Job, piece: str, shard: Shard) -> None:
    """Read a shard into word numbers."""
    if piece != shard.scan:
        raise AssertionError("a shard's scan is named by the shard")
    (scan_ngram_shard if job.ngrams else scan_text_shard)(job, shard)


def merge_lexicons(job: Job, piece: str, pieces: Sequence[str]) -> None:
    """The words and totals of several shards together."""
    whole = Lexicon()
    for part in pieces:
        whole.absorb(read_lexicon(job.work.folder(part)))
    with job.work.new_piece(piece) as (folder, _):
        write_lexicon(folder, whole)


def count_words(job: Job, piece: str, plan: str, shard: int, scan: str, lexicon: str) -> None:
    """Count the single words of a shard, slice by slice."""
    whole = read_lexicon(job.work.folder(lexicon))
    count = count_words_of_ngram_shard if job.ngrams else count_words_of_text_shard
    with job.work.new_piece(piece) as (folder, _):
        count(job, read_plan(job.work, plan, shard), scan, whole, folder)


def count_pairs(job: Job, piece: str, plan: str, shard: int, scan: str) -> None:
    """Count the pairs of a shard, slice by slice, and draw its example sentences."""
    count = count_ngram_shard if job.ngrams else count_text_shard
    with job.work.new_piece(piece) as (folder, _):
        count(job, read_plan(job.work, plan, shard), scan, folder)


def merge_counts(
    job: Job, piece: str, pieces: Sequence[str], slices: tuple[int, int], words: int, examples: bool
) -> None:
    """Add partial counts, for a range of slices."""
    parts = [PartialCounts.open(job.work.folder(part)) for part in pieces]
    with job.work.new_piece(piece) as (folder, _):
        _, numbers = merge_partial_counts(
            parts, slices[0], slices[1], words, job.settings.examples if examples else 0, folder
        )
        save_slice_numbers(folder, numbers)
