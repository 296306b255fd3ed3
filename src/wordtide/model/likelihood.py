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

from wordtide.errors import SettingsError

Numbers = npt.NDArray[Any]


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
