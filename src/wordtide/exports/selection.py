"""Which vectors are exported, and of which words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.questions.vectors import Vectors, vectors_of
from wordtide.types import Array, Integers, Singles


@dataclass(frozen=True)
class Selection:
    """The words of a model to export, n of them, and the kind of vectors: "word", "context" or "sum"."""

    model: Embeddings
    rows: Integers  # (n,) the numbers of the words in the model, ascending
    kind: str
    vectors: Vectors

    @cached_property
    def words(self) -> list[str]:
        """The words, in the order of the vocabulary."""
        return [self.model.words[row] for row in self.rows]

    @property
    def has_deviations(self) -> bool:
        """Whether vectors have standard deviations; point estimates have none."""
        return self.vectors.uncertain

    def occurrences_at(self, time: float) -> Array:
        """Occurrences of the selected words in the slice of a time, (n,); zeros off the grid."""
        t = self.model.slice_at(time)
        return self.model.fitted.occurrences.of_slice(-1 if t is None else t)[self.rows]  # no slice is -1

    def means_at(self, time: float) -> Singles:
        """Means of the selected words at one time, (n, d)."""
        return self.vectors.means_at(time, self.rows).astype(np.float32)

    def deviations_at(self, time: float) -> Singles:
        """Standard deviations of the selected words at one time, (n, d)."""
        return np.sqrt(self.vectors.variances_at(time, self.rows)).astype(np.float32)

    def means_at_slices(self) -> Iterator[Singles]:
        """Means of the selected words at each slice, (n, d), in order of time."""
        return (means.astype(np.float32) for means in self.vectors.means_at_slices(self.rows))

    def deviations_at_slices(self) -> Iterator[Singles]:
        """Standard deviations of the selected words at each slice, (n, d), in order of time."""
        for variances in self.vectors.variances_at_slices(self.rows):
            yield np.sqrt(variances).astype(np.float32)


def select(model: Embeddings, vectors: str, words: Sequence[str] | None, top: int | None) -> Selection:
    """Select the given words, or the `top` most frequent ones over all slices, or all words."""
    if words is not None and top is not None:
        raise SettingsError("--words and --top both choose the words to keep.", "Give one of them.")
    if top is not None and top < 1:
        raise SettingsError(f"--top {top} keeps no words.", "Give a number of 1 or more.")
    if words is not None:
        if not len(words):
            raise SettingsError("The list of words to keep is empty.", "Give at least one word.")
        rows = np.unique([model.word_number(word) for word in words])
    elif top is not None:
        rows = np.sort(np.argsort(-model.total_occurrences, kind="stable")[:top])
    else:
        rows = np.arange(len(model.words))
    return Selection(model, rows, vectors, vectors_of(model, vectors, calibrated=False))
