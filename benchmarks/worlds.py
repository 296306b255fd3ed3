"""Worlds of known truth: vectors drawn from the model's own prior, counts from its likelihood, fitted models.

With n- fixed, sigmoid(x)^n+ sigmoid(-x)^n- is the probability of n+ under a negative binomial distribution,
up to a constant that does not depend on x: a Poisson number whose rate is Gamma distributed with shape n- and
scale exp(x). Scores are x_ij = u_i . S u_j with S = diag(+-1). Counts are symmetric, as those of text: each
unordered pair is drawn once, and models have tied contexts. In real text the negative pairs are not drawn but
computed, and counts scatter less: like Poisson numbers of the same expectation.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from simulation.small_worlds import draw_slice, model_of_world, pooled_slices
from simulation.trajectories import draw_trajectories

from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.posterior import Posterior
from wordtide.inference.compute import compute
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.negatives import AUTO
from wordtide.inference.natural.prepared_slice import SliceWork
from wordtide.inference.natural.schedule import NaturalOptions, Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.natural.step import sign_blocks
from wordtide.inference.problem import Problem
from wordtide.inference.scale.in_memory import Start, StatesInMemory
from wordtide.inference.settings import FitSettings
from wordtide.model.prior import Diffusion, ProductPrior
from wordtide.questions.vectors import Vectors, vectors_of


@dataclass(frozen=True)
class Effort:
    """How long solvers run: their schedules, the steps of a filter's first slice, and sampled negatives."""

    start: Schedule
    smoothing: Schedule
    filtering: Schedule
    first_steps: int
    sample_size: int | None


#: More steps than usual and all negative pairs: what is left to wish for is not the solver's fault.
THOROUGH = Effort(
    Schedule(30, 0.9, 0.3, 0.0), Schedule(40, 0.7, 0.1, 0.0, 10), Schedule(12, 0.7, 0.2, 0.0), 40, None
)
#: What `wordtide fit` does by itself.
DEFAULT = Effort(
    Schedule(12, 0.7, 0.3, 1e-4), Schedule(12, 0.7, 0.3, 1e-4, 3), Schedule(5, 0.7, 0.3, 1e-4, 5), 15, AUTO
)


@dataclass(frozen=True)
class World:
    """Vectors of words (T, L, d), the signs of S (d,), the prior, and the counts they led to.

    `jumps`: word -> the slice at which it takes another word's place. `decoys`: words that stand still while
    their frequency changes tenfold.
    """

    u: np.ndarray
    signs: np.ndarray
    diffusion: Diffusion
    problem: Problem
    jumps: dict[int, int] = field(default_factory=dict)
    decoys: list[int] = field(default_factory=list)

    @property
    def drifting(self) -> np.ndarray:
        """Words that do no more than the prior."""
        planted = [*self.jumps, *self.decoys]
        return np.setdiff1d(np.arange(self.u.shape[1]), planted)


@dataclass(frozen=True)
class Kind:
    """A kind of world: negative pairs per pair and slice, prior, sizes, and planted words.

    `cluster`: this many words share most of their position. `poisson`: counts scatter as in text, not as the
    likelihood says.

    `cluster`: so many words share most of their place. `poisson`: counts scatter as in text, not as the
    likelihood says.
    """

    name: str
    negatives: float
    drift: str = "fast"
    size: int = 154
    dim: int = 15
    slices: int = 20
    planted: int = 0
    cluster: int = 0
    poisson: bool = False
    effort: Effort = THOROUGH

    @property
    def diffusion(self) -> Diffusion:
        """The prior; with more dimensions coordinates are smaller, so that scores u.v scatter as much."""
        constant, variance = {"fast": (0.009, 6.75), "slow": (0.0012, 7.0)}[self.drift]
        scale = np.sqrt(15.0 / self.dim)
        return ProductPrior(np.arange(float(self.slices)), constant * scale, variance * scale)


def drawn(kind: Kind, seed: int) -> World:
    """A world of a kind; words have frequencies by Zipf's law."""
    rng, prior = np.random.default_rng(seed), kind.diffusion
    u, signs = draw_trajectories(rng, prior, (kind.size, kind.dim)), signs_by_rule(kind.dim)
    if kind.cluster:
        centers = draw_trajectories(rng, prior, (-(-kind.size // kind.cluster), kind.dim))
        u = np.sqrt(0.4) * u + np.sqrt(0.6) * centers[:, np.arange(kind.size) // kind.cluster]
    ranked = 1.0 / (np.arange(kind.size) + 3.0)
    frequency = np.tile(rng.permutation(ranked), (kind.slices, 1))
    order = rng.permutation(kind.size)
    jumping, decoys, places = (order[n * kind.planted : (n + 1) * kind.planted].tolist() for n in range(3))
    middle = (kind.slices // 4, kind.slices - kind.slices // 4)
    jumps = dict(zip(jumping, rng.integers(*middle, kind.planted).tolist(), strict=True))
    for (word, when), place in zip(jumps.items(), places, strict=True):
        u[when:, word] = u[when:, place]
    for number, (word, when) in enumerate(zip(decoys, rng.integers(*middle, kind.planted), strict=True)):
        u[:, word] = u[0, word]
        frequency[slice(when, None) if number % 2 else slice(0, when), word] *= 10.0
    frequency /= frequency.sum(axis=1, keepdims=True)
    total = kind.negatives * kind.size**2
    scores = (u * signs) @ u.transpose(0, 2, 1)
    slices = [
        draw_slice(rng, x, share, total, poisson=kind.poisson)
        for x, share in zip(scores, frequency, strict=True)
    ]
    names, labels = [f"w{word}" for word in range(kind.size)], [str(int(time)) for time in prior.times]
    return World(
        u, signs.astype(np.float64), prior, Problem(names, prior.times, labels, slices), jumps, decoys
    )


def fitted(world: World, method: str, effort: Effort = THOROUGH) -> DynamicEmbeddings:
    """The model of a world by smoothing or filtering, with tied contexts and the prior that drew it."""
    problem, signs = world.problem, world.signs.astype(np.float32)
    options = NaturalOptions(
        world.u.shape[2], effort.filtering, effort.first_steps, tied=True, sample_size=effort.sample_size
    )
    with compute("float32", 1) as machine:
        if method == "smoothing":
            pooled = pooled_slices(problem)
            prior = ProductPrior(pooled.times, 1.0, float(world.diffusion.marginal.mean()))
            standing = SequentialSolver(
                pooled, prior, replace(options, schedule=effort.start, first_steps=None), machine
            )
            _run(standing)
            options = replace(options, schedule=effort.smoothing)
            work = SliceWork(problem.slices, options, signs, machine)
            start = Start(standing.mean, signs)
            states = StatesInMemory(problem.knots, world.diffusion, start, work, machine)
            _run(SmoothingSolver(states, options))
            (side,) = states.block.sides
            posterior = Posterior("smoother", problem.knots, side.mean, precision_u=side.h, signs=signs)
        else:
            filtering = SequentialSolver(problem, world.diffusion, options, machine)
            _run(filtering)
            assert filtering.variance is not None
            posterior = Posterior(
                "filter", problem.knots, filtering.mean[0], variance_u=filtering.variance[0], signs=signs
            )
    return model_of_world(problem, world.diffusion, posterior, FitSettings(method=method, contexts="tied"))


def _run(solver: SequentialSolver | SmoothingSolver) -> None:
    while solver.advance() is not None:
        pass


def truth(world: World, model: DynamicEmbeddings, vectors: str) -> np.ndarray:
    """The true vectors (T, L, d) of a kind ("word" or "sum"), rotated into the axes of the model.

    The likelihood does not see a rotation of all vectors within the axes of a sign, so the one that brings
    truth and means together is taken.
    """
    asked: Vectors = vectors_of(model, "word")
    match = np.zeros((model.dim, model.dim))
    for t, time in enumerate(model.times):
        weight = 1.0 / asked.variances_at(float(time)).mean(axis=1, keepdims=True)
        match += (weight * world.u[t]).T @ asked.means_at(float(time))
    rotation = np.zeros_like(match)
    for axes in sign_blocks(world.signs, model.dim):
        left, _, right = np.linalg.svd(match[np.ix_(axes, axes)])
        rotation[np.ix_(axes, axes)] = left @ right
    scale = {"word": np.ones(model.dim), "context": world.signs, "sum": 1.0 + world.signs}[vectors]
    return np.asarray(world.u @ rotation * scale)
