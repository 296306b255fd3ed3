"""On worlds that resemble text: residuals show how counts scatter, and intervals hold the truth."""

from functools import cache

import numpy as np
import pytest
from simulation.text_worlds import TextKind, draw_text_world, fit_text_world
from text_calibration import deviations

import wordtide

SMALL = TextKind("small", words=500, slices=6, dim=12, pairs=80_000)


@cache
def fitted(method, contexts, poisson):
    world = draw_text_world(TextKind(**{**vars(SMALL), "poisson": poisson}), 5)
    return world, fit_text_world(world, method, contexts)


@pytest.mark.parametrize("contexts", ["tied", "separate"])
@pytest.mark.parametrize("method", ["smoothing", "filtering"])
def test_intervals_of_similarity_hold_the_truth(method, contexts):
    for poisson in (False, True):
        errors, _ = deviations(*fitted(method, contexts, poisson))
        assert 0.84 <= np.mean(np.abs(errors) <= 1.645) <= 0.96


def test_residuals_tell_even_counts_from_bursts():
    even, bursts = (fitted("smoothing", "tied", poisson)[1].fitted.calibration for poisson in (True, False))
    assert even.dispersion < 0.8 * bursts.dispersion


def test_a_saved_model_keeps_its_calibration(tmp_path):
    _, model = fitted("smoothing", "separate", True)
    model.save(tmp_path / "model")
    loaded = wordtide.load(tmp_path / "model")
    assert loaded.fitted.calibration == model.fitted.calibration
    assert loaded.similarity("w1", "w2").equals(model.similarity("w1", "w2"))
