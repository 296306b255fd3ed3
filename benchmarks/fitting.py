"""How fast fitting is, on the State of the Union, as ratios measured in one run on one machine.

    python benchmarks/fitting.py [--only floor,filtering,gensim,smoothing,growth] [--contexts tied|separate]

prints Markdown tables. The exit code is 1 if a required ratio is missed. `--words`, `--since` and
`--adam-steps` make a smaller problem, to try the script; requirements hold for the defaults.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import fitting_rivals
import numpy as np
from adam_races import DIM, adam_step_seconds, filtering_race, smoothing_race, timed
from prediction import previous_slice_score, smoothed_score
from results import Table
from separate_fit import count_sotu, fit_alone
from threadpoolctl import threadpool_limits

import wordtide
from wordtide.inference.compute import Compute, compute
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.natural.prepared_slice import PreparedSlice
from wordtide.inference.natural.step import SliceFit
from wordtide.inference.problem import Problem, problem_of
from wordtide.inference.settings import FitSettings
from wordtide.model.likelihood import GaussianVectors
from wordtide.types import Array

PARTS = ("floor", "filtering", "gensim", "smoothing", "growth")
#: Seconds of our methods / those of gensim: required, and the goal.
GENSIM = {"filtering": (0.35, 0.25), "smoothing": (0.9, 0.6), "warm-start": (), "independent": ()}


@dataclass(frozen=True)
class Row:
    """A line of the table of ratios. `limits`: the ratio required at most, and the goal, if there are any."""

    what: str
    ratio: float
    limits: tuple[float, ...]
    detail: str

    @property
    def missed(self) -> bool:
        return bool(self.limits) and not self.ratio <= self.limits[0]

    def cells(self) -> tuple[str, ...]:
        limits = [f"{limit:g}" for limit in self.limits] + [""] * (2 - len(self.limits))
        verdict = "MISSED" if self.missed else "ok" if self.limits else ""
        return self.what, f"{self.ratio:.4g}", *limits, verdict, self.detail


@dataclass(frozen=True)
class Corpus:
    """The State of the Union, one slice per address, and the options of this run."""

    options: argparse.Namespace
    counts: wordtide.Counts
    problem: Problem

    @property
    def size(self) -> str:
        return f"T = {len(self.problem)}, L = {len(self.problem.words):,}, d = {DIM}"

    @property
    def count_options(self) -> str:
        since = f" --since {self.options.since}" if self.options.since else ""
        return f"--until 2016 --vocabulary-size {self.options.words}{since}"


# floor


def floor(corpus: Corpus) -> Iterator[Row]:
    """One natural step against the matrix products that it cannot do without."""
    part = min(corpus.problem.slices, key=lambda part: abs(len(part) - 1633))
    size, generator = len(part), np.random.default_rng(0)
    scores = np.empty((2, size, size), dtype=np.float32)
    with compute() as machine:
        for contexts, sides in (("separate", 2), ("tied", 1)):
            signs = signs_by_rule(DIM) if contexts == "tied" else None
            means = [0.1 * generator.standard_normal((size, DIM), dtype=np.float32) for _ in range(sides)]
            prior = [GaussianVectors(np.zeros_like(mean), np.ones_like(mean)) for mean in means]
            slices = [PreparedSlice(part, machine, columns, signs) for columns in (None, 64)]
            fits = [
                SliceFit(slice, 0, prior, [mean.copy() for mean in means], 1.0, False) for slice in slices
            ]
            products, exact, sampled = _best_times(machine, means, scores, fits)
            flops = sides * 6 * 2 * size * size * DIM / products / 1e9
            detail = (
                f"a = {size}, d = {DIM}: {exact * 1e3:.1f} ms / {products * 1e3:.1f} ms for {6 * sides} products of "
                f"(a, a, d) ({flops:.0f} GFLOP/s, {machine.threads} threads)"
            )
            yield Row(f"one exact step, {contexts} contexts / its products", exact / products, (2.0,), detail)
            detail = f"64 columns: {sampled * 1e3:.1f} ms, all: {exact * 1e3:.1f} ms"
            yield Row(f"one sampled step, {contexts} contexts / one exact step", sampled / exact, (), detail)


def _best_times(machine: Compute, means: list[Array], scores: Array, fits: list[SliceFit]) -> list[float]:
    """The best of seven times, in turn: of the products, and of a step of each fit."""
    works: list[Callable[[], object]] = [lambda: _products(means, scores, machine.threads)]
    works += [lambda fit=fit: fit.step(0.1, [0]) for fit in fits]  # type: ignore[misc]
    return np.min([[timed(work) for work in works] for _ in range(7)], axis=0).tolist()


def _products(means: list[Array], scores: Array, threads: int) -> None:
    """Per side: the scores' means m = U V^T (d) and variances (2 d), then the sums of e (d) and of r (2 d)."""
    with threadpool_limits(threads, user_api="blas"):
        for u, v in zip(means, means[::-1], strict=True):
            u2, v2 = np.concatenate([u, u], axis=1), np.concatenate([v, v], axis=1)
            np.dot(u, v.T, out=scores[0])
            np.dot(u2, v2.T, out=scores[1])
            np.dot(scores[0], v)
            np.dot(scores[1], v2)


# adam


def filtering(corpus: Corpus) -> Iterator[Row]:
    """The time until natural has the ELBO that adam has at its end."""
    whole = corpus.problem
    for name, slices in (("one slice", [1]), ("a run of four slices", [0, 1, 2, 3])):
        labels, parts = [whole.labels[t] for t in slices], [whole.slices[t] for t in slices]
        race = filtering_race(
            Problem(whole.words, whole.times[slices], labels, parts), corpus.options.adam_steps
        )
        what = f"filtering, {name}, {len(parts[0])} active words: natural / adam"
        yield Row(what, race.ratio, (0.01,), str(race))


def smoothing(corpus: Corpus) -> Iterator[Row]:
    """The same, in full on a small part; and at the paper's size with adam's steps timed and multiplied."""
    part, race = smoothing_race(corpus.options.adam_steps)
    yield Row("smoothing, a small part, in full: natural / adam", race.ratio, (0.02,), f"{part}: {race}")
    minibatch, full = adam_step_seconds(corpus.problem)
    total = 5000 * minibatch + 1000 * full
    contexts = corpus.options.contexts
    with tempfile.TemporaryDirectory() as folder:
        count_sotu(f"{folder}/counts", f"--every document {corpus.count_options}")
        report = fit_alone(f"{folder}/counts", f"{folder}/model", {"contexts": contexts})
    detail = (
        f"{corpus.size}: adam {minibatch:.2f} s per minibatch step and {full:.1f} s per full one, measured at d = 4 and 8 "
        f"and extended on a straight line: {total / 3600:.1f} h for 5,000 + 1,000 steps; natural, {contexts} contexts, "
        f"{report.seconds:.1f} s to its own end (ELBO {report.elbo:.4f})"
    )
    what = "smoothing at the paper's size: natural to its end / adam, scaled"
    yield Row(what, report.seconds / total, (0.02,), detail)
    detail = f"{contexts} contexts: VmHWM of the process, libraries included"
    yield Row("the same: peak memory in GB", report.peak / 1e9, (1.2, 1.0), detail)


# gensim


def against_gensim(corpus: Corpus) -> Iterator[Row]:
    """A user's other choice: word2vec on each slice alone."""
    counts, problem, settings = corpus.counts, corpus.problem, {"contexts": corpus.options.contexts}
    tiny = wordtide.count([("1850", "steam power drives the mill"), ("1950", "atomic power drives the ship")])
    vectors, gensim_seconds, tokens = fitting_rivals.word2vec_per_slice(counts)
    names = problem.words
    theirs = previous_slice_score(problem, lambda t, words: fitting_rivals.lookup(vectors[t], words, names))
    for method, limits in GENSIM.items():
        wordtide.fit(tiny, method=method, dim=2, negative_contexts=2, **settings)  # loads compiled code
        start = time.perf_counter()
        model = wordtide.fit(counts, method=method, **settings)
        seconds = time.perf_counter() - start
        if method == "smoothing":
            found = smoothed_score(counts, problem, **settings)
            compared = "every tenth slice, fitted without them"
        else:
            found = previous_slice_score(problem, lambda t, words, model=model: _carried(model, t, words))
            compared = "each slice predicted from the one before"
        detail = (
            f"{corpus.size}, {corpus.options.contexts} contexts: {seconds:.1f} s / {gensim_seconds:.1f} s ({tokens:,} "
            f"tokens); log-likelihood per symmetric pair {found:.4f} ({compared}); gensim {theirs:.4f}"
        )
        yield Row(f"{method} / gensim word2vec per slice", seconds / gensim_seconds, limits, detail)


def _carried(model: wordtide.DynamicEmbeddings, t: int, words: Array) -> tuple[Array, Array]:
    """The modes at the words' last knots until slice t; zero for words not seen yet (the paper's Eq. 14)."""
    posterior = model.fitted.posterior
    rows = posterior.knots.around(t)[0][words]
    known = (rows >= 0)[:, None]
    return np.where(known, posterior.mean_u[rows], 0), np.where(known, posterior.mean_v[rows], 0)


# growth


def growth(corpus: Corpus) -> None:
    """Time and peak memory of six steps of smoothing against knots, pairs, d and threads."""
    words, since = corpus.options.words, corpus.options.since or 1900
    each = "--every year"
    cases = {
        each: [(DIM, 2), (DIM, 1), (DIM // 2, 2), (DIM // 4, 2)],
        f"{each} --window 1": [(DIM, 2)],  # fewer pairs, the same knots
        f"{each} --vocabulary-size {words // 4}": [(DIM, 2)],
        f"{each} --since {since}": [(DIM, 2)],
        "--every 8-years": [(DIM, 2)],
    }
    columns = ["count options", "d", "threads", "T", "L", "stored pairs", "knots", "seconds", "CPU seconds"]
    title = f"Smoothing, {corpus.options.contexts} contexts, 6 steps"
    settings = {"contexts": corpus.options.contexts, "max_steps": 6, "tolerance": 0.0}
    with (
        tempfile.TemporaryDirectory() as folder,
        Table("fitting.growth", [*columns, "peak GB"], title) as table,
    ):
        for options, sizes in cases.items():
            count_sotu(f"{folder}/counts", f"{corpus.count_options} {options}")  # later options win
            for dim, threads in sizes:
                given = {**settings, "dim": dim, "threads": threads}
                r = fit_alone(f"{folder}/counts", f"{folder}/model", given)
                counted = r.slices, f"{r.words:,}", f"{r.pairs:,}", f"{r.knots:,}"
                times = f"{r.seconds:.1f}", f"{r.cpu_seconds:.1f}"
                table.row(f"`{options}`", dim, threads, *counted, *times, f"{r.peak / 1e9:.2f}")
        table.note(f"Load average after: {os.getloadavg()[0]:.1f}.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, of {', '.join(PARTS)}")
    parser.add_argument("--contexts", default=FitSettings().contexts, choices=["tied", "separate"])
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--since", default="")
    parser.add_argument("--adam-steps", type=int, default=5000)
    options = parser.parse_args()
    wanted = options.only.split(",")
    if not set(wanted) <= set(PARTS):
        parser.error(f"--only takes {', '.join(PARTS)}")
    counts = wordtide.count(
        "sotu", every="document", since=options.since or None, until="2016", vocabulary_size=options.words
    )
    corpus = Corpus(options, counts, problem_of(counts))
    missed = False
    measures = {"floor": floor, "filtering": filtering, "gensim": against_gensim, "smoothing": smoothing}
    for name in [name for name in measures if name in wanted]:
        with Table(f"fitting.{name}", ("what", "ratio", "required", "goal", "", "measured")) as table:
            for row in measures[name](corpus):
                table.row(*row.cells())
                missed = missed or row.missed
            table.note(f"Load average after: {os.getloadavg()[0]:.1f}.")
    if "growth" in wanted:
        growth(corpus)
    sys.exit(missed)


if __name__ == "__main__":
    main()
