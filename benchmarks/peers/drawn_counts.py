"""Planted drift in counts drawn from the model itself, for our methods.

Peers read texts and cannot take counts.

    PYTHONPATH=benchmarks python benchmarks/peers/drawn_counts.py [--seeds 1,2,3] [--pairs 2e6,2e5]

prints a Markdown table; means over seeds, fitted with each world's own settings, and with separate contexts.
"""

import argparse
from itertools import product

import numpy as np
from results import Table
from simulation import PlantedCounts, model_world, score_model

import wordtide

METHODS = ("smoothing", "filtering", "warm-start", "independent")
_ALARMS = ("planted", "decoys", "stable")


def scores_of(world: PlantedCounts, method: str, contexts: str) -> dict[str, float]:
    """All scores of a method on a world, ranked by low ends, and the same ranked by the change itself."""
    settings = {**world.settings, "contexts": contexts}
    model = wordtide.fit(world.counts, method=method, threads=1, **settings)
    return {
        f"{by}, {score.kind}: {score.score}": score.value
        for by in ("low", "change")
        for score in score_model(world, model, by=by)
    }


def cells(found: list[dict[str, float]]) -> list[str]:
    """The scores of a method and its contexts."""

    def mean(name: str, places: int = 2) -> str:
        values = [scores[name] for scores in found if name in scores]
        return f"{np.nanmean(values):.{places}f}" if values else ""

    uncertain = "low, planted: alarms" in found[0]
    auc = mean("low, planted: auc") + (f" ({mean('change, planted: auc')})" if uncertain else "")
    dates = f"{mean('low, planted: date error, median', 1)} ({mean('low, jump: date error, median', 1)})"
    intervals = (
        [mean("low, planted: halfway coverage"), mean("low, all: change coverage")] if uncertain else ["", ""]
    )
    alarms = [mean(f"low, {kind}: alarms") for kind in _ALARMS]
    return [auc, mean("low, planted: worst rank", 0), dates, *intervals, *alarms]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--pairs", default="2e6,2e5")
    options = parser.parse_args()
    columns = [
        "pairs",
        "method",
        "contexts",
        "auc",
        "worst rank",
        "date error",
        "halfway coverage",
        "change coverage",
    ]
    columns += ["alarms: planted", "decoys", "stable"]
    with Table("peers.drawn_counts", columns) as table:
        for pairs in options.pairs.split(","):
            worlds = [model_world(int(seed), pairs=float(pairs)) for seed in options.seeds.split(",")]
            for method, contexts in product(METHODS, ("tied", "separate")):
                found = [scores_of(world, method, contexts) for world in worlds]
                table.row(pairs, method, contexts, *cells(found))


if __name__ == "__main__":
    main()
