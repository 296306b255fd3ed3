"""The computing resources of a fit: precision, threads and work arrays. They affect results only by rounding.

Work is split at bounds that depend only on the data, and one thread computes each part, so results have the
same bits for any number of threads. BLAS runs single-threaded inside these threads.

Invalid operations raise no warnings in them: BLAS may read past the end of short vectors, and what it finds
there, which no result contains, sets the processor's flag. Solvers check that their objectives are finite.
"""

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from wordtide.errors import SettingsError
from wordtide.system import available_processors, one_blas_thread
from wordtide.types import Array, Integers

Item = TypeVar("Item")
Result = TypeVar("Result")

_pool_thread = threading.local()  # is_one: whether this thread belongs to a pool


class Workspace(threading.local):
    """Named work arrays of each thread, reused because fresh memory costs more than the arithmetic."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._arrays: dict[str, Array] = {}

    def empty(self, name: str, *shape: int) -> Array:
        """Return an uninitialized array, valid until the same thread requests this name again."""
        size = math.prod(shape)
        array = self._arrays.get(name)
        if array is None or len(array) < size:
            array = self._arrays[name] = np.empty(size, dtype=self._dtype)
        return array[:size].reshape(shape)

    def clear(self) -> None:
        """Free this thread's arrays."""
        self._arrays.clear()


@dataclass(frozen=True)
class Compute:
    """The precision of the states, the threads and their pool, and the work arrays of each thread."""

    dtype: np.dtype[Any]
    threads: int
    pool: ThreadPoolExecutor
    work: Workspace

    def start(self, work: Callable[[], Result]) -> "Future[Result]":
        """Begin independent work on another thread; with a single thread, do it now."""
        if self.threads > 1:
            return self.pool.submit(work)
        done: Future[Result] = Future()
        done.set_result(work())
        return done

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply a function to independent items, on all threads. Results are in order.

        Work that a thread of the pool maps is done by that thread, so that it never waits for others.
        """
        items = list(items)
        if self.threads == 1 or len(items) == 1 or getattr(_pool_thread, "is_one", False):
            return [work(item) for item in items]
        return list(self.pool.map(work, items))


@contextmanager
def compute(precision: str = "float32", threads: int | None = None) -> Iterator[Compute]:
    """Open a thread pool for computing in float32 or float64."""
    if precision not in ("float32", "float64"):
        raise SettingsError(f"Unknown precision {precision!r}.", "Use float32 or float64.")
    if threads is not None and not 1 <= threads <= 1024:
        raise SettingsError(f"--threads {threads} is out of range.", "Give a number from 1 to 1024.")
    dtype, number = np.dtype(precision), threads or available_processors()
    with (
        ThreadPoolExecutor(number, initializer=_prepare_thread) as pool,
        one_blas_thread(),
        np.errstate(invalid="ignore"),
    ):
        yield Compute(dtype, number, pool, Workspace(dtype))


def _prepare_thread() -> None:
    _pool_thread.is_one = True
    np.seterr(invalid="ignore")  # of this thread only


def balanced_bounds(weights: Array, parts: int) -> Integers:
    """Return the bounds (parts + 1,) of contiguous runs of items with nearly equal total weights."""
    ends = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    middles = (ends[:-1] + ends[1:]) / 2
    bounds: Integers = np.searchsorted(middles, ends[-1] * np.arange(parts + 1) / parts).astype(np.int64)
    bounds[0], bounds[-1] = 0, len(weights)
    return bounds
