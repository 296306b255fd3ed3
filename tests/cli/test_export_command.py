"""`wordtide export` as typed: what it prints, what it rejects, and that no file is ever half-written."""

import fcntl
import os
import resource
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli.command_line import command, listing, run, run_process
from embeddings.models import WORDS, model_of, posterior_of

import wordtide

AT = "1854.0"
FORMATS = {
    "word2vec": ["--at", AT],
    "word2vec-binary": ["--at", AT],
    "npz": ["--at", AT],
    "parquet": ["--at", AT],
    "projector": ["--at", AT],
    "dwe": [],
}
FILES = {to: ["out"] for to in FORMATS} | {"projector": ["out.metadata.tsv", "out.vectors.tsv"]}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model folder."""
    folder = tmp_path_factory.mktemp("fitted") / "model"
    model_of("smoother").save(folder)
    return folder


@pytest.fixture(scope="module")
def large_model(tmp_path_factory):
    """A model folder whose exports take more than 100 kB each."""
    places = {f"word{number}": [0, 7] for number in range(1000)}
    folder = tmp_path_factory.mktemp("fitted") / "model"
    model_of("smoother", places, posterior=posterior_of("smoother", places, 30)).save(folder)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("to", FORMATS)
def test_every_format_can_be_asked_for(model, place, to):
    done = run("export", model, "--to", to, *FORMATS[to], "-o", place / "out")
    assert (done.code, listing(place)) == (0, FILES[to])


@pytest.mark.parametrize("to", FORMATS)
def test_standard_output_stays_empty(model, place, to):
    assert run("export", model, "--to", to, *FORMATS[to], "-o", place / "out").out == ""


def test_standard_error_ends_with_the_path(model, place):
    done = run("export", model, "--to", "npz", "--at", AT, "-o", place / "out")
    assert done.err == f"written to {place / 'out'}\n"


def test_standard_error_ends_with_the_paths_of_a_pair(model, place):
    done = run("export", model, "--to", "projector", "--at", AT, "--top", 2, "-o", place / "out")
    assert done.err == f"written to {place / 'out.vectors.tsv'} and {place / 'out.metadata.tsv'}\n"


def test_standard_error_begins_with_the_size_of_all_slices(model, place):
    done = run("export", model, "--to", "dwe", "-o", place / "out")
    assert done.err.splitlines()[0] == "8 slices x 7 words x 3 dimensions: about 1 MB"


def test_a_prediction_is_told_on_standard_error_only(model, place):
    done = run("export", model, "--to", "npz", "--at", 1999, "-o", place / "out")
    assert "1999.50 is outside the slices" in done.err
    assert "these vectors are predictions" in done.err
    assert (done.code, done.out) == (0, "")


def test_a_process_of_its_own_writes_the_same_bytes(model, place):
    for runner, name in ((run, "here"), (run_process, "there")):
        runner("export", model, "--to", "dwe", "-o", place / name)
    assert (place / "here").read_bytes() == (place / "there").read_bytes()


def test_options_reach_the_export(model, place):
    (place / "words.txt").write_text("late\ngaps\n", encoding="utf-8")
    options = ("--vectors", "context", "--words", place / "words.txt", "--at", AT)
    run("export", model, "--to", "word2vec", *options, "-o", place / "out")
    header, *rows = (place / "out").read_text().splitlines()
    assert (header, [row.split()[0] for row in rows]) == ("2 3", ["gaps", "late"])
    means = [wordtide.load(model).context_mean(word, AT) for word in ("gaps", "late")]
    np.testing.assert_allclose(
        [[float(number) for number in row.split()[1:]] for row in rows], means, rtol=1e-6
    )


def test_the_most_frequent_words_can_be_asked_for(model, place):
    run("export", model, "--to", "npz", "--at", AT, "--top", 3, "-o", place / "out")
    with np.load(place / "out") as read:
        assert len(read["words"]) == 3 < len(WORDS)


BAD = {
    "no time": (["--to", "word2vec"], 2, "--to word2vec writes one time"),
    "a time too many": (["--to", "dwe", "--at", AT], 2, "--to dwe writes all slices"),
    "not a time": (["--to", "npz", "--at", "soon"], 2, "is not a time"),
    "not a format": (["--to", "glove", "--at", AT], 2, "no export to 'glove'"),
    "not a kind of vectors": (["--to", "npz", "--at", AT, "--vectors", "both"], 2, "vectors"),
    "no such file of words": (
        ["--to", "npz", "--at", AT, "--words", "/no/such/file"],
        3,
        "/no/such/file does not exist",
    ),
}


@pytest.mark.parametrize(("options", "code", "problem"), BAD.values(), ids=BAD)
def test_bad_options_end_with_a_problem_a_remedy_and_an_exit_code(model, place, options, code, problem):
    done = run("export", model, *options, "-o", place / "out")
    first, second = done.err.splitlines()
    assert (done.code, problem in first, second.startswith("  ")) == (code, True, True)
    assert listing(place) == []


def test_an_unknown_word_ends_with_2_and_the_nearest_spelling(model, place):
    (place / "words.txt").write_text("lated\n", encoding="utf-8")
    done = run(
        "export", model, "--to", "npz", "--at", AT, "--words", place / "words.txt", "-o", place / "out"
    )
    assert (done.code, done.err.splitlines()[1]) == (2, "  Similar words: late.")


def test_a_folder_that_is_no_model_ends_with_5(place):
    done = run("export", place, "--to", "npz", "--at", AT, "-o", place / "out")
    assert (done.code, listing(place)) == (5, [])


@pytest.mark.parametrize("to", FORMATS)
def test_what_exists_is_not_replaced(model, place, to):
    (place / FILES[to][0]).write_text("mine")
    done = run("export", model, "--to", to, *FORMATS[to], "-o", place / "out")
    assert (done.code, contents(place)) == (4, {FILES[to][0]: b"mine"})
    assert "add --overwrite to replace it" in done.err


@pytest.mark.parametrize("to", FORMATS)
def test_overwriting_replaces_the_files_and_leaves_nothing_else(model, place, to):
    for name in FILES[to]:
        (place / name).write_text("mine")
    done = run("export", model, "--to", to, *FORMATS[to], "-o", place / "out", "--overwrite")
    assert (done.code, listing(place)) == (0, FILES[to])
    assert b"mine" not in contents(place).values()


def test_a_folder_is_never_replaced(model, place):
    (place / "out").mkdir()
    done = run("export", model, "--to", "npz", "--at", AT, "-o", place / "out", "--overwrite")
    assert (done.code, listing(place / "out")) == (4, [])


def test_files_of_a_model_are_never_replaced(model):
    before = contents(model)
    done = run("export", model, "--to", "npz", "--at", AT, "-o", model / "words.txt", "--overwrite")
    assert (done.code, contents(model)) == (4, before)


def test_a_folder_that_does_not_exist_is_told(model, place):
    done = run("export", model, "--to", "npz", "--at", AT, "-o", place / "none" / "out")
    assert (done.code, done.err.splitlines()[1]) == (4, f"  Make it first: mkdir -p {place / 'none'}")


def test_a_symbolic_link_stays_and_what_it_points_to_is_replaced(model, place):
    (place / "out").symlink_to(place / "real")
    (place / "real").write_text("old")
    run("export", model, "--to", "npz", "--at", AT, "-o", place / "out", "--overwrite")
    assert (place / "out").is_symlink()
    assert (place / "real").read_bytes()[:2] == b"PK"


def test_a_file_can_be_read_by_whom_the_umask_lets(model, place):
    before = os.umask(0o027)
    try:
        run("export", model, "--to", "npz", "--at", AT, "-o", place / "out")
    finally:
        os.umask(before)
    assert (place / "out").stat().st_mode & 0o777 == 0o640


@pytest.fixture
def small_files():
    """Files may not grow beyond 100 kB, as on a disk that fills up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.usefixtures("small_files")
def test_a_file_that_cannot_be_finished_leaves_nothing_behind(large_model, place, to):
    done = run("export", large_model, "--to", to, *FORMATS[to], "-o", place / "out")
    assert (done.code, listing(place)) == (4, [])
    assert "cannot be written" in done.err


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.usefixtures("small_files")
def test_a_file_that_cannot_be_finished_leaves_the_old_one_as_it_was(large_model, place, to):
    for name in FILES[to]:
        (place / name).write_text("mine")
    run("export", large_model, "--to", to, *FORMATS[to], "-o", place / "out", "--overwrite")
    assert contents(place) == dict.fromkeys(FILES[to], b"mine")


@pytest.mark.parametrize("before", [{}, {"out.vectors.tsv": b"mine", "out.metadata.tsv": b"mine too"}])
def test_of_a_pair_both_files_come_or_neither(model, place, monkeypatch, before):
    for name, content in before.items():
        (place / name).write_bytes(content)
    put = os.replace

    def fails_for_the_second(source, target):
        if ".partial-" in Path(source).name and Path(target).name == "out.metadata.tsv":
            raise PermissionError(13, "Permission denied")
        put(source, target)

    monkeypatch.setattr(os, "replace", fails_for_the_second)
    done = run("export", model, "--to", "projector", "--at", AT, "-o", place / "out", "--overwrite")
    assert (done.code, contents(place)) == (4, before)


def test_what_a_killed_export_left_is_swept_away(large_model, place):
    with subprocess.Popen(
        command("export", large_model, "--to", "dwe", "-o", place / "out"), stderr=subprocess.PIPE
    ) as process:
        process.stderr.readline()  # the size, told before the file is begun
        while not any(".partial-" in name for name in listing(place)) and process.poll() is None:
            pass
        process.send_signal(signal.SIGKILL)
    (place / ".out.partial-0000").write_text("of another one that was killed")
    done = run("export", large_model, "--to", "dwe", "-o", place / "out", "--overwrite")
    assert (done.code, listing(place)) == (0, ["out"])


def test_what_a_living_export_is_writing_stays_and_another_is_refused(model, place):
    lock, partial = place / ".out.lock", place / ".out.partial-0000"
    partial.write_text("of one that lives")
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = run("export", model, "--to", "npz", "--at", AT, "-o", place / "out")
    assert (done.code, "Another process is writing" in done.err) == (4, True)
    assert listing(place) == [lock.name, partial.name]


def test_ctrl_c_leaves_nothing_behind(large_model, place, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("wordtide.exports.selection.Selection.deviations_at_slices", interrupted)
    done = run("export", large_model, "--to", "dwe", "-o", place / "out")
    assert (done.code, listing(place)) == (130, [])
