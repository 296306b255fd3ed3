"""Skip-gram smoothing by natural gradients: all slices at once, each step one pass over the pairs and one Kalman smoother pass.

A step with rate rho: h <- (1 - rho) h + rho h_new; mu <- mu + rho clip[(Pi + diag h)^-1 (g + h mu) - mu]. The ELBO is that
of the paper's Algorithm 2, with the same variational family.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wordtide.diffusion import Diffusion
from wordtide.inference.chains import Chains, Trajectories
from wordtide.inference.compute import Compute
from wordtide.inference.dense_pairs import Vectors
from wordtide.inference.diffusion_estimate import best_diffusion
from wordtide.inference.expectations import PreparedSlice
from wordtide.inference.negatives import AUTO
from wordtide.inference.problem import Problem
from wordtide.inference.reports import Diverged, Report
from wordtide.inference.schedule import Schedule

Array = npt.NDArray[Any]
_LEAST_CLOSED = 0.2  # an M-step for the diffusion constant is made at most five times as long


class SmoothingSolver:
    """Fits all slices jointly, from vectors that stand still: `start` holds words and contexts, (2, L, d)."""

    def __init__(
        self,
        problem: Problem,
        diffusion: Diffusion,
        start: Array,
        schedule: Schedule,
        compute: Compute,
        contexts: int | None = AUTO,
        trust: float = 1.0,
        seed: int = 0,
        estimate_diffusion: bool = False,
    ) -> None:
        self.problem, self.schedule, self.compute = problem, schedule, compute
        self.contexts, self.trust, self.seed, self.estimate_diffusion = contexts, trust, seed, estimate_diffusion
        self.steps = schedule.steps
        self.slow = 1.0
        self.chains = Chains(problem.knots, diffusion, compute)
        self._rows = [torch.from_numpy(rows).to(compute.device) for rows in problem.knots.by_slice]
        self._slices = [PreparedSlice(part, compute, contexts, alone=compute.on_cpu) for part in problem.slices]
        self._start, self._first_constant = start, diffusion.constant
        self._begin()

    def _begin(self) -> None:
        self.use_diffusion(self._first_constant)
        knots, dim = self.problem.knots, self._start.shape[-1]
        words = torch.from_numpy(knots.words)
        self.kinds = []
        for kind in (0, 1):
            mean = torch.from_numpy(self._start[kind]).to(self.compute.dtype)[words].to(self.compute.device)
            prior = self.chains.prior_variance(dim)
            self.kinds.append(Trajectories(mean, torch.zeros_like(mean), prior, torch.empty_like(mean)))
        self.done = 0
        self.over = False
        self._before: float | None = None
        self._last_estimate = math.nan, math.nan  # log D before the last M-step, and what it lacked to the best one

    @property
    def diffusion(self) -> Diffusion:
        """The prior in use."""
        return self.chains.diffusion

    def advance(self) -> Report | None:
        """One step of all words at all slices."""
        if self.over:
            return None
        if self.estimate_diffusion and self.done > 0:
            self._estimate_diffusion()  # before the step, so that after it q and the ELBO are those of the prior in use
        rate = self.slow * self.schedule.rate_at(self.done)
        sound = self.compute.map(lambda number: self._observe(number, rate), range(len(self.problem)))
        if not all(sound):
            raise Diverged(sound.index(False))
        for kind in self.kinds:
            self.chains.move(kind, rate, self.trust)
        self.done += 1
        if not self.schedule.is_measured(self.done):
            return Report(self.done, None, float("nan"), rate)
        elbo = self.elbo()
        if not np.isfinite(elbo) or self.schedule.is_falling(elbo, self._before):
            raise Diverged(None)
        self.over = self.schedule.is_over(self.done, elbo, self._before)
        self._before = elbo
        return Report(self.done, None, elbo, rate)

    def elbo(self) -> float:
        """The ELBO per pair (Eq. 9): expected log likelihood of all slices minus KL(q || p)."""
        likelihood = sum(self.compute.map(self._likelihood, range(len(self.problem))))
        return (likelihood - sum(self.chains.divergence(kind) for kind in self.kinds)) / self.problem.pairs

    def slow_down(self) -> None:
        """Halve the rate and begin again."""
        self.slow *= 0.5
        self._begin()

    def state(self) -> dict[str, Array]:
        """All it takes to go on to the same bits."""
        state: dict[str, Array] = {
            "start": self._start,
            "place": np.array([self.done, self.over], dtype=np.int64),
            "numbers": np.array([self.slow, np.nan if self._before is None else self._before, self.diffusion.constant]),
            "estimate": np.array(self._last_estimate),
        }
        for name, kind in zip("uv", self.kinds, strict=True):
            state |= {f"mean_{name}": kind.mean.cpu().numpy(), f"h_{name}": kind.h.cpu().numpy()}
            state[f"variance_{name}"] = kind.variance.cpu().numpy()
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a saved state."""
        self._start = np.array(state["start"])
        self.done, self.over = int(state["place"][0]), bool(state["place"][1])
        self.slow = float(state["numbers"][0])
        self._before = None if np.isnan(state["numbers"][1]) else float(state["numbers"][1])
        self.use_diffusion(float(state["numbers"][2]))
        self._last_estimate = float(state["estimate"][0]), float(state["estimate"][1])
        for name, kind in zip("uv", self.kinds, strict=True):
            for tensor, field in ((kind.mean, "mean"), (kind.h, "h"), (kind.variance, "variance")):
                tensor.copy_(torch.from_numpy(np.array(state[f"{field}_{name}"])))

    def use_diffusion(self, constant: float) -> None:
        """Go on with another diffusion constant."""
        old = self.diffusion
        if constant != old.constant:
            self.chains.set_diffusion(Diffusion(old.times, constant, old.prior_variance))

    def _observe(self, number: int, rate: float) -> bool:
        """Gradients of one slice, put where the smoother pass finds them. Are they finite?"""
        rows = self._rows[number]
        u, v = self._vectors(rows)
        generator = np.random.default_rng([self.seed, number, self.done])
        sound = True
        for kind, vectors, gradient in zip(self.kinds, (u, v), self._slices[number].gradients(u, v, generator), strict=True):
            h = kind.h[rows].mul_(1 - rate).add_(gradient.h, alpha=rate)
            kind.h[rows] = h
            b = gradient.g.addcmul_(h, vectors.mean)
            kind.b[rows] = b
            sound = sound and bool(torch.isfinite(b.sum() + h.sum()))
        return sound

    def _likelihood(self, number: int) -> float:
        generator = np.random.default_rng([self.seed, number])
        return self._slices[number].expected_log_likelihood(*self._vectors(self._rows[number]), generator)

    def _vectors(self, rows: Tensor) -> tuple[Vectors, Vectors]:
        u, v = (Vectors(kind.mean[rows], kind.variance[rows]) for kind in self.kinds)
        return u, v

    def _estimate_diffusion(self) -> None:
        """The diffusion constant that fits best to what is believed of the trajectories now: an M-step, made longer.

        The less the data say, the more belief follows the constant in use, and the shorter is each M-step. How much of what
        was lacking the last change closed tells by how much.
        """
        moments = [self.chains.second_moments(kind) for kind in self.kinds]
        here = math.log(self.diffusion.constant)
        lack = math.log(best_diffusion(self.problem.knots, moments, self._start.shape[-1], self.diffusion)) - here
        before, lack_before = self._last_estimate
        closed = (lack_before - lack) / (here - before) if here != before else 1.0
        longer = abs(lack) / min(1.0, max(_LEAST_CLOSED, closed)) if math.isfinite(closed) else abs(lack)
        self._last_estimate = here, lack
        self.use_diffusion(math.exp(here + math.copysign(min(longer, max(abs(lack), math.log(2.0))), lack)))
