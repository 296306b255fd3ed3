"""What an update adds to a model: counts of later slices in the model's words, after checks, and words that come in."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.counts.renumber import only_slices, renumbered
from wordtide.embeddings.posterior import Fitted
from wordtide.errors import InputError, NothingToCountError, SettingsError
from wordtide.questions.change import MIN_OCCURRENCES
from wordtide.timeline import Every, float_year

#: Settings of the model's counts that later texts are counted with; where dates and texts stand is each source's own affair.
ALIKE = (
    *("every", "merge_within", "close_gaps", "ngram_weights"),
    *("numbers", "urls", "user_names", "hyphens", "tokenizer", "pretokenized"),
)
#: A new word is admitted if it occurs this often in the new slices: the number from which `changed` lists words, too.
GROW_MIN_COUNT = MIN_OCCURRENCES


def counting_of(counts: Counts) -> dict[str, Any]:
    """How counts were made, as far as later texts must be counted alike: kept in the model's header."""
    alike = {name: getattr(counts.settings, name) for name in ALIKE}
    return {**alike, "window": counts.window, "places": counts.places}


@dataclass(frozen=True)
class Addition:
    """Later slices of a model. `counts` are in its words, those admitted at the end.

    `admitted`: new words; `arrivals`: for each the first of the new slices where it occurs. `unknown`: how many other words
    were left out, `unknown_share` their share of the occurrences of counted words. `left_out`: labels of slices in which no two
    of the model's words meet.
    """

    counts: Counts
    admitted: list[str]
    arrivals: list[int]
    unknown: int
    unknown_share: float
    left_out: list[str]


def addition_to(
    fitted: Fitted, counts: Counts, grow: int = 0, grow_min_count: int = GROW_MIN_COUNT
) -> Addition:
    """Counts as later slices of a fitted model. Slices that are not later, and counts made otherwise, are refused."""
    for name, number in (("grow", grow), ("grow-min-count", grow_min_count)):
        if isinstance(number, bool) or not isinstance(number, int) or number < (name != "grow"):
            raise SettingsError(f"--{name} {number} is out of range.", "Give a whole number, like 500.")
    _check_counting(fitted, counts)
    totals = sum((counts.unigrams(t) for t in range(len(counts))), np.zeros(len(counts.words)))
    known = set(fitted.words)
    new = [n for n, word in enumerate(counts.words) if word not in known and totals[n] > 0]
    ranked = sorted(
        (n for n in new if totals[n] >= grow_min_count), key=lambda n: (-totals[n], counts.words[n])
    )
    admitted = [counts.words[n] for n in ranked[:grow]]
    unknown = set(new) - set(ranked[:grow])
    if unknown and counts.settings.close_gaps:
        raise SettingsError(
            "The counts were made with --close-gaps and have words that the model does not know.",
            "Count again with the words of the model: --vocabulary with the file words.txt of its folder.",
        )
    mapped = renumbered(counts, [*fitted.words, *admitted])
    full = [t for t in range(len(mapped)) if mapped.upper(t).nnz]
    if not full:
        raise NothingToCountError(
            "There is no pair of the model's words in any of the new slices.",
            "Check that the texts are in the model's language, or let new words in: --grow 500.",
        )
    chosen = only_slices(mapped, full)
    _check_later(fitted, chosen)
    occurring = [chosen.unigrams(t)[len(fitted.words) :] > 0 for t in range(len(chosen))]
    arrivals = [next((t for t, seen in enumerate(occurring) if seen[n]), 0) for n in range(len(admitted))]
    left_out = [label for t, label in enumerate(mapped.labels) if t not in set(full)]
    share = float(totals[list(unknown)].sum() / max(1.0, totals.sum()))
    return Addition(chosen, admitted, arrivals, len(unknown), share, left_out)


def _check_counting(fitted: Fitted, counts: Counts) -> None:
    """The window, and whether texts or n-grams were counted, must be as the model was made."""
    if len(counts) == 0:
        raise InputError("The counts have no slices.", "Count texts with words in them.")
    counting = fitted.counting or {}
    for name, found in (("window", counts.window), ("places", counts.places)):
        if counting.get(name, found) != found:
            what = "a window of" if name == "window" else "n-grams, with places"
            raise SettingsError(
                f"The model was made from counts with {what} {counting[name]}, and the new counts have {found}.",
                f"Count again with --window {counting.get('window', 'as before')}, from the same kind of source.",
            )
    if counts.places > 1 and np.issubdtype(fitted.occurrences.values.dtype, np.integer):
        raise SettingsError(
            "The model was made from texts, and the new counts are of n-grams.", "Count texts."
        )


def _check_later(fitted: Fitted, counts: Counts) -> None:
    """Slices must follow the model's last one: what a filter has passed it cannot come back to."""
    last, first = fitted.labels[-1], counts.labels[0]
    remedy = f"Give texts after {last}: for example, count with --since and the day after it."
    if Every.parse(counts.settings.every).unit != "document" and first == last:
        raise SettingsError(
            f"The slice {first} is in the model already: it ends with {last}.",
            f"{remedy} To fit {last} again with more texts, fit all slices anew.",
        )
    reached = float(fitted.diffusion.times[-1] if fitted.extents is None else fitted.extents[-1, 1])
    begins = float_year(int(counts.slices.first[0]))
    if begins < reached or float(counts.times[0]) <= float(fitted.diffusion.times[-1]):
        raise SettingsError(
            f"The slice {first} begins before the end of the model's last slice {last}: {begins:.3f} is not after "
            f"{reached:.3f} (in years).",
            remedy,
        )
