"""Counts on a cluster: byte for byte the counts of a single process.

Workers scan every shard into word numbers. Lexicons are combined as a tree and determine the slices and the
vocabulary; then workers count the pairs of every shard, and add the counts as a tree, by ranges of slices.
Client, scheduler and workers exchange only the names of pieces; the pieces are in the work folder
(`storage.work_folder`).
"""

import hashlib
import inspect
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from wordtide.corpus.sources import Corpus
from wordtide.corpus.tokens.tokenizers import Tokenizer, load_tokenizer
from wordtide.counts.cluster.job import Job, Piece, Run, on_shards, read_lexicon, write_word_list
from wordtide.counts.cluster.phrase_pieces import ShardPasses, make_plan
from wordtide.counts.cluster.reduce import ShardCounts, add_up, merge_shard_counts, unite_lexicons
from wordtide.counts.cluster.scans import (
    Survey,
    count_shard_pairs,
    scan_ngram_shard,
    scan_text_shard,
    survey_ngrams,
    survey_texts,
)
from wordtide.counts.cluster.shards import check_shareable, find_shards
from wordtide.counts.count_arrays import CountsWriter
from wordtide.counts.counts import Counts
from wordtide.counts.ngrams.tables import check_ngram_settings, least_total
from wordtide.counts.phrases.phrase_choice import choose_words
from wordtide.counts.settings import CountSettings
from wordtide.counts.workers import CountInput
from wordtide.dask_client import Cluster, connect
from wordtide.errors import SettingsError
from wordtide.progress import Observer
from wordtide.storage.work_folder import VERSION, WorkFolder, fingerprint, open_work
from wordtide.version import __version__


@dataclass(frozen=True)
class ClusterPlace:
    """The scheduler and the root of the work folder (`keep_root`: it belongs to the user)."""

    scheduler: str
    root: Path
    keep_root: bool


def count_on_cluster(source: CountInput, folder: Path, place: ClusterPlace) -> Counts:
    """Count a corpus; the large arrays are written to `folder`.

    After an error, finished pieces stay for the next run.
    """
    corpus, settings = source.corpus, source.settings
    vocabulary, tokenizer = source.vocabulary, source.tokenizer
    check_shareable(corpus)
    if settings.group_field is not None:
        raise SettingsError(
            "--group-field does not work on a cluster.", "Count without --scheduler, or without groups."
        )
    if corpus.is_ngrams:
        check_ngram_settings(settings)
        if settings.joined_phrases:
            raise SettingsError(
                "Phrases of n-gram tables cannot be counted on a cluster.", "Count without --scheduler."
            )
    if settings.tokenizer and tokenizer is None:
        load_tokenizer(settings.tokenizer)  # reject a wrong name early
    name = _job_name(settings, vocabulary, tokenizer, corpus.is_ngrams)
    with (
        open_work(place.root, name, place.keep_root) as work,
        connect(place.scheduler, work.path / "scratch") as cluster,
    ):
        job = Job(
            str(work.path), settings, source.dates, source.resources.memory, corpus.is_ngrams, tokenizer
        )
        if vocabulary is not None:
            job = replace(job, vocabulary=_keep_vocabulary(work, vocabulary))
        return _Driver(job, cluster, source.resources.observer).count(corpus, vocabulary, folder)


class _Driver:
    """The client side of a job."""

    def __init__(self, job: Job, cluster: Cluster, observer: Observer) -> None:
        self._job = job
        self._work = job.work
        self._run: Run = partial(run_stage, cluster, job, observer)
        self._observer = observer

    def count(self, corpus: Corpus, vocabulary: list[str] | None, folder: Path) -> Counts:
        """Run all stages."""
        settings = self._job.settings
        scans = self._scan(corpus)
        whole_piece = unite_lexicons(scans, self._run)
        whole = read_lexicon(self._work.folder(whole_piece))
        survey = (survey_ngrams if self._job.ngrams else survey_texts)(self._work, scans, settings)
        distinct = int(np.count_nonzero(whole.totals))
        passes = ShardPasses(self._work, self._run, scans, survey, whole_piece, len(whole))
        if self._job.ngrams:
            settings = replace(settings, min_count=least_total(settings, survey.places))
        vocabulary, phrases = choose_words(passes, whole, settings, vocabulary, len(survey.slices))
        survey = replace(
            survey,
            summary=replace(survey.summary, distinct_words=distinct, ignored_files=corpus.ignored.total()),
        )
        if survey.findings:
            survey.findings.ignored.update(corpus.ignored)
        return self._write(scans, survey, vocabulary, phrases, folder)

    def _scan(self, corpus: Corpus) -> list[str]:
        shards = find_shards(corpus, self._job.settings, self._work, self._run)
        scan = scan_ngram_shard if self._job.ngrams else scan_text_shard
        tasks = [Piece(shard.scan, scan, (shard,)) for shard in shards]
        kept = sum(self._work.has(task.name) for task in tasks)
        if kept:
            print(
                f"wordtide: {kept} of {len(tasks)} shards exist from an earlier run.",
                file=sys.stderr,
                flush=True,
            )
        self._run("reading", tasks)
        return [task.name for task in tasks]

    def _write(
        self,
        scans: Sequence[str],
        survey: Survey,
        vocabulary: list[str],
        phrases: tuple[str, ...],
        folder: Path,
    ) -> Counts:
        settings, slices = self._job.settings, survey.slices
        if len(slices) == 0:
            with CountsWriter(folder, len(vocabulary)) as writer:
                arrays = writer.close()
        else:
            plan = make_plan(self._work, survey, vocabulary, phrases)
            pieces = on_shards(self._run, "counting", "pairs", count_shard_pairs, plan, scans)
            ranges = add_up(pieces, slices.tokens, len(vocabulary), settings.examples > 0, self._run)
            self._observer.start("writing", len(slices), "slices")
            parts = [ShardCounts.open(self._work.folder(part.piece)) for part in ranges]
            arrays, numbers = merge_shard_counts(
                parts, 0, len(slices), len(vocabulary), settings.examples, folder, self._observer.step
            )
            self._observer.finish()
            if len(numbers) != len(slices):
                raise AssertionError("a slice is missing")
        occurrences = int(arrays.unigram_values.sum())
        summary = replace(
            survey.summary,
            tokens_in_vocabulary=occurrences / survey.places if self._job.ngrams else occurrences,
        )
        settings = replace(settings, phrases=phrases)
        counts = Counts(vocabulary, slices, arrays, settings, survey.window, survey.places, summary)
        counts.findings = survey.findings
        return counts


def run_stage(cluster: Cluster, job: Job, observer: Observer, stage: str, tasks: Sequence[Piece]) -> None:
    """Make the pieces of a stage that do not exist yet."""
    if not tasks:
        return
    observer.start(stage, len(tasks), "shards")
    try:
        cluster.run(
            [task.task(job) for task in tasks],
            is_done=lambda task: job.work.has(task.name),
            advance=observer.step,
        )
    finally:
        observer.finish()


def _job_name(
    settings: CountSettings, vocabulary: list[str] | None, tokenizer: Tokenizer | None, ngrams: bool
) -> str:
    """A name that changes with everything that the pieces of a shard depend on, except the shard."""
    code = ""
    if settings.tokenizer:
        code = _code_of(tokenizer or load_tokenizer(settings.tokenizer))
    return fingerprint(
        VERSION, __version__, sys.version_info[:2], settings.as_json(), vocabulary, code, ngrams
    )


def _code_of(tokenizer: Tokenizer) -> str:
    """Hash the source file of a tokenizer; without a file, the hash is random."""
    try:
        source = inspect.getsourcefile(tokenizer)
        return hashlib.blake2b(Path(source or "").read_bytes()).hexdigest()
    except (TypeError, OSError):
        return uuid.uuid4().hex


def _keep_vocabulary(work: WorkFolder, vocabulary: Sequence[str]) -> str:
    piece = "vocabulary"
    if not work.has(piece):
        with work.new_piece(piece) as (folder, _):
            write_word_list(folder, vocabulary)
    return piece
