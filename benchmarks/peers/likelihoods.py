"""Held-out log-likelihood per pair, for models of this package and for peers, on one scale.

A skip-gram model with k negative samples states log odds against k noise words for each pair, ours against
eta (1). So its scores are shifted by log(k / eta) before they are compared. That is what its own objective
says; the constant that would have suited the held-out slices best is reported too.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from wordtide.embeddings.states import Embeddings
from wordtide.evaluation.scores import PREDICTORS, Predictor, predict_by_previous_slice, prediction_score
from wordtide.inference.problem import Problem

ETA = 1.0


def shift_of(negatives: float) -> float:
    """The shift for scores that were trained against this many noise words per pair."""
    return math.log(negatives / ETA)


def own_scores(model: Embeddings, problem: Problem, slices: Sequence[int]) -> list[float]:
    """Scores of a model of ours by the paper's measure."""
    predictor = next(iter(PREDICTORS[model.method].values()))
    return [_score(predictor, model, problem, t, 0.0) for t in slices]


def peer_scores(model: Embeddings, problem: Problem, slices: Sequence[int], shift: float) -> list[float]:
    """Scores of a peer: each slice by the vectors of the slice before, or the latest there are; zeros for
    unseen words.
    """
    return [_score(predict_by_previous_slice, model, problem, t, shift) for t in slices]


def best_shift(mean_score: Callable[[float], float]) -> tuple[float, float]:
    """The constant with the highest mean score, to a few hundredths, and that score."""
    found = minimize_scalar(
        lambda shift: -mean_score(shift), bounds=(-6.0, 6.0), method="bounded", options={"xatol": 0.03}
    )
    return float(found.x), -float(found.fun)


def _score(predictor: Predictor, model: Embeddings, problem: Problem, t: int, shift: float) -> float:
    part = problem.slices[t]
    return prediction_score(part, predictor(model, problem.times, t, part.words.astype(np.int64)), shift)
