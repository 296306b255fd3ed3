"""Small models for the targets that damage their folders: random states, no fit."""

import numpy as np

from wordtide.api import DynamicEmbeddings
from wordtide.embeddings.posterior import Fitted, Posterior
from wordtide.model.knots import Knots, Occurrences
from wordtide.model.prior import ProductPrior

_WORDS, _SLICES, _DIM = ["steam", "power", "mill", "ship"], 3, 2


def small_model(kind: str) -> DynamicEmbeddings:
    """A model of four words with a knot at every slice: a "filter" has files per slice, a "smoother" one."""
    generator = np.random.default_rng(0)
    total = len(_WORDS) * _SLICES
    knots = Knots(np.arange(0, total + 1, _SLICES), np.tile(np.arange(_SLICES, dtype=np.int32), len(_WORDS)))
    mean_u, mean_v = generator.standard_normal((2, total, _DIM)).astype(np.float32)
    spreads = generator.gamma(1.0, size=(2, total, _DIM)).astype(np.float32)
    names = ("variance_u", "variance_v") if kind == "filter" else ("precision_u", "precision_v")
    fitted = Fitted(
        words=_WORDS,
        labels=[str(1900 + t) for t in range(_SLICES)],
        diffusion=ProductPrior(1900.5 + np.arange(float(_SLICES)), 0.01, 1.0),
        posterior=Posterior(kind, knots, mean_u, mean_v, **dict(zip(names, spreads, strict=True))),
        occurrences=Occurrences(knots, np.arange(1, total + 1)),
        method="filtering" if kind == "filter" else "smoothing",
        solver="natural",
        elbo=-0.5,
        settings={"dim": _DIM},
        curve=[{"step": 1, "slice": None, "elbo": -0.5, "rate": 0.5, "seconds": 0.1}],
    )
    return DynamicEmbeddings(fitted)
