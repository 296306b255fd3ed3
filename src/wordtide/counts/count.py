"""`count`: from any source of dated texts to `Counts`. `preview`: what a count would find in it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.corpus.byte_streams import MAX_EXPANSION
from wordtide.corpus.documents import BadRows
from wordtide.corpus.findings import Findings
from wordtide.corpus.sources import Corpus, find_corpus
from wordtide.corpus.tokens.lexicon import combine_lexicons
from wordtide.corpus.tokens.tokenizers import Tokenizer
from wordtide.counts.cluster.driver import ClusterPlace, count_on_cluster
from wordtide.counts.counts import KIND, Counts, write_facts
from wordtide.counts.groups import words_of_groups
from wordtide.counts.ngrams.tables import count_ngrams
from wordtide.counts.phrases.phrase_choice import with_phrase_facts
from wordtide.counts.phrases.phrase_lists import resolve_phrases
from wordtide.counts.settings import CountSettings
from wordtide.counts.texts import count_texts, scan_texts
from wordtide.counts.vocabulary import read_stop_words, read_vocabulary
from wordtide.counts.warm_up import warm_up
from wordtide.counts.workers import CountInput, Resources, token_rule
from wordtide.dates import bounds
from wordtide.errors import NothingToCountError, SettingsError
from wordtide.progress import Observer
from wordtide.spelling import counted
from wordtide.storage.folders import (
    check_not_input,
    check_writable,
    explained_write_errors,
    new_folder,
    real_target,
)
from wordtide.storage.work_folder import remove_work
from wordtide.system import available_processors
from wordtide.timeline import Slices

DEFAULT_MEMORY = 1 << 30
_MOST_WORKERS = 8  # on any machine
_ALL_TIME = (-(1 << 62), 1 << 62)


@dataclass(frozen=True)
class Preview:
    """What reading a corpus found, with documents only between the dates (`outside_dates`: the others).

    `groups` has the number of words of each group, if documents have groups; `bad_rows` for each reason the
    number of rows that counting would refuse, and the first of them.
    """

    findings: Findings
    slices: Slices
    documents: int
    outside_dates: int
    distinct_words: int
    ignored_files: int
    groups: dict[str, int]
    bad_rows: dict[str, tuple[int, str]]


def preview(
    source: object,
    *,
    workers: int | None = None,
    max_expansion: int = MAX_EXPANSION,
    observer: Observer | None = None,
    tokenizer: str | Tokenizer | None = None,
    **settings: Any,
) -> Preview:
    """Read a corpus as `count` does and report what was understood. The arguments are those of `count`.

    Raises:
        SettingsError: Settings are invalid, or the source holds n-grams.
        InputError: The source cannot be read.

    >>> preview([("1850", "Steam power."), ("1950s", "Atomic power.")]).findings.latest
    ('1950s', 'the documents:2')
    """
    record, given = checked_settings(tokenizer, settings)
    corpus = corpus_of(source, record, max_expansion)
    if corpus.is_ngrams:
        raise SettingsError("--dry-run reads texts, not n-grams.", "Omit --dry-run.")
    warm_up(ngrams=False)
    bad = BadRows(skip=True, findings=Findings(all_names=True))
    with tempfile.TemporaryDirectory(prefix="wordtide-") as folder:
        resources = Resources(
            workers or os.cpu_count() or 1, DEFAULT_MEMORY, Path(folder), observer or Observer()
        )
        scan = scan_texts(input_of(corpus, record, given, resources), bad)
        slices, _ = record.unite_slices([segment.entries for segment in scan.segments])
        whole, _ = combine_lexicons(scan.lexicons)
    return Preview(
        bad.findings,
        slices,
        scan.documents,
        scan.outside_dates,
        int(np.count_nonzero(whole.totals)),
        corpus.ignored.total(),
        words_of_groups(scan.segments, scan.groups),
        {reason: (number, bad.examples[reason]) for reason, number in sorted(bad.reasons.items())},
    )


def count(
    source: object,
    *,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    workers: int | None = None,
    memory: int = DEFAULT_MEMORY,
    max_expansion: int = MAX_EXPANSION,
    scheduler: str | None = None,
    work: str | os.PathLike[str] | None = None,
    observer: Observer | None = None,
    tokenizer: str | Tokenizer | None = None,
    **settings: Any,
) -> Counts:
    """Count the word pairs of dated texts, slice by slice.

    Args:
        source: A path or URL (folder, file, glob), several of them, "sotu" for the sample, a data frame
            (pandas, polars, Arrow), or an iterable of (date, text).
        output: The folder to write the counts to, where their large arrays stay. None: they are held in
            memory.
        overwrite: Whether to replace a counts folder at `output`.
        workers: The number of threads; default: all processors. It does not change the result.
        memory: Bytes of memory before temporary files are used. It does not change the result.
        max_expansion: How many times longer a compressed file may become.
        scheduler: "local:4" for four processes on this machine, or the address of a Dask scheduler
            (tcp://host:8786). It does not change the result.
        work: With `scheduler`: a folder that all workers see, for finished pieces; default: beside the
            output.
        observer: Receives progress reports.
        tokenizer: A function from a text to words or to lists of words, or its name as "module:function".
        settings: The fields of `CountSettings`: every="year", vocabulary_size=10_000, since="1800", and so
            on.

    Returns:
        The counts.

    Raises:
        SettingsError: Settings are invalid.
        InputError: The source cannot be read, or holds bad rows (see skip_bad=True).
        OutputError: The counts cannot be written.

    >>> counts = count([("1850", "Steam power. Steam engines."), ("1950", "Atomic power.")])
    >>> counts.words
    ['power', 'steam', 'atomic', 'engines']
    >>> counts.times.tolist()
    [1850.5, 1950.5]
    """
    record, given = checked_settings(tokenizer, settings)
    if output is None and record.examples:
        raise SettingsError(
            "Examples are kept on disk.", "Give an output folder: count(..., output='counts/')."
        )
    if output is not None:
        target = real_target(output)
        check_not_input(target, [*(source if isinstance(source, list) else [source]), record.vocabulary])
        check_writable(target, overwrite, KIND)  # before the work
    if scheduler is None and work is not None:
        raise SettingsError("--work needs a cluster.", "Name the cluster, too: --scheduler=local:4.")
    if scheduler is not None and workers is not None:
        raise SettingsError(
            "--workers does not apply on a cluster.",
            "Choose the number of processes with --scheduler=local:4.",
        )
    corpus = corpus_of(source, record, max_expansion)
    observer = observer or Observer()
    threads = _workers(workers, observer)
    if not 0 <= memory < 1 << 60:
        raise SettingsError(f"--memory {memory} is out of range.", "Give a positive number of bytes.")
    with _target(output, overwrite) as folder:
        spill = folder / "spill"
        spill.mkdir()
        resources = Resources(threads, memory, spill, observer)
        place = _place(scheduler, work, output, folder)
        counts = _count(corpus, record, given, resources, folder, place)
        shutil.rmtree(spill)
        if output is not None:
            write_facts(folder, counts)
        else:
            findings, counts = counts.findings, counts.in_memory()
            counts.findings = findings
    if place is not None:
        remove_work(place.root, place.keep_root)
    if output is None:
        return counts
    loaded = Counts.load(output)
    loaded.findings = counts.findings
    return loaded


def checked_settings(
    tokenizer: str | Tokenizer | None, settings: dict[str, Any]
) -> tuple[CountSettings, Tokenizer | None]:
    """Check the settings and read the stop words; also returns the tokenizer, if it is a function."""
    given = tokenizer if callable(tokenizer) else None
    name = tokenizer if given is None else f"{given.__module__}:{given.__qualname__}"
    try:
        record = CountSettings(tokenizer=name, **settings)  # type: ignore[arg-type]
    except TypeError as error:
        raise SettingsError(
            str(error).replace("CountSettings.__init__()", "count()"), "See help(wordtide.count)."
        ) from None
    if isinstance(record.stop_words, str):
        record = replace(record, stop_words=read_stop_words(Path(record.stop_words)))
    return record, given


def corpus_of(source: object, settings: CountSettings, max_expansion: int) -> Corpus:
    """Find the corpus of a source, to be read with the given encoding and delimiter."""
    corpus = find_corpus(source, settings.format, max_expansion)
    return corpus.read_as(settings.encoding, settings.delimiter)


def input_of(
    corpus: Corpus, settings: CountSettings, tokenizer: Tokenizer | None, resources: Resources
) -> CountInput:
    """The input of a count, with the dates and the vocabulary that the settings name."""
    dates = (
        bounds_of(settings.since, "--since")[0] if settings.since else _ALL_TIME[0],
        bounds_of(settings.until, "--until")[1] if settings.until else _ALL_TIME[1],
    )
    vocabulary = read_vocabulary(Path(settings.vocabulary)) if settings.vocabulary else None
    if vocabulary is not None and settings.stop_words:
        stopped = set(settings.listed_stop_words)
        vocabulary = [word for word in vocabulary if word not in stopped]
    settings = resolve_phrases(settings, token_rule(settings), corpus.is_ngrams)
    return CountInput(corpus, settings, dates, vocabulary, tokenizer, resources)


def _workers(wanted: int | None, observer: Observer) -> int:
    """The number of workers. Each needs memory, and more workers than processors gain nothing."""
    if wanted is not None and wanted < 1:
        raise SettingsError(f"--workers {wanted} is too few.", "Give at least 1.")
    processors = available_processors()
    most = max(_MOST_WORKERS, 2 * processors)
    if wanted is not None and wanted > most:
        observer.message(
            f"using {most} workers, not {wanted:,}: this machine has {counted(processors, 'processor')}"
        )
    return min(wanted or processors, most)


@contextmanager
def _target(output: str | os.PathLike[str] | None, overwrite: bool) -> Iterator[Path]:
    if output is None:
        with (
            explained_write_errors(Path(tempfile.gettempdir())),
            tempfile.TemporaryDirectory(prefix="wordtide-") as folder,
        ):
            yield Path(folder)
    else:
        with new_folder(Path(output), overwrite, KIND) as folder:
            yield folder


def _place(
    scheduler: str | None,
    work: str | os.PathLike[str] | None,
    output: str | os.PathLike[str] | None,
    folder: Path,
) -> ClusterPlace | None:
    """Choose the work folder of a cluster: as given, or beside the output, where the next run finds it."""
    if scheduler is None:
        return None
    if work is not None:
        return ClusterPlace(scheduler, Path(os.path.abspath(work)), keep_root=True)
    root = folder / "work" if output is None else Path(f"{real_target(output)}.work")
    return ClusterPlace(scheduler, root, keep_root=False)


def _count(
    corpus: Corpus,
    settings: CountSettings,
    tokenizer: Tokenizer | None,
    resources: Resources,
    folder: Path,
    place: ClusterPlace | None,
) -> Counts:
    source = input_of(corpus, settings, tokenizer, resources)
    warm_up(corpus.is_ngrams, phrases=bool(source.settings.phrases))
    if place is not None:
        counts = count_on_cluster(source, folder, place)
    else:
        counts = (count_ngrams if corpus.is_ngrams else count_texts)(source, folder)
    if len(counts) == 0:
        skipped = sum(counts.summary.skipped.values())
        raise NothingToCountError(
            f"There is nothing to count: no words in {counted(counts.summary.documents, 'document')} "
            f"({counts.summary.outside_dates} outside the dates, {skipped} skipped).",
            "Check --since and --until, the --text-field, and that the files hold text.",
        )
    counts.settings = replace(counts.settings, window=counts.window)
    counts.summary = with_phrase_facts(counts, len(source.settings.joined_phrases))
    return counts


def bounds_of(date: str, option: str) -> tuple[int, int]:
    """Return both ends of the period that a date names; errors name the option."""
    try:
        return bounds(date)
    except ValueError as error:
        raise SettingsError(
            f"{option} {date}: {getattr(error, 'problem', error)}.",
            "Give a year, a month (1862-12) or a day (1862-12-01).",
        ) from None
