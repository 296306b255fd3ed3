"""The words that changed most between two times: how much, when, from what to what."""

import numpy as np

from wordtide.diffusion import Floats
from wordtide.embeddings.knots import Integers
from wordtide.embeddings.questions.answers import Answer, empty_intervals
from wordtide.embeddings.questions.asking import checked_number, two_occasions
from wordtide.embeddings.questions.contrasts import contrasts
from wordtide.embeddings.questions.halfway import halfway
from wordtide.embeddings.questions.movement import Movement, movement
from wordtide.embeddings.questions.ranking import probability_of_best
from wordtide.embeddings.questions.vectors import Vectors, is_settled, lengths_of, vectors_of
from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.when import Time
from wordtide.errors import SettingsError

RANKINGS = ("low", "probability", "change")
#: A word must occur so often between the two times to be listed.
MIN_OCCURRENCES = 20
#: Words whose intervals are worked out together.
CANDIDATES = 256


def changed(
    model: Embeddings,
    since: Time = "first",
    until: Time = "last",
    top: int = 20,
    by: str = "low",
    min_occurrences: int = MIN_OCCURRENCES,
    vectors: str | None = None,
) -> Answer:
    """The words that changed most between two times.

    Columns: word, change, low, high, probability, halfway_from, halfway_to, from, to, occurrences.
    """
    if by not in RANKINGS:
        raise SettingsError(f"Changed words cannot be ranked by {by!r}.", f"Choose {', '.join(RANKINGS)}.")
    start, end, notes = two_occasions(model, since, until)
    chosen = vectors_of(model, vectors)
    words, occurrences = _frequent(model, start, end, checked_number("min_occurrences", min_occurrences, least=0))
    movers, moved = _movers(chosen, words, start, end, checked_number("top", top), by)
    words, occurrences = words[movers], occurrences[movers]
    probability, rank = _ranking(chosen, moved, top, by)
    listed = np.argsort(-rank, kind="stable")[:top]
    if not len(listed):
        notes.append(f"No word occurs {min_occurrences} times between these times and is well known at both.")
    elif chosen.uncertain and not (moved.least[listed] > 0).any():
        notes.append("None of these words moved by more than the noise.")
    return _answer(model, chosen, words, occurrences, moved, probability, listed, start, end, notes)


def _frequent(model: Embeddings, start: float, end: float, least: int) -> tuple[Integers, Floats]:
    """Words that occur at least so often between two times; and how often."""
    places, values = model.fitted.occurrences.places, model.fitted.occurrences.values
    inside = (model.times >= start) & (model.times <= end)
    counted = np.concatenate([np.zeros(1, values.dtype), np.cumsum(np.where(inside[places.slices], values, 0))])
    total = np.diff(counted[places.starts])
    words = np.flatnonzero(total >= max(least, 1))
    return words, total[words]


def _movers(vectors: Vectors, words: Integers, start: float, end: float, top: int, by: str) -> tuple[Integers, Movement]:
    """The words that may be listed, by their places in `words`, and their movement. They are known well enough at both times.

    Intervals cost most of the time. No low end is above the change itself: so words are taken in falling order of change, until
    those that follow cannot reach the list. Ranked otherwise, the first of that order are enough.
    """
    order, change = by_change(vectors, words, start, end)
    taken = max(CANDIDATES, top)
    moved = movement(vectors, words[order[:taken]], start, end)
    while by == "low" and vectors.uncertain and taken < len(order):
        if np.partition(moved.least, -top)[-top] >= 2.0 * change[taken]:
            break
        following = order[taken : taken + CANDIDATES]
        moved, taken = moved.joined(movement(vectors, words[following], start, end)), taken + len(following)
    return order[:taken], moved


def by_change(vectors: Vectors, words: Integers, start: float, end: float) -> tuple[Integers, Floats]:
    """Places of the words known well enough at both times, in falling order of the cosine distance of their means; and that."""
    first, last = vectors.means_at(start, words), vectors.means_at(end, words)
    first_length, last_length = lengths_of(first), lengths_of(last)
    change = 1.0 - np.einsum("nk,nk->n", first, last) / (first_length * last_length)
    known = np.flatnonzero(is_settled(vectors, first_length, start) & is_settled(vectors, last_length, end))
    order = known[np.argsort(-change[known], kind="stable")]
    return order, change[order]


def _ranking(vectors: Vectors, moved: Movement, top: int, by: str) -> tuple[Floats, Floats]:
    """The probability of each word to be among the top, and what to rank by: first that, then the change itself."""
    if not vectors.uncertain:
        return empty_intervals(len(moved.squared)), moved.change
    drawn_length = np.sqrt(1.0 + moved.noise / 2.0)
    probability = probability_of_best(np.sqrt(moved.squared) / drawn_length, moved.spread / drawn_length, top)
    rank = {"low": moved.least, "probability": probability, "change": moved.change}[by]
    return probability, rank + 1e-9 * moved.change


def _answer(
    model: Embeddings,
    vectors: Vectors,
    words: Integers,
    occurrences: Floats,
    moved: Movement,
    probability: Floats,
    listed: Integers,
    start: float,
    end: float,
    notes: list[str],
) -> Answer:
    low, high = moved.interval()
    dates = halfway(model, vectors, words[listed], start, end)
    kept = contrasts(vectors, words[listed], start, end)
    return Answer(
        {
            "word": [model.words[word] for word in words[listed]],
            "change": moved.change[listed],
            "low": low[listed],
            "high": high[listed],
            "probability": probability[listed],
            "halfway_from": np.where(low[listed] > 0, [date.earliest for date in dates], np.nan),
            "halfway_to": np.where(low[listed] > 0, [date.latest for date in dates], np.nan),
            "from": [", ".join(model.words[near] for near in pair.lost) for pair in kept],
            "to": [", ".join(model.words[near] for near in pair.gained) for pair in kept],
            "occurrences": occurrences[listed],
        },
        notes,
    )
