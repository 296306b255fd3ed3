"""The table of a tuning: a row per combination, with its difference to the best one, paired slice by slice."""

from collections.abc import Mapping, Sequence

import numpy as np

from wordtide.evaluation.scores import Score
from wordtide.evaluation.summary import Floats, Row, standard_error
from wordtide.evaluation.tuning.grid import LISTED, Combination

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
    scores: Mapping[Combination, Sequence[Score]], seconds: Mapping[Combination, Sequence[float | None]]
) -> list[Row]:
    """A row per combination, in their order.

    All combinations have scores of the same slices. A slice that was predicted several times, by fits that each lacked it,
    counts once with the mean of these scores. mean, standard_error: over the slices. difference: to the best mean;
    difference_error: its standard error, from the differences slice by slice. seconds: of one fit, the mean of those known.
    verdict: best; worse, by more than two standard errors; or may be as good. What cannot be told is None.
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


def _mean_of_slices(scores: Sequence[Score]) -> Floats:
    """The mean score of each slice, in order of time."""
    found: dict[int, list[float]] = {}
    for score in scores:
        found.setdefault(score.slice, []).append(score.log_likelihood)
    return np.array([np.mean(found[t]) for t in sorted(found)])
