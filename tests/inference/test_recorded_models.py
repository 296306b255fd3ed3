"""Fits give the numbers of version 0.1, which are stored in `recorded/small_models.npz`."""

from pathlib import Path

import numpy as np
import pytest
from oracles.recorded_world import FITS, results, texts

import wordtide

RECORDED = np.load(Path(__file__).parents[1] / "recorded" / "small_models.npz")
#: The tolerance relative to a number, or to 1 if it is smaller: single precision, less what a fit loses.
CLOSE = 1e-5
#: What was the default of version 0.1: two vectors per word, and 64 negative contexts, here all of them.
SETTINGS = {"dim": 4, "contexts": "separate", "negative_contexts": 64}


@pytest.fixture(scope="module")
def counts():
    return wordtide.count(texts())


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_fit_gives_the_recorded_numbers(counts, name, precision):
    found = results(wordtide.fit(counts, precision=precision, threads=1, **SETTINGS, **FITS[name]))
    recorded = {key.split("/")[1]: RECORDED[key] for key in RECORDED.files if key.split("/")[0] == name}
    assert found.keys() == recorded.keys()
    # Principal axes are eigenvectors, and the sign of an eigenvector is the LAPACK library's choice.
    flips = np.sign((found["mean_u"] * recorded["mean_u"]).sum(axis=0))
    found["mean_u"], found["mean_v"] = found["mean_u"] * flips, found["mean_v"] * flips
    if name == "smoothing-auto" and precision == "float32":
        # The search for D magnifies rounding in the vectors.
        recorded = {key: recorded[key] for key in ("diffusion", "elbo", "predictions")}
    for key, expected in recorded.items():
        difference = np.abs(found[key] - expected) / np.maximum(1.0, np.abs(expected))
        assert np.nanmax(difference, initial=0.0) <= CLOSE, key
