"""Gaussian beliefs: the steps of a pass along a chain, bidiagonal algebra over time, and calibration.

All passes, compiled or not, are built from `predict`, `condition`, `look_back` and `carry_back`. These are
plain arithmetic, so they accept numbers and NumPy arrays alike, and `wordtide.model.chain` compiles them into
its loops. Variances are sums and quotients of positive numbers, so nothing cancels.

Gaussians over time have the precision B^T B with bidiagonal B (Eqs. S4 and S5). Every operation is linear in
T. Time is the first axis of every array, so each step of a recursion reads and writes one contiguous block. B
has the diagonal `nu` (T, ...) and the superdiagonal `omega` (T - 1, ...). The other axes (words, dimensions)
are a batch; `nu` and `omega` only need to broadcast to the shape of the vectors, so one prior (T, 1, 1)
serves all words.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from wordtide.types import Floats, Reals

_NOTHING = 1e-30  # far below any variance, in units of the prior's
_MOST = 1e6
#: Errors that vectors share multiply variances by this factor; a mean field ignores them.
_SHARED = 1.6
#: Contexts that are known in part shrink vectors unevenly: the square of such an error, relative to a vector
#: that is otherwise known, in units of the squared share of contexts that is unknown.
_UNEVEN = 0.45


def predict(gain: Any, noise: Any, mean: Any, variance: Any) -> tuple[Any, Any]:
    """The belief about x' = gain x + N(0, noise), from the belief about x."""
    return gain * mean, gain * gain * variance + noise


def condition(mean: Any, variance: Any, precision: Any, message: Any) -> tuple[Any, Any]:
    """The belief after an observation with the likelihood exp(message x - precision x^2 / 2)."""
    share = 1 / (1 + precision * variance)
    return (mean + variance * message) * share, variance * share


def look_back(
    gain: Any, noise: Any, mean: Any, variance: Any, later_mean: Any, later_variance: Any
) -> tuple[Any, Any]:
    """The Rauch-Tung-Striebel step: the belief about x given all data.

    It follows from the belief about x given earlier data, and that about x' = gain x + N(0, noise) given all
    data. With `later_variance` 0 it conditions on x' = `later_mean`.
    """
    share = variance / (gain * gain * variance + noise)
    back = gain * share
    return mean + back * (later_mean - gain * mean), noise * share + back * back * later_variance


def carry_back(gain: Any, noise: Any, precision: Any, message: Any) -> tuple[Any, Any]:
    """The likelihood (precision, message) of x' = gain x + N(0, noise) as a likelihood of x."""
    across = gain / (1 + noise * precision)
    return gain * across * precision, across * message


def cholesky(diagonal: Reals, off_diagonal: Reals) -> tuple[Reals, Reals]:
    """Factorize a tridiagonal matrix, (T, ...) and (T - 1, ...), as B^T B. Returns (nu, omega)."""
    nu, omega = np.empty_like(diagonal), np.empty_like(off_diagonal)
    nu[0] = np.sqrt(diagonal[0])
    for t in range(len(omega)):
        omega[t] = off_diagonal[t] / nu[t]
        nu[t + 1] = np.sqrt(diagonal[t + 1] - omega[t] ** 2)
    return nu, omega


def solve(nu: Reals, omega: Reals, right: Reals) -> Reals:
    """Solve B x = right, (T, ...)."""
    x = np.empty_like(right)
    x[-1] = right[-1] / nu[-1]
    for t in range(len(right) - 2, -1, -1):
        np.multiply(omega[t], x[t + 1], out=x[t])
        np.subtract(right[t], x[t], out=x[t])
        x[t] /= nu[t]
    return x


def solve_transposed(nu: Reals, omega: Reals, right: Reals) -> Reals:
    """Solve B^T y = right, (T, ...)."""
    y = np.empty_like(right)
    y[0] = right[0] / nu[0]
    for t in range(1, len(right)):
        np.multiply(omega[t - 1], y[t - 1], out=y[t])
        np.subtract(right[t], y[t], out=y[t])
        y[t] /= nu[t]
    return y


def multiply_tridiagonal(diagonal: Reals, off_diagonal: Reals, x: Reals) -> Reals:
    """Multiply a symmetric tridiagonal matrix, like Pi, by x (T, ...)."""
    product = diagonal * x
    product[:-1] += off_diagonal * x[1:]
    product[1:] += off_diagonal * x[:-1]
    return product


def covariances(nu: Reals, omega: Reals) -> tuple[Reals, Reals]:
    """Compute the marginal variances (T, ...) and lag-one covariances (T - 1, ...), from (B^T B)^-1.

    A sample solves B x = noise, so x[t] = (noise[t] - omega[t] x[t + 1]) / nu[t]: the recursion for the
    moments runs backward in time.
    """
    variance, lag_one = np.empty_like(nu), np.empty_like(omega)
    variance[-1] = nu[-1] ** -2
    for t in range(len(omega) - 1, -1, -1):
        slope = omega[t] / nu[t]
        lag_one[t] = -slope * variance[t + 1]
        variance[t] = nu[t] ** -2 - slope * lag_one[t]
    return variance, lag_one


@dataclass(frozen=True)
class Calibration:
    """How large the errors of a posterior's means are compared with its variances.

    `dispersion`: the variance of counts, in units of what the likelihood assumes. `share`: the share of the
    directions in which the sum of word and context vectors varies; in the others, the errors of the two
    cancel. `variance` and `pace`: the prior variance and the rate of drift at which the messages of different
    slices agree, in units of those of the fit. `closeness`: how much too sure the prior is
    that words are unrelated, as a precision of cosines. `unknown`: the unknown share of contexts, which
    leaves errors however often a word occurs. docs/evidence.md compares all with worlds of known truth.
    """

    dispersion: float = 1.0
    share: float = 1.0
    variance: float = 1.0
    pace: float = 1.0
    closeness: float = 0.0
    unknown: float = 0.0

    @staticmethod
    def of_header(facts: Any) -> "Calibration | None":
        """Read the record from the header of a model; older models lack all or part of it.

        Raises:
            ValueError: It is damaged.
        """
        if facts is None:
            return None
        names = [field.name for field in fields(Calibration)]
        if not isinstance(facts, dict) or list(facts) not in [names[:size] for size in (1, 2, 4, 5, 6)]:
            raise ValueError("its calibration is incomplete")
        if not all(isinstance(value, float) and 0.0 <= value < _MOST for value in facts.values()):
            raise ValueError("its calibration is out of range")
        if not all(facts.get(name, 1.0) for name in names[:4]):
            raise ValueError("its calibration is out of range")
        return Calibration(**facts)

    def factors(self, variances: Reals, prior_variance: float) -> Floats:
        """The factors by which to multiply the variances of vectors; `variances` are means over coordinates.

        No vector becomes less certain than under the prior.
        """
        left = np.clip(variances / prior_variance, _NOTHING, 1.0)
        return np.asarray(np.minimum(self.noise + self.variance * self.uneven(left) / left, 1.0 / left))

    def uneven(self, left: Reals) -> Floats:
        """The variance left by contexts that are known in part, in units of the corpus's prior variance.

        `left` is the share of the prior variance that the words' own counts leave.
        """
        return np.asarray(_UNEVEN * self.unknown**2 * np.clip(1.0 - left, 0.0, 1.0) ** 2)

    @property
    def noise(self) -> float:
        """The variance of a slice's message, in units of what the likelihood assumes."""
        return _SHARED * self.dispersion
