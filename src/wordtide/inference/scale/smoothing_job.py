"""A smoothing fit divided into tasks: its description, and the files that the tasks exchange.

The files of a step have a generation, whose name is never used again: a worker that was thought dead may
still write.

    block P of generation n     mean and variance of its words at all their knots, in order of the slices
    group G of generation n     h and b of all words of its slices, in order of the slices

Words are divided into blocks with about the same number of knots, slices into groups of about the same cost.
The words of a slice are in ascending order, so a block of words occupies consecutive rows of the slice. The
division does not affect the result, because every trajectory and every slice is computed independently.
"""

import os
import uuid
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.errors import OutputError
from wordtide.inference.compute import Compute
from wordtide.inference.natural.schedule import NaturalOptions
from wordtide.inference.problem import PairSettings, Problem, problem_of
from wordtide.inference.scale.word_blocks import WordBlock
from wordtide.model.knots import Knots
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.prior import PRIORS, Diffusion
from wordtide.storage.folders import explained_write_errors
from wordtide.types import Array, Integers


class Generation(NamedTuple):
    """The files of step `step` after start number `start`. At step 0 no data were seen, so there is no h.

    Predictions of each slice from all others have a start of their own, and step 0.
    """

    start: int
    step: int

    @property
    def next(self) -> "Generation":
        """The generation after the following step."""
        return Generation(self.start, self.step + 1)


@dataclass(frozen=True)
class PriorSpec:
    """A prior on the slices of a job, as plain data."""

    name: str
    constant: float
    variance: float

    @staticmethod
    def of(prior: Diffusion) -> "PriorSpec":
        return PriorSpec(prior.name, prior.constant, prior.prior_variance)

    def on(self, times: Array) -> Diffusion:
        """Return the prior on slices at `times`."""
        return PRIORS[self.name](times, self.constant, self.variance)


@dataclass(frozen=True)
class SmoothingJob:
    """Everything a worker needs. `folder` and `counts` are paths that all workers see.

    `words` are the bounds of the blocks of words and `slices` those of the groups of slices.
    """

    folder: str
    counts: str
    pairs: PairSettings
    options: NaturalOptions
    signs: tuple[float, ...] | None
    precision: str
    words: tuple[int, ...]
    slices: tuple[int, ...]


class PlaneFile:
    """A file of several (rows, d) arrays, one after the other, written whole and read by runs of rows."""

    def __init__(self, path: Path, rows: int, dim: int, dtype: np.dtype[np.floating]) -> None:
        self.path, self.rows, self.dim, self.dtype = path, rows, dim, dtype

    def read(self, plane: int, start: int, out: Array) -> int:
        """Fill `out` (n, d), which is contiguous, with rows from `start` of one plane.

        Returns the bytes read.
        """
        offset = (plane * self.rows + start) * self.dim * self.dtype.itemsize
        if not out.size:
            return 0
        whole: Any = out  # the type of an array does not declare its buffer
        view = memoryview(whole).cast("B")
        with open(self.path, "rb", buffering=0) as file:
            file.seek(offset)
            done = 0
            while done < len(view):
                count = file.readinto(view[done:])
                if not count:
                    raise OutputError(
                        f"The file {self.path} is truncated.", "Fit again, with a folder on another disk."
                    )
                done += count
        return out.nbytes

    def write(self, planes: list[Array]) -> int:
        """Write all planes under a hidden name, and rename the file. Returns the bytes written."""
        hidden = self.path.with_name(f".{self.path.name}-{uuid.uuid4().hex}")
        with explained_write_errors(self.path), open(hidden, "wb") as file:
            for plane in planes:
                file.write(np.ascontiguousarray(plane).data)
        os.replace(hidden, self.path)
        return sum(plane.nbytes for plane in planes)


class Layout:
    """The counts of a job, and the position of each row in its files."""

    def __init__(self, job: SmoothingJob) -> None:
        self.job = job
        self.problem: Problem = problem_of(Counts.load(job.counts), job.pairs, on_demand=True)
        active = [self.problem.active_words(t) for t in range(len(self.problem))]
        bounds = np.array(job.words)
        #: Among the active words of slice t, block p has the rows `runs[t, p]` to `runs[t, p + 1]`.
        self.runs: Integers = np.stack([np.searchsorted(words, bounds) for words in active])  # (T, P + 1)
        sizes = np.diff(self.runs, axis=1)  # rows of each slice in each block, (T, P)
        nothing = np.zeros((1, sizes.shape[1]), dtype=np.int64)
        self.in_block: Integers = np.concatenate([nothing, np.cumsum(sizes, axis=0)])  # (T + 1, P)
        self.in_all: Integers = np.concatenate([[0], np.cumsum(self.runs[:, -1])])  # (T + 1,)
        self.dtype = np.dtype(job.precision)
        self.signs = None if job.signs is None else np.array(job.signs)

    def block(self, part: int, prior: PriorSpec, machine: Compute) -> WordBlock:
        """Create an empty block of words."""
        knots, (first, last) = self.problem.knots, self.job.words[part : part + 2]
        begin, end = int(knots.starts[first]), int(knots.starts[last])
        own = Knots(knots.starts[first : last + 1] - begin, knots.slices[begin:end])
        options = self.job.options
        return WordBlock(own, prior.on(self.problem.times), options.sides, options.dim, machine)

    def group(self, number: int) -> range:
        """Return the slices of a group."""
        return range(self.job.slices[number], self.job.slices[number + 1])

    def block_file(self, part: int, generation: Generation) -> PlaneFile:
        """Return the file of a block of words."""
        return self._file("block", part, generation, int(self.in_block[-1, part]))

    def group_file(self, number: int, generation: Generation) -> PlaneFile:
        """Return the file of a group of slices."""
        group = self.group(number)
        return self._file(
            "group", number, generation, int(self.in_all[group.stop] - self.in_all[group.start])
        )

    def _file(self, kind: str, number: int, generation: Generation, rows: int) -> PlaneFile:
        path = Path(self.job.folder) / f"{kind}-{number}-{generation.start}-{generation.step}"
        return PlaneFile(path, rows, self.job.options.dim, self.dtype)

    def read_state(self, block: WordBlock, part: int, generation: Generation) -> int:
        """Read mean, variance and h of a block. Returns the bytes read."""
        moved = self.read_block(block, part, generation, ("mean", "variance"))
        return moved + (self.read_messages(block, part, generation, ("h",)) if generation.step else 0)

    def read_block(self, block: WordBlock, part: int, generation: Generation, fields: tuple[str, ...]) -> int:
        """Read fields of a block of words from its own file. Returns the bytes read."""
        order, planes = np.concatenate(block.rows), self.block_file(part, generation)
        buffer = np.empty((len(block.knots), block.dim), dtype=self.dtype)
        moved = 0
        for place, side in enumerate(block.sides):
            for field in fields:
                moved += planes.read(place + (len(block.sides) if field == "variance" else 0), 0, buffer)
                getattr(side, field)[order] = buffer
        return moved

    def write_block(self, block: WordBlock, part: int, generation: Generation) -> int:
        """Write a block of words. Returns the bytes written."""
        order = np.concatenate(block.rows)
        means = [side.mean[order] for side in block.sides]
        variances = [side.variance[order] for side in block.sides]
        return self.block_file(part, generation).write([*means, *variances])

    def read_messages(
        self, block: WordBlock, part: int, generation: Generation, fields: tuple[str, ...]
    ) -> int:
        """Read h and b of a block of words from the files of all groups of slices. Returns the bytes read."""
        sides, moved = len(block.sides), 0
        for number in range(len(self.job.slices) - 1):
            group = self.group(number)
            planes = self.group_file(number, generation)
            for t in group:
                size = len(block.rows[t])
                if not size:
                    continue
                start = int(self.in_all[t] - self.in_all[group.start] + self.runs[t, part])
                run = np.empty((size, block.dim), dtype=self.dtype)
                for place, side in enumerate(block.sides):
                    for field in fields:
                        moved += planes.read(place + (sides if field == "b" else 0), start, run)
                        getattr(side, field)[block.rows[t]] = run
        return moved

    def read_slice(self, t: int, generation: Generation) -> tuple[list[GaussianVectors], int]:
        """Read the means and variances of the words of a slice from all blocks.

        Returns them and the bytes read.
        """
        sides, dim, moved = self.job.options.sides, self.job.options.dim, 0
        found = np.empty((2 * sides, int(self.runs[t, -1]), dim), dtype=self.dtype)
        for part in range(len(self.job.words) - 1):
            rows = slice(int(self.runs[t, part]), int(self.runs[t, part + 1]))
            if rows.stop > rows.start:
                planes = self.block_file(part, generation)
                for plane in range(2 * sides):
                    moved += planes.read(plane, int(self.in_block[t, part]), found[plane, rows])
        return [GaussianVectors(found[side], found[sides + side]) for side in range(sides)], moved


@lru_cache(maxsize=1)
def open_layout(job: SmoothingJob) -> Layout:
    """Open the layout of a job, once per worker."""
    check_visible(Path(job.folder))
    return Layout(job)


def check_visible(folder: Path) -> None:
    """Check that this process sees the work folder.

    Raises:
        OutputError: It does not, because it runs on another machine.
    """
    if not folder.is_dir():
        raise OutputError(
            f"A worker does not see the work folder {folder}.",
            "Choose one on a disk that all workers share: --work DIR.",
        )
