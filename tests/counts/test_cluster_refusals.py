"""Clusters and work folders that cannot be used are rejected soon, with a remedy."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import distributed
import pytest
from counts.small_shards import json_lines

import wordtide
from wordtide import dask_client
from wordtide.errors import OutputError, SettingsError
from wordtide.storage.work_folder import open_work


def test_a_folder_with_other_files_is_rejected_as_work_folder(tmp_path):
    source = json_lines(tmp_path / "posts.jsonl")
    with pytest.raises(OutputError, match="is neither empty nor a work folder"):
        wordtide.count(source, output=tmp_path / "counts", scheduler="local:2", work=tmp_path)
    assert source.exists()


def test_two_runs_do_not_share_a_work_folder(tmp_path):
    source = json_lines(tmp_path / "posts.jsonl")
    with (
        open_work(tmp_path / "counts.work", "other", keep_root=False),
        pytest.raises(OutputError, match="Another run is using the work folder"),
    ):
        wordtide.count(source, output=tmp_path / "counts", scheduler="local:2")


@pytest.mark.parametrize("name", ["local:0", "local:many", "localhost", "8786", "tcp:host"])
def test_an_invalid_scheduler_is_rejected_with_valid_ones(name, tmp_path):
    source = json_lines(tmp_path / "posts.jsonl")
    with pytest.raises(SettingsError, match="local:4"):
        wordtide.count(source, output=tmp_path / "counts", scheduler=name)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://", "carrier-pigeon://host:1"])
def test_waiting_for_a_silent_scheduler_ends(address, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_client, "_CONNECT_SECONDS", 0.5)
    source = json_lines(tmp_path / "posts.jsonl")
    with pytest.raises(SettingsError, match="does not answer"):
        wordtide.count(source, output=tmp_path / "counts", scheduler=address)
    assert [path.name for path in tmp_path.iterdir()] == ["posts.jsonl"]


def test_a_failed_connection_leaves_no_thread_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_client, "_CONNECT_SECONDS", 0.2)
    source = json_lines(tmp_path / "posts.jsonl")
    before = set(threading.enumerate())
    with pytest.raises(SettingsError):
        wordtide.count(source, output=tmp_path / "counts", scheduler="tcp://127.0.0.1:1")
    assert [thread.name for thread in set(threading.enumerate()) - before] == []


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    source = json_lines(tmp_path / "posts.jsonl")
    with pytest.raises(SettingsError, match=r"pip install 'wordtide\[cluster\]'"):
        wordtide.count(source, output=tmp_path / "counts", scheduler="local:2")


@pytest.fixture
def lone_scheduler():
    """A real scheduler without a worker."""
    with distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as local:
        yield local.scheduler_address


@pytest.mark.slow
def test_waiting_for_workers_ends(lone_scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_client, "_FIRST_WORKER_SECONDS", 0.3)
    source = json_lines(tmp_path / "posts.jsonl")
    with pytest.raises(SettingsError, match=f"dask worker {lone_scheduler}"):
        wordtide.count(source, output=tmp_path / "counts", scheduler=lone_scheduler)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "problem"), [(None, "has no wordtide"), ("9.9.9", "has wordtide 9.9.9, this process has")]
)
def test_a_worker_without_this_version_is_rejected(version, problem, lone_scheduler, tmp_path):
    """The worker is a real one, in an environment with everything but this package."""
    site = tmp_path / "site"
    site.mkdir()
    for path in Path(distributed.__file__).parent.parent.iterdir():
        if "wordtide" not in path.name and path.suffix != ".pth":
            (site / path.name).symlink_to(path)
    if version:  # Dask asks the package itself, or what was installed
        (site / "wordtide").mkdir()
        (site / "wordtide" / "__init__.py").write_text('__version__ = "9.9.9"\n')
        (site / "wordtide-9.9.9.dist-info").mkdir()
        (site / "wordtide-9.9.9.dist-info" / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: wordtide\nVersion: 9.9.9\n"
        )
    source = json_lines(tmp_path / "posts.jsonl")
    line = [
        sys.executable,
        "-S",
        "-m",
        "distributed.cli.dask_worker",
        lone_scheduler,
        "--no-nanny",
        "--no-dashboard",
    ]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "HOME": str(tmp_path)}
    worker = subprocess.Popen(
        line, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with pytest.raises(SettingsError, match=problem):
            wordtide.count(source, output=tmp_path / "counts", scheduler=lone_scheduler)
    finally:
        worker.kill()
        worker.wait()
