"""A smoothing fit divided into tasks that exchange files: blocks of words and groups of slices.

Every task is a pure function from files to files. It writes results under hidden names and renames them once
they are complete, so killing a task and repeating it, or running it twice, is harmless. The files of a step
have a generation:

    block P of generation n     mean and variance of its words at all their knots, in order of the slices
    group G of generation n     h and b of all words of its slices, in order of the slices
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.errors import OutputError
from wordtide.inference.compute import Compute, compute
from wordtide.inference.natural.prepared_slice import SliceWork
from wordtide.inference.natural.schedule import NaturalOptions
from wordtide.inference.problem import PairSettings, Problem, problem_of
from wordtide.inference.scale.shares import WordRanges
from wordtide.inference.scale.word_blocks import SIDES, WordBlock
from wordtide.model.chain import observe_rows
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.prior import PRIORS, Diffusion
from wordtide.storage.folders import explained_write_errors
from wordtide.types import Array, Integers

_observe: Any = observe_rows  # compiled functions accept any arrays and are not typed
#: The generation of the block files with predictions of each slice from all others.
LEFT_OUT = -1


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

    def block_path(self, part: int, generation: int) -> Path:
        return Path(self.job.folder) / f"block-{part}-{generation}"

    def group_path(self, number: int, generation: int) -> Path:
        return Path(self.job.folder) / f"group-{number}-{generation}"


class _Planes:
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
        """Write all planes. Returns the bytes written."""
        hidden = self.path.with_name(f".{self.path.name}-{os.getpid()}")
        with explained_write_errors(self.path), open(hidden, "wb") as file:
            for plane in planes:
                file.write(np.ascontiguousarray(plane).data)
        os.replace(hidden, self.path)
        return sum(plane.nbytes for plane in planes)


@lru_cache(maxsize=1)
def opened(job: SmoothingJob) -> Layout:
    """Open the layout of a job, once per worker."""
    return Layout(job)


def begin_block(job: SmoothingJob, part: int, prior: PriorSpec, generation: int) -> int:
    """Write a block of static words. Returns the bytes moved."""
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        start = np.load(Path(job.folder) / "start.npy", mmap_mode="r")
        block.begin(np.array(start[:, job.words[part] : job.words[part + 1]]))
        return _write_block(layout, block, part, generation)


def save_block(
    job: SmoothingJob, part: int, prior: PriorSpec, generation: int, state: dict[str, Array]
) -> int:
    """Write a block of words from saved arrays. Returns the bytes moved."""
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        block.restore(state, slice(None))
        return _write_block(layout, block, part, generation)


def save_messages(job: SmoothingJob, state: Mapping[str, Array], generation: int) -> None:
    """Write h of all groups of slices from saved arrays in the order of the knots."""
    layout, (sides, dim) = opened(job), (job.options.sides, job.options.dim)
    rows_of = layout.problem.knots.by_slice
    for number in range(len(job.slices) - 1):
        order = np.concatenate([rows_of[t] for t in layout.group(number)])
        h = [np.asarray(state[f"h_{side}"][order], dtype=layout.dtype) for side in SIDES[:sides]]
        nothing = [np.zeros_like(plane) for plane in h]
        _Planes(layout.group_path(number, generation), len(order), dim, layout.dtype).write([*h, *nothing])


def observe_group(
    job: SmoothingJob, number: int, generation: int, step: int, rate: float
) -> tuple[list[bool], int]:
    """Write h and b of a group of slices.

    Returns whether the values of each slice are finite, and the bytes moved.
    """
    layout, (sides, dim) = opened(job), (job.options.sides, job.options.dim)
    group, finite, moved = layout.group(number), [], 0
    rows = int(layout.in_all[group.stop] - layout.in_all[group.start])
    planes = np.zeros((2 * sides, rows, dim), dtype=layout.dtype)  # h of each side, then b
    if generation > 0:
        before = _Planes(layout.group_path(number, generation), rows, dim, layout.dtype)
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
    moved += _Planes(layout.group_path(number, generation + 1), rows, dim, layout.dtype).write(list(planes))
    return finite, moved


def move_block(
    job: SmoothingJob, part: int, prior: PriorSpec, generation: int, rate: float, trust: float
) -> int:
    """Smooth a block of words with h and b of all slices, and write its next generation.

    Returns the bytes moved.
    """
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        moved = _read_block(layout, block, part, generation, ("mean",))
        moved += _read_messages(layout, block, part, generation + 1, ("h", "b"))
        block.move(rate, trust)
        return moved + _write_block(layout, block, part, generation + 1)


def group_likelihoods(
    job: SmoothingJob, number: int, generation: int, predictive: bool
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
    job: SmoothingJob, part: int, prior: PriorSpec, generation: int
) -> tuple[list[float], int]:
    """Compute KL(q || p) of each trajectory of a block. Returns it and the bytes moved."""
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        moved = _read_state(layout, block, part, generation)
        return block.divergences().tolist(), moved


def leave_out_block(job: SmoothingJob, part: int, prior: PriorSpec, other: PriorSpec, generation: int) -> int:
    """Write the prediction of each knot from all other slices, under another prior.

    Returns the bytes moved.
    """
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        moved = _read_state(layout, block, part, generation)
        block.leave_out(other.on(layout.problem.times))
        for side in block.sides:
            side.mean, side.b = side.b, side.mean
        return moved + _write_block(layout, block, part, LEFT_OUT)


def block_arrays(job: SmoothingJob, part: int, prior: PriorSpec, generation: int) -> dict[str, Array]:
    """Return mean, h and variance of a block of words, in the order of the knots."""
    layout = opened(job)
    with compute(job.precision, 1) as machine:
        block = layout.block(part, prior, machine)
        _read_state(layout, block, part, generation)
        return block.arrays()


def _read_state(layout: Layout, block: WordBlock, part: int, generation: int) -> int:
    """Read mean, variance and h of a block. Generation 0 has seen no data, so it has no h."""
    moved = _read_block(layout, block, part, generation, ("mean", "variance"))
    return moved + (_read_messages(layout, block, part, generation, ("h",)) if generation else 0)


def _read_block(layout: Layout, block: WordBlock, part: int, generation: int, fields: tuple[str, ...]) -> int:
    """Read fields of a block of words from its own file, in the order of the knots."""
    order, planes = np.concatenate(block.rows), _block_planes(layout, block, part, generation)
    buffer = np.empty((len(block.knots), block.dim), dtype=layout.dtype)
    moved = 0
    for place, side in enumerate(block.sides):
        for field in fields:
            moved += planes.read(place + (len(block.sides) if field == "variance" else 0), 0, buffer)
            getattr(side, field)[order] = buffer
    return moved


def _write_block(layout: Layout, block: WordBlock, part: int, generation: int) -> int:
    order = np.concatenate(block.rows)
    means = [side.mean[order] for side in block.sides]
    variances = [side.variance[order] for side in block.sides]
    return _block_planes(layout, block, part, generation).write([*means, *variances])


def _block_planes(layout: Layout, block: WordBlock, part: int, generation: int) -> _Planes:
    return _Planes(layout.block_path(part, generation), len(block.knots), block.dim, layout.dtype)


def _read_messages(
    layout: Layout, block: WordBlock, part: int, generation: int, fields: tuple[str, ...]
) -> int:
    """Read h and b of a block of words from the files of all groups of slices."""
    job, sides, moved = layout.job, len(block.sides), 0
    for number in range(len(job.slices) - 1):
        group = layout.group(number)
        rows = int(layout.in_all[group.stop] - layout.in_all[group.start])
        planes = _Planes(layout.group_path(number, generation), rows, block.dim, layout.dtype)
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


def _slice_vectors(layout: Layout, t: int, generation: int) -> tuple[list[GaussianVectors], int]:
    """Read the means and variances of the words of a slice from all blocks.

    Returns them and the bytes read.
    """
    job, moved = layout.job, 0
    sides, dim = job.options.sides, job.options.dim
    found = np.empty((2 * sides, int(layout.ranges.runs[t, -1]), dim), dtype=layout.dtype)
    for part in range(len(layout.ranges)):
        rows = slice(int(layout.ranges.runs[t, part]), int(layout.ranges.runs[t, part + 1]))
        if rows.stop > rows.start:
            planes = _Planes(
                layout.block_path(part, generation), int(layout.in_block[-1, part]), dim, layout.dtype
            )
            for plane in range(2 * sides):
                moved += planes.read(plane, int(layout.in_block[t, part]), found[plane, rows])
    return [GaussianVectors(found[side], found[sides + side]) for side in range(sides)], moved
