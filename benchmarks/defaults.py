"""Do the defaults of the diffusion and of the prior variance predict unseen slices best?

    python benchmarks/defaults.py COUNTS ... [-o build/defaults]

tunes each on counts folders, by smoothing, with a random fifth of the slices held out, and prints the mean
log-likelihood per pair, the best of each setting in bold. Finished fits in the output folder are used again.
"""

import argparse
from pathlib import Path

from results import Table

from wordtide.evaluation.tuning.tune import tune

#: What is tried, each with the dimensions of its fits.
GRIDS = {"diffusion": ((1e-5, 1e-4, 1e-3, 1e-2, 1e-1), 50), "prior_variance": ((0.15, 0.35, 0.8), 100)}
SYMBOLS = {"diffusion": "D", "prior_variance": "v"}


def tuned(counts: Path, name: str, output: Path) -> list[str]:
    """The likelihood with each value of a setting."""
    values, dim = GRIDS[name]
    folder = output / f"{counts.name}-{name}"
    found = tune(counts, folder, grid={name: list(values), "dim": [dim]}, splits=1, holdout=0.2, threads=1)
    means = {row[name]: row["mean"] for row in found.summary}
    best = max(means.values())
    return [f"**{means[value]:.4f}**" if means[value] == best else f"{means[value]:.4f}" for value in values]


def main() -> None:
    """Print a row for each counts folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("counts", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("build") / "defaults")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    headings = (
        f"{SYMBOLS[name]} = {value:g}".replace("e-0", "e-")
        for name, (values, _) in GRIDS.items()
        for value in values
    )
    with Table("defaults", ("corpus", *headings)) as table:
        for counts in given.counts:
            table.row(counts.name, *(cell for name in GRIDS for cell in tuned(counts, name, given.output)))


if __name__ == "__main__":
    main()
