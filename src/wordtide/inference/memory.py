"""How much memory a fit will need, said before it begins; and a clear refusal when it will not fit."""

import os

from wordtide.errors import SettingsError
from wordtide.inference.negatives import contexts_for
from wordtide.inference.problem import Problem
from wordtide.inference.settings import FitSettings

_LIBRARIES = 450 << 20  # Python, PyTorch, the compiler
_PAIR_BYTES = 24  # of a stored pair: value, column, place of its transpose, and work


def needed_bytes(problem: Problem, settings: FitSettings, threads: int, item: int = 4) -> int:
    """An estimate of the fit's peak memory. The states dominate: they grow with the number of knots, not with T x L."""
    dim, knots = settings.dim, len(problem.knots)
    stored = [len(part.values) for part in problem.slices]
    widest = max(len(part) for part in problem.slices)
    columns = max(contexts_for(len(part), len(part.values), settings.contexts) or len(part) for part in problem.slices)
    one_slice = widest * dim * item * 24 + min(columns, widest) * widest * item * 2 + max(stored) * 16
    grid = len(problem) * len(problem.words) * dim * item
    if settings.solver == "adam":
        states = 4 * knots * dim * item if settings.method == "filtering" else 2 * grid * 12
        work = widest * widest * item * 3 if settings.method == "filtering" else 6 * grid // max(1, len(problem.words)) * 2_000
    elif settings.method == "smoothing":
        start = len(problem.words) * dim * item * 40
        states, work = 8 * knots * dim * item, max(threads * one_slice, start)
    else:
        states, work = 4 * knots * dim * item, one_slice
    return _LIBRARIES + sum(stored) * _PAIR_BYTES + states + work


def available_bytes() -> int | None:
    """The memory that is free for new programs, or None where the system does not say."""
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


def check_memory(needed: int, settings: FitSettings) -> None:
    """Refuse a fit that the machine has no memory for."""
    available = available_bytes()
    if available is not None and needed > available:
        ways = ["a smaller --dim", "longer slices when counting (--every)", "a smaller vocabulary"]
        if settings.method == "smoothing":
            ways.insert(0, "--method filtering")
        raise SettingsError(
            f"The fit would need about {gigabytes(needed)} of memory, and {gigabytes(available)} are free.",
            f"Try {', '.join(ways[:-1])} or {ways[-1]}.",
        )


def gigabytes(amount: int) -> str:
    """1.5 GB, as people write it."""
    return f"{amount / 1e9:.1f} GB"
