"""The prior over one coordinate of one trajectory: how a vector drifts, at the slices and at any other
moment.

There are two. `StationaryPrior`, the default, is an Ornstein-Uhlenbeck process: its variance is the same at
all times, and slicing does not change it. `ProductPrior` is what the paper's algorithms use (Eq. 13,
supplement S11). Filter and smoother, answers between and beyond slices, and draws all take the prior from
here. All numbers are scalars per moment, shared by all words and dimensions, in float64.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from wordtide.errors import SettingsError
from wordtide.model.gaussians import condition, predict
from wordtide.types import Floats, Indices

#: Replaces zero between a moment and itself: far below any variance, and its inverse square is finite.
_NO_NOISE = 1e-100


@dataclass(frozen=True)
class Places:
    """Moments in time under the prior: `marginal` variances and `log_correlation` with one common moment,
    both (n,).

    The variance at each moment and the correlation between neighbors determine a Gaussian Markov chain; the
    correlation of any two moments is the product over the steps between them, stored as a sum of logarithms.
    """

    log_correlation: Floats
    marginal: Floats

    def __len__(self) -> int:
        return len(self.marginal)

    def __getitem__(self, rows: npt.NDArray[np.integer[Any]] | slice) -> "Places":
        return Places(self.log_correlation[rows], self.marginal[rows])

    def to(self, later: "Places") -> tuple[Floats, Floats]:
        """Gain and noise from these moments to later ones, with nothing observed between: x' = gain x +
        noise, each (n,).
        """
        difference = np.minimum(later.log_correlation - self.log_correlation, 0.0)
        gain = np.exp(difference) * np.sqrt(later.marginal / self.marginal)
        return gain, np.maximum(-later.marginal * np.expm1(2.0 * difference), _NO_NOISE)


@dataclass(frozen=True)
class Passage:
    """How a filter propagates a Gaussian belief to a later moment: the kernel
    exp(-pull u^2 / 2) N(u'; gain u, noise).

    Fields are scalars, or arrays with one element per word. A stationary prior has no pull.
    """

    pull: Any
    gain: Any
    noise: Any

    def __getitem__(self, rows: Indices | slice) -> "Passage":
        return Passage(self.pull[rows], self.gain[rows], self.noise[rows])

    def astype(self, dtype: npt.DTypeLike) -> "Passage":
        """The same in another floating-point type."""
        return Passage(*(field.astype(dtype) for field in (self.pull, self.gain, self.noise)))

    def then(self, later: "Passage") -> "Passage":
        """This passage followed by a later one, with nothing observed between."""
        shrink = 1.0 / (1.0 + later.pull * self.noise)
        return Passage(
            self.pull + self.gain**2 * later.pull * shrink,
            self.gain * shrink * later.gain,
            later.noise + later.gain**2 * self.noise * shrink,
        )

    def predict(self, mean: Any, variance: Any) -> tuple[Any, Any]:
        """Mean and variance after the passage.

        Arrays (n,) or (n, d); for the latter, fields of n elements.
        """
        pull, gain, noise = (
            np.asarray(field)[..., None] if np.ndim(mean) > np.ndim(field) and np.ndim(field) else field
            for field in (self.pull, self.gain, self.noise)
        )
        if np.any(pull):
            mean, variance = condition(mean, variance, pull, 0.0)
        return predict(gain, noise, mean, variance)


@dataclass(frozen=True)
class Diffusion(ABC):
    """A prior on slices at `times` (T,) in years, with diffusion constant D per year: short steps have
    variance D per year.

    `prior_variance` is the variance with which a filter begins.
    """

    name: ClassVar[str]
    #: Whether a filter's `Passage` has a pull.
    pulls: ClassVar[bool] = False

    times: Floats
    constant: float
    prior_variance: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.constant) and self.constant > 0):
            raise SettingsError(
                f"The diffusion constant {self.constant} is not positive.", "Give a number like 0.001."
            )
        if not (np.isfinite(self.prior_variance) and self.prior_variance > 0):
            raise SettingsError(
                f"The prior variance {self.prior_variance} is not positive.", "Give a number like 1."
            )
        if len(self.times) == 0 or not np.isfinite(self.times).all() or not (np.diff(self.times) > 0).all():
            raise SettingsError(
                "The times of the slices do not increase.", "Count again: each slice needs a later date."
            )

    def __len__(self) -> int:
        return len(self.times)

    def on(self, times: Floats) -> Self:
        """The same prior on other slices."""
        return replace(self, times=times)

    def with_constant(self, constant: float) -> Self:
        """The same prior with another diffusion constant."""
        return replace(self, constant=constant)

    @cached_property
    def step_variance(self) -> Floats:
        """sigma_t^2 = D (tau[t+1] - tau[t]), Eq. 3, (T - 1,)."""
        return self.constant * np.diff(self.times)

    @property
    @abstractmethod
    def slices(self) -> Places:
        """The slices, (T,)."""

    @abstractmethod
    def at(self, times: Floats) -> Places:
        """Moments `times` (n,) in float years, on the grid of slices or off it."""

    @abstractmethod
    def passage(self, earlier: Floats, later: Floats) -> Passage:
        """A filter's passage between moments (n,), none before the first slice, with nothing observed
        between.
        """

    @property
    def marginal(self) -> Floats:
        """Var[u[t]] under the prior, (T,)."""
        return self.slices.marginal

    @cached_property
    def _steps(self) -> tuple[Floats, Floats]:
        return self.slices[:-1].to(self.slices[1:])

    @property
    def gain(self) -> Floats:
        """E[u[t+1] | u[t]] = gain[t] u[t], (T - 1,)."""
        return self._steps[0]

    @property
    def noise(self) -> Floats:
        """Var[u[t+1] | u[t]], (T - 1,)."""
        return self._steps[1]

    def precision(self) -> tuple[Floats, Floats]:
        """Diagonal (T,) and off-diagonal (T - 1,) of the prior's precision, which is tridiagonal."""
        diagonal = np.empty(len(self))
        diagonal[0], diagonal[1:] = 1.0 / self.marginal[0], 1.0 / self.noise
        diagonal[:-1] += self.gain**2 / self.noise
        return diagonal, -self.gain / self.noise

    def across(self, start: Indices, stop: Indices) -> tuple[Floats, Floats]:
        """Gain and noise from slices `start` to later ones: u[stop] = gain u[start] + noise, with nothing
        observed between.
        """
        return self.slices[start].to(self.slices[stop])


@dataclass(frozen=True)
class StationaryPrior(Diffusion):
    """The stationary Ornstein-Uhlenbeck process with variance v = `prior_variance` at all times.

        u ~ N(0, v)        u(t + gap) | u(t) ~ N(a u(t), v (1 - a^2))        a = exp(-D gap / 2v)

    A short gap has variance D gap, as in the paper (Eq. 3). Gaps compose by multiplying a, so empty, finer
    and later slices change nothing, and one formula serves steps, gaps, and moments between and beyond
    slices, in filter and smoother alike.
    """

    name = "stationary"

    @cached_property
    def slices(self) -> Places:
        """The slices, (T,)."""
        return self.at(self.times)

    def at(self, times: Floats) -> Places:
        """Moments `times` (n,) in float years, on the grid of slices or off it."""
        rate = self.constant / (2.0 * self.prior_variance)
        return Places(-rate * (times - self.times[0]), np.full(np.shape(times), self.prior_variance))

    def passage(self, earlier: Floats, later: Floats) -> Passage:
        """A filter's passage between moments (n,), with nothing observed between."""
        log_gain = -self.constant / (2.0 * self.prior_variance) * (later - earlier)
        return Passage(
            np.zeros(np.shape(log_gain)), np.exp(log_gain), -self.prior_variance * np.expm1(2.0 * log_gain)
        )


@dataclass(frozen=True)
class ProductPrior(Diffusion):
    """The paper's prior: diffusion, and a pull to the origin at every slice, of variance sigma_0^2 =
    `prior_variance`.

    The paper writes the joint as a product over slices of N(u[t+1]; u[t], sigma_t^2) N(u[t+1]; 0, sigma_0^2)
    (section 3.2, before normalization). Its precision is the tridiagonal Pi of the supplement, and its
    forward messages are the filter's prior of Eq. 13. (Eqs. 5 and 6 normalize each step, which is another
    prior; docs/mathematics.md compares them.) The pull acts at the slices only: between two slices, before
    the first and after the last there is nothing but diffusion.
    """

    name = "product"
    pulls = True

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
    def _steps(self) -> tuple[Floats, Floats]:
        gain = 1.0 / (1.0 + self.step_variance * self._later_pull[1:])
        return gain, self.step_variance * gain

    @cached_property
    def slices(self) -> Places:
        """The slices, (T,)."""
        variance = np.empty(len(self))
        variance[0] = 1.0 / self._later_pull[0]
        for t in range(len(self) - 1):
            variance[t + 1] = self.gain[t] ** 2 * variance[t] + self.noise[t]
        steps = 0.5 * np.log1p(-self.noise / variance[1:])
        return Places(np.concatenate([[0.0], np.cumsum(steps)]), variance)

    def at(self, times: Floats) -> Places:
        """Moments `times` (n,): a Brownian bridge between two slices, a free walk before the first and after
        the last.
        """
        place = slice_before(self.times, times)
        t = np.maximum(place, 0)
        gain, noise = np.ones(len(times)), self.constant * np.abs(times - self.times[t])
        inside = (place >= 0) & (place < len(self) - 1)
        s, length = t[inside], np.diff(self.times)[t[inside]]
        share = (times[inside] - self.times[s]) / length
        gain[inside] = 1.0 - share + share * self.gain[s]
        noise[inside] = share**2 * self.noise[s] + self.constant * length * share * (1.0 - share)
        marginal = gain**2 * self.slices.marginal[t] + noise
        step = 0.5 * np.log1p(-noise / marginal)
        return Places(self.slices.log_correlation[t] + np.where(place >= 0, step, -step), marginal)

    def passage(self, earlier: Floats, later: Floats) -> Passage:
        """A filter's passage between moments (n,): Eq. 13 at each slice on the way, diffusion between."""
        here, there = slice_before(self.times, earlier), slice_before(self.times, later)
        crossing = here < there
        following = np.minimum(here + 1, len(self) - 1)
        first = self._over(np.where(crossing, self.constant * (self.times[following] - earlier), 1.0))
        whole = first.then(self._between(np.where(crossing, following, 0), np.where(crossing, there, 0)))
        since = np.where(crossing, self.times[there], earlier)
        return Passage(
            np.where(crossing, whole.pull, 0.0),
            np.where(crossing, whole.gain, 1.0),
            np.where(crossing, whole.noise, 0.0) + self.constant * (later - since),
        )

    def _over(self, variance: Floats) -> Passage:
        """Eq. 13: diffusion of this variance, and the pull of the slice at its end."""
        noise = 1.0 / (1.0 / variance + 1.0 / self.prior_variance)
        return Passage(1.0 / (self.prior_variance + variance), noise / variance, noise)

    @cached_property
    def _doublings(self) -> list[Passage]:
        """Element j: from slice t over 2^j slices, for all t where that is possible; fields (T - 2^j,)."""
        level, levels = self._over(self.step_variance), []
        while len(level.pull):
            levels.append(level)
            length = 1 << (len(levels) - 1)
            level = level[:-length].then(level[length:])
        return levels

    def _between(self, start: Indices, stop: Indices) -> Passage:
        """From slices `start` to slices `stop`, none earlier; fields (n,)."""
        pull, gain, noise = np.zeros(len(start)), np.ones(len(start)), np.zeros(len(start))
        place = start.copy()
        for j, level in enumerate(self._doublings):
            n = np.flatnonzero((stop - start) >> j & 1)
            longer = Passage(pull[n], gain[n], noise[n]).then(level[place[n]])
            pull[n], gain[n], noise[n] = longer.pull, longer.gain, longer.noise
            place[n] += 1 << j
        return Passage(pull, gain, noise)


#: The priors by the names they have in settings and model folders.
PRIORS: dict[str, type[Diffusion]] = {kind.name: kind for kind in (StationaryPrior, ProductPrior)}


def slice_before(grid: Floats, times: Floats) -> npt.NDArray[np.int64]:
    """The last slice at or before each time, (n,); -1 before the first slice."""
    return np.searchsorted(grid, times, side="right") - 1


def nearest_slice(grid: Floats, times: Floats) -> npt.NDArray[np.int64]:
    """The slice nearest to each time, (n,)."""
    return np.searchsorted((grid[1:] + grid[:-1]) / 2.0, times)
