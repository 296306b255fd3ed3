"""Skip-gram filtering as the paper does it (Algorithm 1): black-box variational inference with Adam, slice after slice.

The paper leaves open how variances stay positive: here Adam moves the logarithm of the standard deviation. Only the words of
a slice are optimised; the belief on the others passes on by Eq. 13, composed over the slices where they are absent.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.errors import SettingsError
from wordtide.inference.natural.beliefs import Beliefs, Past
from wordtide.inference.paper.adam import adam_state, noise_generator
from wordtide.inference.problem import Problem, SliceData
from wordtide.inference.reports import Diverged, Report
from wordtide.inference.slice_sinks import KnotArrays, SliceSink
from wordtide.model.divergence import filter_kl
from wordtide.model.likelihood import SliceTensors, gradients, log_likelihood
from wordtide.model.prior import Diffusion

Floats = npt.NDArray[Any]
MEASURED_EVERY = 50


class AdamFilter:
    """The filter as a sequence of steps: call `advance` until it returns None, then read the moments at the knots.

    `parameters` (2, 2, a, d) are the variational parameters of the current slice: means, then log standard deviations, each
    for words and for contexts.
    """

    def __init__(
        self,
        problem: Problem,
        diffusion: Diffusion,
        dim: int,
        seed: int,
        steps_per_slice: int = 5000,
        rate: float = 1e-2,
        betas: tuple[float, float] = (0.9, 0.99),
        epsilon: float = 1e-8,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        sink: SliceSink | None = None,
        past: Past | None = None,
    ) -> None:
        if steps_per_slice < 1 or dim < 1 or not rate > 0:
            raise SettingsError(
                f"{steps_per_slice} steps per slice, {dim} dimensions and a rate of {rate} fit nothing.",
                "Give numbers above 0, like 5000 steps, 100 dimensions and a rate of 0.01.",
            )
        self.problem, self.diffusion, self.dim, self.seed = problem, diffusion, dim, seed
        self.device, self.dtype = torch.device(device), dtype
        kept = torch.zeros(0, dtype=dtype).numpy().dtype
        self.past = past or Past(0, Beliefs(len(problem.words), dim, kept))
        self.beliefs = self.past.beliefs
        self.steps_per_slice, self.betas, self.epsilon = steps_per_slice, betas, epsilon
        self._full_rate, self.rate = rate, rate * self.past.pace
        self.steps = steps_per_slice * len(problem)
        self.sink = sink if sink is not None else KnotArrays(problem.knots, dim, kept)
        self.pairs: list[float] = []
        self._t = self.past.slices
        self.end = self._t + len(problem)
        self._enter()

    @property
    def slow(self) -> float:
        """The share of the rate that is in use after divergences."""
        return self.rate / self._full_rate

    @property
    def moments(self) -> Floats:
        """Means and variances at the knots, each of words and contexts, (2, 2, K, d), of a fit in memory."""
        assert isinstance(self.sink, KnotArrays)
        assert self.sink.variance is not None
        return np.stack([self.sink.mean, self.sink.variance])

    @property
    def mean_u(self) -> npt.NDArray[np.float32]:
        """Means of the word vectors at the knots, (K, d)."""
        return np.asarray(self.moments[0, 0], dtype=np.float32)

    @property
    def mean_v(self) -> npt.NDArray[np.float32]:
        """Means of the context vectors at the knots, (K, d)."""
        return np.asarray(self.moments[0, 1], dtype=np.float32)

    @property
    def variance_u(self) -> npt.NDArray[np.float32]:
        """Variances of the word vectors at the knots, (K, d)."""
        return np.asarray(self.moments[1, 0], dtype=np.float32)

    @property
    def variance_v(self) -> npt.NDArray[np.float32]:
        """Variances of the context vectors at the knots, (K, d)."""
        return np.asarray(self.moments[1, 1], dtype=np.float32)

    def _part(self) -> SliceData:
        """The data of the current slice."""
        return self.problem.slices[self._t - self.past.slices]

    def prior(self) -> tuple[Floats, Floats]:
        """Mean and variance (2, a, d) before the data of the current slice: Eq. 13, for words and contexts."""
        words, beliefs = self._part().words, self.beliefs
        assert beliefs.variance is not None
        unseen = (beliefs.last[words] < 0)[:, None]
        mean, variance = (moment[:, words].astype(np.float64) for moment in (beliefs.mean, beliefs.variance))
        mean, variance = (
            np.where(unseen, 0.0, mean),
            np.where(unseen, self.diffusion.prior_variance, variance),
        )
        return beliefs.passage_to(self._t, words, self.diffusion, np.float64).predict(mean, variance)

    def _enter(self) -> None:
        """Start the current slice at its prior."""
        self._step = 0
        if self._t == self.end:
            return
        self._slice = SliceTensors.of(self._part(), self.device, self.dtype)
        mean, variance = (
            torch.tensor(part, device=self.device, dtype=self.dtype).contiguous() for part in self.prior()
        )
        self._prior_mean, self._prior_variance = mean, variance
        self._prior_precision = variance.reciprocal()
        self.parameters = torch.stack([mean, 0.5 * variance.log()])
        self._gradient = torch.empty_like(self.parameters)
        self._noise, self._deviation, self._sample = (torch.empty_like(mean) for _ in range(3))
        self._work = torch.empty(len(self._slice), len(self._slice), device=self.device, dtype=self.dtype)
        self._optimise_from(0, torch.zeros_like(self.parameters), torch.zeros_like(self.parameters))

    def _optimise_from(self, step: int, first: Tensor, second: Tensor) -> None:
        """A new optimiser that goes on after `step` steps with these moment estimates."""
        self._step = step
        self._adam = torch.optim.Adam(
            [self.parameters], lr=self.rate, betas=self.betas, eps=self.epsilon, maximize=True, fused=True
        )
        self._adam.state[self.parameters] = adam_state(step, first, second)
        self.parameters.grad = self._gradient

    @torch.no_grad()
    def advance(self) -> Report | None:
        """One step of Adam on L_t (Eq. 11) with one reparameterised sample, or None when all slices are done."""
        if self._t == self.end:
            return None
        self.estimate_gradient()
        elbo = (
            self._elbo()
            if (self._step + 1) % MEASURED_EVERY == 0 or self._step + 1 == self.steps_per_slice
            else math.nan
        )
        self._adam.step()
        # A sum is finite only if every term is, and costs one pass.
        if not math.isfinite(float(self._gradient.sum() + self.parameters.sum())):
            raise Diverged(self._t)
        self._step += 1
        done = (self._t - self.past.slices) * self.steps_per_slice + self._step
        report = Report(done, self._t, elbo, self.rate)
        if self._step == self.steps_per_slice:
            self._leave()
        return report

    @torch.no_grad()
    def estimate_gradient(self) -> Tensor:
        """The gradient (2, 2, a, d) of L_t for the next step: likelihood from one sample, entropy and log prior exact."""
        mean, log_deviation = self.parameters
        by_mean, by_log_deviation = self._gradient
        deviation, noise, precision = self._deviation, self._noise, self._prior_precision
        noise.normal_(generator=noise_generator(self.device, self.seed, self._t, self._step))
        torch.exp(log_deviation, out=deviation)
        torch.addcmul(mean, deviation, noise, out=self._sample)
        gamma_u, gamma_v = gradients(self._slice, self._sample[0], self._sample[1], self._work)
        for side, gamma in enumerate((gamma_u, gamma_v)):
            torch.mul(gamma, noise[side], out=by_log_deviation[side])
            torch.sub(self._prior_mean[side], mean[side], out=by_mean[side])
            by_mean[side].mul_(precision[side]).add_(gamma)
        by_log_deviation.addcmul_(deviation, precision, value=-1.0).mul_(deviation).add_(1.0)
        return self._gradient

    def _elbo(self) -> float:
        """L_t per pair with the likelihood of the current sample."""
        fit = float(log_likelihood(self._slice, self._sample[0], self._sample[1]))
        variance = self._deviation.square()
        divergence = filter_kl(self.parameters[0], variance, self._prior_mean, self._prior_variance)
        return (fit - divergence) / self._part().pairs

    def _leave(self) -> None:
        """Hand on the outcome of a slice and go on to the next."""
        part = self._part()
        mean, log_deviation = self.parameters
        found, spread = mean.cpu().numpy(), log_deviation.mul(2.0).exp().cpu().numpy()
        self.sink.put(self._t, part.words, found, spread)
        self.beliefs.keep(self._t, part.words, found, spread)
        self.pairs.append(part.pairs)
        self._t += 1
        self._enter()

    def state(self) -> dict[str, Floats]:
        """All it takes to go on to the same bits."""
        running = self._t < self.end
        memory = self._adam.state[self.parameters]
        tensors = (self.parameters, memory["exp_avg"], memory["exp_avg_sq"]) if running else ()
        return {
            "place": np.array([self._t, self._step]),
            "rate": np.array(self.rate),
            "pairs": np.array(self.pairs, dtype=np.float64),
            **{name: array.copy() for name, array in {**self.beliefs.state(), **self.sink.state()}.items()},
            "adam": np.stack([part.cpu().numpy() for part in tensors]) if running else np.zeros(0),
        }

    def restore(self, state: Mapping[str, Floats]) -> None:
        """Go on where `state` was taken, in this or another process."""
        self.beliefs.restore(state)
        self.sink.restore(state)
        self.pairs = [float(value) for value in state["pairs"]]
        self.rate = float(state["rate"])
        self._t = int(state["place"][0])
        self._enter()
        if self._t < self.end:
            parameters, first, second = (torch.tensor(part, device=self.device) for part in state["adam"])
            self.parameters.copy_(parameters)
            self._optimise_from(int(state["place"][1]), first, second)

    def slow_down(self) -> None:
        """Halve the rate and start the current slice again."""
        self.rate *= 0.5
        self._enter()
