"""States (K, d) at the knots, read like arrays, that are collected, computed or checked when read."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.errors import FolderError
from wordtide.model.knots import Knots, narrowed
from wordtide.storage.arrays import REMEDY
from wordtide.types import Array, Integers, Singles

_WORDS_AT_ONCE = 256  # words whose rows are replaced together


class _ArrayLike:
    """What NumPy needs to read rows like an array (K, d); subclasses set the shape and return rows."""

    shape: tuple[int, ...]
    dtype = np.dtype(np.float32)
    ndim = 2

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: Any) -> Singles:
        raise NotImplementedError

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """All rows in memory."""
        return self[:].astype(dtype or np.float32, copy=False)


class SliceRows(_ArrayLike):
    """One quantity of all slices that reads like an array (K, d) in the order of the knots."""

    def __init__(self, knots: Knots, slices: Sequence[Singles], dim: int) -> None:
        self._knots, self._slices = knots, slices
        self.shape = (len(knots), dim)

    def __getitem__(self, chosen: Any) -> Singles:
        """The rows of a range of knots, or of the knots with these numbers."""
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


class SignedRows(_ArrayLike):
    """The context vectors S u of tied contexts: word vectors times signs (d,), read like an array (K, d)."""

    def __init__(self, rows: Singles, signs: Singles) -> None:
        self._rows, self._signs = rows, signs
        self.shape = rows.shape

    def __getitem__(self, chosen: Any) -> Singles:
        return np.asarray(self._rows[chosen] * self._signs)


def are_possible(name: str, rows: Array) -> bool:
    """Whether the numbers of an array are finite and, unless they are means, not negative."""
    low, high = (rows.min(), rows.max()) if rows.size else (0.0, 0.0)  # NaN if one of them is
    return bool(np.isfinite(low) and np.isfinite(high) and (low >= 0 or name.startswith("mean")))


class CheckedRows(_ArrayLike):
    """An array (K, d) in a file whose numbers are checked when they are read.

    It serves models too large to check when they are loaded.
    """

    def __init__(self, rows: Singles, name: str, folder: Path) -> None:
        self._rows = np.asarray(rows) if isinstance(rows, np.ndarray) else rows  # rows of a map are slow
        self._name, self._folder = name, folder
        self._sound: npt.NDArray[np.bool_] | None = None  # of each word, whether all rows are checked
        self.shape, self.dtype, self.ndim = rows.shape, rows.dtype, rows.ndim

    def __getitem__(self, chosen: Any) -> Singles:
        taken: Singles = self._rows[chosen]
        self.check(taken)
        return taken

    def with_words(self, knots: Knots, words: Integers) -> Singles:
        """The whole array for compiled code, after a check of all rows of some words."""
        if self._sound is None:
            self._sound = np.zeros(len(knots.starts) - 1, dtype=bool)
        new = np.unique(words[~self._sound[words]])
        for run in np.split(new, np.flatnonzero(np.diff(new) > 1) + 1) if len(new) else ():
            self.check(self._rows[knots.starts[run[0]] : knots.starts[run[-1] + 1]])
        self._sound[new] = True
        return self._rows

    def check(self, rows: Array) -> None:
        """Raise FolderError for impossible numbers."""
        if not are_possible(self._name, rows):
            problem = f"The model in {self._folder} is damaged: {self._name} holds impossible numbers."
            raise FolderError(problem, REMEDY)


class PatchedRows(_ArrayLike):
    """An array (K, d) in which the rows of some words are replaced when they are first read.

    `rows_of` returns the new rows of some words, concatenated.
    """

    def __init__(
        self, rows: Singles, knots: Knots, words: Integers, rows_of: Callable[[Integers], Singles]
    ) -> None:
        self.shape = rows.shape
        self._rows, self._words, self._rows_of = rows, words, rows_of
        self._places = np.full(len(rows), -1, dtype=np.int32)  # of the new values
        self._starts = np.concatenate([[0], np.cumsum(knots.starts[words + 1] - knots.starts[words])])
        self._values = np.empty((self._starts[-1], self.shape[1]), dtype=np.float32)
        self._missing = np.ones(len(words), dtype=bool)
        for n, word in enumerate(words):
            self._places[knots.rows_of(int(word))] = np.arange(self._starts[n], self._starts[n + 1])

    @property
    def parts(self) -> tuple[Singles, npt.NDArray[np.int32], Singles]:
        """The array; for each row, the number of the row that replaces it (-1: none); and the new rows."""
        self._fill(self._starts[:-1][self._missing])
        return self._rows, self._places, self._values

    def __getitem__(self, chosen: Any) -> Singles:
        taken, places = self._rows[chosen], self._places[chosen]
        if isinstance(chosen, slice):
            taken = taken.copy()
        replaced = places >= 0
        self._fill(places[replaced])
        taken[replaced] = self._values[places[replaced]]
        return np.asarray(taken)

    def _fill(self, places: Integers) -> None:
        """Compute missing values in some places."""
        owners = np.unique(np.searchsorted(self._starts, places, side="right") - 1)
        owners = owners[self._missing[owners]]
        for first in range(0, len(owners), _WORDS_AT_ONCE):
            some = owners[first : first + _WORDS_AT_ONCE]
            there = np.concatenate([np.r_[self._starts[n] : self._starts[n + 1]] for n in some])
            self._values[there] = self._rows_of(self._words[some])
            self._missing[some] = False
