"""The story of one word: a sentence, and its neighbors at the start, half-way and at the end."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.questions.answers import Answer, checked_number, empty_list_note, plain, shown_date, shown_year
from wordtide.questions.contrasts import contrasts
from wordtide.questions.effect import verdicts
from wordtide.questions.movement import Halfway, change_of, movement, shown_halfway, starts_and_ends
from wordtide.questions.neighbors import neighbors
from wordtide.questions.vectors import Vectors, vectors_of
from wordtide.timeline import Time
from wordtide.types import Floats, Integers

_NOTHING_NEAR = "no word that is well known"
_STORIES_AT_ONCE = 20_000


@dataclass(frozen=True)
class SentenceParts:
    """The parts of the sentence: words, formatted dates, and the change with its interval."""

    word: str
    start: str
    end: str
    lost: str
    gained: str
    when: str
    judged: bool
    change: float
    low: float
    high: float


class _DateFormats(NamedTuple):
    """How times and dates are written in the sentence."""

    time: Callable[[float], str]
    date: Callable[[float], str]


def story(
    model: Embeddings,
    word: str,
    since: Time | None = None,
    until: Time | None = None,
    top: int = 5,
    vectors: str | None = None,
) -> Answer:
    """The story of a word between two times: those given, or the first and the last in which it occurs.

    Columns: period (start, half-way, end), time, word, similarity, low, high, probability, occurrences,
    inferred. The facts include the sentence, the change, the half-way dates and the verdict
    (`questions.effect.VERDICT`).
    """
    number = np.array([model.word_number(word)])
    chosen = vectors_of(model, vectors)
    starts, ends, notes = starts_and_ends(model, number, since, until)
    (found,) = _stories(model, chosen, number, starts, ends, checked_number("top", top))
    middle = _middle(found.facts)
    near, more = _neighbors_of_periods(model, word, float(starts[0]), middle, float(ends[0]), top, vectors)
    return Answer(near, list(dict.fromkeys([*notes, *more])), {"sentence": found.sentence, **found.facts})


@dataclass(frozen=True)
class Story:
    """A story without the neighbors: its sentence, its facts by name, and the neighbors lost and gained."""

    sentence: str
    facts: dict[str, Any]
    lost: list[str]
    gained: list[str]


def stories(
    model: Embeddings,
    words: Integers,
    top: int = 5,
    vectors: str | None = None,
    observer: Callable[[int], None] | None = None,
) -> list[Story]:
    """The stories of many words, given by their numbers.

    `observer` receives the number of stories done.
    """
    chosen = vectors_of(model, vectors)
    starts, ends, _ = starts_and_ends(model, words, None, None)
    order = np.argsort(starts, kind="stable")  # neighbors at a time are found for many words at once
    found: list[Story | None] = [None] * len(words)
    for first in range(0, len(words), _STORIES_AT_ONCE):
        some = order[first : first + _STORIES_AT_ONCE]
        told = _stories(model, chosen, words[some], starts[some], ends[some], top)
        for place, one in zip(some, told, strict=True):
            found[place] = one
        if observer is not None:
            observer(len(some))
    return [one for one in found if one is not None]


def _stories(
    model: Embeddings, vectors: Vectors, words: Integers, starts: Floats, ends: Floats, top: int
) -> list[Story]:
    moved = movement(vectors, words, starts, ends)
    change = change_of(vectors, words, starts, ends, moved)
    dates = shown_halfway(model, vectors, words, starts, ends)
    judged = {name: list(map(plain, values)) for name, values in verdicts(model, words).items()}
    found, shown = [], _DateFormats(*(cache(partial(show, model)) for show in (shown_year, shown_date)))
    for n, pair in enumerate(contrasts(vectors, words, starts, ends, top)):
        date = Halfway(math.nan, math.nan, math.nan) if moved.least[n] <= 0 else dates[n]
        lost, gained = ([model.words[near] for near in side] for side in (pair.lost, pair.gained))
        facts = {
            "word": model.words[words[n]],
            "since": float(starts[n]),
            "until": float(ends[n]),
            "change": float(change.expected[n]),
            "low": float(change.low[n]),
            "high": float(change.high[n]),
            "halfway": date.date,
            "halfway_from": date.earliest,
            "halfway_to": date.latest,
            "from": ", ".join(lost),
            "to": ", ".join(gained),
            "occurrences": model.total_occurrences[words[n]].item(),
            **{name: values[n] for name, values in judged.items()},
        }
        found.append(Story(sentence(_sentence_parts(facts, lost, gained, date, shown)), facts, lost, gained))
    return found


def _is_dated(facts: dict[str, Any]) -> bool:
    """Whether there is a verdict, and its date between the two times."""
    return facts["shape"] is not None and facts["since"] <= facts["date"] <= facts["until"]


def _middle(facts: dict[str, Any]) -> float:
    """The date of the change, between its two dates if there are two; the half-way date without a verdict."""
    if not _is_dated(facts):
        return float(facts["halfway"])
    second = facts["second_date"]
    return float(facts["date"] if second is None else (facts["date"] + second) / 2.0)


def _sentence_parts(
    facts: dict[str, Any], lost: Sequence[str], gained: Sequence[str], date: Halfway, shown: _DateFormats
) -> SentenceParts:
    return SentenceParts(
        word=facts["word"],
        start=shown.time(facts["since"]),
        end=shown.time(facts["until"]),
        lost=", ".join(lost[:3]) or _NOTHING_NEAR,
        gained=", ".join(gained[:3]) or _NOTHING_NEAR,
        when=dated_change(facts, shown.date) if _is_dated(facts) else _half_way(date, shown.time),
        judged=_is_dated(facts),
        change=facts["change"],
        low=facts["low"],
        high=facts["high"],
    )


def dated_change(facts: dict[str, Any], shown: Callable[[float], str]) -> str:
    """When and how a word changed according to its verdict."""
    low, date, high = (shown(facts[name]) for name in ("date_low", "date", "date_high"))
    if facts["verdict"] != "jump":
        return f"gradually from {low} to {high}" if low != high else f"gradually in {low}"
    if facts["shape"] == "two jumps":
        return f"it jumped twice, in {date} and {shown(facts['second_date'])}"
    if facts["shape"] == "burst":
        return f"it jumped in {date} and came back in {shown(facts['second_date'])}"
    return f"it jumped in {date}" + (f" ({low} to {high})" if low != high else "")


def _half_way(date: Halfway, shown: Callable[[float], str]) -> str:
    """When a word without a verdict was half-way; empty if unknown."""
    if not math.isfinite(date.date):
        return ""
    first, last = (shown(year if math.isfinite(year) else date.date) for year in (date.earliest, date.latest))
    return f"half-way between {first} and {last}" if first != last else f"half-way in {first}"


def sentence(parts: SentenceParts) -> str:
    """The story in a sentence, with its intervals."""
    if not math.isfinite(parts.change):
        return f"{parts.word}: nothing is known of its place in {parts.start} or in {parts.end}."
    turned = f"turned by {degrees(parts.change)}"
    if parts.low == 0.0 and parts.judged:  # the verdict says that it moved, so 0 is a weak bound
        turned += f" (at most {degrees(parts.high)})"
    elif math.isfinite(parts.low):
        turned += f" ({degrees(parts.low)} to {degrees(parts.high)})"
    if math.isnan(parts.low) and degrees(parts.change) == "0°":
        return f"{parts.word} did not move between {parts.start} and {parts.end}. Near it: {parts.lost}."
    if parts.low == 0.0 and not parts.judged:
        return (
            f"{parts.word} may not have moved at all between {parts.start} and {parts.end}, "
            f"and turned by at most {degrees(parts.high)}. "
            f"Near it: {parts.lost} ({parts.start}); {parts.gained} ({parts.end})."
        )
    when = f"; {parts.when}" if parts.when else ""
    moved = f"{parts.word} moved from {parts.lost} ({parts.start}) to {parts.gained} ({parts.end})"
    return f"{moved}{when}; {turned}."


def degrees(change: float) -> str:
    """A cosine distance as an angle, like 68°."""
    return f"{math.degrees(math.acos(max(-1.0, 1.0 - change))):.0f}°"


def _neighbors_of_periods(
    model: Embeddings, word: str, start: float, date: float, end: float, top: int, vectors: str | None
) -> tuple[dict[str, list[object]], list[str]]:
    """The neighbors of the three periods as columns, and a note if a period has none."""
    middle = date if math.isfinite(date) else (start + end) / 2.0
    middle = float(model.times[np.argmin(np.abs(model.times - middle))])
    columns: dict[str, list[object]] = {}
    empty: list[float] = []
    for period, year in (("start", start), ("half-way", middle), ("end", end)):
        near = neighbors(model, word, year, top, vectors=vectors).columns
        if not len(near["word"]):
            empty.append(year)
        columns.setdefault("period", []).extend([period] * len(near["word"]))
        columns.setdefault("time", []).extend([year] * len(near["word"]))
        for name, values in near.items():
            columns.setdefault(name, []).extend(values)
    return columns, [empty_list_note(model, *empty)] if empty else []
