"""Work arrays that are allocated once and used again: fresh memory costs more than the arithmetic done in it."""

import math
import threading

import torch
from torch import Tensor


class Workspace(threading.local):
    """Named work arrays of the calling thread. An array keeps its content until its name is asked for again."""

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self._device, self._dtype = device, dtype
        self._arrays: dict[str, Tensor] = {}

    def empty(self, name: str, *shape: int) -> Tensor:
        """An array of this shape, whatever is in it."""
        size = math.prod(shape)
        array = self._arrays.get(name)
        if array is None or len(array) < size:
            array = self._arrays[name] = torch.empty(size, device=self._device, dtype=self._dtype)
        return array[:size].view(*shape)
