"""Scores of what a method found in a world with planted drift, for models and for tables of changes.

Words are ranked by score, the most changed first. Ranked are the words that drift or jump, decoys, stable
words, and the other words of the vocabulary if these stand still. Words that vanish or appear are left out:
with no place at one end there is nothing right to say of their change. A word that a method gives no score
comes last; of equal scores each counts as the worst.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from simulation.plan import DECOYS, MOVING, PASSING, Plan, PlantedWord
from wordtide.errors import InputError
from wordtide.types import Floats

Interval = tuple[float, float]


@dataclass(frozen=True)
class Findings:
    """What a method says, word by word, as far as it says anything; NaN is as good as nothing.

    `scores`: how much a word changed, on any scale. `dates`: when it was half-way, in float years; `halfway`:
    the interval of that date. `changes`: the interval of the change from the first slice to the last; one
    that begins above 0 is an alarm.
    """

    scores: Mapping[str, float]
    dates: Mapping[str, float] = field(default_factory=dict)
    halfway: Mapping[str, Interval] = field(default_factory=dict)
    changes: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """One number: of which kind of words, which score, its value (NaN if there is nothing to take it from)."""

    kind: str
    score: str
    value: float


def score_table(
    plan: Plan, scores: Mapping[str, float], dates: Mapping[str, float] | None = None
) -> list[Score]:
    """Scores of a table word -> how much it changed, with dates if there are any."""
    return score_findings(plan, Findings(scores, dates or {}))


def score_findings(plan: Plan, findings: Findings, top: int | None = None) -> list[Score]:
    """All scores that the findings allow.

    `top` is the k of "share in top", by default the number of words to find.

    auc: probability that a word that drifts or jumps has a higher score than one that stands still. average
    precision: the mean over words to be found of the share of them among the words ranked as high. worst
    rank: from 1. date error: in years, of the words that have a date. coverage: share of intervals that hold
    the truth. alarms: share of words whose interval of change begins above 0, to be near 1 for words that
    move and near 0 for others.
    """
    if not findings.scores:
        raise InputError("There are no scores of words.", "Give a table with a number for each word.")
    rows = _ranking_rows(plan, findings.scores, top or len(plan.moving))
    if findings.dates:
        rows += _date_rows(plan, findings)
    if findings.changes:
        rows += _alarm_rows(plan, findings.changes)
        if plan.changes:
            rows.append(Score("all", "change coverage", _coverage(plan.changes, findings.changes)))
    return rows


def _kinds(
    words: Iterable[PlantedWord], together: str, kinds: tuple[str, ...]
) -> dict[str, list[PlantedWord]]:
    """Words by kind, those of all kinds together first; kinds without words are left out."""
    listed = list(words)
    found = {together: [word for word in listed if word.kind in kinds]}
    found.update({kind: [word for word in listed if word.kind == kind] for kind in kinds if len(kinds) > 1})
    return {kind: members for kind, members in found.items() if members}


def _ranking_rows(plan: Plan, scores: Mapping[str, float], top: int) -> list[Score]:
    def of(words: Iterable[str]) -> Floats:
        return np.nan_to_num(
            np.array([scores.get(word, np.nan) for word in words], dtype=np.float64), nan=-np.inf
        )

    decoys, stable = (of(word.word for word in group) for group in (plan.decoys, plan.stable))
    cast = {word.word for word in plan.cast}
    others = of(word for word in scores if word not in cast) if plan.others_stand_still else np.zeros(0)
    still = np.concatenate([decoys, stable])
    everyone = np.concatenate([of(word.word for word in plan.moving), still, others])
    rows = []
    for kind, members in _kinds(plan.moving, "planted", MOVING).items():
        own = of(word.word for word in members)
        ranks = (everyone >= own[:, None]).sum(axis=1)
        rows += [
            Score(kind, "auc", _auc(own, still)),
            Score(kind, "auc against decoys", _auc(own, decoys)),
            Score(kind, "auc against stable", _auc(own, stable)),
            Score(kind, "auc against others", _auc(own, others)),
            Score(kind, "average precision", _average_precision(own, everyone)),
            Score(kind, "worst rank", float(ranks.max())),
            Score(kind, f"share in top {top}", float((ranks <= top).mean())),
        ]
    return [*rows, Score("all", "ranked", float(len(everyone)))]


def _auc(high: Floats, low: Floats) -> float:
    """The probability that one of `high` is above one of `low`; ties count half."""
    if not len(high) or not len(low):
        return float("nan")
    return float(((high[:, None] > low).mean() + (high[:, None] >= low).mean()) / 2.0)


def _average_precision(own: Floats, everyone: Floats) -> float:
    """The mean, over the words to find, of the share of such words among those ranked at least as high."""
    at_least = own[:, None]
    return float(np.mean((own >= at_least).sum(axis=1) / (everyone >= at_least).sum(axis=1)))


def _date_rows(plan: Plan, findings: Findings) -> list[Score]:
    rows = []
    for kind, members in _kinds(plan.moving, "planted", MOVING).items():
        truth = {word.word: word.halfway for word in members}
        errors = np.array([abs(findings.dates.get(word, np.nan) - date) for word, date in truth.items()])
        dated = errors[np.isfinite(errors)]
        rows += [
            Score(kind, "dated", len(dated) / len(members)),
            Score(kind, "date error, median", _of(np.median, dated)),
            Score(kind, "date error, mean", _of(np.mean, dated)),
        ]
        if findings.halfway:
            widths = np.array(
                [b - a for word in truth for a, b in [findings.halfway.get(word, (np.nan, np.nan))]]
            )
            rows += [
                Score(kind, "halfway coverage", _coverage(truth, findings.halfway)),
                Score(kind, "halfway width, median", _of(np.median, widths[np.isfinite(widths)])),
            ]
    return rows


def _of(statistic: Callable[[Floats], "np.floating[object] | float"], values: Floats) -> float:  # type: ignore[type-var]
    return float(statistic(values)) if len(values) else float("nan")


def _alarm_rows(plan: Plan, changes: Mapping[str, Interval]) -> list[Score]:
    groups = {
        **_kinds(plan.moving, "planted", MOVING),
        **_kinds(plan.decoys, "decoys", DECOYS),
        **_kinds(plan.stable, "stable", ("stable",)),
        **{
            kind: members
            for kind, members in _kinds(plan.planted, "passing", PASSING).items()
            if kind != "passing"
        },
    }
    rows = [
        Score(kind, "alarms", _alarms((word.word for word in members), changes))
        for kind, members in groups.items()
    ]
    if plan.others_stand_still:
        cast = {word.word for word in plan.cast}
        rows.append(
            Score("others", "alarms", _alarms((word for word in changes if word not in cast), changes))
        )
    return rows


def _alarms(words: Iterable[str], changes: Mapping[str, Interval]) -> float:
    """The share of words whose interval begins above 0; no interval is no alarm."""
    raised = [changes.get(word, (0.0, 0.0))[0] > 0.0 for word in words]
    return float(np.mean(raised)) if raised else float("nan")


def _coverage(truth: Mapping[str, float], intervals: Mapping[str, Interval]) -> float:
    """The share of words whose interval holds the truth, of those with an interval."""
    known = [
        (value, *intervals[word])
        for word, value in truth.items()
        if np.isfinite(intervals.get(word, (np.nan,))).all()
    ]
    return float(np.mean([low <= value <= high for value, low, high in known])) if known else float("nan")
