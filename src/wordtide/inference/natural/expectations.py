"""The expected log likelihood of one slice under the mean field: gradients for the means, and the precision that the data add.

For a pair (i, j) with x = u_i . v_j, approximately Gaussian with mean m and variance s2 (exact moments):

    kappa = 1 / sqrt(1 + pi s2 / 8),  p = sigmoid(kappa m)      E[sigmoid(x)]
    e = n+ (1 - p) - n- p                                        d/dm of E[log p(n | x)]
    r = (n+ + n-) kappa p (1 - p)                                minus its second derivative
    g_u = sum_j e mu_v - mu_u sum_j r s_v                        and likewise for contexts
    h_u = sum_j r (mu_v^2 + s_v)

Positive pairs are sparse and always exact. Negative pairs are all active pairs with weights of rank one; these weights are
put into the thin factors of the matrix products, never into an (a, a) matrix. They are summed exactly, or over sampled
contexts.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wordtide.inference.compute import Compute
from wordtide.inference.natural.dense_pairs import (
    Columns,
    Vectors,
    add_all_negatives,
    add_negatives,
    curvature,
    expected_softplus,
    pair_variance,
)
from wordtide.inference.natural.negatives import WeightedSampler, contexts_for
from wordtide.inference.natural.positives import Keep, PositivePairs, in_memory
from wordtide.inference.natural.row_shares import RowShares
from wordtide.inference.prediction import log_expected_sigmoid
from wordtide.inference.problem import SliceData

#: From mean and variance of x, which it may overwrite, to what a pair costs.
Cost = Callable[[Tensor, Tensor], Tensor]

_MOST_PARTS = 32
_MOST_EXACT_PARTS = 8  # each with sums for all contexts


@dataclass(frozen=True)
class Gradient:
    """For one kind of vectors: the gradient g for the means and the precision h that the data add, (a, d) each.

    They stand in work arrays: use them before the same thread computes the next.
    """

    g: Tensor
    h: Tensor


class PreparedSlice:
    """A slice with what the sums need beside it. `alone`: one thread makes its sums, because other slices run beside it.

    `keep` says where large arrays are kept that are only read.
    """

    def __init__(
        self,
        part: SliceData,
        compute: Compute,
        contexts: int | None,
        alone: bool = False,
        keep: Keep = in_memory,
    ) -> None:
        self.part = part
        self.size = len(part)
        self.contexts = contexts_for(len(part), len(part.values), contexts)
        self.compute = compute
        if alone or not (compute.on_cpu or compute.processes.several):
            self.shares = RowShares.whole(part.indptr)
        else:
            self.shares = RowShares.of(
                part.indptr, compute.processes, _MOST_PARTS if self.contexts else _MOST_EXACT_PARTS
            )
        self.positives = PositivePairs(part, compute, shares=self.shares, keep=keep)
        self.word_weight = torch.from_numpy(part.negatives * part.word_probability).to(
            compute.device, compute.dtype
        )[:, None]
        self.context_weight = torch.from_numpy(part.context_probability).to(compute.device, compute.dtype)[
            :, None
        ]
        self._scale_v = self.context_weight * part.negatives
        self._contexts = WeightedSampler(part.context_probability, self.contexts or self.size)
        self._words = WeightedSampler(part.word_probability, self.contexts or self.size)

    def gradients(self, u: Vectors, v: Vectors, generator: np.random.Generator) -> tuple[Gradient, Gradient]:
        """g and h of words and of contexts. The generator draws the contexts of negative pairs where they are sampled."""
        work, shape = self.compute.work, u.mean.shape
        sums_u = tuple(work.empty(f"sums_u{k}", *shape) for k in range(3))
        sums_v = tuple(work.empty(f"sums_v{k}", *shape) for k in range(3))
        e, r = work.empty("e", len(self.positives.values)), work.empty("r", len(self.positives.values))
        if self.contexts is None:
            add_all_negatives(
                u, v, self.word_weight, self.context_weight, sums_u, sums_v, self.shares, self.compute
            )
        else:
            contexts = self._drawn(v, self._contexts, generator)
            words = self._drawn(u, self._words, generator)

        def words_of(rows: range) -> None:
            if self.contexts is not None:
                add_negatives(u, rows, contexts, self.word_weight, sums_u, self.compute)
                add_negatives(v, rows, words, self._scale_v, sums_v, self.compute)
            self._errors(rows, u, v, e, r)
            self.positives.add_to_words(rows, e, r, (v.mean, v.variance), sums_u)

        self.compute.map(words_of, self.shares.own)
        e_there, r_there = self.positives.for_contexts(e, r)

        def contexts_of(rows: range) -> None:
            self.positives.add_to_contexts(rows, e_there, r_there, (u.mean, u.variance), sums_v)
            here = slice(rows.start, rows.stop)
            for mean, sums in ((u.mean, sums_u), (v.mean, sums_v)):
                sums[0][here].addcmul_(mean[here], sums[1][here], value=-1)
                sums[2][here].add_(sums[1][here])

        self.compute.map(contexts_of, self.shares.own)
        self.shares.gather([sums_u[0], sums_u[2], sums_v[0], sums_v[2]])
        return Gradient(sums_u[0], sums_u[2]), Gradient(sums_v[0], sums_v[2])

    def expected_log_likelihood(self, u: Vectors, v: Vectors, generator: np.random.Generator) -> float:
        """E_q[log p(n | U, V)], with x Gaussian and its one-dimensional expectations by Gauss-Hermite quadrature."""
        return self._log_likelihood(u, v, generator, expected_softplus)

    def predictive_log_likelihood(self, u: Vectors, v: Vectors, generator: np.random.Generator) -> float:
        """log E_q[p(n | U, V)], with the expectation pair by pair: how probable the slice is under beliefs made without it."""
        return self._log_likelihood(u, v, generator, _surprise)

    def _log_likelihood(self, u: Vectors, v: Vectors, generator: np.random.Generator, cost: Cost) -> float:
        """Minus the sum over pairs of a cost, for positive pairs of -x and for negative ones of x."""
        work = self.compute.work
        m, s2 = work.empty("e", len(self.positives.values)), work.empty("r", len(self.positives.values))
        if self.contexts is None:
            columns = Columns(v, self.context_weight)
        else:
            columns = self._drawn(v, self._contexts, generator)

        def part_of(rows: range) -> float:
            self.positives.moments(rows, (u.mean, u.variance), (v.mean, v.variance), m, s2)
            here = self.positives.places(rows)
            softplus = cost(m[here].neg_(), s2[here])
            total = -float((softplus * self.positives.values[here]).sum(dtype=torch.float64))
            step = max(1, (1 << 18) // len(columns.weight))
            for start in range(rows.start, rows.stop, step):
                block = slice(start, min(start + step, rows.stop))
                softplus = cost(
                    u.mean[block] @ columns.vectors.mean.T, pair_variance(u[block], columns.vectors)
                )
                total -= float((self.word_weight[block].T @ (softplus @ columns.weight)).double())
            return total

        return float(sum(self.shares.numbers(self.compute.map(part_of, self.shares.own))))

    def _drawn(self, vectors: Vectors, sampler: WeightedSampler, generator: np.random.Generator) -> Columns:
        drawn, weight = sampler.draw(generator)
        like = self.word_weight
        index = torch.from_numpy(drawn).to(like.device)
        return Columns(vectors[index], torch.from_numpy(weight).to(like.device, like.dtype)[:, None])

    def _errors(self, rows: range, u: Vectors, v: Vectors, e: Tensor, r: Tensor) -> None:
        """e and r of the positive pairs of some rows."""
        self.positives.moments(rows, (u.mean, u.variance), (v.mean, v.variance), e, r)
        here = self.positives.places(rows)
        m, s2, values = e[here], r[here], self.positives.values[here]
        kappa = s2.mul_(math.pi / 8).add_(1.0).rsqrt_()
        p = m.mul_(kappa).sigmoid_()
        curvature(kappa, p).mul_(values)
        p.neg_().add_(1.0).mul_(values)


def _surprise(mean: Tensor, variance: Tensor) -> Tensor:
    """-log E[sigmoid(-x)] for x ~ N(mean, variance)."""
    deviation = variance.clamp_(min=0.0).sqrt_().cpu().numpy()
    return -torch.from_numpy(log_expected_sigmoid(mean.neg_().cpu().numpy(), deviation)).to(mean.device)
