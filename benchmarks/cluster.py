"""Counting on a cluster of two processes against one machine, in one run: time, what is moved, what a restart
saves.

    python benchmarks/cluster.py [--tokens N]

prints two Markdown tables. Times are the best of three, taken in turn: wall-clock time, and processor time of
all processes, by which a busy machine can be judged. The cluster is started before, with Dask's profiler
switched off, as `local:N` does; compilation is not in the times. Every result must equal the others to the
last byte, else the run fails.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import dask
import distributed
import generated
import psutil
from results import Table

import wordtide
from wordtide.counts.cluster import driver
from wordtide.counts.cluster.job import Job, Piece
from wordtide.dask_client import Cluster
from wordtide.progress import Observer

ROUNDS = 3


class Stopping(Observer):
    """Stops a job when a stage begins, as a kill would: what is finished stays."""

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def start(self, stage: str, total: int, unit: str) -> None:
        if stage == self._stage:
            raise KeyboardInterrupt


class Traffic:
    """Adds up the bytes of tasks and of pieces, by stage."""

    def __init__(self) -> None:
        self.task_bytes = 0
        self.piece_bytes: dict[str, int] = {}
        self._original = driver.run_stage

        def run_stage(
            cluster: Cluster, job: Job, observer: Observer, stage: str, pieces: Sequence[Piece]
        ) -> None:
            self._original(cluster, job, observer, stage, pieces)
            for piece in pieces:
                self.task_bytes += len(cloudpickle.dumps(piece.task(job)))
                size = sum(path.stat().st_size for path in job.work.folder(piece.name).iterdir())
                self.piece_bytes[stage] = self.piece_bytes.get(stage, 0) + size

        driver.run_stage = run_stage

    def close(self) -> None:
        driver.run_stage = self._original


class Cost(NamedTuple):
    """Seconds on the clock, and of processors, this process and its children together."""

    wall: float
    cpu: float


def cpu_seconds() -> float:
    this = psutil.Process()
    times = [process.cpu_times() for process in (this, *this.children(recursive=True))]
    return sum(spent.user + spent.system for spent in times)


def timed(job: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), cpu_seconds()
    job()
    return Cost(time.perf_counter() - wall, cpu_seconds() - cpu)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=16_000_000)
    tokens = parser.parse_args().tokens
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        generated.write_texts(place / "posts.jsonl", generated.make_words(), tokens, seed=1)
        with (
            dask.config.set({"distributed.worker.profile.enabled": False}),
            distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=None,
                local_directory=str(place / "scratch"),
            ) as cluster,
        ):
            measure(place, cluster.scheduler_address)


def measure(place: Path, scheduler: str) -> None:
    source = place / "posts.jsonl"

    def count(output: str, **options: Any) -> wordtide.Counts:
        return wordtide.count(source, output=place / output, overwrite=True, **options)

    def restart() -> Cost:
        try:
            count("restarted", scheduler=scheduler, observer=Stopping("counting"))
        except KeyboardInterrupt:
            print("stopped when all shards were read", file=sys.stderr)
        return timed(lambda: count("restarted", scheduler=scheduler))

    traffic = Traffic()
    count("cluster", scheduler=scheduler)  # warms up the workers, too
    traffic.close()
    count("one", workers=1)
    times: dict[str, list[Cost]] = {"one": [], "two": [], "cluster": [], "restarted": []}
    for _ in range(ROUNDS):
        times["one"].append(timed(lambda: count("one", workers=1)))
        times["two"].append(timed(lambda: count("two", workers=2)))
        times["cluster"].append(timed(lambda: count("cluster", scheduler=scheduler)))
        times["restarted"].append(restart())
    expected = contents(place / "one")
    if any(contents(place / name) != expected for name in times):
        sys.exit("the results differ")
    best = {name: Cost(*map(min, zip(*found, strict=True))) for name, found in times.items()}
    size = source.stat().st_size
    title = f"{size / 1e6:.0f} MB of JSON Lines, two cores, best of {ROUNDS}"
    with Table(
        "cluster.times", ("what", "seconds", "ratio to one thread", "CPU seconds", "ratio"), title
    ) as table:
        for name, what in (
            ("one", "one machine, one thread"),
            ("two", "one machine, two threads"),
            ("cluster", "cluster of two processes"),
            ("restarted", "the same, started again when all shards were read"),
        ):
            ratios = [spent / least for spent, least in zip(best[name], best["one"], strict=True)]
            cells = zip(best[name], ratios, strict=True)
            table.row(what, *(f"{value:.2f}" for pair in cells for value in pair))
    with Table("cluster.moved", ("what is moved", "MB", "share of the input")) as table:
        moved = traffic.task_bytes
        table.row("through the scheduler", f"{moved / 1e6:.2f}", f"{moved / size:.4f}")
        for stage, held in traffic.piece_bytes.items():
            table.row(f"through the work folder: {stage}", f"{held / 1e6:.1f}", f"{held / size:.2f}")


if __name__ == "__main__":
    main()
