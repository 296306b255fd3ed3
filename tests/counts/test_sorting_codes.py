"""Codes are sorted by their key bits as NumPy sorts them, and runs of equal keys are added up exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtide.counts.pairs import sort_codes, sum_runs


@pytest.mark.parametrize("size", [0, 1, 2047, 2048, 5000, 100_000])
@pytest.mark.parametrize(
    ("dtype", "low_bit", "high_bit"),
    [(np.uint32, 2, 30), (np.uint32, 0, 32), (np.uint64, 28, 64), (np.uint64, 8, 9), (np.uint64, 0, 64)],
)
def test_codes_are_sorted_by_the_chosen_bits(size, dtype, low_bit, high_bit):
    rng = np.random.default_rng(size)
    largest = np.uint64((1 << high_bit) - 1)
    codes = (rng.integers(0, 1 << 64, size, dtype=np.uint64) & largest).astype(dtype)
    expected = np.sort(codes >> dtype(low_bit), kind="stable")
    ordered, other = sort_codes(codes.copy(), np.empty_like(codes), low_bit, high_bit)
    assert np.array_equal(ordered >> dtype(low_bit), expected)
    assert np.array_equal(np.sort(ordered), np.sort(codes))  # none lost, none twice
    assert not np.shares_memory(ordered, other)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 4)), min_size=1, max_size=200))
def test_the_weights_of_equal_pairs_are_added(pairs):
    codes = np.array([pair << 2 | weight - 1 for pair, weight in pairs], dtype=np.uint32)
    ordered, other = sort_codes(codes, np.empty_like(codes), 2, 8)
    found = sum_runs(ordered, 2, ordered, other)
    totals = {}
    for pair, weight in pairs:
        totals[pair] = totals.get(pair, 0) + weight
    assert list(zip(ordered[:found].tolist(), other[:found].tolist(), strict=True)) == sorted(totals.items())
