"""The search space of `tune`: a list of values for each of a few settings, and all combinations of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from wordtide.counts.settings import CountSettings
from wordtide.errors import SettingsError
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
    """Check the given lists and complete them with defaults.

    Args:
        given: Lists or single values by setting.
        method: The method to tune.
        own_window: The window of the counts.

    Returns:
        A list for each setting in `LISTED`. If no given list has several values and diffusion is not given,
        diffusion gets a default list.

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
