"""`wordtide update` and `wordtide watch`: later slices for a model fitted by filtering."""

import signal
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordtide.cli.options import FilteredModel, Threads, takes
from wordtide.cli.output import ProgressBar, say
from wordtide.corpus.columns import Fields
from wordtide.counts.settings import CountSettings
from wordtide.spelling import counted
from wordtide.streaming.settings import AlertRule, GrowthSettings, WatchOptions, WatchSettings

if TYPE_CHECKING:
    from wordtide.streaming.watch import SliceReport, WatchObserver

Option = typer.Option
_NO_TOKENIZER = "none; required if the model was counted with one"
#: How texts are read; everything else is as the model was counted.
_WATCHED = ("every", "date_field", "text_field", "date_format", "encoding", "delimiter", "tokenizer")
_UPDATED = (*_WATCHED, "group_field", "since", "until", "format", "skip_bad")


@takes(GrowthSettings, after="sources")
@takes(
    CountSettings,
    after="sources",
    only=_UPDATED,
    prefix="Texts",
    defaults={
        "every": "as the model was counted",
        "group_field": "as the model was counted",
        "format": "",
        "tokenizer": _NO_TOKENIZER,
    },
)
def update(
    model: FilteredModel,
    sources: Annotated[
        list[str],
        typer.Argument(help="A counts folder, or texts: folders, files, quoted globs, or -."),
    ],
    max_expansion: Annotated[
        int | None,
        Option(help="Texts: maximum expansion ratio of compressed files. Default: 200."),
    ] = None,
    threads: Threads = None,
    **settings: Any,
) -> None:
    """Append later slices to a model fitted by filtering, as if they had been there from the start.

    Example: wordtide update model/ posts.jsonl --every day
    """
    from wordtide.streaming.additions import count_for_update
    from wordtide.streaming.update import read_filtered, update_model

    words = _given(GrowthSettings, settings)
    growth = GrowthSettings(**words)
    texts = {name: value for name, value in settings.items() if name not in words}
    counts = count_for_update(
        read_filtered(model),
        sources,
        growth.grow,
        ProgressBar(),
        threads,
        max_expansion=max_expansion,
        **texts,
    )
    started = time.monotonic()
    added = update_model(model, counts, growth=growth, observer=ProgressBar(), threads=threads)
    lines = [
        f"skipped {counted(number, 'row')}: {reason}"
        for reason, number in sorted(counts.summary.skipped.items())
    ]
    slices = added.counts.labels
    span = slices[0] if len(slices) == 1 else f"{slices[0]} to {slices[-1]}"
    lines.append(f"{counted(len(slices), 'slice')} added ({span}) in {time.monotonic() - started:.1f} s")
    if added.left_out:
        lines.append(f"left out, because they have no pair of the model's words: {_named(added.left_out)}")
    if added.admitted:
        lines.append(f"{counted(len(added.admitted), 'word')} admitted: {_named(added.admitted)}")
    if added.unknown:
        lines.append(
            f"{counted(added.unknown, 'word')} unknown to the model left out, "
            f"{added.unknown_share:.1%} of all counted occurrences (--grow admits new words)"
        )
    say(*lines, f"written to {model}")


def _named(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


@takes(WatchSettings, after="alerts")
@takes(AlertRule, after="alerts")
@takes(WatchOptions, after="alerts")
@takes(
    CountSettings,
    after="alerts",
    only=_WATCHED,
    defaults={
        "every": "as the model was counted",
        "encoding": "utf-8",
        "delimiter": "that of the header line",
        "tokenizer": _NO_TOKENIZER,
    },
)
def watch(
    model: FilteredModel,
    source: Annotated[str, typer.Argument(help="A file of JSON Lines, CSV or TSV, or - for standard input.")],
    alerts: Annotated[
        Path | None, Option(help="File that alerts are appended to. Default: standard output.")
    ] = None,
    skip_bad: Annotated[
        bool, Option("--skip-bad/--no-skip-bad", help="Count bad rows and continue, or stop at the first.")
    ] = True,
    threads: Threads = None,
    **settings: Any,
) -> None:
    """Update a model with each slice of an endless stream, and report surprising words as JSON Lines.

    Row dates, not the clock, decide when a slice ends. A stopped or killed watch resumes where it was.

    Example: wordtide watch model/ posts.jsonl --follow --every day --alerts alerts.jsonl
    """
    from wordtide.streaming.watch import watch as watch_stream  # loads the solvers

    columns = Fields(*(settings.get(name) for name in ("date_field", "text_field", "date_format")))
    chosen = WatchSettings(**_given(WatchSettings, settings), alerts=AlertRule(**_given(AlertRule, settings)))
    reading: dict[str, Any] = {"fields": columns, "skip_bad": skip_bad, "alerts": alerts, "threads": threads}
    options = WatchOptions(**_given(WatchOptions, settings), **reading)
    observer = _observer()
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        reasons = watch_stream(model, source, chosen, options, observer)
    finally:
        signal.signal(signal.SIGTERM, before)
    for reason, number in reasons.items():
        observer.message(f"skipped {counted(number, 'row')}: {reason}")


def _given(record: type[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that are fields of a record."""
    return {one.name: settings[one.name] for one in fields(record) if one.name in settings}


def _interrupt(number: int, frame: object) -> None:
    """Treat a request to terminate like Ctrl-C: the next start resumes."""
    raise KeyboardInterrupt


def _observer() -> "WatchObserver":
    """Return an observer that reports each slice on standard error."""
    from wordtide.streaming.watch import WatchObserver

    class ConsoleObserver(ProgressBar, WatchObserver):
        def slice_closed(self, report: "SliceReport") -> None:
            self.message(_slice_line(report))

    return ConsoleObserver()


def _slice_line(report: "SliceReport") -> str:
    """Describe a slice in one line."""
    parts = [counted(report.rows, "row"), f"{report.seconds:.1f} s"]
    parts.append(counted(report.alerts, "alert"))
    if report.late:
        parts.append(f"{report.late:,} late")
    if report.folded:
        parts.append(f"{report.folded:,} late rows folded in")
    if report.bad:
        parts.append(f"{report.bad:,} bad")
    if report.admitted:
        parts.append(f"{len(report.admitted):,} admitted ({_named(report.admitted, 5)})")
    if report.problem:
        parts.append(f"left out: {report.problem}")
    return f"{report.label}: {', '.join(parts)}"
