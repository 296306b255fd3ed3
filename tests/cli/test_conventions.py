"""What people expect of a command and of a package: groups of commands, completion, files of words, suggestions,
units, reasons.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli.command_line import run, run_process
from docs.small_world import dated_texts

import wordtide
from wordtide.cli.app import COMMANDS, GROUPS, PLOT, PLOT_HELP
from wordtide.errors import SettingsError, UnknownWordError, WordtideError
from wordtide.explorer.explore import in_notebook
from wordtide.exports.export import export
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


@pytest.mark.parametrize("line", [[], ["--help"], ["-h"]], ids=["wordtide", "--help", "-h"])
def test_the_list_of_commands_has_groups_with_whole_sentences(line):
    done = run_process(*line)
    listed = done.out + done.err
    assert re.findall(r"^([A-Z]\w+):$", listed, re.M)[-6:] == [
        "Prepare",
        "Fit",
        "Ask",
        "Show",
        "Stream",
        "Check",
    ]
    said = " ".join(listed.split())
    for name, (_, sentence) in {**COMMANDS, PLOT: ("", PLOT_HELP)}.items():
        assert f"{name} {sentence}" in said
    assert "..." not in said.replace("[ARGS]...", "")


def test_every_command_is_in_one_group():
    assert sorted(name for names in GROUPS.values() for name in names) == sorted([*COMMANDS, PLOT])


#: What is typed before Tab, and what it becomes.
COMPLETED = {"wordtide nei": "neighbors", "wordtide plot time": "timeline", "wordtide story --to": "--top"}


@pytest.fixture(scope="module")
def path_with_wordtide(tmp_path_factory):
    """A folder with the command, first in PATH."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "wordtide"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m wordtide "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def shell(name, code, path):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run(
        [name, "-c", code],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PATH": path},
    )
    return done.stdout.split()


@pytest.mark.skipif(os.name == "nt", reason="these shells are not those of Windows")
@pytest.mark.parametrize("typed", COMPLETED)
def test_bash_completes(typed, path_with_wordtide):
    words = typed.split(" ")
    code = (
        'eval "$(_WORDTIDE_COMPLETE=source_bash wordtide)"; '
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
        '_wordtide_completion wordtide; echo "${COMPREPLY[@]}"'
    )
    assert shell("bash", code, path_with_wordtide) == [COMPLETED[typed]]


@pytest.mark.skipif(os.name == "nt", reason="these shells are not those of Windows")
@pytest.mark.parametrize("typed", COMPLETED)
def test_zsh_completes(typed, path_with_wordtide):
    code = (
        "compdef() { :; }; _arguments() { print -r -- $*; }; "
        'eval "$(_WORDTIDE_COMPLETE=source_zsh wordtide)"; '
        f"words=({typed}); CURRENT={len(typed.split(' '))}; _wordtide_completion"
    )
    assert f'"{COMPLETED[typed]}"' in " ".join(shell("zsh", code, path_with_wordtide)).replace(":", " ")


@pytest.mark.skipif(os.name == "nt", reason="these shells are not those of Windows")
@pytest.mark.parametrize("typed", COMPLETED)
def test_fish_completes(typed, path_with_wordtide):
    code = f'_WORDTIDE_COMPLETE=source_fish wordtide | source; complete --do-complete "{typed}"'
    assert COMPLETED[typed] in shell("fish", code, path_with_wordtide)


#: Lines with words in a file, and the same with words typed.
FILES = {
    "similarity model energy --words words.txt --format csv": "similarity model energy power vigor --format csv",
    "axis model --from power --to vigor energy --words want.txt --format csv": (
        "axis model --from power --to vigor energy want --format csv"
    ),
    "plot timeline model --words words.txt -o one.svg": "plot timeline model power vigor -o other.svg",
    "plot similarity model energy --words words.txt -o one.svg": "plot similarity model energy power vigor -o other.svg",
}


@pytest.mark.parametrize("line", FILES)
def test_words_come_from_a_file_as_if_they_were_typed(here, line):
    Path("want.txt").write_text("want\n", encoding="utf-8")
    one, other = (run(*shlex.split(typed)) for typed in (line, FILES[line]))
    assert (one.code, one.out) == (0, other.out), one.err
    if ".svg" in line:
        assert Path("one.svg").read_bytes() == Path("other.svg").read_bytes()


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


def test_an_unknown_word_names_the_near_ones(here):
    done = run("story", "model", "enregy")
    assert (done.code, "Near it: energy" in done.err) == (2, True)


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


def test_lists_of_words_are_lists_in_json(here):
    (story,) = json.loads(run("story", "model", "energy", "--format", "json").out)
    for row in (story, *json.loads(run("changed", "model", "--format", "json").out)):
        assert isinstance(row["from"], list)
        assert all(isinstance(word, str) for word in row["from"] + row["to"])


def test_one_is_not_plural(tmp_path):
    (tmp_path / "1900.txt").write_text("Steam power.", encoding="utf-8")
    done = run("count", tmp_path / "1900.txt", "-o", tmp_path / "counts")
    assert "1 document, 2 words" in done.err
    assert not re.search(r"\b1 (documents|slices|words|rows|files)\b", done.err)
    counts = wordtide.Counts.load(tmp_path / "counts")
    assert repr(counts) == "<Counts: 1 slice (1900 to 1900), 2 words, 2 tokens>"


#: Calls in Python that are refused, and the argument that the message names.
REFUSED = {
    "dim=0": lambda counts, model: wordtide.fit(counts, dim=0),
    "method='slow'": lambda counts, model: wordtide.fit(counts, method="slow"),
    "threads=0": lambda counts, model: wordtide.fit(counts, dim=4, threads=0),
    "workers=0": lambda counts, model: wordtide.count([("1900", "a mill")], workers=0),
    "max_mb=": lambda counts, model: model.save_html("page.html", max_mb=0),
    "checkpoint_every=-1": lambda counts, model: wordtide.fit(counts, output="new", checkpoint_every=-1),
}


@pytest.mark.parametrize("argument", REFUSED)
def test_errors_in_python_name_arguments(here, argument):
    counts, model = wordtide.Counts.load("counts"), wordtide.load("model")
    with pytest.raises(WordtideError) as refused:
        REFUSED[argument](counts, model)
    assert argument.partition("=")[0] in str(refused.value)
    assert "--" not in str(refused.value)


def test_python_mirrors_the_figures_of_the_shell(here):
    model = wordtide.load("model")
    figures = {
        "timeline": lambda: model.plot.timeline("energy", output="python.svg"),
        "similarity": lambda: model.plot.similarity("energy", "power", output="python.svg"),
    }
    words = {"timeline": ["energy"], "similarity": ["energy", "power"]}
    for name, draw in figures.items():
        figure = draw()
        assert run("plot", name, "model", *words[name], "-o", "shell.svg").code == 0
        assert Path("python.svg").read_bytes() == Path("shell.svg").read_bytes()
        assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_printed_story_begins_with_its_sentence(here):
    story = wordtide.load("model").story("energy")
    assert str(story).splitlines()[0] == story.attrs["sentence"]


@pytest.mark.filterwarnings("ignore::wordtide.api.NoteWarning")
@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.neighbors("energy", min_occurrences=10**6),
        lambda model: model.changed(min_occurrences=10**6),
        lambda model: model.analogy("energy", min_occurrences=10**6),
        lambda model: model.surprises(min_occurrences=10**6),
    ],
    ids=["neighbors", "changed", "analogy", "surprises"],
)
def test_an_empty_answer_says_why(here, ask):
    answer = ask(wordtide.load("model"))
    assert len(answer) == 0
    assert "1000000 times" in str(answer).replace(",", "")


def test_counts_without_sentences_say_so(here):
    with pytest.raises(WordtideError, match="examples"):
        wordtide.Counts.load("counts").examples("energy")


def test_a_word_without_sentences_says_so(tmp_path):
    texts = [("1850", "Steam power drives the mill."), ("1950", "Atomic power drives the ship.")]
    counts = wordtide.count(texts, output=tmp_path / "counts", examples=2)
    assert str(counts.examples("steam", at="1950")) == "No sentence with 'steam' was kept for 1950."
    assert [one.date for one in counts.examples("power")] == ["1850", "1950"]
    with pytest.raises(UnknownWordError):
        counts.examples("nowhere")


def test_explore_without_a_notebook_is_no_notebook():
    assert in_notebook() is False


def test_a_workbook_needs_its_ending(here):
    with pytest.raises(SettingsError, match=r"model\.xlsx"):
        export(wordtide.load("model"), "model.xls", "excel", at="last")
