"""One slice fitted by natural gradients: the step that filtering, the static model and the baselines share.

A step with rate rho, for each coordinate, with prior N(m, v), precision lam of q, and g, h from the data:

    lam <- (1 - rho) lam + rho (1/v + h)
    mu  <- mu + rho clip[(g - (mu - m) / v) / lam]
"""

import math

import numpy as np
import torch
from torch import Tensor

from wordtide.inference.natural.dense_pairs import Vectors
from wordtide.inference.natural.expectations import Gradient, PreparedSlice
from wordtide.inference.reports import Diverged
from wordtide.model.divergence import filter_kl


class SliceFit:
    """q of one slice while it is fitted: means and precisions of words (0) and contexts (1), (a, d) each.

    `point`: point estimates, that is q without variance; the precision is then only the curvature by which steps are scaled.
    """

    def __init__(
        self,
        slice: PreparedSlice,
        number: int,
        prior: tuple[Vectors, Vectors],
        start: tuple[Tensor, Tensor],
        trust: float,
        point: bool,
    ) -> None:
        self.slice = slice
        self.number = number
        self.prior = list(prior)
        self.mean = list(start)
        self.precision = [1.0 / kind.variance for kind in prior]
        self._prior_precision = [precision.clone() for precision in self.precision]
        self.trust = trust
        self.point = point

    def vectors(self) -> tuple[Vectors, Vectors]:
        """q as it stands."""
        if self.point:
            nothing = torch.zeros_like(self.mean[0])
            return Vectors(self.mean[0], nothing), Vectors(self.mean[1], nothing)
        variance = self.slice.compute.map(lambda kind: self.precision[kind].reciprocal(), (0, 1))
        return Vectors(self.mean[0], variance[0]), Vectors(self.mean[1], variance[1])

    def step(self, rate: float, generator: np.random.Generator) -> None:
        """One natural-gradient step of words and contexts together."""
        gradients = self.slice.gradients(*self.vectors(), generator)
        sound = self.slice.compute.map(lambda kind: self._move(kind, gradients[kind], rate), (0, 1))
        if not self.slice.compute.processes.agreed(all(sound)):
            raise Diverged(self.number)

    def _move(self, kind: int, gradient: Gradient, rate: float) -> bool:
        """Step of words, or of contexts. Is it finite?"""
        prior = self.prior[kind]
        precision = (
            self.precision[kind]
            .mul_(1 - rate)
            .add_(gradient.h, alpha=rate)
            .add_(self._prior_precision[kind], alpha=rate)
        )
        pull = torch.sub(self.mean[kind], prior.mean, out=gradient.h).mul_(self._prior_precision[kind])
        step = gradient.g.sub_(pull).div_(precision)
        length = torch.linalg.vector_norm(step, dim=1, keepdim=True)
        sound = bool(torch.isfinite(length).all())
        self.mean[kind].addcmul_(step, self.trust / length.clamp_(min=self.trust), value=rate)
        return sound

    def prediction(self, generator: np.random.Generator) -> float:
        """The slice's log-likelihood per pair under its prior; NaN for point estimates, which have none."""
        if self.point:
            return math.nan
        return (
            self.slice.predictive_log_likelihood(self.prior[0], self.prior[1], generator)
            / self.slice.part.pairs
        )

    def rotate_to_principal_axes(self) -> Tensor:
        """Turn all vectors so that their weighted second moments are diagonal, which makes diagonal steps good ones.

        Right only while the prior is the same in all directions (then nothing else changes). Returns the rotation.
        """
        axes = principal_axes([(self.slice.word_weight, mean) for mean in self.mean]).contiguous()
        rotation = torch.from_numpy(self.slice.compute.processes.of_first(axes.cpu().numpy())).to(axes.device)
        squares = rotation * rotation
        for kind in (0, 1):
            self.mean[kind] = self.mean[kind] @ rotation
            self.precision[kind] = 1.0 / ((1.0 / self.precision[kind]) @ squares)
            self.prior[kind] = Vectors(self.prior[kind].mean @ rotation, self.prior[kind].variance)
        return rotation

    def elbo(self, generator: np.random.Generator) -> float:
        """The slice's term of the ELBO (Eq. 11) per pair; for point estimates the log joint density."""
        u, v = self.vectors()
        total = self.slice.expected_log_likelihood(u, v, generator)
        for vectors, prior in ((u, self.prior[0]), (v, self.prior[1])):
            if self.point:
                total -= _distance(vectors, prior)
            else:
                total -= filter_kl(
                    *(
                        tensor.cpu().numpy()
                        for tensor in (vectors.mean, vectors.variance, prior.mean, prior.variance)
                    )
                )
        processes = (
            self.slice.compute.processes
        )  # they decide by this number whether to go on, so they need the same one
        return float(processes.of_first(np.array([total / self.slice.part.pairs]))[0])


def principal_axes(weighted: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The orthogonal (d, d) matrix that makes the sum of weight * outer(mean, mean) diagonal, largest first."""
    moments = [(weight * mean).T @ mean for weight, mean in weighted]
    second_moment = torch.stack(moments).sum(dim=0).double().cpu()
    axes: Tensor = torch.linalg.eigh(second_moment)[1].flip(1).to(weighted[0][1])
    return axes


def _distance(q: Vectors, p: Vectors) -> float:
    """Minus the log density of point estimates under the prior, with its constant."""
    terms = (q.mean - p.mean).square() / p.variance + (2 * torch.pi * p.variance).log()
    return 0.5 * float(terms.sum(dtype=torch.float64))
