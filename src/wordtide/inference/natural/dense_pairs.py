"""Sums over the negative pairs: all rows against some or all columns, as products of thin matrices."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from wordtide.inference.compute import Compute
from wordtide.inference.natural.row_shares import RowShares

_BLOCK = 1 << 18  # elements of a block of rows of the (a, a) matrices: the two of them stay in a core's cache
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(8)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Vectors:
    """Mean and variance of all active words' vectors of one kind, (a, d) each."""

    mean: Tensor
    variance: Tensor

    def __getitem__(self, rows: slice | Tensor) -> "Vectors":
        return Vectors(self.mean[rows], self.variance[rows])


@dataclass(frozen=True)
class Columns:
    """The other ends of the pairs: vectors (n, d) and the weight of each in the sum, (n, 1)."""

    vectors: Vectors
    weight: Tensor

    @cached_property
    def weighted(self) -> tuple[Tensor, Tensor, Tensor]:
        """weight times mean, variance and squared mean."""
        mean = self.vectors.mean * self.weight
        return mean, self.vectors.variance * self.weight, mean * self.vectors.mean

    @cached_property
    def squares(self) -> Tensor:
        """The squared means."""
        return self.vectors.mean * self.vectors.mean


def add_negatives(
    vectors: Vectors, rows: range, columns: Columns, scale: Tensor, sums: tuple[Tensor, ...], compute: Compute
) -> None:
    """Set a range of rows of the sums of -p mu, r s and r mu^2 over the columns, each row times its scale."""
    step = max(1, _BLOCK // len(columns.weight))
    for start in range(rows.start, rows.stop, step):
        here = slice(start, min(start + step, rows.stop))
        kappa, p = _kappa_and_p(vectors[here], columns, compute)
        out = [sum_of[here] for sum_of in sums]
        torch.mm(p, columns.weighted[0], out=out[0])
        r = curvature(kappa, p)
        torch.mm(r, columns.weighted[1], out=out[1])
        torch.mm(r, columns.weighted[2], out=out[2])
        out[0].mul_(scale[here]).neg_()
        out[1].mul_(scale[here])
        out[2].mul_(scale[here])


def add_all_negatives(
    u: Vectors,
    v: Vectors,
    word_weight: Tensor,
    context_weight: Tensor,
    sums_u: tuple[Tensor, ...],
    sums_v: tuple[Tensor, ...],
    shares: RowShares,
    compute: Compute,
) -> None:
    """Set the sums of the own words, and of all contexts, over all active pairs: nine products of (a, a, d)."""
    words, contexts = Columns(u, word_weight), Columns(v, context_weight)
    weighted_words, _, _ = (
        words.weighted,
        contexts.weighted,
        contexts.squares,
    )  # once, before threads ask for them

    def over(rows: range) -> Tensor:
        """The rows' own sums, and their share in those of the contexts, (3, a, d)."""
        share = v.mean.new_zeros(3, *v.mean.shape)
        step = max(1, _BLOCK // len(v.mean))
        for start in range(rows.start, rows.stop, step):
            here = slice(start, min(start + step, rows.stop))
            kappa, p = _kappa_and_p(u[here], contexts, compute)
            torch.mm(p, contexts.weighted[0], out=sums_u[0][here])
            share[0].addmm_(p.T, weighted_words[0][here])
            r = curvature(kappa, p)
            for k in (1, 2):
                torch.mm(r, contexts.weighted[k], out=sums_u[k][here])
                share[k].addmm_(r.T, weighted_words[k][here])
        return share

    parts = shares.tensors(compute.map(over, shares.own), v.mean)
    for k, sign in enumerate((-1.0, 1.0, 1.0)):
        sums_u[k].mul_(word_weight).mul_(sign)
        total = sums_v[k].copy_(parts[0][k])
        for part in parts[1:]:
            total.add_(part[k])
        total.mul_(context_weight).mul_(sign)


def pair_variance(rows: Vectors, columns: Vectors) -> Tensor:
    """The variance of u . v for all pairs of rows and columns, exact under the mean field."""
    second_moment = torch.addcmul(rows.variance, rows.mean, rows.mean)
    return (second_moment @ columns.variance.T).addmm_(rows.variance, (columns.mean * columns.mean).T)


def curvature(kappa: Tensor, p: Tensor) -> Tensor:
    """kappa p (1 - p), in place of kappa."""
    kappa.mul_(p)
    return kappa.addcmul_(kappa, p, value=-1)


def expected_softplus(m: Tensor, s2: Tensor) -> Tensor:
    """E[log(1 + exp(x))] for x ~ N(m, s2); s2 is overwritten."""
    s = s2.clamp_(min=0.0).sqrt_()
    total = torch.zeros_like(m)
    for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
        total.add_(torch.nn.functional.softplus(torch.add(m, s, alpha=node)), alpha=weight)
    return total


def _kappa_and_p(rows: Vectors, columns: Columns, compute: Compute) -> tuple[Tensor, Tensor]:
    shape = len(rows.mean), len(columns.vectors.mean)
    kappa, p = compute.work.empty("kappa", *shape), compute.work.empty("p", *shape)
    second_moment = torch.addcmul(
        rows.variance, rows.mean, rows.mean, out=compute.work.empty("second", *rows.mean.shape)
    )
    torch.mm(second_moment, columns.vectors.variance.T, out=kappa)
    kappa.addmm_(rows.variance, columns.squares.T)
    kappa.mul_(math.pi / 8).add_(1.0).rsqrt_()
    torch.mm(rows.mean, columns.vectors.mean.T, out=p)
    return kappa, p.mul_(kappa).sigmoid_()
