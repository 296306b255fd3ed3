"""The tasks of a smoothing fit: on blocks of words and groups of slices.

Every task is a pure function from files to files, which are renamed once they are complete. So killing a task
and repeating it, or running it twice, is harmless.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.inference.compute import compute
from wordtide.inference.natural.prepared_slice import SliceWork
from wordtide.inference.scale.smoothing_job import (
    Generation,
    Layout,
    PriorSpec,
    SmoothingJob,
    open_layout,
)
from wordtide.inference.scale.word_blocks import SIDES, WordBlock
from wordtide.model.chain import observe_rows
from wordtide.types import Array

_observe: Any = observe_rows  # compiled functions accept any arrays and are not typed


@contextmanager
def _empty_block(job: SmoothingJob, part: int, prior: PriorSpec) -> Iterator[tuple[Layout, WordBlock]]:
    layout = open_layout(job)
    with compute(job.precision, 1) as machine:
        yield layout, layout.block(part, prior, machine)


def begin_block(job: SmoothingJob, part: int, prior: PriorSpec, generation: Generation) -> int:
    """Write a block of static words. Returns the bytes moved."""
    with _empty_block(job, part, prior) as (layout, block):
        start = np.load(Path(job.folder) / "start.npy", mmap_mode="r")
        block.begin(np.array(start[:, job.words[part] : job.words[part + 1]]))
        return layout.write_block(block, part, generation)


def save_block(
    job: SmoothingJob, part: int, prior: PriorSpec, generation: Generation, state: dict[str, Array]
) -> int:
    """Write a block of words from saved arrays. Returns the bytes moved."""
    with _empty_block(job, part, prior) as (layout, block):
        block.restore(state, slice(None))
        return layout.write_block(block, part, generation)


def save_messages(job: SmoothingJob, state: Mapping[str, Array], generation: Generation) -> None:
    """Write h of all groups of slices from saved arrays in the order of the knots."""
    layout, sides = open_layout(job), job.options.sides
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
    layout, (sides, dim) = open_layout(job), (job.options.sides, job.options.dim)
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
            vectors, read = layout.read_slice(t, generation)
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
    with _empty_block(job, part, prior) as (layout, block):
        moved = layout.read_block(block, part, generation, ("mean",))
        moved += layout.read_messages(block, part, generation.next, ("h", "b"))
        block.move(rate, trust)
        return moved + layout.write_block(block, part, generation.next)


def group_likelihoods(
    job: SmoothingJob, number: int, generation: Generation, predictive: bool
) -> tuple[list[float], int]:
    """Compute the log likelihood of each slice of a group. Returns it and the bytes moved."""
    layout, moved, found = open_layout(job), 0, []
    with compute(job.precision, 1) as machine:
        work = SliceWork(layout.problem.slices, job.options, layout.signs, machine, keep=False)
        for t in layout.group(number):
            vectors, read = layout.read_slice(t, generation)
            moved += read
            found.append(work.log_likelihood(t, vectors, predictive))
    return found, moved


def block_divergences(
    job: SmoothingJob, part: int, prior: PriorSpec, generation: Generation
) -> tuple[list[float], int]:
    """Compute KL(q || p) of each trajectory of a block. Returns it and the bytes moved."""
    with _empty_block(job, part, prior) as (layout, block):
        moved = layout.read_state(block, part, generation)
        return block.divergences().tolist(), moved


def leave_out_block(
    job: SmoothingJob, part: int, prior: PriorSpec, other: PriorSpec, generation: Generation, to: Generation
) -> int:
    """Write the prediction of each knot from all other slices, under another prior, as generation `to`.

    Returns the bytes moved.
    """
    with _empty_block(job, part, prior) as (layout, block):
        moved = layout.read_state(block, part, generation)
        block.leave_out(other.on(layout.problem.times))
        for side in block.sides:
            side.mean, side.b = side.b, side.mean
        return moved + layout.write_block(block, part, to)


def block_arrays(job: SmoothingJob, part: int, prior: PriorSpec, generation: Generation) -> dict[str, Array]:
    """Return mean, h and variance of a block of words, in the order of the knots."""
    with _empty_block(job, part, prior) as (layout, block):
        layout.read_state(block, part, generation)
        return block.arrays()
