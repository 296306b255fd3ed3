"""A model too large to check on loading: an invalid number is rejected before it reaches an answer."""

import json
import shlex
import shutil

import numpy as np
import pytest
from cli.command_line import run
from docs.small_world import dated_texts

import wordtide
from wordtide.embeddings import folder as model_folder
from wordtide.storage.arrays import map_tensors, write_tensors
from wordtide.storage.header import file_facts, read_json

FITS = {
    "smoothing": {},
    "separate contexts": {"contexts": "separate"},
    "filtering": {"method": "filtering"},
    "warm start": {"method": "warm-start"},
}
LINES = [
    "info model",
    "neighbors model energy",
    "neighbors model vigor --at 1855.5",
    "similarity model energy power",
    "analogy model energy",
    "axis model --from power --to vigor energy",
    "story model energy",
    "changed model --top 3",
    "changed model --by change",
    "surprises model",
    "plot timeline model energy -o out.svg",
    "export model --to word2vec --at last -o out.txt",
    "export model --to csv -o out.csv",
    "explore model --html out.html --no-map",
    "update out.copy {place}/later",
]
#: What may be wrong with means and spreads.
VALUES = {"mean": (np.nan, np.inf), "variance": (np.nan, -1.0), "precision": (np.inf, -1.0)}


@pytest.fixture(scope="module", params=FITS)
def world(request, tmp_path_factory):
    """A model of each kind, and a folder with later texts."""
    place = tmp_path_factory.mktemp("large")
    counts = wordtide.count(list(dated_texts(20)))
    wordtide.fit(counts, dim=4, threads=1, output=place / "model", **FITS[request.param])
    (place / "later").mkdir()
    (place / "later" / "2010.txt").write_text("energy and power of the mill1 farm2 " * 20, encoding="utf-8")
    return place


@pytest.fixture
def here(world, tmp_path, monkeypatch):
    """A copy of the model in the current folder, treated as too large to check."""
    shutil.copytree(world / "model", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(model_folder, "_BYTES_CHECKED", -1)
    return tmp_path


def answers(world, place):
    """For each command line: whether it finds the model damaged, what it prints, and what it writes."""
    for line in LINES:
        shutil.copytree(place / "model", place / "out.copy")
        done = run(*shlex.split(line.format(place=world)))
        written = {
            path.relative_to(place): path.read_bytes()
            for path in sorted(place.rglob("*"))
            if path.is_file() and not (place / "model" / path.name).exists()
        }
        for path in place.glob("out*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        damaged = done.code == 5 and "holds impossible numbers" in done.err
        yield line, damaged or done.code, done.out, written


@pytest.fixture(scope="module")
def expected(world, tmp_path_factory):
    """The answers of the valid model, checked on loading as a small one."""
    place = tmp_path_factory.mktemp("expected")
    shutil.copytree(world / "model", place / "model")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        return list(answers(world, place))


def spoiled_files(model):
    """Every file with states, and the names of its arrays."""
    for path in sorted(model.glob("*.safetensors")):
        names = [name for name in map_tensors(path) if name.partition("_")[0] in VALUES and "_" in name]
        if names:
            yield path, names


def spoil(model, path, name, row, value):
    """Change a number, with sizes and checksums that match."""
    arrays = {key: np.array(array) for key, array in map_tensors(path).items()}
    arrays[name][row, -1] = value
    write_tensors(path, arrays)
    header = read_json(model / "header.json")
    header["files"][path.name] = file_facts(path)
    (model / "header.json").write_text(json.dumps(header), encoding="utf-8")


def test_a_sound_large_model_answers_like_a_small_one(world, here, expected):
    assert list(answers(world, here)) == expected
    assert [ending for _, ending, *_ in expected].count(0) >= 10


@pytest.mark.parametrize("which", [0, 1], ids=["first value", "second value"])
def test_an_impossible_number_is_rejected_or_changes_no_answer(world, here, expected, which):
    draw = np.random.default_rng(which)
    files = list(spoiled_files(here / "model"))
    path, names = files[len(files) // 2]
    for name in names:
        size = len(map_tensors(path)[name])
        backup = path.read_bytes()
        spoil(here / "model", path, name, int(draw.integers(size)), VALUES[name.partition("_")[0]][which])
        found = list(answers(world, here))
        for one, sound in zip(found, expected, strict=True):
            assert one[1] is True or one == sound, one[:3]
        assert any(ending is True for _, ending, *_ in found)
        path.write_bytes(backup)
