"""A progress bar on standard error: how far, how fast, how long still."""

import threading

import typer
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

from wordtide.counts.workers import Observer as CountObserver
from wordtide.progress import Observer


class _Rate(ProgressColumn):
    """Words, or whatever is counted, per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")


class ProgressBar(Observer, CountObserver):
    """Draws a bar for the innermost stage on standard error if that is a terminal. Messages go there in any case."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bars: list[Progress] = []
        self._lock = threading.Lock()

    def start(self, stage: str, total: int = 0, unit: str = "steps") -> None:
        """Draw a bar in place of that of the outer stage."""
        if not self._console.is_terminal:
            return
        amount: tuple[ProgressColumn, ...] = (
            (DownloadColumn(), TransferSpeedColumn()) if unit == "bytes" else (MofNCompleteColumn(), _Rate())
        )
        bar = Progress(
            SpinnerColumn(),
            TextColumn(f"{stage:9}"),
            BarColumn(),
            TaskProgressColumn(),
            *amount,
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[status]}"),
            console=self._console,
            transient=True,
        )
        bar.add_task(stage, total=total or None, status="")
        with self._lock:
            if self._bars:
                self._bars[-1].stop()
            self._bars.append(bar)
            bar.start()

    def step(self, amount: int = 1, status: str = "") -> None:
        """Move the bar."""
        with self._lock:
            if self._bars:
                bar, task = self._bars[-1], self._bars[-1].tasks[0]
                bar.update(task.id, advance=amount, status=status or task.fields["status"])

    def advance(self, amount: int) -> None:
        """Move the bar."""
        self.step(amount)

    def message(self, text: str) -> None:
        """Print a line."""
        typer.echo(text, err=True)

    def finish(self) -> None:
        """Remove the bar and show that of the outer stage again."""
        with self._lock:
            if self._bars:
                self._bars.pop().stop()
            if self._bars:
                self._bars[-1].start()
