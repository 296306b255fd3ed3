"""A cluster gives the bytes and the errors of one machine, even if a worker is killed."""

import gzip
import os
import signal
import threading
from collections import Counter
from pathlib import Path

import distributed
import pytest
from counts.small_shards import csv_rows, documents, files_of, json_lines, ngrams, parquet, texts
from counts.waiting_texts import TEXTS, TOKENIZER, finished_scans, prepare, readers_of, wait_for

import wordtide
from wordtide.counts.cluster import reduce as shard_counts
from wordtide.counts.cluster import reduce as tree_reduction
from wordtide.counts.cluster import shards as sharding
from wordtide.errors import InputError, SettingsError
from wordtide.progress import Observer

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address of a real cluster of two worker processes, which find the slow tokenizer."""
    scratch = tmp_path_factory.mktemp("scratch")
    environment = pytest.MonkeyPatch()
    environment.setenv("SLOW_PLACE", str(tmp_path_factory.mktemp("slow")))
    environment.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        local_directory=str(scratch),
    ) as cluster:
        yield cluster.scheduler_address
    environment.undo()


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Several shards, a tree of several levels, slices merged in several blocks."""
    monkeypatch.setattr(sharding, "_SMALLEST", 3000)
    monkeypatch.setattr(tree_reduction, "_FAN_IN", 2)
    monkeypatch.setattr(tree_reduction, "_LEAST_TOKENS", 400)
    monkeypatch.setattr(shard_counts, "_BLOCK", 16)


class StageSizes(Observer):
    """Records how many pieces each stage has."""

    def __init__(self):
        self.pieces = Counter()

    def start(self, stage, total=0, unit="steps"):
        self.pieces[stage] += total


SOURCES = {
    "texts": lambda place: texts(place / "texts"),
    "jsonl": lambda place: json_lines(place / "posts.jsonl"),
    "gzip": lambda place: [json_lines(place / f"{n}.jsonl.gz", seed=n) for n in (1, 2, 3)],
    "csv": lambda place: csv_rows(place / "table.csv"),
    "parquet": lambda place: parquet(place / "table.parquet"),
    "bad": lambda place: json_lines(place / "posts.jsonl", bad=True),
    "ngrams": lambda place: ngrams(place / "grams"),
}
CASES = {
    "texts with examples": ("texts", {"every": "month", "examples": 2}),
    "json lines with examples": ("jsonl", {"every": "2-years", "examples": 1, "vocabulary_size": 20}),
    "json lines by share": ("jsonl", {"vocabulary_by": "share", "vocabulary_size": 20}),
    "compressed json lines": ("gzip", {"since": "1992", "until": "1997-06"}),
    "csv, a slice per document": ("csv", {"every": "document"}),
    "csv, close documents merged": ("csv", {"every": "document", "merge_within": "7d", "examples": 1}),
    "parquet": ("parquet", {"every": "document", "min_count": 3}),
    "bad rows skipped": ("bad", {"skip_bad": True, "every": "document"}),
    "n-grams": ("ngrams", {"format": "ngrams", "vocabulary_size": 7}),
    "n-grams by share": (
        "ngrams",
        {"format": "ngrams", "vocabulary_by": "share", "vocabulary_size": 7, "every": "3-years"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_cluster_gives_the_same_bytes(case, scheduler, tmp_path, monkeypatch):
    kind, settings = CASES[case]
    source = SOURCES[kind](tmp_path)
    sizes = StageSizes()
    monkeypatch.setattr(sharding, "_SMALLEST", 500 if kind == "texts" else 3000)
    wordtide.count(source, output=tmp_path / "here", workers=1, **settings)
    wordtide.count(source, output=tmp_path / "there", observer=sizes, scheduler=scheduler, **settings)
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")
    assert sizes.pieces["reading"] > 2  # else nothing was distributed
    assert sizes.pieces["adding"] > sizes.pieces["reading"] // 2
    assert not (tmp_path / "there.work").exists()


def test_a_fixed_vocabulary_is_kept_on_a_cluster(scheduler, tmp_path):
    source = SOURCES["jsonl"](tmp_path)
    (tmp_path / "words").write_text("w5\nw1\nnever\nw40\n", encoding="utf-8")
    settings = {"vocabulary": str(tmp_path / "words"), "window": 3, "close_gaps": True}
    wordtide.count(source, output=tmp_path / "here", **settings)
    wordtide.count(source, output=tmp_path / "there", scheduler=scheduler, **settings)
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")


def test_counts_of_a_cluster_can_be_held_in_memory(scheduler, tmp_path):
    source = SOURCES["jsonl"](tmp_path)
    (tmp_path / "work").mkdir()
    found = wordtide.count(source, scheduler=scheduler, work=tmp_path / "work")
    expected = wordtide.count(source)
    assert [(a != b).nnz for a, b in zip(found, expected, strict=True)] == [0] * len(expected)
    assert list((tmp_path / "work").iterdir()) == []  # a folder of the user's stays


def test_data_in_memory_are_rejected_with_a_remedy(tmp_path):
    with pytest.raises(SettingsError, match="Data in memory cannot be counted on a cluster"):
        wordtide.count([("1850", "Steam power.")], output=tmp_path / "counts", scheduler="local:2")
    with pytest.raises(SettingsError, match="Standard input cannot be counted on a cluster"):
        wordtide.count("-", output=tmp_path / "counts", scheduler="local:2")
    assert list(tmp_path.iterdir()) == []


def cut_short(path):
    data = gzip.compress(
        "".join(f'{{"date": "1990", "text": "{text}"}}\n' for _, text in documents(1, 3)).encode()
    )
    path.write_bytes(data[: len(data) // 2])
    return path


def undated(folder):
    folder.mkdir()
    (folder / "1990.txt").write_text("steam", encoding="utf-8")
    (folder / "lincoln.txt").write_text("steam", encoding="utf-8")
    return folder


def test_the_first_of_several_bad_rows_is_reported_as_on_one_machine(scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr(sharding, "_SMALLEST", 2000)
    source = json_lines(tmp_path / "posts.jsonl", bad=True)
    with pytest.raises(InputError) as here:
        wordtide.count(source, output=tmp_path / "here", workers=1)
    with pytest.raises(InputError) as there:
        wordtide.count(source, output=tmp_path / "there", scheduler=scheduler)
    assert str(there.value) == str(here.value)
    assert "posts.jsonl, line 8: the line is not valid JSON" in str(there.value)


@pytest.mark.parametrize(
    "source", [lambda place: cut_short(place / "a.jsonl.gz"), lambda place: undated(place / "texts")]
)
def test_a_damaged_file_is_reported_as_on_one_machine(source, scheduler, tmp_path):
    path = source(tmp_path)
    with pytest.raises(InputError) as here:
        wordtide.count(path, output=tmp_path / "here", workers=1)
    with pytest.raises(InputError) as there:
        wordtide.count(path, output=tmp_path / "there", scheduler=scheduler)
    assert str(there.value) == str(here.value)
    assert not (tmp_path / "there.work").exists()  # nothing was finished, so nothing is kept


def test_other_settings_do_not_reuse_the_shards_of_an_earlier_run(scheduler, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(sharding, "_SMALLEST", 2000)
    source = json_lines(tmp_path / "posts.jsonl", bad=True)
    with pytest.raises(InputError):
        wordtide.count(source, output=tmp_path / "there", scheduler=scheduler)
    wordtide.count(source, output=tmp_path / "here", skip_bad=True, numbers="keep")
    wordtide.count(source, output=tmp_path / "there", scheduler=scheduler, skip_bad=True, numbers="keep")
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")
    assert "earlier run" not in capfd.readouterr().err


@pytest.fixture
def place(scheduler, monkeypatch):
    """The folder in which the workers of this cluster wait for a signal."""
    place = Path(os.environ["SLOW_PLACE"])
    prepare(place)
    monkeypatch.setattr(sharding, "_SMALLEST", 1)
    return place


def test_another_worker_replaces_a_killed_one_and_only_its_shard_is_read_again(place, scheduler):
    options = {"output": place / "there", "tokenizer": TOKENIZER, "scheduler": scheduler}
    job = threading.Thread(target=wordtide.count, args=(place / "texts",), kwargs=options)
    job.start()
    try:
        wait_for((place / "waiting").exists)
        wait_for(lambda: len(finished_scans(place)) == len(TEXTS) - 1)
        killed = int((place / "waiting").read_text())
        os.kill(killed, signal.SIGKILL)
    finally:
        (place / "go").touch()
        job.join(timeout=100)
    assert files_of(place / "there") == files_of(place / "here")
    readers = readers_of(place)
    assert readers["wait"][0] == killed
    assert len(readers["wait"]) == 2
    assert readers["wait"][1] != killed
    assert [len(readers[name]) for name in TEXTS if name != "wait"] == [1, 1, 1, 1]
