"""Skip-gram filtering as in the paper (Algorithm 1): black-box variational inference, slice after slice.

The paper does not say how variances stay positive; here Adam moves the logarithm of the standard deviation.
Only the words of a slice are optimized; beliefs about the others are propagated by Eq. 13, composed over the
slices in which they are absent.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.errors import SettingsError
from wordtide.inference.natural.filtering import FilterHistory, LatestBeliefs
from wordtide.inference.paper.gradients import Adam, Betas, noise_generator
from wordtide.inference.problem import Problem, SliceData
from wordtide.inference.slice_sinks import KnotArrays, SliceSink
from wordtide.inference.training import Diverged, Report
from wordtide.model.chain import filter_kl
from wordtide.model.likelihood import ActiveSlice, gradients, log_likelihood
from wordtide.model.prior import Diffusion
from wordtide.types import Array, Floats, Reals

MEASURED_EVERY = 50


@dataclass(frozen=True)
class FilterOptions:
    """How to run Algorithm 1. The defaults are those of the paper.

    Attributes:
        dim: Dimensions d of the vectors.
        seed: Seed of the noise.
        steps_per_slice: Steps of Adam for each slice.
        rate: Learning rate of Adam.
        betas: Decay rates of Adam's moments.
        epsilon: Regularizer of Adam.
        dtype: float32 or float64.
    """

    dim: int
    seed: int
    steps_per_slice: int = 5000
    rate: float = 1e-2
    betas: Betas = (0.9, 0.99)
    epsilon: float = 1e-8
    dtype: npt.DTypeLike = np.float32

    def __post_init__(self) -> None:
        if self.steps_per_slice < 1 or self.dim < 1 or not self.rate > 0:
            raise SettingsError(
                f"The filter cannot run {self.steps_per_slice} steps per slice in {self.dim} dimensions "
                f"at a rate of {self.rate}.",
                "Give numbers above 0, like 5000 steps, 100 dimensions and a rate of 0.01.",
            )


class AdamFilter:
    """The filter as a sequence of steps: call `advance` until it returns None, then read the moments.

    Attributes:
        parameters: The variational parameters of the current slice, (2, 2, a, d): means, then log standard
            deviations, each for words and for contexts.
    """

    def __init__(
        self,
        problem: Problem,
        diffusion: Diffusion,
        options: FilterOptions,
        sink: SliceSink | None = None,
        history: FilterHistory | None = None,
    ) -> None:
        self.problem, self.diffusion, self.options = problem, diffusion, options
        self.dim = options.dim
        self.history = history or FilterHistory(
            0, LatestBeliefs(2, len(problem.words), options.dim, options.dtype)
        )
        self.beliefs = self.history.beliefs
        self.rate = options.rate * self.history.pace
        self.steps = options.steps_per_slice * len(problem)
        self.sink = sink if sink is not None else KnotArrays(problem.knots, 2, options.dim, options.dtype)
        self.pairs: list[float] = []
        self._t = self.history.slices
        self.end = self._t + len(problem)
        self._enter()

    @property
    def pace(self) -> float:
        """The fraction of the rate left after divergences."""
        return self.rate / self.options.rate

    def moments(self) -> Reals:
        """Means and variances at the knots, each of words and contexts, (2, 2, K, d), of a fit in memory."""
        assert isinstance(self.sink, KnotArrays)
        assert self.sink.variance is not None
        return np.stack([self.sink.mean, self.sink.variance])

    def _part(self) -> SliceData:
        return self.problem.slices[self._t - self.history.slices]

    def prior(self) -> tuple[Floats, Floats]:
        """Compute mean and variance (2, a, d) of words and contexts before the data of the slice (Eq. 13)."""
        words, beliefs = self._part().words, self.beliefs
        assert beliefs.variance is not None
        unseen = (beliefs.last[words] < 0)[:, None]
        mean, variance = (moment[:, words].astype(np.float64) for moment in (beliefs.mean, beliefs.variance))
        mean = np.where(unseen, 0.0, mean)
        variance = np.where(unseen, self.diffusion.prior_variance, variance)
        return beliefs.transition_to(self._t, words, self.diffusion, np.float64).predict(mean, variance)

    def _enter(self) -> None:
        """Start the current slice at its prior."""
        self._step = 0
        if self._t == self.end:
            return
        self._slice = ActiveSlice.of(self._part(), self.options.dtype)
        self._prior_mean, self._prior_variance = (
            np.ascontiguousarray(part, dtype=self.options.dtype) for part in self.prior()
        )
        self._prior_precision = 1.0 / self._prior_variance
        self.parameters = np.stack([self._prior_mean, 0.5 * np.log(self._prior_variance)])
        self._adam = Adam(self.parameters, self.options.betas, self.options.epsilon)

    def advance(self) -> Report | None:
        """Take one step of Adam on L_t (Eq. 11) with one sample, or return None after the last slice."""
        if self._t == self.end:
            return None
        steps = self.options.steps_per_slice
        measured = (self._step + 1) % MEASURED_EVERY == 0 or self._step + 1 == steps
        with np.errstate(over="ignore", invalid="ignore"):  # reported as a divergence
            gradient, sample = self.estimate_gradient()
            elbo = self._elbo(sample) if measured else math.nan
            self.parameters += self._adam.step(gradient, self.rate)
            # A sum is finite only if every term is, and costs one pass.
            if not math.isfinite(gradient.sum() + self.parameters.sum()):
                raise Diverged(self._t)
        self._step += 1
        report = Report((self._t - self.history.slices) * steps + self._step, self._t, elbo, self.rate)
        if self._step == steps:
            self._leave()
        return report

    def estimate_gradient(self) -> tuple[Reals, Reals]:
        """Estimate the gradient of L_t (Eq. 11): likelihood by sampling, entropy and prior exactly.

        Returns:
            The gradient (2, 2, a, d) in the order of `parameters`, and the sample (2, a, d) it was estimated
            from.
        """
        mean, log_deviation = self.parameters
        generator = noise_generator(self.options.seed, self._t, self._step)
        noise = generator.standard_normal(mean.shape, dtype=mean.dtype.type)
        deviation = np.exp(log_deviation)
        sample = mean + deviation * noise
        gamma = np.stack(gradients(self._slice, sample[0], sample[1]))
        gradient = np.empty_like(self.parameters)
        gradient[0] = gamma - (mean - self._prior_mean) * self._prior_precision
        gradient[1] = 1.0 + deviation * (gamma * noise - deviation * self._prior_precision)
        return gradient, sample

    def _elbo(self, sample: Reals) -> float:
        """L_t per pair (Eq. 11) with the likelihood of the current sample."""
        mean, log_deviation = self.parameters
        fit = log_likelihood(self._slice, sample[0], sample[1])
        divergence = filter_kl(mean, np.exp(2.0 * log_deviation), self._prior_mean, self._prior_variance)
        return (fit - divergence) / self._part().pairs

    def _leave(self) -> None:
        """Store the result of a slice and proceed to the next."""
        words, mean, variance = self._part().words, self.parameters[0], np.exp(2.0 * self.parameters[1])
        self.sink.put(self._t, words, mean, variance)
        self.beliefs.keep(self._t, words, mean, variance)
        self.pairs.append(self._part().pairs)
        self._t += 1
        self._enter()

    def state(self) -> dict[str, Array]:
        """Return everything needed to continue to the same bits."""
        running = self._t < self.end
        adam = np.stack([self.parameters, self._adam.first, self._adam.second]) if running else np.zeros(0)
        return {
            "place": np.array([self._t, self._step]),
            "rate": np.array(self.rate),
            "pairs": np.array(self.pairs, dtype=np.float64),
            **{name: array.copy() for name, array in {**self.beliefs.state(), **self.sink.state()}.items()},
            "adam": adam,
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue where `state` was taken, in this or another process."""
        self.beliefs.restore(state)
        self.sink.restore(state)
        self.pairs = [float(value) for value in state["pairs"]]
        self.rate = float(state["rate"])
        self._t = int(state["place"][0])
        self._enter()
        if self._t < self.end:
            self.parameters[:], self._adam.first[:], self._adam.second[:] = state["adam"]
            self._adam.count = self._step = int(state["place"][1])

    def slow_down(self) -> None:
        """Halve the rate and start the current slice again."""
        self.rate *= 0.5
        self._enter()
