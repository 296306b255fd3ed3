"""Sampled negatives: samples of a fixed size in which heavy items are certain, and gradients that are right on average."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import model as dense
from scipy import sparse

from wordtide.inference.compute import compute
from wordtide.inference.natural.dense_pairs import Vectors
from wordtide.inference.natural.expectations import PreparedSlice
from wordtide.inference.natural.negatives import WeightedSampler
from wordtide.inference.problem import slice_data

SIZE, DIM = 12, 2


class Offset:
    """A generator whose one draw is known."""

    def __init__(self, offset):
        self.offset = offset

    def random(self):
        return self.offset


weights_and_size = st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=40).flatmap(
    lambda weights: st.tuples(st.just(np.array(weights)), st.integers(1, len(weights) - 1))
)


@given(weights_and_size, st.integers(0, 1000))
def test_a_sample_has_exactly_the_size_asked_for(case, seed):
    weights, size = case
    drawn, _ = WeightedSampler(weights, size).draw(np.random.default_rng(seed))
    assert len(drawn) == size


@given(weights_and_size, st.integers(0, 1000))
def test_no_item_is_drawn_twice(case, seed):
    weights, size = case
    drawn, _ = WeightedSampler(weights, size).draw(np.random.default_rng(seed))
    assert len(set(drawn)) == len(drawn)


@given(weights_and_size, st.integers(0, 1000))
def test_a_sample_weighs_as_much_as_all_items(case, seed):
    weights, size = case
    _, weight = WeightedSampler(weights, size).draw(np.random.default_rng(seed))
    assert weight.sum() == pytest.approx(weights.sum(), rel=1e-9)


def test_a_sample_as_large_as_all_items_is_all_of_them():
    weights = np.array([0.2, 0.5, 0.3])
    for size in (3, 4):
        drawn, weight = WeightedSampler(weights, size).draw(np.random.default_rng(0))
        assert drawn.tolist() == [0, 1, 2]
        assert weight.tolist() == [0.2, 0.5, 0.3]


@pytest.mark.parametrize("offset", [0.0, 0.3, 0.999])
def test_heavy_items_are_always_there_with_their_own_weight(offset):
    weights = np.array(
        [0.02, 0.5, 0.01, 0.03, 0.3, 0.04, 0.06, 0.04]
    )  # items 1 and 4 outweigh their share of 1 / 4
    drawn, weight = WeightedSampler(weights, 4).draw(Offset(offset))
    sampled = dict(zip(drawn.tolist(), weight.tolist(), strict=True))
    assert sampled[1] == 0.5
    assert sampled[4] == 0.3


def test_light_items_share_what_heavy_ones_leave():
    weights = np.array([0.02, 0.5, 0.01, 0.03, 0.3, 0.04, 0.06, 0.04])
    drawn, weight = WeightedSampler(weights, 4).draw(np.random.default_rng(0))
    assert weight[~np.isin(drawn, [1, 4])] == pytest.approx(
        [0.1, 0.1]
    )  # 0.2 over the two places that are left


def test_each_item_weighs_on_average_what_it_weighs():
    weights = np.random.default_rng(2).gamma(0.5, size=30)
    total, offsets = np.zeros(30), 20000
    for offset in (
        np.arange(offsets) + 0.5
    ) / offsets:  # the only randomness is one offset: this is its whole average
        drawn, weight = WeightedSampler(weights, 7).draw(Offset(offset))
        total[drawn] += weight
    # The share of a grid's points in an interval is off by at most one point.
    np.testing.assert_allclose(total / offsets, weights, atol=weights.sum() / offsets)


@pytest.fixture
def case():
    """A slice, its state, and the exact gradients (2, 2, a, d)."""
    counts = dense.random_counts(np.random.default_rng(4), SIZE, list(range(SIZE)))
    part = slice_data(sparse.csr_array(counts), 1.0, 0.75)
    rng = np.random.default_rng(5)
    u, v = (
        Vectors(
            torch.as_tensor(rng.standard_normal((SIZE, DIM))),
            torch.as_tensor(rng.uniform(0.1, 0.5, (SIZE, DIM))),
        )
        for _ in range(2)
    )
    with compute("cpu", "float64", 1) as computing:
        yield part, u, v, computing


def gradients(slice, u, v, seed):
    return np.array(
        [(part.g.numpy(), part.h.numpy()) for part in slice.gradients(u, v, np.random.default_rng(seed))]
    )


def test_sampled_gradients_are_exact_on_average(case):
    part, u, v, computing = case
    exact = gradients(PreparedSlice(part, computing, None), u, v, 0)
    slice = PreparedSlice(part, computing, 5)
    draws = np.array([gradients(slice, u, v, seed) for seed in range(800)])
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (error > 0).any()
    assert (
        np.abs(draws.mean(axis=0) - exact) <= 4.5 * error + 1e-12
    ).all()  # 96 numbers, all within 4.5 errors


def test_the_sampled_likelihood_is_exact_on_average(case):
    part, u, v, computing = case
    exact = PreparedSlice(part, computing, None).expected_log_likelihood(u, v, np.random.default_rng(0))
    slice = PreparedSlice(part, computing, 5)
    draws = np.array(
        [slice.expected_log_likelihood(u, v, np.random.default_rng(seed)) for seed in range(500)]
    )
    assert draws.mean() == pytest.approx(exact, abs=4 * draws.std(ddof=1) / np.sqrt(len(draws)))


def test_as_many_contexts_as_words_are_the_exact_sum(case):
    part, u, v, computing = case
    exact, full = (gradients(PreparedSlice(part, computing, contexts), u, v, 0) for contexts in (None, SIZE))
    assert np.array_equal(exact, full)


def test_the_same_generator_draws_the_same_contexts(case):
    part, u, v, computing = case
    slice = PreparedSlice(part, computing, 5)
    assert np.array_equal(gradients(slice, u, v, 3), gradients(slice, u, v, 3))
    assert not np.array_equal(gradients(slice, u, v, 3), gradients(slice, u, v, 4))
