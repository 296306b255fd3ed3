"""Worlds that resemble text: thousands of words, Zipf's law, symmetric counts, axes of falling weight.

Vectors drift by an Ornstein-Uhlenbeck process. The fit does not know their variance: it takes its default,
which is larger. n- is of rank one, and n+ is a negative binomial number, as the likelihood supposes, or a
Poisson number of the same expectation.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from simulation.trajectories import draw_trajectories
from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.calibration import calibrate
from wordtide.embeddings.posterior import Fitted
from wordtide.inference.compute import compute
from wordtide.inference.methods import Run, run
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.problem import Problem, SliceData
from wordtide.inference.scale.engine import Engine
from wordtide.inference.settings import FitSettings
from wordtide.model.knots import Occurrences
from wordtide.model.prior import StationaryPrior
from wordtide.progress import Observer
from wordtide.types import Floats

_DRIFT = 0.002  # the diffusion constant per year that a fit assumes
_SPREAD = 1.1  # the standard deviation of a score
_SHIFT = 3.0  # of Zipf's law, and of the law by which axes lose weight


@dataclass(frozen=True)
class TextKind:
    """A kind of world: its sizes, negative pairs in a slice, years between slices.

    `decay`: the variance of the k-th axis falls as k^-decay. `cluster`: this many words share most of their
    vectors. `drift`: the true diffusion constant per year.
    """

    name: str
    words: int = 1500
    slices: int = 8
    dim: int = 30
    pairs: int = 300_000
    years: float = 10.0
    decay: float = 0.5
    poisson: bool = False
    cluster: int = 0
    drift: float = _DRIFT


@dataclass(frozen=True)
class TextWorld:
    """True vectors (T, L, d), signs (d,), counts of pairs of each word (T, L), and slices (tied, separate)."""

    vectors: Floats
    signs: Floats
    counts: Floats
    problems: dict[str, Problem]


def draw_text_world(kind: TextKind, seed: int) -> TextWorld:
    """Draw a world of a kind."""
    rng = np.random.default_rng([seed, kind.words, kind.dim])
    signs = signs_by_rule(kind.dim).astype(np.float64)
    weights = np.empty(kind.dim)
    for sign in (1.0, -1.0):
        axes = np.flatnonzero(signs == sign)
        weights[axes] = (np.arange(len(axes)) + _SHIFT) ** -kind.decay
    weights *= _SPREAD / np.sqrt((weights**2).sum())
    times: Floats = 1900.0 + kind.years * np.arange(float(kind.slices))
    prior = StationaryPrior(times, kind.drift / float(weights.mean()), 1.0)
    u = draw_trajectories(rng, prior, (kind.words, kind.dim))
    if kind.cluster:
        centers = draw_trajectories(rng, prior, (kind.words // kind.cluster + 1, kind.dim))
        u = np.sqrt(0.4) * u + np.sqrt(0.6) * centers[:, rng.permutation(kind.words) // kind.cluster]
    u = u * np.sqrt(weights)
    frequency = rng.permutation(1.0 / (np.arange(kind.words) + _SHIFT))
    frequency /= frequency.sum()
    negative = kind.pairs * np.outer(frequency, frequency)
    slices: dict[str, list[SliceData]] = {"tied": [], "separate": []}
    counts = np.zeros((kind.slices, kind.words))
    for t, here in enumerate(u):
        odds = np.exp((here * signs) @ here.T)
        upper = np.triu(rng.poisson(negative * odds if kind.poisson else rng.gamma(negative, odds)))
        whole = (upper + np.triu(upper, 1).T).astype(np.float32)
        counts[t] = whole.sum(axis=1)
        for contexts, parts in slices.items():
            parts.append(_slice(whole, frequency, kind.pairs, contexts == "tied"))
    names, labels = [f"w{n}" for n in range(kind.words)], [str(int(time)) for time in times]
    problems = {contexts: Problem(names, times, labels, parts) for contexts, parts in slices.items()}
    return TextWorld(u, signs, counts, problems)


def _slice(counts: np.ndarray, frequency: Floats, pairs: float, tied: bool) -> SliceData:
    """The slice of symmetric counts (L, L) on its active words."""
    if tied:
        counts = counts.copy()
        np.fill_diagonal(counts, 0.0)
    active = np.flatnonzero(counts.sum(axis=1) > 0)
    stored, share = sp.csr_array(counts[np.ix_(active, active)]), frequency[active]
    return SliceData(
        words=active.astype(np.int32),
        indptr=stored.indptr.astype(np.int32),
        indices=stored.indices.astype(np.int32),
        values=stored.data,
        word_probability=share / share.sum(),
        context_probability=share / share.sum(),
        positives=float(stored.sum()),
        negatives=float(pairs * share.sum() ** 2),
        tied=tied,
    )


def fit_text_world(world: TextWorld, method: str, contexts: str) -> DynamicEmbeddings:
    """The model of a world with the default settings, but its dimensions and diffusion constant."""
    problem = world.problems[contexts]
    settings = FitSettings(method=method, contexts=contexts, dim=world.vectors.shape[2], diffusion=_DRIFT)
    with compute("float32", 1) as machine:
        outcome = run(Run(problem, settings, Engine(machine), Observer()))
    knots = problem.knots
    fitted = Fitted(
        words=problem.words,
        labels=problem.labels,
        diffusion=outcome.diffusion,
        posterior=outcome.posterior,
        occurrences=Occurrences(knots, world.counts[knots.slices, knots.words].astype(np.int64)),
        method=method,
        solver="natural",
        settings=settings.as_json(),
    )
    return DynamicEmbeddings(replace(fitted, calibration=calibrate(fitted)))
