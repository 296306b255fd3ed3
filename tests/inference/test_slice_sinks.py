"""A filter that writes to a folder keeps one slice in memory, and its checkpoints do not grow."""

import tracemalloc

import numpy as np
import pytest
from observers import StepObserver

import wordtide
from wordtide.inference.problem import problem_of

WORDS = [
    a + b + c
    for a in ("ri", "mi", "ro", "ki", "la")
    for b in ("ver", "ll", "ad", "ng", "w")
    for c in "abcdef"
]
FILTER = {"method": "filtering", "threads": 1, "max_steps": 1, "negative_contexts": 8}


def text(year, words=WORDS):
    return " ".join(np.random.default_rng(year).choice(words, 400))


def counted(slices):
    return wordtide.count([(str(1900 + t), text(t)) for t in range(slices)], workers=1)


def peak_of_fit(place, slices, dim=128):
    """The most memory that arrays and objects of a fit took at once, beside the counts."""
    counts = counted(slices)
    tracemalloc.start()
    try:
        wordtide.fit(counts, output=place / f"model{slices}", dim=dim, **FILTER)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_ten_times_as_many_slices_take_no_more_memory(tmp_path):
    # The first use imports and compiles code, which does not count.
    wordtide.fit(counted(5), output=tmp_path / "first", dim=8, **FILTER)
    short, long = peak_of_fit(tmp_path, 9), peak_of_fit(tmp_path, 90)
    states = sum(path.stat().st_size for path in (tmp_path / "model90").glob("slice-*"))
    assert states > 2 * short  # so that a fit that kept them would be found out
    assert long < 1.3 * short


class Watching(StepObserver):
    """Looks at the checkpoint after each step."""

    def __init__(self, place):
        self.place = place
        self.sizes = {}
        self.links = {}

    def stepped(self, done, status):
        if self.place.exists():
            slices = sorted(self.place.glob("slice-*"))
            self.sizes.setdefault(len(slices), (self.place / "state.safetensors").stat().st_size)
            self.links[len(slices)] = {path.stat().st_nlink for path in slices}


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    place = tmp_path_factory.mktemp("watched")
    watching = Watching(place / "model.checkpoint")
    wordtide.fit(counted(8), output=place / "model", dim=8, checkpoint_every=0, observer=watching, **FILTER)
    return watching


def test_the_state_of_a_checkpoint_does_not_grow_with_the_slices(watched):
    assert watched.sizes[7] < 1.05 * watched.sizes[2]


def test_a_checkpoint_holds_finished_slices_as_second_names_of_their_files(watched):
    assert watched.links[6] == {2}


def test_slices_prepared_on_demand_are_those_prepared_at_once():
    counts = counted(4)
    at_once, on_demand = (problem_of(counts, on_demand=lazy) for lazy in (False, True))
    assert np.array_equal(on_demand.knots.slices, at_once.knots.slices)
    assert np.array_equal(on_demand.knots.starts, at_once.knots.starts)
    for one, other in zip(on_demand.slices, at_once.slices, strict=True):
        assert all(np.array_equal(value, getattr(other, name)) for name, value in vars(one).items())
    assert len(on_demand.slices[1:3]) == 2
