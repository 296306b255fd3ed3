"""The probability to be among the best k: how often a word is, when all of them are drawn from the posterior.

Vectors are compared at the lengths they are drawn with, not at those of their means. A word that is hardly known has a short
mean and much noise; measured by its mean alone it would often be drawn as nearest, or as having moved furthest, of all.
"""

import numpy as np
import numpy.typing as npt

from wordtide.types import Floats

#: A probability from so many draws is off by 0.015 or less, mostly.
DRAWS = 1000
_AT_ONCE = 250  # draws: a few hundred words of so many stay in the processor's cache


def share_among_best(draws: npt.NDArray[np.floating], best: int) -> Floats:
    """From draws (r, n): in which share of them each of n values is one of the `best` largest, (n,)."""
    if draws.shape[1] <= best:
        return np.ones(draws.shape[1])
    threshold = np.partition(draws, -best, axis=1)[:, -best, None]
    return np.asarray((draws >= threshold).mean(axis=0))


def probability_of_best(mean: Floats, spread: Floats, best: int, seed: int = 0) -> Floats:
    """For independent normal values: the probability of each to be one of the `best` largest, (n,)."""
    generator = np.random.default_rng([seed, best])
    single_mean, single_spread = mean.astype(np.float32), spread.astype(np.float32)
    shares = [
        share_among_best(
            single_mean + single_spread * generator.standard_normal((_AT_ONCE, len(mean)), dtype=np.float32),
            best,
        )
        for _ in range(DRAWS // _AT_ONCE)
    ]
    return np.asarray(np.mean(shares, axis=0))
