"""Models with drawn messages, whose words stay, jump, change gradually, or burst."""

import numpy as np
from embeddings.models import diffusion_of, knots_of
from oracles.natural import prior_covariance

from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.model.knots import Occurrences
from wordtide.model.prior import StationaryPrior

YEARS, DIM = 16, 6
TIMES = 1900.5 + np.arange(YEARS)
PLACES = {
    "still": list(range(YEARS)),
    "jumps": list(range(YEARS)),
    "ramps": list(range(YEARS)),
    "bursts": list(range(YEARS)),
    "gaps": [0, 1, 2, 3, 4, 11, 12, 13, 14, 15],
    "rare": [0, 1, 14, 15],
}
WORDS = {word: number for number, word in enumerate(PLACES)}
OTHERS = 30  # stable words, among which the moving ones are few


def truth(rng, word, years):
    """Where a word is at some years, (n, d)."""
    first, second = rng.normal(size=(2, DIM)) * 0.6
    share = {
        "jumps": years >= 1908.0,
        "gaps": years >= 1908.0,
        "rare": years >= 1908.0,
        "ramps": np.clip((years - 1903.5) / 9.0, 0.0, 1.0),
        "bursts": (years >= 1905.0) & (years < 1911.0),
    }.get(word, np.zeros(len(years)))
    return first + np.asarray(share, dtype=float)[:, None] * (second - first)


def drawn(kind, prior=StationaryPrior, seed=1, strength=30.0):
    """A model whose messages are drawn around known places: the record, precisions and messages."""
    rng = np.random.default_rng(seed)
    places = PLACES | {f"other{n}": list(range(YEARS)) for n in range(OTHERS)}
    knots, diffusion = knots_of(places), diffusion_of(TIMES, 0.001, 0.4, prior)
    h = rng.gamma(5.0, strength / 5.0, size=(len(knots), DIM))
    b = np.empty_like(h)
    mean, spread = np.empty_like(h), np.empty_like(h)
    for number, word in enumerate(places):
        rows = np.r_[knots.rows_of(number)]
        x = truth(rng, word, TIMES[places[word]])
        b[rows] = h[rows] * x + np.sqrt(h[rows]) * rng.normal(size=x.shape)
        dense = smoothed if kind == "smoother" else filtered
        mean[rows], spread[rows] = dense(diffusion, np.array(places[word]), h[rows], b[rows])
    values = np.full(len(knots), 50)
    values[knots.rows_of(WORDS["rare"])] = 1
    name = "precision_u" if kind == "smoother" else "variance_u"
    signs = np.ones(DIM, np.float32)
    states = {"mean_u": mean.astype(np.float32), name: spread.astype(np.float32)}
    fitted = Fitted(
        words=list(places),
        labels=[str(int(year)) for year in TIMES],
        diffusion=diffusion,
        posterior=Posterior(kind, knots, signs=signs, **states),
        occurrences=Occurrences(knots, values),
        method="smoothing" if kind == "smoother" else "filtering",
        solver="natural",
        extents=np.column_stack([TIMES - 0.4, TIMES + 0.4]),
    )
    return fitted, h, b


def smoothed(diffusion, slices, h, b):
    """Means and data precisions."""
    prior = np.linalg.inv(prior_covariance(diffusion)[np.ix_(slices, slices)])
    columns = [np.linalg.solve(prior + np.diag(h[:, k]), b[:, k]) for k in range(h.shape[1])]
    return np.column_stack(columns), h


def filtered(diffusion, slices, h, b):
    """Means and variances given the past, by the transitions of the prior."""
    means, variances = [], []
    mean, variance, since = np.zeros(h.shape[1]), np.full(h.shape[1], diffusion.prior_variance), 0
    for t, precision, message in zip(slices, h, b, strict=True):
        ends = diffusion.times[[since]], diffusion.times[[t]]
        mean, variance = (one[0] for one in diffusion.transition(*ends).predict(mean[None], variance[None]))
        added = 1.0 / (1.0 / variance + precision)
        mean, variance, since = added * (mean / variance + message), added, t
        means.append(mean)
        variances.append(variance)
    return np.array(means), np.array(variances)
