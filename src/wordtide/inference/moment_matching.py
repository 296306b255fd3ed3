"""A general tridiagonal posterior in the form (mu, h): the member of the family Pi + diag(h) that is nearest to it.

At the optimum of the ELBO the two are the same; before it, the nearest member in the sense of KL(q || .) is the one with the
same marginal variances.
"""

import numpy as np
import numpy.typing as npt
import torch

from wordtide.diffusion import Diffusion
from wordtide.embeddings.knots import Knots
from wordtide.inference.chains import prior_at_knots
from wordtide.model.chain import KnotSteps, smooth

_ROUNDS = 200
_CLOSE = 1e-5


def matching_precision(variance: npt.NDArray[np.float32], knots: Knots, diffusion: Diffusion) -> npt.NDArray[np.float32]:
    """The h >= 0 (K, d) with which the marginal variances are `variance` (K, d), as far as any h can make them so."""
    steps = KnotSteps.of(knots.starts, torch.device("cpu"))
    gain, noise, first = (torch.from_numpy(array) for array in prior_at_knots(knots, diffusion))
    target = torch.from_numpy(np.asarray(variance, dtype=np.float64))
    h, nothing = torch.zeros_like(target), torch.zeros_like(target)
    for _ in range(_ROUNDS):
        _, reached = smooth(steps, gain, noise, first, h, nothing)
        # The precision that a knot lacks is added where it lacks it; neighbours then gain too, so this goes on for some rounds.
        better = (h + 1.0 / target - 1.0 / reached).clamp_(min=0.0)
        settled = bool((better - h).abs().mul_(reached).max() < _CLOSE)
        h = better
        if settled:
            break
    return h.numpy().astype(np.float32)
