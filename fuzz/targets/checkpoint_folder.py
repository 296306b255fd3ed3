"""The checkpoint of a fit: whatever it holds, it is taken up or refused."""

from pathlib import Path

import numpy as np

from targets.damaging import Damaged
from wordtide.inference.checkpoints import Checkpoints

_STATE = {"scalar": np.array(0.1), "place": np.array([3, 4]), "mean": np.zeros((2, 3, 4), dtype=np.float32)}


def _checkpoints(folder: Path) -> Checkpoints:
    return Checkpoints(folder, {"dim": 4}, "these", 0.0)


def _make(folder: Path) -> None:
    _checkpoints(folder).save(
        "fit", _STATE, [{"step": 1, "slice": None, "elbo": -0.5, "rate": 0.1, "seconds": 0.5}]
    )


def _use(folder: Path, check: bool) -> None:
    found = _checkpoints(folder).load()
    if found is not None:
        sum(float(np.sum(array)) for array in found[1].values())


_FOLDER = Damaged(_make, _use)
SEEDS = _FOLDER.seeds()
try_input = _FOLDER.try_input
