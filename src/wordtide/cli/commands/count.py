"""`wordtide count`: from dated texts to counts."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wordtide.cli.options import takes
from wordtide.cli.progress import ProgressBar
from wordtide.counts.counts import Counts
from wordtide.counts.settings import CountSettings
from wordtide.errors import SettingsError

Option = typer.Option


@takes(CountSettings, after="output")
def count(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Folders, files, quoted globs, URLs, - for standard input, or sotu for the sample."
        ),
    ],
    output: Annotated[Path, Option("--output", "-o", help="The counts folder to make.")],
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
    **settings: Any,
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
        **settings,
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
