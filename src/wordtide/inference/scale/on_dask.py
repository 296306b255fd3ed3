"""Fitting on a Dask cluster: smoothing by the tasks of a `SmoothingJob`, filtering by the rows of each slice.

Workers exchange files in a folder that all of them see. The parts of the work depend on the data alone, so the result has
the same bits as that of a single process; a killed worker costs the repetition of its task.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.dask_client import Cluster, Task
from wordtide.inference.compute import Compute, compute
from wordtide.inference.natural.prepared_slice import Gradient, PreparedSlice, Seed, Vectors
from wordtide.inference.problem import PairSettings, SliceData, slice_data
from wordtide.inference.scale.on_disk import Executor
from wordtide.inference.scale.shares import shared_out
from wordtide.inference.scale.smoothing_job import SmoothingJob
from wordtide.types import Array


def on_cluster(cluster: Cluster) -> Executor:
    """Run the tasks of a smoothing job on a cluster."""

    def run(
        function: Callable[..., Any], job: SmoothingJob, arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        return cluster.run(
            [
                Task(f"{function.__name__}-{number}", function, (job, *each))
                for number, each in enumerate(arguments)
            ]
        )

    return run


@dataclass(frozen=True)
class SliceJob:
    """What a worker must know to compute rows of a slice. Paths are seen by all workers."""

    counts: str
    number: int
    pairs: PairSettings
    sample_size: int | None
    signs: tuple[float, ...] | None
    precision: str


class SliceOnCluster(PreparedSlice):
    """A slice of a filter whose rows are computed by the workers of a cluster."""

    def __init__(
        self, job: SliceJob, part: SliceData, compute: Compute, cluster: Cluster, folder: Path
    ) -> None:
        super().__init__(part, compute, job.sample_size, None if job.signs is None else np.array(job.signs))
        self._job, self._cluster, self._folder = job, cluster, folder

    def gradients(self, sides: list[Vectors], seed: Seed) -> list[Gradient]:
        """g and h of each side. A slice of one part is computed here: sending it would take longer."""
        if len(self.parts) == 1:
            return super().gradients(sides, seed)
        path = self._folder / "vectors.npy"
        np.save(path, np.stack([array for side in sides for array in (side.mean, side.variance)]))
        cuts = shared_out(
            np.ones(len(self.parts)), min(len(self.parts), self._cluster.worker_count())
        ).tolist()
        runs = [self.parts[a:b] for a, b in pairwise(cuts) if b > a]
        tasks = [
            Task(f"rows-{number}", gradients_of_rows, (self._job, str(path), run, list(seed)))
            for number, run in enumerate(runs)
        ]
        found = self._cluster.run(tasks)
        whole = np.concatenate(found, axis=2)  # (2, sides, a, d)
        return [Gradient(*whole[:, side]) for side in range(len(sides))]


def gradients_of_rows(job: SliceJob, path: str, parts: list[range], seed: Seed) -> Array:
    """g and h of each side for the rows of some consecutive parts of a slice, (2, sides, rows, d)."""
    vectors = np.load(path)
    sides = [Vectors(vectors[place], vectors[place + 1]) for place in range(0, len(vectors), 2)]
    with compute(job.precision, 1) as machine:
        signs = None if job.signs is None else np.array(job.signs)
        slice_ = PreparedSlice(
            _slice_data(job.counts, job.number, job.pairs), machine, job.sample_size, signs
        )
        found = slice_.gradients_of_parts(parts, sides, seed)
        rows = slice(parts[0].start, parts[-1].stop)
        return np.stack([[each.g[rows] for each in found], [each.h[rows] for each in found]])


@lru_cache(maxsize=1)
def _slice_data(counts: str, number: int, pairs: PairSettings) -> SliceData:
    """The data of a slice, which a worker reads once for all of its steps."""
    return slice_data(Counts.load(counts)[number], pairs)
