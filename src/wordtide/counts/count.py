"""One call from any source of dated texts to `Counts`."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordtide.corpus.source_files import MAX_EXPANSION
from wordtide.corpus.sources import Corpus, find_corpus
from wordtide.corpus.tokens.custom import Tokenizer
from wordtide.counts.cluster.driver import Place, count_on_cluster
from wordtide.counts.counts import Counts, write_facts
from wordtide.counts.ngrams.tables import count_ngrams
from wordtide.counts.settings import CountSettings
from wordtide.counts.texts import count_texts
from wordtide.counts.vocabulary import read_vocabulary
from wordtide.counts.warm_up import warm_up
from wordtide.counts.workers import Resources
from wordtide.dates import bounds
from wordtide.errors import NothingToCountError, SettingsError
from wordtide.progress import Observer
from wordtide.storage.folders import check_writable, explained_write_errors, new_folder, real_target
from wordtide.storage.work_folder import remove_work

DEFAULT_MEMORY = 1 << 30
_ALL_TIME = (-(1 << 62), 1 << 62)


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

    `source`: a path or URL (folder, file, glob), several of them, "sotu" for the sample, a data frame (pandas, polars, Arrow),
    or an iterable of (date, text). `settings` are the fields of `CountSettings`: every="year", vocabulary_size=10_000,
    since="1800", and so on. With `output` the counts are written there and stay on disk; else they are held in memory.

    What follows does not change the result. `workers` (default: all processors) and `memory` (bytes before temporary files are
    used) are for this machine. A compressed file may become `max_expansion` times as long when it is read, and not longer.
    With `scheduler` "local:4" four processes of it count, with the address of a Dask scheduler (tcp://host:8786) its workers
    do. They keep what they have finished in the folder `work`, which all of them must see (default: beside the output).

    >>> counts = count([("1850", "Steam power. Steam engines."), ("1950", "Atomic power.")])
    >>> counts.words
    ['power', 'steam', 'atomic', 'engines']
    >>> counts.times.tolist()
    [1850.5, 1950.5]
    """
    given = tokenizer if callable(tokenizer) else None
    name = tokenizer if given is None else f"{given.__module__}:{given.__qualname__}"
    try:
        record = CountSettings(tokenizer=name, **settings)  # type: ignore[arg-type]
    except TypeError as error:
        raise SettingsError(
            str(error).replace("CountSettings.__init__()", "count()"), "See help(wordtide.count)."
        ) from None
    if output is None and record.examples:
        raise SettingsError(
            "Examples are kept on disk.", "Give an output folder: count(..., output='counts/')."
        )
    if output is not None:
        check_writable(real_target(output), overwrite)  # before the work, not after
    if scheduler is None and work is not None:
        raise SettingsError(
            "A work folder is for counting on a cluster.", "Name the cluster, too: --scheduler local:4."
        )
    if scheduler is not None and workers is not None:
        raise SettingsError(
            "--workers is for counting without a cluster.", "Give the number of processes as local:4."
        )
    corpus = find_corpus(source, record.format, max_expansion)
    threads = workers if workers is not None else os.cpu_count() or 1
    if threads < 1:
        raise SettingsError(f"{threads} workers cannot work.", "Give at least 1.")
    if not 0 <= memory < 1 << 60:
        raise SettingsError(f"{memory} bytes of memory cannot be used.", "Give a positive number.")
    with _target(output, overwrite) as folder:
        spill = folder / "spill"
        spill.mkdir()
        resources = Resources(threads, memory, spill, observer or Observer())
        place = _place(scheduler, work, output, folder)
        counts = _count(corpus, record, given, resources, folder, place)
        shutil.rmtree(spill)
        if output is not None:
            write_facts(folder, counts)
        else:
            counts = counts.in_memory()
    if place is not None:
        remove_work(place.root, place.keep_root)
    return counts if output is None else Counts.load(output)


@contextmanager
def _target(output: str | os.PathLike[str] | None, overwrite: bool) -> Iterator[Path]:
    if output is None:
        with (
            explained_write_errors(Path(tempfile.gettempdir())),
            tempfile.TemporaryDirectory(prefix="wordtide-") as folder,
        ):
            yield Path(folder)
    else:
        with new_folder(Path(output), overwrite) as folder:
            yield folder


def _place(
    scheduler: str | None,
    work: str | os.PathLike[str] | None,
    output: str | os.PathLike[str] | None,
    folder: Path,
) -> Place | None:
    """Where a cluster works: in the folder that was given, else beside the output, where the next run looks for it."""
    if scheduler is None:
        return None
    if work is not None:
        return Place(scheduler, Path(os.path.abspath(work)), keep_root=True)
    root = folder / "work" if output is None else Path(f"{real_target(output)}.work")
    return Place(scheduler, root, keep_root=False)


def _count(
    corpus: Corpus,
    settings: CountSettings,
    tokenizer: Tokenizer | None,
    resources: Resources,
    folder: Path,
    place: Place | None,
) -> Counts:
    dates = (
        bounds_of(settings.since, "--since")[0] if settings.since else _ALL_TIME[0],
        bounds_of(settings.until, "--until")[1] if settings.until else _ALL_TIME[1],
    )
    vocabulary = read_vocabulary(Path(settings.vocabulary)) if settings.vocabulary else None
    warm_up(corpus.is_ngrams)
    if place is not None:
        counts = count_on_cluster(corpus, settings, dates, vocabulary, tokenizer, resources, folder, place)
    elif corpus.is_ngrams:
        counts = count_ngrams(corpus, settings, dates, vocabulary, resources, folder)
    else:
        counts = count_texts(corpus, settings, dates, vocabulary, tokenizer, resources, folder)
    if len(counts) == 0:
        skipped = sum(counts.summary.skipped.values())
        raise NothingToCountError(
            f"There is nothing to count: no words in {counts.summary.documents} documents "
            f"({counts.summary.outside_dates} outside the dates, {skipped} skipped).",
            "Check --since and --until, the --text-field, and that the files hold text.",
        )
    counts.settings = replace(settings, window=counts.window)
    return counts


def bounds_of(date: str, option: str) -> tuple[int, int]:
    """Both ends of what a date names; an error that names the option."""
    try:
        return bounds(date)
    except ValueError as error:
        raise SettingsError(
            f"{option} {date}: {error}.", "Give a year, a month (1862-12) or a day (1862-12-01)."
        ) from None
