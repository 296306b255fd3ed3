"""Fits by several processes: the bits of a fit by one, a share of the knots for each, and an end when one is lost."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wordtide
from wordtide.inference.memory import estimate_memory
from wordtide.inference.problem import problem_of
from wordtide.inference.scale.shared_output import bytes_of_each
from wordtide.inference.scale.shares import WordRanges, shared_out
from wordtide.inference.settings import FitSettings
from wordtide.model.knots import Knots

PROGRAM = Path(__file__).with_name("fitting_together.py")
WORDS = [f"word{number}" for number in range(300)]
SHARES = 1 / np.arange(1, len(WORDS) + 1) ** 0.8
SETTINGS = {"dim": 6, "negative_contexts": 16}
WAYS = {
    "smoothing": {},
    "smoothing with diffusion auto": {"diffusion": "auto", "max_steps": 7},
    "smoothing with all contexts": {"negative_contexts": 0, "max_steps": 4},
    "smoothing in float64": {"precision": "float64", "max_steps": 4},
    "filtering": {"method": "filtering"},
    "static": {"method": "static"},
}
#: A fit that is stopped, and goes on with another number of processes.
LOST = {
    "smoothing": {"max_steps": 9, "tolerance": 0.0},
    "filtering": {"method": "filtering", "tolerance": 0.0},
}
CASES = [*((way, 3) for way in WAYS), ("smoothing", 2), ("filtering", 2)]


def texts():
    rng = np.random.default_rng(0)
    for year in range(5):
        there = rng.choice(len(WORDS), 240, replace=False)  # words come and go
        yield (
            str(1900 + 10 * year),
            " ".join(rng.choice(np.array(WORDS)[there], 6000, p=SHARES[there] / SHARES[there].sum())),
        )


def content(model):
    """All numbers of a model: the bytes of its arrays, and its curve without the time it took."""
    arrays = {path.name: path.read_bytes() for path in sorted(model.glob("*.safetensors"))}
    return arrays, [{**row, "seconds": 0} for row in wordtide.load(model).curve]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("together")
    wordtide.count(list(texts())).save(place / "counts")
    return place


@pytest.fixture(scope="module")
def alone(place):
    """The model folders of fits by one process."""
    settings = {**WAYS, **{f"lost {name}": way for name, way in LOST.items()}}
    for name, way in settings.items():
        wordtide.fit(place / "counts", output=place / f"{name} by 1", threads=1, **{**SETTINGS, **way})
    return {name: place / f"{name} by 1" for name in settings}


@pytest.fixture(scope="module")
def results(place):
    """Three processes make all fits, and lose one of them in two others; then two make some, and go on with those."""

    def fit(name, processes, settings, **more):
        output = str(place / f"{name} by {processes}")
        return {
            "counts": str(place / "counts"),
            "output": output,
            "settings": {**SETTINGS, **settings},
            **more,
        }

    three, two = (
        [fit(way, number, WAYS[way]) for way, number in CASES if number == wanted] for wanted in (3, 2)
    )
    jobs = [{"processes": 3, "fits": three}]
    for (name, way), rank in zip(LOST.items(), (1, 0), strict=True):
        stopped = fit(
            f"lost {name}", "some", {**way, "checkpoint_every": 0}, dies={"rank": rank, "checkpoint": 5}
        )
        jobs.append({"processes": 3, "fits": [stopped]})
    going_on = [fit(f"lost {name}", "some", {**way, "resume": True}) for name, way in LOST.items()]
    refused = [fit("refused", 2, {"method": "independent"}), fit("refused", 2, {"dim": 1000})]
    jobs.append({"processes": 2, "fits": [*two, *refused, *going_on]})

    kept = {f"{place}/lost smoothing by some.checkpoint": f"{place}/lost smoothing by one.checkpoint"}
    jobs[2]["copies"] = kept
    (place / "jobs.json").write_text(json.dumps(jobs))
    line = [sys.executable, str(PROGRAM), str(place / "jobs.json")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((place / "results.json").read_text())
    return dict(zip(("three", "lost smoothing", "lost filtering", "two"), found, strict=True))


@pytest.mark.parametrize(("way", "processes"), CASES)
def test_several_processes_come_to_the_bits_of_one(place, alone, results, way, processes):
    assert content(place / f"{way} by {processes}") == content(alone[way])


@pytest.mark.parametrize("way", ["smoothing", "filtering", "static"])
def test_several_threads_come_to_the_bits_of_one(place, alone, tmp_path, way):
    wordtide.fit(place / "counts", output=tmp_path / "model", threads=3, **{**SETTINGS, **WAYS[way]})
    assert content(tmp_path / "model") == content(alone[way])


@pytest.mark.parametrize("job", ["three", "lost smoothing", "lost filtering", "two"])
def test_no_job_hangs(results, job):
    assert not results[job]["hung"]


@pytest.mark.parametrize("job", ["two", "three"])
def test_the_knots_are_shared_out_evenly(results, job):
    shares = np.array([notes["knots"][0] for notes in results[job]["notes"]])
    assert shares[:, 0].sum() == shares[0, 1]
    assert shares[:, 0].max() < 1.1 * shares[0, 1] / len(shares)


@pytest.mark.parametrize("way", LOST)
def test_a_lost_process_ends_the_others_with_the_way_to_go_on(results, way):
    notes = [notes for notes in results[f"lost {way}"]["notes"] if notes is not None]
    assert len(notes) == 2
    for found in notes:
        ((name, problem, remedy),) = found["errors"]
        assert (name, "was lost" in problem, "--resume" in remedy) == ("LostProcessError", True, True)


def test_of_the_processes_that_are_left_one_speaks(results):
    spoke = [notes["spoke"][0] for notes in results["lost smoothing"]["notes"] if notes is not None]
    assert sorted(spoke) == [False, True]


@pytest.mark.parametrize("way", LOST)
def test_another_number_of_processes_goes_on_to_the_same_bits(place, alone, results, way):
    assert content(place / f"lost {way} by some") == content(alone[f"lost {way}"])


def test_one_process_goes_on_where_several_were_stopped(place, alone, results):
    going_on = {**SETTINGS, **LOST["smoothing"], "resume": True}
    wordtide.fit(place / "counts", output=place / "lost smoothing by one", threads=1, **going_on)
    assert content(place / "lost smoothing by one") == content(alone["lost smoothing"])


def test_the_estimate_of_memory_falls_with_the_number_of_processes(place):
    problem, settings = problem_of(wordtide.Counts.load(place / "counts"), 1.0, 0.75), FitSettings(dim=300)
    estimate = estimate_memory(problem, settings, 1)
    needed = [bytes_of_each(estimate, problem, settings, 4, number) for number in (1, 4, 8)]
    assert needed == sorted(needed, reverse=True)


def test_words_are_shared_out_by_their_knots():
    knots = Knots(np.array([0, 5, 5, 6, 10, 11, 12]), np.zeros(12, dtype=np.int32))
    ranges = WordRanges.of(knots, [np.array([0, 2, 3], dtype=np.int32)], 2)
    assert (ranges.bounds.tolist(), ranges.runs.tolist()) == ([0, 3, 6], [[0, 2, 3]])


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 50])
def test_every_item_has_one_share_whatever_the_number_of_shares(parts):
    bounds = shared_out(np.random.default_rng(0).integers(0, 9, 20), parts)
    assert (len(bounds), bounds[0], bounds[-1], (np.diff(bounds) >= 0).all()) == (parts + 1, 0, 20, True)


def test_what_is_not_shared_out_is_refused_by_all(results):
    errors = [notes["errors"] for notes in results["two"]["notes"]]
    assert all("--method=independent is not shared out" in found[0][1] for found in errors)


def test_an_error_of_the_settings_is_met_by_all(results):
    assert all("--dim 1000 is larger" in notes["errors"][1][1] for notes in results["two"]["notes"])


def test_nothing_but_models_is_left(place, alone, results):
    left = {path.name for path in place.iterdir() if path.is_dir() and path.name != "counts"}
    assert all(" by " in name and not name.startswith(".") for name in left), left
    assert not any("some.checkpoint" in name for name in left)


def test_the_command_under_torchrun_comes_to_the_same_bits_and_speaks_once(place, alone):
    line = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "wordtide",
        "fit",
    ]
    options = ["--dim", "6", "--negative-contexts", "16", "--threads", "1"]
    output = place / "smoothing by torchrun"
    done = subprocess.run(
        [*line, str(place / "counts"), "-o", str(output), *options],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("in each of 2 processes") == done.stderr.count("written to") == 1
    assert content(output) == content(alone["smoothing"])
