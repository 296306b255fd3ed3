"""Surprises: words about which a slice says something new, compared with words of similar frequency.

For each word of a slice, the belief just before it (the prediction N(m, p), from all earlier slices and the
prior) is compared with the belief after it, N(m', q). Two numbers measure the surprise:

    information    KL(N(m', q) || N(m, p)) in nats: large for words about which little was known, such as the
                   name of an event
    shift          the sum of (m' - m)^2 / (p - q), a chi-square with d degrees of freedom if the posterior is
                   exact: large for words whose data contradict the prediction, such as a word in a new use

Both depend on how often a word occurs, so scores are relative to the words of the slice. The expected
logarithm is a parabola in the logarithm of the occurrences, fitted through the medians of groups of words
with similar frequency; the spread about it (median absolute deviation) is a power of the occurrences. The
score is the larger of the two numbers in these units, centered and scaled once more over all words, so that
most words are standard normal. docs/evidence.md has the figures.

A filtered model stores both beliefs. A smoothed model stores a Gaussian message for each slice of a word;
passing these forward gives the beliefs before and after each slice, although the messages were computed with
knowledge of the future. Only word vectors are used: context vectors rest on the same counts and would count
them twice.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.trajectories import Beliefs
from wordtide.errors import SettingsError
from wordtide.questions.answers import Answer, checked_number, shown_year
from wordtide.spelling import counted
from wordtide.timeline import Time
from wordtide.types import Floats, Integers

#: A slice with fewer words has no scores.
LEAST_COMPARED = 20
#: Words that occur less often are listed last, whatever their score: one or two uses are not an event.
FEW_USES = 3
_NORMAL_MEDIAN = 0.674489750196082  # of the absolute value of a standard normal variable
_NOTHING = 1e-12
_ROUNDING = 1e-5


def information_gained(beliefs: Beliefs) -> Floats:
    """KL(after || before) of each word in nats, (n,)."""
    ratio = beliefs.after_variance / beliefs.before_variance
    shift = (beliefs.after_mean - beliefs.before_mean) ** 2 / beliefs.before_variance
    return np.asarray(0.5 * (ratio - 1.0 - np.log(ratio) + shift).sum(axis=1))


def shift_of(beliefs: Beliefs) -> Floats:
    """The squared shift of each word in units of the variance that its data removed, summed, (n,)."""
    learned = beliefs.before_variance - beliefs.after_variance
    least = _ROUNDING * beliefs.before_variance  # smaller values are rounding errors
    return np.asarray(
        ((beliefs.after_mean - beliefs.before_mean) ** 2 / np.maximum(learned, least)).sum(axis=1)
    )


def scores_of(beliefs: Beliefs, occurrences: npt.NDArray[Any]) -> Floats:
    """How surprising each word is among words of similar frequency, (n,): standard normal for most words."""
    measured = (information_gained(beliefs), shift_of(beliefs))
    best = np.maximum(*(among_alike(np.log(np.maximum(one, _NOTHING)), occurrences) for one in measured))
    return np.asarray((best - np.median(best)) / _spread(best - np.median(best)))


def among_alike(values: Floats, occurrences: npt.NDArray[Any]) -> Floats:
    """Standardize values (n,) by the mean and spread that are usual for words of similar frequency."""
    often, groups = np.log(occurrences), _alike(np.floor(np.log2(occurrences)))
    places = np.array([often[group].mean() for group in groups])
    medians = [np.median(values[group]) for group in groups]
    beyond = values - np.polyval(np.polyfit(places, medians, min(2, len(groups) - 1)), often)
    spreads = [_spread(beyond[group]) for group in groups]
    return np.asarray(
        beyond / np.exp(np.polyval(np.polyfit(places, np.log(spreads), min(1, len(groups) - 1)), often))
    )


def _spread(centered: Floats) -> float:
    """The standard deviation of normal values about 0, estimated from the median of their absolute values."""
    return max(float(np.median(np.abs(centered))) / _NORMAL_MEDIAN, _NOTHING)


def _alike(level: Floats) -> list[Integers]:
    """Groups of words whose occurrences have the same binary logarithm; small groups are merged."""
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
    """Find the words about which a slice says something new, compared with words of similar frequency.

    Columns: word, time, score, p_value (of a score at least as high, if nothing unusual happened),
    information, occurrences. The fact `compared` is the number of words compared. With too few, there are no
    scores, and words are ranked by information.
    """
    if model.kind == "point":
        raise SettingsError(
            f"A model fitted by {model.method} has no uncertainty, so nothing can surprise it.",
            "Fit the model by filtering or smoothing.",
        )
    number, notes = _slice_near(model, at)
    occurrences = model.fitted.occurrences.of_slice(number)
    words = np.flatnonzero(model.fitted.posterior.knots.has_at(number) & (occurrences > 0))
    often = occurrences[words]
    beliefs = model.sides[0].beliefs(words, number)
    information = information_gained(beliefs)
    enough = len(words) >= LEAST_COMPARED
    score = scores_of(beliefs, often) if enough else np.full(len(words), np.nan)
    listed = np.flatnonzero(often >= checked_number("min_occurrences", min_occurrences, least=0))
    ranked = np.lexsort((-(score if enough else information)[listed], often[listed] < FEW_USES))
    order = listed[ranked[: checked_number("top", top)]]
    if not enough:
        notes.append(
            f"The slice has {len(words)} words, too few to say what is usual: "
            "ranked by information, without scores."
        )
    if not len(order):
        notes.append(f"No word occurs {counted(min_occurrences, 'time')} in this slice.")
    return Answer(
        {
            "word": [model.words[word] for word in words[order]],
            "time": np.full(len(order), model.times[number]),
            "score": score[order],
            "p_value": [0.5 * math.erfc(one / math.sqrt(2.0)) for one in score[order]],
            "information": information[order],
            "occurrences": often[order],
        },
        notes,
        {"compared": len(words) if enough else 0},
    )


def _slice_near(model: Embeddings, at: Time) -> tuple[int, list[str]]:
    """The slice at a time, or the nearest one with a note: nothing is observed between slices."""
    year = model.year(at)
    number = int(np.argmin(np.abs(model.times - year)))
    if model.times[number] == year:
        return number, []
    nearest = shown_year(model, float(model.times[number]))
    return number, [f"There is no slice at {at}; this is the nearest, {nearest}."]
