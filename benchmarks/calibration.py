"""Do posterior intervals hold the truth as often as they state? Simulation-based calibration on small worlds.

    python benchmarks/calibration.py                                # about 20 minutes on one core
    python benchmarks/calibration.py --worlds 12 --adam-worlds 0    # a quick look, without the slow solver
    python benchmarks/calibration.py --negatives 30 --steps 300 --adam-worlds 0 --contexts tied

prints Markdown tables: coverage of 50 % and 90 % intervals by method, contexts and solver; ranks; and what one
factor for all intervals would do. Truths are drawn from the prior, symmetric counts from the likelihood; the
seed of a world is its number, from 0. Tied and separate contexts are fitted to the same counts.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: threads would only wait for each other

import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from monte_carlo_elbo import monte_carlo_elbo
from results import Table
from simulation.coverage import (
    DRAWS,
    Ranks,
    Share,
    coverage,
    histogram,
    needed_factor,
    ranks_of,
    ranks_of_normal,
    uniformity,
)
from simulation.small_worlds import SmallWorld, draw_small_world, fit_small_world

from wordtide.api import DynamicEmbeddings
from wordtide.inference.settings import FitSettings
from wordtide.questions.similarity import scaled, similarities
from wordtide.questions.vectors import lengths_of, vectors_of

LEVELS = (0.5, 0.9)
BINS = 10
QUANTITIES = {
    "score, first": "u·Su of each pair of different words at the first slice",
    "score, last": "the same at the last slice",
    "score, change": "the score at the last slice minus that at the first",
    "similarity, first": "of each pair of words at the first slice, as `similarity` has it (sums)",
    "similarity, last": "the same at the last slice",
    "movement": "squared length of the movement of each u + Su from the first slice to the last",
}
#: Fewer and longer steps than the paper's; the last table shows whether they were enough.
FASTER_ADAM: dict[str, Any] = {
    "adam_steps": 1500,
    "adam_rate": 0.01,
    "adam_minibatch_steps": 3000,
    "adam_full_steps": 1000,
    "adam_full_rate": 0.003,
}
Key = tuple[str, str]


@dataclass
class Measured:
    """Of one posterior in one kind of world: ranks and standardized deviations of each quantity, world by
    world.
    """

    ranks: dict[str, list[Ranks]] = field(default_factory=lambda: defaultdict(list))
    deviations: dict[str, list[np.ndarray]] = field(default_factory=lambda: defaultdict(list))

    def add_draws(self, name: str, truth: np.ndarray, draws: np.ndarray) -> None:
        self.ranks[name].append(ranks_of(truth, draws))
        self.deviations[name].append(((truth - draws.mean(axis=0)) / draws.std(axis=0, ddof=1)).ravel())

    def add_normal(self, name: str, truth: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> None:
        self.ranks[name].append(ranks_of_normal(truth, mean, spread))
        self.deviations[name].append(((truth - mean) / spread).ravel())


def settings_for(method: str, solver: str, words: int, steps: int) -> FitSettings:
    """All negative pairs, and enough steps to converge."""
    adam = FASTER_ADAM | ({"adam_rate": 0.03} if method == "smoothing" else {})
    return FitSettings(
        method=method,
        solver=solver,
        contexts="separate" if solver == "adam" else "tied",
        negative_contexts=0,
        max_steps=steps if method == "smoothing" else steps // 2,
        tolerance=0.0,
        adam_minibatch_words=words,  # all of them
        **adam,
    )


def drawn_from(model: DynamicEmbeddings, rng: np.random.Generator) -> np.ndarray:
    """Draws of all vectors, (n, sides, T, L, d).

    A filter knows each slice by itself, so there slices are drawn one by one.
    """
    stored = model.sides[: len(model.fitted.posterior.sides)]
    if model.kind == "filter":
        means, variances = (
            np.stack(
                [[getattr(side, f"{moment}_at")(float(time)) for time in model.times] for side in stored]
            )
            for moment in ("means", "variances")
        )
        return means + np.sqrt(variances) * rng.standard_normal((DRAWS, *means.shape))
    sides = [
        [side.draw(word, DRAWS, model.times, rng) for word in range(len(model.words))] for side in stored
    ]
    return np.asarray(sides).transpose(2, 0, 3, 1, 4)


def invariants(vectors: np.ndarray, signs: np.ndarray | None) -> dict[str, np.ndarray]:
    """What no common rotation of vectors (..., sides, T, L, d) changes; `signs`: of tied contexts, which have
    one side.
    """
    u = vectors[..., 0, :, :, :]
    v = vectors[..., 1, :, :, :] if signs is None else u * signs
    pairs = np.triu_indices(u.shape[-2], 1)
    first, last = (
        (u[..., t, :, :] @ np.swapaxes(v[..., t, :, :], -1, -2))[..., pairs[0], pairs[1]] for t in (0, -1)
    )
    moved = (u + v)[..., -1, :, :] - (u + v)[..., 0, :, :]
    return {
        "score, first": first,
        "score, last": last,
        "score, change": last - first,
        "movement": np.einsum("...k,...k->...", moved, moved),
    }


def measure(world: SmallWorld, model: DynamicEmbeddings, into: Measured, seed: int) -> None:
    """Compare a model's posterior with the truth."""
    draws = drawn_from(model, np.random.default_rng(seed))
    stated = invariants(draws, model.fitted.posterior.signs)
    for name, truth in invariants(world.vectors, None).items():
        if name != "movement" or model.kind != "filter":  # a filter does not know how two slices go together
            into.add_draws(name, truth, stated[name])
    one, other = np.triu_indices(len(model.words), 1)
    vectors, total = vectors_of(model, "sum"), world.vectors.sum(axis=0)
    for name, t in (("similarity, first", 0), ("similarity, last", len(model) - 1)):
        means, variances = (
            getattr(vectors, f"{moment}_at")(float(model.times[t])) for moment in ("means", "variances")
        )
        lengths = lengths_of(total[t])
        truth = np.einsum("nk,nk->n", total[t][one], total[t][other]) / (lengths[one] * lengths[other])
        x = scaled(means, variances, vectors.noise_share)
        found = similarities(x[one], x[other])
        mean, spread = found.mean, found.spread
        into.add_normal(name, truth, mean, spread)


def table(name: str, title: str, columns: list[str], rows: Iterable[list[str]]) -> None:
    with Table(f"calibration.{name}", columns, title) as printed:
        for cells in rows:
            printed.row(*cells)


def about_coverage(found: dict[Key, Measured]) -> None:
    for level in LEVELS:
        rows = []
        for (kind, posterior), measured in found.items():
            worlds = len(measured.ranks["score, last"])
            shares = [coverage(measured.ranks[q], level) if q in measured.ranks else None for q in QUANTITIES]
            rows.append(
                [kind, posterior, str(worlds), *("" if share is None else str(share) for share in shares)]
            )
        title = f"{100 * level:.0f} % intervals: how many hold the truth, in per cent, ± standard error between worlds"
        columns = ["negative pairs", "posterior", "worlds", *QUANTITIES]
        table(f"coverage-{100 * level:.0f}", title, columns, rows)


def about_ranks(found: dict[Key, Measured]) -> None:
    rows = []
    for (kind, posterior), measured in found.items():
        for quantity in ("score, last", "similarity, last"):
            worlds = measured.ranks[quantity]
            shares = 100 * histogram(worlds, BINS).mean(axis=0)
            test = uniformity(worlds, BINS) if len(worlds) >= 3 * BINS else None
            verdict = [f"{test.statistic:.0f}", f"{test.p_value:.2g}"] if test else ["", ""]
            rows.append([kind, posterior, quantity, *(f"{share:.0f}" for share in shares), *verdict])
    columns = ["negative pairs", "posterior", "quantity", *(f"{10 * n}" for n in range(BINS))]
    table(
        "ranks",
        "Ranks of the truth by tenths, in per cent (10 each if calibrated)",
        [*columns, f"χ² ({BINS - 1})", "p"],
        rows,
    )


def about_factors(found: dict[Key, Measured]) -> None:
    """One factor for all intervals, learned on worlds with even numbers and tried on those with odd ones."""
    rows, kinds = [], sorted({kind for kind, _ in found}, key=float)
    smoothed = {
        kind: found[kind, "smoothing, tied"].deviations
        for kind in kinds
        if (kind, "smoothing, tied") in found
    }
    for learned in smoothed:
        for taught_by in ("score, last", "similarity, last"):
            factor = needed_factor(np.concatenate(smoothed[learned][taught_by][::2]))
            for kind in smoothed:
                held = []
                for quantity in QUANTITIES:
                    within = [
                        np.mean(np.abs(one) <= 1.645 * factor) for one in smoothed[kind][quantity][1::2]
                    ]
                    held.append(
                        str(
                            Share(
                                float(np.mean(within)), float(np.std(within, ddof=1) / np.sqrt(len(within)))
                            )
                        )
                    )
                rows.append([learned, taught_by, f"{factor:.2f}", kind, *held])
    columns = ["learned with", "from", "factor", "tried with", *QUANTITIES]
    table(
        "factors",
        "90 % intervals of smoothing with tied contexts, made wider by one factor: how many hold the truth",
        columns,
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Do intervals hold the truth as often as they state?")
    parser.add_argument("--negatives", default="0.3,3", help="negative pairs per pair of words and slice")
    parser.add_argument("--worlds", type=int, default=50, help="worlds of each kind")
    parser.add_argument("--adam-worlds", type=int, default=6, help="how many of them adam fits too")
    parser.add_argument(
        "--steps", type=int, default=60, help="steps of natural (filtering: half as many for each slice)"
    )
    parser.add_argument("--contexts", default="tied,separate", help="contexts that natural fits")
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--slices", type=int, default=4)
    parser.add_argument("--dim", type=int, default=3)
    options = parser.parse_args()
    start = time.perf_counter()
    found: dict[Key, Measured] = defaultdict(Measured)
    lacks: dict[Key, list[float]] = defaultdict(list)
    fits = [(contexts, "natural", options.worlds) for contexts in options.contexts.split(",")]
    fits.append(("separate", "adam", options.adam_worlds))
    sizes = {"words": options.words, "slices": options.slices, "dim": options.dim}
    for kind in options.negatives.split(","):
        for method in ("smoothing", "filtering"):
            for contexts, solver, worlds in fits:
                settings = settings_for(method, solver, options.words, options.steps)
                name = f"{method}, {contexts}" + (", adam" if solver == "adam" else "")
                for seed in range(worlds):
                    world = draw_small_world(seed, float(kind), tied=contexts == "tied", **sizes)
                    model = fit_small_world(world, settings)
                    if contexts == "separate" and seed < options.adam_worlds:
                        posterior = model.fitted.posterior
                        elbo = monte_carlo_elbo(world.problem, world.diffusion, posterior, 100)[0]
                        lacks[kind, name].append(elbo)
                    measure(world, model, found[kind, name], seed)
                if worlds:
                    print(f"{kind}, {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    about_coverage(found)
    about_ranks(found)
    about_factors(found)
    if options.adam_worlds:
        rows = [[*key, f"{np.mean(elbos):.4f}"] for key, elbos in lacks.items()]
        table(
            "elbo",
            f"ELBO per pair, mean of the first {options.adam_worlds} worlds",
            ["negative pairs", "posterior", "ELBO"],
            rows,
        )
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
