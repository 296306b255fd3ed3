"""The words and slices on a page, and the note about those left out."""

from dataclasses import dataclass

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.spelling import counted
from wordtide.types import Floats, Integers

#: With so many slices curves look right, with so many words most searches succeed: a page that is too large
#: goes down to these, then to the fewest slices, and then to fewer words.
ENOUGH_SLICES, ENOUGH_WORDS, FEWEST_SLICES = 60, 2000, 12
#: The reason given when the user limited words or slices.
AS_REQUESTED = "as requested"


@dataclass(frozen=True)
class PageSelection:
    """Numbers of words, most frequent first (W,), and of slices in order of time (S,)."""

    words: Integers
    slices: Integers

    @property
    def rows(self) -> int:
        """The number of (word, slice) pairs."""
        return len(self.words) * len(self.slices)

    def most_frequent(self, number: int) -> "PageSelection":
        """Keep only the most frequent words."""
        return PageSelection(self.words[:number], self.slices)


def check_has_story(model: Embeddings) -> None:
    """Reject models in which nothing can move.

    Raises:
        SettingsError: The model has a single slice or no words.
    """
    if len(model) < 2:
        raise SettingsError(
            "This model has a single slice, so nothing moves and there is no story to show.",
            "Fit a model with several slices and a method other than static.",
        )
    if not len(model.words):
        raise SettingsError(
            "This model has no words.", "Count with a larger --vocabulary-size, and fit again."
        )


def select_all(model: Embeddings) -> PageSelection:
    """All words and slices."""
    return PageSelection(
        np.argsort(-model.total_occurrences.astype(np.float64), kind="stable"), np.arange(len(model))
    )


def select_requested(model: Embeddings, words: int | None, slices: int | None) -> PageSelection:
    """Select the most frequent words and some slices; None selects all."""
    kept = select_all(model)
    if words is not None:
        kept = kept.most_frequent(words)
    return (
        kept
        if slices is None
        else PageSelection(kept.words, thin_slices(model.times, model.slice_occurrences, slices))
    )


def thin_slices(times: Floats, richness: Floats, number: int) -> Integers:
    """Choose slices: the first, the last, and rich ones between them, evenly in time.

    Time is divided into equal intervals, and each contributes its richest slice. If intervals are empty, the
    slices furthest from those already chosen make up the number.

    Args:
        times: The times of all slices, (T,).
        richness: The number of tokens in each slice, (T,).
        number: How many slices to choose.

    Returns:
        The numbers of the chosen slices, in order of time.
    """
    if number >= len(times):
        return np.arange(len(times))
    if number < 2:
        raise SettingsError(f"{number} slices cannot show movement.", "Keep at least 2.")
    chosen = {0, len(times) - 1}
    inner = np.arange(1, len(times) - 1)
    stretch = np.floor((times[inner] - times[0]) / (times[-1] - times[0]) * (number - 2)).astype(np.int64)
    for one in np.unique(stretch)[: number - 2]:
        there = inner[stretch == one]
        chosen.add(int(there[np.argmax(richness[there])]))
    while len(chosen) < number:
        rest = np.setdiff1d(inner, list(chosen))
        distance = np.abs(times[rest, None] - times[sorted(chosen)]).min(axis=1)
        chosen.add(int(rest[np.lexsort((-richness[rest], -distance))[0]]))
    return np.array(sorted(chosen), dtype=np.int64)


def left_out(model: Embeddings, kept: PageSelection, why: str) -> dict[str, int | str | None]:
    """What the page lacks, for its header."""
    words, slices = len(model.words) - len(kept.words), len(model) - len(kept.slices)
    return {
        "words": words,
        "slices": slices,
        "why": _left_out_note(words, slices, why) if words or slices else None,
    }


def _left_out_note(words: int, slices: int, why: str) -> str:
    parts = [
        counted(slices, "slice") if slices else "",
        f"the {words:,} least frequent words" if words > 1 else "the least frequent word" if words else "",
    ]
    return (
        f"Left out: {' and '.join(part for part in parts if part)} ({why}). "
        "All answers on this page are based on the whole model."
    )
