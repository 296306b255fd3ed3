"""Which contexts stand for all of them: an unbiased sample of fixed size in which the heavy ones are always present."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
AUTO = -1
_FEWEST = 64
_PER_PARTNER = 2  # contexts drawn, per distinct partner of a word on average


def contexts_for(words: int, pairs: int, wanted: int | None) -> int | None:
    """How many contexts to draw in a slice of some active words and distinct pairs; None: sum over all of them.

    The noise of a sample matters more the more a slice has to say, and a denser slice also takes longer over its positive
    pairs. So AUTO draws in proportion to the partners that a word has: noise and cost stay in balance.
    """
    number = max(_FEWEST, _PER_PARTNER * pairs // max(1, words)) if wanted == AUTO else wanted
    return None if number is None or number >= words else number


class WeightedSampler:
    """Draws items so that the weighted sum over the sample estimates the weighted sum over all items, without bias.

    An item is drawn with probability min(1, weight / threshold), with the threshold that makes `size` items expected, and then
    weighs max(weight, threshold): heavy items are exact, and only the tail is sampled (systematically, in the given order).
    """

    def __init__(self, weights: Floats, size: int) -> None:
        self._all = size >= len(weights)
        threshold = 0.0 if self._all else _threshold(weights, size)
        self._weights = weights if self._all else np.maximum(weights, threshold)
        self._ends = np.zeros(0) if self._all else np.cumsum(np.minimum(1.0, weights / threshold))

    def draw(self, generator: np.random.Generator) -> tuple[npt.NDArray[np.int64], Floats]:
        """Items, ascending, and their weights in the sum."""
        if self._all:
            return np.arange(len(self._weights)), self._weights
        ticks = np.floor(self._ends + generator.random())
        drawn = np.flatnonzero(np.diff(ticks, prepend=0.0) >= 1.0)
        return drawn, self._weights[drawn]


def _threshold(weights: Floats, size: int) -> float:
    """The threshold at which the inclusion probabilities add up to `size`."""
    descending = np.sort(weights)[::-1]
    rest = np.cumsum(descending[::-1])[::-1]  # the sum of this weight and all lighter ones
    heavy = np.arange(size)
    candidates = rest[:size] / (size - heavy)  # the threshold, if exactly this many items are heavy
    return float(candidates[np.flatnonzero(descending[:size] <= candidates)[0]])
