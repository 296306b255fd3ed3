"""The result of a tuning: combinations compared with the best one, and a summary in sentences.

Differences are paired slice by slice. The sentences name the best values and close ones, where to search
next, and the command to run.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.embeddings.notebook import result_html
from wordtide.errors import SettingsError
from wordtide.evaluation.comparison import Row, standard_error
from wordtide.evaluation.scores import SliceScore
from wordtide.evaluation.tuning.search_space import (
    LISTED,
    Combination,
    Grid,
    Splits,
    combination_of,
    option_of,
    shown_value,
    varied,
)
from wordtide.inference.settings import FitSettings, resolve
from wordtide.spelling import counted
from wordtide.types import Floats

#: The columns of the table.
COLUMNS = (
    *LISTED,
    "mean",
    "standard_error",
    "difference",
    "difference_error",
    "slices",
    "seconds",
    "verdict",
)
SCORE_COLUMNS = (*LISTED, "split", "slice", "time", "log_likelihood", "pairs")
BEST, UNCLEAR, WORSE = "best", "may be as good", "worse"
_CLEARLY_FASTER = 0.8  # relative to the time of the best; smaller differences may be noise
_MEASURED = ("mean", "standard_error", "difference", "difference_error")
_MOST_NAMED = 3
_LARGEST_WINDOW = 255


@dataclass(frozen=True)
class Tuning:
    """A row per combination, a row per score, the search space, and the counts of each window."""

    summary: list[Row]
    scores: list[Row]
    grid: Grid
    splits: Splits
    settings: dict[Combination, FitSettings]
    counts: dict[int, Counts]
    path: Path

    def _repr_html_(self) -> str:
        return result_html([], self.summary)


def tuning_summary(
    scores: Mapping[Combination, Sequence[SliceScore]], seconds: Mapping[Combination, Sequence[float | None]]
) -> list[Row]:
    """Rank combinations, all of which have scores of the same slices.

    A slice that several fits predicted counts once, with the mean of its scores.

    Returns a row per combination. `mean`, `standard_error`: over the slices. `difference`: to the best mean;
    `difference_error`: its standard error, from the differences slice by slice. `seconds`: the mean time of a
    fit. `verdict`: best; worse (by more than two standard errors); or may be as good. Unknown values are
    None.
    """
    by_slice = {combination: _mean_of_slices(found) for combination, found in scores.items()}
    best = max(by_slice, key=lambda combination: float(by_slice[combination].mean()))
    rows = []
    for combination, values in by_slice.items():
        difference = values - by_slice[best]
        mean, error = float(difference.mean()), None if combination == best else standard_error(difference)
        known = [one for one in seconds[combination] if one is not None]
        rows.append(
            {
                **combination.values(),
                "mean": float(values.mean()),
                "standard_error": standard_error(values),
                "difference": mean,
                "difference_error": error,
                "slices": len(values),
                "seconds": float(np.mean(known)) if known else None,
                "verdict": BEST if combination == best else _verdict(mean, error),
            }
        )
    return rows


def _verdict(difference: float, error: float | None) -> str:
    return UNCLEAR if error is None or abs(difference) <= 2.0 * error else WORSE


def _mean_of_slices(scores: Sequence[SliceScore]) -> Floats:
    """The mean score of each slice, in order of time."""
    found: dict[int, list[float]] = {}
    for score in scores:
        found.setdefault(score.slice, []).append(score.log_likelihood)
    return np.array([np.mean(found[t]) for t in sorted(found)])


def shown_rows(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """The summary for display: settings as typed, four digits, whole seconds."""
    return [
        {
            **row,
            **{name: shown_value(row[name]) for name in names},
            **{name: "" if row[name] is None else f"{row[name]:.4f}" for name in _MEASURED},
            **({"difference": ""} if row["verdict"] == BEST else {}),
            "seconds": None if row["seconds"] is None else round(row["seconds"]),
        }
        for row in rows
    ]


def tuning_verdict(tuning: Tuning) -> list[str]:
    """Sum up a tuning in sentences."""
    names = varied(tuning.grid) or LISTED[:2]
    (best,) = (row for row in tuning.summary if row["verdict"] == BEST)
    unclear = [row for row in tuning.summary if row["verdict"] == UNCLEAR]
    reached = f"{best['mean']:.4f} per pair over {counted(best['slices'], 'slice')}."
    sentences = [f"{_shown(best, names)} predicts best: {reached}"]
    chosen = best
    if len(tuning.summary) == 1:
        sentences = [f"{_shown(best, names)} reaches {reached}"]
    elif not unclear:
        sentences.append("All others are worse by more than two standard errors.")
    else:
        chosen = _fastest([best, *unclear], best)
        sentences += _about_noise(tuning, best, unclear, names)
        if chosen is not best:
            sentences.append(
                f"Of these {_shown(chosen, names)} is the fastest: {chosen['seconds']:.0f} s per fit "
                f"instead of {best['seconds']:.0f} s."
            )
    sentences += _about_edges(tuning, best)
    sentences.append(f"To fit {_shown(chosen, names)}: {fit_line(tuning, combination_of(chosen))}")
    return sentences


def fit_line(tuning: Tuning, combination: Combination) -> str:
    """The command that fits a combination to all slices. Default settings that were not tuned are omitted."""
    where = tuning.counts[combination.window].path
    values, tuned = tuning.settings[combination].as_json(), varied(tuning.grid)
    options = [
        f"{option_of(field.name)} {shown_value(values[field.name])}"
        for field in fields(FitSettings)
        if field.name in tuned or values[field.name] != field.default
    ]
    return " ".join(["wordtide fit", shlex.quote(str(where or "counts")), "-o model", *options])


def _about_noise(tuning: Tuning, best: Row, unclear: Sequence[Row], names: Sequence[str]) -> list[str]:
    if best["slices"] == 1:
        return ["A single slice cannot show what is noise: use more --splits or a larger --holdout."]
    if len(unclear) > _MOST_NAMED:
        remark = (
            f"The differences to {len(unclear)} others are within two standard errors: they may be noise."
        )
    else:
        named = " and ".join(
            f"({_shown(row, names)})" if len(names) > 1 else _shown(row, names) for row in unclear
        )
        remark = f"The difference to {named} is within two standard errors: it may be noise."
    if tuning.splits.left_out and best["slices"] < tuning.splits.slices - 2:
        remark += " More --splits reduce the errors; finished fits are kept."
    return [remark]


def _about_edges(tuning: Tuning, best: Row) -> list[str]:
    """Suggest a value beyond the list if the best one is its smallest or largest."""
    sentences = []
    for name in varied(tuning.grid):
        numbers = sorted(value for value in tuning.grid[name] if not isinstance(value, str))
        if len(numbers) < 2 or best[name] not in (numbers[0], numbers[-1]):
            continue
        edge, next_to_it = numbers[:2] if best[name] == numbers[0] else (numbers[-1], numbers[-2])
        further = _allowed(tuning, name, edge * edge / next_to_it)
        if further is not None and further not in numbers:
            side = "smallest" if edge < next_to_it else "largest"
            sentences.append(
                f"The best {option_of(name)} is the {side} of the list: try {shown_value(further)} too."
            )
    return sentences


def _allowed(tuning: Tuning, name: str, value: float) -> float | None:
    """A valid value close to this one; None if there is none."""
    counts = next(iter(tuning.counts.values()))
    if name == "dim":
        return max(1, min(round(value), len(counts.words)))
    if name == "window":
        return max(1, min(round(value), _LARGEST_WINDOW if counts.places == 1 else counts.places - 1))
    rounded = float(f"{value:.2g}")
    try:
        resolve({name: rounded})
    except SettingsError:
        return None
    return rounded


def _fastest(rows: Sequence[Row], best: Row) -> Row:
    """The row with the fastest fits if it is clearly faster than the best, else the best."""
    known = [row for row in rows if row["seconds"] is not None]
    fastest = min(known, key=lambda row: float(row["seconds"]), default=best)
    if best["seconds"] is None or fastest["seconds"] >= _CLEARLY_FASTER * best["seconds"]:
        return best
    return fastest


def _shown(row: Row, names: Sequence[str]) -> str:
    return combination_of(row).shown(names)
