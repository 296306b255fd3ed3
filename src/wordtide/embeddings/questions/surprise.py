"""Surprises: words that moved more from one slice to the next than the diffusion expects.

For a word that occurs in a slice compare what was known just before it (the prediction N(m, p), from all earlier slices and the
prior) with what is known after it (N(m', q)). The information gained is KL(N(m', q) || N(m, p)), in nats; much of it is the
mere shrinking of the variance, which any occurrence brings. The score looks at the shift alone: if the model is right, the
shift m' - m has variance p - q, so Q = sum_k (m' - m)^2 / p is a weighted sum of chi-squares with weights w = 1 - q/p.
Its expectation and variance are matched by one chi-square, and that is turned into a normal score (Wilson and Hilferty).

A filtered model holds both beliefs. A smoothed one holds a Gaussian message (precision h, and a place) for each slice of a
word; passing these forward gives the beliefs before and after each slice, with messages that know the future.
Only word vectors are looked at: context vectors rest on the same counts, so they would say the same thing twice.
"""

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from wordtide.diffusion import Floats
from wordtide.embeddings.knots import Integers
from wordtide.embeddings.questions.answers import Answer
from wordtide.embeddings.questions.asking import checked_number
from wordtide.embeddings.questions.beliefs import Beliefs, beliefs_at
from wordtide.embeddings.questions.dating import shown_year
from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.when import Time
from wordtide.errors import SettingsError


@dataclass(frozen=True)
class Surprise:
    """Information gained in nats, and the score of the shift: a standard normal number if nothing unusual happened, (n,)."""

    information: Floats
    score: Floats


def surprise(beliefs: Beliefs) -> Surprise:
    """How surprising the step from one belief to the next is for each word."""
    ratio = beliefs.after_variance / beliefs.before_variance
    shift = (beliefs.after_mean - beliefs.before_mean) ** 2 / beliefs.before_variance
    information = 0.5 * (ratio - 1.0 - np.log(ratio) + shift).sum(axis=1)
    weights = np.maximum(1.0 - ratio, 1e-12)
    expected, squared = weights.sum(axis=1), (weights**2).sum(axis=1)
    freedom = expected**2 / squared
    spread = np.sqrt(2.0 / (9.0 * freedom))
    return Surprise(information, (np.cbrt(shift.sum(axis=1) / expected) - (1.0 - spread**2)) / spread)


def surprises(model: Embeddings, at: Time = "last", top: int = 20, min_occurrences: int = 1) -> Answer:
    """The words that moved more at a slice than the diffusion expects.

    Columns: word, time, score, p_value (of a score so high, if the prior alone were at work), information, occurrences.
    """
    if model.kind == "point":
        raise SettingsError(
            f"A model fitted by {model.method} has no uncertainty, so nothing can be a surprise to it.",
            "Fit the model by filtering or smoothing.",
        )
    number, notes = _slice_near(model, at)
    occurrences = model.fitted.occurrences.of_slice(number)
    words = _observed(model, number, max(checked_number("min_occurrences", min_occurrences, least=0), 1))
    found = surprise(beliefs_at(model, words, number))
    order = np.argsort(-found.score, kind="stable")[: checked_number("top", top)]
    return Answer(
        {
            "word": [model.words[word] for word in words[order]],
            "time": np.full(len(order), model.times[number]),
            "score": found.score[order],
            "p_value": [0.5 * erfc(one / sqrt(2.0)) for one in found.score[order]],
            "information": found.information[order],
            "occurrences": occurrences[words[order]],
        },
        notes,
    )


def _slice_near(model: Embeddings, at: Time) -> tuple[int, list[str]]:
    """The slice at a time, or the one nearest to it with a note: between slices nothing is observed."""
    year = model.year(at)
    number = int(np.argmin(np.abs(model.times - year)))
    if model.times[number] == year:
        return number, []
    nearest = shown_year(model, float(model.times[number]))
    return number, [f"No slice is at {at}, and only slices can surprise: this is the nearest, {nearest}."]


def _observed(model: Embeddings, number: int, least: int) -> Integers:
    """The words with a knot at a slice, and at least so many occurrences there."""
    occurrences = model.fitted.occurrences.of_slice(number)
    return np.flatnonzero(model.fitted.posterior.knots.has_at(number) & (occurrences >= least))
