"""Small worlds: slices of counts drawn from the likelihood of the model, and posteriors as models.

In the likelihood a pair of words has n+ positive and n- negative observations: sigmoid(x)^n+ sigmoid(-x)^n-
with x_ij = u_i . S u_j and S = diag(+-1). A fit takes n- as given, and of rank one, so n+ is drawn: the number
of positive observations before n- negative ones, a negative binomial number with mean n- exp(x), for any real
n- > 0. (Binomial draws from n+ + n- observations have the same likelihood, but draw n- too, and not of rank
one.)

Counts of text are symmetric, so each unordered pair is drawn once and stored in both directions. A model with
tied contexts supposes exactly this. A model with separate contexts takes the two directions as two
observations.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.inference.problem import Problem, SliceData
from wordtide.inference.settings import FitSettings
from wordtide.model.knots import Occurrences
from wordtide.model.prior import Diffusion
from wordtide.types import Floats


def draw_slice(
    rng: np.random.Generator,
    scores: Floats,
    frequency: Floats,
    negatives: float,
    *,
    tied: bool = True,
    poisson: bool = False,
) -> SliceData:
    """Draw the symmetric counts of a slice.

    Args:
        rng: The source of randomness. Draws are the same for tied and separate contexts.
        scores: The symmetric scores x, (L, L).
        frequency: The share of each word, (L,).
        negatives: The sum of n- over all ordered pairs.
        tied: Whether contexts are tied.
        poisson: Whether counts scatter like Poisson numbers of the same expectation, as in text, instead of
            as the likelihood states.
    """
    negative, odds = negatives * np.outer(frequency, frequency), np.exp(scores)
    # A Poisson number whose rate is Gamma distributed is negative binomial, also where n- is not whole.
    rate = negative * odds if poisson else rng.gamma(shape=negative, scale=odds)
    upper = np.triu(rng.poisson(rate))
    return full_slice(upper + np.triu(upper, 1).T, frequency, negatives, tied=tied)


def full_slice(
    counts: npt.NDArray[Any], frequency: Floats, negatives: float, *, tied: bool = True
) -> SliceData:
    """A slice of symmetric counts (L, L), with all words active and all pairs stored, zeros included.

    Tied contexts leave out the diagonal. `negatives`: the sum of n- over all ordered pairs.
    """
    size = len(counts)
    values = counts.astype(np.float32)
    if tied:
        np.fill_diagonal(values, 0.0)
    return SliceData(
        words=np.arange(size, dtype=np.int32),
        indptr=np.arange(0, size * size + 1, size, dtype=np.int32),
        indices=np.tile(np.arange(size, dtype=np.int32), size),
        values=values.ravel(),
        word_probability=frequency,
        context_probability=frequency,
        positives=float(values.sum()),
        negatives=negatives,
        tied=tied,
    )


def pooled_slices(problem: Problem) -> Problem:
    """All slices of a world as one: where smoothing starts."""
    slices = problem.slices
    frequency = np.mean([part.word_probability for part in slices], axis=0)
    total = replace(
        slices[0],
        values=np.sum([part.values for part in slices], axis=0),
        word_probability=frequency,
        context_probability=frequency,
        positives=sum(part.positives for part in slices),
        negatives=sum(part.negatives for part in slices),
    )
    return Problem(problem.words, problem.times[:1], problem.labels[:1], [total])


def model_of_world(
    problem: Problem, diffusion: Diffusion, posterior: Posterior, settings: FitSettings
) -> DynamicEmbeddings:
    """A posterior as a model that answers questions. Words occur as often as they have pairs."""
    seen = np.stack([part.values.reshape(len(part), -1).sum(axis=1) for part in problem.slices], axis=1)
    return DynamicEmbeddings(
        Fitted(
            words=problem.words,
            labels=problem.labels,
            diffusion=diffusion,
            posterior=posterior,
            occurrences=Occurrences(problem.knots, seen.ravel().astype(np.int64)),
            method=settings.method,
            solver=settings.solver,
            settings=settings.as_json(),
        )
    )
