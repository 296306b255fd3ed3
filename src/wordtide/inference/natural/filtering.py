"""Slice after slice in order of time: skip-gram filtering (Algorithm 1 by natural gradients), the static model, and the
baselines.

What differs is what a slice inherits from those before it:

    filtering     its prior: the posterior of the slice before, carried on by diffusion (Eq. 13)
    warm-start    its starting point; the vectors are point estimates (SGP)
    independent   nothing; point estimates from a random start, turned onto the slice before at the end (SGI)
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.linalg import orthogonal_procrustes
from torch import Tensor

from wordtide.inference.compute import Compute
from wordtide.inference.natural.beliefs import Beliefs, Past
from wordtide.inference.natural.dense_pairs import Vectors
from wordtide.inference.natural.expectations import PreparedSlice
from wordtide.inference.natural.negatives import AUTO
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.step import SliceFit
from wordtide.inference.problem import Problem, SliceData
from wordtide.inference.reports import Diverged, Report
from wordtide.inference.slice_sinks import KnotArrays, SliceSink
from wordtide.model.prior import Diffusion

Array = npt.NDArray[Any]
_START = 0.1  # standard deviation of a random start: a mean of 0 is a saddle point


class SequentialSolver:
    """Fits the slices of a problem one after the other, and hands each finished one to a sink.

    It keeps no more than its latest beliefs. With a `past` the problem holds the slices after it, while `diffusion` has the
    times of all, and slices are numbered from the first of all: so a filter goes on as if it had never stopped.
    """

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
        sink: SliceSink | None = None,
        past: Past | None = None,
    ) -> None:
        self.problem, self.diffusion, self.dim, self.compute = problem, diffusion, dim, compute
        self.method, self.contexts, self.trust, self.seed = method, contexts, trust, seed
        self.point = method in ("warm-start", "independent")
        self.schedule, self._first = schedule, replace(schedule, steps=first_steps or schedule.steps)
        self.dtype = np.float32 if compute.dtype == torch.float32 else np.float64
        self.past = past or Past(0, Beliefs(len(problem.words), dim, self.dtype, not self.point))
        self.beliefs, self.slow = self.past.beliefs, self.past.pace
        self.number, self.done, self.total = self.past.slices, 0, 0
        self.end = self.number + len(problem)
        self.steps = sum(self._schedule(number).steps for number in range(self.number, self.end))
        self.pairs: list[float] = []
        self.predictions: list[float] = []  # of each slice, from those before it: log-likelihood per pair
        self._before: float | None = None
        self.sink = sink if sink is not None else KnotArrays(problem.knots, dim, self.dtype, not self.point)
        self._fit: SliceFit | None = None

    @property
    def mean(self) -> Array:
        """The means at the knots, (2, K, d), of a fit in memory."""
        assert isinstance(self.sink, KnotArrays)
        return self.sink.mean

    @property
    def variance(self) -> Array | None:
        """The variances at the knots, (2, K, d), of a fit in memory; None for point estimates."""
        assert isinstance(self.sink, KnotArrays)
        return self.sink.variance

    def _schedule(self, number: int) -> Schedule:
        return self._first if number == 0 else self.schedule

    def _part(self) -> SliceData:
        """The data of the current slice."""
        return self.problem.slices[self.number - self.past.slices]

    def advance(self) -> Report | None:
        """One step in the current slice."""
        if self.number == self.end:
            return None
        if self._fit is None:
            self._fit = self._opened()
        fit, schedule = self._fit, self._schedule(self.number)
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
            "pairs": np.array(self.pairs, dtype=np.float64),
            "predictions": np.array(self.predictions, dtype=np.float64),
            **self.beliefs.state(),
            **self.sink.state(),
        }
        if self._fit is not None:
            for kind in (0, 1):
                state[f"slice_mean_{kind}"] = self._fit.mean[kind].cpu().numpy()
                state[f"slice_precision_{kind}"] = self._fit.precision[kind].cpu().numpy()
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a saved state."""
        self.number, self.done, self.total = (int(value) for value in state["place"])
        self.slow = float(state["numbers"][0])
        self._before = None if np.isnan(state["numbers"][1]) else float(state["numbers"][1])
        self.pairs = [float(value) for value in state["pairs"]]
        self.predictions = [float(value) for value in state["predictions"]]
        self.beliefs.restore(state)
        self.sink.restore(state)
        self._fit = None
        if "slice_mean_0" in state:
            self._fit = self._opened()
            for kind in (0, 1):
                self._fit.mean[kind] = self.compute.tensor(state[f"slice_mean_{kind}"])
                self._fit.precision[kind] = self.compute.tensor(state[f"slice_precision_{kind}"])

    def _opened(self) -> SliceFit:
        part = self._part()
        prior, start = self._inherited(part.words)
        slice = PreparedSlice(part, self.compute, self.contexts)
        return SliceFit(slice, self.number, prior, start, self.trust, self.point)

    def _inherited(
        self, words: npt.NDArray[np.int32]
    ) -> tuple[tuple[Vectors, Vectors], tuple[Tensor, Tensor]]:
        """Prior and start of the active words of the current slice."""
        beliefs = self.beliefs
        seen = beliefs.last[words] >= 0
        known, new = np.flatnonzero(seen), np.flatnonzero(~seen)
        passage = beliefs.passage_to(self.number, words, self.diffusion, self.dtype)
        generator = np.random.default_rng([self.seed, self.number, 1 << 32])
        priors, starts = [], []
        for kind in (0, 1):
            mean = np.zeros((len(words), self.dim), dtype=self.dtype)
            variance = np.full_like(mean, self.diffusion.prior_variance)
            start = np.zeros_like(mean)
            if not self.point:
                assert beliefs.variance is not None
                mean[known], variance[known] = (
                    beliefs.mean[kind][words[known]],
                    beliefs.variance[kind][words[known]],
                )
                mean, variance = passage.predict(mean, variance)  # Eq. 13
                start[known] = mean[known]
            elif self.method == "warm-start":
                start[known] = beliefs.mean[kind][words[known]]
            random = new if self.method != "independent" else np.arange(len(words))
            start[random] = _START * generator.standard_normal((len(random), self.dim), dtype=np.float32)
            priors.append(Vectors(self.compute.tensor(mean), self.compute.tensor(variance)))
            starts.append(self.compute.tensor(start))
        return (priors[0], priors[1]), (starts[0], starts[1])

    def _close(self, fit: SliceFit) -> None:
        """Hand on the slice's answer and go on to the next."""
        part = self._part()
        means = [mean.cpu().numpy() for mean in fit.mean]
        if self.method == "independent" and self.number > 0:
            means = self._aligned(means)
        mean = np.stack(means)
        variance = (
            None if self.point else np.stack([(1.0 / precision).cpu().numpy() for precision in fit.precision])
        )
        self.sink.put(self.number, part.words, mean, variance)
        self.beliefs.keep(self.number, part.words, mean, variance)
        self.pairs.append(part.pairs)
        self.predictions.append(
            fit.prediction(np.random.default_rng([self.seed, self.number])) if self.number else math.nan
        )
        self.number += 1
        self.done, self._before, self._fit = 0, None, None

    def _aligned(self, means: list[Array]) -> list[Array]:
        """Turn words and contexts by the rotation that brings the words nearest to their vectors in the slice before."""
        words = self._part().words
        shared = np.flatnonzero(self.beliefs.last[words] == self.number - 1)
        rotation, _ = orthogonal_procrustes(means[0][shared], self.beliefs.mean[0][words[shared]])
        return [mean @ rotation.astype(mean.dtype) for mean in means]
