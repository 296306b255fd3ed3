"""The comparison of methods: a row per method, with differences paired slice by slice, and a verdict in
words.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wordtide.evaluation.scores import METHODS, SliceScore
from wordtide.types import Floats

Row = dict[str, Any]

#: The columns of the table.
COLUMNS = (
    "method",
    "mean",
    "standard_error",
    "difference",
    "difference_error",
    "wins",
    "slices",
    "mean_of_all",
    "standard_error_of_all",
    "all_slices",
    "seconds",
)


def compare(scores: Sequence[SliceScore], held_out: Sequence[int], seconds: Mapping[str, float]) -> list[Row]:
    """Compare methods on the held-out slices, which all of them predict.

    Args:
        scores: The scores of all methods.
        held_out: The numbers of the held-out slices.
        seconds: The seconds of each fit, as far as they are known.

    Returns:
        A row per method, in the order of the scores. `mean`, `standard_error`: over the held-out slices.
        `difference`: to the best of the paper's predictors; `difference_error`: its standard error, from the
        differences slice by slice.
        `wins`: the number of slices on which the method is best (None for predictors that are not the
            paper's).
        `mean_of_all`, `standard_error_of_all`: over all slices that the method predicts. `seconds`: of its
        fit. Unknown values are None.
    """
    by_method: dict[str, dict[int, float]] = {}
    for score in scores:
        by_method.setdefault(score.method, {})[score.slice] = score.log_likelihood
    common = {name: np.array([found[t] for t in held_out]) for name, found in by_method.items()}
    rivals = {name: values for name, values in common.items() if name in METHODS}
    best = max(rivals, key=lambda name: float(rivals[name].mean()))
    winners = np.argmax(list(rivals.values()), axis=0)
    wins = dict(zip(rivals, np.bincount(winners, minlength=len(rivals)).tolist(), strict=True))
    rows = []
    for name, values in common.items():
        difference, every = values - rivals[best], np.array(list(by_method[name].values()))
        row = (
            *(name, float(values.mean()), standard_error(values)),
            *(float(difference.mean()), None if name == best else standard_error(difference), wins.get(name)),
            *(len(values), float(every.mean()), standard_error(every), len(every), seconds.get(name)),
        )
        rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def standard_error(values: Floats) -> float | None:
    """The standard error of the mean of independent values; None for a single value."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None


def verdict(rows: Sequence[Row]) -> str:
    """Sum up the comparison: which method is best, and which others cannot be distinguished from it."""
    rivals = sorted((row for row in rows if row["method"] in METHODS), key=lambda row: -row["mean"])
    best, *others = rivals
    if not others:
        reached = f"{best['method']} reaches {best['mean']:.4f} per pair."
        return f"{reached} There is no other method to compare it with."
    first = (
        f"{best['method']} predicts best: {best['mean']:.4f} per pair. "
        f"It is the best method on {best['wins']} of {best['slices']} slices."
    )
    unclear = [row["method"] for row in others if not _is_clear(row)]
    if unclear:
        named = " and ".join(unclear)
        return f"{first} The difference to {named} is within two standard errors: it may be noise."
    return f"{first} All others are worse by more than two standard errors."


def _is_clear(row: Row) -> bool:
    error: float | None = row["difference_error"]
    return error is not None and abs(row["difference"]) > 2.0 * error
