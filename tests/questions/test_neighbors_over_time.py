"""Neighbours at every slice are those of asking at each slice."""

import numpy as np
import pytest
from embeddings.models import KINDS, TIMES, crowd, model_of
from numpy.testing import assert_allclose
from oracles.questions import behind_vague_words, is_inferred

from wordtide.errors import SettingsError
from wordtide.questions import neighbors_over_time as module
from wordtide.questions.neighbors import neighbors
from wordtide.questions.neighbors_over_time import neighbors_over_time

COLUMNS = ["time", "word", "similarity", "low", "high", "occurrences", "faint", "inferred"]
each_kind = pytest.mark.parametrize("kind", KINDS)


CROWDS = {kind: crowd(kind) for kind in KINDS}


@each_kind
@pytest.mark.parametrize("vectors", ["word", "context", "sum"])
@pytest.mark.parametrize("at_once", [7, 500])
def test_neighbours_over_time_are_those_of_each_slice(kind, vectors, at_once, monkeypatch):
    monkeypatch.setattr(module, "_WORDS_AT_ONCE", at_once)
    model = CROWDS[kind]
    for word in ("word4", "word7", "word30"):
        rows = list(neighbors_over_time(model, word, 5, vectors).rows())
        for t, time in enumerate(TIMES):
            here = [row for row in rows if row["time"] == time]
            expected = list(neighbors(model, word, time, 5, vectors=vectors).rows())
            assert [row["word"] for row in here] == [row["word"] for row in expected]
            for name in ("similarity", "low", "high"):
                values = [
                    [np.nan if row[name] is None else row[name] for row in each] for each in (here, expected)
                ]
                assert_allclose(*values, rtol=1e-4, atol=1e-5)
            assert [row["occurrences"] for row in here] == [model.occurrences(row["word"])[t] for row in here]


@each_kind
def test_the_columns_are_those_promised_in_order_of_time_and_the_middle_of_intervals(kind):
    answer = neighbors_over_time(CROWDS[kind], "Word7", 5)
    assert list(answer.columns) == COLUMNS
    times, faint = np.array(answer.columns["time"]), np.array(answer.columns["faint"])
    order = np.array(answer.columns["similarity"])
    if kind != "point":
        order = np.array(answer.columns["low"]) + np.array(answer.columns["high"])
    assert (np.diff(times) >= 0).all()
    alike = (np.diff(times) == 0) & (faint[1:] == faint[:-1])
    assert (np.diff(order)[alike] <= 0).all()


@each_kind
def test_a_long_list_has_all_words_that_are_known(kind):
    lengths = [len(neighbors(CROWDS[kind], "word7", time, 500)) for time in TIMES]
    assert len(neighbors_over_time(CROWDS[kind], "word7", 500)) == sum(lengths)


@pytest.mark.parametrize("kind", ["filter", "smoother"])
@pytest.mark.parametrize("top", [1, 2, 50])
def test_words_that_are_hardly_known_do_not_crowd_out_those_that_are_known(kind, top):
    model = behind_vague_words(kind)
    answer = neighbors_over_time(model, "w0", top)
    assert set(answer.columns["word"]) <= {"w101", "w102", "w103"}
    assert len(answer) == 12 * min(top, 3)


@each_kind
def test_neighbours_that_do_not_occur_near_the_slice_are_marked(kind):
    answer = neighbors_over_time(CROWDS[kind], "word7", 100)
    asked = zip(answer.columns["word"], answer.columns["time"], strict=True)
    expected = [is_inferred(CROWDS[kind], word, time) for word, time in asked]
    assert answer.columns["inferred"].tolist() == expected
    assert set(expected) == {False, True}


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
