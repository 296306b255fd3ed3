"""Later texts are counted with the phrases of the model."""

import pytest

import wordtide
from wordtide.errors import SettingsError

TEXT = "Climate change is a change of climate, and the United States act on climate change and other change"
EARLY = [("1990", TEXT), ("1991", TEXT)]
LATE = [("1992", TEXT)]


@pytest.fixture
def model(tmp_path):
    counts = wordtide.count(EARLY, output=tmp_path / "counts", phrases=["climate change", "united states"])
    return wordtide.fit(counts, output=tmp_path / "model", method="filtering", dim=3, threads=1)


def later_occurrences(model):
    return model.occurrences("climate change")[-1], model.occurrences("climate")[-1]


@pytest.mark.parametrize("grow", [0, 5])
def test_texts_are_counted_with_the_phrases_of_the_model(model, grow):
    model.update(LATE, grow=grow)
    assert later_occurrences(model) == (2, 1)


def test_counts_with_the_phrases_of_the_model_are_accepted(model, tmp_path):
    counts = wordtide.count(LATE, vocabulary=tmp_path / "model")
    assert counts.settings.phrases == ("climate change", "united states")
    model.update(counts)
    assert later_occurrences(model) == (2, 1)


@pytest.mark.parametrize("phrases", ["none", ["climate change", "act on"]])
def test_counts_with_other_phrases_are_refused(model, phrases):
    with pytest.raises(SettingsError, match="different phrases"):
        model.update(wordtide.count(LATE, phrases=phrases))


def test_questions_accept_phrases_with_spaces(model):
    asked, named = (model.similarity(word, "climate") for word in ("Climate change", "climate_change"))
    assert asked.equals(named)
    assert set(asked["word"]) == {"climate_change"}
