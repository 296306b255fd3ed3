"""The progress of long work, which library functions report to an observer and each front end shows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import final


class Observer:
    """Receives progress reports. This class ignores them; the command line draws a bar.

    Work consists of stages. A stage may run inside another one. `step` may be called from any thread.
    """

    def start(self, stage: str, total: int = 0, unit: str = "steps") -> None:
        """Begin a stage.

        Args:
            stage: One word that names the stage, such as "reading".
            total: The number of units in the stage, or the most there can be; 0 if it is unknown.
            unit: What is counted, in the plural: "bytes", "slices", "steps".
        """

    def step(self, amount: int = 1, status: str = "") -> None:
        """Report that `amount` more units of the current stage are done.

        Args:
            amount: The number of units.
            status: A short remark to show beside the bar, such as the current ELBO. Empty: keep the last one.
        """

    def message(self, text: str) -> None:
        """Report something that the user should know, in one line."""

    def finish(self) -> None:
        """End the current stage."""

    @final
    @contextmanager
    def stage(self, name: str, total: int = 0, unit: str = "steps") -> Iterator[None]:
        """Start a stage and finish it when the block ends, with or without an error."""
        self.start(name, total, unit)
        try:
            yield
        finally:
            self.finish()
