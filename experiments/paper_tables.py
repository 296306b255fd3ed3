"""The tables of docs/paper.md, from the folders of the experiments.

    python experiments/paper_tables.py [build/experiments]

prints them and keeps them in benchmarks/results. Experiments that have not been run are left out.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from claims import FAILS, HOLDS, TOO_FEW, UNCLEAR, check_claims
from experiment import METHODS

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
from results import Table

#: The columns of the tables: heading, experiment, evaluation.
EVALUATIONS = (
    ("Google Books, paper", "google-books", "paper"),
    ("Google Books, default", "google-books", "default"),
    ("State of the Union, paper", "state-of-the-union", "paper"),
    ("State of the Union, default", "state-of-the-union", "default"),
    ("short texts, paper", "short-texts", "paper"),
    ("short texts, default, D = 1", "short-texts", "default-D-1"),
    ("short texts, default", "short-texts", "default"),
)
_VERDICTS = {HOLDS: "yes", FAILS: "**no**", UNCLEAR: "unclear", TOO_FEW: "few"}
_PAPERS_NAMES = {
    "smoothing": "smoothing (DSG-S)",
    "filtering": "filtering (DSG-F)",
    "warm-start": "warm-start (SGP)",
    "independent": "independent (SGI)",
    "static": "one static model (our addition)",
}


def write_tables(folder: Path) -> None:
    """Print and keep all tables whose experiments have been run."""
    found = _evaluated(folder)
    if found:
        summaries = [pd.read_csv(path / "summary.csv").set_index("method") for path in found.values()]
        with Table("paper.prediction", ["method", *found]) as table:
            write_prediction(table, summaries, _PAPERS_NAMES)
    if complete := {heading: path for heading, path in found.items() if _is_complete(path)}:
        _write_claims(complete)
    for name in ("google-books", "state-of-the-union"):
        for kind in ("changed", "changed-default"):
            if (path := folder / name / f"{kind}.csv").exists():
                _write_changed(f"paper.{kind}-{name}", path)
    _write_roughness(folder)
    if (folder / "adam" / "adam.csv").exists():
        _write_adam(pd.read_csv(folder / "adam" / "adam.csv"))
    if (folder / "scale" / "scale.json").exists():
        _write_scale(json.loads((folder / "scale" / "scale.json").read_text()))


def _evaluated(folder: Path) -> dict[str, Path]:
    """The evaluations that have been run, by heading."""
    return {
        heading: path
        for heading, name, evaluation in EVALUATIONS
        if ((path := folder / name / f"evaluation-{evaluation}") / "summary.csv").exists()
    }


def _is_complete(evaluation: Path) -> bool:
    return set(METHODS) <= set(pd.read_csv(evaluation / "summary.csv")["method"])


def write_prediction(table: Table, summaries: Sequence[pd.DataFrame], names: Mapping[str, str]) -> None:
    """Fill a table with the mean likelihoods of evaluations, one per column; `names` of methods may differ."""
    for method in METHODS:
        means = [
            signed(f"{summary.loc[method, 'mean']:.4f}") if method in summary.index else ""
            for summary in summaries
        ]
        table.row(names.get(method, method), *means)
    table.row("slices held out", *(int(summary["slices"].max()) for summary in summaries))


def _write_claims(found: dict[str, Path]) -> None:
    columns = [check_claims(path) for path in found.values()]
    with Table("paper.claims", ["claim", *found]) as table:
        for findings in zip(*columns, strict=True):
            table.row(
                findings[0].claim, *(f"{_VERDICTS[one.verdict]}, {signed(one.figure)}" for one in findings)
            )


def _write_changed(name: str, path: Path) -> None:
    with Table(name, ["word", "from", "to", "change", "interval", "verdict"]) as table:
        for _, row in pd.read_csv(path, keep_default_na=False).iterrows():
            change, low, high = (f"{float(row[key]):.2f}" for key in ("change", "low", "high"))
            table.row(row["word"], row["from"], row["to"], change, f"{low} to {high}", row["verdict"])


def _write_roughness(folder: Path) -> None:
    drawn = {
        heading: pd.read_csv(path).set_index("method")["roughness"]
        for heading, name in (
            ("Google Books", "google-books"),
            ("State of the Union", "state-of-the-union"),
            ("short texts", "short-texts"),
        )
        if (path := folder / name / "roughness.csv").exists()
    }
    if drawn:
        with Table("paper.roughness", ["method", *drawn]) as table:
            for method in METHODS[:-1]:
                table.row(_PAPERS_NAMES[method], *(f"{column[method]:.3f}" for column in drawn.values()))


def _write_adam(rows: pd.DataFrame) -> None:
    columns = ["method", "solver", "steps", "ELBO per pair", "log-likelihood", "seconds"]
    with Table("paper.adam", columns) as table:
        for row in rows.itertuples():
            table.row(
                row.method,
                row.solver,
                f"{row.steps:,}",
                signed(f"{row.elbo:.4f}"),
                signed(f"{row.log_likelihood:.4f}"),
                f"{row.seconds:.1f}",
            )


def _write_scale(facts: dict) -> None:
    columns = ["command", "minutes", "CPU minutes", "peak GB", "result, GB", "scratch, GB", "steps"]
    with Table("paper.scale", columns) as table:
        for stage in facts["stages"]:
            table.row(
                stage["name"],
                f"{stage['seconds'] / 60:.1f}",
                f"{stage['cpu_seconds'] / 60:.1f}",
                f"{stage['memory'] / 1e9:.2f}",
                f"{stage['written'] / 1e9:.2f}" if stage["written"] else "",
                f"{stage['scratch'] / 1e9:.1f}" if stage["scratch"] else "",
                f"{stage['steps']:,}" if stage["steps"] else "",
            )
        table.note(
            f"L = {facts['words']:,}, T = {facts['slices']}, d = {facts['dim']}; {facts['entries']:,} entries of "
            f"{facts['grams']:,} 5-grams, {facts['knots']:,} knots, {facts['pairs']:,} stored pairs."
        )


def signed(text: str) -> str:
    """A number with a minus sign."""
    return text.replace("-", "\N{MINUS SIGN}")


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build") / "experiments")
    write_tables(parser.parse_args().folder)


if __name__ == "__main__":
    main()
