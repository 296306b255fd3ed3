"""The table of a tuning: a row per combination, with its difference to the best, paired slice by slice."""

from collections.abc import Mapping, Sequence

import numpy as np

from wordtide.evaluation.comparison import Row, standard_error
from wordtide.evaluation.scores import SliceScore
from wordtide.evaluation.tuning.combinations import LISTED, Combination
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


def tuning_summary(
    scores: Mapping[Combination, Sequence[SliceScore]], seconds: Mapping[Combination, Sequence[float | None]]
) -> list[Row]:
    """Rank combinations, all of which have scores of the same slices.

    A slice that several fits predicted counts once, with the mean of its scores.

    Args:
        scores: The scores of each combination.
        seconds: The seconds of the fits of each combination, None where unknown.

    Returns:
        A row per combination. `mean`, `standard_error`: over the slices. `difference`: to the best mean;
        `difference_error`:
        its standard error, from the differences slice by slice. `seconds`: the mean time of a fit. `verdict`:
        best; worse (by more than two standard errors); or may be as good. Unknown values are None.
    """
    by_slice = {combination: _mean_of_slices(found) for combination, found in scores.items()}
    best = max(by_slice, key=lambda combination: float(by_slice[combination].mean()))
    rows = []
    for combination, values in by_slice.items():
        difference = values - by_slice[best]
        mean, error = float(difference.mean()), None if combination == best else standard_error(difference)
        known = [one for one in seconds[combination] if one is not None]
        row = (
            *combination.values().values(),
            *(float(values.mean()), standard_error(values), mean, error, len(values)),
            *(
                float(np.mean(known)) if known else None,
                BEST if combination == best else _verdict(mean, error),
            ),
        )
        rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def _verdict(difference: float, error: float | None) -> str:
    return UNCLEAR if error is None or abs(difference) <= 2.0 * error else WORSE


def _mean_of_slices(scores: Sequence[SliceScore]) -> Floats:
    """The mean score of each slice, in order of time."""
    found: dict[int, list[float]] = {}
    for score in scores:
        found.setdefault(score.slice, []).append(score.log_likelihood)
    return np.array([np.mean(found[t]) for t in sorted(found)])
