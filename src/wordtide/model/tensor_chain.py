"""Kalman smoothing of trajectories on any device: step k handles the k-th knot of all words that have so many.

The twin of the compiled `inference.chain_kernels`, for devices where those do not run. Rows of the (K, d) tensors are knots,
word by word; `gain`, `noise` (K,) lead from the knot before to each knot, and `first` (words,) is the prior variance at a
word's first knot.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


@dataclass(frozen=True)
class KnotSteps:
    """For each k the rows of the k-th knots, of the words with the most knots first; each is a prefix of the last."""

    rows: list[Tensor]
    words: Tensor

    @staticmethod
    def of(starts: npt.NDArray[np.int64], device: torch.device) -> "KnotSteps":
        """From `starts` (words + 1,): where each word's knots begin."""
        lengths = np.diff(starts)
        order = np.argsort(-lengths, kind="stable")
        order = order[lengths[order] > 0]
        longest = int(lengths.max()) if len(lengths) else 0
        counts = np.searchsorted(-lengths[order], -np.arange(longest), side="left")
        rows = [torch.from_numpy(starts[order[:count]] + k).to(device) for k, count in enumerate(counts)]
        return KnotSteps(rows, torch.from_numpy(order).to(device))


def smooth(
    steps: KnotSteps, gain: Tensor, noise: Tensor, first: Tensor, h: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    """(Pi + diag(h))^-1 b and the marginal variances, (K, d) each."""
    x, p = torch.empty_like(b), torch.empty_like(b)
    for k, rows in enumerate(steps.rows):
        if k == 0:
            predicted, mean = (
                first[steps.words][:, None].expand(len(rows), b.shape[1]),
                torch.zeros_like(b[rows]),
            )
        else:
            before = steps.rows[k - 1][: len(rows)]
            a = gain[rows][:, None]
            predicted, mean = a * a * p[before] + noise[rows][:, None], a * x[before]
        share = 1.0 / (1.0 + h[rows] * predicted)
        p[rows] = predicted * share
        x[rows] = (mean + predicted * b[rows]) * share
    for after, rows in zip(steps.rows[:0:-1], steps.rows[-2::-1], strict=True):
        rows = rows[: len(after)]
        a, q = gain[after][:, None], noise[after][:, None]
        share = p[rows] / (a * a * p[rows] + q)
        back = a * share
        x[rows] += back * (x[after] - a * x[rows])
        p[rows] = q * share + back * back * p[after]
    return x, p


def divergence(
    steps: KnotSteps, gain: Tensor, noise: Tensor, first: Tensor, mu: Tensor, h: Tensor, s: Tensor
) -> float:
    """KL(q || p): 1/2 [mu' Pi mu - sum h s + log det(Pi + diag h) - log det Pi], summed over words and coordinates."""
    total = -(h * s).sum(dtype=torch.float64)
    variance = torch.empty(0)
    for k, rows in enumerate(steps.rows):
        if k == 0:
            prior = first[steps.words][:, None]
            variance = prior.expand(len(rows), mu.shape[1])
            total += (mu[rows].square() / prior).sum(dtype=torch.float64)
        else:
            a, q = gain[rows][:, None], noise[rows][:, None]
            variance = a * a * variance[: len(rows)] + q
            total += ((mu[rows] - a * mu[steps.rows[k - 1][: len(rows)]]).square() / q).sum(
                dtype=torch.float64
            )
        ratio = 1.0 + h[rows] * variance
        total += ratio.log().sum(dtype=torch.float64)
        variance = variance / ratio
    return 0.5 * float(total)
