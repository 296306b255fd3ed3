"""Full disks, two writers, vanishing inputs, clocks that run backwards: one clear error, no damage."""

import os
import subprocess

import pytest
from cli.command_line import Run, command, run
from faults.worlds import WRITING_COMMANDS, content

import wordtide.counts.count
from wordtide.evaluation.folder import exclusive_use
from wordtide.storage.locks import only_writer

pytestmark = pytest.mark.slow
_BACKWARDS = """
import time
_real, _calls = time.time, [0]
def _backwards():
    _calls[0] += 1
    return _real() - 3600.0 * _calls[0]
time.time = _backwards
"""
FILLING = (
    *("count --overwrite", "merge", "fit, smoothing", "fit, filtering", "fit --offload", "update from texts"),
    *("watch a file", "explore --html", "explore --folder", "export"),
)
WATCH = next(writing for writing in WRITING_COMMANDS if writing.name == "watch a file")


def typed(killer, writing, place):
    code, _ = killer.run(writing, place)
    return Run(code, "", killer.talk())


@pytest.fixture
def disk(killer, tmp_path):
    """The folder of a command on a small disk of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", tmp_path], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.decode().strip()}")
    yield tmp_path
    subprocess.run(["umount", "--lazy", tmp_path], check=True)


@pytest.mark.parametrize(
    "writing", [one for one in WRITING_COMMANDS if one.name in FILLING], ids=lambda writing: writing.name
)
def test_a_full_disk_is_one_error_and_the_command_succeeds_once_there_is_room(killer, disk, writing):
    place = killer.prepare(writing, disk / "place")
    before = content(place)
    filler = disk / "holiday.mov"
    free = os.statvfs(disk)
    filler.write_bytes(bytes(free.f_bavail * free.f_frsize - 4096))
    done = typed(killer, writing, place)
    assert (done.code, done.err.count("wordtide: ")) == (4, 1), done.err
    assert "Make room" in done.err
    assert {path: data for path, data in content(place).items() if path in before} == before
    filler.unlink()
    done = typed(killer, writing, place)
    assert done.code == 0, done.err
    assert (place / writing.target).exists()
    assert [path for path in content(place) if "/." in f"/{path}"] == []


@pytest.mark.parametrize(
    "writing", [one for one in WRITING_COMMANDS if one.name in FILLING], ids=lambda writing: writing.name
)
def test_a_read_only_disk_is_one_error_and_the_command_succeeds_once_it_is_writable(killer, disk, writing):
    place = killer.prepare(writing, disk / "place")
    before = content(place)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    done = typed(killer, writing, place)
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    assert (done.code, done.err.count("wordtide: ")) == (4, 1), done.err
    assert str(place) in done.err
    assert content(place) == before
    done = typed(killer, writing, place)
    assert done.code == 0, done.err


@pytest.mark.parametrize("writing", WRITING_COMMANDS, ids=lambda writing: writing.name)
def test_a_target_that_another_process_writes_is_unchanged(killer, tmp_path, writing):
    place = killer.prepare(writing, tmp_path / "place")
    before = content(place)
    with only_writer(place / writing.target):
        done = typed(killer, writing, place)
    assert (done.code, done.err.count("wordtide: ")) == (4, 1), done.err
    assert f"Another process is writing {place / writing.target}" in done.err
    assert {path: data for path, data in content(place).items() if path in before} == before


def test_an_evaluation_of_another_process_is_unchanged(killer, tmp_path):
    writing = next(one for one in WRITING_COMMANDS if one.name == "evaluate")
    place = killer.prepare(writing, tmp_path / "place")
    assert typed(killer, writing, place).code == 0
    before = content(place)
    with exclusive_use(place / writing.target):
        plain = typed(killer, writing, place)
        killer.forker.run([*writing.typed(killer.world, place), "--overwrite"], killer.folder / "talk")
        overwriting = killer.talk()
    assert (plain.code, plain.err.count("Another process"), overwriting.count("Another process")) == (
        4,
        1,
        1,
    ), plain.err
    assert content(place) == before


def test_a_file_that_vanishes_after_it_was_listed_is_named(killer, tmp_path, monkeypatch):
    texts = tmp_path / "texts"
    texts.mkdir()
    for year in (1900, 1901):
        (texts / f"{year}.txt").write_text("Steam power drives the mill.")
    find = wordtide.counts.count.find_corpus

    def vanishing(*arguments):
        found = find(*arguments)
        (texts / "1901.txt").unlink()
        return found

    monkeypatch.setattr(wordtide.counts.count, "find_corpus", vanishing)
    done = run("count", texts, "-o", tmp_path / "counts")
    assert (done.code, "1901.txt" in done.err, done.err.count("wordtide: ")) == (3, True, 1), done.err
    assert os.listdir(tmp_path) == ["texts"]


def test_a_clock_that_runs_backwards_changes_nothing(killer, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(_BACKWARDS)
    place = killer.prepare(WATCH, tmp_path / "place")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    line = command(*WATCH.typed(killer.world, place), "--close-after", "1h")
    done = subprocess.run(
        line, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert content(place) == killer.undisturbed(WATCH).content
