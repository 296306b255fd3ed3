"""No table contains a cell that a spreadsheet would evaluate or a character that controls a terminal."""

import csv
import io
import json

import numpy as np
import pytest
from cli.command_line import run
from embeddings.models import model_of
from hypothesis import example, given
from hypothesis import strategies as st

import wordtide
from wordtide.errors import FolderError, SettingsError
from wordtide.evaluation.report import csv_bytes
from wordtide.exports.export import export
from wordtide.figures.method_figures import read_scores
from wordtide.storage.cells import csv_text, is_plain, spelled_out, text_cell, text_of_cell

#: Words that a tokeniser of one's own may give.
FORMULAS = ["=cmd|'/c calc'!A1", "+1+1", "-x", "@sum(a1)", "＝1"]
RUN_BY_SPREADSHEETS = tuple("=+-@\t\r")
ESCAPES = ["\x1b[2J", "\x9b2J", "\u202egnp.exe", "\x07", "\x00"]


@given(st.text())
@example("=1")
@example("'=1")
@example(" =1")
@example("\t=1")
@example("-44")
@example("-4-4")
def test_a_cell_is_never_a_formula_and_restores_its_text(text):
    cell = text_cell(text)
    assert not cell.startswith(RUN_BY_SPREADSHEETS) or float(cell) is not None  # a plain number is no formula
    assert is_plain(cell)
    assert text_of_cell(cell) == spelled_out(text)


@given(st.lists(st.tuples(st.text(), st.floats(allow_nan=False), st.integers()), max_size=5))
def test_rows_of_csv_can_be_read_back(rows):
    written = csv_text(({"word": word, "x": x, "n": n} for word, x, n in rows), ["word", "x", "n"])
    _, *found = csv.reader(io.StringIO(written, newline=""), strict=True)
    assert [(text_of_cell(word), float(x), int(n)) for word, x, n in found] == [
        (spelled_out(word), x, n) for word, x, n in rows
    ]


def test_negative_numbers_stay_numbers():
    assert (
        csv_text(
            [{"x": -0.5, "n": -3, "none": None, "word": "steam"}], ["x", "n", "none", "word"]
        ).splitlines()[1]
        == "-0.5,-3,,steam"
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model whose words are formulas."""
    folder = tmp_path_factory.mktemp("formulas") / "model"
    words = {word: [0, 3, 5, 7] for word in [*FORMULAS, "steam"]}
    model_of("smoother", words, values=np.full(4 * len(words), 50)).save(
        folder
    )  # so frequent that all are well known
    return folder


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """Counts whose words, sentences and document names are formulas and escapes."""
    place = tmp_path_factory.mktemp("sources")
    (place / "texts").mkdir()
    (place / "texts" / "=1862\x1b[2J.txt").write_text(
        f"steam {' '.join(FORMULAS)} {' '.join(ESCAPES)} power\n", encoding="utf-8"
    )
    options = {"pretokenized": True, "examples": 2, "every": "document"}
    wordtide.count(place / "texts", output=place / "counts", workers=1, **options)
    return place / "counts"


def text_cells(printed):
    return [cell for row in csv.reader(io.StringIO(printed)) for cell in row if not is_number(cell)]


def is_number(cell):
    try:
        return float(cell) is not None
    except ValueError:
        return False


@pytest.mark.parametrize(
    "question", [("neighbors", "steam"), ("changed",), ("similarity", "steam", "+1+1"), ("story", "@sum(a1)")]
)
def test_answers_as_csv_contain_no_formula(model, question):
    printed = run(question[0], model, *question[1:], "--format", "csv")
    assert printed.code == 0, printed.err
    assert not [cell for cell in text_cells(printed.out) if cell.startswith(RUN_BY_SPREADSHEETS)]


def test_answers_as_json_are_exact(model):
    printed = run("neighbors", model, "steam", "--format", "json")
    assert {row["word"] for row in json.loads(printed.out)} == set(FORMULAS)


def test_the_metadata_of_the_projector_contain_no_formula(model, tmp_path):
    export(wordtide.load(model), tmp_path / "words", "projector", at="1855")
    words = [
        line.split("\t")[0]
        for line in (tmp_path / "words.metadata.tsv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    assert not [word for word in words if word.startswith(RUN_BY_SPREADSHEETS)]
    assert [text_of_cell(word).replace("_", " ") for word in words] == [*FORMULAS, "steam"]


def test_tables_of_reports_contain_no_formula_and_can_be_read_back(tmp_path):
    rows = [{"method": "=mine", "time": -44.5, "log_likelihood": -0.5, "pairs": 3}]
    (tmp_path / "scores.csv").write_bytes(csv_bytes(rows, ["method", "time", "log_likelihood", "pairs"]))
    assert (tmp_path / "scores.csv").read_text().splitlines()[1] == "'=mine,-44.5,-0.5,3"
    assert read_scores(tmp_path / "scores.csv")["method"] == ["=mine"]


@pytest.mark.parametrize("format", ["table", "csv", "json"])
@pytest.mark.parametrize("question", [("info",), ("examples", "steam"), ("examples", "+1+1")])
def test_printed_counts_do_not_control_the_terminal(counts, question, format):
    printed = run(question[0], counts, *question[1:], "--format", format)
    assert printed.code == 0, printed.err
    assert is_plain(printed.out)


def test_words_with_control_characters_are_not_in_the_vocabulary(counts):
    words = wordtide.Counts.load(counts).words
    assert set(words) == {*" ".join(FORMULAS).split(), "steam", "power"}


@pytest.mark.parametrize("escape", ESCAPES)
def test_error_messages_do_not_control_the_terminal(escape, tmp_path):
    name = f"x{escape.replace(chr(0), '')}.csv"
    (tmp_path / name).write_text(f"date,te{escape}xt\n1862,steam\n", encoding="utf-8")
    refused = run("count", tmp_path / name, "-o", tmp_path / "counts")
    assert refused.code == 3
    assert is_plain(refused.err)


def test_a_file_name_that_is_not_text_is_printed(tmp_path):
    name = "1862-\udcff\udc9b.txt"  # bytes that are not UTF-8
    (tmp_path / name).write_text("steam power", encoding="utf-8")
    done = run("count", tmp_path / name, "-o", tmp_path / "counts", "--every", "document", "--examples", 1)
    assert done.code == 0, done.err
    for format in ("table", "csv", "json"):
        printed = run("examples", tmp_path / "counts", "steam", "--format", format)
        assert (printed.code, is_plain(printed.out)) == (0, True)


@pytest.mark.parametrize("name", ["words.txt", "labels.txt"])
def test_a_folder_with_control_characters_is_refused(name, tmp_path):
    wordtide.count([("1862", "steam power")], output=tmp_path / "counts")
    model_of("point").save(tmp_path / "model")
    for folder, load in ((tmp_path / "counts", wordtide.Counts.load), (tmp_path / "model", wordtide.load)):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(b"\x1b" + content[1:])
        with pytest.raises(FolderError, match="control characters"):
            load(folder)


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_vocabulary_with_control_characters_is_refused(escape, tmp_path):
    (tmp_path / "words.txt").write_text(f"steam\npo{escape}wer\n", encoding="utf-8")
    with pytest.raises(wordtide.errors.InputError, match="line 2"):
        wordtide.count([("1862", "steam power")], vocabulary=str(tmp_path / "words.txt"))


@pytest.mark.parametrize("escape", ESCAPES)
def test_models_with_control_characters_in_words_are_not_written(escape, tmp_path):
    with pytest.raises(SettingsError, match="cannot be a word"):
        model_of("point", {f"a{escape}b": [0]}).save(tmp_path / "model")
