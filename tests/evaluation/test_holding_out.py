"""The slices that are left out, and the counts that remain."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wordtide
from wordtide.errors import SettingsError
from wordtide.evaluation.scores import held_out_slices, without_slices

TEXTS = [
    "the old mill stands by the river",
    "the new mill stands by the road",
    "a road by the old river",
    "a mill by a road",
]


@pytest.fixture(scope="module")
def counts():
    """Four slices; the third and fourth are of one day."""
    dates = ("1900-01-01", "1901-05-01", "1903-01-01", "1903-01-01")
    return wordtide.count(list(zip(dates, [text * 3 for text in TEXTS], strict=True)), every="document")


@given(st.integers(3, 300), st.floats(0.01, 0.5), st.integers(0, 1000))
def test_up_to_half_of_the_slices_no_two_are_adjacent(slices, share, seed):
    assume(round(share * slices) <= (slices - 1) // 2)
    assert (np.diff(held_out_slices(slices, share, seed)) > 1).all()


@given(st.integers(3, 300), st.floats(0.01, 0.6), st.integers(0, 1000))
def test_the_first_and_the_last_slice_stay(slices, share, seed):
    held_out = held_out_slices(slices, min(share, (slices - 2) / slices), seed)
    assert held_out[0] >= 1
    assert held_out[-1] <= slices - 2


def test_the_share_is_rounded_to_slices():
    assert len(held_out_slices(232, 0.1, 0)) == 23


def test_at_least_one_slice_is_left_out():
    assert held_out_slices(3, 0.01, 0) == [1]


def test_a_large_share_leaves_out_adjacent_slices():
    assert held_out_slices(10, 0.8, 0) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_seed_always_gives_the_same_slices():
    assert held_out_slices(100, 0.1, 5) == held_out_slices(100, 0.1, 5)


def test_another_seed_gives_others():
    assert held_out_slices(100, 0.1, 5) != held_out_slices(100, 0.1, 6)


def test_every_slice_but_the_ends_can_be_left_out():
    assert {t for seed in range(60) for t in held_out_slices(9, 0.25, seed)} == set(range(1, 8))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 2.0, float("nan"), "0.1"])
def test_an_invalid_share_is_refused(share):
    with pytest.raises(SettingsError, match="not a share of the slices"):
        held_out_slices(20, share, 0)


def test_a_share_that_leaves_too_little_is_refused():
    with pytest.raises(SettingsError, match="would leave out 9 of 10 slices"):
        held_out_slices(10, 0.9, 0)


@pytest.mark.parametrize("slices", [1, 2])
def test_fewer_than_three_slices_are_refused(slices):
    with pytest.raises(SettingsError, match="needs at least 3"):
        held_out_slices(slices, 0.5, 0)


def test_remaining_counts_are_those_of_the_remaining_slices(counts):
    remaining = without_slices(counts, [1])
    assert [(part != counts[t]).nnz for part, t in zip(remaining, [0, 2, 3], strict=True)] == [0, 0, 0]


def test_remaining_occurrences_are_those_of_the_remaining_slices(counts):
    remaining = without_slices(counts, [0, 2])
    assert np.array_equal(
        [remaining.unigrams(0), remaining.unigrams(1)], [counts.unigrams(1), counts.unigrams(3)]
    )


def test_words_keep_their_numbers(counts):
    assert without_slices(counts, [1, 2]).words == counts.words


def test_slices_of_one_day_keep_the_moments_they_had_among_all(counts):
    assert without_slices(counts, [2]).times.tolist() == counts.times[[0, 1, 3]].tolist()


def test_labels_stay_with_their_slices(counts):
    assert without_slices(counts, [2]).labels == [counts.labels[t] for t in (0, 1, 3)]


def test_counts_that_remain_can_be_saved_and_read(counts, tmp_path):
    without_slices(counts, [1]).save(tmp_path / "counts")
    assert len(wordtide.Counts.load(tmp_path / "counts", check=True)) == 3
