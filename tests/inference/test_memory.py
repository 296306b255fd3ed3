"""What a fit says about memory before it begins."""

import functools

import numpy as np
import pytest

import wordtide
from wordtide.errors import SettingsError
from wordtide.inference import memory
from wordtide.inference.memory import available_bytes, check_memory, gigabytes, needed_bytes
from wordtide.inference.problem import problem_of
from wordtide.inference.settings import FitSettings

WORDS = [f"word{number}" for number in range(60)]
WAYS = [
    FitSettings(method=method, solver=solver, dim=100)
    for method in ("smoothing", "filtering", "independent", "warm-start")
    for solver in ("natural", "adam")
    if solver == "natural" or method in ("smoothing", "filtering")
]


def text(seed, length):
    return " ".join(np.random.default_rng(seed).choice(WORDS, length))


@functools.cache
def problem(slices, length=500):
    return problem_of(wordtide.count([(str(1900 + t), text(t, length)) for t in range(slices)]), 1.0, 0.75)


def shown(settings):
    return f"{settings.method} by {settings.solver}"


@pytest.mark.parametrize("settings", WAYS, ids=shown)
def test_more_slices_need_more_memory(settings):
    assert needed_bytes(problem(20), settings, 1) > needed_bytes(problem(5), settings, 1)


@pytest.mark.parametrize("settings", WAYS, ids=shown)
def test_more_dimensions_need_more_memory(settings):
    wider = FitSettings(method=settings.method, solver=settings.solver, dim=200)
    assert needed_bytes(problem(5), wider, 1) > needed_bytes(problem(5), settings, 1)


@pytest.mark.parametrize("settings", WAYS, ids=shown)
def test_double_precision_needs_more_memory(settings):
    assert needed_bytes(problem(5), settings, 1, item=8) > needed_bytes(problem(5), settings, 1, item=4)


def test_more_threads_of_smoothing_need_more_memory():
    settings = FitSettings(dim=100)
    assert needed_bytes(problem(5), settings, 64) > needed_bytes(problem(5), settings, 1)


def test_memory_grows_with_the_knots_and_not_with_the_vocabulary():
    dense, settings = problem(20), FitSettings(method="filtering", dim=100)
    with_absent_words = type(dense)(
        [*dense.words, *(f"rare{n}" for n in range(10_000))], dense.times, dense.labels, dense.slices
    )
    assert needed_bytes(with_absent_words, settings, 1) == needed_bytes(dense, settings, 1)


def test_the_machine_says_how_much_memory_it_has():
    available = available_bytes()
    assert available is None or available > 1 << 20


def test_a_fit_that_the_memory_suffices_for_is_let_through(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    assert check_memory(1000, FitSettings()) is None


def test_a_machine_that_does_not_say_lets_every_fit_through(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    assert check_memory(1 << 60, FitSettings()) is None


def test_a_fit_that_is_too_large_is_refused_with_both_figures(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_500_000_000)
    with pytest.raises(SettingsError, match=r"about 2\.0 GB of memory, and 1\.5 GB are free"):
        check_memory(2_000_000_000, FitSettings())


@pytest.mark.parametrize("way", ["--method filtering", "--dim", "--every", "vocabulary"])
def test_smoothing_that_is_too_large_is_told_what_to_change(monkeypatch, way):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1)
    with pytest.raises(SettingsError) as caught:
        check_memory(2, FitSettings())
    assert way in caught.value.remedy


def test_filtering_that_is_too_large_is_not_told_to_filter(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1)
    with pytest.raises(SettingsError) as caught:
        check_memory(2, FitSettings(method="filtering"))
    assert "filtering" not in caught.value.remedy


def test_a_fit_that_is_too_large_never_begins(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1 << 20)
    counts = wordtide.count([("1900", text(0, 500))])
    with pytest.raises(SettingsError, match="memory"):
        wordtide.fit(counts, output=tmp_path / "model", dim=5, threads=1)
    assert list(tmp_path.iterdir()) == []


def test_gigabytes_are_shown_with_one_decimal():
    assert gigabytes(1_549_000_000) == "1.5 GB"
