"""Small worlds for calibration: trajectories drawn from the model's own prior, counts drawn from its own likelihood.

In the likelihood a pair of words has n+ positive and n- negative observations: sigmoid(x)^n+ sigmoid(-x)^n- with x = u . v. A
fit takes n- as given, and of rank one. So n+ is what is drawn: with n- fixed it is the number of positive observations before
n- of them are negative, a negative binomial number of mean n- exp(x), for any real n- > 0. (Binomial draws from n+ + n-
observations have the same likelihood, but then n- is drawn too, and is not of rank one.) Each pair of a word and a context is
drawn by itself. Nothing departs from what the model supposes, so an exact posterior would hold the truth as often as it says.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simulation.trajectories import draw_trajectories
from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.posterior import Fitted
from wordtide.errors import SettingsError
from wordtide.inference.compute import compute
from wordtide.inference.methods import Run, run
from wordtide.inference.problem import Problem, SliceData
from wordtide.inference.scale.engine import Engine
from wordtide.inference.settings import FitSettings
from wordtide.inference.training import FitObserver
from wordtide.model.knots import Occurrences
from wordtide.model.prior import Diffusion, ProductPrior
from wordtide.types import Floats

_SHIFT = 5.0  # of Zipf's law: frequencies 1 / (rank + shift)


@dataclass(frozen=True)
class SmallWorld:
    """True vectors of words and contexts, (2, T, L, d), the prior that drew them, and the counts they led to."""

    vectors: Floats
    diffusion: Diffusion
    problem: Problem


def draw_small_world(
    seed: int,
    negatives: float,
    *,
    words: int = 30,
    slices: int = 4,
    dim: int = 3,
    diffusion: float = 0.05,
    prior_variance: float = 2.5,
) -> SmallWorld:
    """A world in which a pair of words has `negatives` negative observations a slice on average; slices are a year apart.

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
    vectors = np.ascontiguousarray(draw_trajectories(rng, prior, (2, words, dim)).swapaxes(0, 1))
    frequency = np.asarray(1.0 / (np.arange(words) + _SHIFT), dtype=np.float64)
    frequency /= frequency.sum()
    parts = [_slice(rng, u, v, frequency, negatives * words**2) for u, v in vectors.transpose(1, 0, 2, 3)]
    names, labels = [f"w{word}" for word in range(words)], [str(int(time)) for time in prior.times]
    return SmallWorld(vectors, prior, Problem(names, prior.times, labels, parts))


def _slice(rng: np.random.Generator, u: Floats, v: Floats, frequency: Floats, negatives: float) -> SliceData:
    """One slice: all words are active, and all pairs are stored, also those of count 0."""
    # A Poisson number whose rate is Gamma distributed is negative binomial, also where n- is not whole.
    rate = rng.gamma(shape=negatives * np.outer(frequency, frequency), scale=np.exp(u @ v.T))
    return full_slice(rng.poisson(rate), frequency, negatives)


def full_slice(counts: npt.NDArray[Any], frequency: Floats, negatives: float) -> SliceData:
    """A slice of counts (L, L) in which all words are active and all pairs stored, with `negatives` negative pairs in all."""
    size = len(counts)
    values = counts.astype(np.float32)
    return SliceData(
        words=np.arange(size, dtype=np.int32),
        indptr=np.arange(0, size * size + 1, size, dtype=np.int32),
        indices=np.tile(np.arange(size, dtype=np.int32), size),
        values=values.ravel(),
        word_probability=frequency,
        context_probability=frequency,
        positives=float(values.sum()),
        negatives=negatives,
    )


def fit_small_world(world: SmallWorld, settings: FitSettings) -> DynamicEmbeddings:
    """The model of a world by the method and solver of the settings, with the dimensions and the prior that drew it."""
    problem, prior = world.problem, world.diffusion
    known = {
        "dim": world.vectors.shape[-1],
        "diffusion": prior.constant,
        "prior": prior.name,
        "prior_variance": prior.prior_variance,
    }
    settings = FitSettings(**{**settings.as_json(), **known})
    with compute("float32", 1) as machine:
        outcome = run(Run(problem, settings, Engine(machine), FitObserver()))
    seen = np.stack([part.values.reshape(len(part), -1).sum(axis=1) for part in problem.slices], axis=1)
    return DynamicEmbeddings(
        Fitted(
            words=problem.words,
            labels=problem.labels,
            diffusion=outcome.diffusion,
            posterior=outcome.posterior,
            occurrences=Occurrences(problem.knots, seen.ravel().astype(np.int64)),
            method=settings.method,
            solver=settings.solver,
            settings=settings.as_json(),
            curve=outcome.curve,
            elbo=outcome.elbo(),
        )
    )
