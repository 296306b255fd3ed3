"""Skip-gram smoothing as the paper does it (Algorithm 2): all slices together, minibatches of words, then full batches.

State is kept on the full grid of slices and words, time first: (T, 2 L, d), the L words followed by the L contexts. The means
are moved in the natural basis (rho), nu by mirror ascent, omega by plain ascent. Where the paper is silent or slips:
minibatches are drawn from all L words (printed {1..L'}), and the phase of full batches starts with fresh moments of Adam,
because gradients of full batches are smaller by far than those of minibatches and would otherwise be drowned by them.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.errors import SettingsError
from wordtide.inference.paper.adam import AdamSteps, noise_generator
from wordtide.inference.paper.chains import ChainGradients, ChainPrior, chain_gradients, mirror_ascent
from wordtide.inference.paper.grid import active_among, blocks_of, taken
from wordtide.inference.problem import Problem
from wordtide.inference.reports import Diverged, Report
from wordtide.model.bidiagonal import covariances, solve
from wordtide.model.divergence import smoothing_kl
from wordtide.model.likelihood import SliceTensors, gradients, log_likelihood, minibatch_gradients
from wordtide.model.prior import Diffusion

Floats = npt.NDArray[Any]
MEASURED_EVERY = 50
KEPT_EVERY = 100
WORDS_AT_ONCE = 512
_STEPPING, _MEASURING = 0, 1  # streams of noise


class AdamSmoother:
    """The smoother as a sequence of steps: call `advance` until it returns None, then read the moments at the knots.

    `rho`, `nu` (T, 2 L, d) and `omega` (T - 1, 2 L, d) are the variational parameters.
    """

    def __init__(
        self,
        problem: Problem,
        diffusion: Diffusion,
        dim: int,
        seed: int,
        minibatch_words: int = 1000,
        minibatch_steps: int = 5000,
        full_steps: int = 1000,
        minibatch_rate: float = 1e-2,
        full_rate: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if (
            min(minibatch_words, dim) < 1
            or min(minibatch_steps, full_steps) < 0
            or not min(minibatch_rate, full_rate) > 0
        ):
            raise SettingsError(
                "Smoothing needs words, dimensions and rates above 0, and no negative number of steps.",
                "Leave these settings out to use those of the paper.",
            )
        self.problem, self.diffusion, self.dim, self.seed = problem, diffusion, dim, seed
        self.minibatch_words = min(minibatch_words, len(problem.words))
        self.minibatch_steps, self.steps = minibatch_steps, minibatch_steps + full_steps
        self.minibatch_rate, self.full_rate = minibatch_rate, full_rate
        self.device, self.dtype = torch.device(device), dtype
        self._slices = [SliceTensors.of(part, self.device, dtype) for part in problem.slices]
        self._prior = ChainPrior.of(diffusion, self.device, dtype)
        shape = (2 * len(problem.words), dim)
        self.rho = torch.zeros(len(problem), *shape, device=self.device, dtype=dtype)
        self.nu = self._prior.nu.expand(-1, *shape).clone()
        self.omega = self._prior.omega.expand(-1, *shape).clone()
        self._adam = [AdamSteps(part, betas, epsilon) for part in self._parameters]
        self._step = 0
        self._age = 0  # steps since Adam's moments were zero
        self._slowness = 1.0
        self._keep()

    @property
    def _parameters(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.rho, self.nu, self.omega

    @property
    def mu(self) -> Tensor:
        """The means of all words, then of all contexts, (T, 2 L, d)."""
        return self._prior.mean(self.rho)

    @property
    def rate(self) -> float:
        """The learning rate of the present phase."""
        return self._slowness * (self.minibatch_rate if self._step < self.minibatch_steps else self.full_rate)

    @torch.no_grad()
    def advance(self) -> Report | None:
        """One step of Algorithm 2, or None when all are done."""
        if self._step >= self.steps:
            return None
        if self._step == self.minibatch_steps:
            self._forget()
        if self._step % KEPT_EVERY == 0:
            self._keep()
        rate = self.rate
        elbo = (
            self.elbo()
            if (self._step + 1) % MEASURED_EVERY == 0 or self._step + 1 == self.steps
            else math.nan
        )
        generator = noise_generator(self.device, self.seed, _STEPPING, self._step)
        rows = self.draw(generator)
        trajectories = self.rho.shape[1] if rows is None else len(rows)
        shape = (len(self.problem), trajectories, self.dim)
        noise = torch.randn(shape, generator=generator, device=self.device, dtype=self.dtype)
        self._move(self.estimate(rows, noise), rows, rate)
        self._step += 1
        self._age += 1
        return Report(self._step, None, elbo, rate)

    def draw(self, generator: torch.Generator) -> Tensor | None:
        """Rows of L' distinct words and L' distinct contexts, each ascending; None for all of them."""
        size = len(self.problem.words)
        if self._step >= self.minibatch_steps or self.minibatch_words == size:
            return None
        words, contexts = (
            torch.randperm(size, generator=generator, device=self.device)[: self.minibatch_words]
            .sort()
            .values
            for _ in range(2)
        )
        return torch.cat([words, size + contexts])

    @torch.no_grad()
    def estimate(self, rows: Tensor | None, noise: Tensor) -> ChainGradients:
        """The gradients for the trajectories `rows`, or for all, from the sample that `noise` (T, n, d) makes."""
        rho, nu, omega = (taken(part, rows) for part in self._parameters)
        estimate = chain_gradients(
            self._prior, rho, nu, omega, noise, lambda sample: self._gamma(sample, rows)
        )
        _check_finite(estimate.rho, estimate.nu, estimate.omega)
        return estimate

    def _gamma(self, sample: Tensor, rows: Tensor | None) -> Tensor:
        """Gamma of the drawn words and contexts: zero where a word is absent, (T, n, d)."""
        gamma = torch.zeros_like(sample)
        half = sample.shape[1] // 2
        for t, part in enumerate(self._slices):
            if rows is None:
                u, v = part.words, half + part.words
                gamma[t, u], gamma[t, v] = gradients(part, sample[t, u], sample[t, v])
                continue
            words, u = active_among(rows[:half], part)
            contexts, v = active_among(rows[half:] - len(self.problem.words), part)
            v += half
            scale = len(self.problem.words) / half  # L / L'
            gamma[t, u], gamma[t, v] = minibatch_gradients(
                part, words, contexts, sample[t, u], sample[t, v], scale
            )
        return gamma

    def _move(self, estimate: ChainGradients, rows: Tensor | None, rate: float) -> None:
        by_rho, by_nu, by_omega = (
            adam.step(gradient, rows, rate, self._age)
            for adam, gradient in zip(self._adam, (estimate.rho, estimate.nu, estimate.omega), strict=True)
        )
        if rows is None:
            self.rho.add_(by_rho)
            self.nu.copy_(mirror_ascent(self.nu, by_nu))
            self.omega.add_(by_omega)
        else:
            self.rho.index_add_(1, rows, by_rho)
            self.nu.index_copy_(1, rows, mirror_ascent(taken(self.nu, rows), by_nu))
            self.omega.index_add_(1, rows, by_omega)
        _check_finite(by_rho, self.nu)

    @torch.no_grad()
    def elbo(self) -> float:
        """The ELBO per pair: the log likelihood of one sample of all trajectories, minus the exact divergence."""
        generator = noise_generator(self.device, self.seed, _MEASURING, self._step)
        sample = torch.empty(2, len(self.problem.knots), self.dim, device=self.device, dtype=self.dtype)
        divergence = 0.0
        for block in blocks_of(self.problem.knots, WORDS_AT_ONCE, self.device):
            nu, omega = self.nu[:, block.rows], self.omega[:, block.rows]
            mu = self._prior.mean(self.rho[:, block.rows])
            divergence += smoothing_kl(mu, nu, omega, self.diffusion)
            noise = torch.randn(mu.shape, generator=generator, device=self.device, dtype=self.dtype)
            sample[block.side, block.knots] = (mu + solve(nu, omega, noise))[block.places]
        fit = 0.0
        for part, knots_of_slice in zip(self._slices, self.problem.knots.by_slice, strict=True):
            chosen = torch.as_tensor(knots_of_slice, device=self.device)
            fit += float(log_likelihood(part, sample[0, chosen], sample[1, chosen]))
        return (fit - divergence) / self.problem.pairs

    @torch.no_grad()
    def _at_knots(self, side: int, variances: bool) -> npt.NDArray[np.float32]:
        """Means or marginal variances of words (0) or contexts (1) at the knots, (K, d)."""
        found = np.empty((len(self.problem.knots), self.dim), dtype=np.float32)
        for block in blocks_of(self.problem.knots, WORDS_AT_ONCE, self.device):
            if block.side != side:
                continue
            rho, nu, omega = (part[:, block.rows] for part in self._parameters)
            grid = covariances(nu, omega)[0] if variances else self._prior.mean(rho)
            found[block.knots] = grid[block.places].cpu().numpy()
        return found

    @property
    def mean_u(self) -> npt.NDArray[np.float32]:
        """Means of the word vectors at the knots, (K, d)."""
        return self._at_knots(0, variances=False)

    @property
    def mean_v(self) -> npt.NDArray[np.float32]:
        """Means of the context vectors at the knots, (K, d)."""
        return self._at_knots(1, variances=False)

    @property
    def variance_u(self) -> npt.NDArray[np.float32]:
        """Marginal variances of the word vectors at the knots, (K, d)."""
        return self._at_knots(0, variances=True)

    @property
    def variance_v(self) -> npt.NDArray[np.float32]:
        """Marginal variances of the context vectors at the knots, (K, d)."""
        return self._at_knots(1, variances=True)

    def _forget(self) -> None:
        """Give Adam fresh moments."""
        self._age = 0
        for adam in self._adam:
            adam.reset()

    def _keep(self) -> None:
        """Remember the parameters as good ones to go back to."""
        self._good = (self._step, [part.clone() for part in self._parameters])

    def state(self) -> dict[str, Floats]:
        """All it takes to go on to the same bits."""
        return {
            "progress": np.array([self._step, self._age]),
            "slowness": np.array(self._slowness),
            **{name: tensor.cpu().numpy().copy() for name, tensor in self._tensors().items()},
        }

    def _tensors(self) -> dict[str, Tensor]:
        named = dict(zip(("rho", "nu", "omega"), self._parameters, strict=True))
        for name, adam in zip(tuple(named), self._adam, strict=True):
            named |= {f"{name}_first": adam.first, f"{name}_second": adam.second}
        return named

    def restore(self, state: Mapping[str, Floats]) -> None:
        """Go on where `state` was taken, in this or another process."""
        tensors = self._tensors()
        saved = {name: torch.as_tensor(state[name]) for name in tensors}
        if any(
            saved[name].shape != tensor.shape or saved[name].dtype != tensor.dtype
            for name, tensor in tensors.items()
        ):
            raise SettingsError("The saved state belongs to another fit.", "Start again, without resuming.")
        for name, tensor in tensors.items():
            tensor.copy_(saved[name])
        self._step, self._age = (int(number) for number in state["progress"])
        self._slowness = float(state["slowness"])
        self._keep()

    def slow_down(self) -> None:
        """Halve the rate and go back to the parameters last kept, with fresh moments of Adam."""
        self._slowness *= 0.5
        self._step, kept = self._good
        for part, good in zip(self._parameters, kept, strict=True):
            part.copy_(good)
        self._forget()


def _check_finite(*tensors: Tensor) -> None:
    """Stop when numbers explode. No slice is named: the recursions in time carry them to all slices at once."""
    # A sum is finite only if every term is, and costs one pass.
    if not all(math.isfinite(float(tensor.sum())) for tensor in tensors):
        raise Diverged(None)
