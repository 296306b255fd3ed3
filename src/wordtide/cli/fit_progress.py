"""How a fit goes on, on standard error: a bar with step, ELBO, its change, and the time left."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from wordtide.inference.reports import Report
from wordtide.inference.training import FitObserver


class FitProgress(FitObserver):
    """Draws a bar where standard error is a terminal; messages go there in any case."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._progress: Progress | None = None
        self._before: float | None = None
        self._noted = False

    def tell(self, message: str) -> None:
        """A line for the user."""
        self._console.print(message, markup=False)

    def start(self, stage: str, total: int, unit: str) -> None:
        """Begin a bar."""
        if not self._console.is_terminal:
            return
        self._before = None
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn(f"{stage:9}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit),
            TextColumn("{task.fields[elbo]}"),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TextColumn("left at most"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._progress.add_task(stage, total=total, elbo="", note="")
        self._progress.start()

    def step(self, done: int, report: Report) -> None:
        """Move the bar; the ELBO is shown where it was measured."""
        if self._progress is None:
            if report.note and not self._noted:  # where no bar is drawn, once is enough
                self.tell(report.note)
                self._noted = True
            return
        task = self._progress.task_ids[0]
        elbo = report.elbo
        if elbo == elbo:
            change = "" if self._before is None else f" ({elbo - self._before:+.1e})"
            self._before = elbo
            self._progress.update(task, completed=done, elbo=f"ELBO {elbo:.4f}{change}")
        else:
            self._progress.update(task, completed=done)
        if report.note:
            self._progress.update(task, note=report.note)

    def finish(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
