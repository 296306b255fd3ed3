"""Trajectories in files, for models larger than memory, computed by the tasks of a `SmoothingJob`."""

import itertools
import math
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np

from wordtide.errors import OutputError, SettingsError
from wordtide.inference.compute import Compute
from wordtide.inference.scale import smoothing_tasks as tasks
from wordtide.inference.scale.in_memory import Start, start_arrays
from wordtide.inference.scale.smoothing_job import Generation, PriorSpec, SmoothingJob, open_layout
from wordtide.inference.scale.word_blocks import FIELDS, SIDES
from wordtide.model.prior import Diffusion
from wordtide.storage.arrays import Storable, StreamedArray
from wordtide.storage.folders import explained_write_errors
from wordtide.storage.locks import locked
from wordtide.types import Array

_PREFIX, _LOCK = "wordtide-fit-", ".lock"
_starts = itertools.count()  # every start of this process has a number of its own


class Executor(Protocol):
    """Runs independent tasks `function(job, *arguments)` of a job and returns their results in order."""

    def __call__(
        self, function: Callable[..., Any], job: SmoothingJob, arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]: ...


def on_threads(compute: Compute) -> Executor:
    """Return an executor that runs tasks on the threads of this process."""

    def run(
        function: Callable[..., Any], job: SmoothingJob, arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        return compute.map(lambda each: function(job, *each), arguments)

    return run


@contextmanager
def exchange_folder(parent: Path) -> Iterator[Path]:
    """Create a folder for the files of one fit, and remove it at the end.

    Those of fits that were killed on this machine are removed first.
    """
    if not parent.is_dir():
        raise SettingsError(
            f"The folder {parent} for the files of the fit does not exist.",
            f"Create it first: mkdir -p {parent}",
        )
    with explained_write_errors(parent), TemporaryDirectory(prefix=_prefix(), dir=parent) as folder:
        remove_files_of_killed_fits(parent)
        with _emptied_at_the_end(Path(folder)):
            yield Path(folder)


def remove_files_of_killed_fits(parent: Path) -> None:
    """Remove the folders of fits that were killed on this machine.

    On a shared disk the locks of other machines may not be visible.
    """
    for lock in parent.glob(f"{_prefix()}*/{_LOCK}"):
        with suppress(OutputError, OSError):
            with _emptied_at_the_end(lock.parent):
                pass
            lock.parent.rmdir()


@contextmanager
def _emptied_at_the_end(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder until its files are removed, so that a kill leaves none without a lock."""
    with locked(folder / _LOCK, f"Another fit uses a folder in {folder.parent}.", "Choose another folder."):
        try:
            yield
        finally:
            for path in folder.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                elif path.name != _LOCK:
                    path.unlink(missing_ok=True)


def _prefix() -> str:
    return f"{_PREFIX}{platform.node()}-"


class StatesOnDisk:
    """All trajectories, in the files of a job."""

    def __init__(self, job: SmoothingJob, diffusion: Diffusion, start: Start, run: Executor) -> None:
        self.job, self._diffusion, self._start, self._run = job, diffusion, start, run
        self._layout = open_layout(job)
        self._generation = Generation(next(_starts), 0)
        self._blocks, self._groups = range(len(job.words) - 1), range(len(job.slices) - 1)
        self._note = ""
        self._check_room()
        np.save(Path(job.folder) / "start.npy", start.vectors)

    @property
    def diffusion(self) -> Diffusion:
        return self._diffusion

    def set_diffusion(self, diffusion: Diffusion) -> None:
        self._diffusion = diffusion

    def begin(self) -> None:
        self._remove_files()
        self._generation = Generation(next(_starts), 0)
        arguments = [(p, self._prior, self._generation) for p in self._blocks]
        self._run(tasks.begin_block, self.job, arguments)

    def pairs(self) -> list[float]:
        return [part.pairs for part in self._layout.problem.slices]

    def step(self, number: int, rate: float, trust: float) -> list[bool]:
        since, now = time.monotonic(), self._generation
        seen = self._run(tasks.observe_group, self.job, [(g, now, number, rate) for g in self._groups])
        finite = [value for values, _ in seen for value in values]
        if not all(finite):
            return finite
        moved = self._run(
            tasks.move_block, self.job, [(p, self._prior, now, rate, trust) for p in self._blocks]
        )
        self._generation = now.next
        self._remove_files(now)
        self._set_note(sum(amount for _, amount in seen) + sum(moved), time.monotonic() - since)
        return finite

    def likelihoods(self) -> list[float]:
        return self._likelihoods(self._generation, predictive=False)

    def divergence(self) -> float:
        arguments = [(p, self._prior, self._generation) for p in self._blocks]
        return math.fsum(
            value for values, _ in self._run(tasks.block_divergences, self.job, arguments) for value in values
        )

    def predictive_likelihoods(self, prior: Diffusion) -> list[float]:
        other, left_out = PriorSpec.of(prior), Generation(next(_starts), 0)
        arguments = [(p, self._prior, other, self._generation, left_out) for p in self._blocks]
        self._run(tasks.leave_out_block, self.job, arguments)
        found = self._likelihoods(left_out, predictive=True)
        self._remove_files(left_out)
        return found

    def arrays(self) -> dict[str, Storable]:
        knots, options = self._layout.problem.knots, self.job.options

        def rows(name: str) -> Iterator[Array]:
            for part in self._blocks:
                yield tasks.block_arrays(self.job, part, self._prior, self._generation)[name]

        names = [f"{field}_{side}" for side in SIDES[: options.sides] for field in FIELDS]
        states: dict[str, Storable] = {
            name: StreamedArray(self._layout.dtype, (len(knots), options.dim), partial(rows, name))
            for name in names
        }
        return {**start_arrays(self._start), **states}

    def restore(self, state: Mapping[str, Array]) -> None:
        knots = self._layout.problem.knots
        self._remove_files()
        self._generation = Generation(next(_starts), 1)  # with h
        for part in self._blocks:
            first, last = (int(knots.starts[self.job.words[part + side]]) for side in (0, 1))
            rows = {name: state[name][first:last] for name in state if name[-2:] in ("_u", "_v")}
            tasks.save_block(self.job, part, self._prior, self._generation, rows)
        tasks.save_messages(self.job, state, self._generation)

    def finish(self) -> None:
        pass  # the states of further steps are in files

    def note(self) -> str:
        return self._note

    @property
    def _prior(self) -> PriorSpec:
        return PriorSpec.of(self._diffusion)

    def _likelihoods(self, generation: Generation, predictive: bool) -> list[float]:
        arguments = [(g, generation, predictive) for g in self._groups]
        found = self._run(tasks.group_likelihoods, self.job, arguments)
        return [value for values, _ in found for value in values]

    def _set_note(self, moved: int, seconds: float) -> None:
        amount = f"{moved / 1e9:.1f} GB" if moved >= 1e9 else f"{moved / 1e6:.0f} MB"
        self._note = f"{amount} read and written per step, {seconds:.1f} s per step"

    def _remove_files(self, generation: Generation | None = None) -> None:
        ending = "*" if generation is None else f"{generation.start}-{generation.step}"
        for kind in ("block", "group"):
            for path in Path(self.job.folder).glob(f"{kind}-*-{ending}"):
                path.unlink()

    def _check_room(self) -> None:
        """Check for room for two generations of mean, variance, h and b, and one of predictions."""
        options, knots = self.job.options, len(self._layout.problem.knots)
        size = 10 * options.sides * knots * options.dim * self._layout.dtype.itemsize
        free = shutil.disk_usage(self.job.folder).free
        if size > free:
            raise OutputError(
                f"The disk of {self.job.folder} has {free / 1e9:.1f} GB free, and the fit needs "
                f"{size / 1e9:.1f} GB there.",
                "Make room, or choose a folder on another disk.",
            )
