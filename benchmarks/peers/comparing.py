"""This package and its peers side by side: planted drift, held-out likelihood, time and memory.

    export PYTHONPATH=benchmarks
    python benchmarks/peers/comparing.py [--worlds medium,thin,sotu] [--seeds 1,2,3] [--only smoothing,...]
        [--tables planted,likelihood] [--with-pwe]
    python benchmarks/peers/comparing.py --small | --tune

prints Markdown tables. Each method is trained in a process of its own on one thread; finished rows are kept
in build/peers, so a run that was stopped goes on where it was. `--small`: one small world, a minute.
`--tune`: what was tried on seed 0.
"""

import argparse
from pathlib import Path

from corpora import SOTU
from methods import FOR_DRIFT, FOR_LIKELIHOOD, GENSIM, OURS, PWE, tuning_grid
from rows import Comparison
from tables import print_likelihoods, print_planted, print_tuning


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", default=f"medium,thin,{SOTU}")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--only", default=",".join((*OURS, *GENSIM)), help="methods")
    parser.add_argument(
        "--with-pwe", action="store_true", help="the slow peer too, in the environment that make sets up"
    )
    parser.add_argument("--tables", default="planted,likelihood", help="what to compare")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("build/peers"))
    parser.add_argument("--pwe-python", type=Path, default=Path(".venv-pwe/bin/python"))
    options = parser.parse_args()
    comparison = Comparison(options.folder, options.pwe_python)
    worlds = ["small"] if options.small else options.worlds.split(",")
    methods, seeds = (
        options.only.split(",") + [PWE] * options.with_pwe,
        [int(seed) for seed in options.seeds.split(",")],
    )
    if options.tune:
        grid = [(method, given) for method, given in tuning_grid() if method in methods]
        print_tuning([comparison.row(world, 0, *tried) for world in worlds for tried in grid])
        return
    cases = [(world, seed) for world in worlds for seed in ([0] if world == SOTU else seeds)]
    tables, pwe = options.tables.split(","), "-pwe" * options.with_pwe
    for world in worlds:
        if world != SOTU and "planted" in tables:
            planted = [
                comparison.row(world, seed, method, FOR_DRIFT.get(method))
                for seed in seeds
                for method in methods
                if method != "static"
            ]
            print_planted(f"peers.planted-{world}{pwe}", planted)
    predicted = [
        comparison.row(*case, method, FOR_LIKELIHOOD.get(method))
        for case in cases
        for method in methods
        if "likelihood" in tables
    ]
    if predicted:
        print_likelihoods(f"peers.likelihood{'-small' * options.small}{pwe}", predicted)


if __name__ == "__main__":
    main()
