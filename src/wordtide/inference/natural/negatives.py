"""Which columns stand for all negative pairs: an unbiased sample in which heavy words are always present."""

import numpy as np
import numpy.typing as npt

from wordtide.types import Floats, Integers

AUTO = -1
_FEWEST = 64
_PER_PARTNER = 2  # columns drawn per distinct partner of a word, on average


def sample_size_for(words: int, pairs: int, wanted: int | None) -> int | None:
    """How many columns to draw in a slice of some active words and stored pairs; None: all of them.

    Sampling noise matters more the more a slice has to say, and a denser slice also spends longer on its positive
    pairs. So AUTO draws in proportion to the partners of a word, which balances noise and cost.
    """
    number = max(_FEWEST, _PER_PARTNER * pairs // max(1, words)) if wanted == AUTO else wanted
    return None if number is None or number >= words else number


class WeightedSampler:
    """Draws items so that a weighted sum over the sample estimates the weighted sum over all items without bias.

    An item is drawn with probability min(1, weight / threshold), where the threshold makes `size` items expected. Heavy
    items are always drawn, and only the tail is sampled (systematically, in the given order).
    """

    def __init__(self, weights: Floats, size: int) -> None:
        self._number = len(weights)
        self._probability: Floats | None = None
        if size < len(weights):
            self._probability = np.minimum(1.0, weights / _threshold(weights, size))
            self._ends = np.cumsum(self._probability)

    def draw(self, generator: np.random.Generator) -> tuple[Integers, Floats]:
        """Items in ascending order, and the probability with which each is drawn."""
        if self._probability is None:
            return np.arange(self._number), np.ones(self._number)
        ticks = np.floor(self._ends + generator.random())
        drawn: npt.NDArray[np.int64] = np.flatnonzero(np.diff(ticks, prepend=0.0) >= 1.0)
        return drawn, self._probability[drawn]


def _threshold(weights: Floats, size: int) -> float:
    """The threshold at which the inclusion probabilities add up to `size`."""
    descending = np.sort(weights)[::-1]
    rest = np.cumsum(descending[::-1])[::-1]  # the sum of this weight and all lighter ones
    heavy = np.arange(size)
    candidates = rest[:size] / (size - heavy)  # the threshold, if exactly this many items are heavy
    return float(candidates[np.flatnonzero(descending[:size] <= candidates)[0]])
