"""Skip-gram smoothing as in the paper (Algorithm 2): all slices together, minibatches, then full batches.

The state covers all slices and words, time first: (T, 2 L, d), the L words followed by the L contexts. The
means move in the natural basis (rho), nu by mirror ascent, omega by plain ascent. Where the paper is silent
or in error: minibatches are drawn from all L words (printed {1..L'}), and the full batches start with fresh
moments of Adam, because their gradients are much smaller than those of minibatches, whose moments would drown
them.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordtide.errors import SettingsError
from wordtide.inference.paper.gradients import (
    Adam,
    Betas,
    ChainGradients,
    ChainPrior,
    chain_gradients,
    mirror_ascent,
    noise_generator,
)
from wordtide.inference.problem import Problem
from wordtide.inference.training import Diverged, Report
from wordtide.model.chain import smoothing_kl
from wordtide.model.gaussians import covariances, solve
from wordtide.model.knots import Knots
from wordtide.model.likelihood import ActiveSlice, gradients, log_likelihood, minibatch_gradients
from wordtide.model.prior import Diffusion
from wordtide.types import Array, Indices, Reals, Singles

MEASURED_EVERY = 50
KEPT_EVERY = 100
WORDS_AT_ONCE = 512
_STEPPING, _MEASURING = 0, 1  # streams of noise


@dataclass(frozen=True)
class SmootherOptions:
    """How to run Algorithm 2. The defaults are those of the paper.

    Attributes:
        dim: Dimensions d of the vectors.
        seed: Seed of minibatches and noise.
        minibatch_words: Words, and contexts, in a minibatch, L'.
        minibatch_steps: Steps with minibatches, N'_tr.
        full_steps: Steps with all words, N_tr.
        minibatch_rate: Learning rate of Adam for minibatches.
        full_rate: Learning rate of Adam for full batches.
        betas: Decay rates of Adam's moments.
        epsilon: Regularizer of Adam.
        dtype: float32 or float64.
    """

    dim: int
    seed: int
    minibatch_words: int = 1000
    minibatch_steps: int = 5000
    full_steps: int = 1000
    minibatch_rate: float = 1e-2
    full_rate: float = 1e-3
    betas: Betas = (0.9, 0.999)
    epsilon: float = 1e-8
    dtype: npt.DTypeLike = np.float32

    def __post_init__(self) -> None:
        if (
            min(self.minibatch_words, self.dim) < 1
            or min(self.minibatch_steps, self.full_steps) < 0
            or not min(self.minibatch_rate, self.full_rate) > 0
        ):
            raise SettingsError(
                "Smoothing needs words, dimensions and rates above 0, and no negative number of steps.",
                "Leave these settings out to use those of the paper.",
            )


class AdamSmoother:
    """The smoother as a sequence of steps: call `advance` until it returns None, then read the moments.

    Attributes:
        rho: Variational means in the natural basis, (T, 2 L, d).
        nu: Diagonal of B, (T, 2 L, d).
        omega: Superdiagonal of B, (T - 1, 2 L, d).
    """

    def __init__(self, problem: Problem, diffusion: Diffusion, options: SmootherOptions) -> None:
        self.problem, self.diffusion, self.options = problem, diffusion, options
        self.minibatch_words = min(options.minibatch_words, len(problem.words))
        self.steps = options.minibatch_steps + options.full_steps
        self._slices = [ActiveSlice.of(part, options.dtype) for part in problem.slices]
        self._prior = ChainPrior.of(diffusion, options.dtype)
        shape = (2 * len(problem.words), options.dim)
        self.rho = np.zeros((len(problem), *shape), dtype=options.dtype)
        self.nu = np.tile(self._prior.nu, (1, *shape))
        self.omega = np.tile(self._prior.omega, (1, *shape))
        self._adam = [Adam(part, options.betas, options.epsilon) for part in self._parameters]
        self._step = 0
        self._pace = 1.0
        self._keep()

    @property
    def _parameters(self) -> tuple[Reals, Reals, Reals]:
        return self.rho, self.nu, self.omega

    @property
    def mu(self) -> Reals:
        """The means of all words, then of all contexts, (T, 2 L, d)."""
        return self._prior.mean(self.rho)

    @property
    def rate(self) -> float:
        """The learning rate of the present phase."""
        options = self.options
        full = self._step >= options.minibatch_steps
        return self._pace * (options.full_rate if full else options.minibatch_rate)

    def advance(self) -> Report | None:
        """Take one step of Algorithm 2, or return None when all are done."""
        if self._step >= self.steps:
            return None
        if self._step == self.options.minibatch_steps:
            self._forget()
        if self._step % KEPT_EVERY == 0:
            self._keep()
        rate = self.rate
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # reported as a divergence
            elbo = self._take_step(rate)
        return Report(self._step, None, elbo, rate)

    def _take_step(self, rate: float) -> float:
        measured = (self._step + 1) % MEASURED_EVERY == 0 or self._step + 1 == self.steps
        elbo = self.elbo() if measured else math.nan
        generator = noise_generator(self.options.seed, _STEPPING, self._step)
        rows = self.draw(generator)
        trajectories = self.rho.shape[1] if rows is None else len(rows)
        noise = self._noise(generator, (len(self.problem), trajectories, self.options.dim))
        self._move(self.estimate(rows, noise), rows, rate)
        self._step += 1
        return elbo

    def draw(self, generator: np.random.Generator) -> Indices | None:
        """Draw rows of L' distinct words and L' distinct contexts, each ascending; None for all of them."""
        size = len(self.problem.words)
        if self._step >= self.options.minibatch_steps or self.minibatch_words == size:
            return None
        words, contexts = (
            np.sort(generator.choice(size, self.minibatch_words, replace=False, shuffle=False))
            for _ in range(2)
        )
        return np.concatenate([words, size + contexts])

    def estimate(self, rows: Indices | None, noise: Reals) -> ChainGradients:
        """Estimate the gradients of the trajectories `rows`, or of all, from `noise` (T, n, d)."""
        rho, nu, omega = (part if rows is None else np.take(part, rows, axis=1) for part in self._parameters)
        estimate = chain_gradients(
            self._prior, rho, nu, omega, noise, lambda sample: self._gamma(sample, rows)
        )
        _check_finite(estimate.rho, estimate.nu, estimate.omega)
        return estimate

    def _gamma(self, sample: Reals, rows: Indices | None) -> Reals:
        """Gamma of the drawn words and contexts (S12, S17), (T, n, d): zero where a word is absent."""
        gamma = np.zeros_like(sample)
        size, half = len(self.problem.words), sample.shape[1] // 2
        for t, part in enumerate(self._slices):
            if rows is None:
                u, v = part.words, half + part.words
                gamma[t, u], gamma[t, v] = gradients(part, sample[t, u], sample[t, v])
                continue
            words, u = _active_among(rows[:half], part)
            contexts, v = _active_among(rows[half:] - size, part)
            v += half
            gamma[t, u], gamma[t, v] = minibatch_gradients(
                part, words, contexts, sample[t, u], sample[t, v], scale=size / half
            )
        return gamma

    def _move(self, estimate: ChainGradients, rows: Indices | None, rate: float) -> None:
        """Take the steps d[.] of Adam: plain ascent for rho and omega, mirror ascent for nu."""
        by_rho, by_nu, by_omega = (
            adam.step(gradient, rate, rows)
            for adam, gradient in zip(self._adam, (estimate.rho, estimate.nu, estimate.omega), strict=True)
        )
        if rows is None:
            self.rho += by_rho
            self.nu[:] = mirror_ascent(self.nu, by_nu)
            self.omega += by_omega
        else:
            self.rho[:, rows] += by_rho
            self.nu[:, rows] = mirror_ascent(np.take(self.nu, rows, axis=1), by_nu)
            self.omega[:, rows] += by_omega
        _check_finite(by_rho, self.nu)

    def elbo(self) -> float:
        """Estimate the ELBO per pair: the log-likelihood of one sample minus the exact divergence."""
        generator = noise_generator(self.options.seed, _MEASURING, self._step)
        sample = np.empty((2, len(self.problem.knots), self.options.dim), dtype=self.rho.dtype)
        divergence = 0.0
        for block in _blocks_of(self.problem.knots, WORDS_AT_ONCE):
            nu, omega = self.nu[:, block.rows], self.omega[:, block.rows]
            mu = self._prior.mean(self.rho[:, block.rows])
            divergence += smoothing_kl(mu, nu, omega, self.diffusion)
            mu += solve(nu, omega, self._noise(generator, mu.shape))
            sample[block.side, block.knots] = mu[block.places]
        fit = 0.0
        for part, knots_of_slice in zip(self._slices, self.problem.knots.by_slice, strict=True):
            fit += log_likelihood(part, sample[0, knots_of_slice], sample[1, knots_of_slice])
        return (fit - divergence) / self.problem.pairs

    def _noise(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Reals:
        noise: Reals = generator.standard_normal(shape, dtype=self.rho.dtype.type)
        return noise

    def moments(self) -> Singles:
        """Means and marginal variances at the knots, each of words and contexts, (2, 2, K, d)."""
        found = np.empty((2, 2, len(self.problem.knots), self.options.dim), dtype=np.float32)
        for block in _blocks_of(self.problem.knots, WORDS_AT_ONCE):
            rho, nu, omega = (part[:, block.rows] for part in self._parameters)
            found[0, block.side, block.knots] = self._prior.mean(rho)[block.places]
            found[1, block.side, block.knots] = covariances(nu, omega)[0][block.places]
        return found

    def _forget(self) -> None:
        """Give Adam fresh moments."""
        for adam in self._adam:
            adam.reset()

    def _keep(self) -> None:
        """Remember the parameters as good ones to return to."""
        self._good = (self._step, [part.copy() for part in self._parameters])

    def state(self) -> dict[str, Array]:
        """Return everything needed to continue to the same bits."""
        return {
            "progress": np.array([self._step, self._adam[0].count]),
            "slowness": np.array(self._pace),
            **{name: array.copy() for name, array in self._arrays().items()},
        }

    def _arrays(self) -> dict[str, Reals]:
        named = dict(zip(("rho", "nu", "omega"), self._parameters, strict=True))
        for name, adam in zip(tuple(named), self._adam, strict=True):
            named |= {f"{name}_first": adam.first, f"{name}_second": adam.second}
        return named

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue where `state` was taken, in this or another process.

        Raises:
            SettingsError: If the state has other shapes or another precision.
        """
        arrays = self._arrays()
        for name, array in arrays.items():
            if state[name].shape != array.shape or state[name].dtype != array.dtype:
                raise SettingsError(
                    "The saved state belongs to another fit.", "Start again, without resuming."
                )
        for name, array in arrays.items():
            array[:] = state[name]
        self._step, age = (int(number) for number in state["progress"])
        for adam in self._adam:
            adam.count = age
        self._pace = float(state["slowness"])
        self._keep()

    def slow_down(self) -> None:
        """Halve the rate and return to the parameters last kept, with fresh moments of Adam."""
        self._pace *= 0.5
        self._step, kept = self._good
        for part, good in zip(self._parameters, kept, strict=True):
            part[:] = good
        self._forget()


@dataclass(frozen=True)
class _Block:
    """Some consecutive words or contexts, few enough that a copy of all their slices fits into memory.

    Attributes:
        side: 0 for words, 1 for contexts.
        rows: Their trajectories in the state.
        knots: Their knots, as rows of (K, d).
        places: Slice and trajectory of each of these knots, within the block.
    """

    side: int
    rows: slice
    knots: slice
    places: tuple[Indices, Indices]


def _blocks_of(knots: Knots, words_at_once: int) -> Iterator[_Block]:
    """Iterate over all words, then all contexts, in blocks."""
    size = len(knots.starts) - 1
    for side in range(2):
        for start in range(0, size, words_at_once):
            stop = min(start + words_at_once, size)
            own = slice(int(knots.starts[start]), int(knots.starts[stop]))
            places = knots.slices[own], knots.words[own] - start
            yield _Block(side, slice(side * size + start, side * size + stop), own, places)


def _active_among(drawn: Indices, part: ActiveSlice) -> tuple[Indices, Indices]:
    """Find the active words among `drawn` (n,), as indices into `part.words` and into `drawn`."""
    place = np.minimum(np.searchsorted(part.words, drawn), len(part) - 1)
    found = np.flatnonzero(part.words[place] == drawn)
    return place[found], found


def _check_finite(*arrays: Reals) -> None:
    """Stop when numbers explode. No slice is named: the recursions carry them to all slices at once."""
    # A sum is finite only if every term is, and costs one pass.
    if not all(math.isfinite(float(array.sum())) for array in arrays):
        raise Diverged(None)
