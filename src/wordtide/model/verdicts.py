"""What follows from the evidence that `model.jumps` computes: which words changed, and when."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from wordtide.types import Flags, Floats, Integers

#: What may explain the messages of a word, besides a constant level.
SHAPES = ("outlier", "jump", "two jumps", "burst", "gradual", "diffusion")
OUTLIER, JUMP, TWO_JUMPS, BURST, RAMP, DIFFUSION = range(len(SHAPES))
#: A sudden change, a gradual one, and no significant change.
VERDICTS = ("jump", "gradual", "unsure")
#: The equal parts of a slice in which a jump may fall.
PARTS = 4
#: The share of words without a change among those with a verdict.
FALSE_DISCOVERIES = 0.05


@dataclass(frozen=True)
class Dynamics:
    """How each word moves, fields (L,). Dates are float years, NaN without a significant change.

    `shape`: an index of `SHAPES`, -1 without a significant change. `log_bayes_factor`: of the best change
    against none, NaN for a word that is not judged. `date`, `date_low`, `date_high`: of a jump the median and
    the 90 % credible interval, of a gradual change its middle, start and end. `second_date`: the second jump,
    or the end of a burst. `correlation`: that of the vectors before and after a jump.

    `questions.effect` adds `effect`, `effect_low` and `style` in bits, NaN without a significant change, and
    `function_word`: 1 for function words, 0 for others, NaN where that was not computed.
    """

    shape: Floats
    log_bayes_factor: Floats
    date: Floats
    date_low: Floats
    date_high: Floats
    second_date: Floats
    correlation: Floats
    effect: Floats
    effect_low: Floats
    style: Floats
    function_word: Floats

    @staticmethod
    def of_table(table: Floats) -> "Dynamics":
        """The record from an array (L, 11), as a model folder stores it; without effects, (L, 7)."""
        known = np.array(table, dtype=np.float64)
        missing = np.full((len(known), len(fields(Dynamics)) - known.shape[1]), np.nan)
        return Dynamics(*np.column_stack([known, missing]).T)

    def table(self) -> Floats:
        """All fields as one array, (L, 11)."""
        return np.column_stack(list(vars(self).values()))

    @property
    def significant(self) -> Flags:
        """Whether each word has a significant change, (L,)."""
        return self.shape >= 0

    @property
    def jumps(self) -> Flags:
        """Whether each word jumps, (L,)."""
        return np.isin(self.shape, (JUMP, TWO_JUMPS, BURST))

    def verdicts(self, words: Integers) -> list[str]:
        """The verdicts on some words: jump, gradual, or unsure if there is no significant change."""
        kinds = np.where(self.jumps, 0, np.where(self.significant, 1, 2))
        return [VERDICTS[kind] for kind in kinds[words]]


def level_means(a11: Any, a12: Any, a22: Any, b1: Any, b2: Any) -> tuple[Any, Any, Any]:
    """Solve A x = b for two levels; returns x_1, x_2 and the determinant of A.

    Takes numbers and NumPy arrays alike; `model.jumps` compiles it.
    """
    size = a11 * a22 - a12 * a12
    return (a22 * b1 - a12 * b2) / size, (a11 * b2 - a12 * b1) / size, size


def date_quantiles(weights: Floats, extents: Floats, levels: tuple[float, ...]) -> Floats:
    """Quantiles of the date of a jump.

    `weights` (n, parts + 1) are the probabilities that it falls into each of some equal parts of a slice, or
    between this slice and the next. Within a part, and between slices, all dates are equally probable.
    """
    parts = weights.shape[1] - 1
    edges = extents[:, :1] + (extents[:, 1:] - extents[:, :1]) * np.arange(parts + 1) / parts
    reached = np.concatenate([[0.0], np.cumsum(weights.ravel()[:-1])])
    return np.asarray(np.interp(levels, reached, edges.ravel()))


def discoveries(log_bayes_factor: Floats, rate: float = FALSE_DISCOVERIES) -> Flags:
    """Which words change: as many as the share of false ones among them allows, (L,).

    The share of changing words is chosen to make all Bayes factors as probable as possible. Each word then
    has a probability of no change, and the words with the smallest are taken while their mean is below
    `rate`.
    """
    factor = np.exp(np.clip(log_bayes_factor, -500.0, 500.0))
    share = 0.1
    for _ in range(200):
        share = float(np.mean(share * factor / (share * factor + 1.0 - share))) if len(factor) else 0.0
    unchanged = (1.0 - share) / (share * factor + 1.0 - share)
    order = np.argsort(unchanged, kind="stable")
    false = np.cumsum(unchanged[order]) / np.arange(1, len(order) + 1)
    found = np.zeros(len(factor), dtype=bool)
    found[order[: np.searchsorted(false, rate, side="right")]] = True
    return found
