"""What is to be fitted: counts on the words that occur, slice by slice, and the knots where trajectories are observed.

Both reductions are exact. A word that has no pair in a slice has n+ = n- = 0 there, so the likelihood and its gradients live on
the active words A_t alone; and its trajectory is stored only at its knots, the slices where it is active.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from wordtide.counts.counts import Counts
from wordtide.errors import InputError
from wordtide.model.knots import Knots


@dataclass(frozen=True)
class SliceData:
    """One slice on its a active words: n+ as a symmetric sparse matrix in local numbers, n- as the product of two vectors.

    `words` (a,): numbers in the vocabulary, ascending. `indptr`, `indices`, `values`: n+ in CSR form (a, a).
    `word_probability` P_t and `context_probability` P'_t, (a,), each summing to 1. `positives` is the sum of n+.
    n-[i, j] = `negatives` P[i] P'[j]: the supplement's "Construction of n-".
    """

    words: npt.NDArray[np.int32]
    indptr: npt.NDArray[np.int32]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    word_probability: npt.NDArray[np.float64]
    context_probability: npt.NDArray[np.float64]
    positives: float
    negatives: float

    def __len__(self) -> int:
        return len(self.words)

    @property
    def pairs(self) -> float:
        """|n+| + |n-|, by which likelihoods are divided."""
        return self.positives + self.negatives

    def positive_matrix(self) -> sp.csr_array:
        """n+ on the active words, (a, a), float64."""
        size = len(self.words)
        return sp.csr_array((self.values.astype(np.float64), self.indices, self.indptr), shape=(size, size))

    def negative_matrix(self) -> npt.NDArray[np.float64]:
        """n- on the active words, (a, a): for small problems and tests only."""
        return self.negatives * np.outer(self.word_probability, self.context_probability)


def slice_data(positives: sp.csr_array, ratio: float, exponent: float) -> SliceData:
    """The active part of a symmetric (L, L) matrix n+; `ratio` is eta, `exponent` gamma (supplement, Eqs. S1 to S3)."""
    sums = np.asarray(positives.sum(axis=1), dtype=np.float64).ravel()
    words = np.flatnonzero(sums > 0)
    local = np.zeros(len(sums), dtype=np.int32)
    local[words] = np.arange(len(words), dtype=np.int32)
    indptr = np.concatenate([[0], positives.indptr[1:][words]])
    total = float(sums.sum())
    p = sums[words] / max(total, np.finfo(float).tiny)
    raised = p**exponent
    return SliceData(
        words=words.astype(np.int32),
        indptr=indptr.astype(np.int32),
        indices=local[positives.indices],
        values=positives.data.astype(np.float32),
        word_probability=p,
        context_probability=raised / max(float(raised.sum()), np.finfo(float).tiny),
        positives=total,
        negatives=total * ratio,
    )


class SlicesOnDemand(Sequence[SliceData]):
    """The slices of counts, each prepared when it is asked for: counts stay on disk, and one slice is in memory at a time."""

    def __init__(self, counts: Counts, ratio: float, exponent: float) -> None:
        self._counts, self._ratio, self._exponent = counts, ratio, exponent
        self._latest: tuple[int, SliceData] | None = None
        self._active: dict[int, npt.NDArray[np.int32]] = {}

    def __len__(self) -> int:
        return len(self._counts)

    @overload
    def __getitem__(self, t: int) -> SliceData: ...
    @overload
    def __getitem__(self, t: slice) -> list[SliceData]: ...
    def __getitem__(self, t: int | slice) -> SliceData | list[SliceData]:
        """Slice t."""
        if isinstance(t, slice):
            return [self[number] for number in range(*t.indices(len(self)))]
        t = range(len(self))[t]
        if self._latest is None or self._latest[0] != t:
            self._latest = None  # two at a time would be one too many
            self._latest = t, slice_data(self._counts[t], self._ratio, self._exponent)
        return self._latest[1]

    def active(self, t: int) -> npt.NDArray[np.int32]:
        """The words that have pairs in slice t, without preparing it."""
        if t not in self._active:
            self._active[t] = np.flatnonzero(self._counts.word_probability(t)).astype(np.int32)
        return self._active[t]


@dataclass(frozen=True)
class Problem:
    """All slices of a corpus, ready to be fitted. `slices[t]` belongs to `times[t]`."""

    words: list[str]
    times: npt.NDArray[np.float64]
    labels: list[str]
    slices: Sequence[SliceData]

    def __len__(self) -> int:
        return len(self.slices)

    @cached_property
    def knots(self) -> Knots:
        """The knots of all words."""
        active = [self.active_words(t) for t in range(len(self))]
        words = np.concatenate(active)
        slices = np.repeat(np.arange(len(active), dtype=np.int32), [len(part) for part in active])
        order = np.argsort(words, kind="stable")
        starts = np.searchsorted(words[order], np.arange(len(self.words) + 1))
        return Knots(starts.astype(np.int64), slices[order])

    def active_words(self, t: int) -> npt.NDArray[np.int32]:
        """The words of slice t."""
        return self.slices.active(t) if isinstance(self.slices, SlicesOnDemand) else self.slices[t].words

    @property
    def pairs(self) -> float:
        """The number of positive and negative pairs of all slices."""
        return float(sum(part.pairs for part in self.slices))


def problem_of(counts: Counts, ratio: float, exponent: float, on_demand: bool = False) -> Problem:
    """The problem that counts pose. Counts without any pair, or a vocabulary of one word, are refused.

    `on_demand`: slices are prepared when they are asked for, for solvers that go from one to the next.
    """
    if len(counts) == 0:
        raise InputError("The counts have no slices.", "Count texts with words in them.")
    if len(counts.words) < 2:
        raise InputError(
            f"The vocabulary has {len(counts.words)} word{'s' * (len(counts.words) != 1)}, and a model needs at least two.",
            "Count again with a larger --vocabulary-size, or more text.",
        )
    lazy = SlicesOnDemand(counts, ratio, exponent)
    slices: Sequence[SliceData] = (
        lazy if on_demand else [slice_data(positives, ratio, exponent) for positives in counts]
    )
    problem = Problem(list(counts.words), counts.times, counts.labels, slices)
    empty = [label for t, label in enumerate(counts.labels) if len(problem.active_words(t)) == 0]
    if empty:
        raise InputError(
            f"{len(empty)} of {len(slices)} slices have no word pairs, the first is {empty[0]}.",
            "Count again with longer slices (--every), a larger --vocabulary-size, or without these dates (--since, --until).",
        )
    return problem


def pooled(problem: Problem, ratio: float, exponent: float) -> Problem:
    """All slices as one: what the static model is fitted to. Its time is the mean of the times, weighted by their pairs."""
    size = len(problem.words)
    total = sp.csr_array((size, size), dtype=np.float64)
    for part in problem.slices:
        total = total + _in_vocabulary(part, size)
    time = np.average(problem.times, weights=[part.positives for part in problem.slices])
    label = problem.labels[0] if len(problem) == 1 else f"{problem.labels[0]} to {problem.labels[-1]}"
    return Problem(
        problem.words, np.array([time]), [label], [slice_data(sp.csr_array(total), ratio, exponent)]
    )


def _in_vocabulary(part: SliceData, size: int) -> sp.csr_array:
    """n+ of a slice on all words, (L, L)."""
    indptr = np.zeros(size + 1, dtype=np.int64)
    indptr[part.words.astype(np.int64) + 1] = np.diff(part.indptr)
    return sp.csr_array(
        (part.values.astype(np.float64), part.words[part.indices], np.cumsum(indptr)), shape=(size, size)
    )
