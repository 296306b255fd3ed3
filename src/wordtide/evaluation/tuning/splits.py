"""The fits of a tuning, and the slices that each of them predicts."""

from collections.abc import Sequence
from dataclasses import dataclass

from wordtide.errors import SettingsError
from wordtide.evaluation.holdout import held_out_slices
from wordtide.evaluation.predictors import LEAVING_OUT, METHODS
from wordtide.evaluation.tuning.combinations import Combination

DEFAULT_SPLITS, DEFAULT_HOLDOUT = 3, 0.1
_MOST_SPLITS = 1000
_DRAWS_PER_SPLIT = 50  # small corpora have few different splits


@dataclass(frozen=True)
class PlannedFit:
    """A combination to be fitted without the slices of one split, or to all slices in order of time if
    `split` is None.
    """

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
    """The slices left out, one list per split; no lists for methods that predict each slice before they see
    it.
    """

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

    A smaller number of splits gives the first ones of a larger number.

    Args:
        method: The method to tune.
        slices: The number of slices in the corpus.
        splits: How many splits to draw; None for the default. Small corpora may have fewer.
        holdout: The share of slices to leave out; None for the default.
        seed: Determines the splits.

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
