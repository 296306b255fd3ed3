"""Change between two times: the cosine distance of the means, with bounds for how far the word moved in that direction.

With x = u / |mean| at each of two times, the cosine distance of the means is |E[x_b] - E[x_a]|^2 / 2: half the squared movement
of the means. In its direction e the word itself moved by e . (x_b - x_a), which is normal under the posterior; its variance
includes the covariance between the times. That gives the interval's high end. The low end is the lesser of two:

- the low end of that normal interval;
- what sampling does not explain. Noise chooses e, so along e alone every frequent word would seem to have moved, also one that
  stands still: its means move by sampling, and their squared movement is a weighted sum of chi-squares, with the sampling
  variance of each coordinate as weights. Its mean and 1.645 of its standard deviations are taken off.

So the interval begins above 0 only if the word moved by more than the noise. docs/similarity.md has the figures.
"""

from dataclasses import dataclass, fields

import numpy as np

from wordtide.embeddings.trajectories import Moments
from wordtide.questions.answers import empty_intervals
from wordtide.questions.similarity import SIDES
from wordtide.questions.vectors import STILL, Vectors, lengths_of
from wordtide.types import Floats, Integers, Reals


@dataclass(frozen=True)
class Movement:
    """How far words moved between two times, in units of the lengths of their means: fields (n,).

    `squared`: squared movement of the means. `least`, `most`: 90 % bounds of the squared movement in that direction; the lower
    one is negative for a word that may not have moved. `spread`: standard deviation of the movement in that direction.
    `noise`: variance of the movement summed over all directions.
    """

    squared: Floats
    least: Floats
    most: Floats
    spread: Floats
    noise: Floats

    def joined(self, other: "Movement") -> "Movement":
        """These words, and others after them."""
        return Movement(
            *(np.concatenate([getattr(one, field.name) for one in (self, other)]) for field in fields(self))
        )

    @property
    def change(self) -> Floats:
        """The cosine distance of the means."""
        return np.minimum(self.squared / 2.0, 2.0)  # opposite, and no more by rounding

    def interval(self) -> tuple[Floats, Floats]:
        """The 90 % interval of the change; it begins with 0 if the word may not have moved at all."""
        return np.clip(self.least / 2.0, 0.0, 2.0), np.minimum(self.most / 2.0, 2.0)


def movement(vectors: Vectors, words: Integers, start: Moments, end: Moments) -> Movement:
    """The movement of some words between two times in order: the same for all, or two for each word, (n,)."""
    times = (np.broadcast_to(np.asarray(time, np.float64), len(words)) for time in (start, end))
    first, last = (vectors.means_of_each(words, time) for time in times)
    first_length, last_length = lengths_of(first), lengths_of(last)
    difference = last / last_length[:, None] - first / first_length[:, None]
    squared = np.einsum("nk,nk->n", difference, difference)
    if not vectors.uncertain:
        return Movement(squared, *(empty_intervals(len(words)) for _ in range(4)))
    moved = vectors.movement(words, start, end, 1.0 / first_length, 1.0 / last_length)
    length = np.sqrt(squared)
    spread = np.sqrt(np.einsum("nk,nk->n", _shares(difference, squared), moved.posterior))
    nearest = length - SIDES * spread
    beyond_sampling = (
        squared - moved.sampling.sum(axis=1) - SIDES * _squared_spread(difference, moved.sampling)
    )
    return Movement(
        squared=squared,
        least=np.minimum(nearest * np.abs(nearest), beyond_sampling),
        most=(length + SIDES * spread) ** 2,
        spread=spread,
        noise=moved.posterior.sum(axis=1).astype(np.float64),
    )


def _squared_spread(mean: Floats, variance: Reals) -> Floats:
    """The standard deviation of the squared length of a normal vector with this mean and these variances (n, d), (n,)."""
    return np.asarray(np.sqrt(np.einsum("nk,nk->n", 2.0 * variance + 4.0 * mean**2, variance)))


def _shares(difference: Floats, squared: Floats) -> Floats:
    """The share of each coordinate in the direction of the movement, (n, d); a word that stands still has no direction."""
    still = (squared < STILL**2)[:, None]
    return np.where(still, 1.0 / difference.shape[1], difference**2 / np.where(still, 1.0, squared[:, None]))
