"""Tied against separate contexts: which finds planted drift, and dates it?

    PYTHONPATH=benchmarks python benchmarks/contexts.py [--worlds medium,thin] [--seeds 1,2,3] [--dim 50]
    [--exact]

prints a Markdown table of worlds of text (docs/planted.md); means over seeds. Numbers in brackets rank words
by change instead of the low end of its interval; date errors are medians in years, those of jumps in
brackets. Coverage of intervals is measured by calibration.py.
"""

import argparse
import sys
import time

import numpy as np
from simulation import PlantedCorpus, score_model, template_world

import wordtide
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Which contexts find planted drift?")
    parser.add_argument("--worlds", default="medium")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument(
        "--exact", action="store_true", help="sum over all negative pairs instead of a sample"
    )
    options = parser.parse_args()
    settings = {"dim": options.dim, "threads": 1} | ({"negative_contexts": 0} if options.exact else {})
    columns = ["world", "method", "contexts", "vectors", *COLUMNS, *(f"alarms: {kind}" for kind in ALARMS)]
    print(f"| {' | '.join([*columns, 'CPU seconds'])} |\n|{'---|' * (len(columns) + 1)}", flush=True)
    for name in options.worlds.split(","):
        worlds = [template_world(int(seed), **WORLDS[name]) for seed in options.seeds.split(",")]
        counts = [wordtide.count(world.documents, workers=1) for world in worlds]
        for method in METHODS:
            for contexts in CONTEXTS:
                start = time.process_time()
                models = [wordtide.fit(one, method=method, contexts=contexts, **settings) for one in counts]
                seconds = (time.process_time() - start) / len(models)
                for vectors in (CHOICES[0], CHOICES[-1]):
                    found = [
                        scores_of(world, model, vectors) for world, model in zip(worlds, models, strict=True)
                    ]
                    cells = [name, method, contexts, vectors, *row(found, len(worlds[0].moving))]
                    print(f"| {' | '.join(cells)} | {seconds:.1f} |", flush=True)
                print(f"{name}, {method}, {contexts}: done", file=sys.stderr)


if __name__ == "__main__":
    main()
