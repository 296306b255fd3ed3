"""A fit in its own process: its time, the time of its steps, and its peak memory with workers."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import wordtide
from wordtide.progress import Observer

_POLL_SECONDS = 0.1
_TEXTS = [("1850", "steam power drives the mill"), ("1950", "atomic power drives the ship")]


@dataclass(frozen=True)
class FitReport:
    """What a fit took.

    Attributes:
        seconds, cpu_seconds: Of the whole fit, in the process that ran it.
        worker_cpu_seconds: Of all of its workers, their start included.
        step_seconds: Of each step that did not measure the ELBO, without the first, which loads code and
            data.
        peak, worker_peak: The largest resident sets (VmHWM) of the process and of a worker, in bytes.
        note: What the fit says about a step: bytes moved.
        elbo, slices, words, knots, pairs: Of the model; `pairs` are stored pairs, each counted once.
    """

    seconds: float
    cpu_seconds: float
    step_seconds: list[float]
    peak: int
    note: str
    elbo: float
    slices: int
    words: int
    knots: int
    pairs: int
    worker_cpu_seconds: float = 0.0
    worker_peak: int = 0

    @property
    def step(self) -> float:
        """Seconds per step."""
        return statistics.mean(self.step_seconds)


def count_sotu(target: str | Path, options: str) -> None:
    """Count the State of the Union."""
    command = [sys.executable, "-m", "wordtide", "count", "sotu", "-o", str(target), "--overwrite"]
    subprocess.run([*command, *options.split()], check=True, capture_output=True)


def fit_alone(counts: str | Path, model: str | Path, settings: dict[str, Any]) -> FitReport:
    """Run `wordtide.fit` in a new process and watch it and the processes that it starts."""
    command = [sys.executable, __file__, str(counts), str(model), json.dumps(settings)]
    usage: dict[int, tuple[int, float]] = {}
    quiet = {**os.environ, "DASK_LOGGING__DISTRIBUTED": "warning"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet) as process:
        while process.poll() is None:
            usage.update((pid, found) for pid in _descendants(process.pid) if (found := _usage(pid)))
            time.sleep(_POLL_SECONDS)
        assert process.stdout is not None
        answer = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"the fit with {settings} failed")
    workers = {"worker_cpu_seconds": sum(cpu for _, cpu in usage.values())}
    return FitReport(
        **json.loads(answer), **workers, worker_peak=max((peak for peak, _ in usage.values()), default=0)
    )


def _descendants(root: int) -> Iterator[int]:
    """The processes that a process has started, and those that they have started."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        if fields := _fields(int(folder.name)):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    waiting = children.get(root, [])
    while waiting:
        yield (child := waiting.pop())
        waiting += children.get(child, [])


def _fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name: state, parent, ...; none if the process has ended."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except (FileNotFoundError, ProcessLookupError):
        return []


def _usage(pid: int) -> tuple[int, float] | None:
    """The peak memory in bytes and the CPU seconds of a process; None if it has ended."""
    fields = _fields(pid)
    try:
        return _peak(pid), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (FileNotFoundError, ProcessLookupError, IndexError, StopIteration):
        return None


def _peak(pid: int | str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


class _Note(Observer):
    """Keeps what the fit says about the bytes that a step moves."""

    text = ""

    def message(self, text: str) -> None:
        self.text = text if "per step" in text else self.text


def _step_seconds(curve: list[dict[str, Any]]) -> list[float]:
    return [
        after["seconds"] - before["seconds"] for before, after in pairwise(curve) if after["elbo"] is None
    ]


def _main(counts_folder: str, model_folder: str, given: str) -> None:
    settings, note = json.loads(given), _Note()
    counts = wordtide.Counts.load(counts_folder)
    plain = {name: settings[name] for name in ("method", "contexts") if name in settings}
    wordtide.fit(wordtide.count(_TEXTS), dim=2, **plain)  # loads compiled code
    start, cpu = time.perf_counter(), time.process_time()
    model = wordtide.fit(counts_folder, output=model_folder, overwrite=True, observer=note, **settings)
    report = FitReport(
        seconds=time.perf_counter() - start,
        cpu_seconds=time.process_time() - cpu,
        step_seconds=_step_seconds(model.curve),
        peak=_peak("self"),
        note=note.text,
        elbo=model.elbo,
        slices=len(model),
        words=len(model.words),
        knots=len(model.fitted.posterior.knots),
        pairs=int(counts.stored_pairs().sum()),
    )
    found = {name: value for name, value in vars(report).items() if not name.startswith("worker")}
    print(json.dumps(found))


if __name__ == "__main__":
    _main(*sys.argv[1:])
