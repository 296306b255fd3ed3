"""Smoothing on disk: the bits of a fit in memory, with memory for a part of the states, and no file left behind."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from oracles import model as dense

import wordtide
from wordtide.errors import OutputError, SettingsError
from wordtide.inference.compute import compute
from wordtide.inference.memory import estimate_memory
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.smoothing import SmoothingSolver
from wordtide.inference.problem import problem_of
from wordtide.inference.scale.offload_files import OffloadFolder
from wordtide.inference.scale.on_disk import OffloadedStates
from wordtide.inference.settings import FitSettings
from wordtide.inference.training import FitObserver
from wordtide.model.prior import ProductPrior

SIZE, DIM = 30, 3
TIMES = 1800.0 + np.array([0, 1, 4, 5, 9])
PRIOR = ProductPrior(TIMES, 0.05, 1.3)
START = (0.5 * np.random.default_rng(9).standard_normal((2, SIZE, DIM))).astype(np.float32)
FEW = {"dim": 4, "threads": 1, "negative_contexts": 6, "max_steps": 8, "tolerance": 0.0}
WORDS = [
    stem + ending for stem in ("river", "mill", "road", "king", "law") for ending in ("", "er", "ing", "ly")
]


def problem():
    rng = np.random.default_rng(0)
    present = [sorted(rng.choice(SIZE, 18, replace=False)) for _ in TIMES]  # most words are absent somewhere
    return dense.problem_from([4 * dense.random_counts(rng, SIZE, words) for words in present], TIMES)


def solver(computing, folder=None, **settings):
    posed = problem()
    states = None
    if folder is not None:
        words = [part.words for part in posed.slices]
        states = OffloadedStates(posed.knots, words, PRIOR, START, computing, folder)
    schedule = Schedule(7, 0.9, 0.2, 0.0, measure_every=3)
    return SmoothingSolver(posed, PRIOR, START, schedule, computing, contexts=5, states=states, **settings)


def numbers(fitted):
    """ELBOs and all that a checkpoint would hold."""
    elbos = [report.elbo for report in iter(fitted.advance, None)]
    state = fitted.state()
    whole = {
        name: np.concatenate([piece.copy() for piece in array.pieces()])
        if hasattr(array, "pieces")
        else array
        for name, array in state.items()
    }
    return {"elbos": np.array(elbos), **whole}


def are_the_same(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=True) for name in one
    )


@pytest.mark.parametrize(
    ("block_bytes", "threads"),
    [(1, 1), (3000, 1), (3000, 3), (1 << 20, 1)],
    ids=["a block for each word", "some blocks", "some blocks, threads", "one block"],
)
def test_states_on_disk_come_to_the_bits_of_those_in_memory(tmp_path, block_bytes, threads):
    with compute("cpu", "float32", threads) as computing, OffloadFolder(tmp_path, block_bytes) as folder:
        assert are_the_same(numbers(solver(computing, folder)), numbers(solver(computing)))


def test_predictions_have_the_same_bits_and_leave_no_trace(tmp_path):
    with compute("cpu", "float32", 1) as computing, OffloadFolder(tmp_path, 3000) as folder:
        one, other = solver(computing, folder), solver(computing)
        for fitted in (one, other):
            for _ in range(3):
                fitted.advance()
        assert one.predictions() == other.predictions()
        assert are_the_same(numbers(one), numbers(other))


def test_a_slowed_run_begins_again_from_the_start(tmp_path):
    with compute("cpu", "float32", 1) as computing, OffloadFolder(tmp_path, 3000) as folder:
        on_disk, in_memory = solver(computing, folder), solver(computing)
        for fitted in (on_disk, in_memory):
            fitted.advance()
            fitted.slow_down()
        assert are_the_same(numbers(on_disk), numbers(in_memory))


def test_a_kept_array_is_read_from_its_file(tmp_path):
    array = np.random.default_rng(0).integers(0, 1 << 30, 10_000).astype(np.int32)
    with OffloadFolder(tmp_path, 1) as folder:
        kept = [folder.kept(array + number) for number in range(3)]
        assert all(isinstance(found.base, np.memmap) for found in kept)
        assert all(np.array_equal(found, array + number) for number, found in enumerate(kept))


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counted") / "counts"
    texts = [" ".join(np.random.default_rng(year).choice(WORDS, 200)) for year in range(3)]
    wordtide.count([(str(1900 + 10 * year), text) for year, text in enumerate(texts)]).save(folder)
    return folder


@pytest.fixture(scope="module")
def in_memory(counts, tmp_path_factory):
    """The arrays of a fit in memory."""
    return arrays(wordtide.fit(counts, output=tmp_path_factory.mktemp("in memory") / "model", **FEW).path)


def arrays(model):
    return (model / "arrays.safetensors").read_bytes()


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


class Watching(FitObserver):
    """Hears the notes, and looks at what can be seen on the disk; presses Ctrl-C after so many steps with a checkpoint."""

    def __init__(self, disk, stop=None):
        self.disk, self.stop, self.notes, self.seen = disk, stop, [], set()

    def step(self, done, report):
        self.notes.append(report.note)
        self.seen |= set(os.listdir(self.disk))
        if done == self.stop and report.note:
            raise KeyboardInterrupt


def test_a_fit_on_disk_comes_to_the_bits_of_one_in_memory(counts, tmp_path, disk, in_memory):
    model = wordtide.fit(counts, output=tmp_path / "model", offload=disk, **FEW)
    assert arrays(model.path) == in_memory


def test_a_fit_on_disk_says_how_slow_it_is(counts, tmp_path, disk):
    watching = Watching(disk)
    wordtide.fit(counts, output=tmp_path / "model", offload=disk, observer=watching, **FEW)
    assert watching.notes[-1].startswith("offloaded: ")
    assert watching.notes[-1].endswith(" s a step")


def test_files_are_never_seen_so_a_kill_leaves_none(counts, tmp_path, disk):
    watching = Watching(disk)
    wordtide.fit(counts, output=tmp_path / "model", offload=disk, observer=watching, **FEW)
    assert watching.seen == set(os.listdir(disk)) == set()


@pytest.mark.parametrize("later", ["on disk", "in memory"])
def test_a_stopped_fit_on_disk_goes_on_to_the_same_bits(counts, tmp_path, disk, in_memory, later):
    observer = Watching(disk, stop=4)
    with pytest.raises(KeyboardInterrupt):
        wordtide.fit(
            counts, output=tmp_path / "model", offload=disk, observer=observer, checkpoint_every=0, **FEW
        )
    more = {"offload": disk} if later == "on disk" else {}
    assert (
        arrays(wordtide.fit(counts, output=tmp_path / "model", resume=True, **more, **FEW).path) == in_memory
    )


def test_a_fit_that_was_stopped_in_memory_goes_on_on_disk(counts, tmp_path, disk, in_memory):
    class Stops(FitObserver):
        def step(self, done, report):
            if done == 4 and report.slice is None:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wordtide.fit(counts, output=tmp_path / "model", observer=Stops(), checkpoint_every=0, **FEW)
    assert (
        arrays(wordtide.fit(counts, output=tmp_path / "model", resume=True, offload=disk, **FEW).path)
        == in_memory
    )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"method": "filtering"}, "method='filtering'"),
        ({"solver": "adam"}, "solver='adam'"),
        ({"output": None}, "output folder"),
    ],
)
def test_offloading_what_cannot_be_is_refused(counts, tmp_path, disk, settings, reason):
    with pytest.raises(SettingsError, match=reason):
        wordtide.fit(counts, **{"output": tmp_path / "model", "offload": disk, "dim": 4, **settings})


def test_the_estimate_of_memory_is_smaller_on_disk(counts):
    problem, settings = problem_of(wordtide.Counts.load(counts), 1.0, 0.75), FitSettings(dim=500)
    needed = [estimate_memory(problem, settings, 1, on_disk=on_disk).total for on_disk in (False, True)]
    assert needed[1] < needed[0]


def test_a_folder_that_is_not_there_is_named_with_the_remedy(counts, tmp_path):
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


def test_a_disk_that_is_too_small_is_told_before_the_fit_fills_it(counts, tmp_path, small_disk):
    with pytest.raises(OutputError, match="GB free") as caught:
        wordtide.fit(counts, output=tmp_path / "model", offload=small_disk, **{**FEW, "dim": 20})
    assert "another disk" in caught.value.remedy
    assert os.listdir(small_disk) == []


def test_a_disk_that_fills_up_while_an_array_is_written_gives_one_clear_error(small_disk):
    with OffloadFolder(small_disk, 1) as folder, pytest.raises(OutputError, match="The disk is full"):
        folder.kept(np.ones(1 << 16))


_LIMITED = """
import json, resource, sys
import wordtide
from wordtide.errors import WordtideError
from wordtide.inference import memory
few, counts, place, share = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
wordtide.fit(place + "/warm", output=place + "/warm.model", offload=place + "/disk", **{**few, "dim": 8})  # loads compiled code
states = 8 * int(sys.argv[5]) * few["dim"] * 4
room = int(share * states)
before = memory._data_bytes()
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
    few = {"dim": 100, "threads": 1, "negative_contexts": 16, "max_steps": 2}
    line = [sys.executable, "-c", _LIMITED, json.dumps(few), str(place / "counts"), str(place), "0.18"]
    done = subprocess.run([*line, str(60 * 1500)], capture_output=True, text=True, timeout=200, check=False)
    wordtide.fit(large, output=place / "free", **few)
    yield done, place
    shutil.rmtree(place)


def test_a_model_of_five_times_the_memory_is_fitted_on_disk(limited):
    done, place = limited
    assert done.stdout.splitlines()[-1:] == ["fitted"], done.stderr
    assert arrays(place / "large") == arrays(place / "free")


def test_the_refusal_for_lack_of_memory_names_the_way_out(limited):
    assert "--offload" in limited[0].stdout.splitlines()[0]
