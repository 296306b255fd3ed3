"""`wordtide watch`: an endless stream updates a model, and words that surprise are told."""

import signal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wordtide.cli.fit_progress import FitProgress
from wordtide.cli.progress import ProgressBar
from wordtide.corpus.fields import Fields
from wordtide.questions.change import MIN_OCCURRENCES

Option = typer.Option
_SHOWN = 5  # new words that are named


def watch(
    model: Annotated[Path, typer.Argument(help="A model folder, made with --method filtering.")],
    source: Annotated[str, typer.Argument(help="A file of JSON Lines, CSV or TSV, or - for standard input.")],
    every: Annotated[str | None, Option(help="Length of a slice. Default: as the model was counted.")] = None,
    alerts: Annotated[
        Path | None, Option(help="File that alerts are added to. Default: standard output.")
    ] = None,
    threshold: Annotated[float, Option(help="Tell of words with at least this score.")] = 4.0,
    min_occurrences: Annotated[
        int, Option(help="Tell of words that occur this often in the slice.")
    ] = MIN_OCCURRENCES,
    neighbors: Annotated[int, Option(help="How many neighbours are told, before and after.")] = 5,
    follow: Annotated[bool, Option("--follow", help="Files: wait for what is still to be written.")] = False,
    patience: Annotated[
        str, Option(help="How long after its end rows of a slice are waited for: 10m, 36h, 7d.")
    ] = "0",
    close_after: Annotated[
        str | None, Option(help="Close a slice by the clock, so long after its end, though no row follows.")
    ] = None,
    close_at_end: Annotated[
        bool, Option("--close-at-end", help="At the end of input close the open slice, too; else it is kept.")
    ] = False,
    late: Annotated[
        str, Option(help="Rows of slices that are over: drop them, or fold them into the next slice.")
    ] = "drop",
    grow: Annotated[int, Option(help="Let in at most this many new words with each slice.")] = 0,
    grow_min_count: Annotated[
        int, Option(help="A new word must occur this often in the slice.")
    ] = MIN_OCCURRENCES,
    format: Annotated[str, Option(help="auto, jsonl, csv or tsv.")] = "auto",
    date_field: Annotated[
        str | None, Option(help="Column with the date; found by its name if not given.")
    ] = None,
    text_field: Annotated[
        str | None, Option(help="Column with the text; found by its name if not given.")
    ] = None,
    date_format: Annotated[
        str | None, Option(help="Pattern of dates ('%d/%m/%Y'), or epoch, epoch-ms, year.")
    ] = None,
    tokenizer: Annotated[
        str | None,
        Option(help="The program that the model's texts were split by, if it was one: module:function."),
    ] = None,
    skip_bad: Annotated[
        bool, Option("--skip-bad/--no-skip-bad", help="Count bad rows and go on, or stop.")
    ] = True,
    replayed: Annotated[
        bool, Option("--replayed", help="Standard input comes again from its first row.")
    ] = False,
    forget_position: Annotated[
        bool,
        Option(
            "--forget-position",
            help="Begin anew, after the model's last slice; rows in waiting are given up.",
        ),
    ] = False,
    slices: Annotated[int | None, Option(help="Stop after this many slices.")] = None,
    threads: Annotated[int | None, Option(help="Threads on the CPU. Default: all processors.")] = None,
) -> None:
    """Update a model with each slice of an endless stream, and write words that surprise as JSON Lines.

    The dates of rows decide when a slice is over. A watch that is ended or killed goes on where it was.

    Example: wordtide watch model/ posts.jsonl --follow --every day --alerts alerts.jsonl
    """
    from wordtide.streaming.alerts import AlertRule  # brings the solvers, which --help does without
    from wordtide.streaming.settings import WatchOptions, WatchSettings, parse_seconds
    from wordtide.streaming.watch import watch as watch_stream

    settings = WatchSettings(
        every=every,
        patience=parse_seconds(patience, "--patience"),
        close_after=None if close_after is None else parse_seconds(close_after, "--close-after"),
        close_at_end=close_at_end,
        late=late,
        grow=grow,
        grow_min_count=grow_min_count,
        tokenizer=tokenizer,
        alerts=AlertRule(threshold, min_occurrences, neighbors),
    )
    options = WatchOptions(
        format=format,
        fields=Fields(date_field, text_field, date_format),
        follow=follow,
        replayed=replayed,
        forget_position=forget_position,
        skip_bad=skip_bad,
        alerts=alerts,
        slices=slices,
        threads=threads,
    )
    observer = _observer()
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        reasons = watch_stream(model, source, settings, options, observer)
    finally:
        signal.signal(signal.SIGTERM, before)
    for reason, number in reasons.items():
        observer.message(f"skipped {number:,} row{'s' * (number != 1)}: {reason}")


def _interrupt(number: int, frame: object) -> None:
    """A request to end is a Ctrl-C: what is done stays, the rest is taken up at the next start."""
    raise KeyboardInterrupt


def _observer() -> Any:
    """Return an observer that reports each slice on standard error."""
    from wordtide.streaming.watch import SliceReport, WatchObserver

    console = Console(stderr=True, highlight=False, soft_wrap=True)

    class ConsoleObserver(WatchObserver):
        counting, fitting = ProgressBar(), FitProgress()

        def message(self, text: str) -> None:
            console.print(text, markup=False)

        def slice_closed(self, report: SliceReport) -> None:
            self.message(_line(report))

    return ConsoleObserver()


def _line(report: Any) -> str:
    """One line for a slice."""
    parts = [f"{report.rows:,} row{'s' * (report.rows != 1)}", f"{report.seconds:.1f} s"]
    parts.append(f"{report.alerts:,} alert{'s' * (report.alerts != 1)}")
    if report.late:
        parts.append(f"{report.late:,} late")
    if report.folded:
        parts.append(f"{report.folded:,} late ones folded in")
    if report.bad:
        parts.append(f"{report.bad:,} bad")
    if report.admitted:
        more = ", ..." if len(report.admitted) > _SHOWN else ""
        parts.append(f"{len(report.admitted):,} let in ({', '.join(report.admitted[:_SHOWN])}{more})")
    if report.problem:
        parts.append(f"left out: {report.problem}")
    return f"{report.label}: {', '.join(parts)}"
