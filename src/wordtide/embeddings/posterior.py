"""The result of a fit as plain records: the posterior at the knots, and the other content of a model folder.

A filter produces states slice by slice and never returns to an earlier one, so the states of each slice are
arrays of their own, in memory or in a file. Questions number states by knots: word by word, each word's knots
in order of time. `state_rows.SliceRows` translates between the two.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.state_rows import CheckedRows, SignedRows, SliceRows
from wordtide.errors import SettingsError
from wordtide.model.gaussians import Calibration
from wordtide.model.knots import Knots, Occurrences
from wordtide.model.prior import Diffusion
from wordtide.model.verdicts import Dynamics, Groups
from wordtide.storage.arrays import pieces
from wordtide.types import Array, Floats, Singles

#: The arrays stored for a slice: means and variances of word vectors (u) and context vectors (v).
QUANTITIES = ("mean_u", "mean_v", "variance_u", "variance_v")
#: The same with tied contexts, where the context vector follows from the word vector.
TIED_QUANTITIES = ("mean_u", "variance_u")
#: The kinds of posterior, and what each stores in addition to the means.
SPREADS = {"filter": "variance", "smoother": "precision", "point": None}


@dataclass(frozen=True)
class SliceStates:
    """A filter's states after one slice: word numbers (a,), ascending, and means and variances (a, d).

    With tied contexts, context vectors have no arrays.
    """

    words: npt.NDArray[np.int32]
    mean_u: Singles
    mean_v: Singles | None
    variance_u: Singles
    variance_v: Singles | None

    def __len__(self) -> int:
        return len(self.words)

    @staticmethod
    def of(words: Array, mean: Array, variance: Array) -> "SliceStates":
        """Create states from words, means and variances: (2, a, d) each, (1, a, d) with tied contexts."""
        means, variances = (
            [np.asarray(part, dtype=np.float32) for part in array] for array in (mean, variance)
        )
        if len(means) == 1:
            return SliceStates(np.asarray(words, dtype=np.int32), means[0], None, variances[0], None)
        return SliceStates(np.asarray(words, dtype=np.int32), *means, *variances)

    def arrays(self) -> dict[str, Array]:
        """All arrays that exist, by name."""
        return {name: array for name, array in vars(self).items() if array is not None}


@dataclass(frozen=True)
class Posterior:
    """The posterior at the knots.

    All arrays are (K, d) float32, in the order of the knots, for word vectors (u) and context vectors (v).

    "filter": mean and variance given this slice and those before it. "smoother": the mean, and the precision
    h that the data add; a coordinate over one word's knots is N(mean, (Pi + diag(h))^-1), where Pi is the
    precision of the prior at these knots (Eqs. 14 and 15). "point": a mean without uncertainty. If a filter's
    states are stored slice by slice, `slices` holds them in that order.

    With tied contexts, the context vector of a word is its word vector times `signs` (d,), each +1 or -1.
    Then `mean_v`, `variance_v` and `precision_v` are not given but derived, `mean_v` when it is read.
    """

    kind: str
    knots: Knots
    mean_u: Singles
    mean_v: Singles = None  # type: ignore[assignment]  # with signs it is derived
    variance_u: Singles | None = None
    variance_v: Singles | None = None
    precision_u: Singles | None = None
    precision_v: Singles | None = None
    slices: Sequence[SliceStates] | None = None
    signs: Singles | None = None

    def __post_init__(self) -> None:
        if self.kind not in SPREADS:
            raise SettingsError(
                f"There is no posterior of kind {self.kind!r}.", f"Use one of {', '.join(SPREADS)}."
            )
        for spread in ("variance", "precision"):
            for side in self.sides:
                if (getattr(self, f"{spread}_{side}") is not None) != (SPREADS[self.kind] == spread):
                    raise SettingsError(
                        f"A posterior of kind {self.kind!r} has the wrong arrays: see {spread}_{side}.",
                        "Give variances to a filter, precisions to a smoother, neither to point estimates.",
                    )
        for name, array in self.arrays().items():
            if array.ndim != 2 or array.shape != (len(self.knots), self.dim) or array.dtype != np.float32:
                raise SettingsError(
                    f"{name} holds {array.dtype} of shape {array.shape}, "
                    f"not float32 of shape {(len(self.knots), self.dim)}.",
                    "Give one row per knot and one column per dimension.",
                )
        if self.signs is not None:
            self._derive_contexts(self.signs)

    def _derive_contexts(self, signs: Singles) -> None:
        if signs.shape != (self.dim,) or not (np.abs(signs) == 1.0).all():
            raise SettingsError(
                f"The signs of tied contexts are not {self.dim} times +1 or -1.",
                "Give one sign per dimension.",
            )
        derived = SignedRows(self.mean_u, np.asarray(signs, dtype=np.float32))
        object.__setattr__(self, "mean_v", derived)
        object.__setattr__(self, "variance_v", self.variance_u)
        object.__setattr__(self, "precision_v", self.precision_u)

    @property
    def sides(self) -> str:
        """The stored sides: "uv", or "u" with tied contexts."""
        return "uv" if self.signs is None else "u"

    @property
    def contexts(self) -> str:
        """Whether context vectors are "separate" from word vectors or "tied" to them."""
        return "separate" if self.signs is None else "tied"

    @staticmethod
    def by_slice(
        knots: Knots, slices: Sequence[SliceStates], dim: int, signs: Singles | None = None
    ) -> "Posterior":
        """A filter's posterior whose states are stored slice by slice but read like arrays."""
        rows = {
            name: cast(Singles, SliceRows(knots, [getattr(part, name) for part in slices], dim))
            for name in (QUANTITIES if signs is None else TIED_QUANTITIES)
        }
        return Posterior("filter", knots, slices=slices, signs=signs, **rows)

    @property
    def dim(self) -> int:
        """The number of dimensions d."""
        return int(self.mean_u.shape[-1])

    def spread(self, side: str) -> Singles | None:
        """Variances or precisions of one side ("u" or "v"), depending on the kind."""
        name = SPREADS[self.kind]
        array: Singles | None = getattr(self, f"{name}_{side}") if name else None
        return array

    def arrays(self) -> dict[str, Singles]:
        """All arrays that are stored, by name."""
        names = [
            f"{quantity}_{side}" for quantity in ("mean", "variance", "precision") for side in self.sides
        ]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def pieces(self, name: str) -> Iterator[Singles]:
        """Yield the rows of one array in pieces, in no particular order, to read little from disk at once."""
        rows = getattr(self, name)
        for array in (rows,) if self.slices is None else (getattr(part, name) for part in self.slices):
            for piece in pieces(array):
                if array is not rows and isinstance(rows, CheckedRows):
                    rows.check(piece)
                yield piece

    def checked_when_read(self, folder: Path) -> "Posterior":
        """The same states, checked when they are read."""
        rows: dict[str, Any] = {
            name: CheckedRows(array, name, folder) for name, array in self.arrays().items()
        }
        return replace(self, **rows)

    def check_slice(self, states: SliceStates) -> None:
        """Raise FolderError for impossible numbers in one of `slices`, unless all were checked on loading."""
        for name, rows in self.arrays().items():
            if isinstance(rows, CheckedRows):
                rows.check(getattr(states, name))


@dataclass(frozen=True)
class Fitted:
    """Everything a fit produces: the content of a model folder.

    Attributes:
        words, labels: The vocabulary (L,), and the labels of the slices (T,).
        diffusion: The times (T,) and the prior.
        posterior: The states at the knots.
        occurrences: How often words occur.
        method, solver, settings: How the model was fitted.
        curve: The rows of the training curve.
        extents: The first and last date of each slice in float years, (T, 2), by which dates are assigned to
            slices; without them a slice has only its mean date.
        elbo: The ELBO per pair over all slices at the end.
        counting: How the texts were counted, to count later texts in the same way.
        pairs: The number of pairs in each slice, (T,).
        filter: The pace and precision of a filter, for updates.
        arrivals: The slice at which each word entered the vocabulary, (L,); None if all were there from the
            start.
        stream: A record that belongs to the caller of updates.
        predictions: The log-likelihood per pair of each slice under a posterior that has not seen it, (T,): a
            filter predicts from the slices before (NaN for the first), a smoother from all others.
        static_prediction: The same for a static model.
        dynamics: How each word moves, if it was computed.
        calibration: How large errors are compared with variances, if it was computed.
        groups: How groups of texts use words, if there are any.
    """

    words: Sequence[str]
    labels: Sequence[str]
    diffusion: Diffusion
    posterior: Posterior
    occurrences: Occurrences
    method: str
    solver: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    curve: Sequence[Mapping[str, Any]] = ()
    extents: Floats | None = None
    elbo: float | None = None
    counting: Mapping[str, Any] | None = None
    pairs: Floats | None = None
    filter: Mapping[str, Any] | None = None
    arrivals: npt.NDArray[np.int32] | None = None
    stream: Mapping[str, Any] | None = None
    predictions: Floats | None = None
    static_prediction: float | None = None
    dynamics: Dynamics | None = None
    calibration: Calibration | None = None
    groups: Groups | None = None

    def __post_init__(self) -> None:
        fits = {
            "labels": len(self.labels) == len(self.diffusion),
            "extents": self.extents is None or self.extents.shape == (len(self.diffusion), 2),
            "pairs": self.pairs is None or self.pairs.shape == (len(self.diffusion),),
            "predictions": self.predictions is None or self.predictions.shape == (len(self.diffusion),),
            "arrivals": self.arrivals is None or self.arrivals.shape == (len(self.words),),
            "dynamics": self.dynamics is None or self.dynamics.date.shape == (len(self.words),),
            "groups": self.groups is None or self.groups.log_bayes_factor.shape == (len(self.words),),
            "knots": len(self.posterior.knots.starts) == len(self.words) + 1,
            "occurrences": len(self.occurrences.places.starts) == len(self.words) + 1,
            "occurrences' values": len(self.occurrences.values) == len(self.occurrences.places),
        }
        for name, sound in fits.items():
            if not sound:
                raise SettingsError(
                    f"The {name} do not match {len(self.words):,} words and {len(self.diffusion):,} slices.",
                    "Take words, slices and states from the same fit.",
                )

    @property
    def slice_ends(self) -> Floats:
        """The first and last date of each slice in float years, (T, 2); its mean date if they are unknown."""
        times = self.diffusion.times
        return np.column_stack([times, times]) if self.extents is None else self.extents

    @property
    def prediction(self) -> float | None:
        """The log-likelihood per pair over all predicted slices."""
        if self.predictions is None or self.pairs is None:
            return None
        return weighted_mean(self.predictions, self.pairs)


#: Completes a fit with what follows from it: how each word moves, and how groups use it.
Completion = Callable[[Fitted], Fitted]


def weighted_mean(values: npt.ArrayLike, weights: npt.ArrayLike) -> float:
    """The weighted mean of the values (n,) that are not NaN; NaN if all are."""
    values, weights = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    there = ~np.isnan(values)
    return float(np.average(values[there], weights=weights[there])) if there.any() else float("nan")
