"""Conventions beyond the rows of `test_open_doors`: groups of commands, suggestions, units, notebooks."""

import json
import re

import pytest
from cli.command_line import run
from docs.small_world import dated_texts

import wordtide
from wordtide.cli.app import COMMANDS, GROUPS, PLOT
from wordtide.errors import UnknownWordError
from wordtide.explorer.explore import in_notebook
from wordtide.spelling import similar_words

VOCABULARY = "the of government energy early entry president present america american constitution".split()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Counts, a model and a file of words."""
    place = tmp_path_factory.mktemp("conventions")
    counts = wordtide.count(list(dated_texts()))
    counts.save(place / "counts")
    wordtide.fit(counts, dim=8, threads=1, output=place / "model")
    (place / "words.txt").write_text("power\r\nvigor\r\n", encoding="utf-8")
    return place


@pytest.fixture
def here(world, monkeypatch):
    monkeypatch.chdir(world)
    return world


def test_every_command_is_in_one_group():
    assert sorted(name for names in GROUPS.values() for name in names) == sorted([*COMMANDS, PLOT])


#: What is typed, and what is suggested first.
MISTYPED = {"enrgy": "energy", "Amercia": "america", "goverment": "government", "constit": "constitution"}


@pytest.mark.parametrize("typed", MISTYPED)
def test_the_word_that_was_meant_is_suggested_first(typed):
    assert similar_words(typed, VOCABULARY)[0] == MISTYPED[typed]


def test_suggestions_are_those_of_the_explorer():
    """The rule of explorer/src/numbers/spelling.ts, whose own tests have these examples."""
    assert similar_words("pres", VOCABULARY) == ["president", "present"]
    assert similar_words("xqzt", VOCABULARY) == []
    assert similar_words("constellations", VOCABULARY) == ["constitution"]  # by its beginning


def test_changed_and_story_have_the_same_units(here):
    rows = [line.split() for line in run("changed", "model", "--by", "change").out.splitlines()[1:]]
    stories = {row[0]: run("story", "model", row[0]).out for row in rows[:3]}
    turned = {word: re.findall(r"turned by (\d+°)", story) for word, story in stories.items()}
    assert [turned[row[0]] for row in rows[:3]] == [[row[1]] for row in rows[:3]]


def test_changed_and_story_state_the_same_effect(here):
    (first, *_) = json.loads(run("changed", "model", "--format", "json").out)
    (story,) = json.loads(run("story", "model", first["word"], "--format", "json").out)
    assert story["effect"] == first["effect"]
    if first["effect_low"] and first["effect_low"] > 0:
        assert f"effect {first['effect']:.3f} bits per use" in run("story", "model", first["word"]).out


def test_a_printed_story_begins_with_its_sentence(here):
    story = wordtide.load("model").story("energy")
    assert str(story).splitlines()[0] == story.attrs["sentence"]


def test_a_figure_is_shown_in_a_notebook(here):
    assert wordtide.load("model").plot.timeline("energy")._repr_png_().startswith(b"\x89PNG")


def test_sentences_come_in_order_of_time(tmp_path):
    texts = [("1850", "Steam power drives the mill."), ("1950", "Atomic power drives the ship.")]
    counts = wordtide.count(texts, output=tmp_path / "counts", examples=2)
    assert [one.date for one in counts.examples("power")] == ["1850", "1950"]
    with pytest.raises(UnknownWordError):
        counts.examples("nowhere")


def test_explore_without_a_notebook_is_no_notebook():
    assert in_notebook() is False
