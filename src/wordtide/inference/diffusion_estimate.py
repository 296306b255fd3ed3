"""The diffusion constant that maximises the ELBO for a given q: the M-step of variational EM.

Only E_q[log p(trajectories | D)] depends on D, and through the prior's Markov form at the knots it needs nothing but second
moments: sum over knots of -1/2 [E(x - gain x_before)^2 / noise + d log noise], and -1/2 [E x^2 / m + d log m] at a word's
first knot.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from wordtide.diffusion import Diffusion
from wordtide.embeddings.knots import Knots

_REACH = math.log(100.0)  # one M-step moves D by at most this factor


def best_diffusion(knots: Knots, moments: Sequence[npt.NDArray[np.float64]], dim: int, now: Diffusion) -> float:
    """The best constant, given the second moments (K, 3) of words and contexts: E[x_before^2], E[x^2], E[x_before x]."""
    first = np.zeros(len(knots), dtype=bool)
    first[knots.starts[:-1][np.diff(knots.starts) > 0]] = True
    later = np.flatnonzero(~first)
    before_slice, here_slice, first_slice = knots.slices[later - 1], knots.slices[later], knots.slices[first]
    total = np.sum(moments, axis=0)
    steps, starts = total[later], total[first, 1]
    weight = dim * len(moments)

    def loss(log_constant: float) -> float:
        prior = now.with_constant(math.exp(log_constant))
        gain, noise = prior.across(before_slice, here_slice)
        residual = steps[:, 1] - 2 * gain * steps[:, 2] + gain**2 * steps[:, 0]
        variance = prior.marginal[first_slice]
        return float((residual / noise + weight * np.log(noise)).sum() + (starts / variance + weight * np.log(variance)).sum())

    here = math.log(now.constant)
    found = minimize_scalar(loss, bounds=(here - _REACH, here + _REACH), method="bounded", options={"xatol": 1e-4})
    return math.exp(float(found.x))
