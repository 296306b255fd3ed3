"""All methods that are compared, and the settings of each.

gensim's epochs and sampling and the compass's start were chosen on seed 0 of the worlds (`comparing.py
--tune`), once for planted drift and once for held-out likelihood, because no one choice is good at both;
tables are of other seeds.
"""

from typing import Any

DIM = 50
OURS = ("smoothing", "filtering", "warm-start", "independent", "static")
GENSIM = ("gensim per-slice", "gensim chained", "gensim compass")
PWE = "pwe"
#: Fitted without the slices that are to be predicted; all others go through the slices in order of time.
LEAVING_OUT = ("smoothing", "static")

#: For planted drift, by the mean auc of both worlds.
FOR_DRIFT: dict[str, dict[str, Any]] = {
    "gensim per-slice": {"epochs": 20, "sample": 1e-3},
    "gensim chained": {"epochs": 20, "sample": 1e-3},
    "gensim compass": {"epochs": 20, "sample": 1e-3, "start": "zero"},
    PWE: {"epochs": 10, "batch_size": 1000, "lambda0": 0.02, "lambda1": 500.0},
}
#: For held-out likelihood.
FOR_LIKELIHOOD: dict[str, dict[str, Any]] = {
    "gensim per-slice": {"epochs": 20, "sample": 0.0},
    "gensim chained": {"epochs": 5, "sample": 0.0},
    "gensim compass": {"epochs": 20, "sample": 1e-3, "start": "pooled"},
    PWE: FOR_DRIFT[PWE],
}
#: By which vectors of a peer words are ranked and dated.
VECTORS = "word"


def settings_of(given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a method, with those that are given."""
    return {"dim": DIM, **(given or {})}


def tuning_grid() -> list[tuple[str, dict[str, Any]]]:
    """What is tried on seed 0."""
    grid: list[tuple[str, dict[str, Any]]] = []
    for method in GENSIM:
        for start in ("zero", "pooled") if method == "gensim compass" else ("zero",):
            tried = ((20, 0.0), (5, 0.0), (20, 1e-3))
            grid += [
                (method, {"epochs": epochs, "sample": sample, "start": start}) for epochs, sample in tried
            ]
    return grid
