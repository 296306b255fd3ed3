"""Predictive log-likelihood per pair of unseen slices (the paper's last numbered equation)."""

from collections.abc import Callable

import numpy as np

import wordtide
from wordtide.counts.counts import Counts
from wordtide.evaluation.scores import log_likelihood_per_pair, without_slices
from wordtide.inference.problem import Problem, SliceData
from wordtide.types import Array

Vectors = tuple[Array, Array]


def score(part: SliceData, u: Array, v: Array) -> float:
    """The log-likelihood per pair of a slice, over symmetric pairs of different words.

    n+ is symmetric, but the paper's n- = N P_i P'_j is not: P' is P raised to gamma = 0.75. Separate word and
    context vectors can predict that asymmetry, which is no property of the text; tied ones cannot, nor the
    pairs of a word with itself. The mean over both directions, without these pairs, compares all methods on
    the same footing.
    """
    forward = log_likelihood_per_pair(part, u, v, self_pairs=False)
    return (forward + log_likelihood_per_pair(part, v, u, self_pairs=False)) / 2


def previous_slice_score(problem: Problem, vectors: Callable[[int, Array], Vectors]) -> float:
    """The mean over all slices but the first, each predicted from the vectors of the slice before."""
    scores = [score(part, *vectors(t - 1, part.words)) for t, part in enumerate(problem.slices) if t > 0]
    return float(np.mean(scores))


def smoothed_score(counts: Counts, problem: Problem, **settings: str) -> float:
    """The mean over every tenth slice, left out of the fit, with vectors interpolated between its neighbors."""
    held = list(range(5, len(counts) - 1, 10))
    kept = [t for t in range(len(counts)) if t not in held]
    model = wordtide.fit(without_slices(counts, held), **settings)
    scores = []
    for t in held:
        part, time = problem.slices[t], problem.times[t]
        after = int(np.searchsorted(problem.times[kept], time))
        before_time, after_time = (float(problem.times[kept[k]]) for k in (after - 1, after))
        share = (time - before_time) / (after_time - before_time)
        sides = []
        for context in (False, True):
            states = [
                model.means_at(moment, context=context)[part.words] for moment in (before_time, after_time)
            ]
            sides.append((1 - share) * states[0] + share * states[1])
        scores.append(score(part, sides[0], sides[1]))
    return float(np.mean(scores))
