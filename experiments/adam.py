"""The paper's own solver, Adam, with all of its steps, beside the natural solver, on a corpus small enough.

    python experiments/adam.py [-o build/experiments/adam] [--small]

State of the Union in slices of 20 years, 500 words, d = 50. Adam takes the paper's numbers of steps: 5,000 on
minibatches of a tenth of the words and 1,000 on all words for smoothing, 5,000 per slice for filtering. Both
solvers fit the paper's model and predict the same held-out slices. Done evaluations are not repeated.
"""

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

import wordtide
from wordtide.cli.output import ProgressBar
from wordtide.evaluation.evaluate import evaluate
from wordtide.storage.header import kind_of

METHODS = ("smoothing", "filtering")
COUNTING = {"every": "20-years", "until": "2016", "vocabulary_size": 500}
FITTING = {"preset": "paper-sotu", "dim": 50, "threads": 1}
HOLDOUT = 0.3
SOLVERS: dict[str, dict[str, Any]] = {
    "natural": {},
    "adam": {"solver": "adam", "adam_minibatch_words": 50},
}
_SMALL = {"dim": 4, "adam_steps": 3, "adam_minibatch_steps": 3, "adam_full_steps": 2}


def run(folder: Path, small: bool = False) -> pd.DataFrame:
    """Evaluate both solvers; a row per solver and method."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind_of(folder / "counts") != "counts":
        wordtide.count("sotu", output=folder / "counts", **COUNTING)
    counts = wordtide.Counts.load(folder / "counts")
    rows = []
    for solver, settings in SOLVERS.items():
        target = folder / f"evaluation-{solver}"
        if not (target / "report.html").exists():
            given = {**FITTING, **settings, **(_SMALL if small else {})}
            evaluate(counts, target, methods=METHODS, holdout=HOLDOUT, observer=ProgressBar(), **given)
        summary = pd.read_csv(target / "summary.csv").set_index("method")
        for method in METHODS:
            model = wordtide.load(target / "models" / method)
            found = summary.loc[method]
            rows.append(
                {
                    "method": method,
                    "solver": solver,
                    "steps": model.curve[-1]["step"],
                    "elbo": model.elbo,
                    "log_likelihood": found["mean"],
                    "seconds": found["seconds"],
                }
            )
    table = pd.DataFrame(rows).sort_values("method", ascending=False, kind="stable")
    table.to_csv(folder / "adam.csv", index=False)
    return table


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, help="the folder to put everything into")
    parser.add_argument("--small", action="store_true", help="a version of seconds, to see that it works")
    given = parser.parse_args()
    folder = given.output or Path("build") / "experiments" / ("adam-small" if given.small else "adam")
    print(run(folder, given.small).to_string(index=False))


if __name__ == "__main__":
    main()
