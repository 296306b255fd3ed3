"""What an update adds to a model: later texts, counted as the model's were, in the model's vocabulary."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordtide.counts.count import count
from wordtide.counts.counts import KIND, Counts
from wordtide.counts.settings import RECIPE, CountSettings
from wordtide.counts.vocabulary import renumber, select_slices
from wordtide.embeddings.posterior import Fitted
from wordtide.errors import InputError, NothingToCountError, SettingsError
from wordtide.progress import Observer
from wordtide.storage.cells import write_lines
from wordtide.storage.header import kind_of
from wordtide.streaming.settings import GrowthSettings
from wordtide.timeline import SliceLength, float_year
from wordtide.types import Floats

_ALL_WORDS = 1 << 24


@dataclass(frozen=True)
class Addition:
    """Later slices of a model: their counts in the words of the model, followed by the admitted ones.

    `arrivals` has for each admitted word the first of these slices in which it occurs. `unknown` is the
    number of other words, which are left out, and `unknown_share` their share of all occurrences. `left_out`
    are the labels of slices without a pair of the model's words.
    """

    counts: Counts
    admitted: list[str]
    arrivals: list[int]
    unknown: int
    unknown_share: float
    left_out: list[str]


def count_for_update(
    fitted: Fitted,
    source: object,
    grow: int = 0,
    observer: Observer | None = None,
    workers: int | None = None,
    **settings: Any,
) -> Counts:
    """Return the counts of a source (counts, a counts folder, or what `wordtide.count` reads) for an update.

    Texts are counted as the model's were, with its vocabulary, or with all words if it may `grow`; settings
    that are not None take precedence.

    Raises:
        SettingsError: The texts cannot be counted as the model's were.
    """
    if isinstance(source, Counts):
        return _checked_counts(fitted, source, settings)
    paths = list(source) if isinstance(source, (list, tuple)) else [source]
    if len(paths) == 1 and isinstance(paths[0], (str, os.PathLike)) and kind_of(Path(paths[0])) == KIND:
        return _checked_counts(fitted, Counts.load(paths[0], check=True), settings)
    given = {name: value for name, value in settings.items() if value is not None}
    chosen = {**_recipe(fitted), **given, "observer": observer, "workers": workers}
    _check_tokenizer(fitted, settings.get("tokenizer"))
    if chosen["merge_within"] and chosen["every"] != "document":
        del chosen["merge_within"]
    if not grow:
        with tempfile.TemporaryDirectory(prefix="wordtide-") as folder:
            vocabulary = Path(folder) / "words.txt"
            write_lines(vocabulary, fitted.words)
            return count(source, **{**chosen, "vocabulary": str(vocabulary)})
    if chosen["close_gaps"]:
        raise SettingsError(
            "The model's texts were counted with --close-gaps, where a new word changes the pairs of others.",
            "Count the new texts with a --vocabulary of old and new words, "
            "and update from the counts folder.",
        )
    return count(source, **{**chosen, "vocabulary_size": _ALL_WORDS})


def prepare_addition(fitted: Fitted, counts: Counts, growth: GrowthSettings) -> Addition:
    """Turn counts of later texts into later slices of a model.

    Raises:
        SettingsError: The slices are not later than the model's, or were counted otherwise.
        NothingToCountError: No slice has a pair of the model's words.
    """
    _check_counting(fitted, counts)
    totals = sum((counts.unigrams(t) for t in range(len(counts))), np.zeros(len(counts.words)))
    admitted, unknown = _choose_words(fitted, counts, totals, growth)
    if unknown and counts.settings.close_gaps:
        raise SettingsError(
            "The counts were made with --close-gaps and contain words that the model does not know.",
            "Count again with the words of the model: --vocabulary with the file words.txt of its folder.",
        )
    mapped = renumber(counts, [*fitted.words, *admitted])
    full = [t for t in range(len(mapped)) if mapped.upper(t).nnz]
    if not full:
        raise NothingToCountError(
            "None of the new slices has a pair of the model's words.",
            "Check that the texts are in the model's language, or admit new words: --grow 500.",
        )
    chosen = select_slices(mapped, full)
    _check_later(fitted, chosen)
    return Addition(
        counts=chosen,
        admitted=admitted,
        arrivals=_first_occurrences(chosen, len(fitted.words)),
        unknown=len(unknown),
        unknown_share=float(totals[unknown].sum() / max(1.0, totals.sum())),
        left_out=[label for t, label in enumerate(mapped.labels) if t not in set(full)],
    )


def _choose_words(
    fitted: Fitted, counts: Counts, totals: Floats, growth: GrowthSettings
) -> tuple[list[str], list[int]]:
    """Return the new words to admit, the most frequent first, and the numbers of those that are not."""
    known = set(fitted.words)
    new = [n for n, word in enumerate(counts.words) if word not in known and totals[n] > 0]
    frequent = (n for n in new if totals[n] >= growth.grow_min_count)
    admitted = sorted(frequent, key=lambda n: (-totals[n], counts.words[n]))[: growth.grow]
    return [counts.words[n] for n in admitted], sorted(set(new) - set(admitted))


def _first_occurrences(counts: Counts, old_words: int) -> list[int]:
    """Return for each word after the first `old_words` the slice in which it first occurs."""
    occurs = [counts.unigrams(t)[old_words:] > 0 for t in range(len(counts))]
    return [int(slices.argmax()) for slices in np.array(occurs).T]


def _checked_counts(fitted: Fitted, counts: Counts, settings: Mapping[str, Any]) -> Counts:
    """Return given counts, after a check that they were counted with phrases of the model."""
    for name, value in settings.items():
        if value not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise SettingsError(f"{option} is for texts, and these are counts.", f"Omit {option}.")
    known, joined = set((fitted.counting or {}).get("phrases") or ()), set(counts.settings.joined_phrases)
    if joined - known or (known and not joined):
        raise SettingsError(
            "The model and the new counts were counted with different phrases.",
            "Count again with those of the model: --vocabulary=MODEL --phrases=MODEL, its folder.",
        )
    return counts


def _recipe(fitted: Fitted) -> dict[str, Any]:
    """Return the settings that the model's texts were counted with."""
    if fitted.counting is None:
        raise SettingsError(
            "The model does not record how its texts were counted: an earlier version of wordtide made it.",
            "Count the new texts with its words (wordtide count ... --vocabulary model/words.txt), "
            "and update from the counts.",
        )
    saved = CountSettings.from_json(dict(fitted.counting))
    return {name: getattr(saved, name) for name in (*RECIPE, "window")}


def _check_tokenizer(fitted: Fitted, given: Any) -> None:
    """Refuse to run a tokenizer, which is a program, unless the user names it as the model's header does."""
    saved = (fitted.counting or {}).get("tokenizer")
    name = f"{given.__module__}:{given.__qualname__}" if callable(given) else given
    if name == saved:
        return
    if name:
        problem = f"The model's texts were tokenized by {saved or 'the rule of wordtide'}, not by {name}."
    else:
        problem = f"The model's texts were tokenized by the program {saved}, which runs only on request."
    raise SettingsError(
        problem, f"If you trust it, add --tokenizer={saved}." if saved else "Omit --tokenizer."
    )


def _check_counting(fitted: Fitted, counts: Counts) -> None:
    """Require the window and the kind of source of the model."""
    if len(counts) == 0:
        raise InputError("The counts have no slices.", "Count texts that contain words.")
    recipe = fitted.counting or {}
    window, places = recipe.get("window", counts.window), recipe.get("places", counts.places)
    if window != counts.window:
        raise SettingsError(
            f"The model was made from counts with a window of {window}, "
            f"and the new counts have {counts.window}.",
            f"Count again with --window {window}.",
        )
    if places != counts.places:
        raise SettingsError(
            f"The model was made from {_kind(places)}, and the new counts from {_kind(counts.places)}.",
            f"Count {_kind(places)}.",
        )
    if counts.places > 1 and np.issubdtype(fitted.occurrences.values.dtype, np.integer):
        raise SettingsError("The model was made from texts, and the new counts from n-grams.", "Count texts.")


def _kind(places: int) -> str:
    return "texts" if places == 1 else f"{places}-grams"


def _check_later(fitted: Fitted, counts: Counts) -> None:
    """Require slices after the model's last one: a filter cannot revise earlier slices."""
    last, first = fitted.labels[-1], counts.labels[0]
    remedy = f"Give texts after {last}: for example, count with --since and the following day."
    if SliceLength.parse(counts.settings.every).unit != "document" and first == last:
        raise SettingsError(
            f"The model already contains the slice {first}: it ends with {last}.",
            f"{remedy} To add texts to {last}, fit all slices again.",
        )
    reached = float(fitted.slice_ends[-1, 1])
    begins = float_year(int(counts.slices.first[0]))
    if begins < reached or float(counts.times[0]) <= float(fitted.diffusion.times[-1]):
        raise SettingsError(
            f"The slice {first} begins before the end of the model's last slice {last}: {begins:.3f} is not "
            f"after {reached:.3f} (in years).",
            remedy,
        )
