"""A moment between two knots: what it owes to either of them under the prior."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.model.prior import Floats, Places


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
        return (
            self.residual[:, None] + left**2 * before + right**2 * after + 2.0 * left * right * gain * after
        )


def backward_step(before: Floats, after: Floats, link: Floats) -> tuple[Floats, Floats]:
    """Variance and gain of x_before given x_after, from the two marginal variances and the precision that links them.

    Two neighbours have a joint precision ((a, -link), (-link, b)) with only the link known. Its determinant follows from
    the product of the marginal variances, a quadratic equation; the covariance of the two is gain * after.
    """
    conditional = 2.0 * before / (1.0 + np.sqrt(1.0 + 4.0 * link**2 * before * after))
    return conditional, link * conditional


def bridge(
    before: Places,
    has_before: npt.NDArray[np.bool_],
    at: Places,
    after: Places,
    has_after: npt.NDArray[np.bool_],
) -> Bridge:
    """The moments `at` (n,) between the knots `before` and `after` (n,); where a knot is missing its place is not looked at."""
    gain_in, noise_in = before.to(at)
    gain_out, noise_out = at.to(after)
    gain_in, noise_in = np.where(has_before, gain_in, 0.0), np.where(has_before, noise_in, at.marginal)
    gain_out, noise_out = np.where(has_after, gain_out, 0.0), np.where(has_after, noise_out, 1.0)
    total = noise_out + gain_out**2 * noise_in
    return Bridge(
        gain_in * noise_out / total,
        gain_out * noise_in / total,
        noise_in * noise_out / total,
        gain_in * gain_out / total,
    )
