"""The slices left out of training, how each method predicts them, and the log-likelihood per pair.

    warm-start, independent  the vectors of the previous slice, since the fit is one chronological pass. A
                             word that is absent there keeps its latest vector; a word not seen yet has the
                             zero vector.
    filtering                the mode of the posterior at the previous slice, before it sees this one
    smoothing                linear interpolation in time between the modes at the nearest slices that were
                             not left out
    static                   the vectors of the one model of all slices that were not left out

Two predictors that are not the paper's use the posteriors with their uncertainty:

    filtering (posterior)    the posterior at the previous slice, propagated to this one by diffusion (Eq. 13)
    smoothing (posterior)    the posterior at the time of the slice, where the prior bridges its neighbors
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from wordtide.counts.counts import Counts
from wordtide.counts.vocabulary import select_slices
from wordtide.embeddings.filtered import FilteredTrajectories
from wordtide.embeddings.states import Embeddings
from wordtide.embeddings.trajectories import rows_or_zeros
from wordtide.errors import SettingsError
from wordtide.inference.compute import compute
from wordtide.inference.problem import Problem, SliceData
from wordtide.model.likelihood import (
    ActiveSlice,
    GaussianVectors,
    integrated_log_likelihood,
    log_likelihood,
)
from wordtide.progress import Observer
from wordtide.spelling import counted
from wordtide.timeline import DatedSlices
from wordtide.types import Floats, Integers, Reals

_REMEDY = "Give a share like 0.1: a tenth of the slices."


def held_out_slices(slices: int, share: float, seed: int) -> list[int]:
    """Draw a share of the slices, at least one, to leave out; returns their numbers, ascending.

    The first and the last slice always stay, so that each slice left out lies between two others. No two
    adjacent slices are drawn as long as that is possible (up to half of the slices); all such draws are
    equally likely.

    Raises:
        SettingsError: The share is invalid, or there are too few slices.
    """
    if not isinstance(share, int | float) or not 0.0 < share < 1.0:
        raise SettingsError(f"--holdout {share} is not a share of the slices.", _REMEDY)
    inner = slices - 2
    if inner < 1:
        raise SettingsError(
            f"There {'is' if slices == 1 else 'are'} {counted(slices, 'slice')}, "
            "and an evaluation needs at least 3.",
            "Count again with shorter slices (--every).",
        )
    wanted = max(1, round(share * slices))
    if wanted > inner:
        raise SettingsError(
            f"--holdout {share} would leave out {wanted} of {slices} slices, "
            "but the first and the last must stay.",
            f"Give a share up to {inner / slices:.2g}.",
        )
    generator = np.random.default_rng(seed)
    apart = inner - wanted + 1  # positions that remain if every drawn slice also occupies the next position
    if wanted <= apart:
        chosen = np.sort(generator.choice(apart, wanted, replace=False)) + np.arange(wanted)
    else:
        chosen = np.sort(generator.choice(inner, wanted, replace=False))
    return [int(place) + 1 for place in chosen]


def without_slices(counts: Counts, slices: Sequence[int]) -> Counts:
    """The same counts without some slices. Words, their numbers and dates stay the same."""
    kept = [t for t in range(len(counts)) if t not in set(slices)]
    part, stamps = select_slices(counts, kept), counts.slices.mean_stamps()
    remaining = DatedSlices(**{**vars(part.slices), "stamps": [stamps[t] for t in kept]})
    return part.replaced(remaining, part.arrays, part.summary, part.groups)


#: The methods that can be evaluated.
METHODS = ("smoothing", "filtering", "warm-start", "independent", "static")
#: Those that are fitted without the held-out slices. The others process all slices in order of time.
LEAVING_OUT = ("smoothing", "static")


@dataclass(frozen=True)
class Prediction:
    """Vectors of words (n, d), and the variances of their coordinates (n, d) if they are uncertain."""

    u: Floats
    v: Floats
    u_variance: Floats | None = None
    v_variance: Floats | None = None


#: Predicts the vectors of words at a slice from a model and the times of all slices (T,).
Predictor = Callable[[Embeddings, Floats, int, Integers], Prediction]


def predict_by_previous_slice(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The latest point estimates at slice t - 1, and zeros for words not seen yet."""
    posterior = model.fitted.posterior
    rows = posterior.knots.around(t - 1, words)[0]
    return Prediction(rows_or_zeros(posterior.mean_u, rows), rows_or_zeros(posterior.mean_v, rows))


def predict_by_previous_mode(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The mode of the filter's posterior at slice t - 1."""
    u, v = (side.means_at(float(times[t - 1]), words) for side in model.sides)
    return Prediction(u, v)


def predict_by_diffusion(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The filter's prior at slice t: its posterior at slice t - 1 after a step of diffusion."""
    beliefs = []
    for side in model.sides:
        if not isinstance(side, FilteredTrajectories):
            raise SettingsError(
                f"The model was fitted by {model.method}, not by filtering.", "Give a filtered model."
            )
        beliefs.append(side.predicted(side.knots.around(t - 1, words)[0], np.full(len(words), times[t])))
    return Prediction(beliefs[0][0], beliefs[1][0], beliefs[0][1], beliefs[1][1])


def predict_by_interpolation(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """Linear interpolation between the modes at the model's slices before and after slice t."""
    time = float(times[t])
    after = int(np.searchsorted(model.times, time))
    earlier, later = float(model.times[after - 1]), float(model.times[after])
    share = (time - earlier) / (later - earlier)
    u, v = (
        (1.0 - share) * side.means_at(earlier, words) + share * side.means_at(later, words)
        for side in model.sides
    )
    return Prediction(u, v)


def predict_by_bridge(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The smoother's posterior at the time of slice t, between its slices."""
    time = float(times[t])
    (u, u_variance), (v, v_variance) = (
        (side.means_at(time, words), side.variances_at(time, words)) for side in model.sides
    )
    return Prediction(u, v, u_variance, v_variance)


def predict_by_static_vectors(model: Embeddings, times: Floats, t: int, words: Integers) -> Prediction:
    """The vectors of a static model."""
    u, v = (side.means_at(float(model.times[0]), words) for side in model.sides)
    return Prediction(u, v)


#: The predictors of each method by their names in tables; the first is the paper's.
PREDICTORS: dict[str, dict[str, Predictor]] = {
    "smoothing": {"smoothing": predict_by_interpolation, "smoothing (posterior)": predict_by_bridge},
    "filtering": {"filtering": predict_by_previous_mode, "filtering (posterior)": predict_by_diffusion},
    "warm-start": {"warm-start": predict_by_previous_slice},
    "independent": {"independent": predict_by_previous_slice},
    "static": {"static": predict_by_static_vectors},
}

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
    threads: int | None,
) -> list[SliceScore]:
    """Score all predictors of models, given by method; returns a score per predictor and slice.

    Models fitted without the held-out slices predict these, others all but the first.
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
    """Score slices by the paper's predictor of a method; `shift` is added to all inner products u . v."""
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


def prediction_score(part: SliceData, prediction: Prediction, shift: float) -> float:
    """The log-likelihood per pair of a slice under a prediction of its active words' vectors."""
    if prediction.u_variance is None or prediction.v_variance is None:
        return log_likelihood_per_pair(part, prediction.u, prediction.v, shift, self_pairs=not part.tied)
    u = GaussianVectors(prediction.u, prediction.u_variance)
    v = GaussianVectors(prediction.v, prediction.v_variance)
    return integrated_log_likelihood_per_pair(part, u, v, shift, self_pairs=not part.tied)


def log_likelihood_per_pair(
    part: SliceData, u: Reals, v: Reals, shift: float = 0.0, self_pairs: bool = True
) -> float:
    """Compute log p(n+, n- | U, V) / |n+ + n-| of a slice (Eq. 16), with vectors (a, d).

    `shift` is added to every inner product. A model fitted with eta' in place of the slice's eta predicts
    odds of n+ against n- that are eta / eta' times those of the slice; log(eta' / eta) corrects them.
    `self_pairs`: include the pairs of a word with itself, positive and negative.
    """
    return log_likelihood(ActiveSlice.of(part), u, v, shift, self_pairs) / _pairs(part, self_pairs)


def integrated_log_likelihood_per_pair(
    part: SliceData, u: GaussianVectors, v: GaussianVectors, shift: float = 0.0, self_pairs: bool = True
) -> float:
    """Compute the log likelihood per pair with the uncertainty of vectors integrated out, pair by pair."""
    total = integrated_log_likelihood(ActiveSlice.of(part), u, v, shift, self_pairs)
    return total / _pairs(part, self_pairs)


def _pairs(part: SliceData, self_pairs: bool) -> float:
    """|n+ + n-|, over both directions of a pair."""
    if self_pairs:
        return part.positives + part.negatives
    negatives = part.negatives * float(part.word_probability @ part.context_probability)
    return part.positives + part.negatives - float(part.positive_matrix().diagonal().sum()) - negatives
