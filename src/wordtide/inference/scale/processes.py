"""Several processes that fit one model together: who they are, and how numbers pass between them (torch.distributed).

`torchrun` starts them and tells each its rank by environment variables. All of them run the same program and meet in the
exchanges below, in the same order; a process that is lost ends the others with one message, never with a wait without end.
"""

import atexit
import functools
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor

from wordtide.errors import SettingsError, WordtideError

TIMEOUT_MINUTES = 10.0
_NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_SPOKEN = "wordtide: one of us has spoken"
_LINGER = 3.0  # seconds that a silent process stays, so that the one that speaks is not stopped while it does
Array = npt.NDArray[Any]


class LostProcessError(WordtideError):
    """A process of the fit is no longer there, or does not answer."""

    def __init__(self, cause: str = "") -> None:
        super().__init__(
            f"A process of the fit was lost or stopped{cause}, so the fit ends.",
            "Go on from the last checkpoint with --resume, with any number of processes.",
        )


class SpokenError(WordtideError):
    """An error of the first process, told to the others."""

    def __init__(self, problem: str, remedy: str, exit_code: int) -> None:
        super().__init__(problem, remedy)
        self.exit_code = exit_code


class Processes:
    """The processes of a fit as one of them sees them: it is the `rank`-th of `size`. One alone exchanges nothing.

    `sent` counts the bytes that this one gave to others.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size, self.sent = rank, size, 0

    @property
    def first(self) -> bool:
        """Is this the one that writes and speaks?"""
        return self.rank == 0

    @property
    def several(self) -> bool:
        """Are there others?"""
        return self.size > 1

    def exchange(
        self, given: Tensor, given_sizes: Sequence[int], taken: Tensor, taken_sizes: Sequence[int]
    ) -> None:
        """Give each process its part of `given` and take its part for this one into `taken`; both (n,), in order of rank."""
        self.sent += (sum(given_sizes) - given_sizes[self.rank]) * given.element_size()
        with _answering():
            dist.all_to_all_single(taken, given, list(taken_sizes), list(given_sizes))

    def gathered(self, array: Array) -> list[Array]:
        """The arrays of all processes, in order of rank; they may differ in their number of rows."""
        if not self.several:
            return [array]
        with _answering():
            lengths = torch.zeros(self.size, dtype=torch.int64)
            lengths[self.rank] = len(array)
            dist.all_reduce(lengths)
            padded = torch.zeros(
                (int(lengths.max()), *array.shape[1:]), dtype=torch.from_numpy(array[:0].copy()).dtype
            )
            padded[: len(array)] = torch.from_numpy(np.ascontiguousarray(array))
            parts = [torch.empty_like(padded) for _ in range(self.size)]
            dist.all_gather(parts, padded)
        self.sent += array.nbytes * (self.size - 1)
        return [part[:length].numpy() for part, length in zip(parts, lengths.tolist(), strict=True)]

    def of_first(self, array: Array) -> Array:
        """The array of the first process, for all; those of the others tell only its shape and type."""
        if not self.several:
            return array
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        with _answering():
            dist.broadcast(tensor, 0)
        self.sent += array.nbytes * (self.size - 1) if self.first else 0
        return tensor.numpy()

    def agreed(self, decision: bool) -> bool:
        """What the first process decides."""
        return bool(self.of_first(np.array([decision], dtype=np.int64))[0])

    def told_by_first(self, work: Callable[[], str]) -> str:
        """A text that the first process finds out. An error that it meets is raised in all."""
        if not self.several:
            return work()
        message: dict[str, Any] = {}
        failure: BaseException | None = None
        if self.first:
            try:
                message = {"text": work()}
            except WordtideError as error:
                failure, message = error, {"error": [error.problem, error.remedy, error.exit_code]}
            except Exception as error:
                failure, message = error, {"error": [f"The first process failed: {error}", "", 1]}
        content = np.frombuffer(json.dumps(message).encode(), dtype=np.uint8)
        size = int(self.of_first(np.array([len(content)], dtype=np.int64))[0])
        content = self.of_first(content.copy() if self.first else np.zeros(size, dtype=np.uint8))
        if failure is not None:
            raise failure
        found = json.loads(content.tobytes())
        if "error" in found:
            raise SpokenError(*found["error"])
        return str(found["text"])

    def pieces_at_first(
        self, own: Callable[[], Iterator[Array]], sizes: Sequence[int], width: int
    ) -> Iterator[Array]:
        """At the first process all rows of all processes, piece by piece in order of rank; the others give theirs.

        `own` yields this process's rows, (n, width) each; process p has `sizes[p]` of them.
        """
        if self.first:
            yield from own()
            for rank in range(1, self.size):
                missing = sizes[rank]
                while missing:
                    header = torch.zeros(2, dtype=torch.int64)
                    with _answering():
                        dist.recv(header, rank)
                        rows, item = header.tolist()
                        piece = torch.empty(rows, width, dtype=torch.float32 if item == 4 else torch.float64)
                        dist.recv(piece, rank)
                    missing -= rows
                    yield piece.numpy()
            return
        for array in own():
            if len(array) == 0:
                continue
            piece = torch.from_numpy(np.ascontiguousarray(array))
            with _answering():
                dist.send(torch.tensor([len(piece), piece.element_size()]), 0)
                dist.send(piece, 0)
            self.sent += array.nbytes

    def wait(self) -> None:
        """Until all have come here."""
        if self.several:
            with _answering():
                dist.all_reduce(torch.zeros(1))


ALONE = Processes()


def started_together() -> bool:
    """Did torchrun start this process as one of several?"""
    return all(os.environ.get(name) for name in _NEEDED) and os.environ["WORLD_SIZE"] != "1"


def join(device: str = "cpu", timeout_minutes: float = TIMEOUT_MINUTES) -> Processes:
    """Meet the other processes that torchrun started; alone where it did not. They stay together until the program ends."""
    if not np.isfinite(timeout_minutes) or timeout_minutes <= 0:
        raise SettingsError(f"--process-timeout {timeout_minutes} is not a time.", "Give minutes, like 10.")
    if not dist.is_available() or not (started_together() or dist.is_initialized()):
        return ALONE
    if not dist.is_initialized():
        if device.startswith("cuda"):
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        backend = "cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo"
        with _answering():
            dist.init_process_group(backend, timeout=timedelta(minutes=timeout_minutes))
        atexit.register(_part)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _stopped)
    return _together()


@functools.cache
def _together() -> Processes:
    return Processes(dist.get_rank(), dist.get_world_size())


def is_first() -> bool:
    """Is this the process that speaks, as long as all goes well?"""
    return not started_together() or os.environ["RANK"] == "0"


def local_size() -> int:
    """How many of the processes run on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"])) if started_together() else 1


def speaks_for_all() -> bool:
    """Before an error is shown: is this the process that shows it? The others wait a moment, in silence."""
    if not dist.is_available() or not dist.is_initialized():
        return True
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun stops all as soon as one has ended
    try:
        speaker = dist.distributed_c10d._get_default_store().add(_SPOKEN, 1) == 1
    except RuntimeError:  # the store is lost too: better said twice than not at all
        return True
    if not speaker:
        time.sleep(_LINGER)
    return speaker


@contextmanager
def _answering() -> Iterator[None]:
    """Turn the network's errors into one that says what to do; other errors are mistakes, and stay what they are."""
    try:
        yield
    except RuntimeError as error:
        text = str(error).lower()
        if "timed out" in text or "timeout" in text:
            raise LostProcessError(", or did not answer in time") from error
        if isinstance(error, dist.DistError) or "gloo" in text or "nccl" in text or "connection" in text:
            raise LostProcessError from error
        raise


def _stopped(number: int, frame: FrameType | None) -> None:
    raise LostProcessError


def _part() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
