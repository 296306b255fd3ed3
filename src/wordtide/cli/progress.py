"""Progress and messages on standard error."""

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

from wordtide.progress import Observer
from wordtide.storage.cells import spelled_out


class _Rate(ProgressColumn):
    """Units per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed and speed >= 1 else "", style="progress.data.speed")


class ProgressBar(Observer):
    """Draws a bar for the innermost stage if standard error is a terminal. Messages go there in any case."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bars: list[Progress] = []
        self._lock = threading.Lock()

    def start(self, stage: str, total: int = 0, unit: str = "steps") -> None:
        """Draw a bar in place of that of the outer stage."""
        if not self._console.is_terminal:
            return
        amount: tuple[ProgressColumn, ...] = (
            (DownloadColumn(), TransferSpeedColumn())
            if unit == "bytes"
            else (MofNCompleteColumn(), TextColumn(unit), _Rate())
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
            TextColumn("{task.fields[status]}", markup=False),
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

    def message(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        self._console.print(spelled_out(text), markup=False)

    def finish(self) -> None:
        """Remove the bar and show that of the outer stage again."""
        with self._lock:
            if self._bars:
                self._bars.pop().stop()
            if self._bars:
                self._bars[-1].start()


def say(*lines: str) -> None:
    """Print lines on standard error."""
    bar = ProgressBar()
    for line in lines:
        bar.message(line)
