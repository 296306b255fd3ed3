"""Checkpoints: a resumed fit has the same bits, and a checkpoint of another fit is refused."""

import functools
import json
import shutil

import numpy as np
import pytest
from observers import StepObserver

import wordtide
from wordtide.errors import FolderError, OutputError
from wordtide.inference.checkpoints import Checkpoints, checkpoint_path, fingerprint

WORDS = [
    stem + ending for stem in ("river", "mill", "road", "king", "law") for ending in ("", "er", "ing", "ly")
]
FEW = {"adam_steps": 6, "adam_minibatch_words": 8, "adam_minibatch_steps": 8, "adam_full_steps": 8}
LONG = {"tolerance": 0.0, "max_steps": 14}  # so that no fit is over before it is stopped
WAYS = {
    "smoothing": LONG,
    "smoothing with diffusion auto": {"diffusion": "auto", **LONG},
    "filtering": {"method": "filtering", **LONG},
    "filtering with diffusion auto": {"method": "filtering", "diffusion": "auto", **LONG},
    "independent": {"method": "independent", **LONG},
    "warm-start": {"method": "warm-start", **LONG},
    "static": {"method": "static", **LONG},
    "smoothing by adam": {"solver": "adam", **FEW},
    "filtering by adam": {"method": "filtering", "solver": "adam", **FEW},
}
STATE = {
    "scalar": np.array(0.1),
    "place": np.array([3, 4]),
    "five": np.arange(32, dtype=np.float32).reshape(2, 2, 2, 2, 2),
    "none": np.zeros(0),
}
CURVE = [{"step": 1, "slice": None, "elbo": -1 / 3, "rate": 0.1, "seconds": 0.5}]


class StopsAfter(StepObserver):
    """Presses Ctrl-C after some steps of the fit itself; its preparation has no checkpoint yet."""

    def __init__(self, steps, checkpoint):
        self.steps, self.checkpoint = steps, checkpoint

    def stepped(self, done, status):
        if done == self.steps + 1 and self.checkpoint.exists():
            raise KeyboardInterrupt


def text(seed):
    return " ".join(np.random.default_rng(seed).choice(WORDS, 200))


@pytest.fixture(scope="module")
def counts():
    return wordtide.count([(str(1900 + 10 * t), text(t)) for t in range(3)])


def fit(counts, place, **settings):
    options = {"dim": 4, "threads": 1, "negative_contexts": 6, "checkpoint_every": 0, **LONG}
    return wordtide.fit(counts, output=place / "model", **{**options, **settings})


def stopped(counts, place, steps=5, **settings):
    """A fit that was stopped after some steps."""
    with pytest.raises(KeyboardInterrupt):
        fit(counts, place, observer=StopsAfter(steps, place / "model.checkpoint"), **settings)


def arrays(place):
    """All arrays of the model: those of a filter are in a file for each slice."""
    return {path.name: path.read_bytes() for path in sorted((place / "model").glob("*.safetensors"))}


def checkpoints(place, settings=None, counts="these"):
    return Checkpoints(place / "model.checkpoint", settings or {"dim": 4}, counts, 0.0)


@pytest.fixture(scope="module")
def whole(counts, tmp_path_factory):
    """The folder of a fit that was never stopped, for each way."""

    @functools.cache
    def of(way):
        place = tmp_path_factory.mktemp("whole")
        fit(counts, place, checkpoint_every=5, **WAYS[way])
        return place

    return of


@pytest.fixture(scope="module")
def resumed(counts, tmp_path_factory):
    """The folder of a fit that was stopped after some steps and resumed, for each way."""

    @functools.cache
    def of(way, steps):
        place = tmp_path_factory.mktemp("resumed")
        stopped(counts, place, steps, **WAYS[way])
        fit(counts, place, resume=True, checkpoint_every=5, **WAYS[way])
        return place

    return of


@pytest.fixture(scope="module")
def stopped_once(counts, tmp_path_factory):
    place = tmp_path_factory.mktemp("stopped")
    stopped(counts, place)
    return place


@pytest.fixture
def left(stopped_once, tmp_path):
    """A folder in which a fit was stopped and left its checkpoint."""
    return shutil.copytree(stopped_once, tmp_path, dirs_exist_ok=True)


@pytest.mark.parametrize("steps", [1, 5, 11])
@pytest.mark.parametrize("way", WAYS)
def test_a_resumed_fit_has_the_same_bits(whole, resumed, way, steps):
    assert arrays(resumed(way, steps)) == arrays(whole(way))


@pytest.mark.parametrize("way", WAYS)
def test_a_resumed_fit_has_the_same_curve(whole, resumed, way):
    curves = [wordtide.load(place / "model").curve for place in (resumed(way, 5), whole(way))]
    without_time = [[{**row, "seconds": 0} for row in curve] for curve in curves]
    assert without_time[0] == without_time[1]
    assert len(without_time[0]) > 5


def test_a_fit_can_be_stopped_twice(counts, tmp_path, whole):
    stopped(counts, tmp_path, 2, **WAYS["filtering"])
    stopped(counts, tmp_path, 4, resume=True, **WAYS["filtering"])
    fit(counts, tmp_path, resume=True, **WAYS["filtering"])
    assert arrays(tmp_path) == arrays(whole("filtering"))


def test_only_the_model_is_left_at_the_end(resumed):
    assert [path.name for path in resumed("smoothing", 5).iterdir()] == ["model"]


def test_a_checkpoint_is_neither_used_nor_removed_unless_requested(counts, left):
    with pytest.raises(FolderError, match="left the checkpoint") as caught:
        fit(counts, left)
    assert all(option in caught.value.remedy for option in ("--resume", "--overwrite"))


def test_overwriting_starts_over(counts, left):
    model = fit(counts, left, overwrite=True, seed=1)
    assert (model.settings["seed"], (left / "model.checkpoint").exists()) == (1, False)


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"dim": 3}, {"method": "filtering"}, {"precision": "float64"}]
)
def test_a_checkpoint_of_other_settings_is_refused_with_the_setting(counts, left, other):
    with pytest.raises(FolderError, match=next(iter(other))):
        fit(counts, left, resume=True, **other)


def test_a_checkpoint_of_other_counts_is_refused(counts, left):
    others = wordtide.count([(str(1900 + 10 * t), text(t + 1)) for t in range(3)])
    with pytest.raises(FolderError, match="other counts"):
        fit(others, left, resume=True)


def test_one_different_pair_changes_the_fingerprint(counts):
    other = counts.in_memory()
    other.arrays.values[0] += 1
    assert fingerprint(other) != fingerprint(counts)


def test_counts_on_disk_have_the_fingerprint_of_counts_in_memory(counts, tmp_path):
    counts.save(tmp_path / "counts")
    assert fingerprint(wordtide.Counts.load(tmp_path / "counts")) == fingerprint(counts)


def test_a_checkpoint_is_beside_the_model(tmp_path):
    assert checkpoint_path(tmp_path / "model") == tmp_path / "model.checkpoint"


def test_a_state_is_loaded_as_it_was_saved(tmp_path):
    checkpoints(tmp_path).save("filtering", STATE, CURVE)
    stage, state, curve = checkpoints(tmp_path).load()
    assert (stage, curve) == ("filtering", CURVE)
    for name, array in STATE.items():
        assert (state[name].dtype, state[name].shape, state[name].tolist()) == (
            array.dtype,
            array.shape,
            array.tolist(),
        )


def test_a_state_may_be_changed_without_changing_its_checkpoint(tmp_path):
    checkpoints(tmp_path).save("filtering", STATE, CURVE)
    checkpoints(tmp_path).load()[1]["place"][0] = 99
    assert checkpoints(tmp_path).load()[1]["place"].tolist() == [3, 4]


@pytest.mark.parametrize("leftover", [".model.checkpoint.replaced-1", ".model.checkpoint.partial-x"])
def test_hidden_leftovers_of_a_killed_fit_are_removed_with_the_checkpoint(tmp_path, leftover):
    checkpoints(tmp_path).save("filtering", STATE, CURVE)
    shutil.copytree(tmp_path / "model.checkpoint", tmp_path / leftover)
    checkpoints(tmp_path).remove()
    assert list(tmp_path.iterdir()) == []


def test_removing_a_checkpoint_leaves_those_of_others(tmp_path):
    checkpoints(tmp_path).save("filtering", STATE, CURVE)
    shutil.copytree(tmp_path / "model.checkpoint", tmp_path / "model2.checkpoint")
    checkpoints(tmp_path).remove()
    assert [path.name for path in tmp_path.iterdir()] == ["model2.checkpoint"]


def test_without_a_checkpoint_none_is_loaded(tmp_path):
    assert checkpoints(tmp_path).load() is None


def test_a_checkpoint_is_due_when_its_interval_has_passed(tmp_path):
    never = Checkpoints(tmp_path / "model.checkpoint", {}, "", interval=1e9)
    always = Checkpoints(tmp_path / "model.checkpoint", {}, "", interval=0.0)
    assert (never.due(), always.due()) == (False, True)


def test_a_checkpoint_that_a_killed_fit_had_moved_aside_is_restored(tmp_path):
    checkpoints(tmp_path).save("filtering", STATE, CURVE)
    (tmp_path / "model.checkpoint").rename(tmp_path / ".model.checkpoint.replaced-1")
    assert checkpoints(tmp_path).load()[0] == "filtering"


@pytest.mark.parametrize(
    ("name", "error"),
    [("state.safetensors", FolderError), ("curve.csv", FolderError), ("header.json", OutputError)],
)
def test_a_truncated_checkpoint_is_refused(tmp_path, name, error):
    checkpoints(tmp_path).save("filtering", STATE, CURVE)
    path = tmp_path / "model.checkpoint" / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(error, match=r"model\.checkpoint"):
        checkpoints(tmp_path).load()


def test_a_checkpoint_with_changed_bytes_is_refused(tmp_path):
    checkpoints(tmp_path).save("filtering", STATE, CURVE)
    path = tmp_path / "model.checkpoint" / "state.safetensors"
    path.write_bytes(path.read_bytes()[:-9] + b"scrambled")
    with pytest.raises(FolderError, match="checksum"):
        checkpoints(tmp_path).load()


@pytest.mark.parametrize(
    ("field", "value"), [("settings", 3), ("settings", None), ("stage", 3), ("stage", None)]
)
def test_a_checkpoint_with_an_invalid_header_is_refused(tmp_path, field, value):
    checkpoints(tmp_path).save("filtering", STATE, CURVE)
    path = tmp_path / "model.checkpoint" / "header.json"
    path.write_text(
        json.dumps({**json.loads(path.read_text(encoding="utf-8")), field: value}), encoding="utf-8"
    )
    with pytest.raises(FolderError, match="damaged"):
        checkpoints(tmp_path).load()


def test_a_folder_of_the_user_is_never_replaced_by_a_checkpoint(counts, tmp_path):
    (tmp_path / "model.checkpoint").mkdir()
    (tmp_path / "model.checkpoint" / "wedding.jpg").write_bytes(b"precious")
    with pytest.raises(OutputError, match="not a folder made by wordtide"):
        fit(counts, tmp_path, overwrite=True)
    assert (tmp_path / "model.checkpoint" / "wedding.jpg").exists()
