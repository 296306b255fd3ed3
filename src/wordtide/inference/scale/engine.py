"""The engine of a fit: this process with states in memory or on disk, or a Dask cluster."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.dask_client import Cluster, connect
from wordtide.errors import SettingsError
from wordtide.inference.compute import Compute, balanced_bounds
from wordtide.inference.natural.prepared_slice import PreparedSlice, SliceWork
from wordtide.inference.natural.schedule import NaturalOptions
from wordtide.inference.problem import PairSettings, Problem, SliceData
from wordtide.inference.scale.in_memory import Start, States, StatesInMemory
from wordtide.inference.scale.on_dask import SliceJob, SliceOnCluster, on_cluster
from wordtide.inference.scale.on_disk import StatesOnDisk, exchange_folder, on_threads
from wordtide.inference.scale.smoothing_job import SmoothingJob
from wordtide.inference.settings import FitSettings
from wordtide.model.prior import Diffusion
from wordtide.types import Array, Integers

_PAIRS_PER_WORD = 32  # the cost of an active word of a slice, in stored pairs
_IN_BLOCK = 6  # arrays of a block of words: mean, h, variance, b, and two buffers for reading and writing
_IN_GROUP = 4  # arrays of a group of slices: h, b, and those of one slice
_TASKS_PER_WORKER = 4  # so that workers finish at the same time
_LARGEST_BLOCK = 256 << 20  # bytes of a block of words, however much memory is available


@dataclass(frozen=True)
class EngineSettings:
    """The choice of an engine: `--offload`, `--scheduler` and `--work`."""

    offload: Path | None = None
    scheduler: str | None = None
    work: Path | None = None

    def check(self, settings: FitSettings, output: Path | None) -> None:
        """Reject invalid combinations before any work is done.

        Raises:
            SettingsError: The options exclude each other, or do not apply to this fit.
        """
        chosen = "--offload" if self.offload is not None else "--scheduler"
        if self.offload is None and self.scheduler is None:
            return
        if self.offload is not None and self.scheduler is not None:
            raise SettingsError(
                "--offload and --scheduler cannot be combined.",
                "Omit --offload: with --scheduler, states are stored in files.",
            )
        methods = ("smoothing",) if self.offload is not None else ("smoothing", "filtering")
        if settings.method not in methods or settings.solver != "natural":
            what = "--solver=adam" if settings.solver == "adam" else f"--method={settings.method}"
            raise SettingsError(
                f"{chosen} is for {' and '.join(methods)} with the natural solver, not for {what}.",
                f"Omit {chosen}.",
            )
        if output is None:
            raise SettingsError(
                f"{chosen} needs an output folder.",
                "Choose one: a model read from a folder needs little memory.",
            )

    def exchange_parent(self, output: Path | None) -> Path | None:
        """Return the folder in which a fit keeps its files, or None if it computes in memory."""
        if self.offload is None and self.scheduler is None:
            return None
        chosen = self.offload or self.work or (output.parent if output is not None else Path.cwd())
        return Path(os.path.abspath(chosen))


@dataclass(frozen=True)
class Engine:
    """Computes in memory by default.

    With a folder, states are kept in its files; with a cluster, its workers compute.
    """

    compute: Compute
    folder: Path | None = None
    counts: Path | None = None
    slice_costs: Array | None = None  # the estimated cost of each slice, (T,)
    block_bytes: int = _LARGEST_BLOCK
    cluster: Cluster | None = None

    def states(
        self,
        problem: Problem,
        pairs: PairSettings,
        options: NaturalOptions,
        diffusion: Diffusion,
        start: Start,
    ) -> States:
        """Create the states of a smoothing fit."""
        if self.folder is None:
            work = SliceWork(problem.slices, options, start.signs, self.compute)
            return StatesInMemory(problem.knots, diffusion, start, work, self.compute)
        assert self.counts is not None
        assert self.slice_costs is not None
        workers = self.compute.threads if self.cluster is None else self.cluster.worker_count()
        array = options.sides * len(problem.knots) * options.dim * self.compute.dtype.itemsize
        blocks = max(
            math.ceil(_IN_BLOCK * array / self.block_bytes), workers if self.cluster is not None else 1
        )
        groups = max(math.ceil(_IN_GROUP * array / self.block_bytes), _TASKS_PER_WORKER * workers)
        costs = (problem.knots.starts[1:] - problem.knots.starts[:-1], self.slice_costs)
        numbers = min(blocks, len(problem.words)), min(groups, len(problem))
        words, slices = (
            tuple(balanced_bounds(cost, number).tolist()) for cost, number in zip(costs, numbers, strict=True)
        )
        signs = None if start.signs is None else tuple(start.signs.tolist())
        job = SmoothingJob(
            folder=str(self.folder),
            counts=str(self.counts),
            pairs=pairs,
            options=options,
            signs=signs,
            precision=str(self.compute.dtype),
            words=words,
            slices=slices,
        )
        run = on_threads(self.compute) if self.cluster is None else on_cluster(self.cluster)
        return StatesOnDisk(job, diffusion, start, run)

    def slice_preparation(
        self, pairs: PairSettings, options: NaturalOptions, signs: Array | None
    ) -> Callable[[int, SliceData], PreparedSlice] | None:
        """Return the function that prepares a slice of a filter; None: computed by this process."""
        if self.cluster is None or self.folder is None:
            return None
        cluster, folder, counts = self.cluster, self.folder, str(self.counts)
        given = None if signs is None else tuple(signs.tolist())

        def prepare(number: int, part: SliceData) -> PreparedSlice:
            job = SliceJob(counts, number, pairs, options.sample_size, given, str(self.compute.dtype))
            return SliceOnCluster(job, part, self.compute, cluster, folder)

        return prepare


@contextmanager
def open_engine(
    chosen: EngineSettings,
    counts: Counts,
    path: Path | None,
    output: Path | None,
    compute: Compute,
    memory: int,
) -> Iterator[Engine]:
    """Open the engine that the user has chosen.

    Args:
        chosen: The user's choice.
        counts: The counts to fit.
        path: Their folder, if they have one.
        output: The model folder; a cluster exchanges its files beside it unless another folder was chosen.
        compute: Precision and threads of this process.
        memory: Bytes that a block of words may take.
    """
    parent = chosen.exchange_parent(output)
    if parent is None:
        yield Engine(compute)
        return
    with ExitStack() as stack:
        folder = stack.enter_context(exchange_folder(parent))
        if path is None:
            path = folder / "counts"
            counts.save(path)
        cluster = None
        if chosen.scheduler is not None:
            cluster = stack.enter_context(connect(chosen.scheduler, folder))
        block = min(_LARGEST_BLOCK, max(1 << 20, memory // compute.threads))
        yield Engine(compute, folder, Path(os.path.abspath(path)), slice_costs(counts), block, cluster)


def slice_costs(counts: Counts) -> Integers:
    """Estimate the cost of each slice in stored pairs, (T,), without reading the slices."""
    words: Integers = np.diff(counts.arrays.slice_rows)
    return counts.stored_pairs() + _PAIRS_PER_WORD * words
