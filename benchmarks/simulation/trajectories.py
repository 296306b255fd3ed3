"""Trajectories drawn from a prior over time."""

import numpy as np

from wordtide.model.prior import Diffusion
from wordtide.types import Floats


def draw_trajectories(rng: np.random.Generator, prior: Diffusion, shape: tuple[int, ...]) -> Floats:
    """Draw an independent trajectory from the prior for each coordinate.

    Args:
        rng: The source of randomness.
        prior: The prior, with T slices.
        shape: The shape of the vectors at one slice, such as (L, d).

    Returns:
        The trajectories, (T, *shape).
    """
    states = rng.standard_normal((len(prior), *shape))
    states[0] *= np.sqrt(prior.marginal[0])
    for t in range(1, len(prior)):
        states[t] = prior.gain[t - 1] * states[t - 1] + np.sqrt(prior.noise[t - 1]) * states[t]
    return states
