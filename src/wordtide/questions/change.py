"""The words that changed most: how much, when, from what to what."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.questions.asking import Answer, checked_number, empty_intervals, shown_year
from wordtide.questions.contrasts import contrasts
from wordtide.questions.effect import all_effects, verdicts
from wordtide.questions.function_words import function_words as find_function_words
from wordtide.questions.movement import Movement, change_of, movement, shown_halfway, spans
from wordtide.questions.neighbors import DRAWS, pool_size, share_among_best
from wordtide.questions.vectors import OFTEN, Vectors, lengths_of, vectors_of
from wordtide.spelling import counted
from wordtide.timeline import Time
from wordtide.types import Floats, Integers

RANKINGS = ("effect", "evidence", "low", "probability", "change")
#: The least number of occurrences between its two times with which a word is listed.
MIN_OCCURRENCES = 20
#: The number of words whose intervals are computed together.
CANDIDATES = 256
#: The least number of words, of those whose means moved most, that are ordered by their expected change.
_POOL = 100
_TIE = 1e-9  # words with the same probability are ranked by the distance of their means
_AT_ONCE = 250  # draws, so that a few hundred words stay in the processor's cache


@dataclass(frozen=True)
class Moving:
    """Words that may be listed, each between two times of its own: numbers, years and occurrences between
    these, (n,) each.
    """

    words: Integers
    starts: Floats
    ends: Floats
    occurrences: npt.NDArray[np.float64]

    def __getitem__(self, rows: Integers | npt.NDArray[np.bool_] | slice) -> "Moving":
        return Moving(self.words[rows], self.starts[rows], self.ends[rows], self.occurrences[rows])

    def __len__(self) -> int:
        return len(self.words)


def changed(
    model: Embeddings,
    since: Time | None = None,
    until: Time | None = None,
    top: int = 20,
    by: str = "effect",
    min_occurrences: int = MIN_OCCURRENCES,
    vectors: str | None = None,
    function_words: bool = False,
) -> Answer:
    """The words that changed most, each between two times: those given, or the first and the last in which it
    occurs.

    Columns: word, change, low, high, significant, probability, since, until, halfway_from, halfway_to, from,
    to, occurrences, and the verdict (`questions.effect.VERDICT`). Ranked by "effect" only words are listed
    whose change is significant and has an effect, with its date between the two times; function words only if
    asked for. If there is none, a note says that nothing is significant, and words are ranked by "evidence",
    the Bayes factor of a change. Models without verdicts rank by "low": words that moved by more than the
    noise; if there is none, frequent words by their change.
    """
    if by not in RANKINGS:
        raise SettingsError(f"Changed words cannot be ranked by {by!r}.", f"Choose {', '.join(RANKINGS)}.")
    least = checked_number("min_occurrences", min_occurrences, least=0)
    chosen = vectors_of(model, vectors)
    moving, notes = moving_words(model, least, since, until)
    checked_number("top", top)
    if by in ("effect", "evidence"):
        given = [None if time is None else model.year(time) for time in (since, until)]
        candidates = _judged(model, moving, given, function_words)
        shown = _by_effect(model, candidates, top) if by == "effect" else candidates[:0]
        if not len(shown) and len(candidates):
            shown = _by_evidence(model, candidates, top)
            notes += [_uncertain(model, shown)] if by == "effect" else []
            by = "evidence"
        if model.fitted.posterior.kind == "filter":
            notes.append("Filtering finds jumps only: fit by smoothing to find gradual changes as well.")
        if len(shown):
            moved = movement(chosen, *_asked(shown))
            columns = _columns(model, chosen, shown, moved, empty_intervals(len(shown)))
            return Answer(columns, notes, {"by": by})
        by = "low"
        notes.append(_no_verdict(model))
    movers, moved = _movers(chosen, moving, top, by)
    probability = _probability(chosen, moved, top)
    if by == "change":
        listed = _turned_most(chosen, movers, moved, np.arange(len(movers)), top)
    else:
        rank = moved.least if by == "low" and chosen.uncertain else moved.distance
        rank = probability + _TIE * rank if by == "probability" and chosen.uncertain else rank
        listed = np.argsort(-rank, kind="stable")[:top]
    if not len(movers):
        times = counted(min_occurrences, "time")
        notes.append(f"No word occurs {times} between these times and is well known at both.")
    elif by == "low" and chosen.uncertain:
        listed = listed[moved.significant[listed]]
        if not len(listed):
            often = np.flatnonzero(movers.occurrences >= max(OFTEN, least))
            listed = _turned_most(chosen, movers, moved, often, top)
            notes.append(_nothing_significant(model, moving, len(listed), max(OFTEN, least)))
    columns = _columns(model, chosen, movers[listed], moved[listed], probability[listed])
    return Answer(columns, notes, {"by": by})


def _turned_most(vectors: Vectors, movers: Moving, moved: Movement, rows: Integers, top: int) -> Integers:
    """Of some rows, those with the largest expected change, of those whose means moved most."""
    pool = rows[np.argsort(-moved.distance[rows], kind="stable")[: max(_POOL, pool_size(top))]]
    change = change_of(vectors, *_asked(movers[pool]), moved[pool])
    return pool[np.argsort(-change.expected, kind="stable")[:top]]


def _judged(model: Embeddings, moving: Moving, given: list[float | None], function_words: bool) -> Moving:
    """The words with evidence for or against a change, unless it has a date outside of the times given."""
    dynamics = model.dynamics
    if dynamics is None:
        return moving[:0]
    date = dynamics.date[moving.words]
    chosen = np.isfinite(dynamics.log_bayes_factor[moving.words])
    for year, side in zip(given, (1.0, -1.0), strict=True):
        chosen &= year is None or ~(side * date < side * year)
    if not function_words:
        chosen &= ~find_function_words(model)[moving.words]
    return moving[chosen]


def _by_effect(model: Embeddings, candidates: Moving, top: int) -> Moving:
    """The words with the largest lower bounds of their effects, if above 0."""
    low = np.nan_to_num(all_effects(model).effect_low[candidates.words])
    rows = np.argsort(-low, kind="stable")[:top]
    return candidates[rows[low[rows] > 0.0]]


def _by_evidence(model: Embeddings, candidates: Moving, top: int) -> Moving:
    """The words with the most evidence of a change, by falling Bayes factors."""
    assert model.dynamics is not None
    return candidates[np.argsort(-model.dynamics.log_bayes_factor[candidates.words], kind="stable")[:top]]


def _uncertain(model: Embeddings, shown: Moving) -> str:
    assert model.dynamics is not None
    likely = int((model.dynamics.log_bayes_factor[shown.words] > 0.0).sum())
    return (
        "Nothing is significant: no word has a change whose effect is reliably above 0 between these times. "
        "The list shows the words with the most evidence of a change; "
        f"{likely or 'none'} of these {len(shown)} {'has' if likely == 1 else 'have'} "
        "more evidence for a change than against it."
    )


def _no_verdict(model: Embeddings) -> str:
    if model.dynamics is None:
        return (
            f"A model fitted by {model.method} keeps no messages of the data, so there are no verdicts: "
            "ranked by change. Fit by smoothing for dates of jumps."
        )
    return "No word between these times occurs often enough for a verdict: ranked by low."


def moving_words(
    model: Embeddings, least: int, since: Time | None = None, until: Time | None = None
) -> tuple[Moving, list[str]]:
    """All words with at least `least` occurrences between their two times, and notes on the times."""
    every = np.arange(len(model.words))
    starts, ends, notes = spans(model, every, since, until)
    places, values = model.fitted.occurrences.places, model.fitted.occurrences.values
    times = model.times[places.slices] if len(values) else np.zeros(0)
    inside = (times >= starts[places.words]) & (times <= ends[places.words])
    counted = np.concatenate([np.zeros(1), np.cumsum(np.where(inside, values, 0), dtype=np.float64)])
    all_words = Moving(every, starts, ends, np.diff(counted[places.starts]))
    return all_words[all_words.occurrences >= max(least, 1)], notes


def _nothing_significant(model: Embeddings, moving: Moving, listed: int, often: int) -> str:
    start, end = (shown_year(model, float(year)) for year in (moving.starts.min(), moving.ends.max()))
    told = f"No word changed by more than the noise between {start} and {end}."
    if not listed:
        return (
            f"{told} No word occurs {counted(often, 'time')}, the minimum to be listed: "
            "try more text or longer slices."
        )
    return (
        f"{told} The list shows the words with {often} or more occurrences whose vectors turned most; "
        "all of these changes are uncertain."
    )


def _movers(vectors: Vectors, moving: Moving, top: int, by: str) -> tuple[Moving, Movement]:
    """The words that may be listed, and their movement, in falling order of change.

    They are well known at both times.

    Intervals cost most of the time. No low end is above the change itself: so words are taken in falling
    order of change, until those that follow cannot reach the list. Ranked otherwise, the first of that order
    are enough.
    """
    order, change = by_change(vectors, moving)
    taken, movers, moved = 0, moving[:0], movement(vectors, *_asked(moving[:0]))
    while taken < len(order):
        enough = len(movers) >= max(CANDIDATES, top)
        if enough and (
            by != "low"
            or not vectors.uncertain
            or np.partition(moved.least, -top)[-top] >= 2.0 * change[taken]
        ):
            break
        following = moving[order[taken : taken + CANDIDATES]]
        following = following[are_known(vectors, following)]
        movers = Moving(
            *(np.concatenate([getattr(one, name) for one in (movers, following)]) for name in vars(movers))
        )
        moved, taken = moved.joined(movement(vectors, *_asked(following))), taken + CANDIDATES
    return movers, moved


def _asked(moving: Moving) -> tuple[Integers, Floats, Floats]:
    return moving.words, moving.starts, moving.ends


def are_known(vectors: Vectors, moving: Moving) -> npt.NDArray[np.bool_]:
    """Whether words are well known at both of their times; those that occur often between them always are."""
    known = moving.occurrences >= OFTEN
    rare = np.flatnonzero(~known)
    words = moving.words[rare]
    known[rare] = True
    for times in (moving.starts[rare], moving.ends[rare]):
        means, variances = vectors.means_of_each(words, times), vectors.variances_of_each(words, times)
        known[rare] &= vectors.are_known(words, times, means, variances)
    return known


def by_change(vectors: Vectors, moving: Moving) -> tuple[Integers, Floats]:
    """Rows of the words in falling order of the cosine distance of their means; and that.

    Without a direction there is none.
    """
    first, last = (vectors.means_of_each(moving.words, times) for times in (moving.starts, moving.ends))
    change = 1.0 - np.einsum("nk,nk->n", first, last) / (lengths_of(first) * lengths_of(last))
    there = np.flatnonzero(np.isfinite(change))
    order = there[np.argsort(-change[there], kind="stable")]
    return order, change[order]


def changes(vectors: Vectors, moving: Moving) -> Floats:
    """The expected changes of words, without those of words that are nowhere."""
    found = [np.zeros(0)]
    for first in range(0, len(moving), CANDIDATES):
        asked = vectors, *_asked(moving[first : first + CANDIDATES])
        found.append(change_of(*asked, movement(*asked)).expected)
    every = np.concatenate(found)
    return every[np.isfinite(every)]


def _probability(vectors: Vectors, moved: Movement, top: int) -> Floats:
    """The probability of each word to be among the `top` that moved most."""
    if not vectors.uncertain or not len(moved.squared):
        return empty_intervals(len(moved.squared))
    drawn_length = np.sqrt(1.0 + moved.noise / 2.0)
    return probability_of_best(np.sqrt(moved.squared) / drawn_length, moved.spread / drawn_length, top)


def probability_of_best(mean: Floats, spread: Floats, best: int, seed: int = 0) -> Floats:
    """For independent normal values: the probability of each to be one of the `best` largest, (n,)."""
    generator = np.random.default_rng([seed, best])
    single_mean, single_spread = mean.astype(np.float32), spread.astype(np.float32)
    shares = [
        share_among_best(
            single_mean + single_spread * generator.standard_normal((_AT_ONCE, len(mean)), dtype=np.float32),
            best,
        )
        for _ in range(DRAWS // _AT_ONCE)
    ]
    return np.asarray(np.mean(shares, axis=0))


def _columns(
    model: Embeddings,
    vectors: Vectors,
    shown: Moving,
    moved: Movement,
    probability: Floats,
) -> dict[str, Any]:
    change, significant = change_of(vectors, *_asked(shown), moved), moved.significant
    dates = shown_halfway(model, vectors, *_asked(shown))
    kept = contrasts(vectors, *_asked(shown))
    return {
        "word": [model.words[word] for word in shown.words],
        "change": change.expected,
        "low": change.low,
        "high": change.high,
        "significant": significant,
        "probability": probability,
        "since": shown.starts,
        "until": shown.ends,
        "halfway_from": np.where(significant, [date.earliest for date in dates], np.nan),
        "halfway_to": np.where(significant, [date.latest for date in dates], np.nan),
        "from": [", ".join(model.words[near] for near in pair.lost) for pair in kept],
        "to": [", ".join(model.words[near] for near in pair.gained) for pair in kept],
        "occurrences": shown.occurrences.astype(model.fitted.occurrences.values.dtype),
        **verdicts(model, shown.words),
    }
