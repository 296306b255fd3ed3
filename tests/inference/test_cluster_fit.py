"""Fits on a Dask cluster have the bits of a fit in one process, even if a worker is killed."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from observers import StepObserver

import wordtide
from wordtide.inference.natural.prepared_slice import row_parts
from wordtide.inference.problem import problem_of

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

STEMS = [a + b + c for a in "bdfgklmnprst" for b in ("ar", "el", "in", "om", "us") for c in "adegiklmnoprstu"]
METHODS, CONTEXTS = ("smoothing", "filtering"), ("separate", "tied")
FEW = {"dim": 8, "threads": 1, "max_steps": 5, "tolerance": 0.0, "negative_contexts": 40}


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """Four slices that are large enough for a filter to share out the rows of each."""
    folder = tmp_path_factory.mktemp("counted") / "counts"
    texts = []
    for year in range(4):
        rng = np.random.default_rng(year)
        words = rng.choice(STEMS, 750, replace=False)
        texts.append((str(1900 + 5 * year), " ".join(rng.choice(words, 12_000))))
    counted = wordtide.count(texts, workers=1)
    assert all(len(row_parts(part.indptr)) > 1 for part in problem_of(counted).slices)
    counted.save(folder)
    return folder


@pytest.fixture(scope="module")
def plain(counts, tmp_path_factory):
    """The contents of fits in one process, by method and contexts."""
    place = tmp_path_factory.mktemp("plain")
    return {
        way: contents(fit(counts, place / "-".join(way), *way))
        for way in [(method, contexts) for method in METHODS for contexts in CONTEXTS]
    }


def fit(counts, output, method, contexts, **options):
    return wordtide.fit(counts, output=output, method=method, contexts=contexts, **options, **FEW)


def contents(model):
    """The bytes of all files of a model but the curve, which holds seconds, and what the header says."""
    files = {path.name: path.read_bytes() for path in model.path.iterdir() if path.name != "curve.csv"}
    header = json.loads(files.pop("header.json"))
    del header["files"]["curve.csv"]
    return {**files, "header": header}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("contexts", CONTEXTS)
def test_a_fit_on_a_cluster_has_the_bits_of_a_plain_one(counts, plain, tmp_path, method, contexts):
    model = fit(counts, tmp_path / "model", method, contexts, scheduler="local:2")
    assert contents(model) == plain[method, contexts]
    assert os.listdir(tmp_path) == ["model"]


def workers():
    """The processes of workers that this process has started, by their ids."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes()
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue  # it has ended meanwhile
        if parent == os.getpid() and b"spawn_main" in line:
            found.append(int(path.name))
    return found


class KillsOne(StepObserver):
    """Kills a worker after the second step of smoothing."""

    def __init__(self):
        self.killed = None

    def stepped(self, done, status):
        if self.stage_name == "smoothing" and done == 2 and self.killed is None:
            self.killed = workers()[0]
            os.kill(self.killed, signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("contexts", CONTEXTS)
def test_a_fit_survives_a_killed_worker(counts, plain, tmp_path, contexts):
    observer = KillsOne()
    options = {"scheduler": "local:2", "observer": observer}
    model = fit(counts, tmp_path / "model", "smoothing", contexts, **options)
    assert observer.killed is not None
    assert contents(model) == plain["smoothing", contexts]
