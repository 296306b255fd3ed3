"""Commands as typed that could destroy work or exhaust the machine, one row each: what they say, and what stays."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from cli.command_line import command, listing, run, run_process

import wordtide
from wordtide.storage.arrays import map_tensors, write_tensors
from wordtide.storage.header import file_facts, read_json

WORDS = [stem + ending for stem in ("river", "mill", "road", "king") for ending in ("", "er", "ing", "ly")]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with texts, counts and a model, as the commands of the table name them."""
    place = tmp_path_factory.mktemp("world")
    texts = [" ".join(np.random.default_rng(year).choice(WORDS, 300)) for year in range(3)]
    (place / "texts").mkdir()
    for number, text in enumerate(texts):
        (place / "texts" / f"{1900 + 10 * number}.txt").write_text(text, encoding="utf-8")
    (place / "words.txt").write_text("river\nmill\n", encoding="utf-8")
    counts = wordtide.count(str(place / "texts"), output=place / "counts")
    counts.save(place / "others")
    wordtide.fit(counts, dim=4, threads=1, output=place / "model")
    counts.save(place / "next.checkpoint")
    counts.save(place / "next.work")
    return place


@pytest.fixture
def here(world, tmp_path, monkeypatch):
    """A copy of the world, as the current folder."""
    copy = tmp_path / "world"
    shutil.copytree(world, copy)
    monkeypatch.chdir(copy)
    return copy


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


#: A line, its exit code, and a part of what it says. It changes no file.
REFUSED = [
    ("fit counts -o counts --overwrite", 4, "is the input counts, so it will not be replaced"),
    ("fit counts -o ./texts/../counts --overwrite", 4, "is the input"),
    (
        "count texts -o model --overwrite",
        4,
        "is of another kind (model), so the new counts will not replace it",
    ),
    (
        "fit counts -o others --overwrite",
        4,
        "is of another kind (counts), so the new model will not replace it",
    ),
    ("merge counts others -o others --overwrite", 4, "is the input others"),
    ("evaluate counts --dim 4 -o counts --overwrite", 4, "is the input"),
    (
        "evaluate counts --dim 4 -o model --overwrite",
        4,
        "is of another kind (model), so the new evaluation will",
    ),
    ("tune counts --dim 4 -o counts --overwrite", 4, "is the input"),
    ("explore model --folder model --overwrite", 4, "is of another kind (model)"),
    (
        "export model --to word2vec --at last --words words.txt -o words.txt --overwrite",
        4,
        "is the input words.txt",
    ),
    ("fit counts -o next --dim 4", 4, "next.checkpoint is of another kind (counts)"),
    ("fit counts -o next --dim 4 --overwrite", 4, "next.checkpoint is of another kind (counts)"),
    ("count texts -o next --scheduler local:1", 4, "next.work is neither empty nor a work folder"),
    ("count texts -o /", 4, "/ cannot be replaced"),
    ("fit counts -o / --overwrite", 4, "/ cannot be replaced"),
    ("export model --to word2vec --at last -o /", 4, "/ cannot be replaced"),
    ("fit counts -o new --config /dev/zero", 3, "/dev/zero is not a regular file"),
    ("fit counts -o new --config texts", 3, "texts is a folder"),
    ("export model --to word2vec --at last --words /dev/zero -o new", 3, "/dev/zero is not a regular file"),
    ("count texts -o new --vocabulary /dev/zero", 3, "/dev/zero is not a regular file"),
    ("plot likelihood /dev/zero -o new.png", 3, "/dev/zero is not a regular file"),
    ("count /dev/zero --format jsonl -o new", 3, "/dev/zero is not a regular file"),
    ("count /dev/zero --format csv -o new", 3, "/dev/zero is not a regular file"),
    ("count /dev/zero --format ngrams -o new", 3, "/dev/zero is not a regular file"),
]


@pytest.mark.parametrize(("line", "code", "said"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_line_that_would_destroy_or_exhaust_is_refused(here, line, code, said):
    before = contents(here)
    done = run(*shlex.split(line))
    assert (done.code, said in done.err, "Traceback" in done.err) == (code, True, False), done.err
    assert contents(here) == before


#: Lines whose output does not fit onto a full disk.
UNWRITTEN = ["--help", "fit --help", "--version", "info counts", "changed model --format json"]


@pytest.mark.parametrize("line", UNWRITTEN)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full disk to write to")
def test_standard_output_on_a_full_disk_is_one_line(here, line):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            command(*shlex.split(line)), stdout=full, stderr=subprocess.PIPE, timeout=100, check=False
        )
    lines = [one for one in done.stderr.decode().splitlines() if not one.startswith("note: ")]
    assert (done.returncode, lines) == (
        4,
        ["wordtide: standard output cannot be written: No space left on device."],
    )


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="Windows has no such devices")
@pytest.mark.parametrize("make", [partial(os.symlink, "/dev/zero"), os.mkfifo], ids=["device", "pipe"])
def test_texts_that_may_never_end_are_refused(tmp_path, make):
    make(tmp_path / "1899.txt")
    done = run("count", str(tmp_path), "-o", str(tmp_path / "new"))
    assert (done.code, "1899.txt is not a regular file" in done.err) == (3, True), done.err


def test_a_hundred_thousand_workers_are_a_few(here):
    done = run(*shlex.split("count texts -o new --workers 100000"))
    assert (done.code, "using " in done.err, " workers, not 100,000" in done.err) == (0, True, True)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory of Linux")
def test_a_hundred_thousand_workers_take_no_gigabytes(here):
    done = run_process(
        *shlex.split("count texts -o new --workers 100000"),
        prefix=["/bin/sh", "-c", 'ulimit -v 8000000; exec "$@"', "-"],
    )
    assert done.code == 0, done.err


def changed_model(place, change):
    """Change arrays of the model so that sizes and checksums still match its header."""
    path = place / "model" / "arrays.safetensors"
    arrays = {name: np.array(array) for name, array in map_tensors(path).items()}
    change(arrays)
    write_tensors(path, arrays)
    header = read_json(place / "model" / "header.json")
    header["files"]["arrays.safetensors"] = file_facts(path)
    (place / "model" / "header.json").write_text(json.dumps(header), encoding="utf-8")


def spoil(name, value):
    def change(arrays):
        arrays[name].reshape(-1)[-1] = value

    return change


HOSTILE = {
    "a vector that is not a number": spoil("mean_u", np.nan),
    "an infinite vector": spoil("mean_u", -np.inf),
    "a precision that is not a number": spoil("precision_u", np.nan),
    "an infinite precision": spoil("precision_u", np.inf),
    "a negative precision": spoil("precision_u", -1.0),
    "negative occurrences": spoil("occurrence_values", -1),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("line", ["info model", "neighbors model river"])
def test_a_model_with_impossible_numbers_is_rejected_on_load(here, change, line):
    changed_model(here, change)
    done = run(*shlex.split(line))
    assert (done.code, done.out, "is damaged" in done.err) == (5, "", True), done.err


@pytest.mark.parametrize("name", ["words.txt", "arrays.safetensors", "curve.csv"])
def test_a_link_that_leaves_the_folder_is_rejected(here, name):
    os.rename(here / "model" / name, here / f"outside-{name}")
    os.symlink(here / f"outside-{name}", here / "model" / name)
    done = run("info", "model")
    assert (done.code, f"{name} is a link that leaves the folder" in done.err) == (5, True)


def test_a_link_to_a_whole_model_is_followed(here):
    os.symlink(here / "model", here / "latest")
    assert run("info", "latest").code == 0


def test_loading_a_model_takes_hundredths_of_a_second(world):
    """The check of all numbers, as a share of what a command costs."""
    model = wordtide.load(world / "model")
    states = 4 * sum(array.size for array in model.fitted.posterior.arrays().values())
    assert states < 1 << 20
    started = time.perf_counter()
    wordtide.load(world / "model")
    assert time.perf_counter() - started < 0.1


FITS = {
    "smoothing": "--diffusion 0.001 --solver adam --adam-minibatch-steps 100000",
    "filtering": "--method filtering --diffusion 0.001 --solver adam --adam-steps 100000",
}


@pytest.mark.parametrize("options", FITS.values(), ids=FITS.keys())
def test_ctrl_c_saves_a_checkpoint_and_prints_the_line_that_continues(here, options):
    line = f"fit counts -o new --dim 4 --threads 1 --checkpoint-every 100 {options}"
    code, err = interrupted_at_step(here, line)
    first, second = err.splitlines()[-2:]
    assert (code, listing(here)[-1], "holds what is done" in first) == (130, "words.txt", True), err
    assert second == f"  Continue with: wordtide {line} --resume"
    code, err = interrupted_at_step(here, second.partition("wordtide ")[2])
    assert (code, "resuming from the checkpoint, after step" in err) == (130, True), err


def interrupted_at_step(here, line):
    """Start a fit, press Ctrl-C when it takes steps, and return how it ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", _REPORTING, *shlex.split(line)], stderr=subprocess.PIPE, cwd=here, text=True
    )
    said = []
    for reported in process.stderr:
        said.append(reported)
        if reported == "step 3\n":
            process.send_signal(signal.SIGINT)
    process.stderr.close()
    return process.wait(timeout=60), "".join(one for one in said if not one.startswith("step "))


_REPORTING = """
import sys
from wordtide.cli.output import ProgressBar
from wordtide.cli.app import main
taken = 0
def step(self, amount=1, status=""):
    global taken
    taken += 1
    if taken < 5:
        print(f"step {taken}", file=sys.stderr, flush=True)
ProgressBar.step = step
sys.argv[0] = "wordtide"
main()
"""


@pytest.mark.parametrize(
    "module", ["wordtide.inference.methods.choose_diffusion", "wordtide.inference.fit.fill_with_slices"]
)
def test_ctrl_c_before_and_after_the_steps_loses_none_of_them(here, monkeypatch, module):
    def pressed(*arguments, **options):
        raise KeyboardInterrupt

    line = shlex.split("fit counts -o new --dim 4 --threads 1 --diffusion auto")
    run(*line[:3], "whole", *line[4:])
    with monkeypatch.context() as patched:
        patched.setattr(module, pressed)
        done = run(*line)
    assert (done.code, "holds what is done" in done.err) == (130, True), done.err
    resumed = run(*line, "--resume")
    assert (resumed.code, "resuming from the checkpoint" in resumed.err) == (0, True)
    whole, new = (map_tensors(here / name / "arrays.safetensors") for name in ("whole", "new"))
    assert all(np.array_equal(whole[name], new[name], equal_nan=True) for name in whole)
