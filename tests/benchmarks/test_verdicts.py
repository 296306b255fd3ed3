"""In small worlds of text a change of register is style, a change of meaning is an effect, and shuffled dates
leave nothing to find.
"""

from dataclasses import replace

import numpy as np
import pytest
from heavy_tails import Smoothed
from register_change import FIRST, SECOND, in_registers
from simulation import Cast, template_world
from verdicts import shuffled

import wordtide
from wordtide.questions.function_words import function_words

SIZES = {"tokens": 120_000, "vocabulary": 800, "slices": 12, "topics": 10, "frequencies": (1e-3, 2e-3)}
SETTINGS = {"dim": 20, "threads": 1}


@pytest.fixture(scope="module")
def world():
    return template_world(7, cast=Cast(jump=4, drift=2, stable=4, vanish=0, appear=0, up=1, down=1), **SIZES)


@pytest.fixture(scope="module")
def model(world):
    return wordtide.fit(wordtide.count(in_registers(world, 7, changing=True), workers=1), **SETTINGS)


def test_a_change_of_register_is_reported_as_style(model):
    particles = np.array([model.word_number(word) for word in (*FIRST, *SECOND)])
    dynamics = model.dynamics
    assert dynamics.significant[particles].all()
    assert (dynamics.style[particles] > 5.0 * dynamics.effect[particles]).all()
    assert (dynamics.effect_low[particles] < 0.005).all()
    assert function_words(model)[particles].all()


def test_a_change_of_meaning_is_not_style(model, world):
    moving = np.array([model.word_number(word.word) for word in world.moving])
    found = moving[model.dynamics.significant[moving]]
    assert len(found) >= 4
    assert (model.dynamics.effect[found] > 2.0 * model.dynamics.style[found]).all()


def test_words_with_a_change_of_meaning_come_first(model, world):
    table = model.changed(top=4, function_words=True)
    assert set(table["word"]) <= {word.word for word in world.moving}
    assert (table["style"] < table["effect"]).all()


def test_shuffled_dates_leave_no_verdict(world):
    model = wordtide.fit(wordtide.count(shuffled(world, 7), workers=1), **SETTINGS)
    assert not model.dynamics.significant.any()


def test_normal_increments_give_the_trajectories_of_a_model_without_verdicts(model):
    still, smoothed = wordtide.DynamicEmbeddings(replace(model.fitted, dynamics=None)), Smoothed(model)
    middle = float(model.times[3:5].mean())
    assert smoothed.at(middle) == pytest.approx(still.means_at(middle), abs=1e-4)
    assert smoothed.means[3] == pytest.approx(still.means_at(float(model.times[3])), abs=1e-4)
