"""The story of one word: a sentence, and its neighbours at the start, half-way and at the end."""

import math
from dataclasses import dataclass

import numpy as np

from wordtide.embeddings.questions.answers import Answer
from wordtide.embeddings.questions.asking import checked_number, two_occasions
from wordtide.embeddings.questions.contrasts import Contrast, contrasts
from wordtide.embeddings.questions.dating import shown_year
from wordtide.embeddings.questions.halfway import Halfway, halfway
from wordtide.embeddings.questions.movement import movement
from wordtide.embeddings.questions.neighbors import neighbors
from wordtide.embeddings.questions.vectors import Vectors, lengths_of, vectors_of
from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.when import Time

_NOTHING_NEAR = "no word that is well known"


@dataclass(frozen=True)
class _Plot:
    """What the sentence tells: names of words and dates as people write them, and the change with its interval."""

    word: str
    start: str
    end: str
    lost: str
    gained: str
    halfway: tuple[str, str] | None
    change: float
    low: float
    high: float


def story(
    model: Embeddings,
    word: str,
    since: Time | None = None,
    until: Time | None = None,
    top: int = 5,
    vectors: str | None = None,
) -> Answer:
    """The story of a word between two times; if not given, an early and a late slice where its place is well known.

    Columns: period (start, half-way, end), time, word, similarity, low, high, probability, occurrences. The sentence, the
    change and the half-way dates are among the facts.
    """
    number = model.word_number(word)
    chosen = vectors_of(model, vectors)
    first, last = _known_span(model, chosen, number)
    if until is None and since is not None and model.year(since) >= model.year(last):
        last = "last"
    if since is None and until is not None and model.year(until) <= model.year(first):
        first = "first"
    start, end, notes = two_occasions(model, first if since is None else since, last if until is None else until)
    moved = movement(chosen, np.array([number]), start, end)
    date = halfway(model, chosen, np.array([number]), start, end)[0]
    pair = contrasts(chosen, np.array([number]), start, end, checked_number("top", top))[0]
    facts = {
        "word": model.words[number],
        "since": start,
        "until": end,
        "change": float(moved.change[0]),
        "low": float(moved.interval()[0][0]),
        "high": float(moved.interval()[1][0]),
        "halfway": date.date,
        "halfway_from": date.earliest,
        "halfway_to": date.latest,
        "from": ", ".join(model.words[near] for near in pair.lost),
        "to": ", ".join(model.words[near] for near in pair.gained),
        "occurrences": model.total_occurrences[number].item(),
    }
    plot = _plot(model, facts, pair, date, start, end)
    return Answer(_neighbours(model, word, start, date, end, top, vectors), notes, {"sentence": sentence(plot), **facts})


def _known_span(model: Embeddings, vectors: Vectors, word: int) -> tuple[Time, Time]:
    """Two slices to compare: of the first and of the last fifth of those where the word occurs, each time the best known."""
    seen = np.flatnonzero(model.fitted.occurrences.of_word(word, len(model)))
    if len(seen) < 2:
        return "first", "last"
    certainty = np.ones(len(seen))
    if vectors.uncertain:
        times = model.times[seen]
        certainty = lengths_of(vectors.means_of(word, times)) / np.sqrt(vectors.prior_variances(times))
    certainty = np.nan_to_num(certainty)
    part = -(-len(seen) // 5)
    first, last = int(np.argmax(certainty[:part])), len(seen) - 1 - int(np.argmax(certainty[::-1][:part]))
    return float(model.times[seen[first]]), float(model.times[seen[last]])


def _plot(model: Embeddings, facts: dict[str, object], pair: Contrast, date: Halfway, start: float, end: float) -> _Plot:
    between = None
    if math.isfinite(date.earliest):
        between = shown_year(model, date.earliest), shown_year(model, date.latest)
    elif math.isfinite(date.date):
        between = (shown_year(model, date.date),) * 2
    return _Plot(
        word=str(facts["word"]),
        start=shown_year(model, start),
        end=shown_year(model, end),
        lost=", ".join(model.words[near] for near in pair.lost[:3]) or _NOTHING_NEAR,
        gained=", ".join(model.words[near] for near in pair.gained[:3]) or _NOTHING_NEAR,
        halfway=between,
        change=_number(facts["change"]),
        low=_number(facts["low"]),
        high=_number(facts["high"]),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def sentence(plot: _Plot) -> str:
    """The story in a sentence, with its intervals."""
    if not math.isfinite(plot.change):
        return f"{plot.word}: nothing is known of its place in {plot.start} or in {plot.end}."
    turned = f"turned by {_degrees(plot.change):.0f}°"
    if math.isfinite(plot.low):
        turned += f" ({_degrees(plot.low):.0f}° to {_degrees(plot.high):.0f}°)"
    if math.isnan(plot.low) and round(_degrees(plot.change)) == 0:
        return f"{plot.word} did not move between {plot.start} and {plot.end}. Near it: {plot.lost}."
    if plot.low == 0.0:
        return (
            f"{plot.word} may not have moved at all between {plot.start} and {plot.end}: it {turned}, "
            f"no more than the noise explains. Near it: {plot.lost} ({plot.start}); {plot.gained} ({plot.end})."
        )
    when = ""
    if plot.halfway:
        earliest, latest = plot.halfway
        when = f"; half-way between {earliest} and {latest}" if earliest != latest else f"; half-way in {earliest}"
    return f"{plot.word} moved from {plot.lost} ({plot.start}) to {plot.gained} ({plot.end}){when}; {turned}."


def _degrees(change: float) -> float:
    return math.degrees(math.acos(max(-1.0, 1.0 - change)))


def _neighbours(
    model: Embeddings, word: str, start: float, date: Halfway, end: float, top: int, vectors: str | None
) -> dict[str, list[object]]:
    middle = date.date if math.isfinite(date.date) else (start + end) / 2.0
    middle = float(model.times[np.argmin(np.abs(model.times - middle))])
    columns: dict[str, list[object]] = {}
    for period, year in (("start", start), ("half-way", middle), ("end", end)):
        near = neighbors(model, word, year, top, vectors=vectors).columns
        columns.setdefault("period", []).extend([period] * len(near["word"]))
        columns.setdefault("time", []).extend([year] * len(near["word"]))
        for name, values in near.items():
            columns.setdefault(name, []).extend(values)
    return columns
