"""A smoothing fit divided into tasks that exchange files: blocks of words and groups of slices.

Every task is a pure function from files to files. It writes results under hidden names and renames them once
they are complete, so killing a task and repeating it, or running it twice, is harmless. The files of a step
have a generation, whose name is never used again: a worker that was thought dead may still write.

    block P of generation n     mean and variance of its words at all their knots, in order of the slices
    group G of generation n     h and b of all words of its slices, in order of the slices
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.errors import OutputError
from wordtide.inference.compute import Compute, compute
from wordtide.inference.natural.prepared_slice import SliceWork
from wordtide.inference.natural.schedule import NaturalOptions
from wordtide.inference.problem import PairSettings, Problem, problem_of
from wordtide.inference.scale.plane_files import PlaneFile
from wordtide.inference.scale.shares import WordRanges
from wordtide.inference.scale.word_blocks import SIDES, WordBlock
from wordtide.model.chain import observe_rows
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.prior import PRIORS, Diffusion
from wordtide.types import Array, Integers

_observe: Any = observe_rows  # compiled functions accept any arrays and are not typed


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


class Layout:
    """The counts of a job, and the position of each row in its files."""

    def __init__(self, job: SmoothingJob) -> None:
        self.job = job
        self.problem: Problem = problem_of(Counts.load(job.counts), job.pairs, on_demand=True)
        active = [self.problem.active_words(t) for t in range(len(self.problem))]
        self.ranges = WordRanges.at(np.array(job.words), active)
        sizes = np.diff(self.ranges.runs, axis=1)  # rows of each slice in each block, (T, P)
        nothing = np.zeros((1, sizes.shape[1]), dtype=np.int64)
        self.in_block: Integers = np.concatenate([nothing, np.cumsum(sizes, axis=0)])  # (T + 1, P)
        self.in_all: Integers = np.concatenate([[0], np.cumsum(self.ranges.runs[:, -1])])  # (T + 1,)
        self.dtype = np.dtype(job.precision)
        self.signs = None if job.signs is None else np.array(job.signs)

    def block(self, part: int, prior: PriorSpec, machine: Compute) -> WordBlock:
        """Create an empty block of words."""
        knots = self.ranges.knots(self.problem.knots, part)
        options = self.job.options
        return WordBlock(knots, prior.on(self.problem.times), options.sides, options.dim, machine)

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


@lru_cache(maxsize=1)
def opened(job: SmoothingJob) -> Layout:
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


def begin_block(job: SmoothingJob, part: int, prior: PriorSpec, generation: Generation) -> int:
    """Write a block of static words. Returns the bytes moved."""
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        start = np.load(Path(job.folder) / "start.npy", mmap_mode="r")
        block.begin(np.array(start[:, job.words[part] : job.words[part + 1]]))
        return _write_block(layout, block, part, generation)


def save_block(
    job: SmoothingJob, part: int, prior: PriorSpec, generation: Generation, state: dict[str, Array]
) -> int:
    """Write a block of words from saved arrays. Returns the bytes moved."""
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        block.restore(state, slice(None))
        return _write_block(layout, block, part, generation)


def save_messages(job: SmoothingJob, state: Mapping[str, Array], generation: Generation) -> None:
    """Write h of all groups of slices from saved arrays in the order of the knots."""
    layout, sides = opened(job), job.options.sides
    rows_of = layout.problem.knots.by_slice
    for number in range(len(job.slices) - 1):
        order = np.concatenate([rows_of[t] for t in layout.group(number)])
        h = [np.asarray(state[f"h_{side}"][order], dtype=layout.dtype) for side in SIDES[:sides]]
        nothing = [np.zeros_like(plane) for plane in h]
        layout.group_file(number, generation).write([*h, *nothing])


def observe_group(
    job: SmoothingJob, number: int, generation: Generation, step: int, rate: float
) -> tuple[list[bool], int]:
    """Write h and b of a group of slices.

    Returns whether the values of each slice are finite, and the bytes moved.
    """
    layout, (sides, dim) = opened(job), (job.options.sides, job.options.dim)
    group, finite, moved = layout.group(number), [], 0
    rows = int(layout.in_all[group.stop] - layout.in_all[group.start])
    planes = np.zeros((2 * sides, rows, dim), dtype=layout.dtype)  # h of each side, then b
    if generation.step:
        before = layout.group_file(number, generation)
        for plane in range(sides):
            moved += before.read(plane, 0, planes[plane])
    with compute(job.precision, 1) as machine:
        work = SliceWork(layout.problem.slices, job.options, layout.signs, machine, keep=False)
        for t in group:
            vectors, read = _slice_vectors(layout, t, generation)
            moved += read
            first = int(layout.in_all[t] - layout.in_all[group.start])
            here = slice(first, first + len(vectors[0].mean))
            every = np.arange(here.stop - here.start)
            found = []
            for side, gradient in enumerate(work.gradients(t, vectors, step)):
                h, b = planes[side, here], planes[sides + side, here]
                found.append(_observe(every, gradient.g, gradient.h, rate, vectors[side].mean, h, b))
            finite.append(all(found))
    moved += layout.group_file(number, generation.next).write(list(planes))
    return finite, moved


def move_block(
    job: SmoothingJob, part: int, prior: PriorSpec, generation: Generation, rate: float, trust: float
) -> int:
    """Smooth a block of words with h and b of all slices, and write its next generation.

    Returns the bytes moved.
    """
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        moved = _read_block(layout, block, part, generation, ("mean",))
        moved += _read_messages(layout, block, part, generation.next, ("h", "b"))
        block.move(rate, trust)
        return moved + _write_block(layout, block, part, generation.next)


def group_likelihoods(
    job: SmoothingJob, number: int, generation: Generation, predictive: bool
) -> tuple[list[float], int]:
    """Compute the log likelihood of each slice of a group. Returns it and the bytes moved."""
    layout, moved, found = opened(job), 0, []
    with compute(job.precision, 1) as machine:
        work = SliceWork(layout.problem.slices, job.options, layout.signs, machine, keep=False)
        for t in layout.group(number):
            vectors, read = _slice_vectors(layout, t, generation)
            moved += read
            found.append(work.log_likelihood(t, vectors, predictive))
    return found, moved


def block_divergences(
    job: SmoothingJob, part: int, prior: PriorSpec, generation: Generation
) -> tuple[list[float], int]:
    """Compute KL(q || p) of each trajectory of a block. Returns it and the bytes moved."""
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        moved = _read_state(layout, block, part, generation)
        return block.divergences().tolist(), moved


def leave_out_block(
    job: SmoothingJob, part: int, prior: PriorSpec, other: PriorSpec, generation: Generation, to: Generation
) -> int:
    """Write the prediction of each knot from all other slices, under another prior, as generation `to`.

    Returns the bytes moved.
    """
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        moved = _read_state(layout, block, part, generation)
        block.leave_out(other.on(layout.problem.times))
        for side in block.sides:
            side.mean, side.b = side.b, side.mean
        return moved + _write_block(layout, block, part, to)


def block_arrays(job: SmoothingJob, part: int, prior: PriorSpec, generation: Generation) -> dict[str, Array]:
    """Return mean, h and variance of a block of words, in the order of the knots."""
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        _read_state(layout, block, part, generation)
        return block.arrays()


def _read_state(layout: Layout, block: WordBlock, part: int, generation: Generation) -> int:
    """Read mean, variance and h of a block."""
    moved = _read_block(layout, block, part, generation, ("mean", "variance"))
    return moved + (_read_messages(layout, block, part, generation, ("h",)) if generation.step else 0)


def _read_block(
    layout: Layout, block: WordBlock, part: int, generation: Generation, fields: tuple[str, ...]
) -> int:
    """Read fields of a block of words from its own file, in the order of the knots."""
    order, planes = np.concatenate(block.rows), layout.block_file(part, generation)
    buffer = np.empty((len(block.knots), block.dim), dtype=layout.dtype)
    moved = 0
    for place, side in enumerate(block.sides):
        for field in fields:
            moved += planes.read(place + (len(block.sides) if field == "variance" else 0), 0, buffer)
            getattr(side, field)[order] = buffer
    return moved


def _write_block(layout: Layout, block: WordBlock, part: int, generation: Generation) -> int:
    order = np.concatenate(block.rows)
    means = [side.mean[order] for side in block.sides]
    variances = [side.variance[order] for side in block.sides]
    return layout.block_file(part, generation).write([*means, *variances])


def _read_messages(
    layout: Layout, block: WordBlock, part: int, generation: Generation, fields: tuple[str, ...]
) -> int:
    """Read h and b of a block of words from the files of all groups of slices."""
    job, sides, moved = layout.job, len(block.sides), 0
    for number in range(len(job.slices) - 1):
        group = layout.group(number)
        planes = layout.group_file(number, generation)
        for t in group:
            size = len(block.rows[t])
            if not size:
                continue
            start = int(layout.in_all[t] - layout.in_all[group.start] + layout.ranges.runs[t, part])
            run = np.empty((size, block.dim), dtype=layout.dtype)
            for place, side in enumerate(block.sides):
                for field in fields:
                    moved += planes.read(place + (sides if field == "b" else 0), start, run)
                    getattr(side, field)[block.rows[t]] = run
    return moved


def _slice_vectors(layout: Layout, t: int, generation: Generation) -> tuple[list[GaussianVectors], int]:
    """Read the means and variances of the words of a slice from all blocks.

    Returns them and the bytes read.
    """
    job, moved = layout.job, 0
    sides, dim = job.options.sides, job.options.dim
    found = np.empty((2 * sides, int(layout.ranges.runs[t, -1]), dim), dtype=layout.dtype)
    for part in range(len(layout.ranges)):
        rows = slice(int(layout.ranges.runs[t, part]), int(layout.ranges.runs[t, part + 1]))
        if rows.stop > rows.start:
            planes = layout.block_file(part, generation)
            for plane in range(2 * sides):
                moved += planes.read(plane, int(layout.in_block[t, part]), found[plane, rows])
    return [GaussianVectors(found[side], found[sides + side]) for side in range(sides)], moved
