"""The answer of every method, and what can be asked of it."""

import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordtide.embeddings.folder import read_model
from wordtide.embeddings.notebook import model_card
from wordtide.embeddings.states import Embeddings, Times
from wordtide.embeddings.when import Time
from wordtide.questions.answers import Answer
from wordtide.questions.axis import axis
from wordtide.questions.change import MIN_OCCURRENCES, changed
from wordtide.questions.neighbors import analogy, neighbors
from wordtide.questions.over_time import neighbors_over_time
from wordtide.questions.similarity import similarity
from wordtide.questions.story import story
from wordtide.questions.surprise import surprises

if TYPE_CHECKING:
    import pandas as pd


class NoteWarning(UserWarning):
    """What the reader of an answer should know: a time outside the data, a word that does not occur there."""


class DynamicEmbeddings(Embeddings):
    """Trajectories of all words through time, and questions to them. Every answer is a data frame with 90 % intervals.

    Wherever a `time` is asked for: a year (1850, 1850.5), a date ("1862-12-01"), "first" or "last". A date that falls into a
    slice means the slice, any other the middle of what it names. None means all slices. `vectors` chooses word vectors
    ("word"), context vectors ("context") or their sum ("sum", the default). Where a method has no posterior (the baselines),
    intervals and probabilities are NaN. What should be known of an answer is a warning, and in `attrs["notes"]`.
    """

    @staticmethod
    def load(path: str | PathLike[str], check: bool = False) -> "DynamicEmbeddings":
        """Open a model folder; its states stay on disk. `check` compares all checksums and reads all numbers."""
        return DynamicEmbeddings(read_model(path, check), Path(path))

    def _repr_html_(self) -> str:
        return model_card(self)

    def neighbors(
        self,
        word: str,
        at: Time = "last",
        top: int = 10,
        by: str = "similarity",
        min_occurrences: int = 0,
        vectors: str | None = None,
    ) -> "pd.DataFrame":
        """The words nearest to a word at one time.

        Columns: word, similarity, low, high, probability (to be among the top), occurrences, inferred (the word does not occur
        near that time). Ranked `by` "similarity" or by the "low" end of its interval. `min_occurrences` counts in the slice.
        """
        return _frame(neighbors(self, word, at, top, by, min_occurrences, vectors))

    def neighbors_over_time(self, word: str, top: int = 10, vectors: str | None = None) -> "pd.DataFrame":
        """The words nearest to a word at every slice: time, word, similarity, low, high, occurrences."""
        return _frame(neighbors_over_time(self, word, top, vectors))

    def similarity(
        self, word: str, *others: str, times: Times = None, vectors: str | None = None
    ) -> "pd.DataFrame":
        """A word's similarity to others over time: time, word, other, similarity, low, high, and the occurrences of both."""
        return _frame(similarity(self, word, *others, times=times, vectors=vectors))

    def changed(
        self,
        since: Time | None = None,
        until: Time | None = None,
        top: int = 20,
        by: str = "low",
        min_occurrences: int = MIN_OCCURRENCES,
        vectors: str | None = None,
    ) -> "pd.DataFrame":
        """The words that changed most, each between two times: those given, or the first and the last in which it occurs.

        Columns: word, change (cosine distance), low, high, significant, probability (to be among the top), since, until,
        halfway_from, halfway_to, from, to, occurrences (between the two times). Ranked `by` "low", "probability" or
        "change". By "low", only words that moved by more than the noise are listed; if there is none, a note says so, and
        frequent words are listed by their change.
        """
        return _frame(changed(self, since, until, top, by, min_occurrences, vectors))

    def story(
        self,
        word: str,
        since: Time | None = None,
        until: Time | None = None,
        top: int = 5,
        vectors: str | None = None,
    ) -> "pd.DataFrame":
        """A word's neighbours at the start, half-way and at the end; the story in a sentence is `attrs["sentence"]`."""
        return _frame(story(self, word, since, until, top, vectors))

    def surprises(self, at: Time = "last", top: int = 20, min_occurrences: int = 1) -> "pd.DataFrame":
        """The words that are new at a slice, or used in another way, more than words of similar frequency.

        Columns: word, time, score (standard normal if nothing unusual happened), p_value, information (nats), occurrences.
        """
        return _frame(surprises(self, at, top, min_occurrences))

    def axis(
        self,
        words: str | Sequence[str],
        from_words: Sequence[str],
        to_words: Sequence[str],
        times: Times = None,
        vectors: str | None = None,
    ) -> "pd.DataFrame":
        """Where words stand between two poles over time: time, word, position (positive: nearer to `to_words`), low, high."""
        return _frame(
            axis(self, [words] if isinstance(words, str) else words, from_words, to_words, times, vectors)
        )

    def analogy(
        self,
        word: str,
        at: Time = "first",
        then: Time = "last",
        top: int = 10,
        by: str = "similarity",
        min_occurrences: int = 0,
        vectors: str | None = None,
    ) -> "pd.DataFrame":
        """Whose place a word of one time has at another: columns as of `neighbors`."""
        return _frame(analogy(self, word, at, then, top, by, min_occurrences, vectors))

    def update(
        self,
        source: object,
        *,
        grow: int = 0,
        grow_min_count: int = MIN_OCCURRENCES,
        threads: int | None = None,
        **counting: Any,
    ) -> "DynamicEmbeddings":
        """Append later slices to a model fitted by filtering, as if they had been there from the start; returns the model.

        `source`: counts, a counts folder, or texts as `wordtide.count` takes them, counted as those of the model were;
        `counting` are settings of `wordtide.count` (every, date_field, since, ...). `grow`: at most so many new words are let
        in, those that occur at least `grow_min_count` times (20) in the new texts, the most frequent first. A model from a
        folder is updated in its folder. `partial_fit` is another name for it.
        """
        from wordtide.streaming import (
            update as updating,
        )  # a door upwards: a model goes on by the filter that made it

        growing = {"grow": grow, "grow_min_count": grow_min_count}
        self._become(
            updating.update(self.fitted, self.path, source, threads=threads, **growing, **counting)[0]
        )
        return self

    partial_fit = update

    def save_html(self, path: str | PathLike[str], overwrite: bool = False, **options: Any) -> Path:
        """Write the explorer's page as one file that needs no network, and return its path.

        Options: `words` and `slices` to keep (what fits into `max_mb`, 40), `title`, `licence`, `map_words` (0: no map),
        `examples` (a counts folder whose sentences are shown), `threads`.
        """
        from wordtide.explorer import (
            explore as opening,
        )  # a door upwards: the page is made of a model, and asked for from it

        return opening.save_html(self, path, opening.PageOptions(**options), overwrite)

    def explore(self, port: int = 0, browser: bool = True, **options: Any) -> None:
        """Show the explorer's page from a server on this machine, until Ctrl-C. Options as for `save_html`."""
        from wordtide.explorer import explore as opening

        opening.serve(self, opening.PageOptions(**options), port=port, browser=browser)


def _frame(answer: Answer) -> "pd.DataFrame":
    for note in answer.notes:
        warnings.warn(note, NoteWarning, stacklevel=3)
    return answer.frame()


def load(path: str | PathLike[str], check: bool = False) -> DynamicEmbeddings:
    """Open a model folder: `DynamicEmbeddings.load`."""
    return DynamicEmbeddings.load(path, check)
