"""The skip-gram likelihood of one slice on its active words: value, gradients, minibatch gradients and expectation.

n+ is sparse and n- has rank one, so neither is ever dense: the one (a, a) matrix made here is that of the probabilities
sigmoid(u_i . v_j). All functions are pure and work in the type and on the device of their `SliceTensors`.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from wordtide.compiled import by_precision, elementary
from wordtide.errors import SettingsError

Numbers = npt.NDArray[Any]

# exp(r) = 1 + r + r^2 q(r) for |r| <= log(2) / 2, and log((1 + s) / (1 - s)) = s (2 + z l(z)) for z = s^2 <= 1 / 9:
# the coefficients of q and l are minimax fits with relative errors of 3e-9 and 5e-9.
_Q0, _Q1, _Q2, _Q3, _Q4 = map(np.float32, (0.49999993, 0.1666652, 0.041668394, 0.00836878, 0.0013814467))
_L0, _L1, _L2, _L3 = map(np.float32, (0.66666413, 0.400217, 0.2799914, 0.2802446))
_ZERO, _ONE, _TWO = np.float32(0.0), np.float32(1.0), np.float32(2.0)
_LOWEST = np.float32(-87.0)  # exp of it is the smallest power that is still a normal number
_INVERSE_LOG_2, _LOG_2, _LOG_2_REST = np.float32(1.442695), np.float32(0.693359375), np.float32(-2.1219444e-4)
_INTEGERS = np.float32(1.5 * 2**23)  # adding it rounds to an integer, which then fills the lowest bits
_EXPONENT = np.int32(23)  # the place of the exponent in a float32
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


#: sigmoid(x) = 1 / (1 + exp(-x)). Relative error below 2e-7 for float32 x > -87.
sigmoid = by_precision(_sigmoid_single, _sigmoid_double)
#: log sigmoid(x). Relative error below 3e-7 for float32 x < 87.
log_sigmoid = by_precision(_log_sigmoid_single, _log_sigmoid_double)
#: kappa = 1 / sqrt(1 + pi variance / 8): E[sigmoid(x)] is close to sigmoid(kappa mean) for Gaussian x.
kappa = by_precision(_kappa_single, _kappa_double)


class _SliceData(Protocol):
    """What is needed of inference's SliceData, which this layer may not import."""

    @property
    def words(self) -> Numbers: ...
    @property
    def indptr(self) -> Numbers: ...
    @property
    def indices(self) -> Numbers: ...
    @property
    def values(self) -> Numbers: ...
    @property
    def word_probability(self) -> Numbers: ...
    @property
    def context_probability(self) -> Numbers: ...
    @property
    def negatives(self) -> float: ...


@dataclass(frozen=True)
class SliceTensors:
    """One slice as tensors. a active words, z stored pairs of n+ (both directions), sorted by row.

    `words` (a,): numbers in the vocabulary, ascending. `starts` (a + 1,): where each row's pairs begin. `columns` and
    `values` (z,): n+. `places` (z,): the same pairs as numbers a i + j. `excess` (z,): n+ / n- there.
    `word_weight` (a, 1): negatives * P. `context_weight` (a, 1): P'. Their product is n-.
    """

    words: Tensor
    starts: Tensor
    columns: Tensor
    places: Tensor
    values: Tensor
    excess: Tensor
    word_weight: Tensor
    context_weight: Tensor

    def __len__(self) -> int:
        return len(self.words)

    @staticmethod
    def of(
        part: _SliceData, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
    ) -> "SliceTensors":
        """The tensors of a slice. A slice without negative pairs is refused: its likelihood has no maximum."""
        if not part.negatives > 0:
            raise SettingsError(
                "The ratio of negative to positive pairs is not positive.", "Give a ratio like 1."
            )
        rows = np.repeat(np.arange(len(part.words)), np.diff(part.indptr))
        word_weight = part.negatives * part.word_probability
        excess = part.values / (word_weight[rows] * part.context_probability[part.indices])

        def whole(numbers: Numbers) -> Tensor:
            return torch.as_tensor(numbers.astype(np.int64), device=device)

        def real(numbers: Numbers) -> Tensor:
            return torch.as_tensor(numbers).to(device, dtype)

        return SliceTensors(
            whole(part.words),
            whole(part.indptr),
            whole(part.indices),
            whole(rows * len(part.words) + part.indices),
            real(part.values),
            real(excess),
            real(word_weight[:, None]),
            real(part.context_probability[:, None]),
        )


def log_likelihood(part: SliceTensors, u: Tensor, v: Tensor) -> Tensor:
    """log p(n+, n- | U, V), Eq. 2, a scalar. `u`, `v`: (a, d). Differentiable."""
    scores = u @ v.T
    positive = part.values @ logsigmoid(scores.view(-1)[part.places])
    negative = part.word_weight.T @ (softplus(scores) @ part.context_weight)  # log sigmoid(-x) = -softplus(x)
    return positive - negative.squeeze()


def gradients(part: SliceTensors, u: Tensor, v: Tensor, work: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The derivatives Gamma_u, Gamma_v (a, d) of the log likelihood (supplement, Gamma). `u`, `v`: (a, d).

    `work` (a, a) is overwritten when given; a caller that takes many steps saves the cost of fresh memory.
    """
    return _gradients(u, v, part.word_weight, part.context_weight, part.places, part.excess, work)


def minibatch_gradients(
    part: SliceTensors, words: Tensor, contexts: Tensor, u: Tensor, v: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    """The estimates Gamma'_u (m, d) and Gamma'_v (n, d) from a minibatch (supplement, "Sampling in vocabulary space").

    `words` (m,) and `contexts` (n,): the minibatch's active words, as places in `part.words`. `u` (m, d) and `v` (n, d): their
    vectors. `scale` is L / L', of the whole vocabulary and of the whole minibatch, inactive words included.
    """
    counts = part.starts[words + 1] - part.starts[words]
    ends = counts.cumsum(0)
    row = torch.repeat_interleave(torch.arange(len(words), device=words.device), counts)
    entry = torch.arange(len(row), device=words.device) + (part.starts[words] - ends + counts)[row]
    column_of = torch.full((len(part),), -1, dtype=torch.int64, device=words.device)
    column_of[contexts] = torch.arange(len(contexts), device=words.device)
    column = column_of[part.columns[entry]]
    drawn = column >= 0
    places = row[drawn] * len(contexts) + column[drawn]
    gamma_u, gamma_v = _gradients(
        u, v, part.word_weight[words], part.context_weight[contexts], places, part.excess[entry[drawn]], None
    )
    return gamma_u.mul_(scale), gamma_v.mul_(scale)


def _gradients(
    u: Tensor,
    v: Tensor,
    word_weight: Tensor,
    context_weight: Tensor,
    places: Tensor,
    excess: Tensor,
    work: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Gamma = (n+ + n-) sigmoid(-x) - n- = n+ (1 - s) - n- s, with s = sigmoid(x), times the other side's vectors.

    Written as -n- [s - (n+ / n-)(1 - s)]: the rank one n- then weighs vectors (a, d) before and after the products, and the
    dense matrix is read by no element-wise pass but the sigmoid.
    """
    residual = torch.mm(u, v.T, out=work).sigmoid_()
    flat = residual.view(-1)
    probability = flat[places]
    flat[places] = probability - excess * (1.0 - probability)
    gamma_u = (residual @ (context_weight * v)).mul_(word_weight).neg_()
    gamma_v = (residual.T @ (word_weight * u)).mul_(context_weight).neg_()
    return gamma_u, gamma_v


@torch.no_grad()
def expected_log_likelihood(
    part: SliceTensors,
    mean_u: Tensor,
    variance_u: Tensor,
    mean_v: Tensor,
    variance_v: Tensor,
    samples: int,
    generator: torch.Generator,
) -> tuple[float, float]:
    """E_q[log p(n+, n- | U, V)] by plain Monte Carlo, and its standard error. q is Gaussian with (a, d) means and variances.

    Computed in the type of `part`, whatever that of the moments. All solvers are compared by this one function.
    """
    if samples < 2:
        raise SettingsError(f"{samples} samples give no standard error.", "Take at least 2 samples.")
    mean = torch.stack([mean_u, mean_v]).to(part.values)
    deviation = torch.stack([variance_u, variance_v]).to(part.values).sqrt()
    drawn = []
    for _ in range(samples):
        noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
        u, v = mean + deviation * noise
        drawn.append(float(log_likelihood(part, u, v)))
    values = np.array(drawn)
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(samples))
