"""The prior over one coordinate of one trajectory: diffusion in time, and a weak pull to the origin at every slice.

The paper writes the joint as a product over slices of N(u[t+1]; u[t], sigma_t^2) N(u[t+1]; 0, sigma_0^2) (section 3.2, before
normalisation). Its precision is the tridiagonal Pi of the supplement, and its forward messages are the filter's prior of Eq.
13: both solvers use this one prior. (Eqs. 5 and 6 normalise each step, which is another prior; docs/mathematics.md says how
they differ.)

All numbers here are scalars per slice, shared by all words and dimensions, in float64.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.errors import SettingsError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Diffusion:
    """The prior on slices at `times` (T,) in years, with diffusion constant D per year and prior variance sigma_0^2."""

    times: Floats
    constant: float
    prior_variance: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.constant) and self.constant > 0):
            raise SettingsError(f"The diffusion constant {self.constant} is not positive.", "Give a number like 0.001.")
        if not (np.isfinite(self.prior_variance) and self.prior_variance > 0):
            raise SettingsError(f"The prior variance {self.prior_variance} is not positive.", "Give a number like 1.")
        if len(self.times) == 0 or not np.isfinite(self.times).all() or not (np.diff(self.times) > 0).all():
            raise SettingsError("The times of the slices do not increase.", "Count again: each slice needs a later date.")

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def step_variance(self) -> Floats:
        """sigma_t^2 = D (tau[t+1] - tau[t]), Eq. 3, (T - 1,)."""
        return self.constant * np.diff(self.times)

    def precision(self) -> tuple[Floats, Floats]:
        """Diagonal (T,) and off-diagonal (T - 1,) of Pi, the supplement's "prior precision"."""
        inverse = 1.0 / self.step_variance
        diagonal = np.full(len(self), 1.0 / self.prior_variance)
        diagonal[:-1] += inverse
        diagonal[1:] += inverse
        return diagonal, -inverse

    @cached_property
    def _later_pull(self) -> Floats:
        """The precision that slice t and all later slices put on u[t]: a backward message, (T,)."""
        pull = np.empty(len(self))
        pull[-1] = 1.0 / self.prior_variance
        for t in range(len(self) - 2, -1, -1):
            pull[t] = 1.0 / self.prior_variance + pull[t + 1] / (1.0 + self.step_variance[t] * pull[t + 1])
        return pull

    @cached_property
    def gain(self) -> Floats:
        """E[u[t+1] | u[t]] = gain[t] u[t], (T - 1,)."""
        return 1.0 / (1.0 + self.step_variance * self._later_pull[1:])

    @cached_property
    def noise(self) -> Floats:
        """Var[u[t+1] | u[t]], (T - 1,)."""
        return self.step_variance * self.gain

    @cached_property
    def marginal(self) -> Floats:
        """Var[u[t]] under the prior: the diagonal of the inverse of Pi, (T,)."""
        variance = np.empty(len(self))
        variance[0] = 1.0 / self._later_pull[0]
        for t in range(len(self) - 1):
            variance[t + 1] = self.gain[t] ** 2 * variance[t] + self.noise[t]
        return variance

    @cached_property
    def _log_correlation(self) -> Floats:
        """Sum over the steps before slice t of the logarithm of the correlation across each, (T,)."""
        steps = 0.5 * np.log1p(-self.noise / self.marginal[1:])
        return np.concatenate([[0.0], np.cumsum(steps)])

    def across(self, start: Integers, stop: Integers) -> tuple[Floats, Floats]:
        """Gain and noise from slices `start` to later slices `stop`: u[stop] = gain u[start] + noise, nothing observed between.

        Exactly what the single steps between compose to.
        """
        log_correlation = self._log_correlation[stop] - self._log_correlation[start]
        gain = np.exp(log_correlation) * np.sqrt(self.marginal[stop] / self.marginal[start])
        noise = -self.marginal[stop] * np.expm1(2.0 * log_correlation)
        return gain, noise

    def step(self, t: int) -> "Passage":
        """The filter's passage from slice t to slice t + 1 (Eq. 13)."""
        variance, pull = float(self.step_variance[t]), self.prior_variance
        noise = 1.0 / (1.0 / variance + 1.0 / pull)
        return Passage(np.float64(1.0 / (pull + variance)), np.float64(noise / variance), np.float64(noise))


@dataclass(frozen=True)
class Passage:
    """What happens to a Gaussian belief from one slice to a later one: the kernel exp(-pull u^2 / 2) N(u'; gain u, noise).

    Fields are scalars or arrays (one element per word). Eq. 13 is `Diffusion.step(t)` applied to mean and variance.
    """

    pull: Any
    gain: Any
    noise: Any

    @staticmethod
    def none(size: int) -> "Passage":
        """No passage at all, for each of `size` words."""
        return Passage(np.zeros(size), np.ones(size), np.zeros(size))

    def of(self, words: Integers, dtype: npt.DTypeLike) -> "Passage":
        """The passages of some words."""
        return Passage(*(field[words].astype(dtype) for field in (self.pull, self.gain, self.noise)))

    def begin_anew(self, words: Integers) -> None:
        """These words were observed: nothing has passed since. (Fields are arrays, and changed in place.)"""
        self.pull[words], self.gain[words], self.noise[words] = 0.0, 1.0, 0.0

    def then(self, later: "Passage") -> "Passage":
        """This passage followed by a later one, with nothing observed at the slice between."""
        shrink = 1.0 / (1.0 + later.pull * self.noise)
        return Passage(
            self.pull + self.gain**2 * later.pull * shrink,
            self.gain * shrink * later.gain,
            later.noise + later.gain**2 * self.noise * shrink,
        )

    def predict(self, mean: Any, variance: Any) -> tuple[Any, Any]:
        """Mean and variance after the passage. Arrays (n,) or (n, d); for the latter, fields of n elements."""
        pull, gain, noise = (
            np.asarray(field)[..., None] if np.ndim(mean) > np.ndim(field) and np.ndim(field) else field
            for field in (self.pull, self.gain, self.noise)
        )
        shrink = 1.0 / (1.0 + pull * variance)
        return gain * shrink * mean, gain * gain * shrink * variance + noise
