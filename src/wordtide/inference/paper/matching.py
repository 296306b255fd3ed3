"""A general tridiagonal posterior in the form (mu, h): the nearest member of the family Pi + diag(h).

At the optimum of the ELBO the two are the same; before it, the nearest member in the sense of KL(q || .) is
the one with the same marginal variances.
"""

import numpy as np

from wordtide.model.chain import match_words
from wordtide.model.knots import Knots, prior_at_knots
from wordtide.model.prior import Diffusion
from wordtide.types import Reals, Singles

_SWEEPS = 500
_CLOSE = 1e-6


def matching_precision(variance: Reals, knots: Knots, diffusion: Diffusion) -> Singles:
    """Find the h >= 0 (K, d) whose marginal variances are closest to `variance` (K, d).

    KL(q || .) is convex in h, and its minimum in the h of one knot is known: the precision that the knot
    lacks. Sweeps over the knots of a word end when its h change no more.
    """
    wanted = 1.0 / np.asarray(variance, dtype=np.float64)
    h = np.zeros_like(wanted)
    prior, words = prior_at_knots(knots, diffusion), len(knots.starts) - 1
    match_words(knots.starts, *prior, wanted, h, _SWEEPS, _CLOSE, 0, words)
    return h.astype(np.float32)
