"""Running tasks on a Dask cluster: connect to a scheduler, or start worker processes on this machine.

This is the only module that imports Dask. It knows nothing about what the tasks do. Dask reschedules the
tasks of a lost worker; this module checks that all workers run the same software, detects when nobody is left
to answer, and raises the error of the first failed task, as a single process would.
"""

import asyncio
import contextlib
import importlib
import logging
import queue
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from wordtide import errors, version
from wordtide.errors import SettingsError, WordtideError

_CONNECT_SECONDS = 30.0
_FIRST_WORKER_SECONDS = 120.0
_NO_WORKER_SECONDS = 600.0
_POLL_SECONDS = 5.0
_RESULT_SECONDS = 120.0
_MOST_PROCESSES = 1024
_RESTART = "Run the same command again: a count keeps its finished work, and a fit goes on with --resume."


@dataclass(frozen=True)
class Task:
    """A call of `function(*arguments)` on some worker.

    The name identifies the task in error messages and on Dask's dashboard; it must be unique within one
    `Cluster.run`. The function may run more than once, on different workers, so it must be idempotent.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class _Failure:
    """An error for the user as plain text, which every version of Python can read."""

    kind: str
    problem: str
    remedy: str

    def raised(self) -> WordtideError:
        return cast(WordtideError, getattr(errors, self.kind)(self.problem, self.remedy))


class Cluster:
    """A connection to a scheduler that has workers."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address

    def worker_count(self) -> int:
        """The number of workers connected now; it changes when workers join or die."""
        return len(self._client.nthreads())

    def run(
        self,
        tasks: Sequence[Task],
        *,
        is_done: Callable[[Task], bool] = lambda _: False,
        advance: Callable[[int], None] = lambda _: None,
    ) -> list[Any]:
        """Run independent tasks and wait for them; returns their results in order.

        Earlier tasks have priority. `is_done` tells whether the effect of a task exists already, for example
        on shared storage: such a task is not run, and its result is None. It is also asked after a task ended
        or a connection was interrupted: the effect counts, not the message about it. `advance` is called with
        1 whenever a task has ended, in any order.

        Raises:
            WordtideError: The error of the first task, in order, that failed; or the cluster is gone.
        """
        running = _Run(self._client, self._address, tasks, is_done, advance)
        try:
            running.wait()
        except OSError as error:  # Dask's exception for a lost connection
            raise _scheduler_gone(self._address) from error
        return running.results()


@dataclass
class _Run:
    """One call of `Cluster.run`."""

    _client: Any
    _address: str
    _tasks: Sequence[Task]
    _is_done: Callable[[Task], bool]
    _advance: Callable[[int], None]
    _ended: "queue.SimpleQueue[int]" = field(default_factory=queue.SimpleQueue)
    _futures: dict[int, Any] = field(default_factory=dict)
    _results: dict[int, Any] = field(default_factory=dict)
    _errors: dict[int, Exception] = field(default_factory=dict)

    def wait(self) -> None:
        """Submit the tasks and wait until all have ended, or one has failed and all before it have ended."""
        try:
            self._submit()
            while self._futures:
                for number in self._next_ended():
                    self._collect(number)
        finally:
            for future in self._futures.values():
                future.cancel()

    def results(self) -> list[Any]:
        """Return the results in order, or raise the error of the first task that failed."""
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._results[number] for number in range(len(self._tasks))]

    def _submit(self) -> None:
        salt = uuid.uuid4().hex  # otherwise a scheduler could answer with results of an earlier run
        for number, task in enumerate(self._tasks):
            if self._is_done(task):
                self._results[number] = None
                self._advance(1)
                continue
            key = f"{task.name}-{salt}"
            future = self._client.submit(_attempt, task, key=key, pure=False, priority=-number)
            self._futures[number] = future
            future.add_done_callback(lambda _, number=number: self._ended.put(number))

    def _next_ended(self) -> list[int]:
        """Wait until tasks end; raises if the scheduler or, for a long time, all workers are gone."""
        alone_since: float | None = None
        while True:
            try:
                return [self._ended.get(timeout=_POLL_SECONDS)]
            except queue.Empty:
                if self._client.status != "running":
                    raise _scheduler_gone(self._address) from None
            ended = [
                number
                for number, future in self._futures.items()
                if future.done() or self._is_done(self._tasks[number])
            ]
            if ended:
                return ended
            if self._client.nthreads():
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since > _NO_WORKER_SECONDS:
                raise WordtideError(f"All workers of {self._address} are gone.", _RESTART)

    def _collect(self, number: int) -> None:
        future = self._futures.pop(number, None)
        if future is None:  # cancelled, or collected before
            return
        self._advance(1)
        if self._is_done(self._tasks[number]):
            self._results[number] = None
            return
        try:
            self._results[number] = self._result(future, self._tasks[number])
        except Exception as error:
            self._errors[number] = error
            for later in [other for other in self._futures if other > number]:
                self._futures.pop(later).cancel()

    def _result(self, future: Any, task: Task) -> Any:
        from distributed.client import FutureCancelledError  # Dask is loaded by now
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            result = future.result(timeout=_RESULT_SECONDS)
        except KilledWorker:
            raise WordtideError(
                f"Several workers died while running the same task ({task.name}).",
                f"The usual cause is too little memory: give workers more, or fewer threads. {_RESTART}",
            ) from None
        except FutureCancelledError as error:
            lost = getattr(error, "reason", "") == "scheduler-connection-lost"
            problem = f"The scheduler at {self._address} {'is gone' if lost else 'cancelled this job'}."
            raise WordtideError(problem, _RESTART) from None
        except (CommClosedError, TimeoutError) as error:
            raise _scheduler_gone(self._address) from error
        except ModuleNotFoundError as error:
            raise _mismatch("A worker", f"has no {error.name}") from error
        if isinstance(result, _Failure):
            raise result.raised()
        return result


def _attempt(task: Task) -> Any:  # on a worker
    try:
        return task.function(*task.arguments)
    except WordtideError as error:
        return _Failure(type(error).__name__, error.problem, error.remedy)


@contextmanager
def connect(scheduler: str, scratch: Path) -> Iterator[Cluster]:
    """Connect to a cluster, all of whose workers have this version of wordtide, Python and Dask.

    `local:N` starts N processes on this machine, `local` one per processor, with temporary files in
    `scratch`; anything else is the address of a running scheduler, such as `tcp://host:8786`.

    Raises:
        SettingsError: Dask is not installed, the name is malformed, nobody answers, or the software differs.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise SettingsError(
            "--scheduler needs Dask.", "Install it: pip install 'wordtide[cluster]'"
        ) from None
    processes = _local_processes(scheduler)
    with ExitStack() as stack:
        # Our own messages replace Dask's.
        stack.enter_context(distributed.utils.silence_logging_cmgr(logging.CRITICAL))
        if processes is None:
            address: Any = scheduler
        else:
            dask: Any = importlib.import_module("dask")
            # The profiler samples a hundred times a second.
            stack.enter_context(dask.config.set({"distributed.worker.profile.enabled": False}))
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=processes or None,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    memory_limit=None,  # memory-mapped files would count as used
                    local_directory=str(scratch),
                    silence_logs=logging.CRITICAL,  # of the workers, too
                )
            )
        client = _open_client(distributed, address, scheduler)
        stack.callback(_close, client)
        _check_workers(client, scheduler)
        yield Cluster(client, scheduler)


def _local_processes(scheduler: str) -> int | None:
    """The number of processes to start here, 0 for one per processor, None for the address of a scheduler."""
    kind, _, number = scheduler.partition(":")
    if kind == "local":
        if scheduler == "local":
            return 0
        if number.isascii() and number.isdigit() and 1 <= int(number) <= _MOST_PROCESSES:
            return int(number)
    elif "://" in scheduler:
        return None
    raise SettingsError(
        f"--scheduler={scheduler} is neither local:N nor an address.",
        "Write local:4 for four processes on this machine, or the address of a scheduler: tcp://host:8786.",
    )


def _open_client(distributed: Any, address: Any, shown: str) -> Any:
    try:
        if isinstance(address, str):
            # A client that fails to connect leaves a thread behind. A notebook has an event loop of its own.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, _reach(distributed, address)).result()
        return distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise SettingsError(
            f"The scheduler at {shown} does not answer: {reason}.",
            "Check the address, and that the scheduler is running.",
        ) from error


async def _reach(distributed: Any, address: str) -> None:
    connection = await distributed.comm.connect(address, timeout=_CONNECT_SECONDS)
    await connection.close()


def _close(client: Any) -> None:
    with contextlib.suppress(OSError):  # the scheduler is gone, which has been reported already
        client.close()


def _check_workers(client: Any, shown: str) -> None:
    """Wait for the first worker, then reject workers whose software differs from ours."""
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
    except TimeoutError:
        raise SettingsError(
            f"The scheduler at {shown} has no workers.",
            f"Start some: dask worker {shown if '://' in shown else 'ADDRESS'}",
        ) from None
    except OSError as error:
        raise SettingsError(
            f"The scheduler at {shown} is gone: {error}.", "Check that it is running."
        ) from error
    versions = client.get_versions(packages=["wordtide"])
    own = versions["client"]["packages"]
    needed = ("dask", "distributed", "wordtide", "python")
    _compare("The scheduler", own, versions["scheduler"]["packages"], needed[:2])
    for address, facts in versions["workers"].items():
        _compare(f"The worker at {address}", own, facts["packages"], needed)


def _compare(who: str, own: Mapping[str, Any], theirs: Mapping[str, Any], packages: Sequence[str]) -> None:
    for package in packages:
        mine, found = str(own.get(package)), theirs.get(package)
        if package == "python":  # minor versions differ in their Unicode tables
            mine, found = (".".join(str(version).split(".")[:2]) for version in (mine, found))
        if found is None:
            raise _mismatch(who, f"has no {package}")
        if found != mine:
            raise _mismatch(who, f"has {package} {found}, this process has {mine}")


def _mismatch(who: str, problem: str) -> SettingsError:
    package = f"wordtide[cluster]=={version.__version__}"
    return SettingsError(
        f"{who} {problem}.", f"Install the same everywhere: pip install '{package}', and the same Dask."
    )


def _scheduler_gone(address: str) -> WordtideError:
    return WordtideError(f"The scheduler at {address} is gone.", _RESTART)
