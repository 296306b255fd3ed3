"""What a fit computes with: precision, threads and work arrays. None of it changes the result beyond rounding.

Work is split into parts whose bounds depend on the data alone, and each part is computed by one thread, so results
have the same bits for any number of threads. BLAS runs single-threaded inside these threads.
"""

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from wordtide.errors import SettingsError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workspace(threading.local):
    """Named work arrays of the calling thread, allocated once: fresh memory costs more than the arithmetic in it."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    def empty(self, name: str, *shape: int) -> npt.NDArray[Any]:
        """An uninitialized array, valid until the same thread asks for this name again."""
        size = math.prod(shape)
        array = self._arrays.get(name)
        if array is None or len(array) < size:
            array = self._arrays[name] = np.empty(size, dtype=self._dtype)
        return array[:size].reshape(shape)


@dataclass(frozen=True)
class Compute:
    """Precision of the states, number of threads, their pool, and the work arrays of each thread."""

    dtype: np.dtype[Any]
    threads: int
    pool: ThreadPoolExecutor
    work: Workspace

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results of independent pieces of work, in order."""
        items = list(items)
        if self.threads == 1 or len(items) == 1:
            return [work(item) for item in items]
        return list(self.pool.map(work, items))


@contextmanager
def compute(precision: str = "float32", threads: int | None = None) -> Iterator[Compute]:
    """Open a thread pool for computing in float32 or float64."""
    if precision not in ("float32", "float64"):
        raise SettingsError(f"Unknown precision {precision!r}.", "Use float32 or float64.")
    if threads is not None and not 1 <= threads <= 1024:
        raise SettingsError(f"--threads {threads} is out of range.", "Give a number from 1 to 1024.")
    dtype, number = np.dtype(precision), threads or _processors()
    with ThreadPoolExecutor(number) as pool, threadpool_limits(1, user_api="blas"):
        yield Compute(dtype, number, pool, Workspace(dtype))


def _processors() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
