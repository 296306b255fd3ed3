"""Folders made by an attacker are rejected in bounded time and memory, and nothing else is written."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from embeddings.models import model_of
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtide
from wordtide.errors import FolderError, WordtideError
from wordtide.evaluation.folder import EVALUATION, TUNING, load_record, models_folder, seconds_of_fits
from wordtide.inference.checkpoints import Checkpoints

TRICKS = [
    "../words.txt",
    "/etc/passwd",
    "a/../words.txt",
    "words.txt\n",
    "\n",
    ".",
    "..",
    "",
    "a\0b",
    "words.txt/",
    "\x1b[2J",
    "x" * 300,
]
STATE = {"mean": np.zeros((2, 3)), "place": np.array([1, 2])}
#: Loads a folder with little memory to spare, and says how that ended.
_CHILD = """
import resource, sys
import wordtide
from wordtide.errors import WordtideError
from wordtide.inference.checkpoints import Checkpoints
from pathlib import Path
loads = {"counts": lambda path: wordtide.Counts.load(path, True), "model": lambda path: wordtide.load(path, check=True),
         "checkpoint": lambda path: Checkpoints(Path(path), {"dim": 2}, "these", 0.0).load()}
for line in sys.stdin:
    kind, path = line.rstrip("\\n").split(" ", 1)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), resource.RLIM_INFINITY))
    try:
        loads[kind](path)
        print("read")
    except WordtideError as error:
        print("refused", str(error).replace("\\n", " "))
"""


def checkpoints(path):
    return Checkpoints(path, {"dim": 2}, "these", 0.0)


def make(kind, place):
    if kind == "counts":
        wordtide.count([("1862", "steam power drives"), ("1863", "atomic power")], output=place, workers=1)
    elif kind == "checkpoint":
        checkpoints(place).save(
            "fit", STATE, [{"step": 1, "slice": None, "elbo": -0.5, "rate": 0.1, "seconds": 0.5}]
        )
    elif kind in ("evaluation", "tuning"):
        {"evaluation": EVALUATION, "tuning": TUNING}[kind].begin(place, {"counts": "these"}, overwrite=False)
    else:
        model_of(kind).save(place)


def load(kind, place):
    if kind == "counts":
        wordtide.Counts.load(place, check=True)
    elif kind == "checkpoint":
        checkpoints(place).load()
    elif kind in ("evaluation", "tuning"):
        {"evaluation": EVALUATION, "tuning": TUNING}[kind].check(
            place, {"counts": "these"}, overwrite=False, resume=True
        )
    else:
        wordtide.load(place, check=True)


KINDS = ("counts", "smoother", "filter", "checkpoint", "evaluation", "tuning")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A valid folder of every kind."""
    place = tmp_path_factory.mktemp("sound")
    for kind in KINDS:
        make(kind, place / kind)
    return place


@pytest.fixture
def folder(sound, tmp_path):
    """A copy of a folder to damage, alone in its parent folder."""

    def of(kind):
        return shutil.copytree(sound / kind, tmp_path / "place" / kind)

    return of


def everything_in(place):
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(place.rglob("*"))}


def change_header(folder, change):
    header = json.loads((folder / "header.json").read_text())
    change(header)
    (folder / "header.json").write_text(json.dumps(header))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TRICKS)
def test_a_name_that_leaves_the_folder_is_rejected_and_nothing_is_written(folder, kind, name, tmp_path):
    place = folder(kind)
    (tmp_path / "words.txt").write_text("mine\n")
    change_header(place, lambda header: header["files"].update({name: {"bytes": 5, "crc32": 0}}))
    before = everything_in(tmp_path)
    with pytest.raises(FolderError):
        load(kind, place)
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("kind", KINDS[:4])
def test_a_pipe_in_place_of_a_file_is_refused_at_once(folder, kind):
    place = folder(kind)
    for path in sorted(place.iterdir()):
        content = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        if path.name != "header.json":
            change_header(place, lambda header, name=path.name: header["files"][name].update(bytes=0))
        with pytest.raises(WordtideError):
            load(kind, place)
        path.unlink()
        path.write_bytes(content)


@pytest.mark.parametrize("kind", KINDS[:4])
def test_links_to_devices_and_to_themselves_are_refused(folder, kind):
    place = folder(kind)
    for target in ("/dev/zero", "/dev/null", "itself", "/"):
        path = sorted(path for path in place.iterdir() if path.name != "header.json")[0]
        path.unlink()
        path.symlink_to(path if target == "itself" else target)
        with pytest.raises(FolderError):
            load(kind, place)


@pytest.mark.parametrize("kind", ["evaluation", "tuning"])
def test_pipes_in_a_work_folder_are_refused_at_once(folder, kind):
    place = folder(kind)
    os.mkfifo(models_folder(place) / "seconds.json")
    (place / "fits").mkdir()
    os.mkfifo(place / "fits" / "a.json")
    for read in (lambda: seconds_of_fits(place), lambda: load_record(place, "a", [0])):
        with pytest.raises(FolderError, match="not a regular file"):
            read()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "content",
    [b"", b"[" * 100_000, b"null", b'{"kind": []}', b"\xff", b'{"a": ' * 5000, b"9" * 5000, b"\x00" * 50],
)
def test_an_invalid_header_is_rejected(folder, kind, content):
    place = folder(kind)
    (place / "header.json").write_bytes(content)
    with pytest.raises(WordtideError):
        load(kind, place)


def absurd_files():
    """For some files of folders, content that declares far more than it holds."""
    huge = 1 << 61
    tensors = {
        "mean_u": {"dtype": "F32", "shape": [huge, huge], "data_offsets": [0, 4]},
        "times": {"dtype": "F64", "shape": [1 << 40], "data_offsets": [0, 1 << 43]},
    }
    description = json.dumps(tensors).encode()
    npy = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }" % (
        1 << 59
    )
    return {
        ("counts", "values.npy"): npy.ljust(127) + b"\n",
        ("counts", "slice_tokens.npy"): npy.ljust(127) + b"\n",
        ("counts", "rows.npy"): b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(100),
        ("smoother", "arrays.safetensors"): len(description).to_bytes(8, "little") + description + bytes(4),
        ("smoother", "curve.csv"): b"step,slice,elbo,rate,seconds\n" + b"9" * 100_000 + b",,,,\n",
        ("filter", "slice-000000.safetensors"): b"\xff" * 8 + bytes(100),
        ("filter", "arrays.safetensors"): (1 << 62).to_bytes(8, "little"),
        ("checkpoint", "state.safetensors"): len(description).to_bytes(8, "little") + description + bytes(4),
    }


def test_absurd_shapes_are_refused_in_bounded_memory(folder):
    lines = []
    for (kind, name), content in absurd_files().items():
        place = folder(kind)
        place = place.rename(place.with_name(f"{kind}-{name}"))
        (place / name).write_bytes(content)
        change_header(
            place, lambda header, name=name, content=content: header["files"][name].update(bytes=len(content))
        )
        lines.append(f"{kind if kind in ('counts', 'checkpoint') else 'model'} {place}\n")
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input="".join(lines),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert [answer.split(" ")[0] for answer in answers] == ["refused"] * len(lines)


@pytest.mark.parametrize("kind", KINDS[:4])
def test_any_value_in_a_header_is_accepted_or_rejected(sound, kind, tmp_path_factory):
    place = shutil.copytree(sound / kind, tmp_path_factory.mktemp("values") / kind)
    header = json.loads((place / "header.json").read_text())
    plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
    values = st.one_of(
        plain, st.lists(plain, max_size=3), st.dictionaries(st.text(max_size=3), plain, max_size=3)
    )

    @settings(max_examples=50)
    @given(st.sampled_from(sorted(header)), values)
    def try_value(name, value):
        (place / "header.json").write_text(json.dumps({**header, name: value}))
        try:
            load(kind, place)
        except WordtideError:
            return

    try_value()
