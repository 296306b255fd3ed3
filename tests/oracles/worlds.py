"""Synthetic corpora whose truth is known: trajectories drawn from the prior, counts drawn from the likelihood itself.

With n- fixed, sigmoid(x)^n+ sigmoid(-x)^n- is the probability of n+ under a negative binomial distribution, up to a constant
that does not depend on x: a Poisson number whose rate is Gamma distributed with shape n- and scale exp(x).
"""

from dataclasses import dataclass, replace

import numpy as np

from oracles import natural
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.prediction import integrated_log_likelihood_per_pair
from wordtide.inference.problem import Problem, SliceData
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.prior import Diffusion, ProductPrior


@dataclass(frozen=True)
class World:
    """Vectors of words and contexts (T, L, d), their prior, and the counts they led to."""

    u: np.ndarray
    v: np.ndarray
    diffusion: Diffusion
    problem: Problem

    @property
    def scores(self):
        """u_i . v_j at every slice, (T, L, L)."""
        return self.u @ self.v.transpose(0, 2, 1)


def trajectories(rng, diffusion, size, dim):
    """Draws from the prior, (T, L, d)."""
    root = np.linalg.cholesky(natural.prior_covariance(diffusion))
    return np.einsum("ts,sik->tik", root, rng.standard_normal((len(diffusion), size, dim)))


def slice_drawn(rng, u, v, negatives):
    """Counts of all pairs of words with these vectors (L, d), with `negatives` negative pairs each."""
    size = len(u)
    rate = rng.gamma(shape=negatives, scale=np.exp(u @ v.T))
    counts = rng.poisson(rate).astype(np.float32)
    return SliceData(
        words=np.arange(size, dtype=np.int32),
        indptr=np.arange(0, size * size + 1, size, dtype=np.int32),
        indices=np.tile(np.arange(size, dtype=np.int32), size),
        values=counts.ravel(),
        word_probability=np.full(size, 1.0 / size),
        context_probability=np.full(size, 1.0 / size),
        positives=float(counts.sum()),
        negatives=float(negatives * size * size),
    )


def observed(rng, u, v, diffusion, negatives):
    """The world of these vectors, (T, L, d), seen through `negatives` negative pairs for each pair of words and slice."""
    slices = [slice_drawn(rng, *vectors, negatives) for vectors in zip(u, v, strict=True)]
    words, labels = [f"word{i}" for i in range(u.shape[1])], [str(time) for time in diffusion.times]
    return World(u, v, diffusion, Problem(words, diffusion.times, labels, slices))


def world(seed, diffusion, size, dim, negatives):
    """A world drawn from the prior."""
    rng = np.random.default_rng(seed)
    u, v = (trajectories(rng, diffusion, size, dim) for _ in range(2))
    return observed(rng, u, v, diffusion, negatives)


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
    """Means (2, L, d) of the static model on all slices, with exact negatives: where smoothing starts."""
    problem = pooled(world)
    prior = ProductPrior(problem.times, 1.0, float(world.diffusion.marginal.mean()))
    solver = SequentialSolver(problem, prior, dim, Schedule(steps, 0.9, 0.3, 0.0), compute, contexts=None)
    while solver.advance() is not None:
        pass
    return solver.mean


def on_grid(tensor, world):
    """States of a word at all slices, from knots word by word (K, d) to (T, L, d): every word is at every slice here."""
    slices, size, dim = world.u.shape
    return tensor.numpy().reshape(size, slices, dim).transpose(1, 0, 2)


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
    """The log-likelihood per pair of slice t, which the solver lacks, with the posterior at its time integrated out."""
    beliefs = []
    for kind in solver.kinds:
        arrays = (array.numpy().astype(np.float32) for array in (kind.mean, kind.h))
        side = SmoothedTrajectories(solver.problem.knots, solver.diffusion, *arrays)
        time = float(world.problem.times[t])
        beliefs.append(GaussianVectors(side.means_at(time), side.variances_at(time)))
    return integrated_log_likelihood_per_pair(world.problem.slices[t], *beliefs)
