"""Synthetic corpora whose truth is known: trajectories drawn from the prior, counts from the likelihood.

With n- fixed, sigmoid(x)^n+ sigmoid(-x)^n- is the probability of n+ under a negative binomial distribution,
up to a constant that does not depend on x: a Poisson number whose rate is Gamma distributed with shape n- and
scale exp(x).
"""

from dataclasses import dataclass, replace

import numpy as np

from oracles import natural, solvers
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.evaluation.scores import integrated_log_likelihood_per_pair
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.problem import Problem, SliceData
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.prior import Diffusion, ProductPrior


@dataclass(frozen=True)
class World:
    """Vectors of words (T, L, d), the signs of S, their prior, and the counts they led to."""

    u: np.ndarray
    signs: np.ndarray
    diffusion: Diffusion
    problem: Problem

    @property
    def tied(self):
        """Whether contexts are tied in the problem; its scores can be fitted with separate ones, too."""
        return self.problem.slices[0].tied

    @property
    def scores(self):
        """u_i . S u_j at every slice, (T, L, L)."""
        return (self.u * self.signs) @ self.u.transpose(0, 2, 1)


def trajectories(rng, diffusion, size, dim):
    """Draws from the prior, (T, L, d)."""
    root = np.linalg.cholesky(natural.prior_covariance(diffusion))
    return np.einsum("ts,sik->tik", root, rng.standard_normal((len(diffusion), size, dim)))


def slice_drawn(rng, scores, negatives, tied):
    """Symmetric counts of all pairs of words with these scores (L, L), with `negatives` negative pairs each."""
    size = len(scores)
    half = np.triu(rng.poisson(rng.gamma(shape=negatives, scale=np.exp(scores))), 1 if tied else 0)
    counts = (half + np.triu(half, 1).T).astype(np.float32)
    return SliceData(
        words=np.arange(size, dtype=np.int32),
        indptr=np.arange(0, size * size + 1, size, dtype=np.int32),
        indices=np.tile(np.arange(size, dtype=np.int32), size),
        values=counts.ravel(),
        word_probability=np.full(size, 1.0 / size),
        context_probability=np.full(size, 1.0 / size),
        positives=float(counts.sum()),
        negatives=float(negatives * size * size),
        tied=tied,
    )


def observed(rng, u, diffusion, negatives, tied=True):
    """The world of these vectors, (T, L, d), with `negatives` negative pairs for each pair in each slice."""
    signs = signs_by_rule(u.shape[2])
    scores = (u * signs) @ u.transpose(0, 2, 1)
    slices = [slice_drawn(rng, matrix, negatives, tied) for matrix in scores]
    words, labels = [f"word{i}" for i in range(u.shape[1])], [str(time) for time in diffusion.times]
    return World(u, signs, diffusion, Problem(words, diffusion.times, labels, slices))


def world(seed, diffusion, size, dim, negatives, tied=True):
    """A world drawn from the prior."""
    rng = np.random.default_rng(seed)
    return observed(rng, trajectories(rng, diffusion, size, dim), diffusion, negatives, tied)


def pooled(world):
    """All slices of a world as one."""
    slices = world.problem.slices
    total = replace(
        slices[0],
        values=np.sum([part.values for part in slices], axis=0),
        positives=sum(part.positives for part in slices),
        negatives=sum(part.negatives for part in slices),
    )
    return Problem(world.problem.words, world.problem.times[:1], world.problem.labels[:1], [total])


def static_fit(world, dim, compute, steps=30):
    """Means (sides, L, d) of the static model on all slices, with exact negatives: where smoothing starts."""
    problem = pooled(world)
    prior = ProductPrior(problem.times, 1.0, float(world.diffusion.marginal.mean()))
    schedule = Schedule(steps, 0.9, 0.3, 0.0)
    solver = solvers.sequential(problem, prior, dim, schedule, compute, tied=world.tied)
    solvers.finish(solver)
    return solver.mean


def smoother(world, dim, schedule, compute, problem=None, diffusion=None, **options):
    """A smoother of a world, or of another problem with the same words, that starts from the static model."""
    start, signs = static_fit(world, dim, compute), world.signs if world.tied else None
    chosen = problem or world.problem, diffusion or world.diffusion
    return solvers.smoother(*chosen, start, schedule, compute, signs, **options)


def on_grid(array, world):
    """Reorder states from knots (K, d) to (T, L, d), since every word has a knot at every slice."""
    slices, size, dim = world.u.shape
    return array.reshape(size, slices, dim).transpose(1, 0, 2)


def without(problem, left_out):
    """The same slices without one of them."""
    kept = [t for t in range(len(problem)) if t != left_out]
    return Problem(
        problem.words,
        problem.times[kept],
        [problem.labels[t] for t in kept],
        [problem.slices[t] for t in kept],
    )


def predicted(solver, world, t):
    """The log-likelihood per pair of slice t, which the solver lacks, under the posterior at its time."""
    assert world.tied
    (found,) = solver.states.block.sides
    arrays = (array.astype(np.float32) for array in (found.mean, found.h))
    side = SmoothedTrajectories(solver.states.block.knots, solver.diffusion, *arrays)
    time = float(world.problem.times[t])
    mean, variance = side.means_at(time), side.variances_at(time)
    u, v = GaussianVectors(mean, variance), GaussianVectors(mean * world.signs, variance)
    part = replace(world.problem.slices[t], tied=False)  # each pair in both directions: the mean is the same
    return integrated_log_likelihood_per_pair(part, u, v, self_pairs=False)
