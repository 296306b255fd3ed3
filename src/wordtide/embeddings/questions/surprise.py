"""Surprises: words that moved more from one slice to the next than their prior, and words that occur as often, let expect.

For a word that occurs in a slice compare what was known just before it (the prediction N(m, p), from all earlier slices and the
prior) with what is known after it (N(m', q)). The information gained is KL(N(m', q) || N(m, p)), in nats; much of it is the
mere shrinking of the variance, which any occurrence brings. The score looks at the shift alone. If the posterior were exact,
m' - m would have the variance p - q, and Q = sum_k (m' - m)^2 / p would be a weighted sum of chi-squares with weights 1 - q/p.
Its expectation and variance are matched by one chi-square, and that is turned into a normal score (Wilson and Hilferty).

The posterior is a mean field, which takes the noise of context vectors for knowledge: shifts are shorter than p - q says, most
where contexts are least known. So the words of the slice tell what is usual: along each axis which share of p - q shifts have
(median over words), and which score words have that occur about as often (median); the spread of all words (median absolute
deviation) is the unit. Most words then are standard normal. docs/similarity.md has the figures.

A filtered model holds both beliefs. A smoothed one holds a Gaussian message (precision h, and a place) for each slice of a
word; passing these forward gives the beliefs before and after each slice, with messages that know the future.
Only word vectors are looked at: context vectors rest on the same counts, so they would say the same thing twice.
"""

from dataclasses import dataclass
from math import erfc, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.diffusion import Floats
from wordtide.embeddings.knots import Integers
from wordtide.embeddings.questions.answers import Answer
from wordtide.embeddings.questions.asking import checked_number
from wordtide.embeddings.questions.beliefs import Beliefs, beliefs_at
from wordtide.embeddings.questions.dating import shown_year
from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.when import Time
from wordtide.errors import SettingsError

#: Words are compared with so many others at least. At a slice with fewer words the score is that of an exact posterior.
LEAST_COMPARED = 20
_CHI_SQUARE_MEDIAN = 0.454936423119572  # of one degree of freedom
_DEVIATION_MEDIAN = 0.674489750196082  # of the absolute value of a standard normal number
_NOTHING = 1e-12


@dataclass(frozen=True)
class Surprise:
    """Information gained in nats, and the score of the shift: standard normal if the posterior is exact, (n,)."""

    information: Floats
    score: Floats


def surprise(beliefs: Beliefs, share: Floats | float = 1.0) -> Surprise:
    """How surprising the step from one belief to the next is for each word.

    `share` (d,): which part of the variance that an exact posterior would have is expected of shifts along each axis.
    """
    ratio = beliefs.after_variance / beliefs.before_variance
    shift = (beliefs.after_mean - beliefs.before_mean) ** 2 / beliefs.before_variance
    information = 0.5 * (ratio - 1.0 - np.log(ratio) + shift).sum(axis=1)
    weights = share * _learned(ratio)
    expected, squared = weights.sum(axis=1), (weights**2).sum(axis=1)
    freedom = expected**2 / squared
    spread = np.sqrt(2.0 / (9.0 * freedom))
    return Surprise(information, (np.cbrt(shift.sum(axis=1) / expected) - (1.0 - spread**2)) / spread)


def usual_share(beliefs: Beliefs) -> Floats:
    """Along each axis the share of the exact posterior's variance that the shifts of most words have, (d,)."""
    learned = _learned(beliefs.after_variance / beliefs.before_variance)
    shift = (beliefs.after_mean - beliefs.before_mean) ** 2 / beliefs.before_variance
    return np.maximum(np.median(shift / learned, axis=0) / _CHI_SQUARE_MEDIAN, _NOTHING)


def among_alike(score: Floats, occurrences: npt.NDArray[Any]) -> Floats:
    """Scores (n,) measured from the median of words that occur about as often, in units of the spread of all words."""
    centred = score.copy()
    for group in _alike(occurrences):
        centred[group] -= np.median(score[group])
    spread = float(np.median(np.abs(centred))) / _DEVIATION_MEDIAN
    return centred / max(spread, _NOTHING)


def _learned(ratio: Floats) -> Floats:
    """Which part of the variance the data took away; not quite nothing where rounding hides it."""
    return np.maximum(1.0 - ratio, _NOTHING)


def _alike(occurrences: npt.NDArray[Any]) -> list[Integers]:
    """Groups of words that differ in their occurrences by a factor of two at most, or more where a group were too small."""
    level = np.floor(np.log2(occurrences))
    groups: list[Integers] = []
    waiting: list[Integers] = []
    for one in np.unique(level)[::-1]:
        waiting.append(np.flatnonzero(level == one))
        if sum(map(len, waiting)) >= LEAST_COMPARED:
            groups.append(np.concatenate(waiting))
            waiting = []
    if waiting:
        groups[-1:] = [np.concatenate([*groups[-1:], *waiting])]
    return groups


def surprises(model: Embeddings, at: Time = "last", top: int = 20, min_occurrences: int = 1) -> Answer:
    """The words that moved more at a slice than their prior, and words that occur as often there, let expect.

    Columns: word, time, score, p_value (of a score so high, if nothing unusual happened), information, occurrences. Among the
    facts: with how many words of the slice they were `compared`, 0 if there were too few.
    """
    if model.kind == "point":
        raise SettingsError(
            f"A model fitted by {model.method} has no uncertainty, so nothing can be a surprise to it.",
            "Fit the model by filtering or smoothing.",
        )
    number, notes = _slice_near(model, at)
    occurrences = model.fitted.occurrences.of_slice(number)
    words = np.flatnonzero(model.fitted.posterior.knots.has_at(number) & (occurrences > 0))
    beliefs = beliefs_at(model, words, number)
    enough = len(words) >= LEAST_COMPARED
    found = surprise(beliefs, usual_share(beliefs) if enough else 1.0)
    score = among_alike(found.score, occurrences[words]) if enough else found.score
    listed = np.flatnonzero(occurrences[words] >= checked_number("min_occurrences", min_occurrences, least=0))
    order = listed[np.argsort(-score[listed], kind="stable")[: checked_number("top", top)]]
    return Answer(
        {
            "word": [model.words[word] for word in words[order]],
            "time": np.full(len(order), model.times[number]),
            "score": score[order],
            "p_value": [0.5 * erfc(one / sqrt(2.0)) for one in score[order]],
            "information": found.information[order],
            "occurrences": occurrences[words[order]],
        },
        notes,
        {"compared": len(words) if enough else 0},
    )


def _slice_near(model: Embeddings, at: Time) -> tuple[int, list[str]]:
    """The slice at a time, or the one nearest to it with a note: between slices nothing is observed."""
    year = model.year(at)
    number = int(np.argmin(np.abs(model.times - year)))
    if model.times[number] == year:
        return number, []
    nearest = shown_year(model, float(model.times[number]))
    return number, [f"No slice is at {at}, and only slices can surprise: this is the nearest, {nearest}."]
