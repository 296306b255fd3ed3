"""`wordtide info` of a model: the facts in a table, as CSV and as JSON; and models that are damaged."""

import csv
import io
import json
import shutil

import numpy as np
import pytest
from cli.command_line import run

import wordtide
from wordtide.inference.settings import FitSettings

STEAM = "Steam power drives the mill by the river. The old mill grinds corn by steam and by the river. "
LAW = "The king made a law for the mill. The law of the river is old and the king drives a hard bargain. "
EXIT_FOLDER = 5


@pytest.fixture(scope="module")
def counts():
    return wordtide.count([("1900", STEAM * 4), ("1910", STEAM + LAW), ("1925", LAW * 4)])


@pytest.fixture(scope="module")
def models(counts, tmp_path_factory):
    """A smoothed and a filtered model."""
    place = tmp_path_factory.mktemp("models")
    for method in ("smoothing", "filtering"):
        wordtide.fit(counts, output=place / method, method=method, dim=4, threads=1)
    return place


@pytest.fixture
def model(models, tmp_path):
    """A model folder to be damaged."""
    return shutil.copytree(models / "filtering", tmp_path / "model")


@pytest.fixture(scope="module")
def answer(models):
    return json.loads(run("info", models / "filtering", "--format", "json").out)


def test_the_facts_of_a_model_are_those_of_its_fit(models, answer, counts):
    fitted = wordtide.load(models / "filtering")
    facts = {
        "method": "filtering",
        "solver": "natural",
        "kind": "filter",
        "slice_count": 3,
        "first": "1900",
        "last": "1925",
    }
    facts |= {
        "words": len(counts.words),
        "dim": 4,
        "steps": len(fitted.curve),
        "elbo": fitted.elbo,
        "diffusion": 0.001,
    }
    assert {name: answer[name] for name in facts} == facts


def test_json_has_all_settings(answer):
    assert answer["settings"] == FitSettings(method="filtering", dim=4).as_json()


def test_json_has_every_slice_with_its_words_and_knots(answer, counts):
    rows = [(row["slice"], row["time"], row["words"], row["knots"]) for row in answer["slices"]]
    words = [int(np.count_nonzero(counts.unigrams(t))) for t in range(3)]
    knots = [int(np.count_nonzero(counts.word_probability(t))) for t in range(3)]
    assert rows == list(zip(counts.labels, counts.times.tolist(), words, knots, strict=True))


def test_json_of_a_filtered_model_has_the_last_elbo_of_each_slice(models, answer):
    last = {
        row["slice"]: row["elbo"]
        for row in wordtide.load(models / "filtering").curve
        if row["elbo"] is not None
    }
    assert [row["elbo"] for row in answer["slices"]] == [last[t] for t in range(3)]


def test_json_of_a_smoothed_model_has_null_where_slices_have_no_elbo_of_their_own(models):
    answer = json.loads(run("info", models / "smoothing", "--format", "json").out)
    assert [row["elbo"] for row in answer["slices"]] == [None, None, None]


def test_csv_has_a_row_for_each_slice(models, answer):
    out = run("info", models / "filtering", "--format", "csv").out
    rows = [{**row, "time": float(row["time"])} for row in csv.DictReader(io.StringIO(out))]
    assert rows == [
        {**row, "words": str(row["words"]), "knots": str(row["knots"]), "elbo": str(row["elbo"])}
        for row in answer["slices"]
    ]


def test_csv_of_a_smoothed_model_leaves_the_elbo_of_slices_empty(models):
    out = run("info", models / "smoothing", "--format", "csv").out
    assert [row["elbo"] for row in csv.DictReader(io.StringIO(out))] == ["", "", ""]


@pytest.mark.parametrize(
    "line", ["method                filtering", "dim                   4", "slice count           3"]
)
def test_the_table_tells_the_facts(models, line):
    assert line in run("info", models / "filtering").out.splitlines()


@pytest.mark.parametrize("label", ["1900", "1910", "1925"])
def test_the_table_tells_every_slice(models, label):
    assert any(line.startswith(f"{label} ") for line in run("info", models / "filtering").out.splitlines())


@pytest.mark.parametrize("method", ["smoothing", "filtering"])
def test_the_table_has_no_word_for_what_is_not_known_but_settings(models, method):
    out = run("info", models / method).out
    assert "None" not in out.replace("max_steps=None", "")


def test_a_model_whose_elbo_was_not_measured_is_shown_without_it(model):
    path = model / "header.json"
    path.write_text(
        json.dumps({**json.loads(path.read_text(encoding="utf-8")), "elbo": None}), encoding="utf-8"
    )
    done = run("info", model)
    assert (done.code, [line for line in done.out.splitlines() if line.startswith("elbo")]) == (0, [])


@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_standard_error_stays_empty(models, format):
    done = run("info", models / "filtering", "--format", format, "--check")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    "name", ["arrays.safetensors", "curve.csv", "labels.txt", "words.txt", "header.json"]
)
def test_a_model_without_one_of_its_files_is_refused_with_the_file(model, name):
    (model / name).unlink()
    done = run("info", model)
    assert (done.code, f"{model / name} is missing" in done.err, len(done.err.splitlines())) == (
        EXIT_FOLDER,
        True,
        2,
    )


@pytest.mark.parametrize(
    "name", ["arrays.safetensors", "curve.csv", "labels.txt", "words.txt", "header.json"]
)
def test_a_model_with_a_file_that_was_cut_short_is_refused_with_the_file(model, name):
    (model / name).write_bytes((model / name).read_bytes()[:-7])
    done = run("info", model)
    assert (done.code, str(model / name) in done.err, len(done.err.splitlines())) == (EXIT_FOLDER, True, 2)


@pytest.mark.parametrize("name", ["arrays.safetensors", "curve.csv", "labels.txt", "words.txt"])
def test_a_model_with_changed_bytes_is_found_out_by_checking(model, name):
    content = (model / name).read_bytes()
    (model / name).write_bytes(content[:-3] + bytes(byte ^ 1 for byte in content[-3:]))
    done = run("info", model, "--check")
    assert (done.code, f"{model / name} is damaged" in done.err) == (EXIT_FOLDER, True)


def test_a_model_of_another_version_is_refused(model):
    path = model / "header.json"
    path.write_text(
        json.dumps({**json.loads(path.read_text(encoding="utf-8")), "version": 99}), encoding="utf-8"
    )
    done = run("info", model)
    assert (done.code, "version 99 of the model format" in done.err) == (2, True)


def test_a_checkpoint_is_neither_counts_nor_a_model(model):
    path = model / "header.json"
    path.write_text(
        json.dumps({**json.loads(path.read_text(encoding="utf-8")), "kind": "checkpoint"}), encoding="utf-8"
    )
    done = run("info", model)
    assert (done.code, "of kind checkpoint" in done.err) == (EXIT_FOLDER, True)
