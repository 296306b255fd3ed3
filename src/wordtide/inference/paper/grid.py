"""Where the smoother's trajectories lie: in its grid (T, 2 L, d) of L words, then L contexts; in a slice; at the knots."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wordtide.model.knots import Knots
from wordtide.model.likelihood import SliceTensors


def taken(grid: Tensor, rows: Tensor | None) -> Tensor:
    """The trajectories `rows` (n,) of a grid (T, 2 L, d), or all."""
    return grid if rows is None else grid.index_select(1, rows)


def active_among(drawn: Tensor, part: SliceTensors) -> tuple[Tensor, Tensor]:
    """Of the words `drawn` (n,), numbers in the vocabulary, those in a slice: their places in the slice, and in `drawn`."""
    place = torch.searchsorted(part.words, drawn).clamp_(max=len(part) - 1)
    found = (part.words[place] == drawn).nonzero().squeeze(1)
    return place[found], found


@dataclass(frozen=True)
class Block:
    """Some consecutive words, or contexts: so few that all slices of them fit in memory a second time.

    `side`: 0 for words, 1 for contexts. `rows`: their trajectories in the grid. `knots`: their knots, as rows of (K, d).
    `places`: slice and trajectory of each of these knots, within the block.
    """

    side: int
    rows: slice
    knots: slice
    places: tuple[Tensor, Tensor]


def blocks_of(knots: Knots, words_at_once: int, device: torch.device) -> Iterator[Block]:
    """All words, then all contexts, block by block."""
    size = len(knots.starts) - 1
    for side in range(2):
        for start in range(0, size, words_at_once):
            stop = min(start + words_at_once, size)
            own = slice(int(knots.starts[start]), int(knots.starts[stop]))
            slices = torch.as_tensor(knots.slices[own].astype(np.int64), device=device)
            words = torch.as_tensor(knots.words[own] - start, device=device)
            yield Block(side, slice(side * size + start, side * size + stop), own, (slices, words))
