"""Runs that are killed or interrupted: no target appears, and the next run cleans up and succeeds."""

import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli.command_line import Run, command, listing, run

import wordtide

ROW = b'{"date": "1862", "text": "Steam power drives the mill."}\n'


def begin(place):
    """A `wordtide count` that has begun to write and waits for more of its standard input."""
    process = subprocess.Popen(
        command("count", "-", "-o", place / "counts"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(ROW)
    process.stdin.flush()
    until = time.monotonic() + 60
    while not any(path.is_dir() for path in place.glob(".counts.partial-*/spill")):
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < until
        time.sleep(0.02)
    used = -1
    while used != (used := processor_ticks(process)):  # it loads compiled code, and then waits for input
        assert time.monotonic() < until
        time.sleep(0.5)
    return process


def processor_ticks(process):
    """The processor time of a process so far; 0 on systems that do not show it."""
    stat = Path(f"/proc/{process.pid}/stat")
    fields = stat.read_text().rpartition(")")[2].split() if stat.exists() else [0] * 13
    return int(fields[11]) + int(fields[12])


def speech(folder):
    path = folder / "1900.txt"
    path.write_text("Steam power.", encoding="utf-8")
    return path


@dataclass(frozen=True)
class Aftermath:
    """What stood in the target's folder at two moments, how the second run ended, and how the first one did."""

    between: list[str]
    second: Run
    after: list[str]
    labels: list[str]
    code: int
    err: str


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run was killed; then another one for the same target ran."""
    place = tmp_path_factory.mktemp("killed")
    process = begin(place)
    process.kill()
    _, err = process.communicate(timeout=60)
    between = listing(place)
    second = run("count", speech(tmp_path_factory.mktemp("speech")), "-o", place / "counts")
    labels = wordtide.Counts.load(place / "counts").labels
    return Aftermath(between, second, listing(place), labels, process.returncode, err.decode())


@pytest.fixture(scope="module")
def overtaken(tmp_path_factory):
    """While a run was waiting, another one for the same target was typed; then the first one went on."""
    place = tmp_path_factory.mktemp("overtaken")
    process = begin(place)
    second = run("count", speech(tmp_path_factory.mktemp("speech")), "-o", place / "counts")
    between = listing(place)
    _, err = process.communicate(timeout=60)
    labels = wordtide.Counts.load(place / "counts").labels
    return Aftermath(between, second, listing(place), labels, process.returncode, err.decode())


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """The user pressed Ctrl-C."""
    place = tmp_path_factory.mktemp("interrupted")
    process = begin(place)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    return process.returncode, err.decode(), listing(place)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_a_killed_run_leaves_no_target(killed):
    assert "counts" not in killed.between


def test_the_run_after_a_killed_one_succeeds(killed):
    assert (killed.second.code, killed.labels) == (0, ["1900"])


def test_what_a_killed_run_leaves_is_hidden(killed):
    assert killed.between
    assert all(name.startswith(".counts.") for name in killed.between)


def test_the_run_after_a_killed_one_cleans_up_what_that_left(killed):
    assert killed.after == ["counts"]


def test_of_two_runs_for_one_target_the_second_is_refused(overtaken):
    assert (overtaken.second.code, overtaken.second.err.count("wordtide: ")) == (4, 1)
    assert "Another process is writing" in overtaken.second.err


def test_a_run_that_lives_is_not_cleaned_away_by_another(overtaken):
    assert overtaken.code == 0, overtaken.err


def test_of_two_runs_for_one_target_the_first_one_stays(overtaken):
    assert (overtaken.after, overtaken.labels) == (["counts"], ["1862"])


def test_an_interrupted_run_leaves_nothing_behind(interrupted):
    assert interrupted[2] == []


def test_an_interrupted_run_ends_with_130(interrupted):
    assert interrupted[0] == 130


def test_an_interrupted_run_says_so_in_one_line(interrupted):
    notice = "wordtide: compiling the counting code"  # on a busy machine, loading takes long, too
    said = [line for line in interrupted[1].splitlines() if not line.startswith(notice)]
    assert said == ["wordtide: interrupted; nothing was left half-written."]


def test_counts_that_a_killed_run_had_moved_aside_are_put_back(place, tmp_path):
    run("count", speech(tmp_path), "-o", place / "counts")
    (place / "counts").rename(place / ".counts.replaced-1")  # killed between the two renames of --overwrite
    run("count", tmp_path / "1900.txt", "-o", place / "counts", "--window", "2", "--overwrite")
    assert (listing(place), wordtide.Counts.load(place / "counts").window) == (["counts"], 2)


def test_counts_that_a_killed_run_had_moved_aside_are_not_replaced_without_asking(place, tmp_path):
    run("count", speech(tmp_path), "-o", place / "counts")
    (place / "counts").rename(place / ".counts.replaced-1")
    done = run("count", tmp_path / "1900.txt", "-o", place / "counts", "--window", "2")
    assert (done.code, listing(place), wordtide.Counts.load(place / "counts").window) == (4, ["counts"], 4)
