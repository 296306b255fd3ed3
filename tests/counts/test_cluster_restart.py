"""A killed job resumes from its finished pieces; one whose scheduler disappears says so."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from counts.small_shards import command_with_shards_of, files_of
from counts.waiting_texts import TEXTS, TOKENIZER, finished_scans, prepare, readers_of, wait_for

import wordtide
from wordtide import dask_client
from wordtide.counts.cluster import shards as sharding
from wordtide.errors import WordtideError

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parent.parent


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SLOW_PLACE", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    return tmp_path


def start():
    line = command_with_shards_of(
        1, "count", "texts", "-o", "there", "--tokenizer", TOKENIZER, "--scheduler", "local:2"
    )
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def has_ended(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"
    except FileNotFoundError:
        return True


def test_a_killed_job_resumes_from_its_finished_shards_to_the_same_bytes(place, monkeypatch, capfd):
    process = start()
    wait_for((place / "waiting").exists, process)
    wait_for(lambda: len(finished_scans(place)) == len(TEXTS) - 1, process)
    worker = int((place / "waiting").read_text())
    process.kill()
    process.communicate(timeout=100)
    wait_for(lambda: has_ended(worker))  # no worker outlives its client
    assert not (place / "there").exists()
    damaged = finished_scans(place)[0].with_name("ids.npy")
    damaged.write_bytes(damaged.read_bytes()[:-4] + b"\1\0\0\0")
    (place / "go").touch()
    monkeypatch.setattr(sharding, "_SMALLEST", 1)
    wordtide.count(
        "texts", output="there", tokenizer=TOKENIZER, scheduler="local:1"
    )  # another number of workers finds them too
    told = capfd.readouterr().err
    assert "checksum is wrong. It will be made again." in told
    assert "3 of 5 shards exist from an earlier run" in told
    assert files_of(place / "there") == files_of(place / "here")
    assert sorted(len(readers) for readers in readers_of(place).values()) == [1, 1, 1, 2, 2]
    assert sorted(path.name for path in place.iterdir() if path.name.startswith((".there", "there"))) == [
        "there"
    ]


def dask(*arguments):
    line = [sys.executable, "-m", *arguments]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_job_whose_scheduler_disappears_ends_with_an_explained_error(place, monkeypatch, capfd):
    """Scheduler and worker are processes of their own; the scheduler is killed while the worker is counting."""
    monkeypatch.setattr(dask_client, "_POLL_SECONDS", 0.2)
    monkeypatch.setattr(sharding, "_SMALLEST", 1)
    port, found = free_port(), []
    address = f"tcp://127.0.0.1:{port}"
    scheduler = dask(
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-dashboard",
        "--no-show",
    )
    worker = dask("distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard", "--nthreads", "1")

    def count():
        try:
            wordtide.count("texts", output="there", tokenizer=TOKENIZER, scheduler=address)
        except WordtideError as error:
            found.append(error)

    job = threading.Thread(target=count)
    try:
        job.start()
        wait_for((place / "waiting").exists, scheduler)
        scheduler.kill()
        job.join(timeout=100)
        assert not job.is_alive()
        (error,) = found
        assert address in error.problem
        assert error.remedy.startswith("Run the same command again: a count keeps its finished work")
        assert len(finished_scans(place)) == TEXTS.index("wait")
        assert "Traceback" not in capfd.readouterr().err
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]
