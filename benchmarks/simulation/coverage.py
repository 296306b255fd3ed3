"""Simulation-based calibration: how often posterior intervals hold a truth that was drawn from the prior.

If truths come from the prior, data from the likelihood, and draws from the exact posterior, then the rank of
a truth among n draws is uniform on 0 ... n. Ranks crowd at both ends if the posterior is too narrow, in the
middle if it is too wide, and at one end if it is off to one side. A central interval holds the truth if its
rank is far enough from both ends, so coverage is a sum over ranks too. Quantities of one world depend on each
other, so errors are those between worlds.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from wordtide.errors import SettingsError
from wordtide.types import Floats

Ranks = npt.NDArray[np.int64]
#: With this many draws a rank is one of 200, and intervals of 50 % and 90 % are whole numbers of ranks.
DRAWS = 199


def ranks_of(truth: Floats, draws: Floats) -> Ranks:
    """The number of draws (n, ...) below each truth (...), flattened."""
    return np.asarray((draws < truth).sum(axis=0), dtype=np.int64).ravel()


def ranks_of_normal(truth: Floats, mean: Floats, spread: Floats, draws: int = DRAWS) -> Ranks:
    """The ranks that truths have, on average, among draws from normal distributions, flattened."""
    below = stats.norm.cdf((truth - mean) / spread)
    return np.minimum(np.floor(below * (draws + 1)), draws).astype(np.int64).ravel()


def is_covered(ranks: Ranks, level: float, draws: int = DRAWS) -> npt.NDArray[np.bool_]:
    """Whether central intervals of this level hold the truth.

    The level must be a whole number of ranks on either side.
    """
    outside = (1.0 - level) / 2.0 * (draws + 1)
    if not 0 < level < 1 or abs(outside - round(outside)) > 1e-9 or round(outside) < 1:
        raise SettingsError(
            f"{draws} draws cannot tell an interval of level {level}.",
            "Give a number of draws n such that (1 - level) / 2 times n + 1 is a whole number, like 199 for 0.9 and 0.5.",
        )
    return np.asarray((ranks >= round(outside)) & (ranks <= draws - round(outside)))


@dataclass(frozen=True)
class Share:
    """A share of all cases, and its standard error between worlds."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} ± {100 * self.error:.1f}"


def coverage(worlds: list[Ranks], level: float, draws: int = DRAWS) -> Share:
    """How often intervals hold the truth: the mean over worlds, each with its ranks (n,).

    >>> print(coverage([np.arange(200), np.arange(200)], 0.9))
    90.0 ± 0.0
    """
    held = np.array([is_covered(ranks, level, draws).mean() for ranks in worlds])
    return Share(
        float(held.mean()), float(held.std(ddof=1) / np.sqrt(len(held))) if len(held) > 1 else float("nan")
    )


def histogram(worlds: list[Ranks], bins: int = 10, draws: int = DRAWS) -> Floats:
    """The share of ranks in equal bins, of each world, (number of worlds, bins)."""
    edges = np.linspace(0, draws + 1, bins + 1)
    return np.array([np.histogram(ranks, edges)[0] / max(1, len(ranks)) for ranks in worlds])


@dataclass(frozen=True)
class Uniformity:
    """Are ranks uniform?

    `statistic`: a chi-square; `p_value`: of Hotelling's test, which knows how many worlds there were.
    """

    statistic: float
    p_value: float


def uniformity(worlds: list[Ranks], bins: int = 10, draws: int = DRAWS) -> Uniformity:
    """Test that the histogram of ranks is flat, with the variance between worlds: within a world ranks go
    together.
    """
    shares = histogram(worlds, bins, draws)[:, :-1]  # the last bin follows from the others
    count, free = shares.shape
    if count <= free:
        raise SettingsError(
            f"{count} worlds are too few for {bins} bins.", f"Give more than {free} worlds, or fewer bins."
        )
    apart = shares.mean(axis=0) - 1.0 / bins
    statistic = float(count * apart @ np.linalg.solve(np.atleast_2d(np.cov(shares.T)), apart))
    ratio = statistic * (count - free) / (free * (count - 1))
    return Uniformity(statistic, float(stats.f.sf(ratio, free, count - free)))


def needed_factor(deviations: Floats, level: float = 0.9) -> float:
    """By how much intervals of this level would have to be wider, from (truth - mean) / spread of all cases."""
    return float(np.quantile(np.abs(deviations), level) / stats.norm.ppf(0.5 + level / 2.0))
