"""Smoothing on disk has the bits of a fit in memory, needs little memory, and leaves no files behind."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from observers import StepObserver

import wordtide
from wordtide.errors import OutputError, SettingsError
from wordtide.inference.checkpoints import Checkpoints
from wordtide.inference.compute import compute
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.natural.schedule import NaturalOptions, Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.problem import PairSettings, problem_of
from wordtide.inference.scale import smoothing_job, smoothing_tasks
from wordtide.inference.scale.engine import Engine, slice_costs
from wordtide.inference.scale.in_memory import Start, StatesInMemory
from wordtide.inference.scale.on_disk import StatesOnDisk, exchange_folder
from wordtide.model.prior import ProductPrior
from wordtide.storage.arrays import StreamedArray

DIM = 3
FEW = {"dim": 4, "threads": 1, "negative_contexts": 6, "max_steps": 8, "tolerance": 0.0}
WORDS = [
    stem + ending for stem in ("river", "mill", "road", "king", "law") for ending in ("", "er", "ing", "ly")
]


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """Five slices; most words are absent from some of them."""
    folder = tmp_path_factory.mktemp("counted") / "counts"
    texts = []
    for year in range(5):
        rng = np.random.default_rng(year)
        texts.append((str(1900 + 3 * year), " ".join(rng.choice(rng.choice(WORDS, 14, replace=False), 200))))
    wordtide.count(texts, workers=1).save(folder)
    return folder


@pytest.fixture(params=["separate", "tied"])
def tied(request):
    return request.param == "tied"


def solver(counts, computing, tied, folder=None, block_bytes=3000):
    """A smoother in memory, or in the files of a folder."""
    opened, pairs = wordtide.Counts.load(counts), PairSettings(tied=tied)
    problem = problem_of(opened, pairs, on_demand=folder is not None)
    schedule = Schedule(7, 0.9, 0.2, 0.0, measure_every=3)
    options = NaturalOptions(DIM, schedule, tied=tied, sample_size=5)
    vectors = 0.5 * np.random.default_rng(9).standard_normal((options.sides, len(problem.words), DIM))
    start = Start(vectors.astype(computing.dtype), signs_by_rule(DIM) if tied else None)
    engine = Engine(computing)
    if folder is not None:
        engine = Engine(computing, folder, counts, slice_costs(opened), block_bytes)
    states = engine.states(problem, pairs, options, ProductPrior(problem.times, 0.05, 1.3), start)
    assert isinstance(states, StatesInMemory if folder is None else StatesOnDisk)
    return SmoothingSolver(states, options)


def whole(array):
    return (
        np.concatenate([piece.copy() for piece in array.pieces()])
        if isinstance(array, StreamedArray)
        else array
    )


def numbers(fitted):
    """ELBOs and all that a checkpoint would hold."""
    elbos = [report.elbo for report in iter(fitted.advance, None)]
    return {"elbos": np.array(elbos), **{name: whole(array) for name, array in fitted.state().items()}}


def are_the_same(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=True) for name in one
    )


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    ("block_bytes", "threads"),
    [(1, 1), (3000, 1), (3000, 3), (1 << 20, 1)],
    ids=["a block for each word", "some blocks", "some blocks, threads", "one block"],
)
def test_states_on_disk_have_the_bits_of_those_in_memory(
    counts, tmp_path, block_bytes, threads, tied, precision
):
    with compute(precision, threads) as computing:
        on_disk = numbers(solver(counts, computing, tied, tmp_path, block_bytes))
        assert are_the_same(on_disk, numbers(solver(counts, computing, tied)))


def test_only_the_files_of_the_last_step_are_kept(counts, tmp_path, tied):
    with compute("float32", 1) as computing:
        fitted = solver(counts, computing, tied, tmp_path)
        fitted.advance()
        sizes = [sum(path.stat().st_size for path in tmp_path.iterdir())]
        for _ in range(3):
            fitted.advance()
        sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
    assert sizes[0] == sizes[1]


def test_a_worker_that_was_thought_dead_cannot_change_a_later_start(counts, tmp_path, monkeypatch, tied):
    """It repeats the tasks of a step when the fit has begun again, at another rate."""
    late, observe, move = [], smoothing_tasks.observe_group, smoothing_tasks.move_block

    def remember(*arguments):
        late.append(arguments)
        return observe(*arguments)

    def move_after_late_tasks(*arguments):
        for each in late:
            with suppress(OSError):  # of files that are gone
                observe(*each)
        return move(*arguments)

    with compute("float32", 1) as computing:
        fitted, other = solver(counts, computing, tied, tmp_path), solver(counts, computing, tied)
        with monkeypatch.context() as patch:
            patch.setattr(smoothing_tasks, "observe_group", remember)
            fitted.advance()
        for each in (fitted, other):
            each.slow_down()
        with monkeypatch.context() as patch:
            patch.setattr(smoothing_tasks, "move_block", move_after_late_tasks)
            fitted.advance()
        other.advance()
        assert len(late) == len(fitted.states.job.slices) - 1
        assert are_the_same(numbers(fitted), numbers(other))


def test_the_folder_of_a_killed_fit_is_removed_by_the_next_one_and_that_of_a_running_fit_is_not(tmp_path):
    code = (
        "import os, pathlib, sys; from wordtide.inference.scale.on_disk import exchange_folder\n"
        "with exchange_folder(pathlib.Path(sys.argv[1])) as folder:\n"
        "    (folder / 'block').touch(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode == 9
    (abandoned,) = tmp_path.iterdir()
    with exchange_folder(tmp_path) as first:
        assert not abandoned.exists()
        with exchange_folder(tmp_path) as second:
            assert sorted(tmp_path.iterdir()) == sorted([first, second])
    assert not list(tmp_path.iterdir())


def test_the_lock_of_a_fit_is_removed_after_all_its_files(tmp_path, monkeypatch):
    with exchange_folder(tmp_path) as folder:
        (folder / "block").touch()
        (folder / "counts").mkdir()
        (folder / "counts" / "words").touch()
        unlink = Path.unlink

        def checked_unlink(path, missing_ok=False):
            if path.name == ".lock":
                assert list(folder.iterdir()) == [path]
            unlink(path, missing_ok)

        monkeypatch.setattr(Path, "unlink", checked_unlink)
    assert not list(tmp_path.iterdir())


def test_a_finished_fit_that_is_resumed_removes_its_files(counts, tmp_path, disk, monkeypatch):
    with monkeypatch.context() as patch:  # as if the fit were killed when its model was complete
        patch.setattr(Checkpoints, "remove", lambda _: None)
        wordtide.fit(counts, output=tmp_path / "model", offload=disk, checkpoint_every=0, **FEW)
    abandoned = disk / f"wordtide-fit-{platform.node()}-killed"
    abandoned.mkdir()
    for name in (".lock", "block-0-1-9"):
        (abandoned / name).touch()
    wordtide.fit(counts, output=tmp_path / "model", offload=disk, checkpoint_every=0, resume=True, **FEW)
    assert not list(disk.iterdir())


def test_a_worker_that_does_not_see_the_folder_raises_an_error(counts, tmp_path, tied):
    place = tmp_path / "elsewhere"
    place.mkdir()
    with compute("float32", 1) as computing:
        job = solver(counts, computing, tied, place).states.job
    smoothing_job.open_layout.cache_clear()  # like a new process
    shutil.rmtree(place)
    with pytest.raises(OutputError, match="A worker does not see the work folder"):
        smoothing_tasks.group_likelihoods(job, 0, smoothing_job.Generation(0, 0), False)


def test_predictions_have_the_same_bits_and_leave_no_trace(counts, tmp_path, tied):
    with compute("float32", 1) as computing:
        one, other = solver(counts, computing, tied, tmp_path), solver(counts, computing, tied)
        for fitted in (one, other):
            for _ in range(3):
                fitted.advance()
        assert one.predictions() == other.predictions()
        assert one.predictions(0.3) == other.predictions(0.3)
        assert are_the_same(numbers(one), numbers(other))


def test_a_slowed_run_restarts(counts, tmp_path, tied):
    with compute("float32", 1) as computing:
        on_disk, in_memory = solver(counts, computing, tied, tmp_path), solver(counts, computing, tied)
        for fitted in (on_disk, in_memory):
            fitted.advance()
            fitted.slow_down()
        assert are_the_same(numbers(on_disk), numbers(in_memory))


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_a_saved_state_is_restored_on_disk_to_the_same_bits(counts, tmp_path, tied, stop):
    with compute("float32", 1) as computing:
        one, other = solver(counts, computing, tied), solver(counts, computing, tied, tmp_path)
        for _ in range(stop):
            one.advance()
        other.restore({name: np.array(array) for name, array in one.state().items()})
        assert are_the_same(numbers(other), numbers(one))


@pytest.fixture(scope="module")
def in_memory(counts, tmp_path_factory):
    """The arrays of fits in memory, by their contexts."""
    place = tmp_path_factory.mktemp("in memory")
    return {
        contexts: arrays(wordtide.fit(counts, output=place / contexts, contexts=contexts, **FEW).path)
        for contexts in ("separate", "tied")
    }


def arrays(model):
    return (model / "arrays.safetensors").read_bytes()


@pytest.fixture(params=["separate", "tied"])
def contexts(request):
    return request.param


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


class Watching(StepObserver):
    """Records the status of each step, and presses Ctrl-C after some steps of smoothing."""

    def __init__(self, stop=None):
        self.stop, self.notes = stop, []

    def stepped(self, done, status):
        self.notes.append(status)
        if done == self.stop and self.stage_name == "smoothing":
            raise KeyboardInterrupt


@pytest.mark.parametrize("threads", [1, 3])
def test_a_fit_on_disk_has_the_bits_of_one_in_memory(counts, tmp_path, disk, in_memory, contexts, threads):
    settings = {**FEW, "contexts": contexts, "threads": threads}
    model = wordtide.fit(counts, output=tmp_path / "model", offload=disk, **settings)
    assert arrays(model.path) == in_memory[contexts]


def test_counts_in_memory_are_fitted_on_disk_too(counts, tmp_path, disk, in_memory, contexts):
    opened = wordtide.Counts.load(counts)
    model = wordtide.fit(opened, output=tmp_path / "model", offload=disk, contexts=contexts, **FEW)
    assert arrays(model.path) == in_memory[contexts]


def test_a_fit_on_disk_reports_bytes_and_seconds_per_step(counts, tmp_path, disk):
    watching = Watching()
    wordtide.fit(counts, output=tmp_path / "model", offload=disk, observer=watching, **FEW)
    assert re.fullmatch(r".*\b\d+ MB read and written per step, \d+\.\d s per step", watching.notes[-1])


def test_no_file_is_left_on_the_disk_at_the_end(counts, tmp_path, disk):
    wordtide.fit(counts, output=tmp_path / "model", offload=disk, **FEW)
    assert os.listdir(disk) == []


def test_no_file_is_left_on_the_disk_after_an_interruption(counts, tmp_path, disk):
    with pytest.raises(KeyboardInterrupt):
        wordtide.fit(counts, output=tmp_path / "model", offload=disk, observer=Watching(stop=4), **FEW)
    assert os.listdir(disk) == []


@pytest.mark.parametrize(
    ("first", "later"), [("disk", "disk"), ("disk", "memory"), ("memory", "disk")], ids=" then ".join
)
def test_a_stopped_fit_continues_on_disk_and_in_memory_to_the_same_bits(
    counts, tmp_path, disk, in_memory, contexts, first, later
):
    settings = {"output": tmp_path / "model", "checkpoint_every": 0, "contexts": contexts, **FEW}
    places = {"disk": {"offload": disk}, "memory": {}}
    with pytest.raises(KeyboardInterrupt):
        wordtide.fit(counts, observer=Watching(stop=4), **places[first], **settings)
    model = wordtide.fit(counts, resume=True, **places[later], **settings)
    assert arrays(model.path) == in_memory[contexts]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"method": "filtering"}, "offload= is for smoothing .* not for method=.*filtering"),
        ({"solver": "adam"}, "offload= is for smoothing .* not for solver=.*adam"),
        ({"output": None}, "offload= needs an output folder"),
        ({"scheduler": "local:2"}, "offload= and scheduler= cannot be combined"),
    ],
)
def test_fits_that_cannot_be_offloaded_are_refused(counts, tmp_path, disk, settings, reason):
    with pytest.raises(SettingsError, match=reason):
        wordtide.fit(counts, **{"output": tmp_path / "model", "offload": disk, "dim": 4, **settings})
    assert os.listdir(disk) == []


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"method": "static"}, "scheduler= is for smoothing and filtering .* not for method=.*static"),
        ({"method": "independent"}, "not for method=.*independent"),
        ({"solver": "adam"}, "not for solver=.*adam"),
        ({"output": None}, "scheduler= needs an output folder"),
    ],
)
def test_fits_that_cannot_run_on_a_cluster_are_refused(counts, tmp_path, settings, reason):
    with pytest.raises(SettingsError, match=reason):
        wordtide.fit(counts, **{"output": tmp_path / "model", "scheduler": "local:2", "dim": 4, **settings})


def test_a_missing_folder_is_reported_with_a_remedy(counts, tmp_path):
    with pytest.raises(SettingsError, match="does not exist") as caught:
        wordtide.fit(counts, output=tmp_path / "model", offload=tmp_path / "nowhere", **FEW)
    assert "mkdir" in caught.value.remedy


@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20k", "tmpfs", folder], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_disk_that_is_too_small_gives_one_clear_error(counts, tmp_path, small_disk):
    with pytest.raises(OutputError, match="GB free") as caught:
        wordtide.fit(counts, output=tmp_path / "model", offload=small_disk, **{**FEW, "dim": 12})
    assert "another disk" in caught.value.remedy
    assert os.listdir(small_disk) == []


def test_too_little_room_is_found_before_the_fit_fills_the_disk(counts, tmp_path, disk, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9, 100))
    with pytest.raises(OutputError, match=r"has 0\.0 GB free, and the fit needs"):
        wordtide.fit(counts, output=tmp_path / "model", offload=disk, **FEW)
    assert os.listdir(disk) == []
    assert not (tmp_path / "model").exists()


_LIMITED = """
import json, resource, sys
import wordtide
from wordtide.errors import WordtideError
from wordtide.inference import memory
few, counts, place, share = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
wordtide.fit(place + "/warm", output=place + "/warm.model", offload=place + "/disk", **{**few, "dim": 8})  # loads compiled code
states = 8 * int(sys.argv[5]) * few["dim"] * 4
room = int(share * states)
before = memory.data_bytes()
resource.setrlimit(resource.RLIMIT_DATA, (before + room, resource.RLIM_INFINITY))
try:
    wordtide.fit(counts, output=place + "/large", **few)
except WordtideError as error:
    print(error.remedy)
wordtide.fit(counts, output=place + "/large", offload=place + "/disk", **few)
print("fitted")
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A fit of states that are more than five times as large as the memory that the process may still take."""
    place = tmp_path_factory.mktemp("limited")
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(1500)])
    texts = [(str(1900 + year), " ".join(rng.permutation(words))) for year in range(60)]
    large = wordtide.count(texts, window=1)  # few pairs: it is the states that must be large
    large.save(place / "counts")
    wordtide.count(texts[:2], window=1).save(place / "warm")
    (place / "disk").mkdir()
    few = {"dim": 100, "contexts": "separate", "threads": 1, "negative_contexts": 16, "max_steps": 2}
    line = [sys.executable, "-c", _LIMITED, json.dumps(few), str(place / "counts"), str(place), "0.18"]
    done = subprocess.run([*line, str(60 * 1500)], capture_output=True, text=True, timeout=200, check=False)
    wordtide.fit(large, output=place / "free", **few)
    yield done, place
    shutil.rmtree(place)


def test_a_model_of_five_times_the_memory_is_fitted_on_disk(limited):
    done, place = limited
    assert done.stdout.splitlines()[-1:] == ["fitted"], done.stderr
    assert arrays(place / "large") == arrays(place / "free")


def test_the_memory_error_suggests_offloading(limited):
    assert "--offload" in limited[0].stdout.splitlines()[0]
