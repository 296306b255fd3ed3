"""The input and resources of a count, and its tasks on threads, with results in order."""

import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from wordtide.corpus.columns import Fields, folder_level
from wordtide.corpus.sources import Corpus
from wordtide.corpus.tokens.tokenizers import Tokenizer, TokenRule
from wordtide.counts.phrases.phrase_table import PhraseTable, join_phrases
from wordtide.counts.segments import Segment
from wordtide.counts.settings import CountSettings
from wordtide.progress import Observer

#: Blocks of bytes that are read ahead, per worker: scanning one takes about a millisecond.
BLOCKS_AHEAD: Final = 8

Result = TypeVar("Result")
Lent = TypeVar("Lent")


@dataclass(frozen=True)
class Resources:
    """What counting may use, none of which changes the result."""

    workers: int
    memory: int  # bytes, for numbers and partial sums; beyond it they go to disk
    spill: Path
    observer: Observer


@dataclass(frozen=True)
class CountInput:
    """A corpus, or a shard of one, and how to count it.

    `dates` are the first stamp to count, and the stamp after the last; `vocabulary` is the fixed one, if
    there is one; `tokenizer` is the custom one, if it was given as a function.
    """

    corpus: Corpus
    settings: CountSettings
    dates: tuple[int, int]
    vocabulary: list[str] | None
    tokenizer: Tokenizer | None
    resources: Resources


@dataclass(frozen=True)
class PairRule:
    """Which pairs are counted: those of a vocabulary of `words` words within `window` places.

    `numberings` has an array for each scanner, which maps its numbers to the vocabulary (-1: not in it).
    `tables` has the phrases for each scanner, if there are any; their numbers follow those of the words.
    `groups` has the names of the groups in segments, if documents have groups.
    """

    numberings: Sequence[npt.NDArray[np.int32]]
    words: int
    window: int
    settings: CountSettings
    tables: Sequence[PhraseTable] = ()
    groups: Sequence[str] = ()

    def stream(self, segment: Segment, entry: int, room: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The numbers of an entry of a segment, phrases joined (in `room`)."""
        ids = np.asarray(segment.ids[segment.starts[entry] : segment.starts[entry + 1]])
        return join_phrases(ids, self.tables[segment.scanner], room) if self.tables else ids


def token_rule(settings: CountSettings) -> TokenRule:
    """The token rule of texts."""
    return TokenRule(**{field.name: getattr(settings, field.name) for field in fields(TokenRule)})


def fields_of(settings: CountSettings) -> Fields:
    """The columns of tables to read."""
    group = None if folder_level(settings.group_field) is not None else settings.group_field
    return Fields(settings.date_field, settings.text_field, settings.date_format, group)


class ResourcePool(Generic[Lent]):
    """Resources that only one thread may use at a time, such as scanners, lent to threads that need one."""

    def __init__(self, resources: Iterable[Lent]) -> None:
        self._idle: queue.SimpleQueue[Lent] = queue.SimpleQueue()
        for resource in resources:
            self._idle.put(resource)

    @contextmanager
    def borrowed(self) -> Iterator[Lent]:
        """Borrow a resource; waits until one is idle."""
        resource = self._idle.get()
        try:
            yield resource
        finally:
            self._idle.put(resource)


def in_order(tasks: Iterable[Callable[[], Result]], workers: int, ahead: int = 2) -> Iterator[Result]:
    """Run tasks on threads and yield their results in order. Compiled kernels release the GIL.

    The calling thread makes the tasks, `ahead` for each worker. On a busy machine it wakes up late: short
    tasks need more of them ahead, or the workers run out.
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
                if len(waiting) > ahead * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
