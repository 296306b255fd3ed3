"""The predictive log-likelihood per pair of every slice that a method predicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from wordtide.embeddings.states import Embeddings
from wordtide.evaluation.predictors import LEAVING_OUT, PREDICTORS, Prediction, Predictor
from wordtide.inference.compute import compute
from wordtide.inference.prediction import integrated_log_likelihood_per_pair, log_likelihood_per_pair
from wordtide.inference.problem import Problem, SliceData
from wordtide.model.likelihood import GaussianVectors
from wordtide.progress import Observer

_Task = tuple[str, Predictor, Embeddings, int]


@dataclass(frozen=True)
class SliceScore:
    """The log-likelihood per pair of one predicted slice, and its number of pairs, positive and negative."""

    method: str
    slice: int
    time: float
    log_likelihood: float
    pairs: float


def score_models(
    models: Mapping[str, Embeddings],
    problem: Problem,
    held_out: Sequence[int],
    observer: Observer,
    threads: int | None = None,
) -> list[SliceScore]:
    """Score all predictors of models.

    Models fitted without the held-out slices predict these, others all but the first.

    Args:
        models: Models by method.
        problem: The slices to predict.
        held_out: The numbers of the held-out slices.
        observer: Receives the progress.
        threads: The number of threads; None for all cores.

    Returns:
        A score per predictor and slice.
    """
    tasks = [
        (name, predictor, model, t)
        for method, model in models.items()
        for name, predictor in PREDICTORS[method].items()
        for t in (held_out if method in LEAVING_OUT else range(1, len(problem)))
    ]
    return _observed(tasks, problem, 0.0, observer, threads)


def score_slices(
    method: str,
    model: Embeddings,
    problem: Problem,
    slices: Sequence[int],
    observer: Observer,
    threads: int | None = None,
    shift: float = 0.0,
) -> list[SliceScore]:
    """Score slices by the paper's predictor of a method; `shift` is added to the inner products u . v of all
    pairs.
    """
    predictor = next(iter(PREDICTORS[method].values()))
    return _observed([(method, predictor, model, t) for t in slices], problem, shift, observer, threads)


def _observed(
    tasks: Sequence[_Task], problem: Problem, shift: float, observer: Observer, threads: int | None
) -> list[SliceScore]:
    observer.start("scoring", len(tasks), "slices")
    try:
        return list(_scored(tasks, problem, shift, observer, threads))
    finally:
        observer.finish()


def _scored(
    tasks: Sequence[_Task], problem: Problem, shift: float, observer: Observer, threads: int | None
) -> Iterator[SliceScore]:
    with compute("float32", threads) as machine:
        found = machine.pool.map(
            partial(_log_likelihood, problem, shift), *zip(*(task[1:] for task in tasks), strict=True)
        )
        try:
            for (name, _, _, t), value in zip(tasks, found, strict=True):
                observer.step()
                yield SliceScore(name, t, float(problem.times[t]), value, problem.slices[t].pairs)
        except BaseException:
            machine.pool.shutdown(cancel_futures=True)  # Ctrl-C must not wait for the rest
            raise


def _log_likelihood(problem: Problem, shift: float, predictor: Predictor, model: Embeddings, t: int) -> float:
    part = problem.slices[t]
    return prediction_score(part, predictor(model, problem.times, t, part.words.astype(np.int64)), shift)


def prediction_score(part: SliceData, prediction: Prediction, shift: float = 0.0) -> float:
    """The log-likelihood per pair of a slice under a prediction of its active words' vectors."""
    if prediction.u_variance is None or prediction.v_variance is None:
        return log_likelihood_per_pair(part, prediction.u, prediction.v, shift, self_pairs=not part.tied)
    u = GaussianVectors(prediction.u, prediction.u_variance)
    v = GaussianVectors(prediction.v, prediction.v_variance)
    return integrated_log_likelihood_per_pair(part, u, v, shift, self_pairs=not part.tied)
