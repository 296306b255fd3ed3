"""Later texts are counted with the group field of the model, and a watch refuses models with groups."""

import pytest

import wordtide
from wordtide.errors import InputError, SettingsError
from wordtide.streaming.additions import count_for_update
from wordtide.streaming.update import read_filtered
from wordtide.streaming.watch import watch

TEXT = "Taxes fall and wages rise, and other taxes rise again"
EARLY = [("1990", TEXT, "R"), ("1991", TEXT, "D")]


@pytest.fixture
def model(tmp_path):
    counts = wordtide.count(EARLY, output=tmp_path / "counts", group_field="party")
    wordtide.fit(counts, output=tmp_path / "model", method="filtering", dim=3, threads=1)
    return tmp_path / "model"


def test_later_texts_are_counted_with_groups(model):
    counts = count_for_update(read_filtered(model), [("1992", TEXT, "R"), ("1992", TEXT, "I")])
    assert list(counts.groups) == ["I", "R"]
    with pytest.raises(InputError, match="is not a triple"):
        count_for_update(read_filtered(model), [("1992", TEXT)])


def test_a_watch_refuses_models_with_groups(model, tmp_path):
    (tmp_path / "rows.jsonl").write_text("")
    with pytest.raises(SettingsError, match="The model has groups"):
        watch(model, tmp_path / "rows.jsonl")
