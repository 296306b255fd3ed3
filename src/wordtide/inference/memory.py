"""How much memory a fit will need, said before it begins; and a clear refusal when it will not fit."""

import os
import resource
from collections.abc import Sequence

from wordtide.errors import SettingsError
from wordtide.inference.natural.negatives import contexts_for
from wordtide.inference.problem import Problem
from wordtide.inference.scale.on_processes import PORTION_BYTES
from wordtide.inference.settings import FitSettings

_LIBRARIES = 450 << 20  # Python, PyTorch, the compiler
_PAIR_BYTES = 24  # of a stored pair: value, column, place of its transpose, and work
_INDEX_BYTES = 40  # of a knot: its slice, and its place while knots are put in order
_WEIGHT_BYTES = 120  # of a knot on disk: the same, and the weights of its word in the slice
SMALLEST_BLOCK = 8 << 20


def needed_bytes(
    problem: Problem,
    settings: FitSettings,
    threads: int,
    item: int = 4,
    stored: Sequence[int] | None = None,
    processes: int = 1,
    offloaded: bool = False,
) -> int:
    """An estimate of the fit's peak memory. The states dominate: they grow with the number of knots, not with T x L.

    `stored`: the pairs of each slice, where slices are not in memory. Of several `processes` it is what each of them needs.
    `offloaded`: without the blocks of words, which take what is left.
    """
    dim, knots = settings.dim, len(problem.knots)
    stored = [len(part.values) for part in problem.slices] if stored is None else stored
    words = [len(problem.active_words(t)) for t in range(len(problem))]
    widest = max(words)
    columns = max(
        contexts_for(a, pairs, settings.contexts) or a for a, pairs in zip(words, stored, strict=True)
    )
    one_slice = widest * dim * item * 24 + min(columns, widest) * widest * item * 2 + max(stored) * 16
    grid = len(problem) * len(problem.words) * dim * item
    pairs = sum(stored) * _PAIR_BYTES
    if settings.solver == "adam":
        states = 4 * knots * dim * item if settings.method == "filtering" else 2 * grid * 12
        work = (
            widest * widest * item * 3
            if settings.method == "filtering"
            else 6 * grid // max(1, len(problem.words)) * 2_000
        )
    elif settings.method == "smoothing":
        start = len(problem.words) * dim * item * 40
        states, work = 8 * knots * dim * item, max(threads * one_slice, start)
        if processes > 1:
            under_way = min(4 * knots * dim * item // processes, PORTION_BYTES)
            states, pairs = states // processes + 2 * under_way + knots * _INDEX_BYTES, pairs // processes
        if offloaded:
            states, pairs = knots * _WEIGHT_BYTES, max(stored) * _PAIR_BYTES
    else:
        states, work = 4 * knots * dim * item, one_slice
    return _LIBRARIES + pairs + states + work


def block_bytes(needed: int) -> int:
    """How much memory a block of words on disk may take, where the rest of the fit needs so much."""
    available = available_bytes()
    return SMALLEST_BLOCK if available is None else max(SMALLEST_BLOCK, (available - needed) // 2)


def available_bytes() -> int | None:
    """The memory that is free for new programs, or None where the system does not say; less where a limit is set (ulimit)."""
    free, limit = _free_bytes(), resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit == resource.RLIM_INFINITY:
        return free
    left = limit - _data_bytes() + _LIBRARIES  # which are loaded, and which every estimate counts
    return left if free is None else min(free, left)


def _data_bytes() -> int:
    """What counts towards the limit already; 0 where the system does not say."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:"))
    except OSError:
        return 0


def _free_bytes() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def check_memory(needed: int, settings: FitSettings, offloaded: bool = False) -> None:
    """Refuse a fit that the machine has no memory for."""
    available = available_bytes()
    if available is not None and needed > available:
        ways = ["a smaller --dim", "longer slices when counting (--every)", "a smaller vocabulary"]
        if settings.method == "smoothing":
            ways.insert(0, "--method filtering")
            if settings.solver == "natural" and not offloaded:
                ways.insert(0, "--offload DIR (slower, on disk)")
        raise SettingsError(
            f"The fit would need about {gigabytes(needed)} of memory, and {gigabytes(available)} are free.",
            f"Try {', '.join(ways[:-1])} or {ways[-1]}.",
        )


def gigabytes(amount: int) -> str:
    """1.5 GB, as people write it."""
    return f"{amount / 1e9:.1f} GB"
