"""The training loop of all solvers: records the curve, halves the rate on divergence, saves checkpoints."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wordtide.errors import WordtideError
from wordtide.progress import Observer
from wordtide.storage.arrays import Storable
from wordtide.types import Array

_ATTEMPTS = 6  # divergences of a slice before the fit is abandoned


@dataclass(frozen=True)
class Report:
    """One step of a fit.

    Attributes:
        step: The number of the step, counted from 1 over the whole fit.
        slice: The slice that was fitted; None if all slices are fitted together.
        elbo: The evidence lower bound per pair; NaN if it was not measured.
        rate: The learning rate.
        note: A remark on the step for the user.
    """

    step: int
    slice: int | None
    elbo: float
    rate: float
    note: str = ""


class Diverged(WordtideError):  # noqa: N818 - an event the training loop handles, an error only if it recurs
    """The values are no longer finite, or the ELBO falls. `slice` is the first affected slice, if known."""

    def __init__(self, slice: int | None) -> None:
        where = "" if slice is None else f" at slice {slice}"
        super().__init__(
            f"The fit diverged{where}: its values are not finite, or its ELBO fell.",
            "Fit again with a smaller learning rate.",
        )
        self.slice = slice


class Solver(Protocol):
    """What the training loop needs from a solver."""

    @property
    def steps(self) -> int:
        """The maximum number of steps."""

    def advance(self) -> Report | None:
        """Take one step and return its report, or None if the fit is finished.

        Raises:
            Diverged: The step failed; `slow_down` makes the solver usable again.
        """

    def state(self) -> Mapping[str, Storable]:
        """Return everything needed to resume with bit-identical results."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Resume from a saved state."""

    def slow_down(self) -> None:
        """Halve the rate and return to the last good state."""


class Checkpointer(Protocol):
    """Saves the state of a fit at intervals, and when the user stops it."""

    @property
    def stopping(self) -> bool:
        """Whether the user wants the fit to stop after this step, once a checkpoint is saved."""

    def between_steps(self) -> AbstractContextManager[None]:
        """Within the block, let Ctrl-C set `stopping` instead of interrupting a step."""

    def due(self) -> bool:
        """Return whether the next checkpoint is due."""

    def save(self, stage: str, state: Mapping[str, Storable], curve: list[dict[str, Any]]) -> None:
        """Save a checkpoint."""


def train(
    solver: Solver,
    stage: str,
    labels: list[str],
    observer: Observer,
    checkpointer: Checkpointer | None = None,
    curve: list[dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Run a solver until it is finished.

    Args:
        solver: The solver, restored from its checkpoint if `curve` is given.
        stage: The name of the stage, for the observer and for checkpoints.
        labels: The labels of the slices, for messages.
        observer: Receives the progress.
        checkpointer: Saves checkpoints; None: save none, and stop at once on Ctrl-C.
        curve: The curve of the steps already done.

    Returns:
        The training curve: a row per step with step, slice, elbo, rate and seconds.

    Raises:
        WordtideError: The fit keeps diverging, even at a small rate.
        KeyboardInterrupt: The user pressed Ctrl-C; a checkpoint of the last step is saved.
    """
    curve = list(curve or [])
    started = time.monotonic() - (curve[-1]["seconds"] if curve else 0.0)
    attempts, status, noted = 0, "", False
    measured: float | None = None  # the latest ELBO
    waiting = nullcontext() if checkpointer is None else checkpointer.between_steps()
    with observer.stage(stage, solver.steps), waiting:
        if curve:
            observer.step(len(curve))
        while True:
            try:
                report = solver.advance()
            except Diverged as problem:
                attempts += 1
                if attempts >= _ATTEMPTS:
                    raise _divergence_error(problem, labels) from problem
                observer.message(f"the fit diverged{_where(problem, labels)}; continuing with half the rate")
                solver.slow_down()
                continue
            if report is None:
                return curve
            if curve and report.slice != curve[-1]["slice"]:
                attempts = 0  # every slice has its own attempts
            curve.append(_row(len(curve) + 1, report, time.monotonic() - started))
            elbo = curve[-1]["elbo"]
            if elbo is not None:
                status, measured = _status(elbo, measured), elbo
            observer.step(status="; ".join(filter(None, [status, report.note])))
            if report.note and not noted:
                observer.message(report.note)  # once, because not every observer shows the status
                noted = True
            if checkpointer is not None and checkpointer.due():
                checkpointer.save(stage, solver.state(), curve)
                if checkpointer.stopping:
                    raise KeyboardInterrupt


def _divergence_error(problem: Diverged, labels: list[str]) -> WordtideError:
    return WordtideError(
        f"The fit diverged{_where(problem, labels)}, even with 1/{2 ** (_ATTEMPTS - 1)} of the rate.",
        "Check the counts of the slices (wordtide info), or try a smaller --diffusion, --prior-variance or "
        "learning rate (--rate; with --solver adam, --adam-rate and --adam-full-rate).",
    )


def _row(step: int, report: Report, seconds: float) -> dict[str, Any]:
    """Return the row of a step in the training curve."""
    elbo = None if np.isnan(report.elbo) else report.elbo
    return {
        "step": step,
        "slice": report.slice,
        "elbo": elbo,
        "rate": report.rate,
        "seconds": round(seconds, 3),
    }


def _status(elbo: float, before: float | None) -> str:
    """Format an ELBO and its change since the previous measurement."""
    return f"ELBO {elbo:.4f}" + ("" if before is None else f" ({elbo - before:+.1e})")


def _where(problem: Diverged, labels: list[str]) -> str:
    return "" if problem.slice is None else f" at slice {labels[problem.slice]}"
