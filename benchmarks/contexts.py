"""Tied against separate contexts: which finds planted drift, and which predicts text better?

    PYTHONPATH=benchmarks python benchmarks/contexts.py [--worlds medium,thin] [--seeds 1,2,3] [--dim 50]
    [--exact]

prints a Markdown table of worlds of text (docs/evidence.md); means over seeds. Numbers in brackets rank words
by change instead of the low end of its interval; date errors are medians in years, those of jumps in
brackets.

    PYTHONPATH=benchmarks python benchmarks/contexts.py --counts FOLDER... [--holdout 0.2] [--dim 100]

prints the held-out log-likelihood per pair on counts folders (docs/evidence.md). Both kinds of contexts are
trained and scored on symmetric pairs, because the paper's negative pairs are not symmetric: separate vectors
can predict that, tied ones cannot, and it is no property of the text. Smoothing predicts slices that were
held out of the fit, filtering each slice from those before it (every fourth of more than 60). The uncertainty
of the vectors is integrated out; pairs of a word with itself are left out.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
from results import Table
from simulation import PlantedCorpus, score_model, template_world

import wordtide
from wordtide.evaluation.scores import (
    Prediction,
    held_out_slices,
    integrated_log_likelihood_per_pair,
    predict_by_bridge,
    predict_by_diffusion,
    without_slices,
)
from wordtide.inference.compute import Compute
from wordtide.inference.natural import prepared_slice
from wordtide.inference.natural.negatives import NegativePairs
from wordtide.inference.problem import SliceData, problem_of
from wordtide.model.likelihood import GaussianVectors
from wordtide.questions.vectors import CHOICES

WORLDS = {"medium": {"slices": 30}, "thin": {"slices": 120}}
METHODS = ("smoothing", "filtering")
CONTEXTS = ("separate", "tied")
COLUMNS = ("auc", "average precision", "share in top", "date error", "halfway coverage")
ALARMS = ("planted", "others")
Scores = dict[str, float]


def scores_of(world: PlantedCorpus, model: wordtide.DynamicEmbeddings, vectors: str) -> Scores:
    """All scores of a model, by ranking, kind of words and score."""
    return {
        f"{by}, {score.kind}: {score.score}": score.value
        for by in ("low", "change")
        for score in score_model(world, model, by=by, vectors=vectors)
    }


def row(found: list[Scores], top: int) -> list[str]:
    """The cells of one method."""

    def mean(name: str, places: int = 2) -> str:
        return f"{np.nanmean([scores[name] for scores in found]):.{places}f}"

    def both(score: str) -> str:
        return f"{mean(f'low, planted: {score}')} ({mean(f'change, planted: {score}')})"

    dates = f"{mean('low, planted: date error, median', 1)} ({mean('low, jump: date error, median', 1)})"
    ranks = [both(score) for score in ("auc", "average precision", f"share in top {top}")]
    alarms = [mean("low, planted: alarms"), mean("low, others: alarms", 3)]
    return [*ranks, dates, mean("low, planted: halfway coverage"), *alarms]


class SymmetricPairs(NegativePairs):
    """Negative pairs of separate contexts that are the mean of both directions, as those of tied contexts."""

    def __init__(self, part: SliceData, side: int, size: int | None, tied: bool, compute: Compute) -> None:
        super().__init__(part, side, size, True, compute)
        self._tied = tied


@contextmanager
def symmetric_pairs() -> Iterator[None]:
    """Train on symmetric negative pairs."""
    usual = prepared_slice.NegativePairs
    prepared_slice.NegativePairs = SymmetricPairs
    try:
        yield
    finally:
        prepared_slice.NegativePairs = usual


def symmetric_score(part: SliceData, found: Prediction) -> float:
    """The log-likelihood per pair, the mean of both directions."""
    u, v = GaussianVectors(found.u, found.u_variance), GaussianVectors(found.v, found.v_variance)
    both = (integrated_log_likelihood_per_pair(part, *pair, self_pairs=False) for pair in ((u, v), (v, u)))
    return sum(both) / 2.0


def held_out(
    counts: wordtide.Counts, method: str, contexts: str, share: float, dim: int
) -> tuple[float, float]:
    """The log-likelihood per pair of slices that a model has not seen, and processor seconds of its fit."""
    problem, held = problem_of(counts), held_out_slices(len(counts), share, seed=0)
    in_order = method == "filtering"
    start = time.process_time()
    with symmetric_pairs():
        model = wordtide.fit(
            counts if in_order else without_slices(counts, held),
            method=method,
            contexts=contexts,
            dim=dim,
            threads=1,
        )
    seconds = time.process_time() - start
    predict = predict_by_diffusion if in_order else predict_by_bridge
    predicted = range(1, len(counts), 4 if len(counts) > 60 else 1) if in_order else held
    parts = [(t, problem.slices[t]) for t in predicted]
    scores = [
        symmetric_score(part, predict(model, problem.times, t, part.words.astype(np.int64)))
        for t, part in parts
    ]
    return float(np.average(scores, weights=[part.pairs for _, part in parts])), seconds


def print_likelihoods(folders: list[str], share: float, dim: int) -> None:
    """Print the table of held-out likelihoods."""
    columns = ("counts", "method", *CONTEXTS, *(f"seconds, {contexts}" for contexts in CONTEXTS))
    with Table("contexts.likelihood", columns) as table:
        for folder in folders:
            counts = wordtide.Counts.load(folder)
            for method in METHODS:
                found = [held_out(counts, method, contexts, share, dim) for contexts in CONTEXTS]
                cells = [*(f"{score:.4f}" for score, _ in found), *(f"{seconds:.0f}" for _, seconds in found)]
                table.row(Path(folder).name, method, *cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Which contexts find planted drift, and predict better?")
    parser.add_argument("--counts", nargs="+", metavar="FOLDER", help="held-out likelihood on counts folders")
    parser.add_argument("--holdout", type=float, default=0.2, help="the share of slices held out")
    parser.add_argument("--worlds", default="medium")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--dim", type=int, help="default: 50, with --counts 100")
    parser.add_argument(
        "--exact", action="store_true", help="sum over all negative pairs instead of a sample"
    )
    options = parser.parse_args()
    if options.counts:
        print_likelihoods(options.counts, options.holdout, options.dim or 100)
        return
    settings = {"dim": options.dim or 50, "threads": 1} | ({"negative_contexts": 0} if options.exact else {})
    columns = ["world", "method", "contexts", "vectors", *COLUMNS, *(f"alarms: {kind}" for kind in ALARMS)]
    with Table(f"contexts.{'exact' if options.exact else 'planted'}", [*columns, "CPU seconds"]) as table:
        for name in options.worlds.split(","):
            worlds = [template_world(int(seed), **WORLDS[name]) for seed in options.seeds.split(",")]
            counts = [wordtide.count(world.documents, workers=1) for world in worlds]
            for method, contexts in product(METHODS, CONTEXTS):
                start = time.process_time()
                models = [wordtide.fit(one, method=method, contexts=contexts, **settings) for one in counts]
                seconds = (time.process_time() - start) / len(models)
                for vectors in (CHOICES[0], CHOICES[-1]):
                    pairs = zip(worlds, models, strict=True)
                    cells = row([scores_of(*pair, vectors) for pair in pairs], len(worlds[0].moving))
                    table.row(name, method, contexts, vectors, *cells, f"{seconds:.1f}")
                print(f"{name}, {method}, {contexts}: done", file=sys.stderr)


if __name__ == "__main__":
    main()
