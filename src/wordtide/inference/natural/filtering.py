"""Sequential fits: skip-gram filtering (Algorithm 1 with natural gradients) and the baselines.

The methods differ in what a slice inherits from earlier slices:

    filtering     its prior: the posterior of the previous slice, propagated by diffusion (Eq. 13)
    warm-start    its starting point; the vectors are point estimates (SGP)
    independent   nothing; point estimates from a fresh start, finally rotated onto the previous slice (SGI)

The static model is a filter of a single slice with all texts. The state of a filter is its latest belief
about each word; it does not grow with the number of slices.
"""

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import orthogonal_procrustes

from wordtide.embeddings.posterior import Posterior
from wordtide.errors import SettingsError
from wordtide.inference.compute import Compute
from wordtide.inference.natural.eigen_start import eigen_start, signs_by_rule
from wordtide.inference.natural.prepared_slice import PreparedSlice
from wordtide.inference.natural.schedule import NaturalOptions, Schedule
from wordtide.inference.natural.step import SliceFit, sign_blocks
from wordtide.inference.problem import Problem, SliceData
from wordtide.inference.slice_sinks import KnotArrays, SliceSink
from wordtide.inference.training import Diverged, Report
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.prior import Diffusion, Transition
from wordtide.types import Array, Flags, Indices


class LatestBeliefs:
    """The latest beliefs: means and, except for point estimates, variances of all words, (sides, L, d) each.

    The sides are words and contexts, or a single one if contexts are tied. `last` (L,) is the slice at which
    a belief was formed, or -1 for words not seen yet, which have the prior of slice 0.
    """

    def __init__(self, sides: int, size: int, dim: int, dtype: npt.DTypeLike, uncertain: bool = True) -> None:
        self.mean = np.zeros((sides, size, dim), dtype=dtype)
        self.variance = np.zeros((sides, size, dim), dtype=dtype) if uncertain else None
        self.last = np.full(size, -1, dtype=np.int64)

    @staticmethod
    def of(posterior: Posterior, dtype: npt.DTypeLike) -> "LatestBeliefs":
        """Return the final beliefs of a filter."""
        knots = posterior.knots
        beliefs = LatestBeliefs(len(posterior.sides), len(knots.starts) - 1, posterior.dim, dtype)
        assert beliefs.variance is not None
        words = np.flatnonzero(np.diff(knots.starts) > 0)
        rows = knots.starts[words + 1] - 1
        beliefs.last[words] = knots.slices[rows]
        for side, name in enumerate(posterior.sides):
            mean, variance = getattr(posterior, f"mean_{name}"), getattr(posterior, f"variance_{name}")
            beliefs.mean[side, words], beliefs.variance[side, words] = mean[rows], variance[rows]
        return beliefs

    def grown(self, words: int) -> "LatestBeliefs":
        """Return these beliefs with `words` additional words that have not been seen."""
        sides, size, dim = self.mean.shape
        larger = LatestBeliefs(sides, size + words, dim, self.mean.dtype, self.variance is not None)
        larger.mean[:, :size], larger.last[:size] = self.mean, self.last
        if self.variance is not None and larger.variance is not None:
            larger.variance[:, :size] = self.variance
        return larger

    def transition_to(self, t: int, words: Indices, diffusion: Diffusion, dtype: npt.DTypeLike) -> Transition:
        """The transition from the last slice of each of some words to slice t (Eq. 13)."""
        since = diffusion.times[np.maximum(self.last[words], 0)]
        return diffusion.transition(since, np.full(len(words), diffusion.times[t])).astype(dtype)

    def keep(self, t: int, words: Indices, mean: Array, variance: Array | None) -> None:
        """Replace the beliefs about the words of slice t, (sides, a, d) each."""
        self.last[words] = t
        self.mean[:, words] = mean
        if self.variance is not None:
            self.variance[:, words] = variance

    def state(self) -> dict[str, Array]:
        """Return the arrays of a checkpoint."""
        state = {"last": self.last, "last_mean": self.mean}
        return state if self.variance is None else {**state, "last_variance": self.variance}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Return to a saved state."""
        if state["last_mean"].shape != self.mean.shape or state["last_mean"].dtype != self.mean.dtype:
            raise SettingsError("The saved state belongs to another fit.", "Fit again without --resume.")
        self.last[:], self.mean[:] = state["last"], state["last_mean"]
        if self.variance is not None:
            self.variance[:] = state["last_variance"]


@dataclass(frozen=True)
class FilterHistory:
    """Where a filter continues: after `slices` slices, with these beliefs and this fraction of the rate."""

    slices: int
    beliefs: LatestBeliefs
    pace: float = 1.0


_SPREAD = 0.1  # standard deviation of a random start: a mean of 0 is a saddle point


class SequentialSolver:
    """Fits the slices of a problem one after the other and passes each finished slice to a sink.

    It keeps only its latest beliefs. With a history, the problem holds the slices that follow it, `diffusion`
    has the times of all slices, and slices are numbered from the very first: the filter continues as if it
    had never stopped. `prepare` prepares a slice from its number and data; by default this process computes
    it.
    """

    def __init__(
        self,
        problem: Problem,
        diffusion: Diffusion,
        options: NaturalOptions,
        compute: Compute,
        sink: SliceSink | None = None,
        history: FilterHistory | None = None,
        prepare: Callable[[int, SliceData], PreparedSlice] | None = None,
    ) -> None:
        self.problem, self.diffusion, self.options, self.compute = problem, diffusion, options, compute
        self.point = options.method in ("warm-start", "independent")
        self.signs = signs_by_rule(options.dim) if options.tied else None
        shape = options.sides, len(problem.words), options.dim
        self.history = history or FilterHistory(0, LatestBeliefs(*shape, compute.dtype, not self.point))
        self.beliefs, self.pace = self.history.beliefs, self.history.pace
        self.number, self.done, self.total = self.history.slices, 0, 0
        self.end = self.number + len(problem)
        self.steps = sum(self._schedule(number).steps for number in range(self.number, self.end))
        self.pairs: list[float] = []
        self.predictions: list[float] = []  # log likelihood per pair of each slice given earlier ones
        self._before: float | None = None
        self.sink: SliceSink = sink or KnotArrays(
            problem.knots, options.sides, options.dim, compute.dtype, not self.point
        )
        self._fit: SliceFit | None = None
        self._prediction: Future[float] | None = None
        self._prepare = prepare  # a method of its own here would keep a discarded solver in memory

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self.options.dim

    @property
    def mean(self) -> Array:
        """The means at the knots, (sides, K, d), of a fit in memory."""
        assert isinstance(self.sink, KnotArrays)
        return self.sink.mean

    @property
    def variance(self) -> Array | None:
        """The variances at the knots, (sides, K, d), of a fit in memory; None for point estimates."""
        assert isinstance(self.sink, KnotArrays)
        return self.sink.variance

    def advance(self) -> Report | None:
        """Take one step in the current slice."""
        if self.number == self.end:
            return None
        if self._fit is None:
            self._fit = self._open()
        fit, schedule = self._fit, self._schedule(self.number)
        rate = self.pace * schedule.rate_at(self.done)
        fit.step(rate, self._seed(self.done))
        if self.number == 0 or self.options.method == "independent":
            fit.rotate_to_principal_axes()
        self.done += 1
        self.total += 1
        elbo = math.nan
        if schedule.is_measured(self.done):
            elbo = fit.elbo(self._seed())
            if not np.isfinite(elbo) or schedule.is_falling(elbo, self._before):
                raise Diverged(self.number)
            number, before, self._before = self.number, self._before, elbo
            if schedule.is_over(self.done, elbo, before):
                self._close(fit)
            return Report(self.total, number, elbo, rate)
        return Report(self.total, self.number, elbo, rate)

    def slow_down(self) -> None:
        """Halve the rate and restart the slice."""
        self.pace *= 0.5
        self._fit, self.done, self._before = None, 0, None

    def state(self) -> dict[str, Array]:
        """Return the arrays from which a fit resumes with bit-identical results."""
        state: dict[str, Array] = {
            "place": np.array([self.number, self.done, self.total], dtype=np.int64),
            "numbers": np.array([self.pace, np.nan if self._before is None else self._before]),
            "pairs": np.array(self.pairs, dtype=np.float64),
            "predictions": np.array(self.predictions, dtype=np.float64),
            **self.beliefs.state(),
            **self.sink.state(),
        }
        if self._fit is not None:
            state["slice_mean"] = np.stack(self._fit.mean)
            state["slice_precision"] = np.stack(self._fit.precision)
        return state

    def restore(self, state: Mapping[str, Array]) -> None:
        """Resume from a saved state."""
        self.number, self.done, self.total = (int(value) for value in state["place"])
        self.pace = float(state["numbers"][0])
        self._before = None if np.isnan(state["numbers"][1]) else float(state["numbers"][1])
        self.pairs = [float(value) for value in state["pairs"]]
        self.predictions = [float(value) for value in state["predictions"]]
        self.beliefs.restore(state)
        self.sink.restore(state)
        self._fit = None
        if "slice_mean" in state:
            self._fit = self._open()
            self._fit.mean = [np.array(mean) for mean in state["slice_mean"]]
            self._fit.precision = [np.array(precision) for precision in state["slice_precision"]]

    def _schedule(self, number: int) -> Schedule:
        schedule, first = self.options.schedule, self.options.first_steps
        return replace(schedule, steps=first) if number == 0 and first is not None else schedule

    def _seed(self, *place: int) -> list[int]:
        return [self.options.seed, self.number, *place]

    def _prepared_here(self, number: int, part: SliceData) -> PreparedSlice:
        return PreparedSlice(part, self.compute, self.options.sample_size, self.signs)

    def _part(self) -> SliceData:
        """The data of the current slice."""
        return self.problem.slices[self.number - self.history.slices]

    def _open(self) -> SliceFit:
        part = self._part()
        slice = (self._prepare or self._prepared_here)(self.number, part)
        prior, start = self._inherited(part)
        fit = SliceFit(slice, self.number, prior, start, self.options.trust, self.point)
        if self.number:
            seed = self._seed()
            self._prediction = self.compute.start(lambda: fit.prediction(seed))
        return fit

    def _inherited(self, part: SliceData) -> tuple[list[GaussianVectors], list[Array]]:
        """Return the prior and the starting point of the active words of the current slice, for each side."""
        words, beliefs = part.words, self.beliefs
        is_new = beliefs.last[words] < 0
        transition = beliefs.transition_to(self.number, words, self.diffusion, self.compute.dtype)
        prior, starts = [], []
        for side, fresh in enumerate(self._fresh_start(part, is_new)):
            mean, start = beliefs.mean[side][words], fresh
            if self.point:
                prior_mean = np.zeros_like(mean)
                prior.append(GaussianVectors(prior_mean, np.full_like(mean, self.diffusion.prior_variance)))
            else:
                assert beliefs.variance is not None
                variance = beliefs.variance[side][words]
                variance[is_new] = self.diffusion.prior_variance
                mean, variance = transition.predict(mean, variance)  # Eq. 13
                prior.append(GaussianVectors(mean, variance))
            if self.options.method != "independent":
                start = np.where(is_new[:, None], fresh, mean)
            starts.append(start)
        return prior, starts

    def _fresh_start(self, part: SliceData, is_new: Flags) -> list[Array]:
        """Return random starting points for new words, or eigenvectors for tied contexts without a past."""
        shape = len(part), self.dim
        if self.signs is not None and (self.number == 0 or self.options.method == "independent"):
            return [eigen_start(part, self.signs, self.options.seed).astype(self.compute.dtype)]
        generator = np.random.default_rng(self._seed(1 << 32))
        new = np.arange(len(part)) if self.options.method == "independent" else np.flatnonzero(is_new)
        starts = []
        for _ in range(self.options.sides):
            start = np.zeros(shape, dtype=self.compute.dtype)
            start[new] = _SPREAD * generator.standard_normal((len(new), self.dim), dtype=np.float32)
            starts.append(start)
        return starts

    def _close(self, fit: SliceFit) -> None:
        """Store the finished slice and continue with the next one."""
        part = self._part()
        means = self._aligned(fit.mean) if self.options.method == "independent" and self.number else fit.mean
        mean = np.stack(means)
        variance = None if self.point else np.stack([1.0 / precision for precision in fit.precision])
        self.sink.put(self.number, part.words, mean, variance)
        self.beliefs.keep(self.number, part.words, mean, variance)
        self.pairs.append(part.pairs)
        self.predictions.append(self._prediction.result() if self._prediction else math.nan)
        self.number += 1
        self.done, self._before, self._fit, self._prediction = 0, None, None, None

    def _aligned(self, means: list[Array]) -> list[Array]:
        """Rotate all vectors so that word vectors are closest to those of the previous slice."""
        words = self._part().words
        shared = np.flatnonzero(self.beliefs.last[words] == self.number - 1)
        found, wanted = means[0][shared], self.beliefs.mean[0][words[shared]]
        rotation = np.zeros((self.dim, self.dim))
        for axes in sign_blocks(self.signs, self.dim):
            rotation[np.ix_(axes, axes)] = orthogonal_procrustes(found[:, axes], wanted[:, axes])[0]
        return [mean @ rotation.astype(mean.dtype) for mean in means]
