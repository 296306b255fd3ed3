"""Questions without an answer: one message with problem and remedy, exit code 2, no standard output."""

import dataclasses
import json
import shutil
import subprocess

import pytest
from cli.command_line import command, run, run_process
from embeddings.models import model_of, posterior_of

import wordtide

STEAM = "Steam power drives the mill by the river. The old mill grinds corn by steam and by the river. "
LAW = "The king made a law for the mill. The law of the river is old and the king drives a hard bargain. "
EXIT_USAGE, EXIT_FOLDER = 2, 5
AXIS = ("axis", "mill", "--from", "steam", "--to", "law")

#: What is asked (the model is put after the command), and pieces of the problem and of the remedy.
NO_TIME = "Give a year (1850 or 1850.5), a month (1862-12)"
REFUSED = {
    ("neighbors", "stean"): ("'stean' is not in the vocabulary", "steam"),
    ("neighbors", "qqqq"): ("'qqqq' is not in the vocabulary", "--vocabulary-size"),
    ("neighbors", ""): ("'' is not in the vocabulary", "--vocabulary-size"),
    ("similarity", "mill", "law", "stean"): ("'stean' is not in the vocabulary", "steam"),
    ("story", "stean"): ("'stean' is not in the vocabulary", "steam"),
    ("analogy", "stean"): ("'stean' is not in the vocabulary", "steam"),
    (*AXIS, "stean"): ("'stean' is not in the vocabulary", "steam"),
    ("axis", "mill", "--from", "stean", "--to", "law"): ("'stean' is not in the vocabulary", "steam"),
    ("neighbors", "mill", "--at", "soon"): ("'soon' is not a time", NO_TIME),
    ("neighbors", "mill", "--at", ""): ("'' is not a time", NO_TIME),
    ("neighbors", "mill", "--at", "1850-13"): ("'1850-13' is not a time", NO_TIME),
    ("similarity", "mill", "law", "--at", "1850", "--at", "soon"): ("'soon' is not a time", NO_TIME),
    (*AXIS, "--at", "soon"): ("'soon' is not a time", NO_TIME),
    ("changed", "--since", "soon"): ("'soon' is not a time", NO_TIME),
    ("changed", "--until", "soon"): ("'soon' is not a time", NO_TIME),
    ("story", "mill", "--since", "soon"): ("'soon' is not a time", NO_TIME),
    ("surprises", "--at", "soon"): ("'soon' is not a time", NO_TIME),
    ("analogy", "mill", "--at", "soon"): ("'soon' is not a time", NO_TIME),
    ("analogy", "mill", "--then", "soon"): ("'soon' is not a time", NO_TIME),
    ("changed", "--since", "1855", "--until", "1851"): ("1855", "later time"),
    ("changed", "--since", "1855", "--until", "1855"): ("1855", "later time"),
    ("changed", "--since", "last", "--until", "first"): ("last", "later time"),
    ("story", "mill", "--since", "1855", "--until", "1851"): ("1855", "later time"),
    ("neighbors", "mill", "--min-occurrences", "999999"): ("no word to list", "lower --min-occurrences"),
    ("neighbors", "mill", "--at", "1700"): ("no word to list", "Ask for another time."),
    ("analogy", "mill", "--min-occurrences", "999999"): ("no word to list", "lower --min-occurrences"),
    ("surprises", "--min-occurrences", "999999"): ("no word to list", "lower --min-occurrences"),
    ("changed", "--min-occurrences", "999999"): ("no word to list", "Lower --min-occurrences"),
    ("neighbors", "mill", "--by", "fame"): ("'fame'", "similarity, low or probability"),
    ("analogy", "mill", "--by", "fame"): ("'fame'", "similarity, low or probability"),
    ("changed", "--by", "fame"): ("'fame'", "low, probability"),
    ("neighbors", "mill", "--vectors", "both"): ("'both'", "word, context or sum"),
    ("similarity", "mill", "law", "--vectors", "both"): ("'both'", "word, context or sum"),
    ("changed", "--vectors", "both"): ("'both'", "word, context or sum"),
    ("story", "mill", "--vectors", "both"): ("'both'", "word, context or sum"),
    (*AXIS, "--vectors", "both"): ("'both'", "word, context or sum"),
    ("analogy", "mill", "--vectors", "both"): ("'both'", "word, context or sum"),
    ("neighbors", "mill", "--top", "0"): ("--top 0 is too small", "1 or more"),
    ("neighbors", "mill", "--top", "-3"): ("--top -3 is too small", "1 or more"),
    ("changed", "--top", "0"): ("--top 0 is too small", "1 or more"),
    ("story", "mill", "--top", "0"): ("--top 0 is too small", "1 or more"),
    ("surprises", "--top", "-1"): ("--top -1 is too small", "1 or more"),
    ("analogy", "mill", "--top", "0"): ("--top 0 is too small", "1 or more"),
    ("neighbors", "mill", "--min-occurrences", "-1"): ("--min-occurrences -1 is too small", "0 or more"),
    ("changed", "--min-occurrences", "-1"): ("--min-occurrences -1 is too small", "0 or more"),
    ("surprises", "--min-occurrences", "-1"): ("--min-occurrences -1 is too small", "0 or more"),
    ("analogy", "mill", "--min-occurrences", "-1"): ("--min-occurrences -1 is too small", "0 or more"),
    ("axis", "steam", "--from", "steam,corn", "--to", "law"): ("'steam' is a pole", "Leave it out"),
    ("axis", "mill", "--from", "", "--to", "law"): ("empty", "at least one word"),
    ("axis", "mill", "--from", " , ", "--to", "law"): ("empty", "at least one word"),
    ("axis", "mill", "--from", "steam", "--to", ","): ("empty", "at least one word"),
}
#: What the parser refuses: the option or argument that it names.
MISTYPED = {
    ("similarity", "mill"): "no word to compare 'mill' with",
    ("axis", "--from", "steam", "--to", "law"): "no word to place",
    ("axis", "mill", "--to", "law"): "--from",
    ("neighbors", "mill", "--top", "many"): "--top",
    ("neighbors", "mill", "--format", "xml"): "--format",
    ("neighbors",): "word",
}
ODD = {
    "right to left": "שלום",
    "emoji": "🙂",
    "wide": "日本語",
    "markup": "[red]x[/red]",
    "closing markup": "[/]",
    "formula": "$x$",
    "quotes": "\"a\",'b'",
    "emoji code": ":smile:",
    "combined": "e\u0301clair",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model whose intervals are narrow enough for every question to have an answer."""
    texts = [(f"{1850 + t}-06-15", STEAM * (10 * (10 - t)) + LAW * (10 * t + 10)) for t in range(10)]
    folder = tmp_path_factory.mktemp("fitted") / "model"
    wordtide.fit(wordtide.count(texts), output=folder, method="filtering", dim=4, threads=1)
    return folder


@pytest.fixture(scope="module")
def odd_model(tmp_path_factory):
    """A model of words with odd characters, all of them well known in all slices."""
    places = {word: list(range(8)) for word in ("plain", *ODD.values())}
    short = posterior_of("smoother", places)
    known = dataclasses.replace(short, mean_u=9.0 * short.mean_u, mean_v=9.0 * short.mean_v)
    folder = tmp_path_factory.mktemp("odd") / "model"
    model_of("smoother", places, posterior=known).save(folder)
    return folder


@pytest.fixture
def copied(model, tmp_path):
    """A model folder to be changed."""
    return shutil.copytree(model, tmp_path / "model")


def ask(model, question, *more):
    return run(question[0], model, *question[1:], *more)


def change_header(folder, **changed):
    path = folder / "header.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changed}), encoding="utf-8")


@pytest.mark.parametrize("question", REFUSED, ids=" ".join)
def test_a_question_without_an_answer_is_wrong_usage_and_prints_nothing(model, question):
    done = ask(model, question)
    assert (done.code, done.out) == (EXIT_USAGE, "")


@pytest.mark.parametrize("question", REFUSED, ids=" ".join)
def test_a_question_without_an_answer_is_told_its_problem_and_the_remedy(model, question):
    problem, remedy = ask(model, question).err.splitlines()
    assert problem.startswith("wordtide: ")
    assert REFUSED[question][0] in problem
    assert REFUSED[question][1] in remedy


@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize(
    "question", [("changed", "--min-occurrences", "999999"), ("neighbors", "stean"), ("story", "stean")]
)
def test_a_question_without_an_answer_prints_no_empty_table_in_any_format(model, question, format):
    done = ask(model, question, "--format", format)
    assert (done.code, done.out, len(done.err.splitlines())) == (EXIT_USAGE, "", 2)


@pytest.mark.parametrize("question", MISTYPED, ids=" ".join)
def test_what_the_parser_refuses_is_named_on_standard_error(model, question):
    done = ask(model, question)
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert (
        MISTYPED[question].lower() in done.err.lower()
    )  # versions of Typer write names of arguments in their own ways


@pytest.mark.parametrize(
    "question", [("neighbors", "mill"), ("similarity", "mill", "law"), ("changed",), ("story", "mill"), AXIS]
)
def test_a_model_of_another_version_is_wrong_usage(copied, question):
    change_header(copied, version=99)
    done = ask(copied, question)
    assert (done.code, done.out, "version 99 of the model format" in done.err) == (EXIT_USAGE, "", True)


def test_a_folder_of_another_kind_is_named(copied):
    change_header(copied, kind="counts")
    done = run("neighbors", copied, "mill")
    assert (done.code, done.out, "is not a model folder" in done.err) == (EXIT_FOLDER, "", True)


@pytest.mark.parametrize("name", ["nowhere", ""])
def test_a_folder_without_a_model_is_named(tmp_path, name):
    done = run("neighbors", tmp_path / name, "mill")
    assert (done.code, done.out, "There is no model folder at" in done.err) == (EXIT_FOLDER, "", True)


def test_a_file_is_no_model_folder(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    done = run("neighbors", tmp_path / "file", "mill")
    assert (done.code, done.out, "is a file" in done.err) == (EXIT_FOLDER, "", True)


def test_a_model_without_its_arrays_is_named_with_the_file(copied):
    (copied / "arrays.safetensors").unlink()
    done = run("changed", copied)
    assert (done.code, done.out, "arrays.safetensors is missing" in done.err) == (EXIT_FOLDER, "", True)


def test_a_model_without_a_posterior_has_no_surprises(tmp_path):
    model_of("point", method="independent").save(tmp_path / "model")
    done = run("surprises", tmp_path / "model")
    assert (done.code, done.out, "Fit the model by filtering or smoothing" in done.err) == (
        EXIT_USAGE,
        "",
        True,
    )


def test_a_story_of_which_no_neighbor_is_known_is_its_sentence_alone(tmp_path):
    posterior = posterior_of("smoother")
    unknown = dataclasses.replace(posterior, mean_u=1e-3 * posterior.mean_u, mean_v=1e-3 * posterior.mean_v)
    model_of("smoother", posterior=unknown).save(tmp_path / "model")
    done = run("story", tmp_path / "model", "always")
    assert (done.code, len(done.out.splitlines())) == (0, 1)


@pytest.mark.parametrize("kind", ODD)
def test_an_unknown_word_with_odd_characters_is_named_as_it_was_typed(model, kind):
    done = run("neighbors", model, ODD[kind])
    assert (done.code, repr(ODD[kind]) in done.err, len(done.err.splitlines())) == (EXIT_USAGE, True, 2)


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_a_word_with_odd_characters_can_be_asked_for(odd_model, kind, format):
    done = run("neighbors", odd_model, ODD[kind], "--top", 20, "--format", format)
    assert (done.code, done.err, "plain" in done.out) == (0, "", True)


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", ["neighbors", "story"])
def test_a_word_with_odd_characters_is_printed_as_it_is(odd_model, kind, name):
    assert ODD[kind] in run(name, odd_model, "plain", "--top", 20).out


def test_words_with_odd_characters_survive_json(odd_model):
    rows = json.loads(run("neighbors", odd_model, "plain", "--top", 20, "--format", "json").out)
    assert {row["word"] for row in rows} == {*ODD.values()}


@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_a_reader_that_goes_away_is_no_error_worth_a_word(model, format):
    line = command("similarity", model, "mill", "law", "king", "--all", "--format", format)
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        err = process.stderr.read()
    assert (err, process.returncode) == (b"", 141)


def test_a_real_process_ends_with_the_exit_code_for_wrong_usage(model):
    done = run_process("neighbors", model, "stean")
    assert (done.code, done.out, len(done.err.splitlines())) == (EXIT_USAGE, "", 2)
