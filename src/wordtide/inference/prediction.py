"""How probable a slice is under vectors that were made without it: the paper's last numbered equation, exactly.

n- has rank one and is summed over all pairs of active words, none of them sampled; the (a, a) scores are made some rows at a
time. Vectors are those of the slice's a active words. Word and context vectors enter by their inner products alone, so turning
both by one rotation changes nothing. A `shift` is added to all inner products: a model fitted with eta' in place of the slice's
eta states odds of n+ against n- that are eta / eta' times those of the slice, and log(eta' / eta) puts them right.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from wordtide.inference.problem import SliceData

Vectors = npt.NDArray[Any]
#: From some rows of words to the means of their scores with all contexts, and the deviations where they are uncertain.
Moments = Callable[[slice], tuple[Tensor, Tensor | None]]

_ELEMENTS = 1 << 18  # of the matrices made at once: they stay in the processor's cache
_NARROW = 1.0  # up to this deviation the few points of the quadrature are right to 1e-5
_FEW, _MANY = 8, 32
_TINY = 1e-30  # below, single precision loses the sum


@dataclass(frozen=True)
class Belief:
    """Gaussian beliefs about vectors: means and variances of each coordinate, (a, d)."""

    mean: Vectors
    variance: Vectors


def log_likelihood_per_pair(part: SliceData, u: Vectors, v: Vectors, shift: float = 0.0) -> float:
    """log p(n+, n- | U, V) / |n+ + n-| of a slice. `u`, `v`: (a, d)."""
    words, contexts = _tensor(u), _tensor(v)
    return _per_pair(part, lambda rows: (words[rows] @ contexts.T, None), shift)


def integrated_log_likelihood_per_pair(part: SliceData, u: Belief, v: Belief, shift: float = 0.0) -> float:
    """The same with what is not known of the vectors integrated out pair by pair: log E[sigma(x)] in place of log sigma(x).

    x = u . v is a sum over dimensions and taken to be Gaussian, with its exact mean and variance. The integral over it is by
    Gauss and Hermite.
    """
    u_mean, u_variance, v_mean, v_variance = map(_tensor, (u.mean, u.variance, v.mean, v.variance))
    u_square, v_square = u_mean**2 + u_variance, v_mean**2

    def moments(rows: slice) -> tuple[Tensor, Tensor]:
        variance = u_square[rows] @ v_variance.T + u_variance[rows] @ v_square.T
        return u_mean[rows] @ v_mean.T, variance.sqrt_()

    return _per_pair(part, moments, shift)


def log_expected_sigmoid(mean: Tensor, deviation: Tensor) -> Tensor:
    """log E[sigma(x)] for x ~ N(mean, deviation^2), element by element."""
    count = _FEW if deviation.numel() == 0 or float(deviation.max()) <= _NARROW else _MANY
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    total = torch.zeros_like(mean)
    for point, weight in zip(points, weights / weights.sum(), strict=True):
        total += float(weight) * torch.sigmoid(mean + float(point) * deviation)
    # Where the sum is lost the mean is far below 0, and spread only raises the probability above that of the mean.
    return torch.where(total < _TINY, logsigmoid(mean), total.log())


@torch.no_grad()
def _per_pair(part: SliceData, moments: Moments, shift: float) -> float:
    size, total = len(part), 0.0
    word_weight = torch.from_numpy(part.negatives * part.word_probability)
    context_weight = torch.from_numpy(part.context_probability).float()
    step = max(1, _ELEMENTS // size)
    for first in range(0, size, step):
        rows = slice(first, min(first + step, size))
        mean, deviation = moments(rows)
        mean += shift
        starts = part.indptr[first : rows.stop + 1].astype(np.int64)
        stored = slice(int(starts[0]), int(starts[-1]))
        row = torch.from_numpy(np.repeat(np.arange(rows.stop - first), np.diff(starts)))
        column = torch.from_numpy(part.indices[stored].astype(np.int64))
        positive = _log_probability(mean[row, column], None if deviation is None else deviation[row, column])
        negative = _log_probability(-mean, deviation)
        total += float(torch.from_numpy(part.values[stored]).double() @ positive.double())
        total += float(word_weight[rows] @ (negative @ context_weight).double())
    return total / part.pairs


def _log_probability(mean: Tensor, deviation: Tensor | None) -> Tensor:
    return logsigmoid(mean) if deviation is None else log_expected_sigmoid(mean, deviation)


def _tensor(vectors: Vectors) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32))
