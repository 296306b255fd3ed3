"""Where and how a fit is computed: device, precision, threads. None of it decides the result beyond rounding.

On the CPU the work is shared out by this package, in ranges of rows or slices, and each tensor operation runs on the thread
that calls it: PyTorch's own threads, which wait busily between operations, would stand in the way of the compiled kernels.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.errors import SettingsError
from wordtide.inference.scale.processes import ALONE, Processes, local_size
from wordtide.inference.workspace import Workspace

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Compute:
    """A device, the precision of states, the number of threads (on the CPU), and work arrays of each thread.

    `processes` are those that make the fit together.
    """

    device: torch.device
    dtype: torch.dtype
    threads: int
    pool: ThreadPoolExecutor
    work: Workspace
    processes: Processes = ALONE

    @property
    def on_cpu(self) -> bool:
        """Compiled CPU kernels can be used."""
        return self.device.type == "cpu"

    def tensor(self, array: npt.NDArray[Any]) -> Tensor:
        """A copy of an array, on the device and in the precision of the states."""
        return torch.from_numpy(np.array(array)).to(self.device, self.dtype)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results of independent pieces of work, in their order."""
        items = list(items)
        if self.threads == 1 or not self.on_cpu or len(items) == 1:
            return [work(item) for item in items]
        return list(self.pool.map(work, items))


@contextmanager
def compute(
    device: str = "cpu", dtype: str = "float32", threads: int | None = None, processes: Processes = ALONE
) -> Iterator[Compute]:
    """Check and open what to compute with; PyTorch's own number of threads is put back at the end.

    Of several processes each has its share of the machine's processors, and "cuda" is the device of its number there.
    """
    if device.split(":")[0] not in ("cpu", "cuda", "mps"):
        raise SettingsError(f"The device {device!r} is not known.", "Use cpu, cuda (or cuda:1), or mps.")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise SettingsError(
            "There is no CUDA device here.", "Use --device cpu, or install a PyTorch with CUDA."
        )
    if device.startswith("mps") and not torch.backends.mps.is_available():
        raise SettingsError("There is no MPS device here.", "Use --device cpu.")
    if dtype not in ("float32", "float64"):
        raise SettingsError(f"The precision {dtype!r} is not known.", "Use float32 or float64.")
    if device.startswith("mps") and dtype == "float64":
        raise SettingsError("MPS devices have no float64.", "Use --precision float32, or --device cpu.")
    if threads is not None and not 1 <= threads <= 1024:
        raise SettingsError(f"--threads {threads} is out of range.", "Give a number from 1 to 1024.")
    try:
        own = os.environ.get("LOCAL_RANK") if processes.several and device == "cuda" else None
        place, precision = torch.device(device if own is None else f"cuda:{own}"), getattr(torch, dtype)
    except RuntimeError:
        raise SettingsError(
            f"The device {device!r} is not known.", "Use cpu, cuda (or cuda:1), or mps."
        ) from None
    wanted = threads or max(1, _processors() // (local_size() if processes.several else 1))
    before = torch.get_num_threads()
    with ThreadPoolExecutor(wanted) as pool:
        try:
            torch.set_num_threads(1)
            yield Compute(place, precision, wanted, pool, Workspace(place, precision), processes)
        finally:
            torch.set_num_threads(before)


def _processors() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
