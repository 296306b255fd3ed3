"""Checks the paper's claims about its methods on the tables of an evaluation.

Each finding states a claim, the number that decides it, and a verdict. Two methods are compared by the mean
difference of their log-likelihoods over the slices that both predict, with a paired 95 % t interval
(Student's t with n - 1 degrees of freedom). Two groups of slices are compared with Welch's t interval. A
claim is decided if the interval excludes zero, and "cannot be told" if it contains zero. With fewer than five
slices, in either group, the verdict is "too few slices to tell".
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import spearmanr
from scipy.stats import t as student_t

Floats = npt.NDArray[np.float64]

HOLDS, FAILS, UNCLEAR, TOO_FEW = "holds", "does not hold", "cannot be told", "too few slices to tell"
BASELINES = ("warm-start", "independent")
#: The level of all intervals; a rank correlation is significant below what it leaves.
_LEVEL = 0.95
#: With fewer slices than this, no interval decides a claim.
_FEWEST = 5
#: Two baselines "differ little" if they do by less than this share of how far the better one is behind.
_LITTLE = 0.25
#: After ten slices a word is 1 times as far as after one if it jumps about one place, 3.2 times on a random
#: walk. A corpus with fewer than eleven slices to train on is measured over as many as it has: over six, a
#: random walk gets 2.4 times as far.
_GROWS, _STAYS = 2.0, 1.5
#: The first slices of a filter are this share of all, and at least `_FEWEST`.
_FIRST = 0.05


@dataclass(frozen=True)
class Finding:
    """A claim, the number that decides it as text, the verdict, and the number alone."""

    claim: str
    found: str
    verdict: str
    figure: str = ""


@dataclass(frozen=True)
class Interval:
    """A mean and the limits of its t interval; the limits are NaN where there is only one value."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        limits = "unknown" if math.isnan(self.low) else f"{self.low:+.4f} to {self.high:+.4f}"
        return f"{_LEVEL:.0%} interval {limits}".replace("%", " %")


def check_claims(evaluation: Path) -> list[Finding]:
    """All claims, on the folder of an evaluation."""
    scores = pd.read_csv(evaluation / "scores.csv")
    motion = pd.read_csv(evaluation / "motion.csv").set_index("method")
    table = scores.pivot(index="time", columns="method", values="log_likelihood").sort_index()
    pairs = scores.groupby("time")["pairs"].first().sort_index()
    return [
        _better("smoothing", "filtering", table),
        *(_better("filtering", baseline, table) for baseline in BASELINES),
        *(_better("smoothing", baseline, table) for baseline in BASELINES),
        _little_apart(table),
        _larger_where_small(table, pairs),
        _growing_at_first(table["filtering"].dropna().to_numpy()),
        _growing_throughout(table["independent"].dropna()),
        *(_grows(method, motion.loc[method]) for method in ("smoothing", "filtering")),
        *(_stays(method, motion.loc[method]) for method in BASELINES),
        _better("smoothing", "static", table, paper=False),
    ]


def _better(ours: str, theirs: str, table: pd.DataFrame, paper: bool = True) -> Finding:
    """Paired, slice by slice, over all slices that both predict."""
    difference = (table[ours] - table[theirs]).dropna().to_numpy()
    interval = paired_interval(difference)
    claim = f"{ours} predicts better than {theirs}" + ("" if paper else " (our addition)")
    return Finding(
        claim,
        f"{interval.mean:+.4f} ({interval}, {_slices(len(difference))})",
        _verdict(interval, len(difference)),
        f"{interval.mean:+.4f}",
    )


def paired_interval(difference: Floats) -> Interval:
    """Student's t interval of the mean of paired differences, (n,)."""
    number = len(difference)
    error = float(difference.std(ddof=1)) / math.sqrt(number) if number > 1 else math.nan
    return _t_interval(float(difference.mean()), error, number - 1)


def welch_interval(one: Floats, other: Floats) -> Interval:
    """Welch's t interval of the difference of means `one` (n,) - `other` (m,) with unequal variances."""
    mean = float(one.mean() - other.mean())
    if min(len(one), len(other)) < 2:
        return _t_interval(mean, math.nan, 0)
    squares = [float(values.var(ddof=1)) / len(values) for values in (one, other)]
    spread = sum(square**2 / (len(values) - 1) for square, values in zip(squares, (one, other), strict=True))
    freedom = sum(squares) ** 2 / spread if spread > 0.0 else len(one) + len(other) - 2  # Welch-Satterthwaite
    return _t_interval(mean, math.sqrt(sum(squares)), freedom)


def _t_interval(mean: float, error: float, freedom: float) -> Interval:
    if math.isnan(error):
        return Interval(mean, math.nan, math.nan)
    half = error * float(student_t.ppf(0.5 + _LEVEL / 2.0, freedom))
    return Interval(mean, mean - half, mean + half)


def _verdict(interval: Interval, slices: int) -> str:
    if slices < _FEWEST:
        return TOO_FEW
    if interval.low > 0.0:
        return HOLDS
    return FAILS if interval.high < 0.0 else UNCLEAR


def _slices(number: int) -> str:
    return f"{number} slice{'s' * (number != 1)}"


def _little_apart(table: pd.DataFrame) -> Finding:
    warm, independent = (table[name].dropna().mean() for name in BASELINES)
    apart = abs(warm - independent)
    behind = (table["smoothing"] - table[list(BASELINES)].max(axis=1)).dropna().mean()
    verdict = HOLDS if apart < _LITTLE * behind else FAILS
    return Finding(
        "the baselines differ little from each other",
        f"{apart:.4f}, where smoothing is {behind:+.4f} ahead of both",
        verdict,
        f"{apart:.4f}",
    )


def _larger_where_small(table: pd.DataFrame, pairs: pd.Series) -> Finding:
    """The filter's lead over a slice trained alone, against the pairs of that slice."""
    lead = (table["filtering"] - table["independent"]).dropna()
    before = pairs.shift(1).reindex(lead.index)
    if before.isna().any():  # the first slice is predicted by nobody, so that its pairs are not in the table
        lead, before = lead[before.notna()], before.dropna()
    claim = "filtering's lead over independent is largest where slices are small"
    if len(lead) < _FEWEST:
        return Finding(claim, _slices(len(lead)), TOO_FEW)
    found = spearmanr(before, lead)
    verdict = UNCLEAR if found.pvalue > 1.0 - _LEVEL else HOLDS if found.statistic < 0.0 else FAILS
    shown = f"rank correlation with pairs {found.statistic:+.2f} (p = {found.pvalue:.1g})"
    return Finding(claim, shown, verdict, f"{found.statistic:+.2f}")


def _growing_at_first(filtered: Floats) -> Finding:
    claim = "filtering's likelihood grows over the first slices"
    number = max(_FEWEST, round(_FIRST * len(filtered)))
    first, rest = filtered[:number], filtered[number:]
    if not len(rest):
        return Finding(claim, f"{_slices(len(first))}, none later", TOO_FEW)
    interval = welch_interval(rest, first)
    shown = f"first {_slices(number)} {first.mean():.4f}, later {len(rest)} {rest.mean():.4f}: {interval.mean:+.4f} ({interval})"
    return Finding(claim, shown, _verdict(interval, min(len(first), len(rest))), f"{interval.mean:+.4f}")


def _growing_throughout(alone: pd.Series) -> Finding:
    """The likelihood of slices that know nothing of each other, against time."""
    claim = "likelihoods grow with time even if slices know nothing of each other (independent)"
    if len(alone) < _FEWEST:
        return Finding(claim, _slices(len(alone)), TOO_FEW)
    found = spearmanr(alone.index, alone)
    verdict = UNCLEAR if found.pvalue > 1.0 - _LEVEL else HOLDS if found.statistic > 0.0 else FAILS
    shown = f"rank correlation with time {found.statistic:+.2f} (p = {found.pvalue:.1g})"
    return Finding(claim, shown, verdict, f"{found.statistic:+.2f}")


def _grows(method: str, motion: pd.Series) -> Finding:
    claim = f"{method}: distances grow with time"
    verdict = HOLDS if motion["directedness"] > _GROWS else FAILS
    return Finding(claim, _distance(motion), verdict, f"{motion['directedness']:.1f}")


def _stays(method: str, motion: pd.Series) -> Finding:
    claim = f"{method}: distances jump at the first step, then stay"
    verdict = HOLDS if motion["directedness"] < _STAYS else FAILS
    return Finding(claim, _distance(motion), verdict, f"{motion['directedness']:.1f}")


def _distance(motion: pd.Series) -> str:
    return f"{motion['directedness']:.2f} times as far after {_slices(int(motion['slices']))} as after one"
