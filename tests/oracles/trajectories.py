"""Trajectories by dense float64 algebra: one coordinate of one word, all moments in one matrix."""

from fractions import Fraction

import numpy as np

from oracles import model as dense
from oracles import natural


def prior_precision(diffusion, moments):
    """The prior's precision on sorted moments that include all slices.

    The product prior has diffusion between neighbors, and a pull at each slice. For the stationary prior it
    is the inverse of the covariance.
    """
    if diffusion.name == "stationary":
        return np.linalg.inv(natural.prior_covariance(diffusion.on(np.array(moments))))
    matrix = np.zeros((len(moments), len(moments)))
    for a in range(len(moments) - 1):
        link = 1.0 / (diffusion.constant * (moments[a + 1] - moments[a]))
        matrix[a : a + 2, a : a + 2] += link * np.array([[1.0, -1.0], [-1.0, 1.0]])
    for a, moment in enumerate(moments):
        if moment in diffusion.times:
            matrix[a, a] += 1.0 / diffusion.prior_variance
    return matrix


def moments_of(diffusion, times=()):
    """All slices and further times, sorted."""
    return sorted({*diffusion.times.tolist(), *times})


def smoothed_covariance(diffusion, slices, precision, times=()):
    """Covariance of the posterior on `moments_of(...)`, where the data add `precision` at `slices`."""
    moments = moments_of(diffusion, times)
    matrix = prior_precision(diffusion, moments)
    for t, added in zip(slices, precision, strict=True):
        matrix[moments.index(diffusion.times[t]), moments.index(diffusion.times[t])] += float(added)
    return np.linalg.inv(matrix)


def exact_variances(diffusion, slices, precision):
    """The diagonal of `smoothed_covariance` at the slices, computed with fractions, so without rounding."""
    times, constant = [Fraction(time) for time in diffusion.times.tolist()], Fraction(diffusion.constant)
    total = len(times)
    matrix = [
        [Fraction(a == b) / Fraction(diffusion.prior_variance) for b in range(total)] for a in range(total)
    ]
    for a in range(total - 1):
        link = 1 / (constant * (times[a + 1] - times[a]))
        matrix[a][a] += link
        matrix[a + 1][a + 1] += link
        matrix[a][a + 1] -= link
        matrix[a + 1][a] -= link
    for t, added in zip(slices, precision, strict=True):
        matrix[t][t] += Fraction(float(added))
    rows = [[*row, *(Fraction(a == b) for b in range(total))] for a, row in enumerate(matrix)]
    for a in range(total):
        rows[a] = [value / rows[a][a] for value in rows[a]]
        for b in range(total):
            if b != a:
                rows[b] = [value - rows[b][a] * pivot for value, pivot in zip(rows[b], rows[a], strict=True)]
    return np.array([float(rows[a][total + a]) for a in range(total)])


def smoothed_mean(diffusion, slices, mean, times=()):
    """Mean of the posterior on `moments_of(...)`: the prior's, given the values `mean` at the knots."""
    moments = moments_of(diffusion, times)
    prior = np.linalg.inv(prior_precision(diffusion, moments))
    knots = [moments.index(diffusion.times[t]) for t in slices]
    if not knots:
        return np.zeros(len(moments))
    return prior[:, knots] @ np.linalg.solve(prior[np.ix_(knots, knots)], np.asarray(mean, dtype=np.float64))


def _step(diffusion, mean, variance, gap):
    """Mean and variance after a step to the next slice: Eq. 13, or the Ornstein-Uhlenbeck process."""
    if diffusion.name == "stationary":
        gain = np.exp(-diffusion.constant * gap / (2.0 * diffusion.prior_variance))
        return gain * mean, gain**2 * variance + diffusion.prior_variance * (1.0 - gain**2)
    return dense.filter_prior(mean, variance, gap, diffusion.constant, diffusion.prior_variance)


def filtered(diffusion, slices, mean, variance):
    """Mean and variance at all slices: the fitted ones at knots, propagated by Eq. 13 from slice to slice."""
    fitted = {int(t): (float(m), float(v)) for t, m, v in zip(slices, mean, variance, strict=True)}
    means, variances = [], []
    for t, time in enumerate(diffusion.times):
        if t == 0:
            m, v = 0.0, diffusion.prior_variance
        else:
            m, v = _step(diffusion, means[-1], variances[-1], time - diffusion.times[t - 1])
        m, v = fitted.get(t, (m, v))
        means.append(m)
        variances.append(v)
    return np.array(means), np.array(variances)


def backward_sampled(diffusion, slices, mean, variance):
    """Mean and covariance over all slices of forward filtering and backward sampling.

    x_T comes from the filter; x_t given x_{t+1} has the density N(x_t; filter) N(x_{t+1}; gain x_t, step), up
    to a constant.
    """
    means, variances = filtered(diffusion, slices, mean, variance)
    total = len(means)
    center, covariance = means.copy(), np.zeros((total, total))
    covariance[-1, -1] = variances[-1]
    for t in range(total - 2, -1, -1):
        gap, gain = diffusion.times[t + 1] - diffusion.times[t], 1.0
        step = diffusion.constant * gap
        if diffusion.name == "stationary":
            gain = np.exp(-step / (2.0 * diffusion.prior_variance))
            step = diffusion.prior_variance * (1.0 - gain**2)
        left = 1.0 / (1.0 / variances[t] + gain**2 / step)
        center[t] = left * (means[t] / variances[t] + gain * center[t + 1] / step)
        covariance[t, t + 1 :] = covariance[t + 1 :, t] = left * gain / step * covariance[t + 1, t + 1 :]
        covariance[t, t] = left + (left * gain / step) ** 2 * covariance[t + 1, t + 1]
    return center, covariance
