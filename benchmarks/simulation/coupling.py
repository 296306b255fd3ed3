"""A posterior in which all vectors depend on each other: for small models, where mean-field intervals are too
narrow.

The fit takes all vectors as independent. But the likelihood sees inner products alone, and some linear maps
common to all words change none of them: (U A, V A^-T) for separate contexts, u -> B u with B^T S B = S for
tied ones. Along these maps only the prior holds the vectors, and all of them move together. Here the whole
precision is built at the means of the fit: that of the prior, and the Fisher information of all pairs, which
couples each word with each context,

    Pi + sum over pairs of r J J^T,    r = (n+ + n-) p (1 - p),    p = sigmoid(x_ij)

For separate contexts x_ij = u_i . v_j, and J = (v_j, u_i) at the places of u_i and v_j. For tied ones x_ij =
u_i . S u_j, each unordered pair counts once, and J = (S u_j, S u_i) at the places of u_i and u_j. The inverse
is the covariance. A rotation common to all vectors (tied: within the axes of a sign) changes no answer, so
the covariance is conditioned on no rotation. docs/evidence.md has the figures: what it repairs, and what
it does not.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from wordtide.api import DynamicEmbeddings
from wordtide.counts.counts import Counts
from wordtide.embeddings.states import Times
from wordtide.errors import SettingsError
from wordtide.inference.problem import PairSettings, Problem, problem_of
from wordtide.model.prior import Diffusion
from wordtide.questions.asking import Answer
from wordtide.questions.similarity import interval
from wordtide.questions.vectors import lengths_of
from wordtide.types import Floats, Reals

if TYPE_CHECKING:
    import pandas as pd

#: Of 2 T L d numbers (tied contexts: T L d) at most: their covariance takes 290 MB, and up to four arrays of
#: its size are in memory at a time.
MOST_NUMBERS = 6000
_CHOICES = ("word", "context", "sum")


@dataclass(frozen=True)
class CoupledPosterior:
    """A Gaussian over all vectors at all slices.

    Attributes:
        model: The model whose means it has.
        mean: Words and contexts, (2, T, L, d), or words alone if contexts are tied, (1, T, L, d).
        covariance: (n, n), where n is the number of means.
    """

    model: DynamicEmbeddings
    mean: Floats
    covariance: Floats

    def sample(self, n: int, seed: int = 0) -> Floats:
        """Joint draws of all vectors, (n, sides, T, L, d)."""
        if n < 1 or seed < 0:
            raise SettingsError(
                f"{n} draws with seed {seed} cannot be made.",
                "Give at least one draw, and a seed of 0 or more.",
            )
        noise = np.random.default_rng(seed).standard_normal((n, len(self.covariance)))
        drawn: Floats = self.mean + (noise @ self._root.T).reshape(n, *self.mean.shape)
        return drawn

    def similarity(
        self, word: str, *others: str, times: Times = None, vectors: str = "sum"
    ) -> "pd.DataFrame":
        """Similarity of a word to others at slices, as the model's own `similarity` has it, with intervals of
        this posterior.

        Columns: time, word, other, similarity, low, high. `times` must be those of slices; None means all.
        """
        if not others:
            raise SettingsError(f"There is no word to compare {word!r} with.", "Give at least one more word.")
        number, *numbers = (self.model.word_number(name) for name in (word, *others))
        columns: dict[str, list[object]] = {
            name: [] for name in ("time", "word", "other", "similarity", "low", "high")
        }
        for other, name in zip(numbers, others, strict=True):
            for year in self.model.years(times):
                t = self.model.slice_of_year(float(year))
                if t is None:
                    raise SettingsError(
                        f"{year:.2f} is not the time of a slice.", "Give times of slices, or none for all."
                    )
                mean, spread = (
                    array[0] for array in self.similarity_and_spread(t, [number], [other], vectors)
                )
                low, high = interval(mean, spread)
                for column, value in zip(
                    columns.values(), (float(year), word, name, mean, low, high), strict=True
                ):
                    column.append(value)
        return Answer(columns).frame()

    def similarity_and_spread(
        self, t: int, ones: list[int], others: list[int], vectors: str = "sum"
    ) -> tuple[Floats, Floats]:
        """The similarity of pairs of words at slice t and its standard deviation, (n,) each, pair by pair."""
        one, other = np.asarray(ones), np.asarray(others)
        weights = self._weights(vectors)
        means = np.einsum("sk,sik->ik", weights, self.mean[:, t])
        lengths = lengths_of(means)
        x = means / lengths[:, None]

        def block(some: Floats, rest: Floats) -> Floats:
            """Covariances (n, d, d) of the vectors of words, pair by pair, in units of the means' lengths."""
            places = self._by_place
            total = np.zeros((len(some), self.mean.shape[-1], self.mean.shape[-1]))
            for a, weight in enumerate(weights):
                for b, other_weight in enumerate(weights):
                    if weight.any() and other_weight.any():
                        total += np.outer(weight, other_weight) * places[a, t, some, :, b, t, rest, :]
            return np.asarray(total / (lengths[some] * lengths[rest])[:, None, None])

        own, its, both = block(one, one), block(other, other), block(one, other)
        mean = np.einsum("nk,nk->n", x[one], x[other])
        # First order in the noises, and the product of both: moments of a bilinear form of Gaussians.
        variance = np.einsum("nk,nkl,nl->n", x[other], own, x[other]) + np.einsum(
            "nk,nkl,nl->n", x[one], its, x[one]
        )
        variance += 2.0 * np.einsum("nk,nkl,nl->n", x[other], both, x[one])
        variance += np.einsum("nkl,nkl->n", own, its) + np.einsum("nkl,nlk->n", both, both)
        return np.where(one == other, 1.0, np.clip(mean, -1.0, 1.0)), np.where(
            one == other, 0.0, np.sqrt(variance)
        )

    def _weights(self, vectors: str) -> Floats:
        """The weight of each side and axis in the vectors asked for, (sides, d)."""
        if vectors not in _CHOICES:
            raise SettingsError(f"There are no vectors {vectors!r}.", f"Choose {', '.join(_CHOICES)}.")
        signs, ones = self.model.fitted.posterior.signs, np.ones(self.mean.shape[-1])
        word, context = float(vectors != "context"), float(vectors != "word")
        if signs is not None:
            return (word * ones + context * signs)[None]
        return np.stack([word * ones, context * ones])

    @cached_property
    def _by_place(self) -> Floats:
        return self.covariance.reshape(*self.mean.shape, *self.mean.shape)

    @cached_property
    def _root(self) -> Floats:
        """A matrix whose product with its transpose is the covariance, which has no inverse: rotations have
        no variance.
        """
        values, axes = linalg.eigh(self.covariance)
        return np.asarray(axes * np.sqrt(np.maximum(values, 0.0)))


def couple(model: DynamicEmbeddings, counts: Counts) -> CoupledPosterior:
    """Compute the coupled posterior of a small smoothed model.

    The fit should have converged: use `negative_contexts=0`, and more steps than by default if counts are
    large.

    Args:
        model: The model.
        counts: The counts that it was fitted to.

    Returns:
        The joint posterior of all vectors.

    Raises:
        SettingsError: The model has no such posterior, is too large, or belongs to other counts.

    >>> import wordtide
    >>> texts = [(year, "the old mill stands by the new mill") for year in ("1900", "1925", "1950")]
    >>> counts = wordtide.count(texts)
    >>> coupled = couple(wordtide.fit(counts, dim=2, threads=1, negative_contexts=0, max_steps=60), counts)
    >>> coupled.sample(10).shape
    (10, 1, 3, 6, 2)
    """
    if list(counts.words) != model.words or list(counts.labels) != model.labels:
        raise SettingsError(
            "The counts have other words or slices than the model.", "Give the counts that were fitted."
        )
    try:
        ratio, exponent = float(model.settings["negative_ratio"]), float(model.settings["context_exponent"])
    except KeyError:
        raise SettingsError(
            "The model does not record how it was fitted.", "Give a model that wordtide fitted."
        ) from None
    return couple_problem(model, problem_of(counts, PairSettings(ratio, exponent, model.contexts == "tied")))


def couple_problem(model: DynamicEmbeddings, problem: Problem) -> CoupledPosterior:
    """Compute the coupled posterior of a small smoothed model from the problem that it solves."""
    if model.kind != "smoother":
        raise SettingsError(
            f"A model by {model.method} has no posterior over all times.", "Fit with method smoothing."
        )
    signs = model.fitted.posterior.signs
    sides = model.sides if signs is None else model.sides[:1]
    numbers = len(sides) * len(model) * len(model.words) * model.dim
    if numbers > MOST_NUMBERS:
        raise SettingsError(
            f"{len(model.words):,} words, {len(model)} slices and {model.dim} dimensions have {numbers:,} numbers, "
            f"but the covariance is computed for {MOST_NUMBERS:,} at most.",
            "Count with a smaller --vocabulary-size or longer slices, or fit with fewer dimensions.",
        )
    mean = np.stack([[side.means_at(float(time)) for time in model.times] for side in sides])
    covariance = linalg.inv(precision_of(problem, model.diffusion, mean, signs), overwrite_a=True)
    covariance += covariance.T.copy()
    covariance *= 0.5
    rotations = rotations_of(mean, signs)
    if rotations.shape[1]:  # a single dimension cannot be rotated
        moved = covariance @ rotations
        covariance -= moved @ linalg.pinvh(rotations.T @ moved) @ moved.T
    return CoupledPosterior(model, mean, covariance)


def precision_of(problem: Problem, diffusion: Diffusion, mean: Floats, signs: Reals | None = None) -> Floats:
    """Minus the expected second derivative of log prior and log likelihood at vectors (sides, T, L, d), (n,
    n).

    `signs` (d,): those of tied contexts, which have one side.
    """
    sides, _, words, dim = mean.shape
    precision = np.zeros(mean.shape * 2)
    diagonal, beside = diffusion.precision()
    prior = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    side, word, axis = (index.ravel() for index in np.indices((sides, words, dim)))
    for one, other in zip(*np.nonzero(prior), strict=True):
        precision[side, one, word, axis, side, other, word, axis] = prior[one, other]
    for t, part in enumerate(problem.slices):
        active = part.words
        here = np.ix_(active, np.arange(dim), active, np.arange(dim))
        u = mean[0, t][active]
        v = mean[1, t][active] if signs is None else u * signs
        p = 1.0 / (1.0 + np.exp(-(u @ v.T)))
        r = (part.positive_matrix().toarray() + part.negative_matrix()) * p * (1.0 - p)
        precision[0, t, active, :, 0, t, active, :] += np.einsum("ij,jk,jl->ikl", r, v, v, optimize=True)
        if signs is not None:  # r is symmetric, and each of the two blocks of a pair gets its own half of it
            precision[0, t, :, :, 0, t][here] += np.einsum("ij,jk,il->ikjl", r, v, v, optimize=True)
            continue
        precision[1, t, active, :, 1, t, active, :] += np.einsum("ij,ik,il->jkl", r, u, u, optimize=True)
        both = np.einsum("ij,jk,il->ikjl", r, v, u, optimize=True)
        precision[0, t, :, :, 1, t][here] += both
        precision[1, t, :, :, 0, t][here] += both.transpose(2, 3, 0, 1)
    return precision.reshape(mean.size, mean.size)


def rotations_of(mean: Floats, signs: Reals | None = None) -> Floats:
    """How vectors (sides, T, L, d) begin to move when all are rotated together, one column per plane of
    rotation.

    With `signs` (d,) only planes within the axes of one sign: other rotations change scores.
    """
    planes = [
        (one, other)
        for one, other in zip(*np.triu_indices(mean.shape[-1], 1), strict=True)
        if signs is None or signs[one] == signs[other]
    ]
    rotations = np.zeros((mean.size, len(planes)))
    for number, (one, other) in enumerate(planes):
        rotated = np.zeros_like(mean)
        rotated[..., one], rotated[..., other] = mean[..., other], -mean[..., one]
        rotations[:, number] = rotated.ravel()
    return rotations
