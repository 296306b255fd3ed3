"""The estimated memory of a fit, and the error for one that is too large."""

from dataclasses import replace

import numpy as np
import pytest

import wordtide
from wordtide.errors import SettingsError
from wordtide.inference import memory
from wordtide.inference.compute import compute
from wordtide.inference.memory import available_bytes, check_memory, estimate_memory, gigabytes
from wordtide.inference.problem import problem_of
from wordtide.inference.settings import FitSettings

WORDS = [f"word{number}" for number in range(60)]
WAYS = {
    "smoothing": FitSettings(dim=100, contexts="separate"),
    "filtering": FitSettings(method="filtering", dim=100, contexts="separate"),
    "smoothing, tied": FitSettings(dim=100, contexts="tied"),
    "filtering, tied": FitSettings(method="filtering", dim=100, contexts="tied"),
    "independent": FitSettings(method="independent", dim=100),
    "warm-start": FitSettings(method="warm-start", dim=100),
    "smoothing by adam": FitSettings(solver="adam", dim=100, contexts="separate"),
    "filtering by adam": FitSettings(method="filtering", solver="adam", dim=100, contexts="separate"),
}


def count(slices):
    texts = [" ".join(np.random.default_rng(t).choice(WORDS, 500)) for t in range(slices)]
    return wordtide.count([(str(1900 + t), text) for t, text in enumerate(texts)])


@pytest.fixture(scope="module")
def short():
    return problem_of(count(5))


@pytest.fixture(scope="module")
def long():
    return problem_of(count(20))


def estimate(problem, settings, threads=1, precision="float32", **options):
    with compute(precision, threads) as computing:
        return estimate_memory(problem, settings, computing, **options)


def needed(problem, settings, **options):
    return estimate(problem, settings, **options).total


@pytest.mark.parametrize("way", WAYS)
def test_slices_dimensions_and_precision_cost_memory(short, long, way):
    settings = WAYS[way]
    least = needed(short, settings)
    assert needed(long, settings) > least
    assert needed(short, replace(settings, dim=200)) > least
    assert needed(short, settings, precision="float64") > least


@pytest.mark.parametrize("way", WAYS)
def test_the_states_of_the_model_are_included(long, way):
    """Mean and variance of each vector at all knots: of words and contexts, or of both if they are tied."""
    vectors = 1 if WAYS[way].contexts == "tied" else 2
    assert estimate(long, WAYS[way]).states >= 2 * vectors * len(long.knots) * 100 * 4


@pytest.mark.parametrize("way", ["smoothing", "filtering"])
def test_tied_contexts_need_half_the_memory_of_separate_ones_for_their_states(long, way):
    assert 2 * estimate(long, WAYS[f"{way}, tied"]).states == estimate(long, WAYS[way]).states


def test_more_threads_of_smoothing_need_more_memory(short):
    assert needed(short, WAYS["smoothing"], threads=64) > needed(short, WAYS["smoothing"])


@pytest.mark.parametrize(
    "way", ["filtering", "filtering, tied", "filtering by adam", "smoothing", "smoothing, tied"]
)
def test_states_on_disk_need_less_memory(long, way):
    in_memory, on_disk = (estimate(long, WAYS[way], on_disk=disk) for disk in (False, True))
    assert on_disk.states < in_memory.states / 2
    assert on_disk.pairs < in_memory.pairs


@pytest.mark.parametrize("way", ["filtering", "filtering by adam"])
def test_a_filter_on_disk_grows_with_the_slices_by_little_more_than_an_index(short, long, way):
    """The arrays of a slice of 60 words take 24 kB each, and there are 15 more slices."""
    least, most = (estimate(problem, WAYS[way], on_disk=True).states for problem in (short, long))
    assert most - least < 15 * 60 * 100


def test_pairs_that_are_counted_beforehand_give_the_same_estimate(short):
    stored = [len(part.values) for part in short.slices]
    for settings in WAYS.values():
        assert needed(short, settings, stored=stored) == needed(short, settings)


def test_memory_grows_with_the_knots_and_not_with_the_vocabulary(long):
    settings = WAYS["filtering"]
    with_absent_words = type(long)(
        [*long.words, *(f"rare{n}" for n in range(10_000))], long.times, long.labels, long.slices
    )
    assert needed(with_absent_words, settings) == needed(long, settings)


def test_the_available_memory_is_plausible():
    """Nothing that runs tests has less than 64 MB or more than 64 TB."""
    assert 64 << 20 < available_bytes() < 64 << 40


@pytest.mark.parametrize(("available", "wanted"), [(1000, 1000), (None, 1 << 60)])
def test_a_fit_that_is_not_known_to_be_too_large_is_accepted(monkeypatch, available, wanted):
    monkeypatch.setattr(memory, "available_bytes", lambda: available)
    check_memory(wanted, FitSettings())


def test_a_fit_that_is_too_large_is_refused_with_both_figures(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_500_000_000)
    with pytest.raises(SettingsError, match=r"about 2\.0 GB of memory, and 1\.5 GB are free"):
        check_memory(2_000_000_000, FitSettings())


def remedy_for(monkeypatch, settings, offloaded=False):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1)
    with pytest.raises(SettingsError) as caught:
        check_memory(2, settings, offloaded)
    return caught.value.remedy


def test_the_memory_error_of_smoothing_suggests_remedies(monkeypatch):
    remedy = remedy_for(monkeypatch, WAYS["smoothing"])
    for way in ("--offload", "--method filtering", "--dim", "--every", "vocabulary"):
        assert way in remedy
    assert "--offload" not in remedy_for(monkeypatch, WAYS["smoothing"], offloaded=True)
    assert "--offload" not in remedy_for(monkeypatch, WAYS["smoothing by adam"])


def test_the_memory_error_of_filtering_does_not_suggest_filtering(monkeypatch):
    assert "filtering" not in remedy_for(monkeypatch, WAYS["filtering"])


def test_a_fit_that_is_too_large_never_begins(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1 << 20)
    with pytest.raises(SettingsError, match="memory"):
        wordtide.fit(count(1), output=tmp_path / "model", dim=5, threads=1)
    assert list(tmp_path.iterdir()) == []


def test_gigabytes_are_shown_with_one_decimal():
    assert gigabytes(1_549_000_000) == "1.5 GB"
