"""A peer's vectors as a model of this package, so that one and the same code asks all methods the same
questions.
"""

from collections.abc import Sequence

import numpy as np
from slice_vectors import SliceVectors

from wordtide.api import DynamicEmbeddings
from wordtide.counts.counts import Counts
from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.inference.problem import problem_of
from wordtide.model.knots import occurrences_of
from wordtide.model.prior import ProductPrior


def model_of(counts: Counts, slices: Sequence[SliceVectors], name: str) -> DynamicEmbeddings:
    """Point estimates from the vectors of each slice.

    Every word with a pair in a slice must have vectors there. Words without pairs are left out, as nothing
    was learned of them.
    """
    problem = problem_of(counts)
    dim = slices[0].u.shape[1]
    u, v = np.zeros((2, len(problem.knots), dim), dtype=np.float32)
    for part, rows, given in zip(problem.slices, problem.knots.by_slice, slices, strict=True):
        place = np.full(len(counts.words), -1)
        place[given.words] = np.arange(len(given.words))
        places = place[part.words]
        if (places < 0).any():
            raise ValueError(
                f"{name} has no vector for {counts.words[part.words[np.argmin(places)]]!r} where it occurs."
            )
        u[rows], v[rows] = given.u[places], given.v[places]
    fitted = Fitted(
        words=counts.words,
        labels=counts.labels,
        diffusion=ProductPrior(counts.times, 1.0, 1.0),  # point estimates have no use for it
        posterior=Posterior("point", problem.knots, u, v),
        occurrences=occurrences_of(counts),
        method=name,
        solver=name,
    )
    return DynamicEmbeddings(fitted)
