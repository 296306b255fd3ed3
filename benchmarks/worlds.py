"""Worlds whose truth is known: vectors drawn from the model's own prior, counts from its likelihood, and
models fitted to them.

With n- fixed, sigmoid(x)^n+ sigmoid(-x)^n- is the probability of n+ under a negative binomial distribution,
up to a constant that does not depend on x: a Poisson number whose rate is Gamma distributed with shape n- and
scale exp(x). In real text the negative pairs are not drawn but computed, and counts scatter less: like
Poisson numbers of the same expectation.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from simulation.small_worlds import full_slice
from simulation.trajectories import draw_trajectories

from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.inference.compute import compute
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.negatives import AUTO
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.problem import Problem, SliceData
from wordtide.model.knots import Occurrences
from wordtide.model.prior import Diffusion, ProductPrior
from wordtide.questions.vectors import Vectors, vectors_of


@dataclass(frozen=True)
class Effort:
    """How hard the solvers try: their schedules, the steps of a filter's first slice, and how negatives are
    summed.
    """

    start: Schedule
    smoothing: Schedule
    filtering: Schedule
    first_steps: int
    contexts: int | None


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
    """Vectors of words and contexts (T, L, d), their prior, and the counts they led to.

    `jumps`: word -> the slice at which it takes another word's place. `decoys`: words that stand still while
    their frequency changes tenfold.
    """

    u: np.ndarray
    v: np.ndarray
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
    """A kind of world: negative pairs per pair and slice, the prior (slow or fast drift), sizes, how many
    words are planted.

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
        """With more dimensions coordinates are smaller, so that scores u.v scatter as much; the memory in
        time is the same.
        """
        constant, variance = {"fast": (0.009, 6.75), "slow": (0.0012, 7.0)}[self.drift]
        scale = np.sqrt(15.0 / self.dim)
        return ProductPrior(np.arange(float(self.slices)), constant * scale, variance * scale)


def drawn(kind: Kind, seed: int) -> World:
    """A world of a kind; words have frequencies by Zipf's law."""
    rng, prior = np.random.default_rng(seed), kind.diffusion
    u, v = (draw_trajectories(rng, prior, (kind.size, kind.dim)) for _ in range(2))
    if kind.cluster:
        for vectors in (u, v):
            centres = draw_trajectories(rng, prior, (-(-kind.size // kind.cluster), kind.dim))
            vectors[:] = (
                np.sqrt(0.4) * vectors + np.sqrt(0.6) * centres[:, np.arange(kind.size) // kind.cluster]
            )
    ranked = 1.0 / (np.arange(kind.size) + 3.0)
    frequency = np.tile(rng.permutation(ranked), (kind.slices, 1))
    order = rng.permutation(kind.size)
    jumping, decoys, places = (order[n * kind.planted : (n + 1) * kind.planted].tolist() for n in range(3))
    middle = (kind.slices // 4, kind.slices - kind.slices // 4)
    jumps = dict(zip(jumping, rng.integers(*middle, kind.planted).tolist(), strict=True))
    for (word, when), place in zip(jumps.items(), places, strict=True):
        for vectors in (u, v):
            vectors[when:, word] = vectors[when:, place]
    for number, (word, when) in enumerate(zip(decoys, rng.integers(*middle, kind.planted), strict=True)):
        u[:, word], v[:, word] = u[0, word], v[0, word]
        frequency[slice(when, None) if number % 2 else slice(0, when), word] *= 10.0
    frequency /= frequency.sum(axis=1, keepdims=True)
    total = kind.negatives * kind.size**2
    slices = [_slice(rng, *one, total, kind.poisson) for one in zip(u, v, frequency, strict=True)]
    names, labels = [f"w{word}" for word in range(kind.size)], [str(int(time)) for time in prior.times]
    return World(u, v, prior, Problem(names, prior.times, labels, slices), jumps, decoys)


def _slice(
    rng: np.random.Generator,
    u: np.ndarray,
    v: np.ndarray,
    frequency: np.ndarray,
    negatives: float,
    poisson: bool,
) -> SliceData:
    negative, odds = negatives * np.outer(frequency, frequency), np.exp(u @ v.T)
    rate = negative * odds if poisson else rng.gamma(shape=negative, scale=odds)
    return full_slice(rng.poisson(rate), frequency, negatives)


def fitted(world: World, method: str, effort: Effort = THOROUGH) -> DynamicEmbeddings:
    """The model of a world by smoothing or filtering, with the prior that drew it."""
    dim, problem = world.u.shape[2], world.problem
    with compute("cpu", "float32", 1) as machine:
        if method == "smoothing":
            pooled = _pooled(problem)
            prior = ProductPrior(pooled.times, 1.0, float(world.diffusion.marginal.mean()))
            start = SequentialSolver(pooled, prior, dim, effort.start, machine, contexts=effort.contexts)
            _run(start)
            smoother = SmoothingSolver(
                problem, world.diffusion, start.mean, effort.smoothing, machine, contexts=effort.contexts
            )
            _run(smoother)
            (mean_u, h_u), (mean_v, h_v) = ((kind.mean.numpy(), kind.h.numpy()) for kind in smoother.kinds)
            posterior = Posterior("smoother", problem.knots, mean_u, mean_v, precision_u=h_u, precision_v=h_v)
        else:
            filtering = SequentialSolver(
                problem,
                world.diffusion,
                dim,
                effort.filtering,
                machine,
                contexts=effort.contexts,
                first_steps=effort.first_steps,
            )
            _run(filtering)
            assert filtering.variance is not None
            posterior = Posterior("filter", problem.knots, *filtering.mean, *filtering.variance)
    seen = np.stack([part.values.reshape(len(part), -1).sum(axis=1) for part in problem.slices], axis=1)
    occurrences = Occurrences(problem.knots, seen.ravel().astype(np.int64))
    return DynamicEmbeddings(
        Fitted(
            problem.words, problem.labels, world.diffusion, posterior, occurrences, method, solver="natural"
        )
    )


def _run(solver: SequentialSolver | SmoothingSolver) -> None:
    while solver.advance() is not None:
        pass


def _pooled(problem: Problem) -> Problem:
    """All slices as one: where smoothing starts."""
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


def truth(world: World, model: DynamicEmbeddings, vectors: str) -> np.ndarray:
    """The true vectors (T, L, d) of a kind ("word" or "sum"), turned into the axes of the model.

    The likelihood does not see a rotation of all vectors, so the one that brings truth and means together is
    taken.
    """
    match = np.zeros((model.dim, model.dim))
    for true, side in ((world.u, "word"), (world.v, "context")):
        asked: Vectors = vectors_of(model, side)
        for t, time in enumerate(model.times):
            weight = 1.0 / asked.variances_at(float(time)).mean(axis=1, keepdims=True)
            match += (weight * true[t]).T @ asked.means_at(float(time))
    left, _, right = np.linalg.svd(match)
    chosen = {"word": world.u, "context": world.v, "sum": world.u + world.v}[vectors]
    return np.asarray(chosen @ (left @ right))
