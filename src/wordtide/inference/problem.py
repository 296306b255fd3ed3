"""The problem that a fit solves: the pairs of active words in each slice, and the knots of trajectories.

Both reductions are exact. A word without pairs in a slice has n+ = n- = 0 there, so the likelihood and its
gradients involve only the active words A_t; and a trajectory is stored only at its knots, the slices where
its word is active.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from wordtide.counts.counts import Counts
from wordtide.errors import InputError
from wordtide.model.knots import Knots
from wordtide.spelling import counted
from wordtide.types import Floats, Singles


@dataclass(frozen=True)
class SliceData:
    """One slice on its a active words: n+ as a symmetric sparse matrix, n- as an outer product.

    Attributes:
        words: Vocabulary indices in ascending order, (a,).
        indptr, indices, values: n+ in CSR form, (a, a).
        word_probability, context_probability: P_t and P'_t, (a,), each summing to 1.
        positives: The sum of n+.
        negatives: The sum of n-, where n-[i, j] = negatives P[i] P'[j] (Eq. S3).
        tied: Contexts are tied to words. Pairs of a word with itself are excluded, n- is symmetrized, and
            each unordered pair counts once.
    """

    words: npt.NDArray[np.int32]
    indptr: npt.NDArray[np.int32]
    indices: npt.NDArray[np.int32]
    values: Singles
    word_probability: Floats
    context_probability: Floats
    positives: float
    negatives: float
    tied: bool = False

    def __len__(self) -> int:
        return len(self.words)

    @property
    def pairs(self) -> float:
        """The number of pairs |n+| + |n-|, which normalizes likelihoods."""
        if not self.tied:
            return self.positives + self.negatives
        own = float(self.word_probability @ self.context_probability)
        return 0.5 * (self.positives + self.negatives * (1.0 - own))

    def positive_matrix(self) -> sp.csr_array:
        """n+ on the active words, (a, a), float64."""
        size = len(self.words)
        return sp.csr_array((self.values.astype(np.float64), self.indices, self.indptr), shape=(size, size))


@dataclass(frozen=True)
class PairSettings:
    """How pairs are constructed from counts: eta and gamma (Eqs. S1 to S3), and whether contexts are tied."""

    ratio: float = 1.0
    exponent: float = 0.75
    tied: bool = False


#: The pairs as the paper constructs them.
PAIRS_OF_PAPER = PairSettings()


def slice_data(positives: sp.csr_array, settings: PairSettings) -> SliceData:
    """Restrict a symmetric (L, L) matrix n+ to its active words."""
    sums = np.asarray(positives.sum(axis=1), dtype=np.float64).ravel()
    words = np.flatnonzero(sums > 0)
    local = np.zeros(len(sums), dtype=np.int32)
    local[words] = np.arange(len(words), dtype=np.int32)
    total = float(sums.sum())
    p = sums[words] / max(total, np.finfo(float).tiny)  # S1
    raised = p**settings.exponent  # S2, before normalization
    own = float(positives.diagonal().sum()) if settings.tied else 0.0
    if settings.tied:
        positives = _without_diagonal(positives)
    return SliceData(
        words=words.astype(np.int32),
        indptr=np.concatenate([[0], positives.indptr[1:][words]]).astype(np.int32),
        indices=local[positives.indices],
        values=positives.data.astype(np.float32),
        word_probability=p,
        context_probability=raised / max(float(raised.sum()), np.finfo(float).tiny),
        positives=total - own,
        negatives=total * settings.ratio,  # S3
        tied=settings.tied,
    )


def _without_diagonal(matrix: sp.csr_array) -> sp.csr_array:
    rows = np.repeat(np.arange(matrix.shape[0], dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    kept = rows != matrix.indices
    ends = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return sp.csr_array((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


class SlicesOnDemand(Sequence[SliceData]):
    """The slices of counts, prepared on access: counts stay on disk, with one slice in memory at a time."""

    def __init__(self, counts: Counts, settings: PairSettings) -> None:
        self._counts, self._settings = counts, settings
        self._latest: tuple[int, SliceData] | None = None
        self._active: dict[int, npt.NDArray[np.int32]] = {}

    def __len__(self) -> int:
        return len(self._counts)

    @overload
    def __getitem__(self, t: int) -> SliceData: ...
    @overload
    def __getitem__(self, t: slice) -> list[SliceData]: ...
    def __getitem__(self, t: int | slice) -> SliceData | list[SliceData]:
        if isinstance(t, slice):
            return [self[number] for number in range(*t.indices(len(self)))]
        t = range(len(self))[t]
        latest = self._latest  # other threads may replace it
        if latest is None or latest[0] != t:
            self._latest = latest = None  # free the memory of one slice before the next is prepared
            self._latest = latest = t, slice_data(self._counts[t], self._settings)
        return latest[1]

    def active(self, t: int) -> npt.NDArray[np.int32]:
        """Return the words with pairs in slice t, without preparing the slice."""
        if t not in self._active:
            self._active[t] = np.flatnonzero(self._counts.word_probability(t)).astype(np.int32)
        return self._active[t]


@dataclass(frozen=True)
class Problem:
    """All slices of a corpus, ready to fit. `slices[t]` is at `times[t]`."""

    words: list[str]
    times: Floats
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
        """The number of positive and negative pairs in all slices."""
        return float(sum(part.pairs for part in self.slices))


def problem_of(counts: Counts, settings: PairSettings = PAIRS_OF_PAPER, on_demand: bool = False) -> Problem:
    """Construct the problem of fitting counts.

    Args:
        counts: The counts.
        settings: How pairs are constructed from counts.
        on_demand: Prepare slices on access, for solvers that visit one at a time.

    Raises:
        InputError: There are no slices, a slice has no pairs, or the vocabulary has fewer than two words.
    """
    if len(counts) == 0:
        raise InputError("The counts have no slices.", "Count texts with words in them.")
    if len(counts.words) < 2:
        raise InputError(
            f"The vocabulary has {counted(len(counts.words), 'word')}, and a model needs at least two.",
            "Count again with a larger --vocabulary-size, or more text.",
        )
    lazy = SlicesOnDemand(counts, settings)
    slices: Sequence[SliceData] = (
        lazy if on_demand else [slice_data(positives, settings) for positives in counts]
    )
    problem = Problem(list(counts.words), counts.times, counts.labels, slices)
    empty = [label for t, label in enumerate(counts.labels) if len(problem.active_words(t)) == 0]
    if empty:
        raise InputError(
            f"{len(empty)} of {len(slices)} slices have no word pairs, the first is {empty[0]}.",
            "Count again with longer slices (--every), a larger --vocabulary-size, or without these dates "
            "(--since, --until).",
        )
    return problem


def pooled(problem: Problem, settings: PairSettings, apply: Callable[..., Iterable[Any]] = map) -> Problem:
    """Merge all slices into one, for the static model. Its time is the mean time, weighted by pairs.

    `apply` maps a function over independent items, as `Compute.map` does on several threads.
    """
    middle = (len(problem) + 1) // 2
    halves = [half for half in (range(middle), range(middle, len(problem))) if half]
    total = reduce(add, apply(partial(_merged, problem), halves))
    time = np.average(problem.times, weights=[part.positives for part in problem.slices])
    label = problem.labels[0] if len(problem) == 1 else f"{problem.labels[0]} to {problem.labels[-1]}"
    return Problem(problem.words, np.array([time]), [label], [slice_data(sp.csr_array(total), settings)])


def _merged(problem: Problem, slices: range) -> sp.csr_array:
    """Return the sum of n+ of some slices, (L, L)."""
    sums: list[sp.csr_array] = []  # in descending order of size, so that large sums are rarely added
    for t in slices:
        matrix = _in_vocabulary(problem.slices[t], len(problem.words))
        while sums and sums[-1].nnz <= matrix.nnz:
            matrix = sums.pop() + matrix
        sums.append(matrix)
    total = sums.pop()
    while sums:
        total = sums.pop() + total
    return total


def _in_vocabulary(part: SliceData, size: int) -> sp.csr_array:
    """Return n+ of a slice on the whole vocabulary, (L, L)."""
    indptr = np.zeros(size + 1, dtype=np.int64)
    indptr[part.words.astype(np.int64) + 1] = np.diff(part.indptr)
    return sp.csr_array(
        (part.values.astype(np.float64), part.words[part.indices], np.cumsum(indptr)), shape=(size, size)
    )
