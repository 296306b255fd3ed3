"""Neighbours at every slice are those of asking at each slice."""

import numpy as np
import pytest
from embeddings.models import KINDS, TIMES, model_of, posterior_of
from numpy.testing import assert_allclose

from wordtide.embeddings.questions import over_time
from wordtide.embeddings.questions.neighbors import neighbors
from wordtide.embeddings.questions.over_time import neighbors_over_time
from wordtide.errors import SettingsError

COLUMNS = ["time", "word", "similarity", "low", "high", "occurrences"]
each_kind = pytest.mark.parametrize("kind", KINDS)


def crowd(kind, seed=3):
    """Sixty words that occur at random places, some nowhere, some known well enough to be neighbours and some not."""
    generator = np.random.default_rng(seed)
    places = {f"word{n}": sorted(generator.choice(8, generator.integers(0, 9), replace=False)) for n in range(60)}
    posterior = posterior_of(kind, places, 6, seed)
    reach = generator.uniform(0.1, 1.5, 60)[posterior.knots.words].astype(np.float32)[:, None]
    posterior.mean_u[:] *= reach
    posterior.mean_v[:] *= reach
    return model_of(kind, places, posterior=posterior)


CROWDS = {kind: crowd(kind) for kind in KINDS}


@each_kind
@pytest.mark.parametrize("vectors", ["word", "context", "sum"])
@pytest.mark.parametrize("at_once", [7, 500])
def test_neighbours_over_time_are_those_of_each_slice(kind, vectors, at_once, monkeypatch):
    monkeypatch.setattr(over_time, "_WORDS_AT_ONCE", at_once)
    model = CROWDS[kind]
    for word in ("word4", "word7", "word30"):
        rows = list(neighbors_over_time(model, word, 5, vectors).rows())
        for t, time in enumerate(TIMES):
            here = [row for row in rows if row["time"] == time]
            expected = list(neighbors(model, word, time, 5, vectors=vectors).rows())
            assert [row["word"] for row in here] == [row["word"] for row in expected]
            for name in ("similarity", "low", "high"):
                values = [[np.nan if row[name] is None else row[name] for row in each] for each in (here, expected)]
                assert_allclose(*values, rtol=1e-4, atol=1e-5)
            assert [row["occurrences"] for row in here] == [model.occurrences(row["word"])[t] for row in here]


@each_kind
def test_the_columns_are_those_promised_in_order_of_time_and_similarity(kind):
    answer = neighbors_over_time(CROWDS[kind], "Word7", 5)
    assert list(answer.columns) == COLUMNS
    times, similarity = np.array(answer.columns["time"]), np.array(answer.columns["similarity"])
    assert (np.diff(times) >= 0).all()
    assert (np.diff(similarity)[np.diff(times) == 0] <= 0).all()


@each_kind
def test_a_long_list_has_all_words_that_are_known(kind):
    lengths = [len(neighbors(CROWDS[kind], "word7", time, 500)) for time in TIMES]
    assert len(neighbors_over_time(CROWDS[kind], "word7", 500)) == sum(lengths)


@each_kind
def test_a_word_without_direction_has_no_neighbours(kind):
    answer = neighbors_over_time(model_of(kind), "never")
    assert list(answer.columns) == COLUMNS
    assert len(answer) == 0


@each_kind
def test_a_model_without_knots_has_no_neighbours(kind):
    assert len(neighbors_over_time(model_of(kind, {"a": [], "b": []}), "a")) == 0


@each_kind
def test_a_list_without_places_is_refused(kind):
    with pytest.raises(SettingsError, match="Give 1 or more"):
        neighbors_over_time(CROWDS[kind], "word7", 0)
