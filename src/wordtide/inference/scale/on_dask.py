"""Fits on a Dask cluster: smoothing by the tasks of a `SmoothingJob`, filtering by the rows of each slice.

Workers exchange files in a shared folder. The division of the work depends only on the data, so results have
the same bits as those of a single process. If a worker is killed, its task is repeated.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.dask_client import Cluster, Task
from wordtide.inference.compute import Compute, balanced_bounds, compute
from wordtide.inference.natural.prepared_slice import Gradient, PreparedSlice, Seed
from wordtide.inference.problem import PairSettings, SliceData, slice_data
from wordtide.inference.scale.on_disk import Executor
from wordtide.inference.scale.smoothing_job import SmoothingJob, check_visible
from wordtide.model.likelihood import GaussianVectors
from wordtide.types import Array


def on_cluster(cluster: Cluster) -> Executor:
    """Return an executor that runs tasks on a cluster."""

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
    """What a worker needs to compute rows of a slice. All workers must see the paths."""

    counts: str
    number: int
    pairs: PairSettings
    sample_size: int | None
    signs: tuple[float, ...] | None
    precision: str


class SliceOnCluster(PreparedSlice):
    """A slice of a filter whose rows the workers of a cluster compute."""

    def __init__(
        self, job: SliceJob, part: SliceData, compute: Compute, cluster: Cluster, folder: Path
    ) -> None:
        super().__init__(part, compute, job.sample_size, None if job.signs is None else np.array(job.signs))
        self._job, self._cluster, self._folder = job, cluster, folder

    def gradients(self, sides: list[GaussianVectors], seed: Seed) -> list[Gradient]:
        """Compute g and h of each side.

        A slice of a single part is computed here, because sending it takes longer.
        """
        if len(self.parts) == 1:
            return super().gradients(sides, seed)
        # A name is not used again: a worker might have the file of the last step in its cache.
        path = self._folder / f"vectors-{uuid.uuid4().hex}.npy"
        np.save(path, np.stack([array for side in sides for array in (side.mean, side.variance)]))
        cuts = balanced_bounds(
            np.ones(len(self.parts)), min(len(self.parts), self._cluster.worker_count())
        ).tolist()
        runs = [self.parts[a:b] for a, b in pairwise(cuts) if b > a]
        tasks = [
            Task(f"rows-{number}", gradients_of_rows, (self._job, str(path), run, list(seed)))
            for number, run in enumerate(runs)
        ]
        try:
            found = self._cluster.run(tasks)
        finally:
            path.unlink()
        whole = np.concatenate(found, axis=2)  # (2, sides, a, d)
        return [Gradient(*whole[:, side]) for side in range(len(sides))]


def gradients_of_rows(job: SliceJob, path: str, parts: list[range], seed: Seed) -> Array:
    """Compute g and h of each side for the rows of consecutive parts of a slice, (2, sides, rows, d)."""
    check_visible(Path(path).parent)
    vectors = np.load(path)
    sides = [GaussianVectors(vectors[place], vectors[place + 1]) for place in range(0, len(vectors), 2)]
    with compute(job.precision, 1) as machine:
        signs = None if job.signs is None else np.array(job.signs)
        part = _slice_data(job.counts, job.number, job.pairs)
        found = PreparedSlice(part, machine, job.sample_size, signs).gradients_of_parts(parts, sides, seed)
        rows = slice(parts[0].start, parts[-1].stop)
        return np.stack([[each.g[rows] for each in found], [each.h[rows] for each in found]])


@lru_cache(maxsize=1)
def _slice_data(counts: str, number: int, pairs: PairSettings) -> SliceData:
    """Read the data of a slice, once per worker for all of its steps."""
    return slice_data(Counts.load(counts)[number], pairs)
