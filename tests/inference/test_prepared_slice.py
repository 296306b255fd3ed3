"""The expected log likelihood of a slice: sums over active words equal those over the whole vocabulary."""

import numpy as np
import pytest
from monte_carlo_elbo import expected_log_likelihood
from oracles import model as dense
from oracles import natural
from oracles.model import negative_matrix
from scipy import sparse

from wordtide.inference.compute import compute
from wordtide.inference.natural import negatives, prepared_slice
from wordtide.inference.natural.prepared_slice import PreparedSlice
from wordtide.inference.problem import PairSettings, slice_data
from wordtide.model.likelihood import ActiveSlice, GaussianVectors, gradients
from wordtide.model.logistic import expected_log_sigmoids, log_expected_sigmoids

SIZE, DIM = 14, 3
ACTIVE = [0, 2, 3, 4, 6, 7, 9, 10, 12, 13]
COUNTS = dense.random_counts(np.random.default_rng(1), SIZE, ACTIVE)
NEGATIVES = dense.negative_counts(COUNTS, ratio=1.5)
SIGNS = np.array([1.0, -1.0, 1.0])
SEED = [0]  # exact sums draw nothing
WAYS = ["separate", "tied"]
#: How far single precision may be from double precision, relative to the largest number.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


@pytest.fixture(params=WAYS)
def tied(request):
    return request.param == "tied"


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def threads(request):
    return request.param


@pytest.fixture
def computing(threads):
    with compute("float64", threads) as opened:
        yield opened


@pytest.fixture
def alone():
    with compute("float64", 1) as opened:
        yield opened


@pytest.fixture
def small_parts(monkeypatch):
    """Cuts even a small slice into parts, so that threads have something to share."""
    monkeypatch.setattr(prepared_slice, "_EFFORT", 40)


def prepared(computing, tied, sample_size=None):
    part = slice_data(sparse.csr_array(COUNTS), PairSettings(1.5, 0.75, tied))
    return PreparedSlice(part, computing, sample_size, SIGNS if tied else None)


def moments(spread=1.0, seed=3):
    """Means and variances of words and contexts of the whole vocabulary, (L, d) each."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((2, SIZE, DIM))
    variances = spread * rng.uniform(0.05, 0.6, (2, SIZE, DIM))
    return means[0], variances[0], means[1], variances[1]


def vectors(arrays, tied, dtype=np.float64):
    """The same on the active words, as the solver holds them: tied contexts have the vectors of words."""
    active = [array[ACTIVE].astype(dtype) for array in arrays]
    return (
        [GaussianVectors(*active[:2])]
        if tied
        else [GaussianVectors(*active[:2]), GaussianVectors(*active[2:])]
    )


def dense_gradients(arrays, tied):
    """g and h of each side on the whole vocabulary, (sides, 2, L, d)."""
    if tied:
        return np.array([natural.tied_gradients(COUNTS, NEGATIVES, *arrays[:2], SIGNS)])
    return np.array(natural.pair_gradients(COUNTS, NEGATIVES, *arrays))


def dense_likelihood(arrays, tied, nodes=8):
    mean_u, variance_u, mean_v, variance_v = arrays
    if not tied:
        u, v = (mean_u, variance_u), (mean_v, variance_v)
        return natural.expected_log_likelihood(COUNTS, NEGATIVES, u, v, nodes)
    pairs = natural.tied_counts(COUNTS, NEGATIVES)
    u, v = (mean_u, variance_u), (mean_u * SIGNS, variance_u)
    return natural.expected_log_likelihood(*(np.triu(part, 1) for part in pairs), u, v, nodes)


def in_vocabulary(found):
    """g and h of active words, placed among zeros for all others, (sides, 2, L, d)."""
    whole = np.zeros((len(found), 2, SIZE, DIM))
    for side, gradient in enumerate(found):
        whole[side][:, ACTIVE] = gradient.g, gradient.h
    return whole


def agree(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("precision", TOLERANCE)
def test_gradients_equal_those_of_the_dense_vocabulary(threads, precision, tied, small_parts):
    with compute(precision, threads) as computing:
        sides = vectors(moments(), tied, precision)
        found = prepared(computing, tied).gradients(sides, SEED)
        agree(in_vocabulary(found), dense_gradients(moments(), tied), TOLERANCE[precision])


def test_absent_words_have_no_gradient_in_the_dense_vocabulary(tied):
    absent = [word for word in range(SIZE) if word not in ACTIVE]
    assert (dense_gradients(moments(), tied)[:, :, absent] == 0.0).all()


def test_a_slice_of_several_parts_has_the_gradients_of_each(alone, tied, small_parts):
    slice = prepared(alone, tied)
    assert len(slice.parts) > 2
    whole = in_vocabulary(slice.gradients(vectors(moments(), tied), SEED))
    for rows in slice.parts:
        words = ACTIVE[rows.start : rows.stop]
        found = in_vocabulary(slice.gradients_of_parts([rows], vectors(moments(), tied), SEED))
        assert np.array_equal(found[:, :, words], whole[:, :, words])


@pytest.mark.parametrize("sample_size", [None, 4])
@pytest.mark.parametrize("precision", TOLERANCE)
def test_threads_do_not_change_a_bit(precision, tied, sample_size, small_parts):
    found = []
    for threads in (1, 2, 5):
        with compute(precision, threads) as computing:
            slice, sides = prepared(computing, tied, sample_size), vectors(moments(), tied, precision)
            values = [getattr(slice, name)(sides, [7]) for name in LIKELIHOODS]
            found.append((in_vocabulary(slice.gradients(sides, [7])).tobytes(), values))
    assert found[0] == found[1] == found[2]


LIKELIHOODS = ("expected_log_likelihood", "predictive_log_likelihood")


def test_blocks_of_rows_change_nothing(computing, tied, monkeypatch):
    slice, sides = prepared(computing, tied), vectors(moments(), tied)
    before, value = in_vocabulary(slice.gradients(sides, SEED)), slice.expected_log_likelihood(sides, SEED)
    monkeypatch.setattr(negatives, "_BLOCK", 3 * len(ACTIVE))
    agree(in_vocabulary(slice.gradients(sides, SEED)), before, 1e-12)
    assert slice.expected_log_likelihood(sides, SEED) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("precision", TOLERANCE)
def test_the_expected_log_likelihood_is_the_dense_one(threads, precision, tied, small_parts):
    with compute(precision, threads) as computing:
        sides = vectors(moments(), tied, precision)
        found = prepared(computing, tied).expected_log_likelihood(sides, SEED)
    assert found == pytest.approx(dense_likelihood(moments(), tied), rel=TOLERANCE[precision])


def test_the_predictive_log_likelihood_is_the_dense_one(computing, tied, small_parts):
    arrays = moments()
    other = (arrays[0] * SIGNS, arrays[1]) if tied else arrays[2:]
    mean, variance = natural.pair_moments(*arrays[:2], *other)
    noise = np.linspace(-12.0, 12.0, 4001)
    weight = np.exp(-0.5 * noise**2) / np.exp(-0.5 * noise**2).sum()
    x = mean[..., None] + np.sqrt(variance)[..., None] * noise
    positive, negative = (np.log(natural.sigmoid(sign * x) @ weight) for sign in (1.0, -1.0))
    counts, negatives = COUNTS, NEGATIVES
    if tied:
        counts, negatives = (np.triu(part, 1) for part in natural.tied_counts(COUNTS, NEGATIVES))
    expected = (counts * positive + negatives * negative).sum()
    found = prepared(computing, tied).predictive_log_likelihood(vectors(arrays, tied), SEED)
    assert found == pytest.approx(expected, rel=1e-4)


def test_likelihood_of_points_is_the_log_likelihood(computing, tied):
    arrays = moments(spread=0.0)
    counts, negatives, v = COUNTS, NEGATIVES, arrays[2]
    if tied:
        counts, negatives = (np.triu(part, 1) for part in natural.tied_counts(COUNTS, NEGATIVES))
        v = arrays[0] * SIGNS
    expected = float(dense.log_likelihood(counts, negatives, arrays[0], v))
    slice, sides = prepared(computing, tied), vectors(arrays, tied)
    assert slice.expected_log_likelihood(sides, SEED) == pytest.approx(expected, rel=1e-12)
    assert slice.predictive_log_likelihood(sides, SEED) == pytest.approx(expected, rel=1e-12)


def test_gradients_of_points_are_those_of_the_log_likelihood(alone):
    slice = prepared(alone, tied=False)
    u, v = vectors(moments(spread=0.0), tied=False)
    expected = gradients(ActiveSlice.of(slice.part, np.float64), u.mean, v.mean)
    for gradient, gamma in zip(slice.gradients([u, v], SEED), expected, strict=True):
        agree(gradient.g, gamma, 1e-12)


def test_gradients_of_tied_points_are_derivatives_of_the_log_likelihood(alone):
    arrays = moments(spread=0.0)
    counts, negatives = (np.triu(part, 1) for part in natural.tied_counts(COUNTS, NEGATIVES))
    expected = dense.derivatives(lambda u: dense.log_likelihood(counts, negatives, u, u * SIGNS), arrays[0])
    (found,) = prepared(alone, tied=True).gradients(vectors(arrays, tied=True), SEED)
    agree(found.g, expected[ACTIVE], 1e-12)


def test_the_number_of_pairs_is_that_of_the_dense_matrices(tied):
    part = slice_data(sparse.csr_array(COUNTS), PairSettings(1.5, 0.75, tied))
    counts, negatives = COUNTS, NEGATIVES
    if tied:
        counts, negatives = (np.triu(each, 1) for each in natural.tied_counts(COUNTS, NEGATIVES))
    assert part.tied == tied
    assert part.pairs == pytest.approx((counts + negatives).sum(), rel=1e-12)


def test_the_matrices_of_a_slice_are_the_dense_ones(tied):
    part = slice_data(sparse.csr_array(COUNTS), PairSettings(1.5, 0.75, tied))
    counts, negatives = natural.tied_counts(COUNTS, NEGATIVES) if tied else (COUNTS, NEGATIVES)
    block = np.ix_(ACTIVE, ACTIVE)
    np.testing.assert_allclose(part.positive_matrix().toarray(), counts[block], rtol=1e-12)
    np.testing.assert_allclose(negative_matrix(part), negatives[block], rtol=1e-12)


def gaussian_mean(function, m, deviation):
    x = m + deviation * np.linspace(-12.0, 12.0, 20001)
    density = np.exp(-0.5 * ((x - m) / deviation) ** 2)
    return (density * function(x)).sum() / density.sum()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("m", [-3.0, 0.0, 0.7, 4.0])
@pytest.mark.parametrize("deviation", [0.1, 1.0, 2.0])
def test_quadrature_is_the_gaussian_integral(m, deviation, sign):
    found = np.empty((2, 1))
    for place, function in enumerate((expected_log_sigmoids, log_expected_sigmoids)):
        function(np.array([m]), np.array([deviation**2]), sign, found[place])
    expected = gaussian_mean(lambda x: -np.logaddexp(0.0, -sign * x), m, deviation)
    predicted = np.log(gaussian_mean(lambda x: natural.sigmoid(sign * x), m, deviation))
    # Eight nodes: the kink at 0 costs most at deviation 2, where predictions have more nodes.
    assert found[0, 0] == pytest.approx(expected, abs=5e-4)
    assert found[1, 0] == pytest.approx(predicted, abs=5e-4)


def test_quadrature_of_pairs_agrees_with_samples_of_the_vectors(alone):
    """x = u . v is not Gaussian: products of Gaussians have heavier tails.

    Its fourth cumulant is what quadrature misses.
    """
    slice = prepared(alone, tied=False)
    sides = vectors(moments(spread=0.5), tied=False)
    found = slice.expected_log_likelihood(sides, SEED) / slice.part.pairs
    drawn = (GaussianVectors(side.mean, side.variance) for side in sides)
    active = ActiveSlice.of(slice.part, np.float64)
    sampled, error = expected_log_likelihood(active, *drawn, 20000, np.random.default_rng(2))
    assert found == pytest.approx(sampled / slice.part.pairs, abs=4 * error / slice.part.pairs + 2e-3)


def finite_difference(slice, arrays, place, width, tied):
    """The central difference of the quadrature ELBO by one number, at `place`: array, word and coordinate."""
    which, word, k = place
    sides = []
    for sign in (1.0, -1.0):
        moved = [array.copy() for array in arrays]
        moved[which][word, k] += sign * width
        sides.append(slice.expected_log_likelihood(vectors(moved, tied), SEED))
    return (sides[0] - sides[1]) / (2 * width)


def largest_errors(which, arrays, tied):
    """Bounds on the errors of g and h, (L, d): the errors of kappa per pair (below), summed."""
    error_of_p, error_of_r = 0.02, 0.007
    mean_u, variance_u, mean_v, variance_v = arrays
    pairs = COUNTS + NEGATIVES
    if tied:
        pairs, mean_v, variance_v = sum(natural.tied_counts(COUNTS, NEGATIVES)), mean_u, variance_u
    elif which >= 2:
        pairs, mean_u, mean_v, variance_v = pairs.T, mean_v, mean_u, variance_u
    g = error_of_p * pairs @ np.abs(mean_v) + error_of_r * np.abs(mean_u) * (pairs @ variance_v)
    return {"g": g, "h": error_of_r * pairs @ (mean_v**2 + variance_v)}


@pytest.mark.parametrize(
    ("deviation", "m"), [(d, m) for d in (0.3, 1.0, 2.0, 5.0) for m in (0.0, 0.5, 1.0, 2.0, 5.0)]
)
def test_the_error_of_kappa_is_small_for_one_pair(deviation, m):
    noise = np.linspace(-12.0, 12.0, 4001)
    weight = np.exp(-0.5 * noise**2) / np.exp(-0.5 * noise**2).sum()
    probability = natural.sigmoid(m + deviation * noise)
    kappa = 1.0 / np.sqrt(1.0 + np.pi * deviation**2 / 8.0)
    p = natural.sigmoid(kappa * m)
    assert p == pytest.approx(weight @ probability, abs=0.02)
    assert kappa * p * (1.0 - p) == pytest.approx(weight @ (probability * (1.0 - probability)), abs=0.007)


@pytest.mark.parametrize(
    ("which", "name", "tied"),
    [
        *((0, "g", False), (2, "g", False), (1, "h", False), (3, "h", False)),
        *((0, "g", True), (1, "h", True)),
    ],
)
def test_gradients_with_variances_are_derivatives_up_to_the_error_of_kappa(alone, which, name, tied):
    slice, arrays = prepared(alone, tied), moments(spread=0.5)
    found = getattr(slice.gradients(vectors(arrays, tied), SEED)[which // 2], name).copy()
    factor = 1.0 if name == "g" else -2.0  # h is minus twice the derivative by the variance
    expected = np.array(
        [
            [factor * finite_difference(slice, arrays, (which, word, k), 1e-4, tied) for k in range(DIM)]
            for word in ACTIVE
        ]
    )
    assert (np.abs(found - expected) <= largest_errors(which, arrays, tied)[name][ACTIVE]).all()
