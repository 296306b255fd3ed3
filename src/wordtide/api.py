"""The public interface in Python: fit a model, load one, and ask it questions.

This module is above all others except the command line. Everything below works on `Embeddings` and returns
`Answer`s; `DynamicEmbeddings` adds the questions as methods that return data frames.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordtide.embeddings import states
from wordtide.embeddings.notebook import model_card
from wordtide.embeddings.states import Embeddings, Times
from wordtide.errors import SettingsError
from wordtide.questions.answers import Answer
from wordtide.questions.change import MIN_OCCURRENCES, changed
from wordtide.questions.divided import by_group as group_answers
from wordtide.questions.divided import divided, in_group, joined
from wordtide.questions.neighbors import analogy, neighbors
from wordtide.questions.neighbors_over_time import neighbors_over_time
from wordtide.questions.similarity import axis, similarity
from wordtide.questions.story import story
from wordtide.questions.surprise import surprises
from wordtide.timeline import Time

if TYPE_CHECKING:
    import pandas as pd

    from wordtide.counts.counts import Counts
    from wordtide.explorer.explore import InlinePage
    from wordtide.figures.plots import ModelPlots


class NoteWarning(UserWarning):
    """A note on an answer: a time outside the data, a word that does not occur there."""


@dataclass(frozen=True)
class State(states.State):
    """All words at one time. Vectors and variances (L, d), float32; the rest (L,).

    `slice` is the number of the slice, None off the grid. `predicted`: the word does not occur there, so its
    state is inferred from other times. `occurrences` are those of the slice, zeros off the grid.
    """

    def save_word2vec_format(
        self, path: str | PathLike[str], binary: bool = False, vectors: str = "sum", overwrite: bool = False
    ) -> None:
        """Write the means in word2vec format.

        Args:
            path: The file to write.
            binary: Write the binary variant instead of text.
            vectors: "word", "context", or their "sum".
            overwrite: Replace an existing file.
        """
        from wordtide.exports.text_formats import save_word2vec

        means = {"word": self.U, "context": self.V, "sum": self.U + self.V}
        if vectors not in means:
            raise SettingsError(f"{vectors!r} is not a kind of vector.", f"Choose {', '.join(means)}.")
        save_word2vec(path, self.words, means[vectors], binary, overwrite)


class DynamicEmbeddings(Embeddings):
    """Trajectories of all words through time.

    Answers to questions are data frames with 90% credible intervals.

    A `time` is a year (1850, 1850.5), a date ("1862-12-01"), "first" or "last". A date inside a slice means
    the slice, any other date the middle of the period it names. None means all slices. `vectors` chooses word
    vectors ("word"), context vectors ("context") or their sum ("sum", the default). Methods without a
    posterior (the baselines) give NaN for intervals and probabilities. Notes on an answer are issued as
    warnings and kept in `attrs["notes"]`.
    """

    def _repr_html_(self) -> str:
        return model_card(self)

    def at(self, time: Time) -> State:
        """All words at one time, with their uncertainty."""
        return State(**vars(super().at(time)))

    def neighbors(
        self,
        word: str,
        at: Time = "last",
        top: int = 10,
        by: str = "similarity",
        min_occurrences: int = 0,
        vectors: str | None = None,
        group: str | None = None,
    ) -> "pd.DataFrame":
        """The words nearest to a word at one time, or to the word as a group of texts uses it.

        Columns: word, similarity, low, high, probability (to be among the top), occurrences, faint (the word
        is barely known), inferred (it does not occur near that time). Ranked `by` "similarity",
        the "low" end of its interval or "probability"; faint words come last. `min_occurrences` counts in
        the slice.
        """
        model, notes = (self, []) if group is None else in_group(self, group, word)
        answer = neighbors(model, word, at, top, by, min_occurrences, vectors)
        return _frame(replace(answer, notes=[*answer.notes, *notes]))

    def neighbors_over_time(self, word: str, top: int = 10, vectors: str | None = None) -> "pd.DataFrame":
        """The words nearest to a word at every slice: time, word, similarity, low, high, occurrences."""
        return _frame(neighbors_over_time(self, word, top, vectors))

    def similarity(
        self, word: str, *others: str, times: Times = None, vectors: str | None = None, by_group: bool = False
    ) -> "pd.DataFrame":
        """A word's similarity to others over time; with `by_group`, as each group of texts uses the word.

        Columns: time, word, other, similarity, low, high, occurrences, other_occurrences; group comes first
        with `by_group`.
        """

        def ask(model: Embeddings) -> Answer:
            return similarity(model, word, *others, times=times, vectors=vectors)

        return _frame(joined(group_answers(self, word, ask)) if by_group else ask(self))

    def divided(
        self,
        groups: Sequence[str] | None = None,
        at: Time = "last",
        top: int = 20,
        function_words: bool = False,
    ) -> "pd.DataFrame":
        """The words that groups of texts use most differently at one time.

        Columns: word, group, other, effect (bits per use), effect_low, log_bayes_factor, since (the time from
        which both groups use the word), near (words near it in the group and not in the other), other_near,
        occurrences, other_occurrences. With more than two groups, each word is listed with the two that
        differ most.
        """
        return _frame(divided(self, groups, at, top, function_words))

    def changed(
        self,
        since: Time | None = None,
        until: Time | None = None,
        top: int = 20,
        by: str = "effect",
        min_occurrences: int = MIN_OCCURRENCES,
        vectors: str | None = None,
        function_words: bool = False,
    ) -> "pd.DataFrame":
        """The words that changed most between two times. Default: each word's first and last slice.

        Columns: word, change (cosine distance), low, high, significant, probability (to be among the top),
        since, until, halfway_from, halfway_to, from, to, occurrences (between the two times), verdict (jump,
        gradual or unsure), date, date_low, date_high, log_bayes_factor, effect (bits per use), effect_low,
        style, shape, second_date. Ranked `by` "effect" (its lower bound; only significant changes, without
        function words), "evidence" (log_bayes_factor), "low", "probability" or "change". If no change is
        significant, a note says so, and words are ranked by "evidence"; models without verdicts rank by
        "low", or by "change" if no word moved by more than the noise.
        """
        return _frame(changed(self, since, until, top, by, min_occurrences, vectors, function_words))

    def story(
        self,
        word: str,
        since: Time | None = None,
        until: Time | None = None,
        top: int = 5,
        vectors: str | None = None,
        by_group: bool = False,
    ) -> "pd.DataFrame":
        """A word's neighbors at the start, half-way and at the end, for each group of texts with `by_group`.

        `attrs["sentence"]` sums them up in a sentence.
        """
        ask = partial(story, word=word, since=since, until=until, top=top, vectors=vectors)
        return _frame(joined(group_answers(self, word, ask)) if by_group else ask(self))

    def surprises(self, at: Time = "last", top: int = 20, min_occurrences: int = 1) -> "pd.DataFrame":
        """The most surprising words of a slice, compared with words of similar frequency.

        Columns: word, time, score (standard normal for ordinary words), p_value, information (nats),
        occurrences.
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
        """Positions of words between two poles over time: positive is nearer to `to_words`.

        Columns: time, word, position, low, high, occurrences.
        """
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
        """The words used at the time `then` as a word was at the time `at`: columns as in `neighbors`."""
        return _frame(analogy(self, word, at, then, top, by, min_occurrences, vectors))

    @property
    def plot(self) -> "ModelPlots":
        """Figures of this model, as `wordtide plot` draws them.

        They are `plot.timeline(...)`, `plot.similarity(...)`, `plot.displacement(...)` and `plot.map(...)`.
        """
        from wordtide.figures.plots import ModelPlots  # imports matplotlib

        return ModelPlots(self)

    def update(
        self,
        source: object,
        *,
        grow: int = 0,
        grow_min_count: int = MIN_OCCURRENCES,
        threads: int | None = None,
        **counting: Any,
    ) -> "DynamicEmbeddings":
        """Append later slices to a model fitted by filtering, as if they had been there from the start.

        A model loaded from a folder is updated in its folder. `partial_fit` is another name for this method.

        Args:
            source: Counts, a counts folder, or texts as `wordtide.count` takes them, counted as those of the
                model were.
            grow: Admit at most this many new words, the most frequent ones in the new texts.
            grow_min_count: Admit only words that occur at least this often in the new texts.
            threads: The number of threads. It does not change the result.
            **counting: Settings of `wordtide.count`: every, date_field, since and so on.

        Returns:
            The model itself.
        """
        from wordtide.streaming import update as updating
        from wordtide.streaming.settings import GrowthSettings

        growth = GrowthSettings(grow, grow_min_count)
        self._become(
            updating.update(self.fitted, self.path, source, growth=growth, threads=threads, **counting)
        )
        return self

    partial_fit = update

    def save_html(self, path: str | PathLike[str], overwrite: bool = False, **options: Any) -> Path:
        """Write the explorer's page as one file that needs no network, and return its path.

        Options: `words` and `slices` to keep (what fits into `max_mb`, 40), `title`, `licence`, `map_words`
        (0: no map), `examples` (a counts folder whose sentences are shown), `threads`.
        """
        from wordtide.explorer import explore as opening

        return opening.save_html(self, path, opening.PageOptions(**options), overwrite)

    def explore(self, port: int = 0, browser: bool = True, **options: Any) -> "InlinePage | None":
        """Show the explorer's page from a server on this machine.

        In a notebook the page appears below the cell, and the server runs until the kernel stops or `close()`
        of the returned object is called. Elsewhere a browser shows the page, until Ctrl-C.

        Options as for `save_html`.
        """
        from wordtide.explorer import explore as opening

        if opening.in_notebook():
            return opening.show_inline(self, opening.PageOptions(**options), port)
        opening.serve(self, opening.PageOptions(**options), port=port, browser=browser)
        return None


def _frame(answer: Answer) -> "pd.DataFrame":
    for note in answer.notes:
        warnings.warn(note, NoteWarning, stacklevel=3)
    return answer.frame()


def load(path: str | PathLike[str], check: bool = False) -> DynamicEmbeddings:
    """Open a model folder; its states stay on disk until they are asked for.

    Args:
        path: The folder.
        check: Compare all checksums and read all numbers.

    Returns:
        The model.

    Raises:
        FolderError: The folder is not a model folder, or it is damaged.
    """
    return DynamicEmbeddings.load(path, check)


def fit(
    counts: "Counts | str | PathLike[str]",
    *,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    **options: Any,
) -> DynamicEmbeddings:
    """Fit a model to counts.

    Args:
        counts: `Counts`, or the path of a counts folder.
        output: Save the model in this folder. A checkpoint is kept beside it while the fit runs.
        overwrite: Replace an existing model.
        **options: Fields of `FitSettings` (method, solver, dim, diffusion, contexts, seed and so on), and
            how to run the fit: `preset` (such as "paper-sotu"), `config` (a TOML file with settings),
            `precision` ("float32" or "float64"), `threads` (default: all processors), `checkpoint_every`
            (minutes), `resume` (continue a fit that was stopped, to the same bits), `offload` (a folder in
            which smoothing keeps its states if memory is too small), `scheduler` ("local:4", or the address
            of a Dask scheduler), `work` (with `scheduler`, a folder that all workers see), `observer`
            (receives the progress).

    Returns:
        The fitted model.

    Raises:
        SettingsError: A setting is unknown or out of range.

    >>> import wordtide
    >>> text = "the old mill stands by the river and the new mill by the road"
    >>> texts = [("1900", text), ("1950", text)]
    >>> model = wordtide.fit(wordtide.count(texts), dim=4, threads=1)
    >>> model.method, model.mean("mill", 1900).shape
    ('smoothing', (4,))
    """
    from wordtide.inference import fit as fitting

    model = fitting.fit(counts, output=output, overwrite=overwrite, **options)
    return DynamicEmbeddings(model.fitted, model.path)
