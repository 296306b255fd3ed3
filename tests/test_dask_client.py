"""Tasks on a Dask cluster: results in order, the first error, and work that survives a killed worker."""

import os
import signal
from pathlib import Path

import pytest

from wordtide import dask_client
from wordtide.dask_client import Task, connect
from wordtide.errors import InputError


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two worker processes on this machine, which can import this module."""
    environment = pytest.MonkeyPatch()
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment.setenv("PYTHONPATH", path)
    with connect("local:2", tmp_path_factory.mktemp("scratch")) as connected:
        yield connected
    environment.undo()


def square(number):
    if number in (3, 5):
        raise InputError(f"{number} is not wanted.", "Leave it out.")
    return number * number


def die_once(mark):
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


def missing_file():
    raise FileNotFoundError("no such file on this worker")


def squares(*numbers):
    return [Task(f"square-{number}", square, (number,)) for number in numbers]


def test_results_come_in_the_order_of_the_tasks(cluster):
    assert cluster.run(squares(9, 2, 7, 1)) == [81, 4, 49, 1]


def test_a_task_whose_effect_exists_is_not_run(cluster):
    assert cluster.run(squares(2, 3, 4), is_done=lambda task: task.name == "square-3") == [4, None, 16]


def test_every_ended_task_is_reported(cluster):
    ended = []
    cluster.run(squares(1, 2, 4), is_done=lambda task: task.name == "square-2", advance=ended.append)
    assert sum(ended) == 3


def test_the_error_of_the_first_failed_task_is_raised(cluster):
    with pytest.raises(InputError) as found:
        cluster.run(squares(1, 2, 3, 4, 5))
    assert (found.value.problem, found.value.remedy) == ("3 is not wanted.", "Leave it out.")


def test_an_unexpected_error_of_a_task_keeps_its_type(cluster):
    with pytest.raises(FileNotFoundError, match="no such file on this worker"):
        cluster.run([Task("missing", missing_file)])


def test_a_killed_worker_costs_one_repeated_task(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_client, "_POLL_SECONDS", 0.5)
    tasks = [Task("die", die_once, (tmp_path / "mark",)), *squares(6)]
    assert cluster.run(tasks) == ["survived", 36]
    assert (tmp_path / "mark").exists()


def test_workers_are_counted(cluster):
    assert 1 <= cluster.worker_count() <= 2  # Dask replaces a killed process in the background
