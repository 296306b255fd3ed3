"""Which vectors a question is about: word vectors, context vectors, or the sum of both.

With separate contexts, word and context vectors are independent under the posterior, so means, variances and
covariances of the sum are sums. With tied contexts the context vector is S u with S = diag(+-1), so each
choice is the word vector with its axes scaled: by 1, by S, and by I + S for the sum, which doubles the
positive axes and removes the negative ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from wordtide.embeddings.calibration import recalibrated
from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.trajectories import MovementVariance, Trajectories, Years
from wordtide.errors import SettingsError
from wordtide.model.gaussians import Calibration
from wordtide.model.knots import Occurrences
from wordtide.model.prior import nearest_slice
from wordtide.types import Floats, Integers, Reals

#: The default choice of vectors; docs/mathematics.md defines it.
DEFAULT_VECTORS = "sum"
CHOICES = ("word", "context", "sum")
#: A word is well known at a time if the standard deviation of its vector along its mean is at most this share
#: of the mean.
NOISE = 0.2
#: The same share for the sum of word and context vectors. (Models without calibration treat the errors of
#: separate vectors as independent, which reduces the noise of their sum by this factor.)
SUM_NOISE = 2.0**0.5 * NOISE
#: A word that occurs this often in the slice is well known in any case.
OFTEN = 50
#: Unit vectors that differ by less than this differ by rounding only: the word did not move.
STILL = 1e-9
_NO_LENGTH = 1e-100  # far below any vector, and its inverse squared is still a number


@dataclass(frozen=True)
class Vectors:
    """One kind of vectors of a model. Times are float years, words are numbers."""

    sides: tuple[Trajectories, ...]
    #: Whether there is a posterior; False for point estimates.
    uncertain: bool
    dim: int
    times: Floats
    occurrences: Occurrences
    #: Factors of the axes, (d,); None means 1.
    scale: Floats | None = None
    #: The maximum noise of a well-known word, relative to its mean.
    most_noise: float = NOISE
    #: Scales the variances of a side to the size of its errors; None means those of the posterior.
    calibration: Calibration | None = None
    prior_variance: float = 1.0

    def summed(self, parts: Iterable[Reals], power: int = 1) -> Floats:
        """Add up the parts of both sides, with scaled axes: means, or variances with power 2."""
        total: Any = reduce(add, parts)
        return np.asarray(total if self.scale is None else total * self.scale**power)

    def calibrated(self, variances: Sequence[Reals]) -> Floats:
        """The variances of the sum of the sides (..., d), corrected to the size of its errors."""
        total = self.summed(variances, power=2)
        if self.calibration is None:
            return total
        return total * self.factors(variances[0].mean(axis=-1, dtype=np.float64), len(variances))[..., None]

    @property
    def noise_share(self) -> float:
        """The share of the axes along which these vectors have errors."""
        return 1.0 if self.calibration is None or len(self.sides) == 1 else self.calibration.share

    @property
    def closeness(self) -> float:
        """By how much the prior of these vectors is too sure that words have nothing in common."""
        return 0.0 if self.calibration is None else self.calibration.closeness

    def factors(self, variances: Floats, sides: int) -> Floats:
        """The factors for the summed variances of sides, given those of one, averaged over coordinates.

        The errors of word and context vectors are nearly the same, so their standard deviations add up.
        """
        if self.calibration is None:
            return np.ones(variances.shape)
        return sides * self.calibration.factors(variances, self.prior_variance)

    def means_of(self, word: int, times: Floats) -> Floats:
        """Means of one word at several times, (n, d)."""
        return self.summed(side.word_means(word, times) for side in self.sides)

    def variance_curves(self, words: Integers, times: Floats) -> Floats:
        """Variances of some words at several times, (number of words, n, d)."""
        return self.calibrated([side.variance_curves(words, times) for side in self.sides])

    def means_at(self, time: float, words: Integers | None = None) -> Floats:
        """Means of some words, or of all, at one time, (n, d)."""
        return self.summed(side.means_at(time, words) for side in self.sides)

    def variances_at(self, time: float, words: Integers | None = None) -> Floats:
        """Variances of some words, or of all, at one time, (n, d)."""
        return self.calibrated([side.variances_at(time, words) for side in self.sides])

    def means_at_slices(self, words: Integers) -> Iterator[Floats]:
        """Means of some words at each slice, (n, d), in order of time."""
        return map(self.summed, zip(*(side.means_at_slices(words) for side in self.sides), strict=True))

    def variances_at_slices(self, words: Integers) -> Iterator[Floats]:
        """Variances of some words at each slice, (n, d), in order of time."""
        parts = zip(*(side.variances_at_slices(words) for side in self.sides), strict=True)
        return (self.calibrated(part) for part in parts)

    def means_of_each(self, words: Integers, times: Floats) -> Floats:
        """Means of words at times, pair by pair, (n, d)."""
        return self.summed(side.means_of_each(words, times) for side in self.sides)

    def variances_of_each(self, words: Integers, times: Floats) -> Floats:
        """Variances of words at times, pair by pair, (n, d)."""
        return self.calibrated([side.variances_of_each(words, times) for side in self.sides])

    def means_at_places(self, words: Integers, slices: Integers) -> Floats:
        """Means of words at slices, pair by pair, (n, d)."""
        return self.summed(side.means_at_places(words, slices) for side in self.sides)

    def variances_at_places(self, words: Integers, slices: Integers) -> Floats:
        """Variances of words at slices, pair by pair, (n, d)."""
        return self.calibrated([side.variances_at_places(words, slices) for side in self.sides])

    def recalibrated(self, words: Integers) -> "Vectors":
        """These vectors of some words, renumbered from 0, under the corpus's own prior and noise."""
        sides = tuple(recalibrated(side, words, self.calibration) for side in self.sides)
        return replace(self, sides=sides)

    def uneven(self, variances: Sequence[Reals]) -> Floats:
        """The variance of the sum that contexts known in part leave, from those of recalibrated sides."""
        if self.calibration is None:
            return np.zeros(variances[0].shape)
        own = self.prior_variance * self.calibration.variance
        left = variances[0].mean(axis=-1, keepdims=True) / own
        parts = [np.broadcast_to(own * self.calibration.uneven(left), one.shape) for one in variances]
        return self.summed(parts, power=2)

    @property
    def together(self) -> float:
        """The factor for the summed variances of sides, whose errors are nearly the same."""
        return 1.0 if self.calibration is None else float(len(self.sides))

    def movement(
        self, words: Integers, earlier: Years, later: Years, first_weight: Reals, last_weight: Reals
    ) -> MovementVariance:
        """Variances of last_weight x(later) - first_weight x(earlier) for some words, with weights (n,)."""
        moved = [side.movement(words, earlier, later, first_weight, last_weight) for side in self.sides]
        posterior, sampling = (
            self.together * self.summed((getattr(one, name) for one in moved), power=2)
            for name in ("posterior", "sampling")
        )
        return MovementVariance(posterior, sampling)

    def are_known(
        self, words: Integers, times: Floats, means: Reals, variances: Reals
    ) -> npt.NDArray[np.bool_]:
        """Whether words with these means and variances (n, d) are well known at these times, (n,).

        The mean of a word that is not well known may point anywhere. A word that occurs often at that time is
        always well known.
        """
        often = (self.occurrences.at(words, nearest_slice(self.times, times)) >= OFTEN) & np.isfinite(
            lengths_of(means)
        )
        return np.asarray((relative_noise(means, variances) <= self.most_noise) | often)


def relative_noise(means: Reals, variances: Reals) -> Floats:
    """The standard deviation of vectors along their means, relative to the length of the means, (n,).

    It is NaN for means without a direction.
    """
    return np.asarray(np.sqrt(np.einsum("nk,nk->n", means**2, variances)) / lengths_of(means) ** 2)


def vectors_of(model: Embeddings, choice: str | None = None, calibrated: bool = True) -> Vectors:
    """The vectors called word, context or sum. Variances are those of the posterior unless `calibrated`."""
    choice = DEFAULT_VECTORS if choice is None else choice
    sides = {"word": model.sides[:1], "context": model.sides[1:], "sum": model.sides}
    if choice not in sides:
        raise SettingsError(
            f"{choice!r} is not a kind of vector.", f"Choose {', '.join(CHOICES[:-1])} or {CHOICES[-1]}."
        )
    vectors = Vectors(
        sides[choice],
        model.kind != "point",
        model.dim,
        model.times,
        model.fitted.occurrences,
        calibration=model.calibration if calibrated else None,
        prior_variance=float(np.median(model.diffusion.marginal)),
    )
    signs = model.fitted.posterior.signs
    if choice == "sum" and (signs is not None or vectors.calibration is not None):
        vectors = replace(vectors, most_noise=SUM_NOISE)
    if signs is None:
        return vectors
    scale = {"word": None, "context": signs.astype(np.float64), "sum": 1.0 + signs.astype(np.float64)}
    return replace(vectors, sides=model.sides[:1], scale=scale[choice])


def lengths_of(vectors: npt.NDArray[Any]) -> Floats:
    """Lengths along the last axis; NaN for a vector of (nearly) length zero, which has no direction."""
    lengths = np.sqrt(np.einsum("...k,...k->...", vectors, vectors))
    return np.where(lengths > _NO_LENGTH, lengths, np.nan)
