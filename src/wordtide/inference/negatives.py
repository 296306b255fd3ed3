"""Which contexts stand for all of them: an unbiased sample of fixed size in which the heavy ones are always present."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def sample_by_weight(weights: Floats, size: int, generator: np.random.Generator) -> tuple[npt.NDArray[np.int64], Floats]:
    """Items and their weights in the sample, so that the weighted sum over the sample estimates the one over all items.

    An item is drawn with probability min(1, weight / threshold), with the threshold that makes `size` items expected, and then
    weighs max(weight, threshold): heavy items are exact, and only the tail is sampled (systematically, in the given order).
    """
    if size >= len(weights):
        return np.arange(len(weights)), weights
    threshold = _threshold(weights, size)
    inclusion = np.minimum(1.0, weights / threshold)
    ends = np.cumsum(inclusion)
    ticks = np.floor(ends + generator.random())
    drawn = np.flatnonzero(np.diff(ticks, prepend=0.0) >= 1.0)
    return drawn, np.maximum(weights[drawn], threshold)


def _threshold(weights: Floats, size: int) -> float:
    """The threshold at which the inclusion probabilities add up to `size`."""
    descending = np.sort(weights)[::-1]
    rest = np.cumsum(descending[::-1])[::-1]  # the sum of this weight and all lighter ones
    heavy = np.arange(size)
    candidates = rest[:size] / (size - heavy)  # the threshold, if exactly this many items are heavy
    return float(candidates[np.flatnonzero(descending[:size] <= candidates)[0]])
