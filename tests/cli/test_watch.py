"""`wordtide watch` in its own process: killed, stopped, fed by pipes; each row is counted once."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from cli.command_line import command, run
from watched_world import content, copy_of, lines, make_model, rows

OPTIONS = ("--threads", "1")
DAYS = (4, 5, 6, 7)
#: Where the process dies. What is told is noted by `os.replace`.
MOMENTS = [
    ("wordtide.inference.slice_sinks", "write_slice", 1),  # while the first slice is fitted
    ("wordtide.streaming.watch", "find_alerts", 1),  # the slice is in the model, its alerts are not written
    ("os", "replace", 2),  # they are, but that is not noted
    ("wordtide.storage.folders", "exchange", 2),  # before a slice gets into the model
]
#: A process of its own for each moment, which kills itself there; what they import is imported once, before
#: they part.
DYING = """
import json, os, signal, sys
from importlib import import_module
import wordtide.streaming.watch
from wordtide.cli.app import main
moments, arguments = json.loads(sys.argv[1]), sys.argv[2:]
for name, function, calls in moments:
    child = os.fork()
    if not child:
        module, left = import_module(name), [calls]
        original = getattr(module, function)
        def dying(*given, **options):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*given, **options)
        setattr(module, function, dying)
        sys.argv = ["wordtide", *arguments]
        main()
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A model, posts, and what becomes of them when nothing happens."""
    place = tmp_path_factory.mktemp("world")
    make_model(place)
    (place / "posts.jsonl").write_text(lines(post for day in DAYS for post in rows(day)))
    (place / "whole").mkdir()
    model = copy_of(place / "model", place / "whole")
    done = run(
        "watch",
        model,
        place / "posts.jsonl",
        "--close-at-end",
        "--alerts",
        place / "whole" / "alerts",
        *OPTIONS,
    )
    assert done.code == 0, done.err
    assert (place / "whole" / "alerts").stat().st_size > 0
    return place


@pytest.fixture
def model(world, tmp_path):
    return copy_of(world / "model", tmp_path)


def is_as_if_nothing_had_happened(world, model):
    alerts = model.parent / "alerts"
    whole = world / "whole"
    assert alerts.read_bytes() == (whole / "alerts").read_bytes()
    found, expected = content(model), content(whole / "model")
    for header in (found[1], expected[1]):
        header["stream"].pop("position")  # of a file and of a journal they differ
        header["stream"].pop("source")
    assert found == expected


def labels(model):
    try:
        return (model / "labels.txt").read_text().split()
    except FileNotFoundError:  # between two renamings
        return []


def wait_for(condition, process):
    until = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
def test_a_watch_that_is_killed_again_and_again_ends_as_if_nothing_had_happened(world, model):
    line = (
        "watch",
        model,
        world / "posts.jsonl",
        "--close-at-end",
        "--alerts",
        model.parent / "alerts",
        *OPTIONS,
    )
    dying = [sys.executable, "-c", DYING, json.dumps(MOMENTS), *map(str, line)]
    died = subprocess.run(dying, capture_output=True, text=True, timeout=300, check=False)
    assert died.stdout.split() == [str(int(signal.SIGKILL))] * len(MOMENTS), died.stderr
    done = run(*line)
    assert done.code == 0, done.err
    is_as_if_nothing_had_happened(world, model)


@pytest.mark.slow
def test_a_growing_file_is_followed_and_a_kill_at_any_time_does_no_harm(world, model, tmp_path):
    posts = (world / "posts.jsonl").read_bytes()
    path = tmp_path / "posts.jsonl"
    half = len(posts) // 2 + 7  # within a row
    path.write_bytes(posts[:half])
    line = command("watch", model, path, "--follow", "--alerts", tmp_path / "alerts", *OPTIONS)
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: "2020-01-04" in labels(model), process)
        time.sleep(random.Random(7).uniform(0, 0.5))
        process.kill()
    with open(path, "ab") as file:
        file.write(posts[half:])
    done = run("watch", model, path, "--close-at-end", "--alerts", tmp_path / "alerts", *OPTIONS)
    assert done.code == 0, done.err
    is_as_if_nothing_had_happened(world, model)


@pytest.mark.slow
def test_rows_from_a_pipe_are_kept_when_the_watch_is_asked_to_end(world, model, tmp_path):
    posts = (world / "posts.jsonl").read_bytes()
    cut = posts.index(b"\n", len(posts) * 3 // 5) + 1
    line = ("watch", model, "-", "--alerts", tmp_path / "alerts", *OPTIONS)
    with subprocess.Popen(
        command(*line), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(posts[:cut])
        process.stdin.flush()
        wait_for(
            lambda: sum(path.stat().st_size for path in tmp_path.glob("model.watch/rows-*")) == cut, process
        )
        wait_for(lambda: "2020-01-05" in labels(model), process)
        process.send_signal(signal.SIGTERM)
        process.stdin.close()
        assert process.wait(timeout=300) == 130
    rest = command(*line, "--close-at-end")
    done = subprocess.run(rest, input=posts[cut:], capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
    is_as_if_nothing_had_happened(world, model)


def test_alerts_go_to_standard_output_and_what_became_of_slices_to_standard_error(world, model):
    done = run("watch", model, world / "posts.jsonl", "--slices", "2", *OPTIONS)
    told = [json.loads(line)["slice"] for line in done.out.splitlines()]
    assert set(told) == {"2020-01-05"}  # when a word jumped
    first, second = done.err.splitlines()[:2]
    assert (first.startswith("2020-01-04: 60 rows, "), first.endswith(", 0 alerts")) == (True, True)
    assert (second.startswith("2020-01-05: 60 rows, "), f", {len(told)} alert" in second) == (True, True)


def test_another_kind_of_source_than_before_is_refused(world, model):
    run("watch", model, world / "posts.jsonl", "--slices", "1", *OPTIONS)
    done = run("watch", model, "-")
    assert (done.code, "read a file" in done.err, "--forget-position" in done.err) == (2, True, True)


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (("nowhere.jsonl",), 3, "nowhere.jsonl does not exist"),
        (("-", "--follow"), 2, "--follow is for files"),
        (("-", "--patience", "long"), 2, "--patience 'long' is not a duration"),
        (("-", "--late", "keep"), 2, "--late 'keep' is not known"),
        (("-", "--slices", "0"), 2, "--slices 0 is out of range"),
    ],
)
def test_what_cannot_be_done_is_one_error(model, options, code, problem):
    before = content(model)
    done = run("watch", model, *options)
    assert (done.code, problem in done.err, done.err.count("wordtide: ")) == (code, True, 1), done.err
    assert content(model) == before
    assert os.listdir(model.parent) == ["model"]
