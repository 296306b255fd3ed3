"""The smoother pass on knots equals dense algebra on all slices, by one thread or several."""

import numpy as np
import pytest
from oracles import model as dense
from oracles import natural

from wordtide.inference.compute import compute
from wordtide.inference.natural.prepared_slice import Gradient
from wordtide.inference.scale.word_blocks import WordBlock
from wordtide.model.knots import Knots
from wordtide.model.prior import PRIORS, ProductPrior

TIMES = np.array([1800.0, 1801.0, 1801.5, 1805.0, 1806.0, 1813.0])
#: The slices of each word: always there, with gaps, once, never, late, at both ends.
SLICES = [[0, 1, 2, 3, 4, 5], [0, 3, 4], [2], [], [4, 5], [0, 5]]
KNOTS = Knots(np.cumsum([0, *map(len, SLICES)]), np.concatenate(SLICES).astype(np.int32))
DIFFUSIONS = [
    prior(TIMES, *numbers) for prior in PRIORS.values() for numbers in ((0.05, 1.3), (1e-4, 1.0), (3.0, 0.4))
]
DIM = 2
FAR = 1e6  # a cap that nothing reaches


@pytest.fixture(params=[(1, 1), (3, 1), (1, 2), (3, 2)], ids=["tied", "tied, threads", "separate", "threads"])
def make(request):
    """Makes blocks of one or two sides, with what was drawn for each of them."""
    threads, sides = request.param

    def made(diffusion):
        block = WordBlock(KNOTS, diffusion, sides, DIM, computing)
        for seed, side in enumerate(block.sides):
            side.mean[:], side.h[:], side.b[:] = drawn(seed)
        return block

    with compute("float64", threads) as computing:
        yield made


def drawn(seed=0):
    """Means, precisions and right-hand sides at the knots; some knots have no precision at all."""
    rng = np.random.default_rng(seed)
    h = rng.gamma(0.5, 20.0, (len(KNOTS), DIM)) * (rng.random((len(KNOTS), DIM)) < 0.8)
    mean, b = rng.standard_normal((2, len(KNOTS), DIM))
    return mean, h, 5 * b


def smoothed(block):
    """Move all the way, without a cap: means and variances are then the smoother's."""
    block.move(1.0, FAR)
    return block


def each_trajectory():
    """Slices and rows of every word, and coordinate."""
    for word, slices in enumerate(SLICES):
        for k in range(DIM):
            yield slices, KNOTS.rows_of(word), k


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_smoothed_means_and_variances_are_those_of_the_dense_inverse(make, diffusion):
    for seed, side in enumerate(smoothed(make(diffusion)).sides):
        _, h, b = drawn(seed)
        for slices, rows, k in each_trajectory():
            mean, covariance = natural.chain_posterior(diffusion, slices, h[rows, k], b[rows, k])
            np.testing.assert_allclose(side.mean[rows, k], mean[slices], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(side.variance[rows, k], np.diag(covariance)[slices], rtol=1e-9)


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_without_data_the_smoother_returns_the_prior(make, diffusion):
    block = make(diffusion)
    for side in block.sides:
        side.h[:] = side.b[:] = 0.0
    prior = np.diag(natural.prior_covariance(diffusion))[KNOTS.slices]
    for side in smoothed(block).sides:
        np.testing.assert_allclose(side.variance, np.repeat(prior[:, None], DIM, axis=1), rtol=1e-9)
        assert (side.mean == 0.0).all()


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_divergences_are_the_dense_ones_over_all_slices(make, diffusion):
    """Between knots q is the prior given the knots, so slices where a word is absent add nothing."""
    block = smoothed(make(diffusion))
    prior = natural.prior_covariance(diffusion)
    expected = np.zeros((len(block.sides), len(SLICES)))
    for number, side in enumerate(block.sides):
        for word, slices in enumerate(SLICES):
            rows = KNOTS.rows_of(word)
            for k in range(DIM):
                mean = np.zeros(len(TIMES))
                if slices:
                    mean = prior[:, slices] @ np.linalg.solve(
                        prior[np.ix_(slices, slices)], side.mean[rows, k]
                    )
                nothing = np.zeros(len(slices))
                _, covariance = natural.chain_posterior(diffusion, slices, side.h[rows, k], nothing)
                expected[number, word] += dense.gaussian_kl(mean, covariance, np.zeros(len(TIMES)), prior)
    np.testing.assert_allclose(block.divergences(), expected.reshape(-1), rtol=1e-9, atol=1e-9)


def test_divergence_of_many_precise_knots_does_not_overflow():
    diffusion = ProductPrior(np.arange(40.0), 0.5, 1.0)
    knots = Knots(np.array([0, 40]), np.arange(40, dtype=np.int32))
    with compute("float64", 1) as computing:
        block = WordBlock(knots, diffusion, 1, 1, computing)
        side = block.sides[0]
        side.h[:] = 1e30  # det(Pi + diag h) is about 1e1200, beyond any floating-point number
        side.variance[:] = 1 / side.h
        found = block.divergences().sum()
    precision = np.diag(side.h[:, 0]) + dense.prior_precision(diffusion.times, 0.5, 1.0)
    log_determinants = (
        np.linalg.slogdet(precision)[1] + np.linalg.slogdet(natural.prior_covariance(diffusion))[1]
    )
    assert found == pytest.approx(0.5 * (log_determinants - 40), rel=1e-9)


@pytest.mark.parametrize("other", [1.0, 0.2, 5.0])
@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_leaving_out_a_knot_gives_the_dense_posterior_given_the_others(make, diffusion, other):
    """The messages are those under one prior; a prior with another constant combines them."""
    block, combined = make(diffusion), diffusion.with_constant(other * diffusion.constant)
    before = [(side.mean.copy(), side.h.copy()) for side in smoothed(block).sides]
    block.leave_out(combined)
    for side, (mean, h) in zip(block.sides, before, strict=True):
        for slices, rows, k in each_trajectory():
            prior = natural.prior_covariance(diffusion)[np.ix_(slices, slices)]
            messages = (np.linalg.inv(prior) + np.diag(h[rows, k])) @ mean[rows, k]
            for place in range(len(slices)):
                rest = np.arange(len(slices)) != place
                others = [slices[n] for n in np.flatnonzero(rest)]
                posterior = natural.chain_posterior(combined, others, h[rows, k][rest], messages[rest])
                row, t = rows.start + place, slices[place]
                assert side.b[row, k] == pytest.approx(posterior[0][t], rel=1e-6, abs=1e-8)
                assert side.variance[row, k] == pytest.approx(posterior[1][t, t], rel=1e-7)


def test_variances_come_back_after_leaving_out(make):
    block = smoothed(make(DIFFUSIONS[0]))
    before = [side.variance.copy() for side in block.sides]
    block.leave_out(DIFFUSIONS[0])
    assert not any(np.array_equal(side.variance, old) for side, old in zip(block.sides, before, strict=True))
    block.restore_variances()
    for side, old in zip(block.sides, before, strict=True):
        np.testing.assert_allclose(side.variance, old, rtol=1e-12)


def test_a_slice_is_observed_by_a_running_mean_of_its_precision(make):
    block, rate, t = make(DIFFUSIONS[0]), 0.3, 4
    rows, rng = block.rows[t], np.random.default_rng(8)
    gradients = [Gradient(*rng.random((2, len(rows), DIM))) for _ in block.sides]
    before = [[array.copy() for array in (side.h, side.b)] for side in block.sides]
    assert block.observe(t, gradients, rate)
    for side, gradient, (h, b) in zip(block.sides, gradients, before, strict=True):
        h[rows] = 0.7 * h[rows] + 0.3 * gradient.h
        b[rows] = gradient.g + h[rows] * side.mean[rows]
        np.testing.assert_allclose(side.h, h, rtol=1e-12)
        np.testing.assert_allclose(side.b, b, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_is_not_finite_is_found(make, bad):
    block, t = make(DIFFUSIONS[0]), 5
    gradients = [Gradient(*np.ones((2, len(block.rows[t]), DIM))) for _ in block.sides]
    gradients[-1].g[-1, -1] = bad
    assert not block.observe(t, gradients, 0.5)


def test_a_step_covers_the_given_fraction_of_the_distance(make):
    block, target = make(DIFFUSIONS[0]), smoothed(make(DIFFUSIONS[0]))
    block.move(0.3, FAR)
    for seed, (side, end) in enumerate(zip(block.sides, target.sides, strict=True)):
        before = drawn(seed)[0]
        np.testing.assert_allclose(side.mean, before + 0.3 * (end.mean - before), rtol=1e-12, atol=1e-12)


def test_a_word_whose_step_is_too_long_at_one_knot_is_slowed_as_a_whole(make):
    cap, rate = 0.7, 0.5
    block, target = make(DIFFUSIONS[0]), smoothed(make(DIFFUSIONS[0]))
    block.move(rate, cap)
    for seed, (side, end) in enumerate(zip(block.sides, target.sides, strict=True)):
        before = drawn(seed)[0]
        for word in range(len(SLICES)):
            rows = KNOTS.rows_of(word)
            step = (end.mean - before)[rows]
            longest = np.linalg.norm(step, axis=1).max(initial=0.0)
            shrink = min(1.0, cap / longest) if longest else 1.0
            moved = side.mean[rows] - before[rows]
            np.testing.assert_allclose(moved, rate * shrink * step, rtol=1e-9, atol=1e-12)


def test_steps_within_the_trust_region_are_not_shortened(make):
    block, target = make(DIFFUSIONS[0]), smoothed(make(DIFFUSIONS[0]))
    for side, end in zip(block.sides, target.sides, strict=True):
        side.mean[:] = end.mean + 0.01
    block.move(1.0, 0.1)
    for side, end in zip(block.sides, target.sides, strict=True):
        np.testing.assert_allclose(side.mean, end.mean, rtol=1e-12, atol=1e-12)


def test_a_new_diffusion_is_used_from_then_on(make):
    block = make(DIFFUSIONS[0])
    block.set_diffusion(DIFFUSIONS[2])
    for side, other in zip(smoothed(block).sides, smoothed(make(DIFFUSIONS[2])).sides, strict=True):
        assert np.array_equal(side.mean, other.mean)


def test_single_and_double_precision_differ_by_rounding():
    found = {}
    for precision in ("float32", "float64"):
        with compute(precision, 1) as computing:
            block = WordBlock(KNOTS, DIFFUSIONS[0], 1, DIM, computing)
            block.sides[0].mean[:], block.sides[0].h[:], block.sides[0].b[:] = drawn()
            found[precision] = smoothed(block).sides[0]
            assert found[precision].mean.dtype == np.dtype(precision)
    np.testing.assert_allclose(found["float32"].mean, found["float64"].mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found["float32"].variance, found["float64"].variance, rtol=1e-5)


def test_a_block_begins_with_static_vectors_and_the_variance_of_the_prior(make):
    block = make(DIFFUSIONS[0])
    start = np.random.default_rng(2).standard_normal((len(block.sides), len(SLICES), DIM))
    block.begin(start)
    for side, standing in zip(block.sides, start, strict=True):
        assert np.array_equal(side.mean, standing[KNOTS.words])
        assert np.array_equal(side.variance, np.repeat(DIFFUSIONS[0].marginal[KNOTS.slices][:, None], DIM, 1))
        assert (side.h == 0.0).all()
