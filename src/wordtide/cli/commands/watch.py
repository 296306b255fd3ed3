"""`wordtide watch`: update a model with an endless stream, and report surprising words."""

import signal
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from wordtide.cli.commands.update import MODELS_OWN
from wordtide.cli.options import takes
from wordtide.cli.progress import ProgressBar
from wordtide.corpus.columns import Fields
from wordtide.counts.settings import CountSettings
from wordtide.spelling import counted
from wordtide.streaming.settings import AlertRule, WatchOptions, WatchSettings

Option = typer.Option
_SHOWN = 5  # new words that are named
#: How texts are counted; everything else is as the model was counted.
OF_TEXTS = ("every", "date_field", "text_field", "date_format", "tokenizer")


@takes(WatchSettings, after="alerts")
@takes(AlertRule, after="alerts")
@takes(WatchOptions, after="alerts")
@takes(
    CountSettings,
    after="alerts",
    only=OF_TEXTS,
    defaults={"every": "as the model was counted", "tokenizer": MODELS_OWN},
)
def watch(
    model: Annotated[Path, typer.Argument(help="A model folder, made with --method filtering.")],
    source: Annotated[str, typer.Argument(help="A file of JSON Lines, CSV or TSV, or - for standard input.")],
    alerts: Annotated[
        Path | None, Option(help="File that alerts are appended to. Default: standard output.")
    ] = None,
    skip_bad: Annotated[
        bool, Option("--skip-bad/--no-skip-bad", help="Count bad rows and continue, or stop at the first.")
    ] = True,
    threads: Annotated[int | None, Option(help="Threads on the CPU. Default: all processors.")] = None,
    **settings: Any,
) -> None:
    """Update a model with each slice of an endless stream, and report surprising words as JSON Lines.

    The dates of rows decide when a slice ends. A watch that is stopped or killed resumes where it was.

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


def _observer() -> Any:
    """Return an observer that reports each slice on standard error."""
    from wordtide.streaming.watch import SliceReport, WatchObserver

    class ConsoleObserver(ProgressBar, WatchObserver):
        def slice_closed(self, report: SliceReport) -> None:
            self.message(_line(report))

    return ConsoleObserver()


def _line(report: Any) -> str:
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
        more = ", ..." if len(report.admitted) > _SHOWN else ""
        parts.append(f"{len(report.admitted):,} admitted ({', '.join(report.admitted[:_SHOWN])}{more})")
    if report.problem:
        parts.append(f"left out: {report.problem}")
    return f"{report.label}: {', '.join(parts)}"
