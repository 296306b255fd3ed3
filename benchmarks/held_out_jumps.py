"""Do trajectories that jump predict unseen slices better than trajectories that do not?

    PYTHONPATH=benchmarks python benchmarks/held_out_jumps.py COUNTS ... [--dim 50]

fits each counts folder without every fourth slice and prints a Markdown table: the log-likelihood per pair of
these slices without jumps and with them, the mean difference, and the slices that become worse.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from prediction import score
from results import Table

import wordtide
from wordtide.counts.counts import Counts
from wordtide.evaluation.scores import without
from wordtide.inference.problem import Problem, problem_of
from wordtide.types import Floats

COLUMNS = ("counts", "jumps", "without jumps", "with jumps", "difference", "slices that become worse, of")


def scores(model: wordtide.DynamicEmbeddings, problem: Problem, held: list[int]) -> Floats:
    """The log-likelihood per pair of each slice, (n,)."""
    found = []
    for t in held:
        part, time = problem.slices[t], float(problem.times[t])
        u, v = (model.means_at(time, context=context)[part.words] for context in (False, True))
        found.append(score(part, u, v))
    return np.array(found)


def row(path: Path, dim: int) -> list[str]:
    """The cells of one counts folder."""
    counts = Counts.load(path)
    held = list(range(2, len(counts) - 1, 4))
    model = wordtide.fit(without(counts, held), dim=dim, threads=1)
    dynamics, problem = model.dynamics, problem_of(counts)
    still = replace(dynamics, shape=np.where(dynamics.jumps, -1.0, dynamics.shape))
    plain = scores(wordtide.DynamicEmbeddings(replace(model.fitted, dynamics=still)), problem, held)
    jumping = scores(model, problem, held)
    worse = f"{int((jumping < plain - 1e-9).sum())}, {len(held)}"
    numbers = (f"{plain.mean():.6f}", f"{jumping.mean():.6f}", f"{(jumping - plain).mean():+.6f}")
    return [path.name, str(int(dynamics.jumps.sum())), *numbers, worse]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Do jumps predict unseen slices better?")
    parser.add_argument("counts", nargs="+", type=Path)
    parser.add_argument("--dim", type=int, default=50)
    options = parser.parse_args()
    with Table("held_out_jumps", COLUMNS) as table:
        for path in options.counts:
            table.row(*row(path, options.dim))


if __name__ == "__main__":
    main()
