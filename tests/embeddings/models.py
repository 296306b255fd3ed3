"""Small models with random states, whose words cover all cases: many knots, one, none, early, late, gaps."""

import numpy as np

from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.model.knots import Knots, Occurrences
from wordtide.model.prior import ProductPrior

TIMES = np.array([1850.25, 1851.5, 1851.75, 1854.0, 1860.125, 1861.0, 1862.9, 1870.5])
PLACES = {
    "always": [0, 1, 2, 3, 4, 5, 6, 7],
    "gaps": [0, 3, 4, 7],
    "once": [4],
    "never": [],
    "early": [0, 1],
    "late": [6, 7],
    "middle": [2, 5],
}
WORDS = list(PLACES)
KINDS = ("filter", "smoother", "point")
#: Before, at, between (twice in one step), and after the slices.
MOMENTS = [1840.0, 1850.25, 1850.5, 1851.625, 1855.0, 1857.5, 1860.125, 1865.0, 1870.5, 1890.0]


def diffusion_of(times=TIMES, constant=0.05, prior_variance=1.7, prior=ProductPrior):
    return prior(np.asarray(times, dtype=np.float64), constant, prior_variance)


def knots_of(places):
    starts = np.cumsum([0, *(len(slices) for slices in places.values())]).astype(np.int64)
    return Knots(starts, np.array([t for slices in places.values() for t in slices], dtype=np.int32))


def posterior_of(kind, places=PLACES, dim=3, seed=0):
    generator = np.random.default_rng(seed)
    knots = knots_of(places)
    mean_u, mean_v = generator.standard_normal((2, len(knots), dim)).astype(np.float32)
    spread_u, spread_v = generator.gamma(1.0, size=(2, len(knots), dim)).astype(np.float32)
    spreads = {
        "filter": {"variance_u": spread_u, "variance_v": spread_v},
        "smoother": {"precision_u": 30.0 * spread_u, "precision_v": 30.0 * spread_v},
        "point": {},
    }
    return Posterior(kind, knots, mean_u, mean_v, **spreads[kind])


def model_of(kind, places=PLACES, diffusion=None, seed=0, **facts):
    diffusion = diffusion or diffusion_of()
    posterior = facts.pop("posterior", None) or posterior_of(kind, places, seed=seed)
    where = posterior.knots
    values = facts.pop("values", np.arange(1, len(where) + 1))
    standard = {
        "labels": [f"slice {t}" for t in range(len(diffusion))],
        "method": "smoothing",
        "solver": "natural",
        "elbo": -1.0 / 3.0,
        "settings": {"dim": 3, "rate": 0.5, "words": None},
        "curve": [
            {"step": 1, "slice": None, "elbo": -2.5, "rate": 0.5, "seconds": 0.1},
            {"step": 2, "slice": 3, "elbo": -1.0 / 3.0, "rate": 0.1, "seconds": 0.30000000000000004},
        ],
    }
    fitted = Fitted(
        words=list(places),
        diffusion=diffusion,
        posterior=posterior,
        occurrences=Occurrences(where, values),
        **standard | facts,
    )
    return DynamicEmbeddings(fitted)


def well_known(kind, places=PLACES, **facts):
    """A small random model whose vectors are so long that all words are well known."""
    posterior = posterior_of(kind, places)
    posterior.mean_u[:] *= 40.0
    posterior.mean_v[:] *= 40.0
    return model_of(kind, places, posterior=posterior, **facts)


def crowd(kind, words=60, dim=6, seed=3, longest=4.0):
    """Words word0, word1, ... at random slices with one to 99 occurrences, some of them well known.

    word7 occurs in every slice and is well known.
    """
    generator = np.random.default_rng(seed)
    places = {
        f"word{n}": sorted(generator.choice(8, generator.integers(0, 9), replace=False)) for n in range(words)
    }
    places["word7"] = list(range(8))
    posterior = posterior_of(kind, places, dim, seed)
    reach = generator.uniform(0.1, longest, words)
    reach[7] = longest
    reach = reach[posterior.knots.words].astype(np.float32)[:, None]
    posterior.mean_u[:] *= reach
    posterior.mean_v[:] *= reach
    return model_of(
        kind, places, posterior=posterior, values=generator.integers(1, 100, len(posterior.knots))
    )


def tied(posterior, signs):
    """The same word vectors with tied contexts."""
    spreads = {"variance_u": posterior.variance_u, "precision_u": posterior.precision_u}
    signs = np.asarray(signs, dtype=np.float32)
    return Posterior(posterior.kind, posterior.knots, posterior.mean_u, signs=signs, **spreads)


def tied_crowd(kind):
    """The words of `crowd` with tied contexts."""
    model = crowd(kind)
    posterior = tied(model.fitted.posterior, [1, 1, -1, 1, -1, 1])
    occurrences = model.fitted.occurrences.values
    return model_of(kind, dict.fromkeys(model.words), posterior=posterior, values=occurrences)


def knots_in(model, word, side="u"):
    """Slices, means and variances or precisions of a word's knots, float64."""
    posterior = model.fitted.posterior
    rows = posterior.knots.rows_of(model.words.index(word))
    mean = posterior.mean_u if side == "u" else posterior.mean_v
    spread = posterior.spread(side)
    return (
        posterior.knots.slices[rows],
        mean[rows].astype(float),
        None if spread is None else spread[rows].astype(float),
    )
