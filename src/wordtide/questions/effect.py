"""How much a change matters: bits per use, without what is style.

The contexts that a model predicts for a word are p(j|i) ~ P'(j) exp(u_i . v_j). **Effect** is the
Jensen-Shannon divergence, in bits, between these distributions before and after the change: how much one use
of the word says about the side it comes from.

The means before and after are noisy, and noise alone has an effect. Near the mixture of both distributions
the divergence is a quadratic form d' G d / (8 ln 2) of the displacement d, with G the covariance of contexts.
The lower bound takes off what noise explains, as that of change does (`questions.movement`).

**Style** is the part of the effect along the style axes: the principal directions in which function words
moved. `effect` is what is left without it. Function words are found from the data, not from a list.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from wordtide.embeddings.dynamics import Levels, levels_of
from wordtide.embeddings.states import Embeddings
from wordtide.model.verdicts import SHAPES
from wordtide.questions.answers import empty_intervals
from wordtide.questions.movement import lifetimes
from wordtide.questions.similarity import SIDES
from wordtide.questions.vectors import lengths_of
from wordtide.types import Flags, Floats, Integers

#: Style axes; fewer if there are few function words or dimensions.
STYLE_AXES = 5
#: The first function words are this share of the vocabulary, and at most this many.
FUNCTION_SHARE, MOST_FUNCTION_WORDS = 0.008, 80
_FREQUENT, _NEARBY = 20, 5  # times as many words are looked at, and may follow because of their neighbors
_NEIGHBORS = 10
_NOTHING = 1e-300
_CONTEXT_EXPONENT = 0.75
_MOMENTS = 6  # at which contexts are taken
_WORDS_AT_ONCE = 256


@dataclass(frozen=True)
class Effects:
    """The effect of the changes of some words in bits, its lower bound, and that of style, (n,) each."""

    effect: Floats
    effect_low: Floats
    style: Floats


@dataclass(frozen=True)
class Contexts:
    """Context vectors and their squares (L, d) at one time, and the probabilities P' of contexts (L,)."""

    vectors: Floats
    squares: Floats
    share: Floats

    @staticmethod
    def of(model: Embeddings, time: float) -> "Contexts":
        """The contexts of a model at a time."""
        exponent = float(model.settings.get("context_exponent", _CONTEXT_EXPONENT))
        share = np.asarray(model.total_occurrences, dtype=np.float64) ** exponent
        vectors = model.sides[1].means_at(time)
        return Contexts(vectors, vectors**2, share / share.sum())

    def predicted(self, words: Floats) -> Floats:
        """The probabilities p(j|i) of contexts for word vectors (n, d), (n, L)."""
        scores = words @ self.vectors.T
        chances = self.share * np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def all_effects(model: Embeddings) -> Effects:
    """The effects of all significant changes, found once per model; NaN for other words, (L,) each."""
    if "effects" not in model.derived:
        found = np.full((3, len(model.words)), np.nan)
        words = np.flatnonzero(model.dynamics.significant) if model.dynamics else np.zeros(0, np.int64)
        found[:, words] = list(vars(effects(model, words)).values())
        model.derived["effects"] = Effects(*found)
    return cast(Effects, model.derived["effects"])


def effects(model: Embeddings, words: Integers) -> Effects:
    """The effects of the changes of some words, all of them significant."""
    dynamics = model.dynamics
    if dynamics is None or not len(words):
        return Effects(*np.full((3, len(words)), np.nan))
    levels = levels_of(model.fitted, dynamics, words)
    axes = style_axes(model)
    moments = np.linspace(model.times[0], model.times[-1], _MOMENTS)
    nearest = np.argmin(np.abs(dynamics.date[words, None] - moments), axis=1)
    found = np.empty((3, len(words)))
    for moment in np.unique(nearest):
        contexts, rows = Contexts.of(model, float(moments[moment])), np.flatnonzero(nearest == moment)
        for first in range(0, len(rows), _WORDS_AT_ONCE):
            some = rows[first : first + _WORDS_AT_ONCE]
            found[:, some] = _effects(contexts, levels, some, axes)
    return Effects(*found)


#: The columns of a verdict.
VERDICT = (
    *("verdict", "date", "date_low", "date_high", "log_bayes_factor", "effect", "effect_low", "style"),
    *("shape", "second_date"),
)
#: The columns of a table of words that are ranked by effect.
SHOWN_BY_EFFECT = ("word", *VERDICT[:4], *VERDICT[5:8], "from", "to", "occurrences")


def verdicts(model: Embeddings, words: Integers, known: Effects | None = None) -> dict[str, Any]:
    """The verdicts on some words by column, with their effects if these are `known`.

    What a word without a significant change lacks is NaN. Without messages of the data (point estimates)
    there is no verdict: None.
    """
    dynamics = model.dynamics
    if dynamics is None:
        unknown = dict.fromkeys(VERDICT, empty_intervals(len(words)))
        return unknown | {name: [None] * len(words) for name in ("verdict", "shape")}
    found = np.flatnonzero(dynamics.significant[words])
    effect = np.full((3, len(words)), np.nan)
    effect[:, found] = list(vars(effects(model, words[found]) if known is None else known).values())
    names = ("date", "date_low", "date_high", "log_bayes_factor")
    return {
        "verdict": dynamics.verdicts(words),
        **{name: getattr(dynamics, name)[words] for name in names},
        **dict(zip(("effect", "effect_low", "style"), effect, strict=True)),
        "shape": [None if kind < 0 else SHAPES[int(kind)] for kind in dynamics.shape[words]],
        "second_date": dynamics.second_date[words],
    }


def _effects(contexts: Contexts, levels: Levels, rows: Integers, axes: Floats) -> Floats:
    """Effect, lower bound and style of the words in some rows, (3, n)."""
    start, moved = levels.before[rows], levels.after[rows] - levels.before[rows]
    style = moved @ axes.T @ axes
    before, after, styled = (contexts.predicted(start + way) for way in (0.0 * moved, moved - style, style))
    effect = divergence(before, after)
    mixture = (before + after) / 2.0
    low = _share_beyond_noise(contexts, mixture, moved - style, levels.moved_variance[rows])
    return np.stack([effect, effect * low, divergence(before, styled)])


def divergence(first: Floats, second: Floats) -> Floats:
    """The Jensen-Shannon divergence of distributions in bits, (n,)."""
    mixture = np.maximum((first + second) / 2.0, _NOTHING)
    halves = (np.einsum("nl,nl->n", one, _logarithm(one / mixture)) for one in (first, second))
    return np.asarray(sum(halves) / 2.0)


def _share_beyond_noise(contexts: Contexts, chances: Floats, ways: Floats, variance: Floats) -> Floats:
    """The share of d' G d that noise does not explain, (n,), for displacements d with these variances."""
    scores = ways @ contexts.vectors.T
    scores -= np.einsum("nl,nl->n", chances, scores)[:, None]
    weighted = chances * scores
    squared = np.einsum("nl,nl->n", weighted, scores)  # d' G d
    slope = weighted @ contexts.vectors  # G d
    along = np.einsum("nk,nk->n", variance, slope**2)
    own = variance * (chances @ contexts.squares - (chances @ contexts.vectors) ** 2)  # the diagonal of G C
    known = np.maximum(squared, _NOTHING)
    nearest = np.sqrt(squared) - SIDES * np.sqrt(along / known)
    spread = np.sqrt(2.0 * np.einsum("nk,nk->n", own, own) + 4.0 * along)
    beyond = squared - own.sum(axis=1) - SIDES * spread
    return np.asarray(np.clip(np.minimum(nearest * np.abs(nearest), beyond) / known, 0.0, 1.0))


def function_words(model: Embeddings) -> Flags:
    """Which words are function words, (L,), found once per model.

    The first are those that are frequent and short and whose contexts say little: they have the smallest
    products of their ranks by frequency and by the divergence of their predicted contexts from those of all
    words, and of their lengths. Frequent words whose nearest words are mostly function words follow.
    """
    if "function words" not in model.derived:
        model.derived["function words"] = _function_words(model)
    return np.asarray(model.derived["function words"])


def _function_words(model: Embeddings) -> Flags:
    found = np.zeros(len(model.words), dtype=bool)
    number = min(int(FUNCTION_SHARE * len(found)), MOST_FUNCTION_WORDS)
    often = np.argsort(-model.total_occurrences, kind="stable")[: _FREQUENT * number]
    if not number:
        return found
    middle = float(np.median(model.times))
    contexts, means = Contexts.of(model, middle), model.sides[0].means_at(middle, often)
    chances = contexts.predicted(means)
    specific = np.einsum("nl,nl->n", chances, _logarithm(chances / np.maximum(contexts.share, _NOTHING)))
    rank = 1.0 + np.argsort(np.argsort(specific, kind="stable"), kind="stable")
    lengths = [len(model.words[word]) for word in often]
    first = np.argsort(rank * (1.0 + np.arange(len(often))) * lengths, kind="stable")[:number]
    near = often[: _NEARBY * number]
    units = np.nan_to_num(means[: len(near)] / lengths_of(means[: len(near)])[:, None])
    likeness = units @ units.T
    np.fill_diagonal(likeness, -np.inf)
    nearest = np.argsort(-likeness, axis=1, kind="stable")[:, :_NEIGHBORS]
    found[often[first]] = True
    for _ in range(3):
        found[near[found[near][nearest].mean(axis=1) >= 0.5]] = True
    return found


def style_axes(model: Embeddings) -> Floats:
    """The principal directions in which function words moved, (n, d) with n up to `STYLE_AXES`."""
    if "style axes" not in model.derived:
        words = np.flatnonzero(function_words(model))
        number = min(STYLE_AXES, len(words) // 4, model.dim // 10)
        first, last = lifetimes(model, words)
        moved = model.sides[0].means_of_each(words, last) - model.sides[0].means_of_each(words, first)
        axes = np.linalg.svd(moved, full_matrices=False)[2][:number] if number else np.zeros((0, model.dim))
        model.derived["style axes"] = axes
    return np.asarray(model.derived["style axes"])


def _logarithm(ratio: Floats) -> Floats:
    """The logarithm to base 2, 0 for 0."""
    return np.log2(np.where(ratio > 0.0, ratio, 1.0))
