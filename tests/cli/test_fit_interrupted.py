"""Fits that are killed, interrupted, or out of disk: files are complete, and --resume gives the same bits."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from cli.command_line import Run, command, dying_command, listing, run

import wordtide

pytestmark = pytest.mark.slow
WORDS = [
    stem + ending for stem in ("river", "mill", "road", "king", "law") for ending in ("", "er", "ing", "ly")
]
NATURAL = ("--dim", "4", "--threads", "1", "--negative-contexts", "6", "--tolerance", "0", "--max-steps", "9")
WAYS = {
    "filtering": ("--method", "filtering", *NATURAL),
    "smoothing": ("--method", "smoothing", *NATURAL),
    "filtering by adam": (
        "--method",
        "filtering",
        "--solver",
        "adam",
        "--adam-steps",
        "5",
        "--dim",
        "4",
        "--threads",
        "1",
    ),
}
CHECKPOINTS = "wordtide.inference.checkpoints"
#: Where the process dies. Every checkpoint but the first is put into the place of another.
MOMENTS = {
    "before the first checkpoint": (CHECKPOINTS, "write_tensors", 1),
    "before the fourth checkpoint": (CHECKPOINTS, "write_tensors", 4),
    "amid the files of the fourth checkpoint": (CHECKPOINTS, "write_header", 4),
    "before the third checkpoint takes the place of the second": ("wordtide.storage.folders", "exchange", 2),
    "amid the files of the model": ("wordtide.embeddings.folder", "write_header", 1),
}
CASES = [
    *(("filtering", moment) for moment in MOMENTS),
    *((way, moment) for way in ("smoothing", "filtering by adam") for moment in list(MOMENTS)[1::2]),
]


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counted") / "counts"
    texts = [" ".join(np.random.default_rng(year).choice(WORDS, 200)) for year in range(3)]
    wordtide.count([(str(1900 + 10 * year), text) for year, text in enumerate(texts)]).save(folder)
    return folder


@pytest.fixture(scope="module")
def undisturbed(counts, tmp_path_factory):
    """The arrays of each way's fit when nothing disturbs it."""
    place = tmp_path_factory.mktemp("undisturbed")
    for number, options in enumerate(WAYS.values()):
        run("fit", counts, "-o", place / str(number), *options)
    return {way: arrays(place / str(number)) for number, way in enumerate(WAYS)}


def arrays(model):
    """All arrays of a model: those of a filter are in a file for each slice."""
    return {path.name: path.read_bytes() for path in sorted(model.glob("*.safetensors"))}


def typed(counts, place, way, *options):
    return ("fit", counts, "-o", place / "model", "--checkpoint-every", "0", *WAYS[way], *options)


def visible(place):
    return [name for name in listing(place) if not name.startswith(".")]


class Killed(NamedTuple):
    """How a fit that died at some moment ended, what could be seen then, and the run that went on from there."""

    way: str
    code: int
    seen: list[str]
    resumed: Run
    place: Path


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}, {case[1]}")
def killed(request, counts, tmp_path_factory):
    way, moment = request.param
    place = tmp_path_factory.mktemp("killed")
    line = dying_command(*MOMENTS[moment], *typed(counts, place, way))
    died = subprocess.run(line, capture_output=True, timeout=100, check=False)
    seen = visible(place)
    return Killed(way, died.returncode, seen, run(*typed(counts, place, way, "--resume")), place)


def test_the_process_died_of_the_signal(killed):
    assert killed.code == -signal.SIGKILL


def test_no_model_is_seen_after_a_kill(killed):
    assert set(killed.seen) <= {"model.checkpoint"}


def test_the_fit_after_a_kill_ends_well(killed):
    assert killed.resumed.code == 0, killed.resumed.err


def test_the_fit_after_a_kill_comes_to_the_same_bits(killed, undisturbed):
    assert arrays(killed.place / "model") == undisturbed[killed.way]


def test_the_fit_after_a_kill_leaves_the_model_and_nothing_else(killed):
    assert listing(killed.place) == ["model"]


@pytest.mark.parametrize("calls", [1, 3])
def test_a_fit_goes_on_from_where_it_was_killed(counts, tmp_path, calls):
    line = dying_command(CHECKPOINTS, "write_tensors", calls + 1, *typed(counts, tmp_path, "filtering"))
    subprocess.run(line, capture_output=True, timeout=100, check=False)
    done = run(*typed(counts, tmp_path, "filtering", "--resume"))
    assert f"resuming from the checkpoint, after step {calls}" in done.err.splitlines()


@pytest.fixture(scope="module")
def interrupted(counts, tmp_path_factory):
    """The user pressed Ctrl-C once there was a checkpoint. The fit would have taken hours."""
    place = tmp_path_factory.mktemp("interrupted")
    options = (
        "--solver",
        "adam",
        "--method",
        "filtering",
        "--adam-steps",
        "1000000",
        "--dim",
        "4",
        "--threads",
        "1",
    )
    line = command("fit", counts, "-o", place / "model", "--checkpoint-every", "0", *options)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (place / "model.checkpoint").exists():
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    return process.returncode, err.decode(), place


def test_an_interrupted_fit_ends_with_130(interrupted):
    assert interrupted[0] == 130


def test_an_interrupted_fit_says_how_to_go_on(interrupted):
    _, err, place = interrupted
    first, second = err.splitlines()[-2:]
    assert first == f"wordtide: interrupted; {place / 'model.checkpoint'} holds what is done."
    assert second.startswith("  Continue with: wordtide fit ")
    assert second.endswith(" --resume")


def test_an_interrupted_fit_shows_its_checkpoint_and_nothing_else(interrupted):
    assert visible(interrupted[2]) == ["model.checkpoint"]


def test_a_fit_that_is_interrupted_before_the_first_step_says_that_nothing_is_left(
    counts, tmp_path, monkeypatch
):
    def pressed(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("wordtide.inference.fit.run", pressed)
    done = run("fit", counts, "-o", tmp_path / "model", "--dim", 4, "--threads", 1)
    assert (done.code, "before the first step; nothing was saved" in done.err) == (130, True)


def test_a_fit_where_another_left_a_checkpoint_is_refused_with_both_ways_out(counts, interrupted):
    done = run(*typed(counts, interrupted[2], "filtering"))
    first, second = done.err.splitlines()
    assert (done.code, str(interrupted[2] / "model.checkpoint") in first) == (5, True)
    assert ("--resume" in second, "--overwrite" in second) == (True, True)


def test_a_checkpoint_of_other_settings_is_refused_with_the_setting(counts, interrupted):
    done = run(*typed(counts, interrupted[2], "filtering by adam", "--resume"))
    assert (done.code, "was made with adam_steps = 1000000, not 5" in done.err) == (5, True)


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A disk with room for two checkpoints at the most."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    folder = tmp_path_factory.mktemp("disk")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", folder], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def full(counts, disk):
    """A disk that filled up when a checkpoint was there already, and the run that met this."""
    run("fit", counts, "-o", disk / "model", "--checkpoint-every", "0", *WAYS["filtering"])
    size = sum(path.stat().st_size for path in (disk / "model").iterdir())
    for path in (disk / "model").iterdir():
        path.unlink()
    (disk / "model").rmdir()
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "holiday.mov").write_bytes(bytes(free - size - 8192))
    return disk, run(*typed(counts, disk, "filtering"))


def test_a_disk_that_fills_up_is_named_with_its_remedy(full):
    _, done = full
    first, second = done.err.splitlines()[-2:]
    assert (done.code, first.startswith("wordtide: The disk is full: "), "Make room" in second) == (
        4,
        True,
        True,
    )


def test_a_disk_that_fills_up_keeps_the_last_checkpoint(full):
    assert listing(full[0]) == ["holiday.mov", "model.checkpoint"]


def test_the_last_checkpoint_on_a_full_disk_is_whole(full, counts, undisturbed):
    disk, _ = full
    (disk / "holiday.mov").unlink(missing_ok=True)
    done = run(*typed(counts, disk, "filtering", "--resume", "--checkpoint-every", "5"))
    assert (
        "resuming from the checkpoint" in done.err,
        arrays(disk / "model") == undisturbed["filtering"],
    ) == (True, True)
