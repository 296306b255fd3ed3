"""`wordtide fit` as a user types it: what it prints, what it writes, and that every setting can be reached."""

import re
from dataclasses import fields

import pytest
from cli.command_line import listing, run, run_process

import wordtide
from wordtide.cli.commands.fit import is_cut_off
from wordtide.inference.settings import METHODS, FitSettings
from wordtide.settings import settings_of

STEAM = "Steam power drives the mill by the river. The old mill grinds corn by steam and by the river. "
LAW = "The king made a law for the mill. The law of the river is old and the king drives a hard bargain. "


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """A counts folder of three slices."""
    folder = tmp_path_factory.mktemp("counted") / "counts"
    wordtide.count([("1900", STEAM * 4), ("1910", STEAM + LAW), ("1925", LAW * 4)]).save(folder)
    return folder


@pytest.fixture(scope="module")
def fitted(counts, tmp_path_factory):
    """A model folder and the run that made it."""
    place = tmp_path_factory.mktemp("fitted")
    return place / "model", run("fit", counts, "-o", place / "model", "--dim", 4, "--threads", 1)


def test_a_good_fit_ends_with_0(fitted):
    assert fitted[1].code == 0


def test_a_good_fit_leaves_the_model_and_nothing_else(fitted):
    assert listing(fitted[0].parent) == ["model"]


def test_standard_output_stays_empty(fitted):
    assert fitted[1].out == ""


def test_standard_error_tells_size_and_memory_before_anything_else(fitted):
    pattern = (
        r"smoothing by natural: 3 slices, \d+ words, \d+ knots, 4 dimensions; memory needed: about \d\.\d GB"
    )
    assert re.fullmatch(pattern, fitted[1].err.splitlines()[0])


def test_standard_error_tells_steps_time_and_elbo(fitted):
    model = wordtide.load(fitted[0])
    predicted = rf"{model.fitted.prediction:.4f} for unseen slices \(chance -0.6931\)"
    limit = (
        r" \(the limit; raise it with --max-steps\)"
        if is_cut_off(model.curve, model.settings["tolerance"])
        else ""
    )
    pattern = rf"{len(model.curve)} steps{limit} in \d+\.\d s, ELBO {model.elbo:.4f} per pair, {predicted}"
    assert re.fullmatch(pattern, fitted[1].err.splitlines()[1])


@pytest.mark.parametrize(("steps", "told"), [(3, True), (300, False)])
def test_standard_error_tells_whether_the_limit_of_steps_ended_the_fit(counts, tmp_path, steps, told):
    options = ("--dim", 4, "--threads", 1, "--max-steps", steps, "--tolerance", 0.001)
    done = run("fit", counts, "-o", tmp_path / "model", *options)
    assert ("the limit; raise it with --max-steps" in done.err) is told


def test_standard_error_ends_with_the_path(fitted):
    assert fitted[1].err.splitlines()[2:] == [f"written to {fitted[0]}"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_asked_for(counts, tmp_path, method):
    done = run("fit", counts, "-o", tmp_path / "model", "--method", method, "--dim", 4, "--threads", 1)
    assert (done.code, wordtide.load(tmp_path / "model").method) == (0, method)


def test_filtering_by_adam_can_be_asked_for(counts, tmp_path):
    options = ("--method", "filtering", "--solver", "adam", "--adam-steps", 3, "--dim", 4)
    done = run("fit", counts, "-o", tmp_path / "model", *options)
    assert (done.code, len(wordtide.load(tmp_path / "model").curve)) == (0, 9)


def test_smoothing_by_adam_can_be_asked_for(counts, tmp_path):
    options = (
        "--solver",
        "adam",
        "--adam-minibatch-words",
        5,
        "--adam-minibatch-steps",
        3,
        "--adam-full-steps",
        2,
    )
    done = run("fit", counts, "-o", tmp_path / "model", "--dim", 4, *options)
    assert (done.code, len(wordtide.load(tmp_path / "model").curve)) == (0, 5)


def test_an_estimated_diffusion_constant_is_told(counts, tmp_path):
    done = run("fit", counts, "-o", tmp_path / "model", "--dim", 4, "--diffusion", "auto", "--threads", 1)
    constant = wordtide.load(tmp_path / "model").diffusion.constant
    assert f"diffusion constant: {constant:.3g} per year" in done.err.splitlines()


@pytest.mark.parametrize("field", [field.name for field in fields(FitSettings)])
def test_every_setting_is_an_option_of_the_command(field, help_text):
    assert f" --{field.replace('_', '-')} " in help_text


@pytest.fixture(scope="module")
def help_text():
    return run_process("fit", "--help").out


OPTIONS = {
    "method": "filtering",
    "solver": "natural",
    "dim": 3,
    "diffusion": 0.25,
    "prior": "product",
    "contexts": "tied",
    "prior_variance": 2.5,
    "seed": 7,
    "negative_ratio": 2.0,
    "context_exponent": 0.5,
    "negative_contexts": 9,
    "max_steps": 2,
    "tolerance": 0.5,
    "rate": 0.8,
    "final_rate": 0.2,
    "trust": 0.75,
    "adam_steps": 11,
    "adam_rate": 0.125,
    "adam_minibatch_words": 12,
    "adam_minibatch_steps": 13,
    "adam_full_steps": 14,
    "adam_full_rate": 0.0625,
}


def test_every_option_reaches_the_model(counts, tmp_path):
    typed = [part for name, value in OPTIONS.items() for part in ("--" + name.replace("_", "-"), value)]
    run("fit", counts, "-o", tmp_path / "model", "--threads", 1, *typed)
    assert wordtide.load(tmp_path / "model").settings == OPTIONS


def test_no_setting_is_left_out_of_the_test_above():
    assert set(OPTIONS) == {field.name for field in fields(FitSettings)}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_help_states_what_the_settings_declare(help_text, name):
    declared = settings_of(FitSettings)[name].described()
    assert f"--{name.replace('_', '-')}" in help_text
    assert "".join(declared.split()) in "".join(help_text.split())


def test_the_help_states_defaults(help_text):
    flat = " ".join(help_text.split())
    for stated in (
        "smoothing (default)",
        "natural (default)",
        "Default: 100.",
        "Default: 0.001.",
        "Default: auto.",
    ):
        assert stated in flat


def test_flags_override_a_file_and_a_file_overrides_a_preset(counts, tmp_path):
    (tmp_path / "run.toml").write_text("dim = 4\nprior-variance = 3.0\nseed = 5\n", encoding="utf-8")
    options = ("--preset", "paper-twitter", "--config", tmp_path / "run.toml", "--seed", 6, "--threads", 1)
    run("fit", counts, "-o", tmp_path / "model", *options)
    settings = wordtide.load(tmp_path / "model").settings
    assert {name: settings[name] for name in ("diffusion", "dim", "prior_variance", "seed")} == {
        "diffusion": 1.0,
        "dim": 4,
        "prior_variance": 3.0,
        "seed": 6,
    }


def test_overwriting_replaces_a_model(counts, tmp_path):
    run("fit", counts, "-o", tmp_path / "model", "--dim", 4, "--threads", 1)
    run("fit", counts, "-o", tmp_path / "model", "--dim", 3, "--threads", 1, "--overwrite")
    assert (wordtide.load(tmp_path / "model").dim, listing(tmp_path)) == (3, ["model"])


def test_double_precision_can_be_asked_for(counts, tmp_path):
    done = run("fit", counts, "-o", tmp_path / "model", "--dim", 4, "--threads", 1, "--precision", "float64")
    assert (done.code, wordtide.load(tmp_path / "model", check=True).dim) == (0, 4)


def test_a_process_of_its_own_gives_the_bits_of_this_one(counts, tmp_path, fitted):
    run_process("fit", counts, "-o", tmp_path / "model", "--dim", 4, "--threads", 1)
    assert (tmp_path / "model" / "arrays.safetensors").read_bytes() == (
        fitted[0] / "arrays.safetensors"
    ).read_bytes()
