"""How far the page's numbers are from the library's: measured on a sample of pairs each time a page is made.

The page has eight bits a coordinate. The library knows the noise of each coordinate; the page has one number a vector, and a
profile, common to all vectors, of how noise is shared out among the axes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.explorer.blocks import Block
from wordtide.model.knots import Integers
from wordtide.model.prior import Floats
from wordtide.questions.similarity import scaled, similarity_and_spread
from wordtide.questions.vectors import Vectors

_WORDS, _SLICES, _PAIRS = 200, 12, 4000
_SEED = 20260


@dataclass(frozen=True)
class Sample:
    """Words by their places among those kept (n,), and slices by their places (m,), from which pairs are drawn."""

    words: Integers
    slices: Integers

    @staticmethod
    def of(words: int, slices: int) -> "Sample":
        """A sample that is the same for the same sizes."""
        generator = np.random.default_rng([_SEED, words, slices])
        return Sample(
            np.sort(generator.choice(words, min(words, _WORDS), replace=False)),
            np.sort(generator.choice(slices, min(slices, _SLICES), replace=False)),
        )


@dataclass(frozen=True)
class Sampled:
    """Words and slices by their numbers, and the block that a page holds of them, word by word."""

    words: Integers
    slices: Integers
    block: Block


def page_similarity(
    block: Block, one: Integers, other: Integers, profile: Floats | None = None
) -> tuple[Floats, Floats]:
    """Similarity and spread of pairs of rows of a block, as a page works them out, (n,).

    Without a profile the noise of a vector is the same along all axes. With one, `profile` (d,), it is shared out by it.
    """
    directions, noise = block.directions.astype(np.float64), block.noise.astype(np.float64)
    shares = np.ones(directions.shape[1]) if profile is None else profile
    squared = np.einsum("nk,nk->n", directions, directions)
    squared[squared == 0.0] = np.nan  # a word without a direction is similar to none
    weighted = directions**2 @ shares / squared
    inner = np.einsum("nk,nk->n", directions[one], directions[other]) / np.sqrt(squared[one] * squared[other])
    variance = weighted[one] * noise[other] ** 2 + weighted[other] * noise[one] ** 2
    variance += (shares @ shares) * noise[one] ** 2 * noise[other] ** 2
    return np.clip(inner, -1.0, 1.0), np.sqrt(variance)


def noise_profile(vectors: Vectors, sampled: Sampled) -> Floats | None:
    """How noise is shared out among the axes, in the mean over words and slices (d,): 1 on average. None: no posterior."""
    if not vectors.uncertain:
        return None
    pairs = np.repeat(sampled.words, len(sampled.slices)), np.tile(sampled.slices, len(sampled.words))
    variances = vectors.variances_at_places(*pairs)
    profile: Floats = (variances / variances.mean(axis=1, keepdims=True)).mean(axis=0)
    return profile


def measured(vectors: Vectors, sampled: Sampled) -> dict[str, Any]:
    """What the header says of a page's exactness: the profile of the noise, and errors over random pairs of well-known words.

    The largest error of a similarity; the 95 % quantile of a spread's relative error, with noise alike along all axes
    (`spread`) and with noise by the profile (`profiled_spread`).
    """
    profile, block = noise_profile(vectors, sampled), sampled.block
    pairs = _pairs(block.settled.reshape(len(sampled.words), len(sampled.slices)))
    errors: dict[str, float | None] = {"similarity": None, "spread": None, "profiled_spread": None}
    if len(pairs):
        one, other, when = pairs.T
        words, slices, wide = sampled.words, sampled.slices, len(sampled.slices)
        means = [vectors.means_at_places(words[side], slices[when]) for side in (one, other)]
        variances = [vectors.variances_at_places(words[side], slices[when]) for side in (one, other)]
        true, true_spread = similarity_and_spread(
            *(scaled(*moments) for moments in zip(means, variances, strict=True))
        )
        found, spread = page_similarity(block, one * wide + when, other * wide + when)
        errors["similarity"] = float(np.nanmax(np.abs(found - true)))
        if profile is not None:
            profiled = page_similarity(block, one * wide + when, other * wide + when, profile)[1]
            errors["spread"], errors["profiled_spread"] = (
                float(np.nanquantile(np.abs(guess / true_spread - 1.0), 0.95)) for guess in (spread, profiled)
            )
    return {"noise_profile": profile, "quantisation": errors}


def _pairs(settled: npt.NDArray[np.uint8]) -> Integers:
    """Pairs of different words that are both known at a slice: (n, 3) of word, other word, slice."""
    generator, (words, slices) = np.random.default_rng(_SEED), settled.shape
    drawn: Integers = np.column_stack(
        [generator.integers(0, words, (_PAIRS, 2)), generator.integers(0, slices, _PAIRS)]
    )
    known = (settled[drawn[:, 0], drawn[:, 2]] > 0) & (settled[drawn[:, 1], drawn[:, 2]] > 0)
    pairs: Integers = drawn[known & (drawn[:, 0] != drawn[:, 1])]
    return pairs
