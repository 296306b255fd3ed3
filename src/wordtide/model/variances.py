"""Marginal variances of all trajectories at their knots: a Kalman pass forward and a Rauch-Tung-Striebel pass back.

The covariance of the posterior over one word's knots is (Pi + diag(h))^-1; its diagonal is wanted. Both passes add and divide
positive numbers only, so nothing cancels. Words are sorted by their number of knots, so that step k works on all words with
more than k knots at once.
"""

import numpy as np
import numpy.typing as npt

from wordtide.model.knots import Integers
from wordtide.model.prior import Floats, Places

_WORDS_AT_ONCE = 256  # rows of 100 float64 for so many words stay in the processor's cache


def passages(starts: Integers, places: Places) -> tuple[Floats, Floats]:
    """Gain and noise of the prior from each knot's predecessor to the knot, (K,); a word's first knot comes from nothing."""
    total = len(places.marginal)
    gain, noise = np.zeros(total), places.marginal.copy()
    if total > 1:
        gain[1:], noise[1:] = places[:-1].to(places[1:])
    first = starts[:-1][starts[:-1] < starts[1:]]
    gain[first], noise[first] = 0.0, places.marginal[first]
    return gain, noise


def marginal_variances(
    starts: Integers,
    gain: Floats,
    noise: Floats,
    precision: npt.NDArray[np.floating],
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Var[x] at each knot, (K, d), from the `passages` (K,) of the prior and the precision h (K, d) that the data add."""
    variance = np.empty(precision.shape, dtype=dtype)
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    for first in range(0, len(order), _WORDS_AT_ONCE):
        words = order[first : first + _WORDS_AT_ONCE]
        # longer[k]: how many of these words have more than k knots
        longer = np.searchsorted(-lengths[words], -np.arange(lengths[words[0]] + 1), side="left")
        _forward(variance, starts[words], longer, gain, noise, precision)
        _backward(variance, starts[words], longer, gain, noise)
    return variance


def _forward(
    variance: npt.NDArray[np.floating],
    starts: Integers,
    longer: Integers,
    gain: Floats,
    noise: Floats,
    precision: npt.NDArray[np.floating],
) -> None:
    """Fill in the variance given the data of the knot itself and of those before it."""
    filtered = np.zeros((len(starts), precision.shape[1]))
    for k, words in enumerate(longer[:-1]):
        rows = starts[:words] + k
        predicted = gain[rows, None] ** 2 * filtered[:words] + noise[rows, None]
        filtered[:words] = predicted / (1.0 + precision[rows] * predicted)
        variance[rows] = filtered[:words]


def _backward(
    variance: npt.NDArray[np.floating], starts: Integers, longer: Integers, gain: Floats, noise: Floats
) -> None:
    """Bring in the data of the knots after, from the last but one back to the first."""
    for k in range(len(longer) - 3, -1, -1):
        rows = starts[: longer[k + 1]] + k
        step, added = gain[rows + 1, None], noise[rows + 1, None]
        filtered = variance[rows].astype(np.float64)
        predicted = step**2 * filtered + added
        variance[rows] = (
            filtered * added / predicted + (step * filtered / predicted) ** 2 * variance[rows + 1]
        )
