"""Sampled negatives: samples of a fixed size that contain all heavy items, and unbiased gradients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import model as dense
from scipy import sparse

from wordtide.inference.compute import compute
from wordtide.inference.natural.negatives import AUTO, NegativePairs, WeightedSampler, sample_size_for
from wordtide.inference.natural.prepared_slice import PreparedSlice
from wordtide.inference.problem import PairSettings, slice_data
from wordtide.model.likelihood import GaussianVectors

SIZE, DIM = 12, 2
SIGNS = np.array([1.0, -1.0])
#: Items 1 and 4 outweigh their share of 1 / 4 in a sample of four.
EIGHT_WEIGHTS = np.array([0.02, 0.5, 0.01, 0.03, 0.3, 0.04, 0.06, 0.04])


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
    drawn, probability = WeightedSampler(weights, size).draw(np.random.default_rng(seed))
    assert (weights[drawn] / probability).sum() == pytest.approx(weights.sum(), rel=1e-9)


def test_a_sample_as_large_as_all_items_is_all_of_them():
    weights = np.array([0.2, 0.5, 0.3])
    for size in (3, 4):
        drawn, probability = WeightedSampler(weights, size).draw(np.random.default_rng(0))
        assert drawn.tolist() == [0, 1, 2]
        assert probability.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("offset", [0.0, 0.3, 0.999])
def test_heavy_items_are_always_drawn(offset):
    drawn, probability = WeightedSampler(EIGHT_WEIGHTS, 4).draw(Offset(offset))
    sampled = dict(zip(drawn.tolist(), probability.tolist(), strict=True))
    assert sampled[1] == sampled[4] == 1.0


def test_light_items_share_the_remaining_weight():
    drawn, probability = WeightedSampler(EIGHT_WEIGHTS, 4).draw(np.random.default_rng(0))
    light = ~np.isin(drawn, [1, 4])
    # a total weight of 0.2 for the two remaining items
    assert EIGHT_WEIGHTS[drawn][light] / probability[light] == pytest.approx([0.1, 0.1])


def test_the_expected_weight_of_each_item_is_its_own():
    weights = np.random.default_rng(2).gamma(0.5, size=30)
    total, offsets = np.zeros(30), 20000
    # The only randomness is one offset, so a grid of offsets gives the expectation.
    for offset in (np.arange(offsets) + 0.5) / offsets:
        drawn, probability = WeightedSampler(weights, 7).draw(Offset(offset))
        total[drawn] += weights[drawn] / probability
    # The share of a grid's points in an interval is off by at most one point.
    np.testing.assert_allclose(total / offsets, weights, atol=weights.sum() / offsets)


@pytest.mark.parametrize(
    ("words", "pairs", "wanted", "size"),
    [
        (1000, 0, None, None),  # exact
        (1000, 0, 50, 50),
        (50, 0, 50, None),  # as many as there are words
        (1000, 0, AUTO, 32),
        (1000, 100_000, AUTO, 100),  # one for each partner of a word
        (30, 0, AUTO, None),
        (1000, 1_000_000, AUTO, None),
    ],
)
def test_the_size_of_a_sample_suits_the_slice(words, pairs, wanted, size):
    assert sample_size_for(words, pairs, wanted) == size


@pytest.fixture(params=["separate", "tied"])
def case(request):
    """Makes prepared slices with samples of some size, and has the vectors at which they are computed."""
    signs = SIGNS if request.param == "tied" else None
    counts = dense.random_counts(np.random.default_rng(4), SIZE, list(range(SIZE)))
    part = slice_data(sparse.csr_array(counts), PairSettings(1.0, 0.75, signs is not None))
    rng = np.random.default_rng(5)
    sides = [
        GaussianVectors(rng.standard_normal((SIZE, DIM)), rng.uniform(0.1, 0.5, (SIZE, DIM)))
        for _ in range(2 if signs is None else 1)
    ]
    with compute("float64", 1) as computing:
        yield lambda size: PreparedSlice(part, computing, size, signs), sides


def gradients(slice, sides, *seed):
    """g and h of each side, (sides, 2, a, d)."""
    return np.array([(side.g, side.h) for side in slice.gradients(sides, seed)])


def test_sampled_gradients_are_exact_on_average(case):
    prepare, sides = case
    exact, slice = gradients(prepare(None), sides, 0), prepare(5)
    draws = np.array([gradients(slice, sides, seed) for seed in range(800)])
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (error > 0).any()
    # 48 or 96 numbers, all within 4.5 errors
    assert (np.abs(draws.mean(axis=0) - exact) <= 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("name", ["expected_log_likelihood", "predictive_log_likelihood"])
def test_the_sampled_likelihood_is_exact_on_average(case, name):
    prepare, sides = case
    exact, slice = getattr(prepare(None), name)(sides, [0]), prepare(5)
    draws = np.array([getattr(slice, name)(sides, [seed]) for seed in range(500)])
    assert draws.mean() == pytest.approx(exact, abs=4 * draws.std(ddof=1) / np.sqrt(len(draws)))


def test_as_many_columns_as_words_are_the_exact_sum(case):
    prepare, sides = case
    assert np.array_equal(gradients(prepare(None), sides, 0), gradients(prepare(SIZE), sides, 0))


def test_the_same_seed_draws_the_same_columns(case):
    prepare, sides = case
    slice = prepare(5)
    assert np.array_equal(gradients(slice, sides, 3, 1), gradients(slice, sides, 3, 1))
    assert not np.array_equal(gradients(slice, sides, 3, 1), gradients(slice, sides, 3, 2))


def test_the_expansion_leaves_less_noise_than_plain_sampling(case, monkeypatch):
    """Scores near zero, as most negative pairs have: the sampled remainder is of third order."""
    prepare, sides = case
    sides = [GaussianVectors(0.4 * side.mean, 0.1 * side.variance) for side in sides]

    def noise():
        slice = prepare(5)
        draws = np.array([gradients(slice, sides, seed)[:, 0] for seed in range(200)])
        return np.sqrt(draws.var(axis=0).mean())

    expanded = noise()
    monkeypatch.setattr(NegativePairs, "_expansion", lambda *_: None)
    whole = NegativePairs.with_columns

    def plain(*arguments):
        sums = whole(*arguments)
        sums.columns[2] = 0.0
        return sums

    monkeypatch.setattr(NegativePairs, "with_columns", plain)
    assert expanded < 0.5 * noise()


@pytest.mark.parametrize("threads", [1, 2])
def test_invalid_operations_give_no_warnings_inside_fits_because_blas_raises_false_ones(threads):
    def undefined(number):
        return np.full(number, np.inf) - np.inf

    with compute(threads=threads) as resources:
        found = resources.map(undefined, [1, 2, 3])
        assert [np.isnan(one).sum() for one in found] == [1, 2, 3]
    with pytest.warns(RuntimeWarning, match="invalid value"):
        undefined(1)
