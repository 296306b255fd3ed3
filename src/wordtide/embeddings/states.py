"""A model: the posterior of each word vector at any time, and how it was fitted.

All questions build on this class.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from wordtide.embeddings.calibration import measure_calibration
from wordtide.embeddings.dynamics import Jumps, dynamics_of
from wordtide.embeddings.filtered import FilteredTrajectories
from wordtide.embeddings.folder import read_model, write_model
from wordtide.embeddings.posterior import Fitted
from wordtide.embeddings.smoothed import SignedTrajectories, SmoothedTrajectories
from wordtide.embeddings.trajectories import PointTrajectories, Trajectories
from wordtide.errors import SettingsError
from wordtide.model.gaussians import Calibration
from wordtide.model.knots import Knots
from wordtide.model.prior import Diffusion, slice_before
from wordtide.model.verdicts import Dynamics
from wordtide.spelling import counted, number_of
from wordtide.timeline import Time, is_one_time, year_of, years_of
from wordtide.types import Array, Flags, Floats, Singles

Times = Time | Sequence[Time] | Floats | None


@dataclass(frozen=True)
class State:
    """All words at one time. Vectors and variances (L, d), float32; the rest (L,).

    `slice` is the number of the slice, None off the grid. `predicted`: the word does not occur there, so its
    state is inferred from other times. `occurrences` are those in the slice, zeros off the grid.
    """

    words: list[str]
    time: float
    slice: int | None
    U: Singles
    V: Singles
    U_variance: Singles
    V_variance: Singles
    occurrences: Array
    predicted: Flags


class Embeddings:
    """Trajectories of all words through time, in memory or in a folder that is read on demand."""

    def __init__(self, fitted: Fitted, path: Path | None = None) -> None:
        self.fitted = fitted
        self.path = path
        self.words = list(fitted.words)
        self.labels = list(fitted.labels)
        self.diffusion: Diffusion = fitted.diffusion
        self.times: Floats = fitted.diffusion.times
        self.method, self.solver = fitted.method, fitted.solver
        self.settings: dict[str, Any] = dict(fitted.settings)
        self.curve: list[dict[str, Any]] = [dict(row) for row in fitted.curve]
        self.kind, self.dim = fitted.posterior.kind, fitted.posterior.dim
        self.contexts = fitted.posterior.contexts
        #: Results that questions have derived from this model, cached.
        self.derived: dict[str, Any] = {}

    @classmethod
    def load(cls, path: str | PathLike[str], check: bool = False) -> Self:
        """Open a model folder; its states stay on disk.

        `check` compares all checksums and reads all numbers.
        """
        return cls(read_model(path, check), Path(path))

    def _become(self, fitted: Fitted) -> None:
        """Replace the record, and discard everything derived from the previous one."""
        path = self.path
        vars(self).clear()
        Embeddings.__init__(self, fitted, path)

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        span = f"{self.labels[0]} to {self.labels[-1]}"
        words, dimensions = counted(len(self.words), "word"), counted(self.dim, "dimension")
        size = f"{counted(len(self), 'slice')} ({span}), {words}, {dimensions}"
        return f"<{type(self).__name__}: {self.method}, {size}>"

    @property
    def elbo(self) -> float:
        """The ELBO per pair over all slices at the end of the fit, NaN if unknown.

        For point estimates it is the log joint density.
        """
        return float("nan") if self.fitted.elbo is None else self.fitted.elbo

    @property
    def arrivals(self) -> dict[str, str]:
        """The words that updates admitted to the vocabulary, each with its first slice."""
        slices = self.fitted.arrivals
        return (
            {}
            if slices is None
            else {self.words[word]: self.labels[slices[word]] for word in np.flatnonzero(slices)}
        )

    @cached_property
    def calibration(self) -> Calibration | None:
        """How large errors are compared with variances; None for point estimates and version 0.1."""
        measured = self.fitted.calibration
        return measured if self.kind != "filter" or measured is None else measure_calibration(self.fitted)

    @cached_property
    def index(self) -> dict[str, int]:
        """Word to its number."""
        return {word: number for number, word in enumerate(self.words)}

    def word_number(self, word: str) -> int:
        """The number of a word. The error for an unknown word suggests similar spellings."""
        return number_of(word, self.index, "Count and fit again with a larger --vocabulary-size.")

    def year(self, time: Time) -> float:
        """Convert a time to a float year of this model."""
        return year_of(time, self.times, self.fitted.extents)

    def years(self, times: Times) -> Floats:
        """Convert times to float years, (n,); None means all slices."""
        return self._years(times)[0]

    def slice_at(self, time: Time) -> int | None:
        """The number of the slice at this time, None off the grid."""
        return self.slice_of_year(self.year(time))

    def occurrences(self, word: str) -> Array:
        """How often a word occurs in each slice, (T,)."""
        return self.fitted.occurrences.of_word(self.word_number(word), len(self))

    def mean(self, word: str, time: Times = None) -> Floats:
        """The word vector's mean: (d,) at one time, (n, d) at several, (T, d) at all slices."""
        return self._over_time(self._word_side.word_means, word, time)

    def variance(self, word: str, time: Times = None) -> Floats:
        """The variance of each coordinate of the word vector, shaped as `mean`."""
        return self._over_time(self._word_side.word_variances, word, time)

    def context_mean(self, word: str, time: Times = None) -> Floats:
        """The context vector's mean, shaped as `mean`."""
        return self._over_time(self._context_side.word_means, word, time)

    def context_variance(self, word: str, time: Times = None) -> Floats:
        """The variance of each coordinate of the context vector, shaped as `mean`."""
        return self._over_time(self._context_side.word_variances, word, time)

    def covariance(self, word: str, time_a: Time, time_b: Time, context: bool = False) -> Floats:
        """The covariance of each coordinate between two times, (d,).

        Filtered models have it only for two equal times.
        """
        side, number = self._context_side if context else self._word_side, self.word_number(word)
        one, other = self.year(time_a), self.year(time_b)
        return (
            side.word_variances(number, np.array([one]))[0]
            if one == other
            else side.covariance(number, one, other)
        )

    def sample(self, word: str, n: int, seed: int = 0, times: Times = None, context: bool = False) -> Floats:
        """Draw `n` trajectories of a word from the posterior, (n, T, d), or (n, number of times, d).

        Samples with one seed are independent between words, and between word and context vectors unless
        contexts are tied.
        """
        if n < 1 or seed < 0:
            raise SettingsError(
                f"{n} draws with seed {seed} are impossible.",
                "Give at least one draw, and a seed of 0 or more.",
            )
        years, number = self._years(times)[0], self.word_number(word)
        signs = self.fitted.posterior.signs
        if context and signs is not None:
            return self._word_side.draw(number, n, years, np.random.default_rng([seed, number, 0])) * signs
        side = self._context_side if context else self._word_side
        return side.draw(number, n, years, np.random.default_rng([seed, number, int(context)]))

    def means_at(self, time: Time, context: bool = False) -> Singles:
        """The means of all word (or context) vectors at one time, (L, d)."""
        side = self._context_side if context else self._word_side
        return side.means_at(self.year(time)).astype(np.float32)

    def at(self, time: Time) -> State:
        """All words at one time, with their uncertainty."""
        year = self.year(time)
        t = self.slice_of_year(year)
        number = -1 if t is None else t  # nothing occurs in slice -1, which does not exist
        return State(
            words=self.words,
            time=year,
            slice=t,
            U=self._word_side.means_at(year).astype(np.float32),
            V=self._context_side.means_at(year).astype(np.float32),
            U_variance=self._word_side.variances_at(year).astype(np.float32),
            V_variance=self._context_side.variances_at(year).astype(np.float32),
            occurrences=self.fitted.occurrences.of_slice(number),
            predicted=~self._where_observed.has_at(number),
        )

    def is_prediction(self, word: str, time: Time) -> bool:
        """Whether the state of a word is inferred from other times, because it does not occur at this one."""
        t, number = self.slice_at(time), self.word_number(word)
        rows = self._where_observed.rows_of(number)
        return t is None or bool((self._where_observed.slices[rows] != t).all())

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write a model folder."""
        write_model(path, self.fitted, overwrite)

    @cached_property
    def total_occurrences(self) -> Array:
        """How often each word occurs in all slices together, (L,)."""
        return self.fitted.occurrences.totals()

    @cached_property
    def slice_occurrences(self) -> Floats:
        """The number of occurrences of all words in each slice, (T,)."""
        places, values = self.fitted.occurrences.places, self.fitted.occurrences.values
        return np.bincount(places.slices, weights=values, minlength=len(self)).astype(np.float64)

    @cached_property
    def dynamics(self) -> Dynamics | None:
        """How each word moves, computed now if the model lacks it; None for point estimates and one slice."""
        return self.fitted.dynamics or dynamics_of(self.fitted)

    @cached_property
    def sides(self) -> tuple[Trajectories, Trajectories]:
        """The trajectories of word vectors and of context vectors."""
        return trajectories_of(self.fitted)

    @property
    def _word_side(self) -> Trajectories:
        return self.sides[0]

    @property
    def _context_side(self) -> Trajectories:
        return self.sides[1]

    @property
    def _where_observed(self) -> Knots:
        """Where states rest on data: at the knots, or for point estimates where words occur."""
        return self.fitted.occurrences.places if self.kind == "point" else self.fitted.posterior.knots

    def _over_time(self, find: Callable[[int, Floats], Floats], word: str, time: Times) -> Floats:
        """Call `find` for a word at one time or several; returns (d,) or (n, d)."""
        years, one = self._years(time)
        found = find(self.word_number(word), years)
        return found[0] if one else found

    def _years(self, time: Times) -> tuple[Floats, bool]:
        """Float years (n,), and whether a single time was given."""
        if time is None:
            return self.times, False
        if is_one_time(time):
            return np.array([year_of(time, self.times, self.fitted.extents)]), True
        return years_of(time, self.times, self.fitted.extents), False

    def slice_of_year(self, year: float) -> int | None:
        """The slice at a float year, None off the grid."""
        t = int(slice_before(self.times, np.array([year]))[0])
        return t if t >= 0 and self.times[t] == year else None


def trajectories_of(fitted: Fitted) -> tuple[Trajectories, Trajectories]:
    """The trajectories of the word vectors and of the context vectors.

    A smoother's trajectories jump where the model has found jumps.
    """
    posterior, diffusion = fitted.posterior, fitted.diffusion
    jumps = Jumps.of(fitted.dynamics) if posterior.kind == "smoother" and fitted.dynamics else None

    def one_side(side: str) -> Trajectories:
        knots, spread = posterior.knots, posterior.spread(side)
        mean = posterior.mean_u if side == "u" else posterior.mean_v
        if spread is None:
            return PointTrajectories(knots, diffusion.times, mean)
        if posterior.kind == "filter":
            return FilteredTrajectories(knots, diffusion, mean, spread)
        return SmoothedTrajectories(knots, diffusion, mean, spread, jumps)

    words = one_side("u")
    if posterior.signs is not None and isinstance(words, SmoothedTrajectories):
        return words, SignedTrajectories(words, posterior.signs)
    return words, one_side("v")
