"""The report of an experiment: one Markdown page beside its figures and tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from claims import check_claims

from wordtide.counts.counts import Counts
from wordtide.storage.folders import write_files

if TYPE_CHECKING:
    from experiment import Experiment

_SUMMARY = ("method", "mean", "standard_error", "difference", "difference_error", "wins", "slices", "seconds")
_MOTION = ("method", "first_distance", "last_distance", "directedness", "relative_step")
_CHANGED = ("word", "change", "low", "high", "halfway_from", "halfway_to", "from", "to", "occurrences")


def write_report(
    experiment: "Experiment",
    counts: Counts,
    evaluations: Mapping[str, Path],
    folder: Path,
    drawn: bool = True,
) -> Path:
    """Write report.md and claims.csv, and roughness.csv if figures are drawn; return the report's path."""
    claims = {
        name: pd.DataFrame(vars(one) for one in check_claims(path)) for name, path in evaluations.items()
    }
    parts = [f"# {experiment.title}", _size(counts)]
    for name, evaluation in evaluations.items():
        given = experiment.all_settings()[name]
        parts += [
            f"## Prediction, settings: {name}",
            f"{_listed(given)}; {experiment.holdout:.0%} of the slices left out. [All of it]({evaluation.name}/report.html)",
            _table(pd.read_csv(evaluation / "summary.csv").astype({"wins": "Int64"}), _SUMMARY),
            f"![Predictive log-likelihood over time]({evaluation.name}/likelihood.png)",
            _table(pd.read_csv(evaluation / "motion.csv"), _MOTION),
            f"![How far words move]({evaluation.name}/displacement.png)",
            "What the paper says, and what was found:",
            _table(claims[name], ("claim", "found", "verdict")),
        ]
    listed = pd.concat([table.assign(settings=name) for name, table in claims.items()])
    files = {"claims.csv": listed.to_csv(index=False).encode()}
    if drawn:
        roughness = roughness_of(pd.read_csv(folder / "similarity.csv"))
        files["roughness.csv"] = roughness.to_csv(index=False).encode()
        parts += _figures(experiment, roughness, pd.read_csv(folder / "changed.csv"))
    files["report.md"] = ("\n\n".join(parts) + "\n").encode()
    write_files(folder, files)
    return folder / "report.md"


def _figures(experiment: "Experiment", roughness: pd.DataFrame, changed: pd.DataFrame) -> list[str]:
    """The sections on similarity, change and maps."""
    return [
        "## Similarity of telling pairs, by method",
        "Roughness: how far the similarity moves from slice to slice, as a mean over pairs.",
        _table(roughness, ("method", "roughness")),
        "![Similarity over time](similarity.png)",
        "## Words that changed most",
        f"From {experiment.between[0]} to {experiment.between[1]}. By more than the noise: {sum(changed['low'] > 0)} of these.",
        _table(changed, _CHANGED),
        "![Words that changed most](timeline.png)",
        "## Maps",
        "![Map, filtering](map-filtering.png)",
        "![Map, independent](map-independent.png)",
    ]


def roughness_of(similarity: pd.DataFrame) -> pd.DataFrame:
    """Per method the mean of |s(t) - s(t - 1)| over slices and pairs of words."""
    ordered = similarity.sort_values(["method", "word", "other", "time"])
    steps = ordered.groupby(["method", "word", "other"], sort=False)["similarity"].diff().abs()
    means = steps.groupby(ordered["method"], sort=False).mean()
    return means.rename("roughness").reset_index()


def _size(counts: Counts) -> str:
    span = f"{counts.labels[0]} to {counts.labels[-1]}"
    return f"{len(counts)} slices ({span}), {len(counts.words):,} words."


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items()) or "defaults"


def _table(rows: pd.DataFrame, columns: Sequence[str]) -> str:
    lines = [
        "| " + " | ".join(name.replace("_", " ") for name in columns) + " |",
        "|" + "---|" * len(columns),
    ]
    lines += ["| " + " | ".join(_shown(row[name]) for name in columns) + " |" for _, row in rows.iterrows()]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is pd.NA:
        return ""
    if isinstance(value, float):
        return "" if value != value else f"{value:.4f}" if abs(value) < 10.0 else f"{value:.1f}"
    return str(value).replace("|", "\\|")
