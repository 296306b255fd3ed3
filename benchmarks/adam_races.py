"""The natural solver against the paper's own algorithms (adam): the time to reach the ELBO that adam reaches.

Both fit the model of the paper. The ELBO is the same Monte-Carlo estimate for both, which is not included in
the times.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from monte_carlo_elbo import Estimate, monte_carlo_elbo

import wordtide
from wordtide.embeddings.posterior import Posterior
from wordtide.inference.compute import Compute, compute
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.schedule import NaturalOptions, Schedule
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.paper.gradients import matching_precision
from wordtide.inference.paper.smoothing import AdamSmoother, SmootherOptions
from wordtide.inference.problem import Problem, problem_of
from wordtide.inference.settings import PRESETS, FitSettings
from wordtide.inference.training import Solver
from wordtide.model.prior import Diffusion, ProductPrior

PAPER = PRESETS["paper-sotu"]
DIM, SAMPLES = PAPER["dim"], 20
_FULL_SHARE = 5  # adam's minibatch steps for each step on all words


@dataclass(frozen=True)
class Race:
    """Adam's ELBO at its end with its standard error, and the first number of natural steps that reaches it."""

    adam: Estimate
    adam_seconds: float
    natural: float
    natural_seconds: float
    steps: int

    @property
    def ratio(self) -> float:
        """Seconds of natural / seconds of adam; infinite if natural did not get there."""
        return self.natural_seconds / self.adam_seconds if self.natural >= self.adam[0] else float("inf")

    def __str__(self) -> str:
        reached = "reached" if self.natural >= self.adam[0] else "NOT REACHED"
        return (
            f"adam {self.adam[0]:.4f} (s.e. {self.adam[1]:.4f}) in {self.adam_seconds:.1f} s; "
            f"natural {self.natural:.4f} in {self.natural_seconds:.3f} s, {self.steps} steps; {reached}"
        )


def timed(work: Callable[[], object]) -> float:
    """Seconds of a piece of work."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def filtering_race(problem: Problem, adam_steps: int) -> Race:
    """Filtering with `adam_steps` steps of adam per slice."""
    diffusion = _prior(problem)
    adam = AdamFilter(problem, diffusion, FilterOptions(DIM, 0, steps_per_slice=adam_steps))
    adam_seconds = timed(lambda: _run(adam))
    means, variances = adam.moments()
    found = Posterior("filter", problem.knots, *means, *variances)
    wanted = monte_carlo_elbo(problem, diffusion, found, SAMPLES)
    with compute() as machine:

        def fit(steps: int) -> tuple[float, Posterior]:
            natural = _filter(problem, diffusion, machine, steps)
            seconds = timed(lambda: _run(natural))
            assert natural.variance is not None
            return seconds, Posterior("filter", problem.knots, *natural.mean, *natural.variance)

        fit(1)  # loads compiled code
        tried = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
        return _race(problem, diffusion, (wanted, adam_seconds), fit, tried)


def smoothing_race(adam_steps: int) -> tuple[str, Race]:
    """Smoothing of a small part with `adam_steps` minibatch steps of adam; and the size of the part."""
    counts = wordtide.count("sotu", every="20-years", until="2016", vocabulary_size=1000)
    problem = problem_of(counts)
    diffusion = _prior(problem)
    steps = {"minibatch_steps": adam_steps, "full_steps": adam_steps // _FULL_SHARE}
    adam = AdamSmoother(problem, diffusion, SmootherOptions(20, 0, minibatch_words=300, **steps))
    adam_seconds = timed(lambda: _run(adam))
    means, variances = adam.moments()
    u, v = (matching_precision(variance, problem.knots, diffusion) for variance in variances)
    found = Posterior("smoother", problem.knots, *means, precision_u=u, precision_v=v)
    wanted = monte_carlo_elbo(problem, diffusion, found, SAMPLES)

    def fit(steps: int) -> tuple[float, Posterior]:
        start = time.perf_counter()
        model = wordtide.fit(counts, **{**PAPER, "dim": 20, "tolerance": 0.0, "max_steps": steps})
        return time.perf_counter() - start, model.fitted.posterior

    fit(1)  # loads compiled code
    race = _race(problem, diffusion, (wanted, adam_seconds), fit, (2, 3, 4, 6, 8, 12, 16, 24, 32, 48))
    return f"T = {len(problem)}, L = 1,000, L' = 300, d = 20", race


def adam_step_seconds(problem: Problem) -> list[float]:
    """Seconds of a minibatch step and of a full step of smoothing at d = DIM.

    They are measured at d = 4 and 8 and extrapolated on a line.
    """
    seconds = []
    for dim in (4, 8):
        options = SmootherOptions(dim, 0, minibatch_steps=4, full_steps=2)
        adam = AdamSmoother(problem, _prior(problem), options)
        times = [timed(adam.advance) for _ in range(6)]
        seconds.append((min(times[1:4]), times[5]))
        del adam
    return [high + (DIM - 8) * max(0.0, high - low) / 4 for low, high in zip(*seconds, strict=True)]


def _race(
    problem: Problem,
    diffusion: Diffusion,
    adam: tuple[Estimate, float],
    fit: Callable[[int], tuple[float, Posterior]],
    tried: Iterable[int],
) -> Race:
    for steps in tried:
        seconds, posterior = fit(steps)
        reached, _ = monte_carlo_elbo(problem, diffusion, posterior, SAMPLES)
        race = Race(*adam, reached, seconds, steps)
        if reached >= adam[0][0]:
            break
    return race


def _prior(problem: Problem) -> Diffusion:
    return ProductPrior(problem.times, PAPER["diffusion"], PAPER["prior_variance"])


def _filter(problem: Problem, diffusion: Diffusion, machine: Compute, steps: int) -> SequentialSolver:
    defaults = FitSettings()
    schedule = Schedule(steps, defaults.rate, defaults.final_rate, tolerance=0.0, measure_every=10**9)
    return SequentialSolver(problem, diffusion, NaturalOptions(DIM, schedule), machine)


def _run(solver: Solver) -> None:
    while solver.advance() is not None:
        pass
