"""What the workers of a cluster do: each task makes one piece of the job in the work folder, from pieces that
exist.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wordtide.corpus.portions import cut_records, find_line_breaks
from wordtide.corpus.source_files import SourceFile
from wordtide.corpus.tokens.lexicon import Lexicon
from wordtide.counts.cluster.job import Job, Shard, read_lexicon, read_plan, write_lexicon
from wordtide.counts.cluster.ngram_shards import (
    count_ngram_shard,
    count_words_of_ngram_shard,
    scan_ngram_shard,
)
from wordtide.counts.cluster.shard_counts import ShardCounts, merge_shard_counts, save_slice_numbers
from wordtide.counts.cluster.text_shards import count_text_shard, count_words_of_text_shard, scan_text_shard
from wordtide.dask_client import Task
from wordtide.errors import InputError, OutputError


@dataclass(frozen=True)
class Piece:
    """A piece to make: `make(job, name, *arguments)` makes it."""

    name: str
    make: Callable[..., None]
    arguments: tuple[Any, ...]

    def task(self, job: Job) -> Task:
        """The task that makes this piece of a job."""
        return Task(self.name, make_piece, (job, self))


def make_piece(job: Job, piece: Piece) -> None:
    """Make a piece on a worker, unless another worker has made it."""
    if not job.work.path.is_dir():
        raise OutputError(
            f"A worker does not see the work folder {job.folder}.",
            "Choose one on a disk that all workers share: --work DIR.",
        )
    if not job.work.has(piece.name):
        job.warm_up()
        piece.make(job, piece.name, *piece.arguments)


def find_breaks(job: Job, piece: str, file: SourceFile, start: int, stop: int) -> None:
    """Count the lines of a byte range."""
    with job.work.new_piece(piece) as (_, facts):
        facts.update(find_line_breaks(file, start, stop)._asdict())


def find_portions(job: Job, piece: str, file: SourceFile, step: int) -> None:
    """Divide a file of records. A file that cannot be read is not divided: reading it raises the error."""
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
    """Combine the lexicons of several shards."""
    whole = Lexicon()
    for part in pieces:
        whole.absorb(read_lexicon(job.work.folder(part)))
    with job.work.new_piece(piece) as (folder, _):
        write_lexicon(folder, whole)


def count_shard_words(job: Job, piece: str, plan: str, shard: int, scan: str, lexicon: str) -> None:
    """Count the single words of a shard, slice by slice."""
    whole = read_lexicon(job.work.folder(lexicon))
    count = count_words_of_ngram_shard if job.ngrams else count_words_of_text_shard
    with job.work.new_piece(piece) as (folder, _):
        count(job, read_plan(job.work, plan, shard), scan, whole, folder)


def count_shard_pairs(job: Job, piece: str, plan: str, shard: int, scan: str) -> None:
    """Count the pairs of a shard, slice by slice, and draw its example sentences."""
    count = count_ngram_shard if job.ngrams else count_text_shard
    with job.work.new_piece(piece) as (folder, _):
        count(job, read_plan(job.work, plan, shard), scan, folder)


def add_shard_counts(
    job: Job, piece: str, pieces: Sequence[str], slices: tuple[int, int], words: int, examples: bool
) -> None:
    """Add the counts of shards, for a range of slices."""
    parts = [ShardCounts.open(job.work.folder(part)) for part in pieces]
    with job.work.new_piece(piece) as (folder, _):
        _, numbers = merge_shard_counts(
            parts, slices[0], slices[1], words, job.settings.examples if examples else 0, folder
        )
        save_slice_numbers(folder, numbers)
