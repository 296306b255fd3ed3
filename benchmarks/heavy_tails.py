"""Do heavy-tailed increments predict unseen slices better than verdicts do?

    PYTHONPATH=benchmarks python benchmarks/heavy_tails.py COUNTS ... [--dim 50] [--freedom 1,3,10]

fits each counts folder without every fourth slice, as `held_out_verdicts.py` does, and smooths all words again
from their messages, with increments of Student's t distribution in place of a normal one: the variance of the
step of a word from slice to slice is multiplied by a scale that all coordinates share,

    scale = (nu + E|x_2 - x_1|^2 / (D dt)) / (nu + d)

which is computed in turn with the trajectories. The Markdown table has the log-likelihood per pair of the
slices that were left out with normal increments, and what verdicts and t increments of nu degrees of freedom
add to it.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from held_out_verdicts import scores
from prediction import score
from results import Table

import wordtide
from wordtide.counts.counts import Counts
from wordtide.embeddings.messages import messages
from wordtide.evaluation.scores import without_slices
from wordtide.inference.problem import Problem, problem_of
from wordtide.types import Floats

ROUNDS = 6


class Smoothed:
    """All words at all slices, smoothed from their messages with scaled increments.

    Arrays of states are (T, L, d), of steps (T - 1, L).
    """

    def __init__(self, model: wordtide.DynamicEmbeddings) -> None:
        self.times, (self.size, dim) = model.times, (len(model.words), model.dim)
        knots, h, b = messages(model.fitted, np.arange(self.size))
        shape = (len(self.times), self.size, dim)
        self.h, self.b = np.zeros(shape), np.zeros(shape)
        self.h[knots.slices, knots.words], self.b[knots.slices, knots.words] = h, b
        self.v = float(np.median(model.fitted.diffusion.marginal))
        self.rates = model.fitted.diffusion.constant / (2.0 * self.v) * np.diff(self.times)
        self.scales = np.ones((len(self.times) - 1, self.size))
        self.smooth()

    def smooth(self) -> None:
        """Fill `means`, and the expected squares of the steps."""
        log_gain = -self.rates[:, None] * self.scales
        gain, noise = np.exp(log_gain)[..., None], -self.v * np.expm1(2.0 * log_gain)[..., None]
        means, variances = np.empty_like(self.h), np.empty_like(self.h)
        mean, variance = np.zeros(self.h.shape[1:]), np.full(self.h.shape[1:], self.v)
        for t in range(len(self.times)):
            if t > 0:
                mean, variance = gain[t - 1] * mean, gain[t - 1] ** 2 * variance + noise[t - 1]
            precision = 1.0 / variance + self.h[t]
            mean, variance = (mean / variance + self.b[t]) / precision, 1.0 / precision
            means[t], variances[t] = mean, variance
        squares = np.empty(self.scales.shape)
        for t in range(len(self.times) - 2, -1, -1):
            ahead = gain[t] ** 2 * variances[t] + noise[t]
            back = gain[t] * variances[t] / ahead
            means[t] += back * (means[t + 1] - gain[t] * means[t])
            variances[t] += back**2 * (variances[t + 1] - ahead)
            spread = variances[t] + variances[t + 1] - 2.0 * back * variances[t + 1]
            squares[t] = ((means[t + 1] - means[t]) ** 2 + spread).sum(axis=1)
        self.means, self.squares = means, squares

    def settle(self, freedom: float) -> None:
        """Find the scales of increments with some degrees of freedom."""
        dim, usual = self.h.shape[2], 2.0 * self.v * self.rates[:, None]
        self.scales[:] = 1.0
        for _ in range(ROUNDS):
            self.smooth()
            self.scales = (freedom + self.squares / usual) / (freedom + dim)
        self.smooth()

    def at(self, time: float) -> Floats:
        """The means between two slices, (L, d)."""
        after = int(np.searchsorted(self.times, time))
        share = (time - self.times[after - 1]) / (self.times[after] - self.times[after - 1])
        log_gain = -self.rates[after - 1] * self.scales[after - 1][:, None]
        first, second = np.exp(share * log_gain), np.exp((1.0 - share) * log_gain)
        one, other = first * (1.0 - second**2), second * (1.0 - first**2)
        return np.asarray(
            (one * self.means[after - 1] + other * self.means[after]) / (1.0 - (first * second) ** 2)
        )

    def scores(self, problem: Problem, held: list[int], signs: Floats) -> Floats:
        """The log-likelihood per pair of each slice, (n,)."""
        found = []
        for t in held:
            part = problem.slices[t]
            u = self.at(float(problem.times[t]))[part.words]
            found.append(score(part, u.astype(np.float32), (signs * u).astype(np.float32)))
        return np.array(found)


def row(path: Path, dim: int, freedoms: list[float]) -> list[str]:
    """The cells of one counts folder."""
    counts = Counts.load(path)
    held = list(range(2, len(counts) - 1, 4))
    model = wordtide.fit(without_slices(counts, held), dim=dim, threads=1)
    problem, time = problem_of(counts), float(model.times[0])
    signs = np.sign((model.means_at(time) * model.means_at(time, context=True)).sum(axis=0))
    still = replace(model.dynamics, shape=np.full_like(model.dynamics.shape, -1.0))
    plain = scores(wordtide.DynamicEmbeddings(replace(model.fitted, dynamics=still)), problem, held)
    smoothed, gains = Smoothed(model), [scores(model, problem, held) - plain]
    assert np.abs(smoothed.scores(problem, held, signs) - plain).max() < 1e-4
    for freedom in freedoms:
        smoothed.settle(freedom)
        gains.append(smoothed.scores(problem, held, signs) - plain)
    return [path.name, f"{plain.mean():.6f}", *(f"{gain.mean():+.6f}" for gain in gains)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Do heavy-tailed increments predict unseen slices better?")
    parser.add_argument("counts", nargs="+", type=Path)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--freedom", default="1,3,10", help="degrees of freedom")
    options = parser.parse_args()
    freedoms = [float(freedom) for freedom in options.freedom.split(",")]
    columns = ("counts", "normal increments", "verdicts", *(f"nu = {freedom:g}" for freedom in freedoms))
    with Table("heavy_tails", columns) as table:
        for path in options.counts:
            table.row(*row(path, options.dim, freedoms))


if __name__ == "__main__":
    main()
