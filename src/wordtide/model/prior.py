"""The prior over one coordinate of a trajectory: how it drifts, at the slices and at any other time.

There are two. `StationaryPrior`, the default, is an Ornstein-Uhlenbeck process: its variance is the same at
all times, and slicing does not change it. `ProductPrior` is what the paper's algorithms use (Eqs. 4, 13 and
S11). Filter and smoother, answers between and beyond slices, and draws all take the prior from here. All
numbers are scalars per time point, shared by all words and dimensions, in float64.
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

#: The noise from a time to itself: far below any variance, but its inverse square is finite.
_NO_NOISE = 1e-100


@dataclass(frozen=True)
class TimePoints:
    """The prior at n points in time: `marginal` variances and `log_correlation` with one common point, (n,).

    The variance at each point and the correlation between neighbors determine a Gaussian Markov chain; the
    correlation of any two points is the product over the steps between them, stored as a sum of logarithms.
    """

    log_correlation: Floats
    marginal: Floats

    def __len__(self) -> int:
        return len(self.marginal)

    def __getitem__(self, rows: npt.NDArray[np.integer[Any]] | slice) -> "TimePoints":
        return TimePoints(self.log_correlation[rows], self.marginal[rows])

    def to(self, later: "TimePoints") -> tuple[Floats, Floats]:
        """Gain and noise (n,) of x' = gain x + noise, from these points to later ones."""
        difference = np.minimum(later.log_correlation - self.log_correlation, 0.0)
        gain = np.exp(difference) * np.sqrt(later.marginal / self.marginal)
        return gain, np.maximum(-later.marginal * np.expm1(2.0 * difference), _NO_NOISE)


@dataclass(frozen=True)
class Transition:
    """The kernel exp(-pull u^2 / 2) N(u'; gain u, noise) that carries a filter's belief to a later time.

    Fields are scalars, or arrays with one element per word. A stationary prior has no pull.
    """

    pull: Any
    gain: Any
    noise: Any

    def __getitem__(self, rows: Indices | slice) -> "Transition":
        return Transition(self.pull[rows], self.gain[rows], self.noise[rows])

    def astype(self, dtype: npt.DTypeLike) -> "Transition":
        """The same in another floating-point type."""
        return Transition(*(field.astype(dtype) for field in (self.pull, self.gain, self.noise)))

    def then(self, later: "Transition") -> "Transition":
        """This transition followed by a later one, without data between."""
        shrink = 1.0 / (1.0 + later.pull * self.noise)
        return Transition(
            self.pull + self.gain**2 * later.pull * shrink,
            self.gain * shrink * later.gain,
            later.noise + later.gain**2 * self.noise * shrink,
        )

    def predict(self, mean: Any, variance: Any) -> tuple[Any, Any]:
        """Mean and variance after the transition (Eqs. 12 and 13).

        Both are (n,) or (n, d); for the latter, the fields of the transition have n elements.
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
    """A prior on slices at `times` (T,) in float years.

    `constant` is the diffusion constant D, the variance of short steps per year (Eq. 3). `prior_variance` is
    the variance with which a filter begins.
    """

    name: ClassVar[str]
    #: Whether a filter's `Transition` has a pull.
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
    def slices(self) -> TimePoints:
        """The prior at the slices, (T,)."""

    @abstractmethod
    def at(self, times: Floats) -> TimePoints:
        """The prior at any times (n,) in float years."""

    @abstractmethod
    def transition(self, earlier: Floats, later: Floats) -> Transition:
        """A filter's transitions between times (n,), from the first slice on, without data between."""

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


@dataclass(frozen=True)
class StationaryPrior(Diffusion):
    """The stationary Ornstein-Uhlenbeck process with variance v = `prior_variance` at all times.

        u ~ N(0, v)        u(t + gap) | u(t) ~ N(a u(t), v (1 - a^2))        a = exp(-D gap / 2v)

    A short gap has variance D gap, as in the paper (Eq. 3). Gaps compose by multiplying a, so empty, finer
    and later slices change nothing, and one formula serves steps, gaps, and times between and beyond slices,
    in the filter and the smoother.
    """

    name = "stationary"

    @cached_property
    def slices(self) -> TimePoints:
        return self.at(self.times)

    def at(self, times: Floats) -> TimePoints:
        rate = self.constant / (2.0 * self.prior_variance)
        return TimePoints(-rate * (times - self.times[0]), np.full(np.shape(times), self.prior_variance))

    def transition(self, earlier: Floats, later: Floats) -> Transition:
        """A filter's transitions between times (n,), without data between."""
        log_gain = -self.constant / (2.0 * self.prior_variance) * (later - earlier)
        return Transition(
            np.zeros(np.shape(log_gain)), np.exp(log_gain), -self.prior_variance * np.expm1(2.0 * log_gain)
        )


@dataclass(frozen=True)
class ProductPrior(Diffusion):
    """The paper's prior: diffusion, and at every slice a pull toward the origin.

    It is the product over slices of N(u[t+1]; u[t], sigma_t^2) N(u[t+1]; 0, sigma_0^2) without normalization
    (Eq. 4), with sigma_0^2 = `prior_variance`. Its precision is the tridiagonal Pi (S11), and its forward
    messages are the filter's prior (Eq. 13). Eqs. 5 and 6 normalize each step, which is another prior;
    docs/mathematics.md compares them. The pull acts at the slices only: between two slices, before the first
    and after the last there is only diffusion.
    """

    name = "product"
    pulls = True

    def precision(self) -> tuple[Floats, Floats]:
        """Diagonal (T,) and off-diagonal (T - 1,) of Pi (S11)."""
        inverse = 1.0 / self.step_variance
        diagonal = np.full(len(self), 1.0 / self.prior_variance)
        diagonal[:-1] += inverse
        diagonal[1:] += inverse
        return diagonal, -inverse

    @cached_property
    def _later_pull(self) -> Floats:
        """The precision that the pulls of slice t and later slices put on u[t], (T,): a backward message."""
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
    def slices(self) -> TimePoints:
        variance = np.empty(len(self))
        variance[0] = 1.0 / self._later_pull[0]
        for t in range(len(self) - 1):
            variance[t + 1] = self.gain[t] ** 2 * variance[t] + self.noise[t]
        steps = 0.5 * np.log1p(-self.noise / variance[1:])
        return TimePoints(np.concatenate([[0.0], np.cumsum(steps)]), variance)

    def at(self, times: Floats) -> TimePoints:
        """The prior at times (n,): between slices a Brownian bridge, outside of them a free random walk."""
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
        return TimePoints(self.slices.log_correlation[t] + np.where(place >= 0, step, -step), marginal)

    def transition(self, earlier: Floats, later: Floats) -> Transition:
        """A filter's transitions between times (n,): Eq. 13 at each slice on the way, diffusion between."""
        here, there = slice_before(self.times, earlier), slice_before(self.times, later)
        crossing = here < there
        following = np.minimum(here + 1, len(self) - 1)
        first = self._over(np.where(crossing, self.constant * (self.times[following] - earlier), 1.0))
        whole = first.then(self._between(np.where(crossing, following, 0), np.where(crossing, there, 0)))
        since = np.where(crossing, self.times[there], earlier)
        return Transition(
            np.where(crossing, whole.pull, 0.0),
            np.where(crossing, whole.gain, 1.0),
            np.where(crossing, whole.noise, 0.0) + self.constant * (later - since),
        )

    def _over(self, variance: Floats) -> Transition:
        """Eq. 13: diffusion of this variance, and the pull of the slice at its end."""
        noise = 1.0 / (1.0 / variance + 1.0 / self.prior_variance)
        return Transition(1.0 / (self.prior_variance + variance), noise / variance, noise)

    @cached_property
    def _doublings(self) -> list[Transition]:
        """Element j: the transitions from every slice t to slice t + 2^j; fields (T - 2^j,)."""
        level, levels = self._over(self.step_variance), []
        while len(level.pull):
            levels.append(level)
            length = 1 << (len(levels) - 1)
            level = level[:-length].then(level[length:])
        return levels

    def _between(self, start: Indices, stop: Indices) -> Transition:
        """Transitions from slices `start` to the same or later slices `stop`; fields (n,)."""
        pull, gain, noise = np.zeros(len(start)), np.ones(len(start)), np.zeros(len(start))
        place = start.copy()
        for j, level in enumerate(self._doublings):
            n = np.flatnonzero((stop - start) >> j & 1)
            longer = Transition(pull[n], gain[n], noise[n]).then(level[place[n]])
            pull[n], gain[n], noise[n] = longer.pull, longer.gain, longer.noise
            place[n] += 1 << j
        return Transition(pull, gain, noise)


#: The priors by the names they have in settings and model folders.
PRIORS: dict[str, type[Diffusion]] = {kind.name: kind for kind in (StationaryPrior, ProductPrior)}


def slice_before(grid: Floats, times: Floats) -> npt.NDArray[np.int64]:
    """The last slice at or before each time, (n,); -1 before the first slice."""
    return np.searchsorted(grid, times, side="right") - 1


def nearest_slice(grid: Floats, times: Floats) -> npt.NDArray[np.int64]:
    """The slice nearest to each time, (n,)."""
    return np.searchsorted((grid[1:] + grid[:-1]) / 2.0, times)
