"""Small worlds for calibration: trajectories drawn from the model's own prior, counts drawn from its own
likelihood.

In the likelihood a pair of words has n+ positive and n- negative observations: sigmoid(x)^n+ sigmoid(-x)^n-
with x_ij = u_i . S u_j and S = diag(+-1). A fit takes n- as given, and of rank one. So n+ is what is drawn:
with n- fixed it is the number of positive observations before n- of them are negative, a negative binomial
number of mean n- exp(x), for any real n- > 0. (Binomial draws from n+ + n- observations have the same
likelihood, but then n- is drawn too, and is not of rank one.)

Counts of text are symmetric, so each unordered pair is drawn once and stored in both directions. A model with
tied contexts supposes exactly this, and its exact posterior would hold the truth as often as it states. A
model with separate contexts takes the two directions as two observations.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simulation.trajectories import draw_trajectories
from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.errors import SettingsError
from wordtide.inference.compute import compute
from wordtide.inference.methods import Run, run
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.problem import Problem, SliceData
from wordtide.inference.scale.engine import Engine
from wordtide.inference.settings import FitSettings
from wordtide.model.knots import Occurrences
from wordtide.model.prior import Diffusion, ProductPrior
from wordtide.progress import Observer
from wordtide.types import Floats

_SHIFT = 5.0  # of Zipf's law: frequencies 1 / (rank + shift)


@dataclass(frozen=True)
class SmallWorld:
    """True vectors of words (T, L, d), the signs of S (d,), the prior that drew them, and the counts they led
    to.
    """

    u: Floats
    signs: Floats
    diffusion: Diffusion
    problem: Problem

    @property
    def vectors(self) -> Floats:
        """True vectors of words and contexts, (2, T, L, d): u and S u."""
        return np.stack([self.u, self.u * self.signs])

    @property
    def tied(self) -> bool:
        """Whether the problem asks for tied contexts."""
        return self.problem.slices[0].tied


def draw_small_world(
    seed: int,
    negatives: float,
    *,
    words: int = 30,
    slices: int = 4,
    dim: int = 3,
    diffusion: float = 0.05,
    prior_variance: float = 2.5,
    tied: bool = True,
) -> SmallWorld:
    """Draw a world whose slices are a year apart.

    Args:
        seed: The seed of all that is drawn.
        negatives: Negative observations of an ordered pair of words in a slice, on average.
        words: The size L of the vocabulary.
        slices: The number T of slices.
        dim: The dimension d.
        diffusion: The diffusion constant D.
        prior_variance: The prior variance of the product prior.
        tied: Whether the problem has tied contexts. With separate contexts it has the same vectors and
            counts, and counts of words with themselves.

    >>> world = draw_small_world(seed=1, negatives=0.5, words=6, slices=3, dim=2)
    >>> world.vectors.shape, len(world.problem), world.problem.slices[0].negatives
    ((2, 3, 6, 2), 3, 18.0)
    """
    if not (np.isfinite(negatives) and negatives > 0) or min(words, slices, dim) < 1:
        raise SettingsError(
            f"{negatives} negative pairs of {words} words in {slices} slices and {dim} dimensions make no world.",
            "Give numbers above 0, like 0.3 negative pairs, 30 words, 4 slices and 3 dimensions.",
        )
    rng = np.random.default_rng(seed)
    prior = ProductPrior(np.arange(float(slices)), diffusion, prior_variance)
    u, signs = draw_trajectories(rng, prior, (words, dim)), signs_by_rule(dim).astype(np.float64)
    frequency = np.asarray(1.0 / (np.arange(words) + _SHIFT), dtype=np.float64)
    frequency /= frequency.sum()
    total = negatives * words**2
    parts = [draw_slice(rng, (at * signs) @ at.T, frequency, total, tied=tied) for at in u]
    names, labels = [f"w{word}" for word in range(words)], [str(int(time)) for time in prior.times]
    return SmallWorld(u, signs, prior, Problem(names, prior.times, labels, parts))


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
    """A slice of symmetric counts (L, L) in which all words are active and all pairs stored, also those of
    count 0.

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


def fit_small_world(world: SmallWorld, settings: FitSettings) -> DynamicEmbeddings:
    """The model of a world by the method and solver of the settings, with the dimensions and the prior that
    drew it.
    """
    problem, prior = world.problem, world.diffusion
    known = {
        "dim": world.u.shape[-1],
        "diffusion": prior.constant,
        "prior": prior.name,
        "prior_variance": prior.prior_variance,
        "contexts": "tied" if world.tied else "separate",
    }
    settings = FitSettings(**{**settings.as_json(), **known})
    with compute("float32", 1) as machine:
        outcome = run(Run(problem, settings, Engine(machine), Observer()))
    return model_of_world(problem, outcome.diffusion, outcome.posterior, settings)


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
