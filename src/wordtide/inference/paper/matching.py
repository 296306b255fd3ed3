"""A general tridiagonal posterior in the form (mu, h): the member of the family Pi + diag(h) that is nearest to it.

At the optimum of the ELBO the two are the same; before it, the nearest member in the sense of KL(q || .) is the one with the
same marginal variances.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.inference.natural.chains import prior_at_knots
from wordtide.model.chain import KnotSteps
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion

_SWEEPS = 500
_CLOSE = 1e-6


def matching_precision(
    variance: npt.NDArray[np.float32], knots: Knots, diffusion: Diffusion
) -> npt.NDArray[np.float32]:
    """The h >= 0 (K, d) with which the marginal variances are `variance` (K, d), as far as any h can make them so.

    KL(q || .) is convex in h, and its minimum in one knot's h is known: what that knot's marginal precision lacks. Knots are
    taken one after the other, because neighbours share their precision: all at once would overshoot, again and again.
    """
    steps = KnotSteps.of(knots.starts, torch.device("cpu"))
    gain, noise, first = (torch.from_numpy(array) for array in prior_at_knots(knots, diffusion))
    wanted = 1.0 / torch.from_numpy(np.asarray(variance, dtype=np.float64))
    h = torch.zeros_like(wanted)
    for _ in range(_SWEEPS):
        predicted = _predicted(steps, gain, noise, first, h)
        if _sweep(steps, gain, noise, predicted, wanted, h) < _CLOSE:
            break
    return h.numpy().astype(np.float32)


def _predicted(steps: KnotSteps, gain: Tensor, noise: Tensor, first: Tensor, h: Tensor) -> Tensor:
    """The variance of each knot given the data of earlier knots, (K, d)."""
    predicted = torch.empty_like(h)
    for k, rows in enumerate(steps.rows):
        if k == 0:
            predicted[rows] = first[steps.words][:, None].expand(len(rows), h.shape[1])
        else:
            before = steps.rows[k - 1][: len(rows)]
            filtered = predicted[before] / (1.0 + h[before] * predicted[before])
            predicted[rows] = gain[rows][:, None] ** 2 * filtered + noise[rows][:, None]
    return predicted


def _sweep(
    steps: KnotSteps, gain: Tensor, noise: Tensor, predicted: Tensor, wanted: Tensor, h: Tensor
) -> float:
    """From the last knots to the first: set each h to its best value given all others. Returns the largest relative change."""
    change = 0.0
    from_later = torch.empty(
        0, h.shape[1], dtype=h.dtype
    )  # the precision that the data of later knots add, (rows, d)
    for k in range(len(steps.rows) - 1, -1, -1):
        rows = steps.rows[k]
        later = torch.zeros(len(rows), h.shape[1], dtype=h.dtype)
        later[: len(from_later)] = from_later
        better = (wanted[rows] - 1.0 / predicted[rows] - later).clamp_(min=0.0)
        change = max(change, float(((better - h[rows]).abs() / wanted[rows]).max()))
        h[rows] = better
        if k > 0:
            a, data = gain[rows][:, None], better + later
            from_later = a * a * data / (1.0 + noise[rows][:, None] * data)
    return change
