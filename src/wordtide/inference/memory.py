"""The peak memory of a fit, estimated before it begins, so that one that is too large is rejected at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from wordtide.errors import SettingsError
from wordtide.inference.compute import Compute
from wordtide.inference.problem import Problem
from wordtide.inference.settings import FitSettings
from wordtide.model.likelihood import block_rows
from wordtide.system import data_bytes, data_limit, free_memory

SMALLEST_BLOCK = 8 << 20
_LIBRARIES = 250 << 20  # Python, its libraries and the compiler
# Bytes for each stored pair: value and column.
_PAIR_BYTES = 8
_PAIR_STEP_BYTES = 12  # in a step
_PAIR_LOADING_BYTES = 80  # in a step, if the slice is read from the counts for it
# Bytes for each knot: its slice and position, and on disk the weights of its word in the slice.
_KNOT_BYTES = 40
_OFFLOADED_KNOT_BYTES = 120
# Arrays (words, d) of each side: means, precisions and gradients of one slice; the static model of the start.
_SLICE_ARRAYS = 12
_START_ARRAYS = 16
# Arrays (knots, d) of each side: mean and variance; and for smoothing the data's precision and messages.
_FILTER_ARRAYS = 2
_SMOOTHER_ARRAYS = 4
# Matrices (rows, sampled contexts) of a block of rows, per thread.
_MATRIX_BYTES = 4 << 20
# Adam: arrays (T, L, d) of the smoother with their moments and gradients.
_ADAM_ARRAYS = 24
_ADAM_BATCH_ARRAYS = 12


@dataclass(frozen=True)
class MemoryEstimate:
    """The peak memory of a fit in bytes."""

    pairs: int  # the counts of all slices that are in memory
    states: int  # means and precisions at the knots
    step: int  # what one step needs beside them
    libraries: int = _LIBRARIES

    @property
    def total(self) -> int:
        """The sum of all terms."""
        return self.pairs + self.states + self.step + self.libraries


def estimate_memory(
    problem: Problem,
    settings: FitSettings,
    compute: Compute,
    stored: Sequence[int] | None = None,
    on_disk: bool = False,
) -> MemoryEstimate:
    """Estimate the peak memory of a fit.

    The states dominate. They grow with the number of knots, not with slices times words.

    Args:
        problem: The slices to fit.
        settings: The settings of the fit.
        compute: Its precision, and its threads, each of which works on a slice.
        stored: The stored pairs of each slice, (T,). None: count them in `problem`, which reads all slices.
        on_disk: The states are on disk: a filter writes finished slices there, and smoothing with `--offload`
            all states. The blocks of words that smoothing then reads take what memory is left, and are not
            included.
    """
    item, sides = compute.dtype.itemsize, 1 if settings.contexts == "tied" else 2
    vector, knots, words = settings.dim * item, len(problem.knots), len(problem.words)
    stored = [len(part.values) for part in problem.slices] if stored is None else stored
    all_pairs, largest = sum(stored) * _PAIR_BYTES, max(stored)
    active = [len(problem.active_words(t)) for t in range(len(problem))]
    widest = max(active)
    if settings.solver == "adam" and settings.method == "smoothing":
        grid = len(problem) * vector
        batch = grid * settings.adam_minibatch_words * _ADAM_BATCH_ARRAYS
        return MemoryEstimate(all_pairs, states=grid * words * _ADAM_ARRAYS, step=batch)
    if settings.solver == "adam":
        matrices = 2 * block_rows(widest) * widest * item
    else:
        matrices = _MATRIX_BYTES * compute.threads
    arrays = widest * vector * _SLICE_ARRAYS * sides
    if settings.method == "smoothing":
        step = compute.threads * (arrays + matrices + largest * _PAIR_STEP_BYTES)
        pooled = min(sum(stored), words * words)
        start = words * vector * _START_ARRAYS * sides + pooled * _PAIR_LOADING_BYTES
        if on_disk:
            return MemoryEstimate(largest * _PAIR_BYTES, knots * _OFFLOADED_KNOT_BYTES, max(step, start))
        states = knots * vector * _SMOOTHER_ARRAYS * sides  # made when the start is done
        return MemoryEstimate(all_pairs, states, max(step, start - states))
    if on_disk:
        latest = words * vector * _FILTER_ARRAYS * sides
        step = arrays + matrices + largest * _PAIR_LOADING_BYTES
        return MemoryEstimate(0, latest + knots * _KNOT_BYTES, step)
    return MemoryEstimate(
        all_pairs, knots * vector * _FILTER_ARRAYS * sides, arrays + matrices + largest * _PAIR_STEP_BYTES
    )


def block_bytes(needed: int) -> int:
    """Return how much memory a block of words on disk may take if the rest takes `needed` bytes."""
    available = available_bytes()
    return SMALLEST_BLOCK if available is None else max(SMALLEST_BLOCK, (available - needed) // 2)


def check_memory(needed: int, settings: FitSettings, offloaded: bool = False) -> None:
    """Refuse a fit that needs more memory than the machine has.

    Raises:
        SettingsError: The memory does not suffice; the message names ways to need less.
    """
    available = available_bytes()
    if available is None or needed <= available:
        return
    remedies = ["a smaller --dim", "longer slices when counting (--every)", "a smaller vocabulary"]
    if settings.method == "smoothing":
        remedies.insert(0, "--method filtering")
        if settings.solver == "natural" and not offloaded:
            remedies.insert(0, "--offload DIR (slower, on disk)")
    raise SettingsError(
        f"The fit would need about {gigabytes(needed)} of memory, and {gigabytes(available)} are free.",
        f"Try {', '.join(remedies[:-1])} or {remedies[-1]}.",
    )


def available_bytes() -> int | None:
    """Return the memory free for a fit, including what its libraries take; None if the system does not say.

    A limit on the process (ulimit) counts.
    """
    free, limit = free_memory(), data_limit()
    if limit is None:
        return free
    left = limit - data_bytes() + _LIBRARIES  # these are loaded, and every estimate includes them
    return left if free is None else min(free, left)


def gigabytes(amount: int) -> str:
    """Format an amount of memory, like 1.5 GB."""
    return f"{amount / 1e9:.1f} GB"
