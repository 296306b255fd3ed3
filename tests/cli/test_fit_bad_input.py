"""What `wordtide fit` rejects: each case has an exit code and one message, and leaves no file."""

import json
import shutil

import pytest
from cli.command_line import listing, run

import wordtide
from wordtide.counts.counts import Counts
from wordtide.inference import memory
from wordtide.timeline import INTEGER_FIELDS, Slices

STEAM = "Steam power drives the mill by the river. The old mill grinds corn by steam. "
EXIT_SETTINGS, EXIT_INPUT, EXIT_OUTPUT, EXIT_FOLDER = 2, 3, 4, 5


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A good counts folder, not to be changed."""
    folder = tmp_path_factory.mktemp("counted") / "counts"
    wordtide.count([("1900", STEAM * 3), ("1910", STEAM * 2), ("1920", STEAM)]).save(folder)
    return folder


@pytest.fixture
def counts(good, tmp_path):
    """A good counts folder, to be changed."""
    return shutil.copytree(good, tmp_path / "counts")


def fit(counts, place, *options):
    return run("fit", counts, "-o", place / "model", "--dim", 4, "--threads", 1, *options)


def refused(done, place, code, problem, remedy):
    """One message of two lines (after what is known of the fit), its exit code, and nothing left behind."""
    assert done.code == code, done.err
    *_, first, second = done.err.splitlines()
    assert first.startswith("wordtide: ")
    assert "Traceback" not in done.err
    assert (problem in first, remedy in second) == (True, True), done.err
    assert listing(place) == []


def change_header(folder, **changes):
    path = folder / "header.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


OPTIONS = {
    "a negative diffusion constant": (("--diffusion", "-1"), "--diffusion -1", "Give a number"),
    "a diffusion constant of 0": (("--diffusion", "0"), "--diffusion 0", "Give a number"),
    "a diffusion constant that is no number": (("--diffusion", "nan"), "--diffusion nan", "Give a number"),
    "a diffusion constant without end": (("--diffusion", "inf"), "--diffusion inf", "Give a number"),
    "a diffusion constant that is a word": (("--diffusion", "fast"), "--diffusion 'fast'", "auto"),
    "a prior variance of 0": (("--prior-variance", "0"), "--prior-variance 0", "Give a number"),
    "no dimensions": (("--dim", "0"), "--dim 0", "Give a whole number"),
    "more dimensions than words": (
        ("--dim", "50"),
        "--dim 50 is larger than the vocabulary",
        "--vocabulary-size",
    ),
    "an unknown method": (("--method", "best"), "--method 'best'", "smoothing"),
    "an unknown solver": (("--solver", "sgd"), "--solver 'sgd'", "natural or adam"),
    "an unknown preset": (("--preset", "paper"), "'paper'", "paper-sotu"),
    "adam for a baseline": (("--solver", "adam", "--method", "static"), "static", "--solver"),
    "no threads": (("--threads", "0"), "--threads 0", "from 1 to 1024"),
    "unknown contexts": (("--contexts", "both"), "--contexts 'both'", "tied or separate"),
    "tied contexts for adam": (("--solver", "adam", "--contexts", "tied"), "separate contexts", "--contexts"),
    "a folder for a filter": (("--method", "filtering", "--offload", "."), "--offload is for", "--offload"),
    "a cluster for a baseline": (
        ("--method", "static", "--scheduler", "local:2"),
        "--scheduler is for",
        "--scheduler",
    ),
    "a folder and a cluster": (
        ("--offload", ".", "--scheduler", "local:2"),
        "--offload and --scheduler cannot be combined",
        "Omit --offload",
    ),
    "an unknown precision": (("--precision", "float16"), "'float16'", "float32"),
    "a negative time between checkpoints": (("--checkpoint-every", "-1"), "--checkpoint-every -1", "minutes"),
    "a time between checkpoints that is no number": (
        ("--checkpoint-every", "nan"),
        "--checkpoint-every nan",
        "minutes",
    ),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_an_option_that_cannot_be_used_is_named_with_its_remedy(good, place, case):
    options, problem, remedy = OPTIONS[case]
    refused(fit(good, place, *options), place, EXIT_SETTINGS, problem, remedy)


def test_a_fit_that_is_too_large_is_told_what_to_change(good, place, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1 << 20)
    refused(
        fit(good, place),
        place,
        EXIT_SETTINGS,
        "of memory, and 0.0 GB are free",
        "--method filtering, a smaller --dim",
    )


def test_a_file_of_settings_that_is_missing_is_named(good, place):
    done = fit(good, place, "--config", place / "nowhere.toml")
    refused(done, place, EXIT_INPUT, f"{place}/nowhere.toml does not exist", "--config")


def test_a_file_of_settings_that_is_not_toml_is_named(good, place, tmp_path):
    (tmp_path / "run.toml").write_text("dim: 100", encoding="utf-8")
    done = fit(good, place, "--config", tmp_path / "run.toml")
    refused(done, place, EXIT_INPUT, f"{tmp_path}/run.toml cannot be read", "dim = 100")


def test_counts_that_are_missing_are_named(place, tmp_path):
    refused(
        fit(tmp_path / "nowhere", place),
        place,
        EXIT_FOLDER,
        f"There is no counts folder at {tmp_path}/nowhere",
        "path",
    )


def test_a_text_is_no_counts_folder(place, tmp_path):
    (tmp_path / "1900.txt").write_text(STEAM, encoding="utf-8")
    refused(fit(tmp_path / "1900.txt", place), place, EXIT_FOLDER, "is a file, not a counts folder", "path")


def test_counts_of_another_version_are_refused(counts, place):
    change_header(counts, version=99)
    refused(fit(counts, place), place, EXIT_SETTINGS, "version 99", "make the folder again")


def test_a_model_is_no_counts_folder(good, place, tmp_path):
    fit(good, tmp_path)
    refused(fit(tmp_path / "model", place), place, EXIT_FOLDER, "is not a counts folder", "counts")


@pytest.mark.parametrize("name", ["values.npy", "columns.npy", "words.txt", "slice_tokens.npy"])
def test_counts_without_one_of_their_files_are_refused(counts, place, name):
    (counts / name).unlink()
    refused(fit(counts, place), place, EXIT_FOLDER, f"{name} is missing", "again")


@pytest.mark.parametrize("name", ["values.npy", "columns.npy", "words.txt", "unigram_values.npy"])
def test_counts_with_changed_bytes_are_refused(counts, place, name):
    content = (counts / name).read_bytes()
    (counts / name).write_bytes(content[:-4] + bytes(byte ^ 1 for byte in content[-4:]))
    refused(fit(counts, place), place, EXIT_FOLDER, f"{name} is damaged: its checksum is wrong", "again")


def test_times_that_do_not_increase_are_refused(good, place, tmp_path):
    counts = wordtide.Counts.load(good)
    backwards = {name: getattr(counts.slices, name)[::-1] for name in INTEGER_FIELDS}
    tampered = Counts(
        counts.words, Slices(**backwards, labels=counts.labels), counts.arrays, counts.settings, counts.window
    )
    tampered.save(tmp_path / "counts")
    refused(
        fit(tmp_path / "counts", place),
        place,
        EXIT_FOLDER,
        "are inconsistent: the folder is damaged",
        "Count again",
    )


def test_a_slice_without_pairs_is_named(place, tmp_path):
    wordtide.count([("1900", STEAM), ("1910", "Steam."), ("1920", STEAM), ("1930", "Mill.")]).save(
        tmp_path / "counts"
    )
    done = fit(tmp_path / "counts", place)
    refused(done, place, EXIT_INPUT, "2 of 4 slices have no word pairs, the first is 1910", "--every")


def test_a_vocabulary_of_one_word_is_refused(place, tmp_path):
    wordtide.count([("1900", "steam steam steam")]).save(tmp_path / "counts")
    refused(fit(tmp_path / "counts", place), place, EXIT_INPUT, "vocabulary has 1 word", "--vocabulary-size")


def test_an_output_that_exists_is_refused(good, place):
    (place / "model").mkdir()
    done = fit(good, place)
    assert (done.code, "exists already" in done.err, "--overwrite" in done.err) == (EXIT_OUTPUT, True, True)


def test_overwriting_a_folder_of_the_user_s_own_is_refused(good, place):
    (place / "model").mkdir()
    (place / "model" / "wedding.jpg").write_bytes(b"precious")
    assert (fit(good, place, "--overwrite").code, listing(place / "model")) == (EXIT_OUTPUT, ["wedding.jpg"])


def test_an_output_in_a_missing_folder_says_how_to_make_it(good, place):
    done = fit(good, place / "deep")
    refused(done, place, EXIT_OUTPUT, f"The folder {place}/deep does not exist", f"mkdir -p {place}/deep")


def test_going_on_without_a_checkpoint_begins_from_the_start(good, place):
    done = fit(good, place, "--resume")
    assert (done.code, "no checkpoint yet; starting from the beginning" in done.err) == (0, True)


def test_going_on_where_the_model_is_finished_is_refused(good, place):
    fit(good, place)
    done = fit(good, place, "--resume")
    assert (done.code, "exists already" in done.err) == (EXIT_OUTPUT, True)
