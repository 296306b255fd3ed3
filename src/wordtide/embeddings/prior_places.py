"""The prior of one coordinate at any moments in time, on the grid of slices and off it.

The pull to the origin acts at the slices only; between two slices, before the first and after the last there is nothing but
diffusion. So a further moment can be put in anywhere without changing the prior of the slices: a Brownian bridge between two
of them, or a free walk from the first or the last.

A Gaussian Markov chain is known by the variance at each moment and the correlation between neighbours; the correlation of any
two moments is the product over the steps between, kept as a sum of logarithms.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.diffusion import Diffusion, Floats

#: Stands for zero, so that a moment can be divided from itself: far below any variance, and its inverse squared still a number.
_NO_NOISE = 1e-100


@dataclass(frozen=True)
class Places:
    """Moments in time as the prior sees them: `marginal` variances and `log_correlation` with one common moment, both (n,)."""

    log_correlation: Floats
    marginal: Floats

    def __getitem__(self, rows: npt.NDArray[np.integer[Any]] | slice) -> "Places":
        return Places(self.log_correlation[rows], self.marginal[rows])

    def to(self, later: "Places") -> tuple[Floats, Floats]:
        """Gain and noise from these moments to later ones, with nothing observed between: x' = gain x + noise, each (n,)."""
        difference = np.minimum(later.log_correlation - self.log_correlation, 0.0)
        gain = np.exp(difference) * np.sqrt(later.marginal / self.marginal)
        return gain, np.maximum(-later.marginal * np.expm1(2.0 * difference), _NO_NOISE)


@dataclass(frozen=True)
class Bridge:
    """What a moment owes to the knots on either side: x = before_weight x_before + after_weight x_after + noise, fields (n,).

    `residual` is the noise's variance. `link` is the prior's precision between the two knots (minus its off-diagonal element).
    A knot that is not there has weight zero.
    """

    before_weight: Floats
    after_weight: Floats
    residual: Floats
    link: Floats

    def mean(self, before: Floats, after: Floats) -> Floats:
        """The mean (n, d) from the means (n, d) of the knots before and after."""
        return self.before_weight[:, None] * before + self.after_weight[:, None] * after

    def variance(self, before: Floats, after: Floats) -> Floats:
        """The variance (n, d) from the marginal variances (n, d) of the knots before and after. A sum of positive terms."""
        left, right = self.before_weight[:, None], self.after_weight[:, None]
        gain = backward_step(before, after, self.link[:, None])[1]
        return self.residual[:, None] + left**2 * before + right**2 * after + 2.0 * left * right * gain * after


def backward_step(before: Floats, after: Floats, link: Floats) -> tuple[Floats, Floats]:
    """Variance and gain of x_before given x_after, from the two marginal variances and the precision that links them.

    Two neighbours have a joint precision ((a, -link), (-link, b)) with only the link known. Its determinant follows from
    the product of the marginal variances, a quadratic equation; the covariance of the two is gain * after.
    """
    conditional = 2.0 * before / (1.0 + np.sqrt(1.0 + 4.0 * link**2 * before * after))
    return conditional, link * conditional


class PriorPlaces:
    """The prior at all slices, and at any other moment."""

    def __init__(self, diffusion: Diffusion) -> None:
        self.diffusion = diffusion

    @cached_property
    def slices(self) -> Places:
        """The slices themselves, (T,)."""
        steps = 0.5 * np.log1p(-self.diffusion.noise / self.diffusion.marginal[1:])
        return Places(np.concatenate([[0.0], np.cumsum(steps)]), self.diffusion.marginal)

    def at(self, times: Floats) -> Places:
        """Moments `times` (n,) in float years."""
        grid, constant = self.diffusion.times, self.diffusion.constant
        place = slice_before(grid, times)
        t = np.maximum(place, 0)
        gain, noise = np.ones(len(times)), constant * np.abs(times - grid[t])
        inside = (place >= 0) & (place < len(grid) - 1)
        s, length = t[inside], np.diff(grid)[t[inside]]
        share = (times[inside] - grid[s]) / length
        gain[inside] = 1.0 - share + share * self.diffusion.gain[s]
        noise[inside] = share**2 * self.diffusion.noise[s] + constant * length * share * (1.0 - share)
        marginal = gain**2 * self.slices.marginal[t] + noise
        step = 0.5 * np.log1p(-noise / marginal)
        return Places(self.slices.log_correlation[t] + np.where(place >= 0, step, -step), marginal)


def slice_before(grid: Floats, times: Floats) -> npt.NDArray[np.int64]:
    """The last slice at or before each time, (n,); -1 before the first slice."""
    return np.searchsorted(grid, times, side="right") - 1


def bridge(
    before: Places, has_before: npt.NDArray[np.bool_], at: Places, after: Places, has_after: npt.NDArray[np.bool_]
) -> Bridge:
    """The moments `at` (n,) between the knots `before` and `after` (n,); where a knot is missing its place is not looked at."""
    gain_in, noise_in = before.to(at)
    gain_out, noise_out = at.to(after)
    gain_in, noise_in = np.where(has_before, gain_in, 0.0), np.where(has_before, noise_in, at.marginal)
    gain_out, noise_out = np.where(has_after, gain_out, 0.0), np.where(has_after, noise_out, 1.0)
    total = noise_out + gain_out**2 * noise_in
    return Bridge(
        gain_in * noise_out / total, gain_out * noise_in / total, noise_in * noise_out / total, gain_in * gain_out / total
    )
