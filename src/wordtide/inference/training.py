"""The one loop that drives every solver: it keeps the curve, slows down a fit that diverges, and writes checkpoints."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wordtide.errors import WordtideError
from wordtide.progress import Observer
from wordtide.storage.tensors import Storable

Array = npt.NDArray[Any]
_ATTEMPTS = 6  # how often the rate is halved before a fit is given up


@dataclass(frozen=True)
class Report:
    """One step of a fit. `step` counts from 1 over the whole fit; `slice` is None where all slices move together.

    `elbo` is the evidence lower bound per pair (NaN where it was not measured), `rate` the learning rate, and `note`
    a remark on the step for the user.
    """

    step: int
    slice: int | None
    elbo: float
    rate: float
    note: str = ""


class Diverged(WordtideError):  # noqa: N818 - an event the training loop handles, an error only if it recurs
    """Numbers are no longer finite, or the ELBO falls; `slice` is the first slice concerned, if known."""

    def __init__(self, slice: int | None) -> None:
        where = "" if slice is None else f" at slice {slice}"
        super().__init__(
            f"The fit diverges{where}: its numbers are not finite, or its ELBO falls.",
            "Fit again with a smaller learning rate.",
        )
        self.slice = slice


class Solver(Protocol):
    """What the training loop asks of a solver."""

    @property
    def steps(self) -> int:
        """The most calls of `advance` that do something."""

    def advance(self) -> Report | None:
        """One step; None when the fit is finished. Raises Diverged."""

    def state(self) -> Mapping[str, Storable]:
        """All it takes to go on to the same bits."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a saved state."""

    def slow_down(self) -> None:
        """Halve the rate and go back to the last good state."""


class Checkpointer(Protocol):
    """Writes a state when it is time to."""

    def due(self) -> bool:
        """Is it time?"""

    def save(self, stage: str, state: Mapping[str, Storable], curve: list[dict[str, Any]]) -> None:
        """Write it."""


def train(
    solver: Solver,
    stage: str,
    labels: list[str],
    observer: Observer,
    checkpointer: Checkpointer | None = None,
    curve: list[dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Run a solver to its end. Returns the training curve: a row per step with step, slice, elbo, rate, seconds."""
    curve = list(curve or [])
    started = time.monotonic() - (curve[-1]["seconds"] if curve else 0.0)
    attempts, status, noted = 0, "", False
    measured: float | None = None  # the latest ELBO
    with observer.stage(stage, solver.steps):
        if curve:
            observer.step(len(curve))
        while True:
            try:
                report = solver.advance()
            except Diverged as problem:
                attempts += 1
                if attempts >= _ATTEMPTS:
                    raise gave_up(problem, labels) from problem
                observer.message(f"the fit diverged{_where(problem, labels)}; going on with half the rate")
                solver.slow_down()
                continue
            if report is None:
                return curve
            if curve and report.slice != curve[-1]["slice"]:
                attempts = 0  # another slice: what went wrong before lies behind
            elbo = None if np.isnan(report.elbo) else report.elbo
            seconds = round(time.monotonic() - started, 3)
            curve.append(
                {
                    "step": len(curve) + 1,
                    "slice": report.slice,
                    "elbo": elbo,
                    "rate": report.rate,
                    "seconds": seconds,
                }
            )
            if elbo is not None:
                status, measured = _status(elbo, measured), elbo
            observer.step(status="; ".join(filter(None, [status, report.note])))
            if (
                report.note and not noted
            ):  # once as a message too, because not every observer shows the status
                observer.message(report.note)
                noted = True
            if checkpointer is not None and checkpointer.due():
                checkpointer.save(stage, solver.state(), curve)


def gave_up(problem: Diverged, labels: list[str]) -> WordtideError:
    """The error for a fit that diverged again and again."""
    return WordtideError(
        f"The fit diverged{_where(problem, labels)}, even with 1/{2 ** (_ATTEMPTS - 1)} of the rate.",
        "Look at the slices' counts (wordtide info), or try a smaller --diffusion, --prior-variance or rate: "
        "--rate, with --solver adam --adam-rate and --adam-full-rate.",
    )


def _status(elbo: float, before: float | None) -> str:
    """Format an ELBO and its change since the previous measurement."""
    return f"ELBO {elbo:.4f}" + ("" if before is None else f" ({elbo - before:+.1e})")


def _where(problem: Diverged, labels: list[str]) -> str:
    return "" if problem.slice is None else f" at slice {labels[problem.slice]}"
