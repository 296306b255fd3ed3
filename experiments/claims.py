"""What the paper says of its methods, checked on the tables of an evaluation.

Every claim is put as a number with its standard error, where it has one, and a verdict: it holds, it does not, or it cannot be
told, which is to say that the number is within two standard errors of none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import spearmanr

from wordtide.evaluation.summarising import standard_error

Floats = npt.NDArray[np.float64]

HOLDS, FAILS, UNCLEAR = "holds", "does not hold", "cannot be told"
BASELINES = ("warm-start", "independent")
_SIGNIFICANT = 0.05
#: Two baselines "differ little" if they do by less than this share of how far the better one is behind.
_LITTLE = 0.25
#: After ten slices a word is 1 times as far as after one if it jumps about one place, 3.2 times on a random walk.
_GROWS, _STAYS = 2.0, 1.5
#: The first slices of a filter: this share of all, and at least so many.
_FIRST, _FEWEST = 0.05, 3


@dataclass(frozen=True)
class Finding:
    """A claim, the number it comes down to as text, and the verdict."""

    claim: str
    found: str
    verdict: str


def check_claims(evaluation: Path, others: Path | None = None) -> list[Finding]:
    """All claims, on the folder of an evaluation; methods that it lacks are taken from another one, of the same slices."""
    scores, motion = (_with_others(name, evaluation, others) for name in ("scores.csv", "motion.csv"))
    motion = motion.set_index("method")
    table = scores.pivot(index="time", columns="method", values="log_likelihood").sort_index()
    pairs = scores.groupby("time")["pairs"].first().sort_index()
    return [
        _better("smoothing", "filtering", table),
        *(_better("filtering", baseline, table) for baseline in BASELINES),
        *(_better("smoothing", baseline, table) for baseline in BASELINES),
        _little_apart(table),
        _larger_where_small(table, pairs),
        _growing_at_first(table["filtering"].dropna().to_numpy()),
        *(_grows(method, motion["directedness"].to_dict()) for method in ("smoothing", "filtering")),
        *(_stays(method, motion["directedness"].to_dict()) for method in BASELINES),
        _better("smoothing", "static", table, paper=False),
    ]


def _with_others(name: str, evaluation: Path, others: Path | None) -> pd.DataFrame:
    table = pd.read_csv(evaluation / name)
    if others is None:
        return table
    more = pd.read_csv(others / name)
    return pd.concat([table, more[~more["method"].isin(table["method"])]])


def _better(ours: str, theirs: str, table: pd.DataFrame, paper: bool = True) -> Finding:
    """Paired, slice by slice, over all slices that both predict."""
    difference = (table[ours] - table[theirs]).dropna().to_numpy()
    mean, error = float(difference.mean()), standard_error(difference)
    shown = f"{mean:+.4f} (s.e. {'unknown' if error is None else f'{error:.4f}'}, {len(difference)} slices)"
    claim = f"{ours} predicts better than {theirs}" + ("" if paper else " (ours to ask)")
    return Finding(claim, shown, _signed(mean, error))


def _signed(value: float, error: float | None) -> str:
    if error is None or abs(value) <= 2.0 * error:
        return UNCLEAR
    return HOLDS if value > 0.0 else FAILS


def _little_apart(table: pd.DataFrame) -> Finding:
    warm, independent = (table[name].dropna().mean() for name in BASELINES)
    apart = abs(warm - independent)
    behind = (table["smoothing"] - table[list(BASELINES)].max(axis=1)).dropna().mean()
    verdict = HOLDS if apart < _LITTLE * behind else FAILS
    return Finding(
        "the baselines differ little from each other", f"{apart:.4f}, where smoothing is {behind:+.4f} ahead of both", verdict
    )


def _larger_where_small(table: pd.DataFrame, pairs: pd.Series) -> Finding:
    """The filter's lead over the slice that is trained alone, against the pairs of the slice that it was trained on."""
    lead = (table["filtering"] - table["independent"]).dropna()
    before = pairs.shift(1).reindex(lead.index)
    if before.isna().any():  # the first slice is predicted by nobody, so that its pairs are not in the table
        lead, before = lead[before.notna()], before.dropna()
    found = spearmanr(before, lead)
    verdict = UNCLEAR if found.pvalue > _SIGNIFICANT else HOLDS if found.statistic < 0.0 else FAILS
    return Finding(
        "filtering's lead over independent is largest where slices are small",
        f"rank correlation with pairs {found.statistic:+.2f} (p = {found.pvalue:.1g})",
        verdict,
    )


def _growing_at_first(filtered: Floats) -> Finding:
    number = max(_FEWEST, round(_FIRST * len(filtered)))
    first, rest = filtered[:number], filtered[number:]
    mean = float(rest.mean() - first.mean())
    errors = [standard_error(part) for part in (first, rest)]
    error = None if None in errors else float(np.hypot(*errors))
    shown = f"first {number} slices {first.mean():.4f}, later {rest.mean():.4f}"
    return Finding("filtering's likelihood grows over the first slices", shown, _signed(mean, error))


def _grows(method: str, directedness: Mapping[str, float]) -> Finding:
    ratio = directedness[method]
    claim = f"{method}: distances grow with time"
    return Finding(claim, f"{ratio:.2f} times as far after ten slices as after one", HOLDS if ratio > _GROWS else FAILS)


def _stays(method: str, directedness: Mapping[str, float]) -> Finding:
    ratio = directedness[method]
    claim = f"{method}: distances jump at the first step, then stay"
    return Finding(claim, f"{ratio:.2f} times as far after ten slices as after one", HOLDS if ratio < _STAYS else FAILS)
