"""The search space of `tune`: all combinations of the values of a few settings, and the fits of each.

A fit predicts slices that it has not seen: those that a random split leaves out, or each slice from the
slices before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from wordtide.counts.settings import CountSettings
from wordtide.errors import SettingsError
from wordtide.evaluation.scores import LEAVING_OUT, METHODS, held_out_slices
from wordtide.inference.settings import FitSettings

#: The settings that can have lists, in the order of tables and file names.
LISTED = ("diffusion", "dim", "prior_variance", "negative_ratio", "window")
#: The default list, used if no other setting has several values.
DEFAULT_DIFFUSIONS = (1e-4, 1e-3, 1e-2)
WITH_DIFFUSION = ("smoothing", "filtering")
_WHOLE = ("dim", "window")
_EXAMPLES = {
    "diffusion": "0.0001,0.001,0.01",
    "dim": "50,100",
    "prior_variance": "0.2,0.5,auto",
    "negative_ratio": "1,5",
    "window": "2,4,8",
}
Value = float | str
Grid = dict[str, list[Value]]
DEFAULT_SPLITS, DEFAULT_HOLDOUT = 3, 0.1
_MOST_SPLITS = 1000
_DRAWS_PER_SPLIT = 50  # small corpora have few different splits


@dataclass(frozen=True)
class Combination:
    """One value of each list."""

    diffusion: float
    dim: int
    prior_variance: float | str
    negative_ratio: float
    window: int

    def values(self) -> dict[str, Any]:
        """All values by name, in the order of tables."""
        return asdict(self)

    def fit_values(self) -> dict[str, Any]:
        """The settings of the fit: all but the window, which belongs to the counts."""
        return {name: value for name, value in self.values().items() if name != "window"}

    def shown(self, names: Sequence[str]) -> str:
        """Some of the values, for a sentence: diffusion 0.001, dim 50."""
        return ", ".join(f"{name.replace('_', ' ')} {shown_value(getattr(self, name))}" for name in names)

    @property
    def file_name(self) -> str:
        """A unique name for files and folders."""
        return "_".join(
            f"{name.replace('_', '-')}-{shown_value(value)}" for name, value in self.values().items()
        )


def checked_grid(given: Mapping[str, Any], method: str, own_window: int) -> Grid:
    """Check the given lists or single values by setting, and complete them: a list for each of `LISTED`.

    If no given list has several values and diffusion is not given, diffusion gets a default list.
    `own_window` is that of the counts.

    Raises:
        SettingsError: A setting cannot be tuned, or a value is invalid.
    """
    unknown = sorted(set(given) - set(LISTED))
    if unknown:
        raise SettingsError(
            f"{unknown[0]!r} cannot be tuned.", f"Give lists for some of {', '.join(LISTED)}."
        )
    lists = {name: _checked_list(name, values) for name, values in given.items()}
    if "diffusion" in lists and method not in WITH_DIFFUSION:
        raise SettingsError(f"--diffusion has no effect on the method {method}.", "Leave it out.")
    if "diffusion" not in lists and not any(len(values) > 1 for values in lists.values()):
        if method not in WITH_DIFFUSION:
            raise SettingsError(
                f"There is nothing to choose for the method {method}.", "Give a list like --dim=50,100."
            )
        lists["diffusion"] = list(DEFAULT_DIFFUSIONS)
    defaults = {**FitSettings().as_json(), "window": own_window}
    return {name: lists.get(name, [defaults[name]]) for name in LISTED}


def combinations_of(grid: Grid) -> list[Combination]:
    """All combinations; the last list varies fastest."""
    rows = product(*(grid[name] for name in LISTED))
    return [combination_of(dict(zip(LISTED, values, strict=True))) for values in rows]


def combination_of(row: Mapping[str, Any]) -> Combination:
    """The combination in a row of a table."""
    return Combination(**{name: row[name] for name in LISTED})


def varied(grid: Grid) -> list[str]:
    """The settings that have several values."""
    return [name for name in LISTED if len(grid[name]) > 1]


def option_of(name: str) -> str:
    """The command-line option of a setting."""
    return "--" + name.replace("_", "-")


def shown_value(value: Value) -> str:
    """A value as typed on the command line."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _checked_list(name: str, values: Any) -> list[Value]:
    alone = isinstance(values, str | int | float | np.generic)
    checked = [_checked_value(name, value) for value in ([values] if alone else values)]
    if not checked:
        raise SettingsError(f"{option_of(name)} has no values.", f"Give some, like {_EXAMPLES[name]}.")
    for value in checked:
        if checked.count(value) > 1:
            raise SettingsError(
                f"{option_of(name)} has the value {shown_value(value)} twice.", "Give each value once."
            )
    return checked


def _checked_value(name: str, given: Any) -> Value:
    """Check the type of a value. The settings of a fit check its range."""
    value = given.item() if isinstance(given, np.generic) else given
    option, remedy = option_of(name), f"Separate values with commas, like {_EXAMPLES[name]}."
    if value == "":
        raise SettingsError(f"{option} has an empty value.", remedy)
    if value == "auto" and name == "diffusion":
        raise SettingsError("--diffusion=auto would use the slices that are to be predicted.", remedy)
    if value == "auto" and name == "prior_variance":
        return "auto"
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise SettingsError(f"{option}={value!r} is not a number.", remedy)
    if name not in _WHOLE:
        return float(value)
    if not isinstance(value, int):
        raise SettingsError(f"{option}={value} is not a whole number.", remedy)
    if name == "window":
        CountSettings(window=value)  # checks the range
    return value


@dataclass(frozen=True)
class PlannedFit:
    """A combination to be fitted without the slices of a split; without a split, to all in order of time."""

    combination: Combination
    split: int | None
    slices: list[int]  # to predict

    @property
    def left_out(self) -> list[int]:
        """The slices that the fit must not see."""
        return [] if self.split is None else self.slices

    @property
    def file_name(self) -> str:
        """A unique name for files and folders."""
        return self.combination.file_name + ("" if self.split is None else f"_split-{self.split}")

    def shown(self, names: Sequence[str]) -> str:
        """Some settings of the fit, for a sentence."""
        return self.combination.shown(names) + ("" if self.split is None else f", split {self.split}")


@dataclass(frozen=True)
class Splits:
    """The slices left out, one list per split; no lists for methods that predict from earlier slices."""

    method: str
    slices: int  # of the corpus
    wanted: int
    holdout: float | None
    left_out: list[list[int]]

    def planned(self, combinations: Sequence[Combination]) -> list[PlannedFit]:
        """All fits.

        Splits are the same for all combinations, so that these can be compared slice by slice.
        """
        if self.method in LEAVING_OUT:
            return [
                PlannedFit(one, number, list(out))
                for one in combinations
                for number, out in enumerate(self.left_out, 1)
            ]
        return [PlannedFit(one, None, list(range(1, self.slices))) for one in combinations]


def check_method(method: str) -> None:
    """Reject a method that does not predict."""
    if method not in METHODS:
        raise SettingsError(f"There is no method {method!r}.", f"Give one of {', '.join(METHODS)}.")


def splits_for(method: str, slices: int, splits: int | None, holdout: float | None, seed: int) -> Splits:
    """Draw different random splits with the seeds `seed`, `seed` + 1, ...

    A smaller number of splits gives the first ones of a larger number. Small corpora may have fewer.

    Raises:
        SettingsError: A setting is invalid or does not apply to the method.
    """
    check_method(method)
    if method not in LEAVING_OUT:
        for option, value in (("--splits", splits), ("--holdout", holdout)):
            if value is not None:
                raise SettingsError(
                    f"{option} does not apply to {method}, which predicts each slice from earlier ones.",
                    "Leave it out.",
                )
        if slices < 2:
            raise SettingsError(
                "There is 1 slice, but tuning needs at least 2.", "Count again with shorter slices (--every)."
            )
        return Splits(method, slices, 0, None, [])
    wanted, share = (
        DEFAULT_SPLITS if splits is None else splits,
        DEFAULT_HOLDOUT if holdout is None else holdout,
    )
    if not isinstance(wanted, int) or isinstance(wanted, bool) or not 1 <= wanted <= _MOST_SPLITS:
        raise SettingsError(
            f"--splits {wanted} is out of range.", f"Give a whole number from 1 to {_MOST_SPLITS}."
        )
    found: list[list[int]] = []
    for draw in range(_DRAWS_PER_SPLIT * wanted):
        left_out = held_out_slices(slices, share, seed + draw)
        if left_out not in found:
            found.append(left_out)
        if len(found) == wanted:
            break
    return Splits(method, slices, wanted, share, found)
