"""Which words and slices a page holds, and what is said of those it leaves out."""

from dataclasses import dataclass

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.model.knots import Integers
from wordtide.model.prior import Floats

#: A page that must be thinned keeps at least so many slices before it leaves out words.
FEWEST_SLICES = 12
#: Why something is left out, if nothing else is the reason.
AS_ASKED = "as asked for"


@dataclass(frozen=True)
class Kept:
    """Numbers of words in falling order of their occurrences (W,), and of slices in order of time (S,)."""

    words: Integers
    slices: Integers

    @property
    def rows(self) -> int:
        """The number of (word, slice) pairs."""
        return len(self.words) * len(self.slices)

    def with_words(self, number: int) -> "Kept":
        """The most frequent of these words."""
        return Kept(self.words[:number], self.slices)


def check_has_story(model: Embeddings) -> None:
    """Refuse a model without time, of which there is no story to tell."""
    if len(model) < 2:
        raise SettingsError(
            f"This model has {len(model)} slice: nothing moves in it, so there is no story to show.",
            "Fit a model with several slices, by another method than static.",
        )
    if not len(model.words):
        raise SettingsError(
            "This model has no words.", "Count with a larger --vocabulary-size, and fit again."
        )


def everything(model: Embeddings) -> Kept:
    """All words and slices."""
    return Kept(np.argsort(-model.total_occurrences.astype(np.float64), kind="stable"), np.arange(len(model)))


def asked_for(model: Embeddings, words: int | None, slices: int | None) -> Kept:
    """As many of the most frequent words, and of the slices, as a user asks for; None: all."""
    kept = everything(model)
    if words is not None:
        kept = kept.with_words(words)
    return (
        kept
        if slices is None
        else Kept(kept.words, thinned_slices(model.times, tokens_of_slices(model), slices))
    )


def tokens_of_slices(model: Embeddings) -> Floats:
    """Occurrences of all words of the vocabulary in each slice, (T,)."""
    occurrences = model.fitted.occurrences
    return np.bincount(occurrences.places.slices, weights=occurrences.values, minlength=len(model)).astype(
        np.float64
    )


def thinned_slices(times: Floats, richness: Floats, number: int) -> Integers:
    """The numbers of some slices in order: the first, the last, and between them rich ones evenly in time.

    Time is cut into equal stretches, of which each gives its richest slice. Where stretches are empty, slices furthest from
    those already chosen fill up the number.
    """
    if number >= len(times):
        return np.arange(len(times))
    if number < 2:
        raise SettingsError(f"{number} slices show no movement.", "Keep at least 2.")
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


def left_out(model: Embeddings, kept: Kept, why: str) -> dict[str, int | str | None]:
    """What a page does not hold, for its header."""
    words, slices = len(model.words) - len(kept.words), len(model) - len(kept.slices)
    return {"words": words, "slices": slices, "why": _told(words, slices, why) if words or slices else None}


def _told(words: int, slices: int, why: str) -> str:
    parts = [
        f"{slices:,} slice{'s' * (slices != 1)}" if slices else "",
        f"the {words:,} least frequent words" if words > 1 else "the least frequent word" if words else "",
    ]
    return f"Left out: {' and '.join(part for part in parts if part)} ({why}). The answers that are here rest on all of them."
