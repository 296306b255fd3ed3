"""Questions answered one word and one coordinate at a time, and models with known states."""

import math
from typing import NamedTuple

import numpy as np
from embeddings.models import diffusion_of, knots_of, model_of
from scipy.stats import norm

from oracles.trajectories import prior_precision
from wordtide.embeddings.posterior import Posterior
from wordtide.model.knots import Knots
from wordtide.questions.vectors import NOISE, OFTEN

Z = 1.6448536269514722  # the 95 % point of the normal distribution
YEARS = np.arange(1900.0, 1912.0)


def planted(kind, means, spread=None, context=None, times=YEARS, constant=0.01, prior_variance=1.0, **facts):
    """A model whose word i has the mean `means[i][t]` at slice t, and a spread, a number or (L, T, d).

    Words are w0, w1, ... or those of `words`. Context vectors have the means `context`, or else those of the
    words.
    """
    means = np.asarray(means, dtype=np.float32)
    context = means if context is None else np.asarray(context, dtype=np.float32)
    total, slices, dim = means.shape
    names = facts.pop("words", [f"w{n}" for n in range(total)])
    spreads = np.broadcast_to(np.asarray(1.0 if spread is None else spread, dtype=np.float32), means.shape)
    knots = Knots(np.arange(total + 1) * slices, np.tile(np.arange(slices, dtype=np.int32), total))
    rows = {"mean_u": means.reshape(-1, dim), "mean_v": context.reshape(-1, dim)}
    name = {"filter": "variance", "smoother": "precision", "point": None}[kind]
    if name:
        rows |= {f"{name}_{side}": spreads.reshape(-1, dim).copy() for side in "uv"}
    places = {word: list(range(slices)) for word in names}
    diffusion = diffusion_of(times, constant, prior_variance)
    return model_of(kind, places, diffusion, posterior=Posterior(kind, knots, **rows), **facts)


def behind_vague_words(kind, vague=100):
    """A model whose nearest words to w0 are hardly known; the last three are less near and well known."""
    generator = np.random.default_rng(1)
    center = 5.0 * np.eye(1, 8)
    near, far = (
        center + reach * generator.standard_normal((size, 8)) for reach, size in ((0.1, vague), (2.0, 3))
    )
    means = np.concatenate([center, near, far])[:, None] * np.ones((1, 12, 1))
    spread = np.full(means.shape, {"smoother": 1e4, "filter": 1e-4}[kind])
    spread[1 : vague + 1] = {"smoother": 0.01, "filter": 9.0}[kind]
    seldom = np.ones(len(means) * 12, dtype=np.int64)
    return planted(kind, means, spread, constant=10.0, prior_variance=200.0, values=seldom)


def state_of(model, word, time, vectors="sum"):
    """Mean and variance (d,) of a word's vector, by the model's own answers about single words."""
    if vectors == "sum" and model.contexts == "tied":  # (I + S) u
        scale = 1.0 + model.fitted.posterior.signs.astype(np.float64)
        return [scale * model.mean(word, time), scale**2 * model.variance(word, time)]
    moments = [np.zeros(model.dim), np.zeros(model.dim)]
    if vectors in ("word", "sum"):
        moments = [moments[0] + model.mean(word, time), moments[1] + model.variance(word, time)]
    if vectors in ("context", "sum"):
        moments = [
            moments[0] + model.context_mean(word, time),
            moments[1] + model.context_variance(word, time),
        ]
    return moments


def draws_of(model, word, n, times, vectors="sum", seed=0):
    """Joint draws of a word's vectors, (n, number of times, d)."""
    sides = {"word": [False], "context": [True], "sum": [False, True]}[vectors]
    return sum(model.sample(word, n, seed=seed, times=times, context=side) for side in sides)


def length(vector):
    return math.sqrt(sum(float(value) ** 2 for value in vector))


def cosine(one, other):
    return sum(float(a) * float(b) for a, b in zip(one, other, strict=True)) / (length(one) * length(other))


def similarity_moments(one, other, covariance=0.0):
    """Mean and variance of u_i . u_j / (|mean_i| |mean_j|), for coordinates with a covariance (d,)."""
    (mean_i, variance_i), (mean_j, variance_j) = one, other
    variance = sum(
        mean_i**2 * variance_j
        + mean_j**2 * variance_i
        + variance_i * variance_j
        + 2.0 * mean_i * mean_j * covariance
        + np.square(covariance)
    )
    return cosine(mean_i, mean_j), variance / (length(mean_i) * length(mean_j)) ** 2


def is_known(model, word, time, vectors="sum"):
    """Whether a word is well known: little noise along its mean, or frequent in the nearest slice."""
    mean, variance = state_of(model, word, time, vectors)
    if not mean.any():
        return False
    nearest = min(range(len(model)), key=lambda t: abs(float(model.times[t]) - time))
    direction = mean / length(mean)
    noise = math.sqrt(sum(direction[k] ** 2 * variance[k] for k in range(model.dim)))
    most = NOISE * math.sqrt(2.0) if model.contexts == "tied" and vectors == "sum" else NOISE
    return noise / length(mean) <= most or model.occurrences(word)[nearest] >= OFTEN


def is_inferred(model, word, time):
    """Whether a word is absent from the slice nearest to a time and from those that count as near."""
    nearest = min(range(len(model)), key=lambda t: abs(float(model.times[t]) - time))
    reach = max(1, round(0.02 * len(model)))
    return not any(model.occurrences(word)[max(nearest - reach, 0) : nearest + reach + 1])


class Near(NamedTuple):
    """A neighbour: its similarity, the interval, and whether it is mostly noise."""

    similarity: float
    low: float
    high: float
    faint: bool

    @property
    def place(self):
        """What lists are sorted by: faint words come last, the others by similarity."""
        return self.faint, -self.similarity


def cosine_interval(one, other):
    """Mean and 90 % interval of the cosine in units of expected lengths, from quantiles."""
    (mean_i, variance_i), (mean_j, variance_j) = (
        (mean / expected, variance / expected**2)
        for mean, variance in (one, other)
        for expected in [math.sqrt(mean @ mean + variance.sum())]
    )
    middle = mean_i @ mean_j
    spread = math.sqrt(
        (mean_i**2 @ variance_j + mean_j**2 @ variance_i + variance_i @ variance_j) * (1.0 - middle**2)
    )
    if spread == 0.0:
        return middle, middle, middle
    low, high = norm(middle, spread).ppf([0.05, 0.95])
    return middle, max(low, -1.0), min(high, 1.0)


def nearest_words(model, word, at, then, vectors="sum"):
    """Of every word that can be a neighbour: word -> Near, in the order of lists."""
    origin = state_of(model, word, at, vectors)
    found = {}
    for other in model.words:
        state = state_of(model, other, then, vectors)
        if (at == then and other == word) or not origin[0].any() or not is_known(model, other, then, vectors):
            continue
        faint = state[1].sum() > 3.0 * state[0] @ state[0]
        found[other] = Near(*cosine_interval(origin, state), faint)
    key = (lambda item: -item[1].similarity) if model.kind == "point" else (lambda item: item[1].place)
    return dict(sorted(found.items(), key=key))


def covariance_of(model, word, at, then, vectors="sum"):
    """Covariance (d,) between two times of a smoothed word's vector."""
    sides = {"word": [False], "context": [True], "sum": [False, True]}[vectors]
    return sum(model.covariance(word, at, then, context=side) for side in sides)


def share_among(values, best):
    """From draws (r, n): how often each of n values is among the `best` largest, (n,)."""
    hits = np.zeros(values.shape[1])
    for row in values:
        hits[np.argsort(-row)[:best]] += 1
    return hits / len(values)


def standard_error_of_variance(draws):
    """How far the variance of so many draws may be off, by their fourth moment."""
    centered = draws - draws.mean()
    return math.sqrt((np.mean(centered**4) - np.var(draws) ** 2) / len(draws))


def divergence(mean, covariance, from_mean, from_covariance):
    """KL(N(mean, covariance) || N(from_mean, from_covariance)) by matrices."""
    inverse, shift = np.linalg.inv(from_covariance), mean - from_mean
    logs = np.linalg.slogdet(from_covariance)[1] - np.linalg.slogdet(covariance)[1]
    return 0.5 * (np.trace(inverse @ covariance) + shift @ inverse @ shift - len(mean) + logs)


def beliefs_of_chain(diffusion, slices, mean, precision, t):
    """The beliefs about one coordinate at slice t before and after its own message: (mean, variance) each.

    The posterior over the knots is N(mean, (Pi + diag(precision))^-1), so the messages are (Pi +
    diag(precision)) mean.
    """
    prior = np.linalg.inv(prior_precision(diffusion, diffusion.times.tolist()))
    slices = [int(s) for s in slices]
    messages = np.linalg.inv(prior[np.ix_(slices, slices)]) @ mean + precision * mean
    beliefs = []
    for passed in ([n for n, s in enumerate(slices) if s < t], [n for n, s in enumerate(slices) if s <= t]):
        whole = np.linalg.inv(prior)
        pull = np.zeros(len(prior))
        for n in passed:
            whole[slices[n], slices[n]] += precision[n]
            pull[slices[n]] += messages[n]
        covariance = np.linalg.inv(whole)
        beliefs.append(((covariance @ pull)[t], covariance[t, t]))
    return beliefs


def diverse_words(nearness, noise, elsewhere, units, pool, shown):
    """Maximal marginal relevance: near here, less near elsewhere, unlike the words chosen before."""
    chosen = []
    while len(chosen) < min(shown, len(pool)):
        worth = {}
        for word in pool:
            if word not in chosen:
                likeness = max((float(units[word] @ units[one]) for one in chosen), default=0.0)
                worth[word] = (
                    nearness[word] - 0.5 * noise[word] - 0.25 * max(elsewhere[word], 0.0) - 0.3 * likeness
                )
        chosen.append(max(worth, key=worth.get))
    return chosen


def uses_by_zipf(generator, words, slices, most=2000.0):
    """How often words occur in slices by Zipf's law, (L, T); the first word about `most` times."""
    return generator.poisson(most / np.arange(1.0, words + 1.0)[:, None] ** 1.1 * np.ones(slices))


def drawn_from(diffusion, words, dim, generator):
    """Trajectories drawn from a prior, (L, T, d)."""
    covariance = np.linalg.inv(prior_precision(diffusion, diffusion.times.tolist()))
    return np.einsum(
        "ts,wsk->wtk", np.linalg.cholesky(covariance), generator.standard_normal((words, len(diffusion), dim))
    )


def exact_model(kind, truth, uses, diffusion, generator, precision=0.05):
    """The exact posterior, by dense algebra, of words w0, w1, ... observed at `truth` (L, T, d).

    Each use adds `precision`. A filter knows at each slice of a word that slice and those before it.
    """
    seen = (
        truth + generator.standard_normal(truth.shape) / np.sqrt(precision * np.maximum(uses, 1))[..., None]
    )
    prior = np.linalg.inv(prior_precision(diffusion, diffusion.times.tolist()))
    places = {f"w{n}": np.flatnonzero(times).tolist() for n, times in enumerate(uses)}
    means, spreads = [np.zeros((0, truth.shape[2]))], [np.zeros((0, truth.shape[2]))]
    for n, slices in enumerate(places.values()):
        for last in [len(slices)] if kind == "smoother" else range(1, len(slices) + 1):
            known = slices[:last]
            h = precision * uses[n, known]
            covariance = np.linalg.inv(np.linalg.inv(prior[np.ix_(known, known)]) + np.diag(h))
            mean, spread = (
                covariance @ (h[:, None] * seen[n, known]),
                h if kind == "smoother" else covariance.diagonal(),
            )
            means.append(mean if kind == "smoother" else mean[-1:])
            spreads.append(np.outer(spread if kind == "smoother" else spread[-1:], np.ones(truth.shape[2])))
    mean, spread = (np.concatenate(parts).astype(np.float32) for parts in (means, spreads))
    name = {"smoother": "precision", "filter": "variance"}[kind]
    both = {f"{name}_{side}": spread for side in "uv"}
    return model_of(
        kind,
        places,
        diffusion,
        posterior=Posterior(kind, knots_of(places), mean, mean, **both),
        values=uses[uses > 0],
    )


def chain_of_data(truth, precision, constant, prior_variance, generator, times=YEARS):
    """A smoothed model of words that are observed at `truth` (L, T, d) in every slice with this precision."""
    diffusion = diffusion_of(times, constant, prior_variance)
    data = truth + generator.standard_normal(truth.shape) / math.sqrt(precision)
    whole = prior_precision(diffusion, diffusion.times.tolist()) + precision * np.eye(len(times))
    means = np.einsum("ts,wsk->wtk", np.linalg.inv(whole), precision * data)
    return planted(
        "smoother", means, precision, times=times, constant=constant, prior_variance=prior_variance
    )
