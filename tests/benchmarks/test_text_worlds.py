"""On worlds that resemble text: residuals show how counts scatter, and intervals hold the truth."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from simulation.text_worlds import TextKind, draw_text_world, fit_text_world
from text_calibration import listed, pairs_held, random_kind

import wordtide

SMALL = TextKind("small", words=500, slices=6, dim=12, pairs=80_000)
MANY = TextKind("many words", words=800, slices=6, dim=30, pairs=150_000)
#: Random worlds with clusters that played no part in choosing rules, of different sizes and drift.
CLUSTERS = tuple(map(random_kind, (203, 204, 231)))


@cache
def fitted(method, contexts, poisson, kind=SMALL):
    world = draw_text_world(replace(kind, poisson=poisson), 5)
    return world, fit_text_world(world, method, contexts)


@pytest.mark.parametrize("contexts", ["tied", "separate"])
@pytest.mark.parametrize("method", ["smoothing", "filtering"])
def test_intervals_and_probabilities_hold(method, contexts):
    for poisson in (False, True):
        held = pairs_held(*fitted(method, contexts, poisson))
        assert 0.86 <= held.mean() <= 0.94
        held, stated, near, error, error_of_means = listed(*fitted(method, contexts, poisson))
        assert 0.84 <= held.mean() <= 0.98
        assert abs(stated.mean() - near.mean()) < 0.12
        assert (error**2).mean() < (error_of_means**2).mean()


@pytest.mark.parametrize("contexts", ["tied", "separate"])
@pytest.mark.parametrize("method", ["smoothing", "filtering"])
def test_words_that_belong_together_are_as_near_as_stated(method, contexts):
    assert fitted(method, contexts, True, MANY)[1].calibration.closeness < 2.0
    world, model = fitted(method, contexts, True, replace(MANY, cluster=15))
    assert model.calibration.closeness > 5.0
    held, _, _, error, _ = listed(world, model)
    apart = wordtide.DynamicEmbeddings(model.fitted)
    apart.calibration = replace(model.calibration, closeness=0.0)
    held_apart, _, _, error_apart, _ = listed(world, apart)
    assert held.mean() >= 0.87
    assert held_apart.mean() < 0.82
    assert (error**2).mean() < 0.9 * (error_apart**2).mean()


@pytest.mark.parametrize("contexts", ["tied", "separate"])
@pytest.mark.parametrize("method", ["smoothing", "filtering"])
def test_intervals_of_words_that_belong_together_hold_in_random_worlds(method, contexts):
    held = [listed(*fitted(method, contexts, kind.poisson, kind))[0] for kind in CLUSTERS]
    assert 0.87 <= np.concatenate(held).mean() <= 0.93


@pytest.mark.parametrize("method", ["smoothing", "filtering"])
def test_residuals_tell_even_counts_from_bursts(method):
    even, bursts = (fitted(method, "tied", poisson)[1].calibration for poisson in (True, False))
    assert even.dispersion < 0.8 * bursts.dispersion


def test_the_sum_of_separate_vectors_varies_in_the_positive_directions():
    world, model = fitted("smoothing", "separate", True)
    assert model.calibration.share == pytest.approx(np.mean(world.signs > 0), abs=0.12)
    assert fitted("smoothing", "tied", True)[1].calibration.share == 1.0


def test_a_saved_model_keeps_its_calibration(tmp_path):
    _, model = fitted("smoothing", "separate", True)
    model.save(tmp_path / "model")
    loaded = wordtide.load(tmp_path / "model")
    assert loaded.fitted.calibration == model.fitted.calibration
    assert loaded.similarity("w1", "w2").equals(model.similarity("w1", "w2"))
