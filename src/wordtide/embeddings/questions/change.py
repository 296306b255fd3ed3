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
    words, occurrences = _eligible(model, chosen, start, end, checked_number("min_occurrences", min_occurrences, least=0))
    moved = movement(chosen, words, start, end)
    probability, rank = _ranking(chosen, moved, checked_number("top", top), by)
    listed = np.argsort(-rank, kind="stable")[:top]
    if not len(listed):
        notes.append(f"No word occurs {min_occurrences} times between these times and is well known at both.")
    elif chosen.uncertain and not (moved.least[listed] > 0).any():
        notes.append("None of these words moved by more than the noise.")
    return _answer(model, chosen, words, occurrences, moved, probability, listed, start, end, notes)


def _eligible(model: Embeddings, vectors: Vectors, start: float, end: float, least: int) -> tuple[Integers, Floats]:
    """Words that occur at least so often between two times and are known well enough at both; and how often they occur."""
    places, values = model.fitted.occurrences.places, model.fitted.occurrences.values
    inside = (model.times >= start) & (model.times <= end)
    counted = np.concatenate([np.zeros(1, values.dtype), np.cumsum(np.where(inside[places.slices], values, 0))])
    total = np.diff(counted[places.starts])
    words = np.flatnonzero(total >= max(least, 1))
    for year in (start, end):
        words = words[is_settled(vectors, lengths_of(vectors.means_at(year, words)), year)]
    return words, total[words]


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
