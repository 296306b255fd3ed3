"""Tasks on several threads with results in order, and the resources that counting may use."""

import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from wordtide.progress import Observer

Result = TypeVar("Result")
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Resources:
    """What counting may use, none of which changes the result."""

    workers: int
    memory: int  # bytes, for numbers and partial sums; beyond it they go to disk
    spill: Path
    observer: Observer


class Lending(Generic[Thing]):
    """Things that only one thread may use at a time, such as scanners, lent to whichever thread needs one."""

    def __init__(self, things: Iterable[Thing]) -> None:
        self._idle: queue.SimpleQueue[Thing] = queue.SimpleQueue()
        for thing in things:
            self._idle.put(thing)

    @contextmanager
    def borrowed(self) -> Iterator[Thing]:
        """Borrow one of the things; waits until one is idle."""
        thing = self._idle.get()
        try:
            yield thing
        finally:
            self._idle.put(thing)


def in_order(tasks: Iterable[Callable[[], Result]], workers: int) -> Iterator[Result]:
    """Run tasks on threads and yield their results in order, a few tasks ahead. Compiled kernels release the
    GIL.
    """
    if workers <= 1:
        for task in tasks:
            yield task()
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
