"""Quantized vectors for the page, and how far the page's similarities are from the library's.

A block of N rows is int8 directions (N, d), then float16 relative noise (N,), then uint8 flags (N,). The page
compares directions only, so it needs no scale. In the single file all slices of a word share one scale,
because the file stores differences along time; elsewhere each row has its own scale and is as exact as eight
bits allow.

The library knows the noise of each coordinate. The page has one number per vector and a profile, common to
all vectors, of how the noise is distributed over the axes. Every page states its errors, measured on a sample
of pairs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.questions.similarity import scaled, similarities, stretched
from wordtide.questions.vectors import Vectors, lengths_of
from wordtide.types import Bytes, Floats, Integers

#: The largest value of a quantized coordinate.
LEVELS = 127
_ROWS_AT_ONCE = 20_000  # of vectors in double precision
_LARGEST_NOISE = 65504.0  # of float16
_SAMPLE_WORDS, _SAMPLE_SLICES, _SAMPLE_PAIRS = 200, 12, 4000
_SEED = 20260


@dataclass(frozen=True)
class Block:
    """Quantized directions (N, d), relative noise per coordinate (N,), and flags of well-known words (N,)."""

    directions: npt.NDArray[np.int8]
    noise: npt.NDArray[np.float16]
    settled: Bytes

    def parts(self) -> tuple[bytes, bytes, bytes]:
        """The stored form of the block, in three parts."""
        return self.directions.tobytes(), self.noise.astype("<f2").tobytes(), self.settled.tobytes()

    def take(self, rows: Integers) -> "Block":
        """Some of the rows."""
        return Block(self.directions[rows], self.noise[rows], self.settled[rows])


def join_blocks(blocks: list[Block]) -> Block:
    """Concatenate the rows of several blocks."""
    names = ("directions", "noise", "settled")
    return Block(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))


def word_blocks(
    vectors: Vectors,
    times: Floats,
    words: Integers,
    slices: Integers,
    one_scale: bool = False,
    levels: int = LEVELS,
) -> Iterator[tuple[Integers, Block]]:
    """Quantize the vectors of words at slices, a few words at a time.

    Yields the positions of some words within `words`, and their block: word by word, each with all its
    slices. With `one_scale` all rows of a word share one scale. The fewer `levels`, the largest value of a
    coordinate, the smaller and the less exact is the block.
    """
    step = max(1, _ROWS_AT_ONCE // len(slices))
    for first in range(0, len(words), step):
        positions = np.arange(first, min(first + step, len(words)))
        pairs = np.repeat(words[positions], len(slices)), np.tile(slices, len(positions))
        means = vectors.means_at_places(*pairs)
        variances = vectors.variances_at_places(*pairs) if vectors.uncertain else None
        rows_per_scale = len(slices) if one_scale else 1
        yield (
            positions,
            _block(
                vectors, pairs[0], times[pairs[1]], means, variances, quantize(means, rows_per_scale, levels)
            ),
        )


def slice_block(vectors: Vectors, times: Floats, words: Integers, number: int) -> Block:
    """The block of all words at one slice, each row at its own scale."""
    time = float(times[number])
    variances = vectors.variances_at(time, words) if vectors.uncertain else None
    means = vectors.means_at(time, words)
    return _block(vectors, words, np.full(len(words), time), means, variances, quantize(means, 1))


def differences_along_time(directions: npt.NDArray[np.int8], slices: int) -> npt.NDArray[np.int8]:
    """Replace the rows of each word by differences along time, modulo 256; its first row stays."""
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
    directions: npt.NDArray[np.int8],
) -> Block:
    lengths, spread = lengths_of(means), np.zeros_like(means) if variances is None else variances
    with np.errstate(invalid="ignore"):
        noise = np.fmin(np.sqrt(spread.mean(axis=1)) / lengths, _LARGEST_NOISE)
    return Block(
        directions=directions,
        noise=noise.astype(np.float16),
        settled=vectors.are_known(words, times, means, spread).astype(np.uint8),
    )


def quantize(means: Floats, rows_per_scale: int, levels: int = LEVELS) -> npt.NDArray[np.int8]:
    """Vectors (N, d) in steps of 1/levels of the largest coordinate in a group of rows. Zeros stay zeros."""
    groups = means.reshape(-1, rows_per_scale * means.shape[1])
    largest = np.abs(groups).max(axis=1, keepdims=True, initial=0.0)
    steps = np.divide(groups * levels, largest, out=np.zeros_like(groups), where=largest > 0)
    rounded: npt.NDArray[np.int8] = np.rint(steps).astype(np.int8)
    return rounded.reshape(means.shape)


@dataclass(frozen=True)
class Sample:
    """Words (n,) and slices (m,) from which pairs are drawn, as positions among those on the page."""

    words: Integers
    slices: Integers

    @staticmethod
    def draw(words: int, slices: int) -> "Sample":
        """Draw a sample that depends only on the two sizes."""
        generator = np.random.default_rng([_SEED, words, slices])
        return Sample(
            np.sort(generator.choice(words, min(words, _SAMPLE_WORDS), replace=False)),
            np.sort(generator.choice(slices, min(slices, _SAMPLE_SLICES), replace=False)),
        )


@dataclass(frozen=True)
class SampledBlock:
    """The numbers of sampled words and slices, and what the page stores for them, word by word."""

    words: Integers
    slices: Integers
    block: Block


def page_similarity(
    block: Block,
    one: Integers,
    other: Integers,
    profile: Floats | None = None,
    share: float = 1.0,
    closeness: float = 0.0,
) -> tuple[Floats, Floats]:
    """Compute the similarities of pairs of rows, and their standard deviations, (n,) each, as the page does.

    `profile` says how noise is distributed over the axes, (d,), None: evenly; `share` is the share of the
    axes that it lies in, and `closeness` is by how much the prior is too sure that words have nothing in
    common.
    """
    directions, noise = block.directions.astype(np.float64), block.noise.astype(np.float64)
    shares = np.ones(directions.shape[1]) if profile is None else profile
    squared = np.einsum("nk,nk->n", directions, directions)
    squared[squared == 0.0] = np.nan  # a word without a direction has no similarities
    weighted = directions**2 @ shares / squared
    inner = np.einsum("nk,nk->n", directions[one], directions[other]) / np.sqrt(squared[one] * squared[other])
    variance = weighted[one] * noise[other] ** 2 + weighted[other] * noise[one] ** 2
    variance += share * (shares @ shares) * noise[one] ** 2 * noise[other] ** 2
    lengths = np.sqrt(1.0 + share * shares.sum() * noise**2)  # expected, in units of those of the means
    scale = 1.0 / (lengths[one] * lengths[other])
    mean = np.clip(inner * scale, -1.0, 1.0)
    found = stretched(mean, scale**2 * variance * (1.0 - mean**2), closeness)
    return found.mean, found.spread


def noise_profile(vectors: Vectors, sampled: SampledBlock) -> Floats | None:
    """The mean distribution of noise over the axes (d,), 1 on average; None without a posterior."""
    if not vectors.uncertain:
        return None
    pairs = np.repeat(sampled.words, len(sampled.slices)), np.tile(sampled.slices, len(sampled.words))
    variances = vectors.variances_at_places(*pairs)
    profile: Floats = (variances / variances.mean(axis=1, keepdims=True)).mean(axis=0)
    return profile


def quantization_facts(vectors: Vectors, sampled: SampledBlock) -> dict[str, Any]:
    """Measure the page's errors over random pairs of well-known words, for the header.

    Returns:
        `noise_profile`, `noise_share` (of the axes), `closeness` (of the calibration), and under
        `quantisation` (the name in the page's format) the largest error of a similarity and the 95 % quantile
        of the relative error of a standard deviation, with equal noise along all axes (`spread`) and with the
        profile (`profiled_spread`).
    """
    profile, block = noise_profile(vectors, sampled), sampled.block
    pairs = _draw_pairs(block.settled.reshape(len(sampled.words), len(sampled.slices)))
    errors: dict[str, float | None] = {"similarity": None, "spread": None, "profiled_spread": None}
    if len(pairs):
        one, other, when = pairs.T
        words, slices, wide = sampled.words, sampled.slices, len(sampled.slices)
        means = [vectors.means_at_places(words[side], slices[when]) for side in (one, other)]
        variances = [vectors.variances_at_places(words[side], slices[when]) for side in (one, other)]
        shape = vectors.noise_share, vectors.closeness
        true = similarities(*(scaled(*moments, *shape) for moments in zip(means, variances, strict=True)))
        rows = one * wide + when, other * wide + when
        _, spread = page_similarity(block, *rows, None, *shape)
        found, profiled = page_similarity(block, *rows, profile, *shape)
        errors["similarity"] = float(np.nanmax(np.abs(found - true.mean)))
        if profile is not None:
            errors["spread"], errors["profiled_spread"] = (
                float(np.nanquantile(np.abs(guess / true.spread - 1.0), 0.95)) for guess in (spread, profiled)
            )
    facts = {"noise_profile": profile, "noise_share": vectors.noise_share, "closeness": vectors.closeness}
    return {**facts, "quantisation": errors}


def _draw_pairs(settled: Bytes) -> Integers:
    """Pairs of different words that are both well known at a slice: (n, 3) of word, other word, slice."""
    generator, (words, slices) = np.random.default_rng(_SEED), settled.shape
    drawn: Integers = np.column_stack(
        [generator.integers(0, words, (_SAMPLE_PAIRS, 2)), generator.integers(0, slices, _SAMPLE_PAIRS)]
    )
    known = (settled[drawn[:, 0], drawn[:, 2]] > 0) & (settled[drawn[:, 1], drawn[:, 2]] > 0)
    pairs: Integers = drawn[known & (drawn[:, 0] != drawn[:, 1])]
    return pairs
