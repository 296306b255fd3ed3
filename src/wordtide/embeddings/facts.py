"""A summary of a model, and warnings about poor fits."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wordtide.embeddings.posterior import Posterior
from wordtide.embeddings.states import Embeddings

#: What vectors of length zero predict: positive and negative pairs are equally likely.
CHANCE = -math.log(2.0)
_WORSE = 0.002  # than static vectors, per pair: smaller differences are within the approximation error
_DEAD = 1e-4


def info_facts(model: Embeddings) -> dict[str, Any]:
    """The facts of `wordtide info` for a model folder."""
    return {
        "path": str(model.path),
        "method": model.method,
        "solver": model.solver,
        "kind": model.kind,
        "contexts": model.fitted.posterior.contexts,
        "slices": len(model),
        "first": model.labels[0],
        "last": model.labels[-1],
        "words": len(model.words),
        "words_let_in": len(model.arrivals) or None,
        "dim": model.dim,
        "knots": len(model.fitted.posterior.knots),
        "diffusion": model.diffusion.constant,
        "prior": model.diffusion.name,
        "prior_variance": model.diffusion.prior_variance,
        "elbo": model.elbo,
        "prediction": _number(model.fitted.prediction),
        "static_prediction": _number(model.fitted.static_prediction),
        "steps": len(model.curve),
        "live_axes": live_axes(model.fitted.posterior),
        "settings": model.settings,
    }


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def weaknesses(model: Embeddings) -> list[str]:
    """Reasons why a fit is poor, with advice, judged by how well it predicts slices it has not seen."""
    found = _number(model.fitted.prediction)
    if found is None:
        return []
    if found < CHANCE:
        return [
            f"This model predicts unseen slices worse than chance ({found:.3f} per pair; "
            f"chance is {CHANCE:.3f}). Count with longer slices (--every) or fewer words "
            "(--vocabulary-size), or fit with a lower --dim."
        ]
    static = _number(model.fitted.static_prediction)
    if static is not None and found < static - _WORSE:
        return [
            f"Static vectors would predict unseen slices better ({static:.3f} per pair; "
            f"this model {found:.3f}). Fit with --diffusion auto, or with a smaller --diffusion."
        ]
    return []


def is_cut_off(curve: Sequence[Mapping[str, Any]], tolerance: float) -> bool:
    """Whether the limit of steps ended the fit, or that of any slice, before the ELBO changed by less than
    the tolerance.
    """
    last: dict[Any, list[float]] = {}
    for row in curve:
        if row["elbo"] is not None:
            last.setdefault(row["slice"], []).append(row["elbo"])
    return any(
        len(elbos) < 2 or abs(elbos[-1] - elbos[-2]) > tolerance * abs(elbos[-1]) for elbos in last.values()
    )


def live_axes(posterior: Posterior) -> int:
    """The number of principal axes that the fit uses: on which the means have above 1/10,000 of the largest
    second moment.
    """
    second_moment = np.zeros((posterior.dim, posterior.dim))
    for name in (f"mean_{side}" for side in posterior.sides):
        for piece in posterior.pieces(name):
            second_moment += piece.T @ piece
    moments = np.linalg.eigvalsh(second_moment)
    return int(np.count_nonzero(moments > _DEAD * moments[-1]))
