"""Killed commands can be repeated without a trace, and load does no harm; `make soak` runs longer."""

import random
import shutil
import sys
import threading

import pytest
from faults.forking import Death
from faults.loading import server_under_load, watch_under_load
from faults.worlds import SELECTED

import wordtide
from wordtide.errors import FolderError

pytestmark = pytest.mark.slow
_KILLS = 2


@pytest.mark.parametrize("writing", SELECTED, ids=lambda writing: writing.name)
def test_a_killed_command_repeated_gives_the_same_result(killer, writing):
    result = killer.trial(writing, killer.moments(writing, _KILLS, random.Random(writing.name)))
    assert result.problems == []
    assert result.runs - result.kills in (0, 1)  # all runs but the last were killed


@pytest.mark.parametrize("after", [0, 1], ids=["before", "after"])
@pytest.mark.parametrize("writing", SELECTED, ids=lambda writing: writing.name)
def test_a_command_killed_around_its_last_rename_gives_the_same_result(killer, writing, after):
    made = killer.undisturbed(writing).operations
    last = max(number for number, name in enumerate(made, 1) if name == "os.rename")
    result = killer.trial(writing, [Death(operation=last + after)])
    assert (result.problems, result.kills) == ([], 1)


def test_a_reader_of_counts_being_replaced_never_sees_a_mixture(killer, tmp_path):
    states = [wordtide.Counts.load(killer.world / f"{name}.counts").in_memory() for name in ("early", "late")]
    states[0].save(tmp_path / "counts")
    over = threading.Event()

    def replace():
        for turn in range(40):
            states[turn % 2].save(tmp_path / "counts", overwrite=True)
        over.set()

    writer = threading.Thread(target=replace)
    writer.start()
    seen = []
    while not over.is_set():
        try:
            seen.append(wordtide.Counts.load(tmp_path / "counts", check=True).labels)
        except FolderError as error:
            seen.append(error.problem.partition(" at ")[0])
    writer.join()
    allowed = [state.labels for state in states]
    if sys.platform != "linux":
        allowed.append("There is no counts folder")  # where two renamings are needed
    assert seen
    assert [state for state in seen if state not in allowed] == []


def test_a_watch_under_load_reads_every_row_in_bounded_memory(killer, tmp_path):
    shutil.copytree(killer.world / "filtering", tmp_path / "model")
    load = watch_under_load(tmp_path / "model", rows_of_a_day=50, seconds=600, most_days=4)
    assert (load.code, load.rows, load.reported_rows, load.slices) == (0, 200, 200, 4), load.talk
    after = [memory for memory in load.memory if memory]
    assert after[-1] < 1.1 * after[0]


def test_concurrent_clients_get_complete_and_equal_answers(killer):
    load = server_under_load(killer.world / "smoothing", clients=6, requests=40)
    assert (load.problems, len(load.seconds)) == ([], 240)
