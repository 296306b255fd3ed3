"""What a count would find, without counting pairs: files, dates, words per slice, and rows that are bad."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.corpus.documents import BadRows
from wordtide.corpus.findings import Findings
from wordtide.corpus.source_files import MAX_EXPANSION
from wordtide.corpus.tokens.lexicon import combine_lexicons
from wordtide.corpus.tokens.tokenizers import Tokenizer
from wordtide.counts.count import DEFAULT_MEMORY, checked_settings, find_files, input_of
from wordtide.counts.groups import words_of_groups
from wordtide.counts.texts import scan_texts
from wordtide.counts.warm_up import warm_up
from wordtide.counts.workers import Resources
from wordtide.errors import SettingsError
from wordtide.progress import Observer
from wordtide.timeline import Slices


@dataclass(frozen=True)
class Preview:
    """What reading a corpus found.

    Attributes:
        facts: The files, columns and dates.
        slices: The slices, with their numbers of words and documents.
        documents: The number of documents between the dates.
        outside_dates: The number of documents before `since` or after `until`.
        distinct_words: The number of different words.
        ignored_files: The number of files with unknown endings.
        groups: The number of words of each group, if documents have groups.
        bad_rows: For each reason the number of rows that counting would refuse, and the first of them.
    """

    facts: Findings
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

    >>> preview([("1850", "Steam power."), ("1950s", "Atomic power.")]).facts.latest
    ('1950s', 'the documents:2')
    """
    record, given = checked_settings(tokenizer, settings)
    corpus = find_files(source, record, max_expansion)
    if corpus.is_ngrams:
        raise SettingsError("--dry-run is for texts, and these are n-grams.", "Omit --dry-run.")
    warm_up(ngrams=False)
    bad = BadRows(skip=True, facts=Findings(all_names=True))
    with tempfile.TemporaryDirectory(prefix="wordtide-") as folder:
        resources = Resources(
            workers or os.cpu_count() or 1, DEFAULT_MEMORY, Path(folder), observer or Observer()
        )
        scan = scan_texts(input_of(corpus, record, given, resources), bad)
        slices, _ = record.unite([segment.entries for segment in scan.segments])
        whole, _ = combine_lexicons(scan.lexicons)
    return Preview(
        bad.findings,
        slices,
        scan.documents,
        scan.outside_dates,
        int(np.count_nonzero(whole.totals)),
        corpus.ignored,
        words_of_groups(scan.segments, scan.groups),
        {reason: (number, bad.examples[reason]) for reason, number in sorted(bad.reasons.items())},
    )
