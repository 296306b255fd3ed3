"""Do trajectories that follow the verdicts predict unseen slices better than trajectories that do not?

    PYTHONPATH=benchmarks python benchmarks/held_out_verdicts.py COUNTS ... [--dim 50]

fits each counts folder without every fourth slice and prints a Markdown table: the log-likelihood per pair of
these slices without verdicts and with them, the mean difference, and the slices that become worse.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from prediction import score
from results import Table

import wordtide
from wordtide.counts.counts import Counts
from wordtide.evaluation.scores import without_slices
from wordtide.inference.problem import Problem, problem_of
from wordtide.types import Floats

COLUMNS = ("counts", "jumps, gradual", "without verdicts", "with verdicts", "difference", "worse slices, of")


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
    model = wordtide.fit(without_slices(counts, held), dim=dim, threads=1)
    dynamics, problem = model.dynamics, problem_of(counts)
    still = replace(dynamics, shape=np.full_like(dynamics.shape, -1.0))
    plain = scores(wordtide.DynamicEmbeddings(replace(model.fitted, dynamics=still)), problem, held)
    judged = scores(model, problem, held)
    worse = f"{int((judged < plain - 1e-9).sum())}, {len(held)}"
    numbers = (f"{plain.mean():.6f}", f"{judged.mean():.6f}", f"{(judged - plain).mean():+.6f}")
    gradual = dynamics.significant & ~dynamics.jumps
    return [path.name, f"{dynamics.jumps.sum()}, {gradual.sum()}", *numbers, worse]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Do verdicts predict unseen slices better?")
    parser.add_argument("counts", nargs="+", type=Path)
    parser.add_argument("--dim", type=int, default=50)
    options = parser.parse_args()
    with Table("held_out_verdicts", COLUMNS) as table:
        for path in options.counts:
            table.row(*row(path, options.dim))


if __name__ == "__main__":
    main()
