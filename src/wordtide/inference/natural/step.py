"""The natural-gradient step of a single slice, shared by filtering, the static model and the baselines.

A step with rate rho, for each coordinate, with prior N(m, v), precision lam of q, and g, h from the data:

    lam <- (1 - rho) lam + rho (1/v + h)
    mu  <- mu + rho clip[(g - (mu - m) / v) / lam]
"""

import math
from typing import Any

import numpy as np

from wordtide.inference.natural.pair_kernels import step_rows
from wordtide.inference.natural.prepared_slice import PreparedSlice, Seed
from wordtide.inference.training import Diverged
from wordtide.model.chain import filter_kl
from wordtide.model.likelihood import GaussianVectors
from wordtide.types import Array, Floats

_step_rows: Any = step_rows


class SliceFit:
    """The posterior q of a slice during its fit: `mean` and `precision` of each side, (a, d) each.

    The sides are words and contexts, or a single one if contexts are tied.

    Args:
        slice: The slice's data.
        number: The slice's number, for error messages.
        prior: The prior of each side.
        start: The means to start from.
        trust: The longest step of a vector.
        point: Fit point estimates, i.e. q without variance; the precision then only scales the steps.
    """

    def __init__(
        self,
        slice: PreparedSlice,
        number: int,
        prior: list[GaussianVectors],
        start: list[Array],
        trust: float,
        point: bool,
    ) -> None:
        self.slice, self.number = slice, number
        self.prior, self.mean = list(prior), list(start)
        self._prior_precision = [1.0 / side.variance for side in prior]
        self.precision = [precision.copy() for precision in self._prior_precision]
        self.trust, self.point = trust, point

    def vectors(self) -> list[GaussianVectors]:
        """Return the current q."""
        if self.point:
            nothing = np.zeros_like(self.mean[0])
            return [GaussianVectors(mean, nothing) for mean in self.mean]
        return [
            GaussianVectors(m, 1.0 / precision)
            for m, precision in zip(self.mean, self.precision, strict=True)
        ]

    def step(self, rate: float, seed: Seed) -> None:
        """Take one natural-gradient step of all vectors together."""
        gradients = self.slice.gradients(self.vectors(), seed)
        finite = [
            _step_rows(
                *(self.mean[side], self.precision[side], gradient.g, gradient.h),
                *(self.prior[side].mean, self._prior_precision[side], rate, self.trust),
            )
            for side, gradient in enumerate(gradients)
        ]
        if not all(finite):
            raise Diverged(self.number)

    def prediction(self, seed: Seed) -> float:
        """Compute the log likelihood per pair under the prior; NaN for point estimates."""
        if self.point:
            return math.nan
        return self.slice.predictive_log_likelihood(self.prior, seed) / self.slice.part.pairs

    def rotate_to_principal_axes(self) -> None:
        """Rotate all vectors so that their weighted second moments are diagonal, which suits diagonal steps.

        As long as the prior is isotropic, this changes nothing else. Tied vectors are rotated within the axes
        of each sign, which preserves their scores.
        """
        weight = self.slice.part.word_probability[:, None]
        rotation = principal_axes([(weight, mean) for mean in self.mean], self.slice.signs)
        squares = rotation * rotation
        for side, prior in enumerate(self.prior):
            self.mean[side] = np.ascontiguousarray(self.mean[side] @ rotation)
            self.precision[side] = 1.0 / ((1.0 / self.precision[side]) @ squares)
            self.prior[side] = GaussianVectors(np.ascontiguousarray(prior.mean @ rotation), prior.variance)

    def elbo(self, seed: Seed) -> float:
        """Compute the slice's ELBO term (Eq. 11) per pair; for point estimates, the log joint density."""
        sides = self.vectors()
        total = self.slice.expected_log_likelihood(sides, seed)
        for vectors, prior in zip(sides, self.prior, strict=True):
            if self.point:
                total -= _distance(vectors, prior)
            else:
                total -= filter_kl(vectors.mean, vectors.variance, prior.mean, prior.variance)
        return total / self.slice.part.pairs


def principal_axes(weighted: list[tuple[Array, Array]], signs: Array | None = None) -> Array:
    """Return the rotation (d, d) that makes the sum of weight * outer(mean, mean) diagonal, largest first.

    With `signs` (d,) it mixes only coordinates of the same sign.
    """
    moments = [(weight * mean).T.astype(np.float64) @ mean for weight, mean in weighted]
    moment: Floats = np.sum(moments, axis=0)
    rotation = np.zeros_like(moment)
    for axes in sign_blocks(signs, len(moment)):
        block = np.ix_(axes, axes)
        vectors = np.linalg.eigh(moment[block])[1][:, ::-1]
        largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(axes))]
        rotation[block] = vectors * np.sign(largest)  # LAPACK libraries choose different signs
    return rotation.astype(weighted[0][1].dtype)


def sign_blocks(signs: Array | None, dim: int) -> list[Array]:
    """Return the coordinates that may be mixed without changing scores: all, or those of each sign."""
    if signs is None:
        return [np.arange(dim)]
    return [axes for axes in (np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)) if len(axes)]


def _distance(q: GaussianVectors, p: GaussianVectors) -> float:
    """Return minus the log density of point estimates under the prior, including its constant."""
    terms = (q.mean - p.mean) ** 2 / p.variance + np.log(2 * np.pi * p.variance)
    return 0.5 * float(terms.sum(dtype=np.float64))
