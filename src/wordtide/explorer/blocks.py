"""Blocks of vectors for the page: directions in eight bits, how sure each vector is, and whether it is known well enough.

A block of N rows is int8 directions (N x d), then float16 relative noise (N), then uint8 flags (N). The page compares
directions alone, so no scale is kept. In the single file one word has one scale at all its slices, because differences along
time are what is compressed; elsewhere each row has its own, and is as exact as eight bits allow.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.model.knots import Integers
from wordtide.model.prior import Floats
from wordtide.questions.vectors import Vectors, lengths_of

#: The largest step of a direction's coordinate.
LEVELS = 127
_ROWS_AT_ONCE = 20_000  # of vectors in double precision
_LARGEST_NOISE = 65504.0  # of float16


@dataclass(frozen=True)
class Block:
    """Rows of quantised directions (N, d), relative noise per coordinate (N,), and flags of well-known words (N,)."""

    directions: npt.NDArray[np.int8]
    noise: npt.NDArray[np.float16]
    settled: npt.NDArray[np.uint8]

    def parts(self) -> tuple[bytes, bytes, bytes]:
        """The block as it is stored, in three parts."""
        return self.directions.tobytes(), self.noise.astype("<f2").tobytes(), self.settled.tobytes()

    def taken(self, rows: Integers) -> "Block":
        """Some of the rows."""
        return Block(self.directions[rows], self.noise[rows], self.settled[rows])


def joined(blocks: list[Block]) -> Block:
    """The rows of several blocks, one block after the other."""
    names = ("directions", "noise", "settled")
    return Block(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))


def word_blocks(
    vectors: Vectors, times: Floats, words: Integers, slices: Integers, one_scale: bool = False
) -> Iterator[tuple[Integers, Block]]:
    """Some words at a time: which of `words` (their places), and their block, word by word with all slices of each."""
    step = max(1, _ROWS_AT_ONCE // len(slices))
    for first in range(0, len(words), step):
        places = np.arange(first, min(first + step, len(words)))
        pairs = np.repeat(words[places], len(slices)), np.tile(slices, len(places))
        means = vectors.means_at_places(*pairs)
        variances = vectors.variances_at_places(*pairs) if vectors.uncertain else None
        yield (
            places,
            _block(vectors, pairs[0], times[pairs[1]], means, variances, len(slices) if one_scale else 1),
        )


def slice_block(vectors: Vectors, times: Floats, words: Integers, number: int) -> Block:
    """The block of all words at one slice, each row at its own scale."""
    time = float(times[number])
    variances = vectors.variances_at(time, words) if vectors.uncertain else None
    return _block(vectors, words, np.full(len(words), time), vectors.means_at(time, words), variances, 1)


def along_time(directions: npt.NDArray[np.int8], slices: int) -> npt.NDArray[np.int8]:
    """Differences of each word's rows along time, modulo 256; its first row is left as it is."""
    curves = directions.reshape(-1, slices, directions.shape[1]).view(np.uint8)
    differences = curves.copy()
    differences[:, 1:] -= curves[:, :-1]
    return differences.reshape(directions.shape).view(np.int8)


def _block(
    vectors: Vectors,
    words: Integers,
    times: Floats,
    means: Floats,
    variances: Floats | None,
    rows_per_scale: int,
) -> Block:
    lengths, spread = lengths_of(means), np.zeros_like(means) if variances is None else variances
    noise = np.full(len(means), np.nan)
    if variances is not None:
        with np.errstate(invalid="ignore"):
            noise = np.fmin(np.sqrt(variances.mean(axis=1)) / lengths, _LARGEST_NOISE)
    return Block(
        directions=quantised(means, rows_per_scale),
        noise=noise.astype(np.float16),
        settled=vectors.are_known(words, times, means, spread).astype(np.uint8),
    )


def quantised(means: Floats, rows_per_scale: int) -> npt.NDArray[np.int8]:
    """Vectors (N, d) in steps of 1/127 of the largest coordinate in each group of rows; zeros stay zeros."""
    groups = means.reshape(-1, rows_per_scale * means.shape[1])
    largest = np.abs(groups).max(axis=1, keepdims=True, initial=0.0)
    steps = np.divide(groups * LEVELS, largest, out=np.zeros_like(groups), where=largest > 0)
    levels: npt.NDArray[np.int8] = np.rint(steps).astype(np.int8)
    return levels.reshape(means.shape)
