"""States stored slice by slice, as a filter produces them, and read word by word, as questions need them.

A filter closes one slice after the other and never looks back, so the states of each slice are arrays of
their own, in memory or in a file. Questions number states by knots: word by word, each word's knots in order
of time. `SliceRows` translates between the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.model.knots import Knots, narrowed
from wordtide.types import Array, Singles

#: What is stored of each word of a slice: means and variances of its word vector (u) and its context vector
#: (v).
QUANTITIES = ("mean_u", "mean_v", "variance_u", "variance_v")
#: The same in a model with tied contexts, where the context vector follows from the word vector.
TIED_QUANTITIES = ("mean_u", "variance_u")


@dataclass(frozen=True)
class SliceStates:
    """A filter's states after one slice: the numbers of its a active words, ascending, and for each quantity
    (a, d) float32.

    With tied contexts there are no quantities of context vectors.
    """

    words: npt.NDArray[np.int32]
    mean_u: Singles
    mean_v: Singles | None
    variance_u: Singles
    variance_v: Singles | None

    def __len__(self) -> int:
        return len(self.words)

    @staticmethod
    def of(words: npt.NDArray[Any], mean: npt.NDArray[Any], variance: npt.NDArray[Any]) -> "SliceStates":
        """From the numbers of words, and means and variances (2, a, d): of word vectors, then of context
        vectors.

        With tied contexts (1, a, d).
        """
        means, variances = (
            [np.asarray(part, dtype=np.float32) for part in array] for array in (mean, variance)
        )
        if len(means) == 1:
            return SliceStates(np.asarray(words, dtype=np.int32), means[0], None, variances[0], None)
        return SliceStates(np.asarray(words, dtype=np.int32), *means, *variances)

    def arrays(self) -> dict[str, Array]:
        """All arrays there are, by name."""
        return {name: array for name, array in vars(self).items() if array is not None}


class SliceRows:
    """One quantity of all slices, read like an array (K, d) in the order of the knots."""

    def __init__(self, knots: Knots, slices: Sequence[Singles], dim: int) -> None:
        self._knots, self._slices = knots, slices
        self.shape = (len(knots), dim)
        self.dtype = np.dtype(np.float32)
        self.ndim = 2

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: Any) -> Singles:
        """The rows of some knots: a range of them, or those with these numbers."""
        if isinstance(chosen, slice):
            chosen = np.arange(*chosen.indices(len(self)))
        numbers = np.asarray(chosen)
        if numbers.dtype == bool:
            numbers = np.flatnonzero(numbers)
        flat = numbers.ravel()
        taken = np.empty((len(flat), self.shape[1]), dtype=np.float32)
        slices, rows = np.asarray(self._knots.slices)[flat], self._knots.places[flat]
        order = np.argsort(narrowed(slices), kind="stable")
        present, starts = np.unique(slices[order], return_index=True)
        for t, start, stop in zip(present, starts, np.append(starts, len(flat))[1:], strict=True):
            here = order[start:stop]
            taken[here] = self._slices[t][rows[here]]
        return taken.reshape(*numbers.shape, self.shape[1])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """All rows in memory."""
        return self[:].astype(dtype or np.float32, copy=False)


class SignedRows:
    """The context vectors S u of a model with tied contexts, read like an array (K, d): word vectors times
    signs (d,).
    """

    def __init__(self, rows: Singles, signs: Singles) -> None:
        self._rows, self._signs = rows, signs
        self.shape: tuple[int, ...] = rows.shape
        self.dtype = np.dtype(np.float32)
        self.ndim = 2

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: Any) -> Singles:
        return np.asarray(self._rows[chosen] * self._signs)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self[:].astype(dtype or np.float32, copy=False)
