"""A poor fit is reported: worse than chance, worse than static vectors, or ended by the limit of steps."""

import dataclasses

import numpy as np
import pytest

import wordtide
from wordtide.api import DynamicEmbeddings
from wordtide.cli.commands.fit import CHANCE, is_cut_off, weaknesses

TEXTS = [
    "the old mill stands by the river and the miller sells flour",
    "the new road runs along the river to the king",
]


@pytest.fixture(scope="module")
def model():
    texts = [
        (str(1900 + year), " ".join(np.random.default_rng(year).permutation(20 * TEXTS[year % 2].split())))
        for year in range(6)
    ]
    return wordtide.fit(wordtide.count(texts), dim=4, threads=1)


def judged(model, prediction, static):
    predictions = np.full(len(model), prediction)
    return weaknesses(
        DynamicEmbeddings(
            dataclasses.replace(model.fitted, predictions=predictions, static_prediction=static)
        )
    )


def test_a_fit_stores_the_prediction_of_each_slice_from_all_others(model):
    assert model.fitted.predictions.shape == (6,)
    assert (model.fitted.predictions < 0).all()
    weighted = np.average(model.fitted.predictions, weights=model.fitted.pairs)
    assert model.fitted.prediction == pytest.approx(weighted)
    # Words hardly move in six years.
    assert model.fitted.static_prediction == pytest.approx(weighted, abs=0.05)


def test_a_filter_predicts_every_slice_but_the_first(model):
    texts = [(str(1900 + year), 20 * TEXTS[year % 2]) for year in range(4)]
    filtered = wordtide.fit(wordtide.count(texts), dim=4, threads=1, method="filtering").fitted
    assert np.isnan(filtered.predictions).tolist() == [True, False, False, False]
    assert filtered.static_prediction is None
    assert filtered.prediction == pytest.approx(
        np.average(filtered.predictions[1:], weights=filtered.pairs[1:])
    )


def test_predictions_are_stored_in_the_folder(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = wordtide.load(tmp_path / "model").fitted
    assert np.array_equal(loaded.predictions, model.fitted.predictions)
    assert loaded.static_prediction == model.fitted.static_prediction


def test_a_good_fit_is_not_called_poor(model):
    assert judged(model, -0.6, -0.61) == judged(model, -0.6, None) == []


def test_a_fit_worse_than_chance_is_reported_with_advice(model):
    (warning,) = judged(model, CHANCE - 0.1, -0.6)
    assert "worse than chance (-0.793 per pair; chance is -0.693)" in warning
    assert "--dim" in warning


def test_a_fit_worse_than_static_vectors_is_reported_with_advice(model):
    (warning,) = judged(model, -0.65, -0.6)
    assert "Static vectors would predict unseen slices better (-0.600 per pair; this model -0.650)" in warning
    assert "--diffusion auto" in warning


def test_a_constant_that_is_far_too_large_is_noticed():
    rng = np.random.default_rng(0)
    words = [f"word{number}" for number in range(60)]
    affinity = rng.dirichlet(np.full(60, 0.1), 6)
    texts = [
        (
            str(1900 + year),
            ". ".join(" ".join(rng.choice(words, 8, p=affinity[rng.integers(6)])) for _ in range(150)),
        )
        for year in range(8)
    ]
    moving = wordtide.fit(wordtide.count(texts), dim=5, threads=1, diffusion=5.0)
    assert any("Static vectors" in warning for warning in weaknesses(moving))
    assert weaknesses(wordtide.fit(wordtide.count(texts), dim=5, threads=1)) == []


def rows(*elbos, slice=None):
    return [{"step": step, "slice": slice, "elbo": elbo} for step, elbo in enumerate(elbos)]


@pytest.mark.parametrize(
    ("curve", "cut_off"),
    [
        (rows(-0.7, None, -0.65), True),
        (rows(-0.7, None, -0.65, -0.65001), False),
        (rows(-0.7, -0.69999, slice=0) + rows(-0.7, slice=1), True),
        (rows(-0.7, -0.69999, slice=0) + rows(-0.7, -0.69999, slice=1), False),
        ([], False),
    ],
)
def test_the_limit_of_steps_is_noticed(curve, cut_off):
    assert is_cut_off(curve, 1e-4) is cut_off
