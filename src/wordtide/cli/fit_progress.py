"""The progress of a fit as a bar with the ELBO and its change."""

from wordtide.cli.progress import ProgressBar
from wordtide.inference.training import FitObserver, Report


class FitProgress(FitObserver):
    """Shows the steps of a fit. Without a terminal it prints the first note instead."""

    def __init__(self) -> None:
        self._bar = ProgressBar()
        self._before: float | None = None
        self._noted = False

    def tell(self, message: str) -> None:
        """Print a line."""
        self._bar.message(message)

    def start(self, stage: str, total: int, unit: str) -> None:
        """Draw a bar."""
        self._before = None
        self._bar.start(stage, total, unit)

    def step(self, done: int, report: Report) -> None:
        """Move the bar, and show the ELBO where it was measured."""
        status = ""
        if report.elbo == report.elbo:
            change = "" if self._before is None else f" ({report.elbo - self._before:+.1e})"
            self._before = report.elbo
            status = f"ELBO {report.elbo:.4f}{change}"
        if report.note and not self._noted:
            self.tell(report.note)
            self._noted = True
        self._bar.step(1, status)

    def finish(self) -> None:
        """Remove the bar."""
        self._bar.finish()
