"""Questions as commands: the same numbers in table, CSV, JSON and Python; only data on standard output."""

import csv
import io
import json
import math
import re
import warnings

import numpy as np
import pytest
from cli.command_line import run, run_process
from embeddings.models import well_known
from oracles.questions import planted
from rich.console import Console

import wordtide
from wordtide.questions.effect import VERDICT
from wordtide.questions.story import degrees

STEAM = "Steam power drives the mill by the river. The old mill grinds corn by steam and by the river. "
LAW = "The king made a law for the mill. The law of the river is old and the king drives a hard bargain. "
SLICES = 30
NEAR = ["word", "similarity", "low", "high", "probability", "occurrences", "faint", "inferred"]
CHANGED = [
    "word", "change", "low", "high", "significant", "probability", "since", "until", "halfway_from", "halfway_to", "from", "to",
    "occurrences",
    *VERDICT,
]  # fmt: skip
CURVE = ["time", "word", "other", "similarity", "low", "high", "occurrences", "other_occurrences"]
#: Of each command: what is typed after the model, what is called in Python, and the columns of the answer.
QUESTIONS = {
    "neighbors": (
        ["mill", "--at", "1860", "--top", "4"],
        lambda model: model.neighbors("mill", "1860", 4),
        NEAR,
    ),
    "similarity": (["mill", "law", "corn"], lambda model: model.similarity("mill", "law", "corn"), CURVE),
    "changed": (
        ["--since", "1852", "--until", "1878", "--top", "3", "--min-occurrences", "1", "--by", "low"],
        lambda model: model.changed("1852", "1878", 3, "low", min_occurrences=1),
        CHANGED,
    ),
    "surprises": (
        ["--at", "1860", "--top", "3"],
        lambda model: model.surprises("1860", 3),
        ["word", "time", "score", "p_value", "information", "occurrences"],
    ),
    "axis": (
        ["--from", "steam,corn", "--to", "king, law", "mill", "old"],
        lambda model: model.axis(["mill", "old"], ["steam", "corn"], ["king", "law"]),
        ["time", "word", "position", "low", "high", "occurrences"],
    ),
    "analogy": (
        ["mill", "--at", "1855", "--then", "1875"],
        lambda model: model.analogy("mill", "1855", "1875"),
        NEAR,
    ),
}
METHODS = ("smoothing", "filtering", "independent")
ASKED = [
    (name, method)
    for name in QUESTIONS
    for method in METHODS
    if (name, method) != ("surprises", "independent")
]
UNKNOWN = ("low", "high", "probability", "halfway_from", "halfway_to", *VERDICT)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of each method: 30 years in which steam gives way to law."""
    place = tmp_path_factory.mktemp("models")
    texts = [(f"{1850 + t}-06-15", STEAM * (10 * (SLICES - t)) + LAW * (10 * t + 10)) for t in range(SLICES)]
    counts = wordtide.count(texts)
    for method in METHODS:
        wordtide.fit(counts, output=place / method, method=method, dim=4, threads=1)
    wordtide.fit(counts, output=place / "separate", contexts="separate", dim=4, threads=1)
    return place


@pytest.fixture(scope="module")
def model(models):
    return models / "smoothing"


def ask(model, name, *more):
    return run(name, model, *QUESTIONS[name][0], *more)


def rows_of(done):
    """The rows of an answer in JSON."""
    assert done.code == 0, done.err
    return json.loads(done.out)


def cells_of(done):
    """The cells of an answer in CSV, its header first."""
    assert done.code == 0, done.err
    return list(csv.reader(io.StringIO(done.out)))


def in_python(model, name):
    """The rows of a data frame, with None for what is not known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        frame = QUESTIONS[name][1](wordtide.load(model))
    rows = frame.to_dict("records")
    return [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in rows
    ]


@pytest.mark.parametrize(("name", "method"), ASKED)
def test_json_is_a_list_of_objects_with_the_columns(models, name, method):
    rows = rows_of(ask(models / method, name, "--format", "json"))
    assert rows
    assert [list(row) for row in rows] == [QUESTIONS[name][2]] * len(rows)


@pytest.mark.parametrize(("name", "method"), ASKED)
def test_json_has_the_values_of_python(models, name, method):
    found = rows_of(ask(models / method, name, "--format", "json"))
    assert [joined(row) for row in found] == in_python(models / method, name)


def joined(row):
    """A row whose lists of words are texts, as CSV and data frames have them."""
    return {name: ", ".join(value) if isinstance(value, list) else value for name, value in row.items()}


@pytest.mark.parametrize("method", ["smoothing", "filtering"])
def test_several_words_are_a_list_in_json(models, method):
    (told,) = rows_of(run("story", models / method, "mill", "--format", "json"))
    for row in (told, *rows_of(ask(models / method, "changed", "--format", "json"))):
        assert isinstance(row["from"], list)
        assert isinstance(row["to"], list)
        assert set(row["from"] + row["to"]) <= set(wordtide.load(models / method).words)


@pytest.mark.parametrize(("name", "method"), ASKED)
def test_csv_has_the_columns_and_the_values_of_json(models, name, method):
    rows = rows_of(ask(models / method, name, "--format", "json"))
    expected = [["" if value is None else str(value) for value in joined(row).values()] for row in rows]
    assert cells_of(ask(models / method, name, "--format", "csv")) == [QUESTIONS[name][2], *expected]


@pytest.mark.parametrize(("name", "method"), ASKED)
def test_a_table_has_the_columns_in_words(models, name, method):
    header = ask(models / method, name).out.splitlines()[0]
    shown = [column for column in QUESTIONS[name][2] if column not in VERDICT]
    assert " ".join(header.split()) == " ".join(shown).replace("_", " ")


@pytest.mark.parametrize("name", ["neighbors", "changed", "surprises", "analogy"])
def test_a_table_has_a_line_for_each_row(model, name):
    words = [row["word"] for row in rows_of(ask(model, name, "--format", "json"))]
    assert [line.split()[0] for line in ask(model, name).out.splitlines()[1:]] == words


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("format", ["csv", "json"])
def test_an_answer_without_notes_leaves_standard_error_empty(model, name, format):
    assert ask(model, name, "--format", format).err == ""


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "surprises"])
def test_without_a_posterior_intervals_are_null_in_json(models, name):
    rows = rows_of(ask(models / "independent", name, "--format", "json"))
    assert {row[column] for row in rows for column in UNKNOWN if column in row} == {None}


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "surprises"])
def test_without_a_posterior_intervals_are_empty_in_csv(models, name):
    done = ask(models / "independent", name, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert {row[column] for row in rows for column in UNKNOWN if column in row} == {""}


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "surprises"])
def test_without_a_posterior_a_table_has_no_word_for_what_is_not_known(models, name):
    out = ask(models / "independent", name).out.lower()
    assert [word for word in ("nan", "none", "null") if word in out.split()] == []


@pytest.mark.parametrize("at", ["1850", "1850-06", "1850-06-15", "first"])
def test_a_year_a_month_a_day_and_first_name_the_same_slice(model, at):
    answers = [run("neighbors", model, "mill", "--at", time, "--format", "json") for time in (at, "first")]
    assert rows_of(answers[0]) == rows_of(answers[1])


def test_the_last_slice_is_asked_if_no_time_is_given(model):
    answers = [
        run("neighbors", model, "mill", "--format", "json", *at)
        for at in ((), ("--at", "last"), ("--at", "1879"))
    ]
    assert rows_of(answers[0]) == rows_of(answers[1]) == rows_of(answers[2])


def test_a_word_in_capitals_is_the_word(model):
    assert run("neighbors", model, "MILL").out == run("neighbors", model, "mill").out


@pytest.mark.parametrize("format", ["csv", "json", "table"])
@pytest.mark.parametrize(
    "question",
    [
        ("neighbors", "mill", "--at", "1890"),
        ("similarity", "mill", "law", "--at", "1890"),
        ("axis", "mill", "--from", "steam", "--to", "law", "--at", "1890"),
        ("analogy", "mill", "--at", "1860", "--then", "1890"),
        ("changed", "--since", "1860", "--until", "1890"),
        ("story", "mill", "--since", "1860", "--until", "1890"),
    ],
    ids=lambda question: question[0],
)
def test_a_time_after_the_last_slice_is_answered_with_a_note(model, question, format):
    done = run(question[0], model, *question[1:], "--format", format)
    assert (done.code, "note: 1890 is 11" in done.err, "note" in done.out) == (0, True, False)


def test_a_word_that_does_not_occur_is_answered_with_a_note(model):
    done = run("neighbors", model, "mill", "--at", "1860.9", "--format", "json")
    assert (len(rows_of(done)), "note: 'mill' does not occur" in done.err) == (10, True)


def test_surprises_between_slices_are_those_of_the_nearest_with_a_note(model):
    done = run("surprises", model, "--at", "1700", "--format", "json")
    assert {row["time"] for row in rows_of(done)} == {wordtide.load(model).times[0]}
    assert done.err.startswith("note: There is no slice at 1700; this is the nearest, ")


def test_intervals_grow_with_the_distance_from_the_data(model):
    rows = rows_of(
        run(
            "similarity",
            model,
            "mill",
            "law",
            "--at",
            "last",
            "--at",
            "1885",
            "--at",
            "1900",
            "--format",
            "json",
        )
    )
    widths = [row["high"] - row["low"] for row in rows]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


@pytest.mark.parametrize("name", ["similarity", "axis"])
def test_a_long_table_shows_times_from_first_to_last_and_says_so(model, name):
    done = ask(model, name)
    years = [line.split()[0] for line in done.out.splitlines()[1:]]
    assert (len(years), years[0], years[23], years[24], years[-1]) == (48, "1850", "1879", "1850", "1879")
    assert done.err == "(24 of 30 times are shown; --all shows all, as do csv and json)\n"


@pytest.mark.parametrize("name", ["similarity", "axis"])
def test_all_shows_every_time_and_needs_no_word(model, name):
    done = ask(model, name, "--all")
    assert (len(done.out.splitlines()) - 1, done.err) == (2 * SLICES, "")


@pytest.mark.parametrize(
    ("name", "sizes"), [("neighbors", 1), ("analogy", 7), ("changed", 2), ("surprises", 5)]
)
def test_top_is_the_number_of_words(model, name, sizes):
    assert len(rows_of(ask(model, name, "--top", sizes, "--format", "json"))) == sizes


@pytest.mark.parametrize(
    ("name", "by"),
    [*((name, by) for name in ("neighbors", "analogy") for by in ("similarity", "low"))]
    + [("changed", by) for by in ("low", "probability", "change")],
)
def test_words_fall_by_what_they_are_ranked_by(model, name, by):
    values = [row[by] for row in rows_of(ask(model, name, "--by", by, "--top", 8, "--format", "json"))]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    ("name", "least"), [("neighbors", 250), ("analogy", 300), ("changed", 9000), ("surprises", 250)]
)
def test_words_with_fewer_occurrences_are_left_out(model, name, least):
    plenty = rows_of(ask(model, name, "--top", 30, "--min-occurrences", 1, "--format", "json"))
    rows = rows_of(ask(model, name, "--top", 30, "--min-occurrences", least, "--format", "json"))
    assert (
        {row["word"] for row in rows}
        == {row["word"] for row in plenty if row["occurrences"] >= least}
        < {row["word"] for row in plenty}
    )


def by_vectors(model):
    """The similarities of word vectors, of context vectors and of their sums."""
    return [
        ask(model, "similarity", "--vectors", kind, "--format", "csv").out
        for kind in ("word", "context", "sum")
    ]


def test_vectors_can_be_chosen(models):
    answers = by_vectors(models / "separate")
    assert len({*answers}) == 3
    assert answers[2] == ask(models / "separate", "similarity", "--format", "csv").out


def test_tied_contexts_are_as_similar_as_words_and_their_sums_are_not(model):
    words, contexts, sums = by_vectors(model)
    assert words == contexts != sums
    assert sums == ask(model, "similarity", "--format", "csv").out


@pytest.mark.parametrize("method", METHODS)
def test_a_story_in_json_is_one_object_with_sentence_facts_and_neighbors(models, method):
    (told,) = rows_of(run("story", models / method, "mill", "--top", 3, "--format", "json"))
    frame = wordtide.load(models / method).story("mill", top=3)
    assert told["sentence"] == frame.attrs["sentence"]
    assert {
        "word",
        "since",
        "until",
        "change",
        "low",
        "high",
        "halfway",
        "halfway_from",
        "halfway_to",
    } < told.keys()
    assert [row["word"] for row in told["neighbors"]] == frame["word"].tolist()


def test_a_story_without_a_posterior_has_null_for_its_intervals(models):
    (told,) = rows_of(run("story", models / "independent", "mill", "--format", "json"))
    assert [told[name] for name in ("low", "high", "halfway_from", "halfway_to")] == [None] * 4


def test_a_story_in_csv_has_the_neighbors_of_json(model):
    (told,) = rows_of(run("story", model, "mill", "--format", "json"))
    header, *rows = cells_of(run("story", model, "mill", "--format", "csv"))
    assert header == ["period", "time", *NEAR]
    assert rows == [[str(value) for value in row.values()] for row in told["neighbors"]]


@pytest.mark.parametrize("method", METHODS)
def test_a_told_story_begins_with_its_sentence(models, method):
    (told,) = rows_of(run("story", models / method, "mill", "--format", "json"))
    assert run("story", models / method, "mill").out.splitlines()[0] == told["sentence"]


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """A model of words that are well known everywhere, most of which do not occur in every slice."""
    path = tmp_path_factory.mktemp("sparse") / "model"
    well_known("smoother").save(path)
    return path


def test_a_table_says_yes_or_nothing_of_what_is_true_or_not(sparse):
    rows = rows_of(run("neighbors", sparse, "always", "--format", "json"))
    lines = run("neighbors", sparse, "always").out.splitlines()[1:]
    assert {row["inferred"] for row in rows} == {False, True}
    assert [line.split()[-1] == "yes" for line in lines] == [row["inferred"] for row in rows]


def test_a_table_of_changes_says_yes_or_nothing_of_significance(model, vague):
    seen = set()
    for folder in (model, vague):
        rows = rows_of(run("changed", folder, "--by", "low", "--format", "json"))
        lines = run("changed", folder, "--by", "low").out.splitlines()[1:]
        assert [" yes " in line for line in lines] == [row["significant"] for row in rows]
        seen |= {row["significant"] for row in rows}
    assert seen == {False, True}


def test_a_told_story_marks_words_that_do_not_occur_near_the_time_and_says_so_at_its_end(sparse):
    (told,) = rows_of(run("story", sparse, "always", "--format", "json"))
    out = run("story", sparse, "always").out
    shown = [(row["word"], f"{row['similarity']:.2f}", row["inferred"]) for row in told["neighbors"]]
    assert {inferred for *_, inferred in shown} == {False, True}
    for word, similarity, inferred in shown:
        assert bool(re.search(rf"\b{word} \* +{similarity} ", out)) is inferred
        assert bool(re.search(rf"\b{word} +{similarity} ", out)) is not inferred
    assert out.splitlines()[-1] == "* inferred: the word does not occur near that time"


def test_a_told_story_of_words_that_all_occur_has_no_marks(model):
    (told,) = rows_of(run("story", model, "mill", "--format", "json"))
    assert not any(row["inferred"] for row in told["neighbors"])
    assert "*" not in run("story", model, "mill").out


@pytest.fixture(scope="module")
def vague(tmp_path_factory):
    """A model of words that stand still; w0 and w1 occur often, and hardly anything is known of the others."""
    path = tmp_path_factory.mktemp("vague") / "model"
    means = np.random.default_rng(0).standard_normal((4, 1, 6)) * np.ones((1, 12, 1))
    planted("filter", means, 9.0, values=np.repeat([20, 10, 1, 1], 12)).save(path)
    return path


def test_a_list_without_words_that_are_well_known_is_an_error_that_says_why(vague):
    done = run("neighbors", vague, "w0")
    assert (done.code, done.out) == (2, "")
    assert "No other word is well known in 1911" in done.err


@pytest.mark.parametrize("format", ["table", "json"])
def test_where_nothing_changed_by_more_than_the_noise_frequent_words_are_listed_with_a_note(vague, format):
    done = run("changed", vague, "--by", "low", "--format", format)
    assert (done.code, "w0" in done.out, "w2" in done.out) == (0, True, False)
    assert done.err.startswith("note: No word changed by more than the noise between 1900 and 1911.")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_table_breaks_neither_lines_nor_numbers_nor_words(model, width, monkeypatch):
    monkeypatch.setattr("wordtide.cli.output.console", lambda: Console(width=width, highlight=False))
    out = ask(model, "changed").out
    pieces = re.split(r"[\s,;]+", out)
    rows = rows_of(ask(model, "changed", "--format", "json"))
    expected = [f"{row['probability']:.3f}" for row in rows]
    expected += [degrees(row[name]) for row in rows for name in ("change", "low", "high")]
    expected += [word for row in rows for word in (row["word"], *row["from"], *row["to"])]
    assert [piece for piece in expected if piece not in pieces] == []
    assert max(map(len, out.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_story_keeps_every_neighbor_and_interval(model, width, monkeypatch):
    monkeypatch.setattr("wordtide.cli.answer_tables.console", lambda: Console(width=width, highlight=False))
    out = run("story", model, "mill").out
    (told,) = rows_of(run("story", model, "mill", "--format", "json"))
    shown = [f"{row['similarity']:.2f}  [{row['low']:5.2f}, {row['high']:.2f}]" for row in told["neighbors"]]
    assert [piece for piece in shown if piece not in out] == []
    assert max(map(len, out.splitlines())) <= width


def test_a_real_process_writes_data_to_standard_output_and_notes_to_standard_error(model):
    done = run_process("neighbors", model, "mill", "--at", "1890", "--format", "json")
    assert (done.code, len(json.loads(done.out)), done.err.splitlines()[0][:5]) == (0, 10, "note:")


@pytest.mark.parametrize("name", [*QUESTIONS, "story"])
def test_the_help_shows_a_line_to_type(name):
    done = run(name, "--help")
    assert (done.code, done.err, f"Example: wordtide {name} model/ " in done.out) == (0, "", True)
