"""Slice after slice in order of time: skip-gram filtering (Algorithm 1 by natural gradients), the static model, and the
baselines.

What differs is what a slice inherits from those before it:

    filtering     its prior: the posterior of the slice before, carried on by diffusion (Eq. 13)
    warm-start    its starting point; the vectors are point estimates (SGP)
    independent   nothing; point estimates from a random start, turned onto the slice before at the end (SGI)
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.linalg import orthogonal_procrustes
from torch import Tensor

from wordtide.diffusion import Diffusion, Passage
from wordtide.inference.compute import Compute
from wordtide.inference.dense_pairs import Vectors
from wordtide.inference.expectations import PreparedSlice
from wordtide.inference.negatives import AUTO
from wordtide.inference.problem import Problem
from wordtide.inference.reports import Diverged, Report
from wordtide.inference.schedule import Schedule
from wordtide.inference.slice_fit import SliceFit

Array = npt.NDArray[Any]
_START = 0.1  # standard deviation of a random start: a mean of 0 is a saddle point


class SequentialSolver:
    """Fits the slices of a problem one after the other; `mean` and `variance` hold the answer at the knots, (2, K, d)."""

    def __init__(
        self,
        problem: Problem,
        diffusion: Diffusion,
        dim: int,
        schedule: Schedule,
        compute: Compute,
        method: str = "filtering",
        contexts: int | None = AUTO,
        trust: float = 1.0,
        seed: int = 0,
        first_steps: int | None = None,
    ) -> None:
        self.problem, self.diffusion, self.dim, self.compute = problem, diffusion, dim, compute
        self.method, self.contexts, self.trust, self.seed = method, contexts, trust, seed
        self.point = method in ("warm-start", "independent")
        first = replace(schedule, steps=first_steps or schedule.steps)
        self.schedules = [first] + [schedule] * (len(problem) - 1)
        self.steps = sum(part.steps for part in self.schedules)
        self.slow = 1.0
        self.number = self.done = self.total = 0
        self._before: float | None = None
        shape = (2, len(problem.knots), dim)
        self.mean = np.zeros(shape, dtype=np.float32 if compute.dtype == torch.float32 else np.float64)
        self.variance = np.zeros(shape, dtype=self.mean.dtype) if not self.point else None
        self._forget()
        self._fit: SliceFit | None = None

    def _forget(self) -> None:
        size = len(self.problem.words)
        self._last_knot = np.full(size, -1, dtype=np.int64)
        self._passage = Passage.none(size)

    def advance(self) -> Report | None:
        """One step in the current slice."""
        if self.number == len(self.problem):
            return None
        if self._fit is None:
            self._fit = self._opened()
        fit, schedule = self._fit, self.schedules[self.number]
        rate = self.slow * schedule.rate_at(self.done)
        fit.step(rate, np.random.default_rng([self.seed, self.number, self.done]))
        if self.number == 0 or self.method == "independent":
            fit.rotate_to_principal_axes()
        self.done += 1
        self.total += 1
        report = Report(self.total, self.number, float("nan"), rate)
        if schedule.is_measured(self.done):
            elbo = fit.elbo(np.random.default_rng([self.seed, self.number]))
            if not np.isfinite(elbo) or schedule.is_falling(elbo, self._before):
                raise Diverged(self.number)
            report = Report(self.total, self.number, elbo, rate)
            if schedule.is_over(self.done, elbo, self._before):
                self._close(fit)
            else:
                self._before = elbo
        return report

    def slow_down(self) -> None:
        """Halve the rate and begin the slice again."""
        self.slow *= 0.5
        self._fit, self.done, self._before = None, 0, None

    def state(self) -> dict[str, Array]:
        """All it takes to go on to the same bits."""
        state: dict[str, Array] = {
            "place": np.array([self.number, self.done, self.total], dtype=np.int64),
            "numbers": np.array([self.slow, np.nan if self._before is None else self._before]),
            "mean": self.mean,
        }
        if self.variance is not None:
            state["variance"] = self.variance
        if self._fit is not None:
            for kind in (0, 1):
                state[f"slice_mean_{kind}"] = self._fit.mean[kind].cpu().numpy()
                state[f"slice_precision_{kind}"] = self._fit.precision[kind].cpu().numpy()
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a saved state."""
        self.mean[:] = state["mean"]
        if self.variance is not None:
            self.variance[:] = state["variance"]
        number, self.done, self.total = (int(value) for value in state["place"])
        self.slow = float(state["numbers"][0])
        self._before = None if np.isnan(state["numbers"][1]) else float(state["numbers"][1])
        self._forget()
        for self.number in range(number):
            self._remember()
        self.number = number
        self._fit = None
        if "slice_mean_0" in state:
            self._fit = self._opened()
            for kind in (0, 1):
                self._fit.mean[kind] = self._tensor(state[f"slice_mean_{kind}"])
                self._fit.precision[kind] = self._tensor(state[f"slice_precision_{kind}"])

    def _opened(self) -> SliceFit:
        part = self.problem.slices[self.number]
        prior, start = self._inherited(part.words)
        slice = PreparedSlice(part, self.compute, self.contexts)
        return SliceFit(slice, self.number, prior, start, self.trust, self.point)

    def _inherited(self, words: npt.NDArray[np.int32]) -> tuple[tuple[Vectors, Vectors], tuple[Tensor, Tensor]]:
        """Prior and start of the active words of the current slice."""
        knots = self._last_knot[words]
        known, new = np.flatnonzero(knots >= 0), np.flatnonzero(knots < 0)
        passage = self._passage.of(words, self.mean.dtype)
        generator = np.random.default_rng([self.seed, self.number, 1 << 32])
        priors, starts = [], []
        for kind in (0, 1):
            mean = np.zeros((len(words), self.dim), dtype=self.mean.dtype)
            variance = np.full_like(mean, self.diffusion.prior_variance)
            start = np.zeros_like(mean)
            if not self.point:
                assert self.variance is not None
                mean[known], variance[known] = self.mean[kind][knots[known]], self.variance[kind][knots[known]]
                mean, variance = passage.predict(mean, variance)  # Eq. 13
                start[known] = mean[known]
            elif self.method == "warm-start":
                start[known] = self.mean[kind][knots[known]]
            random = new if self.method != "independent" else np.arange(len(words))
            start[random] = _START * generator.standard_normal((len(random), self.dim), dtype=np.float32)
            priors.append(Vectors(self._tensor(mean), self._tensor(variance)))
            starts.append(self._tensor(start))
        return (priors[0], priors[1]), (starts[0], starts[1])

    def _close(self, fit: SliceFit) -> None:
        """Keep the slice's answer and go on to the next."""
        rows = self.problem.knots.by_slice[self.number]
        means = [mean.cpu().numpy() for mean in fit.mean]
        if self.method == "independent" and self.number > 0:
            means = self._aligned(means)
        for kind in (0, 1):
            self.mean[kind][rows] = means[kind]
            if self.variance is not None:
                self.variance[kind][rows] = (1.0 / fit.precision[kind]).cpu().numpy()
        self._remember()
        self.number += 1
        self.done, self._before, self._fit = 0, None, None

    def _remember(self) -> None:
        """Which knot of each word is the latest, and what passes between it and the next slice."""
        words = self.problem.slices[self.number].words
        self._last_knot[words] = self.problem.knots.by_slice[self.number]
        self._passage.begin_anew(words)
        if self.number + 1 < len(self.problem):
            self._passage = self._passage.then(self.diffusion.step(self.number))

    def _aligned(self, means: list[Array]) -> list[Array]:
        """Turn words and contexts by the rotation that brings the words nearest to their vectors in the slice before."""
        here = self.problem.slices[self.number].words
        before = self.problem.slices[self.number - 1].words
        _, place_here, place_before = np.intersect1d(here, before, assume_unique=True, return_indices=True)
        earlier = self.mean[0][self.problem.knots.by_slice[self.number - 1][place_before]]
        rotation, _ = orthogonal_procrustes(means[0][place_here], earlier)
        return [mean @ rotation.astype(mean.dtype) for mean in means]

    def _tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(np.array(array)).to(self.compute.device, self.compute.dtype)
