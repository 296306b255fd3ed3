"""Skip-gram smoothing by natural gradients: all slices at once, each step one pass over the pairs and one Kalman smoother pass.

A step with rate rho: h <- (1 - rho) h + rho h_new; mu <- mu + rho clip[(Pi + diag h)^-1 (g + h mu) - mu]. The ELBO is that
of the paper's Algorithm 2, with the same variational family.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.inference.compute import Compute
from wordtide.inference.natural.chains import Chains, Trajectories
from wordtide.inference.natural.dense_pairs import Vectors
from wordtide.inference.natural.expectations import Gradient, PreparedSlice
from wordtide.inference.natural.negatives import AUTO
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.problem import Problem
from wordtide.inference.reports import Diverged, Report
from wordtide.inference.scale.in_memory import States, StatesInMemory
from wordtide.inference.scale.word_blocks import WordBlock
from wordtide.model.prior import Diffusion
from wordtide.storage.tensors import Storable

Array = npt.NDArray[Any]


class SmoothingSolver:
    """Fits all slices jointly, from vectors that stand still: `start` holds words and contexts, (2, L, d).

    `states` says where the trajectories live: in memory unless it is given. They then begin at their own start.
    """

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
        states: States | None = None,
    ) -> None:
        self.problem, self.schedule, self.compute = problem, schedule, compute
        self.contexts, self.trust, self.seed = contexts, trust, seed
        self.steps = schedule.steps
        self.slow = 1.0
        self.dim = start.shape[-1]
        self.states = StatesInMemory(problem.knots, diffusion, start, compute) if states is None else states
        self._slices = {t: self._prepared(t) for t in self.states.slices}
        self._pairs = self.states.of_all_slices([part.part.pairs for part in self._slices.values()])
        self.begin()

    def _prepared(self, number: int) -> PreparedSlice:
        part = self.problem.slices[number]
        part = replace(part, indices=self.states.kept(part.indices), values=self.states.kept(part.values))
        return PreparedSlice(
            part, self.compute, self.contexts, alone=self.compute.on_cpu, keep=self.states.kept
        )

    def begin(self) -> None:
        """Go back to vectors that stand still."""
        self.states.begin()
        self.done = 0
        self.over = False
        self._before: float | None = None

    @property
    def diffusion(self) -> Diffusion:
        """The prior in use."""
        return self.states.diffusion

    @property
    def chains(self) -> Chains:
        """The prior at all knots, where one process holds them in memory."""
        return self._in_memory.chains

    @property
    def kinds(self) -> list[Trajectories]:
        """Words and contexts at all knots, where one process holds them in memory."""
        return self._in_memory.kinds

    @property
    def _in_memory(self) -> WordBlock:
        assert isinstance(self.states, StatesInMemory)
        return self.states.block

    def advance(self) -> Report | None:
        """One step of all words at all slices."""
        if self.over:
            return None
        rate = self.slow * self.schedule.rate_at(self.done)
        sound = self.states.observe(self._gradients, rate)
        if not all(sound):
            raise Diverged(sound.index(False))
        self.states.move(rate, self.trust)
        self.done += 1
        if not self.schedule.is_measured(self.done):
            return Report(self.done, None, float("nan"), rate, self.states.note())
        elbo = self.elbo()
        if not np.isfinite(elbo) or self.schedule.is_falling(elbo, self._before):
            raise Diverged(None)
        self.over = self.schedule.is_over(self.done, elbo, self._before)
        self._before = elbo
        return Report(self.done, None, elbo, rate, self.states.note())

    def elbo(self) -> float:
        """The ELBO per pair (Eq. 9): expected log likelihood of all slices minus KL(q || p)."""
        return (sum(self.states.likelihoods(self._likelihood)) - self.states.divergence()) / sum(self._pairs)

    def predictions(self, constant: float | None = None) -> list[float]:
        """How probable each slice is under what the other slices say of its words and contexts: log-likelihoods per pair.

        A slice adds a Gaussian message to each of its vectors. Without these messages the posterior is the prediction of a
        fit that left the slice out, but for what the slice has told others; docs/mathematics.md compares the two. A
        `constant` other than that in use puts the same messages together as if vectors moved that fast.
        """
        self.states.leave_out(self.diffusion if constant is None else self.diffusion.with_constant(constant))
        found = self.states.likelihoods(self._predictive)
        self.states.put_back()
        return [value / pairs for value, pairs in zip(found, self._pairs, strict=True)]

    @property
    def pairs(self) -> list[float]:
        """The pairs of each slice."""
        return self._pairs

    def slow_down(self) -> None:
        """Halve the rate and begin again."""
        self.slow *= 0.5
        self.begin()

    def state(self) -> dict[str, Storable]:
        """All it takes to go on to the same bits."""
        return {
            "place": np.array([self.done, self.over], dtype=np.int64),
            "numbers": np.array(
                [self.slow, np.nan if self._before is None else self._before, self.diffusion.constant]
            ),
            **self.states.arrays(),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a saved state."""
        self.done, self.over = int(state["place"][0]), bool(state["place"][1])
        self.slow = float(state["numbers"][0])
        self._before = None if np.isnan(state["numbers"][1]) else float(state["numbers"][1])
        self.use_diffusion(float(state["numbers"][2]))
        self.states.restore(state)

    def use_diffusion(self, constant: float) -> None:
        """Go on with another diffusion constant."""
        if constant != self.diffusion.constant:
            self.states.set_diffusion(self.diffusion.with_constant(constant))

    def _gradients(self, number: int, u: Vectors, v: Vectors) -> tuple[Gradient, Gradient]:
        return self._slices[number].gradients(u, v, np.random.default_rng([self.seed, number, self.done]))

    def _likelihood(self, number: int, u: Vectors, v: Vectors) -> float:
        return self._slices[number].expected_log_likelihood(u, v, np.random.default_rng([self.seed, number]))

    def _predictive(self, number: int, u: Vectors, v: Vectors) -> float:
        return self._slices[number].predictive_log_likelihood(
            u, v, np.random.default_rng([self.seed, number])
        )
