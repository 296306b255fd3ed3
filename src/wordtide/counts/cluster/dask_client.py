"""The one door to Dask: connecting to a scheduler, or starting one with worker processes here, and having tasks done.

Dask gives the tasks of a lost worker to another. What is checked here is that all workers are fit for the job, that waiting
ends, and that the user reads one error, the first in order of the corpus.
"""

import asyncio
import contextlib
import importlib
import logging
import queue
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from wordtide import __version__
from wordtide.counts.cluster.job import Job
from wordtide.counts.cluster.tasks import Outcome, Task, attempt, raise_outcome
from wordtide.counts.workers import Observer
from wordtide.errors import SettingsError, WordtideError

_CONNECTING = 30.0  # seconds
_FIRST_WORKER = 120.0
_WITHOUT_WORKERS = 600.0
_LOOK = 5.0
_ANSWER = 120.0
_MOST_PROCESSES = 1024
_AGAIN = "Start the same command again: what is finished is kept."


class Cluster:
    """A connection to a scheduler that has workers."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address

    def run(self, job: Job, stage: str, tasks: Sequence[Task], observer: Observer) -> None:
        """Have all tasks done whose pieces are not there yet; returns when they are, or raises the first task's error."""
        left = [task for task in tasks if not job.work.has(task.piece)]
        observer.start(stage, len(tasks), "shards")
        observer.advance(len(tasks) - len(left))
        try:
            self._finish(job, left, observer)
        except OSError as error:  # how Dask speaks of a lost connection
            raise self._gone() from error
        finally:
            observer.finish()

    def _finish(self, job: Job, tasks: Sequence[Task], observer: Observer) -> None:
        done: queue.SimpleQueue[int] = queue.SimpleQueue()
        salt = uuid.uuid4().hex  # a scheduler that remembers an earlier run must not answer for this one
        futures = {}
        for number, task in enumerate(tasks):
            future = self._client.submit(
                attempt, job, task, key=f"{task.piece}-{salt}", pure=False, priority=-number
            )
            future.add_done_callback(lambda _, number=number: done.put(number))
            futures[number] = future
        failed: dict[int, Outcome | BaseException] = {}
        try:
            while futures:
                for number in self._ended(done, futures, job, tasks):
                    future = futures.pop(number, None)
                    if future is None:  # it was given up, or is known already
                        continue
                    observer.advance(1)
                    outcome = (
                        None if job.work.has(tasks[number].piece) else self._outcome(future, tasks[number])
                    )
                    if outcome is not None:
                        failed[number] = outcome
                        for later in [other for other in futures if other > number]:
                            futures.pop(later).cancel()
        finally:
            for future in futures.values():
                future.cancel()
        if failed:
            first = failed[min(failed)]
            if isinstance(first, BaseException):
                raise first
            if first is not None:
                raise_outcome(first)

    def _ended(
        self, done: "queue.SimpleQueue[int]", futures: Mapping[int, Any], job: Job, tasks: Sequence[Task]
    ) -> list[int]:
        """Tasks that have ended; an error if the scheduler is gone, or all workers are and stay away. What counts is the piece
        in the work folder: should word of a task be lost, its piece is found there.
        """
        alone_since: float | None = None
        while True:
            try:
                return [done.get(timeout=_LOOK)]
            except queue.Empty:
                if self._client.status != "running":
                    raise self._gone() from None
            found = [
                number
                for number, future in futures.items()
                if future.done() or job.work.has(tasks[number].piece)
            ]
            if found:
                return found
            if self._client.scheduler_info()["workers"]:
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since > _WITHOUT_WORKERS:
                raise WordtideError(f"All workers of {self._address} have gone away.", _AGAIN)

    def _gone(self) -> WordtideError:
        return WordtideError(f"The scheduler at {self._address} has gone away.", _AGAIN)

    def _outcome(self, future: Any, task: Task) -> Outcome | BaseException:
        from distributed.client import FutureCancelledError  # Dask is loaded by now
        from distributed.scheduler import KilledWorker

        try:
            outcome: Outcome = future.result(timeout=_ANSWER)
        except KilledWorker:
            return WordtideError(
                f"Several workers died over the same shard ({task.piece}).",
                f"Often that is a lack of memory: give workers more, or fewer threads each. {_AGAIN}",
            )
        except FutureCancelledError:
            return WordtideError(f"The scheduler at {self._address} has given up this job.", _AGAIN)
        except ModuleNotFoundError as error:
            return _unfit("A worker", f"has no {error.name}")
        except Exception as error:
            return error
        return outcome


@contextmanager
def connected(scheduler: str, scratch: Path) -> Iterator[Cluster]:
    """A cluster: `local:N` (N processes on this machine), `local` (one for each processor), or the address of a scheduler."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise SettingsError(
            "Counting on a cluster needs Dask.", "Install it: pip install 'wordtide[cluster]'"
        ) from None
    processes = _local_processes(scheduler)
    with ExitStack() as stack:
        stack.enter_context(
            distributed.utils.silence_logging_cmgr(logging.CRITICAL)
        )  # the user reads our words instead
        if processes is not None:
            dask: Any = importlib.import_module("dask")
            stack.enter_context(
                dask.config.set({"distributed.worker.profile.enabled": False})
            )  # it looks a hundred times a second
            address: Any = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=processes or None,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    memory_limit=None,  # what is mapped from files would count as used
                    local_directory=str(scratch),
                    silence_logs=False,
                )
            )
        else:
            address = scheduler
        client = _client(distributed, address, scheduler)
        stack.callback(_close, client)
        _check_workers(client, scheduler)
        yield Cluster(client, scheduler)


def _local_processes(scheduler: str) -> int | None:
    """The number of processes to start here, 0 for as many as there are processors; None if this is an address."""
    kind, _, number = scheduler.partition(":")
    if kind == "local":
        if scheduler == "local":
            return 0
        if number.isascii() and number.isdigit() and 1 <= int(number) <= _MOST_PROCESSES:
            return int(number)
    elif "://" in scheduler:
        return None
    raise SettingsError(
        f"--scheduler {scheduler} is neither local:N nor an address.",
        "Write local:4 for four processes on this machine, or the address that the scheduler prints: tcp://host:8786.",
    )


def _client(distributed: Any, address: Any, shown: str) -> Any:
    try:
        if isinstance(
            address, str
        ):  # a client that fails to connect leaves a thread behind, so the address is tried before
            with ThreadPoolExecutor(1) as thread:  # of its own, because a notebook has a loop of its own
                thread.submit(asyncio.run, _reach(distributed, address)).result()
        return distributed.Client(address, timeout=_CONNECTING, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:
        told = " ".join(str(error).split()).rstrip(".")
        raise SettingsError(
            f"The scheduler at {shown} does not answer: {told}.",
            "Check the address, and that the scheduler runs.",
        ) from error


async def _reach(distributed: Any, address: str) -> None:
    connection = await distributed.comm.connect(address, timeout=_CONNECTING)
    await connection.close()


def _close(client: Any) -> None:
    with contextlib.suppress(
        OSError
    ):  # a scheduler that is gone cannot be told good-bye, and what happened is known already
        client.close()


def _check_workers(client: Any, shown: str) -> None:
    """Wait for the first worker, then refuse workers that would count otherwise, or not at all."""
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER)
    except TimeoutError:
        raise SettingsError(
            f"The scheduler at {shown} has no workers.",
            f"Start some: dask worker {shown if '://' in shown else 'ADDRESS'}",
        ) from None
    except OSError as error:
        raise SettingsError(
            f"The scheduler at {shown} has gone away: {error}.", "Check that it runs."
        ) from error
    versions = client.get_versions(packages=["wordtide"])
    own = versions["client"]["packages"]
    _compare("The scheduler", own, versions["scheduler"]["packages"], ("dask", "distributed"))
    for address, facts in versions["workers"].items():
        _compare(
            f"The worker at {address}", own, facts["packages"], ("dask", "distributed", "wordtide", "python")
        )


def _compare(who: str, own: Mapping[str, Any], theirs: Mapping[str, Any], packages: Sequence[str]) -> None:
    for package in packages:
        mine, found = str(own.get(package)), theirs.get(package)
        if package == "python":  # a new one may know other letters
            mine, found = (".".join(str(version).split(".")[:2]) for version in (mine, found))
        if found is None:
            raise _unfit(who, f"has no {package}")
        if found != mine:
            raise _unfit(who, f"has {package} {found}, and here is {mine}")


def _unfit(who: str, problem: str) -> SettingsError:
    return SettingsError(
        f"{who} {problem}.",
        f"Install the same everywhere: pip install 'wordtide[cluster]=={__version__}', and the same Dask.",
    )
