"""Answers as data frames and rows: every question of the Python API has the documented columns and notes."""

import json
import math
import sys

import numpy as np
import pandas as pd
import pytest
from embeddings.models import KINDS, PLACES, TIMES, well_known

from wordtide.api import NoteWarning
from wordtide.errors import SettingsError, UnknownWordError
from wordtide.questions.answers import Answer, empty_intervals
from wordtide.questions.effect import VERDICT

#: Enough words in the last slice to say what is usual there.
MANY = {**PLACES, **{f"word{n}": [n % 7, 7] for n in range(20)}}
MODELS = {kind: well_known(kind, MANY) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)
NEIGHBORS = ["word", "similarity", "low", "high", "probability", "occurrences", "faint", "inferred"]
CHANGED = [
    "word", "change", "low", "high", "significant", "probability", "since", "until", "halfway_from", "halfway_to", "from", "to",
    "occurrences",
    *VERDICT,
]  # fmt: skip
#: How each question is asked, and the columns of its answer.
QUESTIONS = {
    "neighbors": (lambda model: model.neighbors("always"), NEIGHBORS),
    "neighbors_over_time": (
        lambda model: model.neighbors_over_time("always"),
        ["time", "word", "similarity", "low", "high", "occurrences", "faint", "inferred"],
    ),
    "similarity": (
        lambda model: model.similarity("always", "gaps"),
        ["time", "word", "other", "similarity", "low", "high", "occurrences", "other_occurrences"],
    ),
    "changed": (lambda model: model.changed(min_occurrences=1, by="low"), CHANGED),
    "story": (lambda model: model.story("always"), ["period", "time", *NEIGHBORS]),
    "surprises": (
        lambda model: model.surprises(),
        ["word", "time", "score", "p_value", "information", "occurrences"],
    ),
    "axis": (
        lambda model: model.axis("always", ["gaps"], ["middle"]),
        ["time", "word", "position", "low", "high", "occurrences"],
    ),
    "analogy": (lambda model: model.analogy("always"), NEIGHBORS),
}
ASKED = [(kind, name) for kind in KINDS for name in QUESTIONS if (kind, name) != ("point", "surprises")]


@pytest.mark.parametrize(("kind", "name"), ASKED)
def test_every_question_is_answered_by_a_data_frame_with_its_columns_and_notes(kind, name):
    ask, columns = QUESTIONS[name]
    frame = ask(MODELS[kind])
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == columns
    assert frame.attrs["notes"] == []


@pytest.mark.parametrize(("kind", "name"), ASKED)
def test_an_answer_has_rows_where_something_is_known(kind, name):
    assert len(QUESTIONS[name][0](MODELS[kind])) > 0


@each_kind
def test_a_story_brings_its_sentence_and_facts(kind):
    attrs = MODELS[kind].story("always").attrs
    assert attrs["sentence"].startswith("always m")
    assert (attrs["word"], attrs["since"], attrs["notes"]) == ("always", attrs["since"], [])


def test_a_note_is_a_warning_that_points_to_the_asker_and_is_kept_with_the_answer():
    with pytest.warns(NoteWarning, match="after the last slice") as caught:
        frame = MODELS["smoother"].similarity("always", "gaps", times=1890)
    assert caught[0].filename == __file__
    assert frame.attrs["notes"] == [str(caught[0].message)]


def test_a_word_that_is_absent_at_the_time_is_a_warning():
    with pytest.warns(NoteWarning, match="does not occur in 1862") as caught:
        frame = MODELS["smoother"].neighbors("gaps", at=TIMES[6])
    assert len(caught) == len(frame.attrs["notes"]) == 1


@each_kind
def test_words_in_capitals_are_found(kind):
    model = MODELS[kind]
    pd.testing.assert_frame_equal(model.neighbors("ALWAYS"), model.neighbors("always"))
    pd.testing.assert_frame_equal(model.similarity("Always", "GAPS"), model.similarity("always", "gaps"))
    pd.testing.assert_frame_equal(model.story("Always"), model.story("always"))
    pd.testing.assert_frame_equal(model.analogy("Always"), model.analogy("always"))
    pd.testing.assert_frame_equal(
        model.axis("ALWAYS", ["Gaps"], ["Middle"]), model.axis("always", ["gaps"], ["middle"])
    )


@each_kind
@pytest.mark.parametrize("time", ["first", "last", "1860", 1860, "1860-02", TIMES[4]])
def test_a_time_may_be_a_word_a_year_or_a_date(kind, time):
    model = MODELS[kind]
    frame = model.similarity("always", "gaps", times=time)
    assert frame["time"].tolist() == [model.year(time)]
    assert model.year(time) in TIMES


@pytest.mark.parametrize("name", ["neighbors", "similarity", "story", "analogy"])
def test_an_unknown_word_is_answered_with_near_spellings(name):
    others = ["gaps"] if name == "similarity" else []
    with pytest.raises(UnknownWordError, match="Similar words: always"):
        getattr(MODELS["smoother"], name)("allways", *others)


@pytest.mark.parametrize("name", ["neighbors", "similarity", "changed", "story", "axis", "analogy"])
def test_vectors_that_do_not_exist_are_refused_by_every_question(name):
    asked = {"similarity": ["always", "gaps"], "changed": [], "axis": ["always", ["gaps"], ["middle"]]}.get(
        name, ["always"]
    )
    with pytest.raises(SettingsError, match="Choose word, context or sum"):
        getattr(MODELS["smoother"], name)(*asked, vectors="both")


@pytest.mark.parametrize("vectors", ["word", "context", "sum"])
def test_word_vectors_context_vectors_and_their_sum_are_told_apart(vectors):
    frame = MODELS["smoother"].similarity("always", "gaps", times="last", vectors=vectors)
    others = MODELS["smoother"].similarity("always", "gaps", times="last")
    assert (frame["similarity"][0] == others["similarity"][0]) == (vectors == "sum")


@pytest.mark.parametrize(("kind", "name"), ASKED)
def test_rows_hold_plain_values_that_json_knows(kind, name):
    frame = QUESTIONS[name][0](MODELS[kind])
    answer = Answer({column: frame[column].to_numpy() for column in frame.columns})
    rows = list(answer.rows())
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_what_is_not_known_is_none_in_rows_and_nan_in_frames():
    answer = Answer(
        {
            "word": ["a", "b"],
            "low": np.array([0.5, np.nan]),
            "high": empty_intervals(2),
            "n": np.array([1, 2]),
        }
    )
    assert list(answer.rows()) == [
        {"word": "a", "low": 0.5, "high": None, "n": 1},
        {"word": "b", "low": None, "high": None, "n": 2},
    ]
    frame = answer.frame()
    assert frame["n"].dtype == np.int64
    assert math.isnan(frame["high"][0])


def test_without_pandas_an_answer_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "wordtide.embeddings.frames", raising=False)
    answer = Answer({"word": ["a"]})
    assert list(answer.rows()) == [{"word": "a"}]
    with pytest.raises(SettingsError, match=r"pip install 'wordtide\[pandas\]'"):
        answer.frame()


def test_an_answer_is_as_long_as_its_columns():
    assert len(Answer({"word": ["a", "b"]})) == 2
    assert len(Answer({})) == 0


def test_columns_of_unlike_length_are_an_error():
    with pytest.raises(ValueError, match="shorter"):
        list(Answer({"word": ["a", "b"], "low": [0.5]}).rows())
