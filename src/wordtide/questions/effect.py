"""How much a change matters: bits per use, with style kept apart.

The model predicts the contexts p(j|i) ~ P'(j) exp(u_i . v_j) for a word. **Effect** is the Jensen-Shannon
divergence, in bits, between these distributions before and after the change: how much one use of the word
says about the side it comes from.

The levels before and after are estimates, and noise alone has an effect. Near the mixture of both
distributions the divergence is a quadratic form d' G d / (8 ln 2) of the displacement d, with G the
covariance of contexts. The lower bound subtracts what noise explains, as the lower bound of change does
(`questions.movement`).

**Style** is the part of the effect along the style axes, the principal directions in which function words
moved (`questions.function_words`). `effect` is computed from the rest of the displacement.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from wordtide.embeddings.dynamics import Levels, dynamics_of, levels_of
from wordtide.embeddings.messages import known_share
from wordtide.embeddings.posterior import Fitted
from wordtide.embeddings.states import Embeddings
from wordtide.model.verdicts import SHAPES, Dynamics
from wordtide.questions.answers import empty_intervals
from wordtide.questions.function_words import Contexts, function_words, style_axes
from wordtide.questions.similarity import SIDES
from wordtide.system import available_processors, one_blas_thread
from wordtide.types import Floats, Integers

_NOTHING = 1e-300
_CONTEXT_TIMES = 6  # at which contexts are computed
_WORDS_AT_ONCE = 64
#: The columns of a verdict.
VERDICT = (
    *("verdict", "date", "date_low", "date_high", "log_bayes_factor", "effect", "effect_low", "style"),
    *("shape", "second_date"),
)
#: The columns of a table of words that are ranked by effect.
SHOWN_BY_EFFECT = ("word", "change", *VERDICT[:4], *VERDICT[5:8], "from", "to", "occurrences")
#: The columns of a table of words that are ranked by evidence.
SHOWN_BY_EVIDENCE = ("word", "change", "low", "high", *VERDICT[:5], "from", "to", "occurrences")


@dataclass(frozen=True)
class Effects:
    """The effects of changes in bits, their lower bounds, and the effects of style, (n,) each."""

    effect: Floats
    effect_low: Floats
    style: Floats


def judge(fitted: Fitted, threads: int | None = None, known: Floats | None = None) -> Dynamics | None:
    """Decide how each word moves, with effects and function words, to store them with the model.

    Args:
        fitted: A fit without dynamics.
        threads: The number of threads (default: all processors). It does not change the result.
        known: The `known_share` of the fit, if that is at hand.

    Returns:
        The dynamics of all words; None if the model has no messages or a single slice.
    """
    dynamics = dynamics_of(fitted, threads, known)
    if dynamics is None:
        return None
    model = Embeddings(replace(fitted, dynamics=dynamics))
    found = function_words(model, threads).astype(np.float64)
    return replace(dynamics, function_word=found, **vars(all_effects(model, threads, known)))


def all_effects(model: Embeddings, threads: int | None = None, known: Floats | None = None) -> Effects:
    """The effects of all significant changes, (L,) each, NaN for other words: stored, or computed once."""
    if "effects" not in model.derived:
        dynamics, found = model.dynamics, np.full((3, len(model.words)), np.nan)
        if dynamics is not None and _has_effects(dynamics):
            found = np.stack([dynamics.effect, dynamics.effect_low, dynamics.style])
        elif dynamics is not None:
            words = np.flatnonzero(dynamics.significant)
            found[:, words] = list(vars(effects(model, words, threads, known)).values())
        model.derived["effects"] = Effects(*found)
    return cast(Effects, model.derived["effects"])


def _has_effects(dynamics: Dynamics) -> bool:
    return not np.isnan(dynamics.effect_low[dynamics.significant]).any()


@one_blas_thread()
def effects(
    model: Embeddings, words: Integers, threads: int | None = None, known: Floats | None = None
) -> Effects:
    """The effects of the changes of some words, all of them significant.

    `known`: the model's `known_share`, if that is at hand.
    """
    dynamics = model.dynamics
    if dynamics is None or not len(words):
        return Effects(*np.full((3, len(words)), np.nan))
    share, axes = known_share(model.fitted) if known is None else known, style_axes(model)
    times = np.linspace(model.times[0], model.times[-1], _CONTEXT_TIMES)
    nearest = np.argmin(np.abs(dynamics.date[words, None] - times), axis=1)
    found = np.empty((3, len(words)))

    def measure(contexts: Contexts, some: Integers) -> None:
        levels = levels_of(model.fitted, dynamics, words[some], share)
        found[:, some] = list(_effects(contexts, levels, axes))

    with ThreadPoolExecutor(threads or available_processors()) as pool:
        for number in np.unique(nearest):
            contexts, rows = Contexts.of(model, float(times[number])), np.flatnonzero(nearest == number)
            blocks = np.array_split(rows, -(-len(rows) // _WORDS_AT_ONCE))
            list(pool.map(partial(measure, contexts), blocks))
    return Effects(*found)


def verdicts(model: Embeddings, words: Integers) -> dict[str, Any]:
    """The verdicts on some words by column.

    Words without a significant change have NaN for its date and effect. Point estimates keep no messages of
    the data, so their verdicts are None.
    """
    dynamics = model.dynamics
    if dynamics is None:
        unknown = dict.fromkeys(VERDICT, empty_intervals(len(words)))
        return unknown | {name: [None] * len(words) for name in ("verdict", "shape")}
    effect = np.full((3, len(words)), np.nan)
    found = np.flatnonzero(dynamics.significant[words])
    if "effects" in model.derived or _has_effects(dynamics):
        effect[:] = [values[words] for values in vars(all_effects(model)).values()]
    else:  # only those of the words asked for
        effect[:, found] = list(vars(effects(model, words[found])).values())
    names = ("date", "date_low", "date_high", "log_bayes_factor")
    return {
        "verdict": dynamics.verdicts(words),
        **{name: getattr(dynamics, name)[words] for name in names},
        **dict(zip(("effect", "effect_low", "style"), effect, strict=True)),
        "shape": [None if kind < 0 else SHAPES[int(kind)] for kind in dynamics.shape[words]],
        "second_date": dynamics.second_date[words],
    }


def _effects(contexts: Contexts, levels: Levels, axes: Floats) -> Iterator[Floats]:
    """Effect, lower bound and style of some words, (n,) each."""
    start, moved = levels.before, levels.after - levels.before
    style = moved @ axes.T @ axes
    before, after, styled = (contexts.predicted(start + way) for way in (0.0 * moved, moved - style, style))
    effect = divergence(before, after)
    mixture = (before + after) / 2.0
    yield effect
    yield effect * share_beyond_noise(contexts, mixture, moved - style, levels.moved_variance)
    yield divergence(before, styled)


def divergence(first: Floats, second: Floats) -> Floats:
    """The Jensen-Shannon divergence of distributions in bits, (n,)."""
    mixture = np.maximum((first + second) / 2.0, _NOTHING)
    halves = (np.einsum("nl,nl->n", one, _logarithm(one / mixture)) for one in (first, second))
    return np.asarray(sum(halves) / 2.0)


def share_beyond_noise(contexts: Contexts, chances: Floats, ways: Floats, variance: Floats) -> Floats:
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


def _logarithm(ratio: Floats) -> Floats:
    """The logarithm to base 2, 0 for 0."""
    return np.log2(np.where(ratio > 0.0, ratio, 1.0))
