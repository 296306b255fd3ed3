"""Locks and the atomic writer: one holder at a time, no leftovers, no side effects on the process."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from wordtide.errors import OutputError
from wordtide.storage.folders import clean_inside, new_files, new_folder, new_own_files, write_files
from wordtide.storage.locks import changing, locked, only_writer

HOLDER = (
    "import sys; from pathlib import Path; from wordtide.storage.locks import only_writer\n"
    "with only_writer(Path(sys.argv[1])):\n print('held', flush=True); sys.stdin.read()"
)


@pytest.fixture
def holder(tmp_path):
    """Another process that is writing a target."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "target"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_lock_held_by_another_process_is_refused(holder, tmp_path):
    with pytest.raises(OutputError, match="Another process is writing"), only_writer(tmp_path / "target"):
        pytest.fail("the lock was given twice")


def test_the_lock_of_a_killed_process_can_be_acquired(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert os.listdir(tmp_path) == [".target.lock"]
    with only_writer(tmp_path / "target"):
        assert os.listdir(tmp_path) == [".target.lock"]
    assert os.listdir(tmp_path) == []


def test_two_holders_in_one_process_exclude_each_other(tmp_path):
    with (
        locked(tmp_path / "lock", "held", "wait"),
        pytest.raises(OutputError, match="held"),
        locked(tmp_path / "lock", "held", "wait"),
    ):
        pytest.fail("the lock was given twice")


def test_only_one_of_many_threads_holds_a_lock(tmp_path):
    inside, most, had = [], [], []

    def want():
        for _ in range(100):
            try:
                with locked(tmp_path / "lock", "held", "wait"):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
                    had.append(1)
            except OutputError:
                continue

    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * len(had) != []
    assert os.listdir(tmp_path) == []


def test_a_lock_that_cannot_be_made_is_explained(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / ".model.changing.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="model cannot be written"), changing(tmp_path / "model"):
        pytest.fail("a link was followed")


def test_outputs_have_the_modes_of_the_umask(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("other threads would see this"))
        with new_folder(tmp_path / "folder") as folder:
            (folder / "file").write_text("x")
        with new_files([tmp_path / "file"]) as (file,):
            file.write_text("x")
    finally:
        monkeypatch.undo()
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("folder", "folder/file", "file")]
    assert modes == [0o750, 0o640, 0o640]


def test_files_of_a_folder_are_replaced_together(tmp_path):
    write_files(tmp_path, {"a": b"1", "b": b"2"})
    write_files(tmp_path, {"a": b"3", "b": b"4"})
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == {"a": b"3", "b": b"4"}


def test_leftovers_of_a_killed_writer_are_removed(tmp_path):
    (tmp_path / ".a.partial-1").write_bytes(b"half")
    (tmp_path / ".a.partial-2").mkdir()
    write_files(tmp_path, {"a": b"1"})
    assert os.listdir(tmp_path) == ["a"]


def test_writing_in_a_private_folder_makes_no_lock_files(tmp_path):
    with new_own_files([tmp_path / "a"]) as (file,):
        file.write_bytes(b"1")
        assert [name for name in os.listdir(tmp_path) if "lock" in name] == []
    (tmp_path / ".b.partial-1").write_bytes(b"half")
    clean_inside(tmp_path)
    assert os.listdir(tmp_path) == ["a"]
