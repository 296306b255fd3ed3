"""Folders exchange their names in one step where the system can, otherwise in two."""

import ctypes
import errno
import os
import threading
from types import SimpleNamespace

import pytest

import wordtide.system
from wordtide.storage.folders import exchange, new_folder
from wordtide.storage.header import write_header


def fill(target, text, overwrite=True):
    with new_folder(target, overwrite) as folder:
        (folder / "text").write_text(text)
        write_header(folder, "test", 1, {})


@pytest.fixture
def pair(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text(name)
    return tmp_path / "first", tmp_path / "second"


@pytest.fixture
def no_such_step(monkeypatch):
    """A file system that cannot exchange names."""

    def refused(*_):
        ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(wordtide.system.ctypes, "CDLL", lambda *_, **__: SimpleNamespace(renameat2=refused))


def test_names_are_exchanged(pair):
    if not exchange(*pair):
        pytest.skip("this system cannot exchange names")
    assert [(folder / "text").read_text() for folder in pair] == ["second", "first"]


def test_a_missing_folder_raises_the_system_error(pair):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        exchange(pair[0], pair[0].with_name("nowhere"))


@pytest.mark.usefixtures("no_such_step")
def test_without_support_nothing_is_changed(pair):
    assert exchange(*pair) is False
    assert [(folder / "text").read_text() for folder in pair] == ["first", "second"]


def test_a_system_without_the_function_has_no_support(pair, monkeypatch):
    monkeypatch.setattr(wordtide.system.ctypes, "CDLL", lambda *_, **__: SimpleNamespace())
    assert exchange(*pair) is False


@pytest.mark.parametrize("fixture", [None, "no_such_step"])
def test_a_folder_is_replaced_and_nothing_is_left_of_the_old_one(tmp_path, fixture, request):
    if fixture:
        request.getfixturevalue(fixture)
    for text in ("old", "new"):
        fill(tmp_path / "folder", text)
    assert (os.listdir(tmp_path), (tmp_path / "folder" / "text").read_text()) == (["folder"], "new")


def test_a_folder_that_is_replaced_repeatedly_always_exists(tmp_path, pair):
    if not exchange(*pair):
        pytest.skip("this system cannot exchange names")
    fill(tmp_path / "folder", "0")
    over, missing, looked = threading.Event(), [], 0

    def replace():
        for turn in range(200):
            fill(tmp_path / "folder", str(turn))
        over.set()

    writer = threading.Thread(target=replace)
    writer.start()
    while not over.is_set():
        looked += 1
        if not os.path.exists(tmp_path / "folder"):
            missing.append(looked)
    writer.join()
    assert looked > 200
    assert missing == []
