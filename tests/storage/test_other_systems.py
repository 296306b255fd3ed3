"""Calls that other systems lack: each is removed, and what needs it still works."""

import ast
import ctypes
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

import wordtide
from wordtide import system
from wordtide.storage import folders, header, locks
from wordtide.streaming import rows

PACKAGE = Path(wordtide.__file__).parent
#: Modules that not every system has, and attributes that are used only where a test for them precedes.
MISSING_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "msvcrt", "winreg", "posix"}
MISSING_CALLS = {
    "os": {
        *("fork", "pread", "sched_getaffinity", "sysconf", "getuid", "geteuid", "posix_fadvise", "sendfile"),
        *("statvfs", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW", "uname", "killpg", "getpgid"),
    },
    "signal": {"pthread_sigmask", "SIGKILL", "SIGHUP", "SIGUSR1", "SIGPIPE", "SIGALRM", "alarm", "setitimer"},
}


def uses(path):
    """Names of modules that a file imports, and attributes of `os` and `signal` that it reads."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def test_only_one_module_makes_calls_that_some_systems_lack():
    special = MISSING_MODULES | {
        f"{module}.{name}" for module, names in MISSING_CALLS.items() for name in names
    }
    found = {
        path.relative_to(PACKAGE).as_posix(): sorted(special & set(uses(path)))
        for path in PACKAGE.rglob("*.py")
    }
    assert [name for name, calls in found.items() if calls] == ["system.py"]


def test_text_files_are_written_with_line_feeds_and_an_explicit_encoding():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = {keyword.arg for keyword in node.keywords}
                if node.func.attr == "write_text":
                    assert {"encoding", "newline"} <= given, f"{path}: {node.lineno}"
                if node.func.attr == "read_text":
                    assert "encoding" in given, f"{path}: {node.lineno}"


def test_processors_are_counted_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert system.available_processors() == os.cpu_count()


def test_without_resource_there_is_no_limit(monkeypatch):
    monkeypatch.setattr(system, "resource", None)
    assert system.data_limit() is None


def test_free_memory_falls_back_to_the_size_of_the_machine_and_then_to_none(monkeypatch):
    monkeypatch.setattr(system, "_kilobytes", lambda path, label: [])
    assert system.free_memory() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.delattr(os, "sysconf", raising=False)
    monkeypatch.delattr(ctypes, "windll", raising=False)
    assert system.free_memory() is None


def test_free_memory_is_known_on_windows(monkeypatch):
    class Kernel:
        @staticmethod
        def GlobalMemoryStatusEx(status):  # noqa: N802 (as Windows spells it)
            status._obj.free = 5 << 30
            return 1

    monkeypatch.setattr(system, "_kilobytes", lambda path, label: [])
    monkeypatch.delattr(os, "sysconf", raising=False)
    monkeypatch.setattr(ctypes, "windll", type("Libraries", (), {"kernel32": Kernel}), raising=False)
    assert system.free_memory() == 5 << 30


def test_missing_files_of_linux_are_no_error():
    assert system._kilobytes("/no/such/file", "VmData:") == []


def test_bytes_are_read_from_an_offset_without_pread(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"0123456789")
    descriptor = os.open(tmp_path / "file", system.READING)
    with_pread = system.read_at(descriptor, 3, 4)
    monkeypatch.delattr(os, "pread", raising=False)
    assert (with_pread, system.read_at(descriptor, 3, 4), system.read_at(descriptor, 9, 8)) == (
        b"456",
        b"456",
        b"89",
    )
    os.close(descriptor)


def test_rows_are_read_by_path_if_descriptors_have_no_names(tmp_path, monkeypatch):
    (tmp_path / "rows.jsonl").write_bytes(b"{}\n")
    descriptor = os.open(tmp_path / "rows.jsonl", system.READING)
    file = rows.StreamFile(descriptor, 0, str(tmp_path / "rows.jsonl"), "rows.jsonl", "jsonl")
    monkeypatch.setattr(rows, "_DESCRIPTORS", "/no/such/folder")
    assert file.part(0, 3, 1, ()).opened_at == str(tmp_path / "rows.jsonl")
    os.close(descriptor)


@pytest.mark.parametrize("masked", [True, False], ids=["signal masks", "no signal masks"])
def test_an_interrupt_waits_for_the_end_of_the_block(monkeypatch, masked):
    if not masked:
        monkeypatch.delattr(signal, "pthread_sigmask", raising=False)
    finished = []

    def interrupted():
        with system.interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            finished.append(True)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert finished == [True]


def test_other_threads_defer_interrupts_without_signals(monkeypatch):
    monkeypatch.delattr(signal, "pthread_sigmask", raising=False)
    done = []

    def work():
        with system.interrupts_deferred():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


@pytest.mark.parametrize("error", [OSError, TypeError])
def test_a_folder_is_replaced_in_two_steps_without_the_library(tmp_path, monkeypatch, error):
    def missing(*arguments, **options):
        raise error("no such library")

    monkeypatch.setattr(system.ctypes, "CDLL", missing)
    for text in ("old", "new"):
        with folders.new_folder(tmp_path / "folder", overwrite=True) as folder:
            (folder / "text").write_text(text, encoding="utf-8")
            header.write_header(folder, "test", 1, {})
    assert (os.listdir(tmp_path), (tmp_path / "folder" / "text").read_text(encoding="utf-8")) == (
        ["folder"],
        "new",
    )


def test_a_lock_file_that_cannot_be_removed_while_held_is_removed_afterwards(tmp_path, monkeypatch):
    """As on Windows: open files cannot be removed."""
    removed, held = Path.unlink, []
    monkeypatch.setattr(
        locks,
        "FileLock",
        lambda *arguments, **options: held.append(FileLock(*arguments, **options)) or held[-1],
    )

    def unlink(self, missing_ok=False):
        if held[-1].is_locked:
            raise PermissionError(13, "it is open", str(self))
        removed(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    with locks.only_writer(tmp_path / "target"):
        assert os.listdir(tmp_path) == [".target.lock"]
    assert os.listdir(tmp_path) == []


def test_files_are_opened_for_writing_to_be_flushed_on_windows(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_FLUSHED", "r+b")
    folders.write_files(tmp_path, {"a": b"1"})
    assert (tmp_path / "a").read_bytes() == b"1"


def test_a_written_folder_holds_no_carriage_returns(tmp_path):
    wordtide.count([("1900", "the old mill by the river")]).save(tmp_path / "counts")
    for name in ("header.json", "words.txt", "labels.txt"):
        assert b"\r" not in (tmp_path / "counts" / name).read_bytes()


def test_the_tests_run_on_a_supported_python():
    assert sys.version_info >= (3, 11)
