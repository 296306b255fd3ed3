"""An answer as columns of equal length: a data frame for Python, rows for the command line, which then needs
no pandas.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wordtide.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Answer:
    """Columns by name, and what a reader of them should know (a time outside the data, a word that does not
    occur).
    """

    columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def frame(self) -> "pd.DataFrame":
        """The answer as a data frame that notebooks display well.

        Notes and further facts are in its `attrs`.

        Raises:
            SettingsError: pandas is not installed.
        """
        try:  # importing pandas takes half a second, which the shell does not spend
            from wordtide.embeddings.frames import AnswerFrame
        except ModuleNotFoundError as error:
            if error.name != "pandas":
                raise
            raise SettingsError(
                "Answers in Python are pandas data frames, and pandas is not installed.",
                "Install it: pip install 'wordtide[pandas]'",
            ) from None
        frame = AnswerFrame(dict(self.columns))
        frame.attrs.update(self.facts)
        frame.attrs["notes"] = list(self.notes)
        return frame

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows with plain Python values; what is not known is None."""
        for values in zip(*self.columns.values(), strict=True):
            yield {name: plain(value) for name, value in zip(self.columns, values, strict=True)}


def plain(value: Any) -> Any:
    """A plain Python value; what is not known is None."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def empty_intervals(size: int) -> npt.NDArray[np.float64]:
    """A column of what is not known, because the model has no posterior."""
    return np.full(size, np.nan)
