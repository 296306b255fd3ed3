"""The words that changed most: how much, when, from what to what."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.states import Embeddings
from wordtide.errors import SettingsError
from wordtide.questions.answers import Answer, checked_number, empty_intervals, shown_year
from wordtide.questions.contrasts import contrasts
from wordtide.questions.effect import all_effects, verdicts
from wordtide.questions.function_words import function_words as find_function_words
from wordtide.questions.movement import Movement, change_of, movement, shown_halfway, starts_and_ends
from wordtide.questions.neighbors import DRAWS, pool_size, share_among_best
from wordtide.questions.vectors import OFTEN, Vectors, lengths_of, vectors_of
from wordtide.spelling import counted
from wordtide.timeline import Time
from wordtide.types import Floats, Integers

_BY_VERDICT = ("effect", "evidence")
RANKINGS = (*_BY_VERDICT, "low", "probability", "change")
#: Words with fewer occurrences between their two times are not listed.
MIN_OCCURRENCES = 20
#: The number of words whose intervals are computed together.
CANDIDATES = 256
#: At least this many words, those whose means moved most, are ordered by their expected change.
_POOL = 100
_TIE = 1e-9  # words with the same probability are ranked by the distance of their means
_AT_ONCE = 250  # draws, so that a few hundred words stay in the processor's cache


@dataclass(frozen=True)
class WordSpans:
    """Words with two times each: numbers, float years, and occurrences between these years, (n,) each."""

    words: Integers
    starts: Floats
    ends: Floats
    occurrences: npt.NDArray[np.float64]

    def __getitem__(self, rows: Integers | npt.NDArray[np.bool_] | slice) -> "WordSpans":
        return WordSpans(self.words[rows], self.starts[rows], self.ends[rows], self.occurrences[rows])

    def __len__(self) -> int:
        return len(self.words)

    @property
    def words_and_times(self) -> tuple[Integers, Floats, Floats]:
        """The words and both of their times."""
        return self.words, self.starts, self.ends

    def joined(self, other: "WordSpans") -> "WordSpans":
        """These words followed by others."""
        return WordSpans(
            *(np.concatenate([getattr(one, name) for one in (self, other)]) for name in vars(self))
        )


@dataclass(frozen=True)
class _Ranking:
    """The words to list, how far each moved, its probability of being listed, and what they are ranked by."""

    spans: WordSpans
    moved: Movement
    probability: Floats
    by: str
    notes: list[str]


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
    """The words that changed most between two times: those given, or each word's first and last slice.

    Columns: word, change, low, high, significant, probability, since, until, halfway_from, halfway_to, from,
    to, occurrences, and the verdict (`questions.effect.VERDICT`). Ranked by "effect", it lists only words
    whose change is significant, has an effect, and is dated between the two times; function words only on
    request. If there is none, a note says that nothing is significant, and words are ranked by "evidence",
    the Bayes factor of a change. Models without verdicts rank by "low": words that moved by more than the
    noise or, if there is none, frequent words by their change.
    """
    if by not in RANKINGS:
        raise SettingsError(f"Changed words cannot be ranked by {by!r}.", f"Choose {', '.join(RANKINGS)}.")
    least = checked_number("min_occurrences", min_occurrences, least=0)
    chosen = vectors_of(model, vectors)
    spans, notes = word_spans(model, least, since, until)
    checked_number("top", top)
    if by in _BY_VERDICT:
        given = [None if time is None else model.year(time) for time in (since, until)]
        judged = _judged(model, spans, given, function_words)
        if len(judged):
            ranking = _ranked_by_verdict(model, chosen, judged, top, by)
        else:
            ranking = _ranked_by_movement(model, chosen, spans, top, "low", least)
            ranking.notes.insert(0, _no_verdict(model))
        if model.fitted.posterior.kind == "filter":
            notes.append("Filtering finds jumps only: fit by smoothing to find gradual changes as well.")
    else:
        ranking = _ranked_by_movement(model, chosen, spans, top, by, least)
    return Answer(_columns(model, chosen, ranking), [*notes, *ranking.notes], {"by": ranking.by})


def _ranked_by_verdict(model: Embeddings, vectors: Vectors, judged: WordSpans, top: int, by: str) -> _Ranking:
    """Rank words by effect, or by evidence if no effect is above 0."""
    listed, notes = _by_effect(model, judged, top) if by == "effect" else judged[:0], []
    if not len(listed):
        listed = _by_evidence(model, judged, top)
        notes += [_uncertain(model, listed)] if by == "effect" else []
        by = "evidence"
    moved = movement(vectors, *listed.words_and_times)
    return _Ranking(listed, moved, empty_intervals(len(listed)), by, notes)


def _ranked_by_movement(
    model: Embeddings, vectors: Vectors, spans: WordSpans, top: int, by: str, least: int
) -> _Ranking:
    """Rank words by how far they moved: by the low end of the change, the probability, or the change."""
    measured, moved = _measured(vectors, spans, top, by)
    probability, notes = _probability(vectors, moved, top), []
    if by == "change":
        listed = _turned_most(vectors, measured, moved, np.arange(len(measured)), top)
    else:
        score = moved.least if by == "low" and vectors.uncertain else moved.distance
        score = probability + _TIE * score if by == "probability" and vectors.uncertain else score
        listed = np.argsort(-score, kind="stable")[:top]
    if not len(measured):
        notes.append(
            f"No word occurs {counted(least, 'time')} between these times and is well known at both."
        )
    elif by == "low" and vectors.uncertain:
        listed = listed[moved.significant[listed]]
        if not len(listed):
            often = np.flatnonzero(measured.occurrences >= max(OFTEN, least))
            listed = _turned_most(vectors, measured, moved, often, top)
            notes.append(_nothing_significant(model, spans, len(listed), max(OFTEN, least)))
    return _Ranking(measured[listed], moved[listed], probability[listed], by, notes)


def _turned_most(vectors: Vectors, spans: WordSpans, moved: Movement, rows: Integers, top: int) -> Integers:
    """Those of some rows with the largest expected change, among those whose means moved most."""
    pool = rows[np.argsort(-moved.distance[rows], kind="stable")[: max(_POOL, pool_size(top))]]
    change = change_of(vectors, *spans[pool].words_and_times, moved[pool])
    return pool[np.argsort(-change.expected, kind="stable")[:top]]


def _judged(
    model: Embeddings, spans: WordSpans, given: list[float | None], function_words: bool
) -> WordSpans:
    """The words with evidence for or against a change, except changes dated outside the times given."""
    dynamics = model.dynamics
    if dynamics is None:
        return spans[:0]
    date = dynamics.date[spans.words]
    chosen = np.isfinite(dynamics.log_bayes_factor[spans.words])
    for year, side in zip(given, (1.0, -1.0), strict=True):
        chosen &= year is None or ~(side * date < side * year)
    if not function_words:
        chosen &= ~find_function_words(model)[spans.words]
    return spans[chosen]


def _by_effect(model: Embeddings, candidates: WordSpans, top: int) -> WordSpans:
    """The words with the largest lower bounds of their effects, if above 0."""
    low = np.nan_to_num(all_effects(model).effect_low[candidates.words])
    rows = np.argsort(-low, kind="stable")[:top]
    return candidates[rows[low[rows] > 0.0]]


def _by_evidence(model: Embeddings, candidates: WordSpans, top: int) -> WordSpans:
    """The words with the most evidence of a change, in descending order of the Bayes factor."""
    assert model.dynamics is not None
    return candidates[np.argsort(-model.dynamics.log_bayes_factor[candidates.words], kind="stable")[:top]]


def _uncertain(model: Embeddings, shown: WordSpans) -> str:
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


def word_spans(
    model: Embeddings, least: int, since: Time | None = None, until: Time | None = None
) -> tuple[WordSpans, list[str]]:
    """All words with at least `least` occurrences between their two times, and notes on the times."""
    every = np.arange(len(model.words))
    starts, ends, notes = starts_and_ends(model, every, since, until)
    places, values = model.fitted.occurrences.places, model.fitted.occurrences.values
    times = model.times[places.slices] if len(values) else np.zeros(0)
    inside = (times >= starts[places.words]) & (times <= ends[places.words])
    running = np.concatenate([np.zeros(1), np.cumsum(np.where(inside, values, 0), dtype=np.float64)])
    all_words = WordSpans(every, starts, ends, np.diff(running[places.starts]))
    return all_words[all_words.occurrences >= max(least, 1)], notes


def _nothing_significant(model: Embeddings, spans: WordSpans, listed: int, often: int) -> str:
    start, end = (shown_year(model, float(year)) for year in (spans.starts.min(), spans.ends.max()))
    nothing = f"No word changed by more than the noise between {start} and {end}."
    if not listed:
        return (
            f"{nothing} No word occurs {counted(often, 'time')}, the minimum to be listed: "
            "try more text or longer slices."
        )
    return (
        f"{nothing} The list shows the words with {often} or more occurrences whose vectors turned most; "
        "all of these changes are uncertain."
    )


def _measured(vectors: Vectors, spans: WordSpans, top: int, by: str) -> tuple[WordSpans, Movement]:
    """The words that may be listed, which are well known at both times, and their movement.

    Intervals take most of the time. The low end of a change never exceeds the distance of the means, so words
    are measured in descending order of that distance until the rest cannot reach the list. For other
    rankings, the first `CANDIDATES` suffice.
    """
    order, change = by_change(vectors, spans)
    done, measured, moved = 0, spans[:0], movement(vectors, *spans[:0].words_and_times)
    while done < len(order):
        enough = len(measured) >= max(CANDIDATES, top)
        if enough and (
            by != "low"
            or not vectors.uncertain
            or np.partition(moved.least, -top)[-top] >= 2.0 * change[done]
        ):
            break
        following = spans[order[done : done + CANDIDATES]]
        following = following[are_known(vectors, following)]
        measured = measured.joined(following)
        moved = moved.joined(movement(vectors, *following.words_and_times))
        done += CANDIDATES
    return measured, moved


def are_known(vectors: Vectors, spans: WordSpans) -> npt.NDArray[np.bool_]:
    """Whether words are well known at both times. Words that occur often in between always are."""
    known = spans.occurrences >= OFTEN
    rare = np.flatnonzero(~known)
    words = spans.words[rare]
    known[rare] = True
    for times in (spans.starts[rare], spans.ends[rare]):
        means, variances = vectors.means_of_each(words, times), vectors.variances_of_each(words, times)
        known[rare] &= vectors.are_known(words, times, means, variances)
    return known


def by_change(vectors: Vectors, spans: WordSpans) -> tuple[Integers, Floats]:
    """The rows of words in descending order of the cosine distance of their means, and these distances.

    Words without a direction at one of their times are left out.
    """
    first, last = (vectors.means_of_each(spans.words, times) for times in (spans.starts, spans.ends))
    change = 1.0 - np.einsum("nk,nk->n", first, last) / (lengths_of(first) * lengths_of(last))
    there = np.flatnonzero(np.isfinite(change))
    order = there[np.argsort(-change[there], kind="stable")]
    return order, change[order]


def changes(vectors: Vectors, spans: WordSpans) -> Floats:
    """The expected changes of words, without those of words that have no direction."""
    found = [np.zeros(0)]
    for first in range(0, len(spans), CANDIDATES):
        asked = vectors, *spans[first : first + CANDIDATES].words_and_times
        found.append(change_of(*asked, movement(*asked)).expected)
    every = np.concatenate(found)
    return every[np.isfinite(every)]


def _probability(vectors: Vectors, moved: Movement, top: int) -> Floats:
    """The probability of each word to be among the `top` that moved most, (n,)."""
    if not vectors.uncertain or not len(moved.squared):
        return empty_intervals(len(moved.squared))
    drawn_length = np.sqrt(1.0 + moved.noise / 2.0)
    return probability_of_best(np.sqrt(moved.squared) / drawn_length, moved.spread / drawn_length, top)


def probability_of_best(mean: Floats, spread: Floats, best: int, seed: int = 0) -> Floats:
    """The probability that each of n independent normal values is among the `best` largest, (n,)."""
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


def _columns(model: Embeddings, vectors: Vectors, ranking: _Ranking) -> dict[str, Any]:
    listed, significant = ranking.spans, ranking.moved.significant
    change = change_of(vectors, *listed.words_and_times, ranking.moved)
    dates = shown_halfway(model, vectors, *listed.words_and_times)
    pairs = contrasts(vectors, *listed.words_and_times)
    return {
        "word": [model.words[word] for word in listed.words],
        "change": change.expected,
        "low": change.low,
        "high": change.high,
        "significant": significant,
        "probability": ranking.probability,
        "since": listed.starts,
        "until": listed.ends,
        "halfway_from": np.where(significant, [date.earliest for date in dates], np.nan),
        "halfway_to": np.where(significant, [date.latest for date in dates], np.nan),
        "from": [", ".join(model.words[near] for near in pair.lost) for pair in pairs],
        "to": [", ".join(model.words[near] for near in pair.gained) for pair in pairs],
        "occurrences": listed.occurrences.astype(model.fitted.occurrences.values.dtype),
        **verdicts(model, listed.words),
    }
