"""What follows from the evidence that `model.jumps` computes: which words changed, and when."""

import numpy as np

from wordtide.types import Flags, Floats

#: What may explain the messages of a word, besides a constant level.
SHAPES = ("outlier", "jump", "two jumps", "burst", "gradual", "diffusion")
OUTLIER, JUMP, TWO_JUMPS, BURST, RAMP, DIFFUSION = range(len(SHAPES))
#: The share of words without a change among those with a verdict.
FALSE_DISCOVERIES = 0.05


def date_quantiles(weights: Floats, extents: Floats, levels: tuple[float, ...]) -> Floats:
    """Quantiles of the date of a jump, from the probabilities (n, 2) that it is within a slice or after it.

    Within a slice, and between slices, all dates are equally probable.
    """
    return np.interp(levels, np.concatenate([[0.0], np.cumsum(weights.ravel()[:-1])]), extents.ravel())


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
