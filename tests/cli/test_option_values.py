"""Option values that are rejected before any work, with the exit code of wrong usage and a remedy."""

import pytest
from cli.command_line import listing, run

import wordtide
from wordtide.errors import (
    FolderError,
    InputError,
    OutputError,
    SettingsError,
    UnknownWordError,
    VersionError,
    WordtideError,
)

EXIT_USAGE = 2

WRONG = {
    ("--every", "fortnight"): "quarter",
    ("--every", "0-years"): "5-years",
    ("--every", "-5-years"): "5-years",
    ("--every", ""): "quarter",
    ("--since", "yesterday"): "1862-12",
    ("--until", "1862-13"): "1862-12",
    ("--merge-within", "7d"): "--every document",
    ("--merge-within", "a week", "--every", "document"): "7d",
    ("--window", "-3"): "from 1 to",
    ("--window", "0"): "from 1 to",
    ("--window", "300"): "from 1 to",
    ("--vocabulary-size", "0"): "from 1 to",
    ("--vocabulary-size", "-1"): "from 1 to",
    ("--min-count", "0"): "from 1 to",
    ("--examples", "-1"): "from 0 to",
    ("--examples", "100000"): "from 0 to",
    ("--seed", "-1"): "from 0 to",
    ("--workers", "0"): "at least 1",
    ("--workers", "-2"): "at least 1",
    ("--memory", "-1"): "",
    ("--memory", "nan"): "",
    ("--memory", "inf"): "",
    ("--format", "docx"): "jsonl",
    ("--vocabulary-by", "fame"): "total or share",
    ("--ngram-weights", "heavy"): "overlap or literal",
    ("--numbers", "drop"): "skip",
    ("--urls", "drop"): "skip",
    ("--user-names", "drop"): "skip",
    ("--hyphens", "drop"): "keep",
    ("--tokenizer", "nowhere:split"): "module:function",
    ("--tokenizer", "wordtide:nowhere"): "module:function",
    ("--tokenizer", "wordtide"): "module:function",
    ("--tokenizer", "wordtide:__version__"): "module:function",
    ("--tokenizer", "wordtide:count", "--pretokenized"): "Choose one",
    ("--date-format", "%Y %Y"): "--date-format",
    ("--date-format", "%Q"): "--date-format",
}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "1862.txt").write_text("Steam power.", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_a_wrong_value_ends_with_the_exit_code_for_wrong_usage(options, place):
    assert run("count", place / "1862.txt", "-o", place / "out" / "counts", *options).code == EXIT_USAGE


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_a_wrong_value_gives_one_message_with_a_remedy(options, place):
    first, second = run(
        "count", place / "1862.txt", "-o", place / "out" / "counts", *options
    ).err.splitlines()
    assert first.startswith("wordtide: ")
    assert second.strip()
    assert WRONG[options] in second


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_a_wrong_value_leaves_nothing_behind(options, place):
    run("count", place / "1862.txt", "-o", place / "out" / "counts", *options)
    assert listing(place / "out") == []


@pytest.mark.parametrize(
    "options", [("--window", "four"), ("--memory", "much"), ("--nonsense",), ("--workers",)], ids=" ".join
)
def test_what_the_parser_refuses_is_named_on_standard_error(options, place):
    done = run("count", place / "1862.txt", "-o", place / "out" / "counts", *options)
    assert (done.code, done.out, options[0] in done.err) == (EXIT_USAGE, "", True)


def test_an_output_must_be_given(place):
    done = run("count", place / "1862.txt")
    assert (done.code, "--output" in done.err) == (EXIT_USAGE, True)


def test_a_source_must_be_given(place):
    done = run("count", "-o", place / "out" / "counts")
    assert (done.code, "sources" in done.err.lower()) == (EXIT_USAGE, True)


def test_an_unknown_command_is_named(place):
    done = run("cuont", place / "1862.txt")
    assert (done.code, "cuont" in done.err) == (EXIT_USAGE, True)


def test_every_kind_of_error_has_its_exit_code():
    kinds = (WordtideError, SettingsError, InputError, OutputError, FolderError)
    assert [kind.exit_code for kind in kinds] == [1, 2, 3, 4, 5]


def test_a_word_or_a_version_that_is_not_known_is_wrong_usage():
    assert [kind.exit_code for kind in (UnknownWordError, VersionError)] == [SettingsError.exit_code] * 2


@pytest.mark.parametrize("command", ["count", "merge", "info", "examples"])
def test_the_help_of_every_command_ends_with_0_and_shows_a_line_to_type(command):
    done = run(command, "--help")
    assert (done.code, done.err, f"wordtide {command} " in done.out) == (0, "", True)


def test_the_version_is_printed_on_standard_output():
    assert run("--version").out.startswith("wordtide ")


def test_wrong_settings_in_python_are_named():
    with pytest.raises(SettingsError, match="evry"):
        wordtide.count([("1862", "steam")], evry="year")
