"""The columns that represent all negative pairs: an unbiased sample that always includes heavy words."""

import numpy as np
import numpy.typing as npt

from wordtide.types import Floats, Integers

AUTO = -1
_FEWEST = 64
_PER_PARTNER = 2  # columns drawn per distinct partner of a word, on average


def sample_size_for(words: int, pairs: int, wanted: int | None, tied: bool = False) -> int | None:
    """Return the number of columns to draw, given the active words and stored pairs of a slice; None: all.

    Sampling noise matters more the more data a slice has, and a denser slice also spends longer on its
    positive pairs. AUTO therefore draws in proportion to the partners of a word, which balances noise and
    cost. A tied slice draws once where a separate one draws for words and for contexts, so it draws twice as
    many: with fewer, the most frequent words seem to move (docs/planted.md).
    """
    number = wanted
    if wanted == AUTO:
        number = max(_FEWEST, _PER_PARTNER * pairs // max(1, words)) * (2 if tied else 1)
    return None if number is None or number >= words else number


class WeightedSampler:
    """Draws items so that sums over the sample are unbiased estimates of weighted sums over all items.

    An item is drawn with probability min(1, weight / threshold), with the threshold chosen so that `size`
    items are expected. Heavy items are always drawn; the tail is sampled systematically, in the given order.
    """

    def __init__(self, weights: Floats, size: int) -> None:
        self._number = len(weights)
        self._probability: Floats | None = None
        if size < len(weights):
            self._probability = np.minimum(1.0, weights / _threshold(weights, size))
            self._ends = np.cumsum(self._probability)

    def draw(self, generator: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw items. Returns them in ascending order, each with its inclusion probability."""
        if self._probability is None:
            return np.arange(self._number), np.ones(self._number)
        ticks = np.floor(self._ends + generator.random())
        drawn: npt.NDArray[np.int64] = np.flatnonzero(np.diff(ticks, prepend=0.0) >= 1.0)
        return drawn, self._probability[drawn]


def _threshold(weights: Floats, size: int) -> float:
    """Return the threshold at which the inclusion probabilities sum to `size`."""
    descending = np.sort(weights)[::-1]
    rest = np.cumsum(descending[::-1])[::-1]  # the sum of this weight and all lighter ones
    heavy = np.arange(size)
    candidates = rest[:size] / (size - heavy)  # the threshold, if exactly this many items are heavy
    return float(candidates[np.flatnonzero(descending[:size] <= candidates)[0]])
