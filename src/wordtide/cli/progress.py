"""A progress bar on standard error: how far, how fast, how long still."""

import threading

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from wordtide.counts.workers import Observer


class _Rate(ProgressColumn):
    """Words, or whatever is counted, per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")


class ProgressBar(Observer):
    """Draws one bar for each stage, on standard error; nothing where that is not a terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._progress: Progress | None = None
        self._lock = threading.Lock()

    def start(self, stage: str, total: int, unit: str) -> None:
        """Begin a bar."""
        if not self._console.is_terminal:
            return
        amount: tuple[ProgressColumn, ...] = (
            (DownloadColumn(), TransferSpeedColumn()) if unit == "bytes" else (MofNCompleteColumn(), _Rate())
        )
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn(f"{stage:9}"),
            BarColumn(),
            TaskProgressColumn(),
            *amount,
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._progress.add_task(stage, total=total or None)
        self._progress.start()

    def advance(self, amount: int) -> None:
        """Move the bar."""
        with self._lock:
            if self._progress is not None:
                self._progress.advance(self._progress.task_ids[0], amount)

    def finish(self) -> None:
        """Take the bar away."""
        with self._lock:
            if self._progress is not None:
                self._progress.stop()
                self._progress = None
