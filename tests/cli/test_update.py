"""`wordtide update` as typed: from counts and texts, with new words; killed, rejected, and out of disk."""

import json
import resource
import shutil
import signal
import subprocess

import numpy as np
import pytest
from cli.command_line import command, dying_command, listing, run

WORDS = [
    stem + ending
    for stem in ("river", "mill", "road", "king", "law", "steam")
    for ending in ("", "er", "ing", "ly")
]
FIT = ("--method", "filtering", "--dim", "4", "--threads", "1", "--prior-variance", "2", "--diffusion", "1")
#: Where the process dies.
MOMENTS = {
    "while it fits": ("wordtide.inference.slice_sinks", "write_slice", 2),
    "amid the files": ("wordtide.embeddings.folder", "write_header", 1),
    "before the new folder takes the place of the old one": ("wordtide.storage.folders", "exchange", 1),
}


def posts(days, new=""):
    """A JSON Lines file: on each day of January some posts."""
    lines = []
    for day in days:
        generator = np.random.default_rng(day)
        for _ in range(30):
            text = " ".join(generator.choice(WORDS, 9))
            lines.append(json.dumps({"when": f"2020-01-{day:02}", "body": f"{text} {new}"}))
    return "\n".join(lines) + "\n"


FIELDS = ("--date-field", "when", "--text-field", "body")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Posts of three days and of two more; a model of the first, and one of all."""
    place = tmp_path_factory.mktemp("world")
    (place / "old.jsonl").write_text(posts(range(1, 4)))
    (place / "new.jsonl").write_text(posts(range(4, 6)))
    (place / "all.jsonl").write_text(posts(range(1, 6)))
    (place / "fresh.jsonl").write_text(posts(range(4, 6), "tweet"))
    (place / "words.txt").write_text("\n".join(WORDS) + "\n")
    for name in ("old", "new", "all"):
        options = ("--every", "day", "--vocabulary", place / "words.txt", "--workers", "1", *FIELDS)
        assert run("count", place / f"{name}.jsonl", "-o", place / f"{name}.counts", *options).code == 0
    for name in ("old", "all"):
        assert run("fit", place / f"{name}.counts", "-o", place / f"{name}.model", *FIT).code == 0
    return place


@pytest.fixture
def model(world, tmp_path):
    return shutil.copytree(world / "old.model", tmp_path / "model")


def arrays(model):
    return {path.name: path.read_bytes() for path in sorted(model.glob("*.safetensors"))}


def everything(model):
    return {path.name: path.read_bytes() for path in sorted(model.iterdir())}


def test_an_update_from_counts_gives_the_model_of_all(world, model):
    done = run("update", model, world / "new.counts", "--threads", "1")
    assert (done.code, done.out) == (0, "")
    assert "2 slices added (2020-01-04 to 2020-01-05)" in done.err
    assert arrays(model) == arrays(world / "all.model")


def test_an_update_from_texts_gives_the_model_of_all(world, model):
    done = run("update", model, world / "new.jsonl", "--threads", "1", *FIELDS)
    assert done.code == 0, done.err
    assert arrays(model) == arrays(world / "all.model")


def test_texts_are_cut_into_slices_as_the_model_was_unless_said_otherwise(world, model):
    run("update", model, world / "new.jsonl", "--every", "month", "--threads", "1", *FIELDS)
    labels = (model / "labels.txt").read_text().split()
    assert labels == ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01"]


def test_words_come_in_and_info_tells_when(world, model):
    done = run("update", model, world / "fresh.jsonl", "--grow", "3", "--threads", "1", *FIELDS)
    assert "1 word admitted: tweet" in done.err
    facts = json.loads(run("info", model, "--format", "json").out)
    assert (facts["admitted_words"], [row["new_words"] for row in facts["slices"]]) == (1, [0, 0, 0, 1, 0])
    (row,) = json.loads(run("info", model, "--arrivals", "--format", "json").out)
    assert (row["word"], row["slice"], row["occurrences"]) == ("tweet", "2020-01-04", 60)


def test_words_that_do_not_come_in_are_counted(world, model):
    done = run(
        "update",
        model,
        world / "fresh.jsonl",
        "--grow",
        "3",
        "--grow-min-count",
        "61",
        "--threads",
        "1",
        *FIELDS,
    )
    assert "1 word unknown to the model left out, 10.0%" in done.err


def test_where_no_word_came_in_info_says_so(world):
    assert run("info", world / "old.model", "--arrivals").out == "No words were admitted by updates.\n"


def test_arrivals_are_for_models(world):
    done = run("info", world / "old.counts", "--arrivals")
    assert (done.code, "--arrivals is for models" in done.err) == (2, True)


def test_the_same_texts_again_are_refused_with_both_dates_and_the_model_is_left_alone(world, model):
    before = everything(model)
    done = run("update", model, world / "old.counts")
    assert (done.code, "2020-01-01" in done.err, "2020-01-03" in done.err) == (2, True, True)
    assert everything(model) == before


def test_a_missing_model_is_named(world, tmp_path):
    done = run("update", tmp_path / "nowhere", world / "new.counts")
    assert (done.code, "nowhere" in done.err) == (5, True)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_update_that_is_killed_leaves_the_model_as_it_was_and_can_be_made_again(world, model, moment):
    before = everything(model)
    line = dying_command(*MOMENTS[moment], "update", model, world / "new.counts", "--threads", "1")
    died = subprocess.run(line, capture_output=True, timeout=100, check=False)
    assert died.returncode == -signal.SIGKILL
    if model.exists():
        assert everything(model) == before
    assert run("update", model, world / "new.counts", "--threads", "1").code == 0
    assert arrays(model) == arrays(world / "all.model")
    assert listing(model.parent) == ["model"]


def test_an_update_without_room_on_the_disk_is_one_error_and_leaves_the_model_alone(world, model):
    before = everything(model)

    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    line = command("update", model, world / "new.counts", "--threads", "1")
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=100, check=False, preexec_fn=little_room
    )
    assert (done.returncode, done.stderr.count("wordtide: ")) == (4, 1), done.stderr
    assert str(model) in done.stderr
    assert everything(model) == before
    assert listing(model.parent) == ["model"]


def test_two_updates_at_once_are_one_and_a_refusal(world, model):
    """The second starts while the first waits for its input, and holds the lock."""
    code = (
        "import sys; from pathlib import Path; from wordtide.storage.locks import changing\n"
        f"with changing(Path({str(model)!r})):\n print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [command()[0], "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        done = run("update", model, world / "new.counts")
        holder.stdin.close()
    assert (done.code, "Another process is changing" in done.err) == (4, True)
    assert run("update", model, world / "new.counts", "--threads", "1").code == 0
