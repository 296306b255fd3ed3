"""The logistic function of a score, and its expectations under a Gaussian, compiled in both precisions."""

import math
from typing import Any

import numpy as np

from wordtide.compiled import arithmetic, by_precision, contained, elementary

Array = Any  # compiled functions accept float32 and float64

# exp(r) = 1 + r + r^2 q(r) for |r| <= log(2) / 2 and log((1 + s) / (1 - s)) = s (2 + z l(z)) for z = s^2,
# |s| <= 1 / 3: the coefficients of q and l are minimax fits with relative errors of 3e-9 and 5e-9.
_Q0, _Q1, _Q2, _Q3, _Q4 = map(np.float32, (0.49999993, 0.1666652, 0.041668394, 0.00836878, 0.0013814467))
_L0, _L1, _L2, _L3 = map(np.float32, (0.66666413, 0.400217, 0.2799914, 0.2802446))
_ZERO, _ONE, _TWO = np.float32(0.0), np.float32(1.0), np.float32(2.0)
_LOWEST = np.float32(-87.0)  # exp of it is the smallest power that is still a normal number
_INVERSE_LOG_2, _LOG_2, _LOG_2_REST = np.float32(1.442695), np.float32(0.693359375), np.float32(-2.1219444e-4)
_INTEGERS = np.float32(1.5 * 2**23)  # adding it rounds to an integer, which then fills the lowest bits
_EXPONENT = np.int32(23)  # the place of the exponent in a float32
_ROOT_HALF_BITS = np.int32(0x3F3504F3)  # of sqrt(1/2)
_PI_EIGHTHS = np.float32(math.pi / 8)


@elementary
def _exp_single(x: Any) -> Any:
    """exp(x) of a float32 x <= 0, and exp(-87) below -87."""
    x = _LOWEST if x < _LOWEST else x
    shifted = x * _INVERSE_LOG_2 + _INTEGERS
    power = shifted - _INTEGERS
    r = (x - power * _LOG_2) - power * _LOG_2_REST
    fraction = _ONE + (r + r * r * (_Q0 + r * (_Q1 + r * (_Q2 + r * (_Q3 + r * _Q4)))))
    exponent = np.float32(shifted).view(np.int32) << _EXPONENT
    return np.int32(np.float32(fraction).view(np.int32) + exponent).view(np.float32)


@elementary
def _exp_double(x: Any) -> Any:
    return math.exp(x)


@elementary
def _sigmoid_single(x: Any) -> Any:
    e = _exp_single(-abs(x))
    return (e if x < _ZERO else _ONE) / (_ONE + e)


@elementary
def _sigmoid_double(x: Any) -> Any:
    e = math.exp(-abs(x))
    return (e if x < 0.0 else 1.0) / (1.0 + e)


@elementary
def _log_sigmoid_single(x: Any) -> Any:
    e = _exp_single(-abs(x))
    s = e / (_TWO + e)
    z = s * s
    return (x if x < _ZERO else _ZERO) - s * (_TWO + z * (_L0 + z * (_L1 + z * (_L2 + z * _L3))))


@elementary
def _log_sigmoid_double(x: Any) -> Any:
    return (x if x < 0.0 else 0.0) - math.log1p(math.exp(-abs(x)))


@elementary
def _kappa_single(variance: Any) -> Any:
    return _ONE / np.sqrt(_ONE + _PI_EIGHTHS * variance)


@elementary
def _kappa_double(variance: Any) -> Any:
    return 1.0 / math.sqrt(1.0 + math.pi / 8 * variance)


@elementary
def _log_single(x: Any) -> Any:
    """log(x) of a positive normal float32."""
    bits = np.float32(x).view(np.int32)
    exponent = (bits - _ROOT_HALF_BITS) >> _EXPONENT
    m = np.int32(bits - (exponent << _EXPONENT)).view(np.float32)  # between sqrt(1/2) and sqrt(2)
    s = (m - _ONE) / (m + _ONE)
    z = s * s
    power = np.float32(exponent)
    return power * _LOG_2 + (s * (_TWO + z * (_L0 + z * (_L1 + z * (_L2 + z * _L3)))) + power * _LOG_2_REST)


@elementary
def _log_double(x: Any) -> Any:
    return math.log(x)


#: exp(x) for x <= 0. Relative error below 2e-7 for float32 x > -87.
exp = by_precision(_exp_single, _exp_double)
#: sigmoid(x) = 1 / (1 + exp(-x)). Relative error below 2e-7 for float32 x > -87.
sigmoid = by_precision(_sigmoid_single, _sigmoid_double)
#: log sigmoid(x). Relative error below 3e-7 for float32 x < 87.
log_sigmoid = by_precision(_log_sigmoid_single, _log_sigmoid_double)
#: kappa = 1 / sqrt(1 + pi variance / 8): E[sigmoid(x)] is close to sigmoid(kappa mean) for Gaussian x.
kappa = by_precision(_kappa_single, _kappa_double)
#: log(x) for positive x. Absolute error below 1e-7 of the larger of 1 and |log(x)| for normal float32 x.
log = by_precision(_log_single, _log_double)

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(8)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_RANGE = 512  # numbers that share a quadrature, so that a few wide ones do not slow down all others
_REACH = 6.2  # standard deviations that a quadrature covers on either side of the mean
_WIDEST = 50.0  # standard deviations of more are integrated as if they were this wide
_TINY = np.float32(1e-30)  # below, the quadrature loses its digits in single precision


@arithmetic
def expected_log_sigmoids(m: Array, s2: Array, sign: float, out: Array) -> None:
    """Compute E[log sigmoid(sign x)] for x ~ N(m, s2), (n,) each, by eight-point Gauss-Hermite quadrature."""
    kind = m.dtype.type
    for place in range(len(m)):
        out[place] = kind(0)
    for q in range(len(_NODES)):
        node, weight = kind(_NODES[q]), kind(_WEIGHTS[q])
        for place in range(len(m)):
            deviation = math.sqrt(max(s2[place], kind(0)))
            out[place] += weight * log_sigmoid(kind(sign) * m[place] + node * deviation)


@contained
def _integrate_range(mean: Array, variance: Array, sign: Any, out: Array) -> None:
    """Compute log E[sigmoid(sign x)] for x ~ N(mean, variance), (n,), with one quadrature.

    The trapezoidal rule with points z = k h, k = -K ... K. Its error falls exponentially with 1 / (h
    deviation), because sigmoid(mean + deviation z) is analytic up to a distance of pi / deviation from the
    real axis. For m <= 0, with e = exp(m) and q = exp(-k h s), the points k and -k together need one
    division,

        sigmoid(m + k h s) + sigmoid(m - k h s) = (2 q e^2 + (1 + q^2) e) / (q (1 + e^2) + (1 + q^2) e)

    and q for the next k follows by a multiplication. For m > 0 the sum is that of 1 - sigmoid, which is
    small.
    """
    kind = mean.dtype.type
    widest = kind(0)
    for j in range(len(mean)):
        widest = max(widest, variance[j])
    spacing = 2.0 / (1.0 + max(1.0, min(math.sqrt(widest), _WIDEST)))
    points = math.ceil(_REACH / spacing)
    total = 1.0
    for k in range(1, points + 1):
        total += 2.0 * math.exp(-0.5 * (k * spacing) ** 2)
    step, middle, one, two = kind(-spacing), kind(1.0 / total), kind(1.0), kind(2.0)
    tails, powers, ratios = np.empty((3, len(mean)), dtype=mean.dtype)
    for j in range(len(mean)):
        e = exp(-abs(mean[j]))
        tails[j], powers[j], ratios[j] = e, one, exp(step * np.sqrt(max(variance[j], kind(0))))
        out[j] = middle * e / (one + e)
    for k in range(1, points + 1):
        weight = kind(math.exp(-0.5 * (k * spacing) ** 2) / total)
        for j in range(len(mean)):
            e, q = tails[j], powers[j] * ratios[j]
            squared, both = e * e, (one + q * q) * e
            out[j] += weight * (two * q * squared + both) / (q * (one + squared) + both)
            powers[j] = q
    for j in range(len(mean)):
        # A lost sum means a mean far below 0, and spread only raises the probability above that of the mean.
        m, tail = sign * mean[j], out[j]
        at_mean, expected = log_sigmoid(m), log(tail if m < 0 else one - tail)
        out[j] = at_mean if m < 0 and tail < _TINY else expected


@contained
def integrate_sigmoids(m: Array, s2: Array, sign: float, out: Array) -> None:
    """Compute log E[sigmoid(sign x)] for x ~ N(m, s2), (n,) each, to about 2e-5 for deviations up to 2.

    Numbers next to each other share a quadrature, whose spacing suits the widest of them.
    """
    for first in range(0, len(m), _RANGE):
        here = slice(first, first + _RANGE)
        _integrate_range(m[here], s2[here], m.dtype.type(sign), out[here])


@arithmetic
def log_expected_sigmoids(m: Array, s2: Array, sign: float, out: Array) -> None:
    """Like `integrate_sigmoids`, outside of kernels."""
    integrate_sigmoids(m, s2, sign, out)
