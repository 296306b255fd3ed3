"""Questions answered slowly and plainly, one word and one coordinate at a time; and models whose states are planted."""

import math

import numpy as np
from embeddings.models import diffusion_of, model_of

from oracles.trajectories import moments_of, prior_precision, smoothed_covariance
from wordtide.embeddings.knots import Knots
from wordtide.embeddings.posterior import Posterior

Z = 1.6448536269514722  # the 95 % point of the normal distribution
YEARS = np.arange(1900.0, 1912.0)


def planted(kind, means, spread=None, context=None, times=YEARS, constant=0.01, prior_variance=1.0, **facts):
    """A model whose word i has the mean `means[i][t]` at every slice t, (L, T, d), and the spread (a number, or (L, T, d)).

    Words are w0, w1, ... or those of `words`. Context vectors have the means `context`, or else those of the words.
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


def state_of(model, word, time, vectors="sum"):
    """Mean and variance (d,) of a word's vector, by the model's own answers about single words."""
    moments = [np.zeros(model.dim), np.zeros(model.dim)]
    if vectors in ("word", "sum"):
        moments = [moments[0] + model.mean(word, time), moments[1] + model.variance(word, time)]
    if vectors in ("context", "sum"):
        moments = [moments[0] + model.context_mean(word, time), moments[1] + model.context_variance(word, time)]
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
    """Mean and variance of u_i . u_j / (|mean_i| |mean_j|), for vectors whose coordinates have a covariance (d,)."""
    (mean_i, variance_i), (mean_j, variance_j) = one, other
    variance = sum(
        mean_i**2 * variance_j
        + mean_j**2 * variance_i
        + variance_i * variance_j
        + 2.0 * mean_i * mean_j * covariance
        + np.square(covariance)
    )
    return cosine(mean_i, mean_j), variance / (length(mean_i) * length(mean_j)) ** 2


def is_known(model, mean, time, vectors="sum"):
    """Is a word's mean at least a fifth as long as a vector is under the prior at that time?"""
    if not mean.any():
        return False
    if model.kind == "point":
        return True
    here = moments_of(model.diffusion, [time]).index(time)
    variance = smoothed_covariance(model.diffusion, [], [], [time])[here, here]
    return length(mean) >= 0.2 * math.sqrt(len(mean) * (2.0 if vectors == "sum" else 1.0) * variance)


def nearest_words(model, word, at, then, vectors="sum"):
    """Of every word that can be a neighbour: word -> (similarity, spread), in falling order of similarity."""
    origin = state_of(model, word, at, vectors)
    found = {}
    for other in model.words:
        state = state_of(model, other, then, vectors)
        if (at == then and other == word) or not origin[0].any() or not is_known(model, state[0], then, vectors):
            continue
        own_past = other == word and model.kind == "smoother"
        covariance = covariance_of(model, word, at, then, vectors) if own_past else 0.0
        mean, variance = similarity_moments(origin, state, covariance)
        found[other] = mean, math.sqrt(variance)
    return dict(sorted(found.items(), key=lambda item: -item[1][0]))


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
    """What one coordinate's messages of the knots before slice t, and with that of slice t itself, say about slice t.

    The posterior over the knots is N(mean, (Pi + diag(precision))^-1), so the messages are (Pi + diag(precision)) mean.
    Returns (mean, variance) before and after.
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
    """Maximal marginal relevance, word by word: surely near here, less near elsewhere, unlike those chosen before."""
    chosen = []
    while len(chosen) < min(shown, len(pool)):
        worth = {}
        for word in pool:
            if word not in chosen:
                likeness = max((float(units[word] @ units[one]) for one in chosen), default=0.0)
                worth[word] = nearness[word] - 0.5 * noise[word] - 0.25 * max(elsewhere[word], 0.0) - 0.3 * likeness
        chosen.append(max(worth, key=worth.get))
    return chosen


def chain_of_data(truth, precision, constant, prior_variance, generator, times=YEARS):
    """A smoothed model of words that are at `truth` (L, T, d) and observed there once a slice, with this precision."""
    diffusion = diffusion_of(times, constant, prior_variance)
    data = truth + generator.standard_normal(truth.shape) / math.sqrt(precision)
    whole = prior_precision(diffusion, diffusion.times.tolist()) + precision * np.eye(len(times))
    means = np.einsum("ts,wsk->wtk", np.linalg.inv(whole), precision * data)
    return planted("smoother", means, precision, times=times, constant=constant, prior_variance=prior_variance)
