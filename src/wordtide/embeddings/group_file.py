"""The file of a model folder with the offsets of groups; the names of the groups are in the header."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.model.group_evidence import Groups
from wordtide.storage.arrays import Storable, map_tensors, write_tensors

GROUPS = "groups.safetensors"


def write_groups(folder: Path, groups: Groups | None) -> None:
    """Write the groups of a model into its folder, if there are any; their names are in the header."""
    if groups is not None:
        dim = groups.mean.shape[2]
        arrays: dict[str, Storable] = {
            "words": groups.words.astype(np.int64),
            "mean": groups.mean.reshape(-1, dim).astype(np.float32),
            "variance": groups.variance.reshape(-1, dim).astype(np.float32),
            "log_bayes_factor": groups.log_bayes_factor.astype(np.float64),
            "occurrences": groups.occurrences.astype(np.int64),
        }
        write_tensors(folder / GROUPS, arrays)


def read_groups(folder: Path, header: Mapping[str, Any], words: int, dim: int) -> Groups:
    """Read the groups of a model and check them.

    Raises:
        ValueError: The file does not match the model, or holds numbers with which later code would fail.
    """
    names = header.get("groups")
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of its groups are invalid")
    arrays = map_tensors(folder / GROUPS)
    chosen, factor, used = (arrays[name] for name in ("words", "log_bayes_factor", "occurrences"))
    shape = len(names), len(chosen), dim
    mean, variance = (arrays[name].reshape(shape) for name in ("mean", "variance"))
    sound = (
        factor.shape == (words,)
        and used.shape == (len(names), words)
        and (np.diff(chosen) > 0).all()
        and (len(chosen) == 0 or 0 <= chosen[0] <= chosen[-1] < words)
        and np.isfinite(mean).all()
        and (variance >= 0).all()
        and np.isfinite(variance).all()
        and not np.isinf(factor).any()
        and (used >= 0).all()
    )
    if not sound:
        raise ValueError("its groups do not match its words")
    return Groups(tuple(names), np.array(chosen), mean, variance, np.array(factor), np.array(used))
