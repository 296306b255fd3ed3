"""What there is to tell of a model at a glance."""

from typing import Any

import numpy as np

from wordtide.embeddings.embeddings import DynamicEmbeddings
from wordtide.embeddings.posterior import Posterior

_DEAD = 1e-4


def info_facts(model: DynamicEmbeddings) -> dict[str, Any]:
    """The facts of `wordtide info` for a model folder."""
    return {
        "path": str(model.path),
        "method": model.method,
        "solver": model.solver,
        "kind": model.kind,
        "slices": len(model),
        "first": model.labels[0],
        "last": model.labels[-1],
        "words": len(model.words),
        "words_let_in": len(model.arrivals) or None,
        "dim": model.dim,
        "knots": len(model.fitted.posterior.knots),
        "diffusion": model.diffusion.constant,
        "prior_variance": model.diffusion.prior_variance,
        "elbo": model.elbo,
        "steps": len(model.curve),
        "live_axes": live_axes(model.fitted.posterior),
        "settings": model.settings,
    }


def live_axes(posterior: Posterior) -> int:
    """The number of principal axes that the fit uses: on which the means have above 1/10,000 of the largest second moment."""
    second_moment = np.zeros((posterior.dim, posterior.dim))
    for name in ("mean_u", "mean_v"):
        for piece in posterior.pieces(name):
            second_moment += piece.T @ piece
    moments = np.linalg.eigvalsh(second_moment)
    return int(np.count_nonzero(moments > _DEAD * moments[-1]))
