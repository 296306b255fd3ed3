"""Prints the rows of the comparison as tables: means over seeds."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from methods import OURS, VECTORS
from results import Table

Row = dict[str, Any]
_UNCERTAIN = ("smoothing", "filtering")


def print_planted(name: str, rows: Sequence[Row]) -> None:
    """Ranks, dates, intervals and alarms. Ours are ranked by `low`, in brackets by `change`.

    "date error": half-way dates of all planted words, in brackets of jumps; then the dates of our verdicts.
    """
    columns = ["world", "method", "auc", "worst rank", "share in top 16", "date error"]
    columns += ["jumps by verdict: found, date error", "halfway coverage"]
    columns += ["alarms: planted", "decoys", "stable", "others", "seconds"]
    with Table(name, columns) as table:
        for world, method, group in _groups(rows):
            table.row(world, method, *_planted_cells(method, group))


def _planted_cells(method: str, group: Sequence[Row]) -> list[str]:
    first, second = _rankings(method)
    dates = f"{_mean(group, first, 'planted: date error, median', 1)} ({_mean(group, first, 'jump: date error, median', 1)})"
    cells = [_both(group, first, second, f"planted: {name}", places) for name, places in _ranks(group)]
    cells += [dates, _judged([row.get("verdicts") for row in group])]
    if method in _UNCERTAIN:
        cells.append(_mean(group, first, "planted: halfway coverage", 2))
        cells += [
            _mean(group, first, f"{kind}: alarms", 3) for kind in ("planted", "decoys", "stable", "others")
        ]
    else:
        cells += [""] * 5
    return [*cells, f"{_average(row['seconds'] for row in group):.1f}"]


def print_likelihoods(name: str, rows: Sequence[Row]) -> None:
    """Held-out likelihood, time and memory."""
    columns = ["corpus", "method", "log-likelihood, slices left out", "all slices", "unshifted"]
    columns += ["best constant", "seconds", "peak MiB", "of it before training"]
    with Table(name, columns) as table:
        for world, method, group in _groups(rows):
            table.row(world, method, *_likelihood_cells(group))


def _likelihood_cells(group: Sequence[Row]) -> list[str]:
    scores = [row["likelihood"] for row in group]
    likelihoods = [
        _average(score.get(name) for score in scores) for name in ("held", "all", "held, no shift")
    ]
    best, constant = (
        _average(score.get(name) for score in scores) for name in ("held, best constant", "best constant")
    )
    numbers = [f"{value:.4f}" if value is not None else "" for value in likelihoods]
    numbers.append("" if best is None or constant is None else f"{best:.4f} ({constant:+.2f})")
    numbers.append(f"{_average(row['seconds'] for row in group):.1f}")
    numbers += [f"{(_average(row[name] for row in group) or 0.0) / 2**20:.0f}" for name in ("peak", "before")]
    return numbers


def print_tuning(rows: Sequence[Row]) -> None:
    """What was tried, a line each."""
    columns = ["world", "method", "settings", "auc: word", "sum", "worst rank: word", "sum"]
    columns += ["date error: word", "sum", "likelihood", "best constant", "seconds"]
    with Table("peers.tuning", columns) as table:
        for row in rows:
            table.row(row["world"], row["method"], *_tuning_cells(row))


def _tuning_cells(row: Row) -> list[str]:
    cells = [
        f"{row['planted'][vectors][name]:.{places}f}" if "planted" in row else ""
        for name, places in (
            ("planted: auc", 3),
            ("planted: worst rank", 0),
            ("planted: date error, median", 1),
        )
        for vectors in ("word", "sum")
    ]
    settings = ", ".join(f"{name} {value}" for name, value in row["settings"].items() if name != "dim")
    scores = row["likelihood"]
    cells += [f"{scores['held']:.4f}", f"{scores['held, best constant']:.4f}", f"{row['seconds']:.1f}"]
    return [settings, *cells]


def _judged(verdicts: Sequence[dict[str, float] | None]) -> str:
    """The planted jumps that were found, and the median error of their dates; empty without verdicts."""
    known = [found for found in verdicts if found is not None]
    if not known:
        return ""
    error = _average(found["date error, median"] for found in known)
    counts = (int(sum(found[name] for found in known)) for name in ("found", "jumps"))
    return "{} of {}".format(*counts) + ("" if error is None else f", {error:.1f}")


def _groups(rows: Sequence[Row]) -> Iterable[tuple[str, str, list[Row]]]:
    for world, method in dict.fromkeys((row["world"], row["method"]) for row in rows):
        yield world, method, [row for row in rows if (row["world"], row["method"]) == (world, method)]


def _rankings(method: str) -> tuple[str, str | None]:
    if method in _UNCERTAIN:
        return "low", "change"
    return ("change" if method in OURS else VECTORS), None


def _ranks(group: Sequence[Row]) -> list[tuple[str, int]]:
    scores = next(iter(group[0]["planted"].values()))
    top = next(name for name in scores if name.startswith("planted: share in top")).removeprefix("planted: ")
    return [("auc", 2), ("worst rank", 0), (top, 2)]


def _both(group: Sequence[Row], first: str, second: str | None, name: str, places: int) -> str:
    shown = _mean(group, first, name, places)
    return shown if second is None else f"{shown} ({_mean(group, second, name, places)})"


def _mean(group: Sequence[Row], ranking: str, name: str, places: int) -> str:
    value = _average(row["planted"][ranking].get(name) for row in group)
    return "" if value is None else f"{value:.{places}f}"


def _average(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and np.isfinite(value)]
    return float(np.mean(known)) if known else None
