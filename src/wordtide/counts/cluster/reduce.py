"""Tree reduction of the pieces of many shards on the workers: sixteen at a time, above the leaves by ranges
of slices.

Which pieces are added together depends on the shards only, so that a restarted job finds the sums it has
made.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from wordtide.counts.cluster.shards import Run
from wordtide.counts.cluster.tasks import Piece, add_shard_counts, merge_lexicons
from wordtide.storage.work_folder import fingerprint
from wordtide.types import Integers

_Node = TypeVar("_Node")
_FAN_IN = 16
_TASKS = 64  # about this many per level, to keep many workers busy
_LEAST_TOKENS = 1 << 20  # per task, unless there is only one


class SliceRange(NamedTuple):
    """A piece and its range of slices."""

    piece: str
    first: int
    stop: int


def unite_lexicons(pieces: Sequence[str], run: Run) -> str:
    """Combine the lexicons of all pieces; returns the resulting piece."""
    level = list(pieces)
    while len(level) > 1:
        tasks = [Piece(f"lexicon-{fingerprint(group)}", merge_lexicons, (group,)) for group in _groups(level)]
        run("uniting", tasks)
        level = [task.name for task in tasks]
    return level[0]


def add_up(pieces: Sequence[str], tokens: Integers, words: int, examples: bool, run: Run) -> list[SliceRange]:
    """Add the counts of all shards; returns the pieces of the sum in order of their slices. `tokens` is the
    size of each slice.
    """
    level = [[SliceRange(piece, 0, len(tokens))] for piece in pieces]
    while len(level) > 1:
        groups = _groups(level)
        ranges = _ranges(tokens, min(-(-_TASKS // len(groups)), 1 + int(tokens.sum()) // _LEAST_TOKENS))
        tasks: list[Piece] = []
        level = []
        for group in groups:
            made = [_addition(group, first, stop, words, examples) for first, stop in ranges]
            tasks += made
            level.append([SliceRange(task.name, *bounds) for task, bounds in zip(made, ranges, strict=True)])
        run("adding", tasks)
    return level[0]


def _groups(nodes: Sequence[_Node]) -> list[list[_Node]]:
    return [list(nodes[start : start + _FAN_IN]) for start in range(0, len(nodes), _FAN_IN)]


def _ranges(tokens: Integers, parts: int) -> list[tuple[int, int]]:
    """Divide slices into ranges with about the same number of tokens."""
    ends = np.cumsum(tokens)
    cuts = np.searchsorted(ends, np.arange(1, parts) * (int(ends[-1]) / parts)) + 1
    return list(pairwise([0, *np.unique(cuts[cuts < len(tokens)]).tolist(), len(tokens)]))


def _addition(
    group: Sequence[Sequence[SliceRange]], first: int, stop: int, words: int, examples: bool
) -> Piece:
    pieces = [part.piece for node in group for part in node if part.first < stop and first < part.stop]
    name = f"sums-{fingerprint(pieces, first, stop, words, examples)}"
    return Piece(name, add_shard_counts, (pieces, (first, stop), words, examples))
