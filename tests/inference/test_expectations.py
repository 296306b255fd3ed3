"""The expected log likelihood of a slice: sums over active words equal those over the whole vocabulary, on every path."""

import numpy as np
import pytest
import torch
from oracles import model as dense
from oracles import natural
from scipy import sparse

import wordtide.inference.natural.dense_pairs as dense_pairs
import wordtide.inference.natural.positives as positives
from wordtide.inference.compute import compute
from wordtide.inference.natural.dense_pairs import Vectors, expected_softplus
from wordtide.inference.natural.expectations import PreparedSlice
from wordtide.inference.natural.positives import PositivePairs
from wordtide.inference.problem import slice_data
from wordtide.model.likelihood import ActiveSlice, GaussianVectors, expected_log_likelihood, gradients

SIZE, DIM = 14, 3
ACTIVE = [0, 2, 3, 4, 6, 7, 9, 10, 12, 13]
COUNTS = dense.random_counts(np.random.default_rng(1), SIZE, ACTIVE)
NEGATIVES = dense.negative_counts(COUNTS, ratio=1.5)
GENERATOR = np.random.default_rng(0)  # exact sums draw nothing from it


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def computing(request):
    with compute("cpu", "float64", request.param) as opened:
        yield opened


@pytest.fixture
def alone():
    with compute("cpu", "float64", 1) as opened:
        yield opened


def part():
    return slice_data(sparse.csr_array(COUNTS), 1.5, 0.75)


def moments(spread=1.0, seed=3):
    """Means and variances of words and contexts of the whole vocabulary, (L, d) each."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((2, SIZE, DIM))
    variances = spread * rng.uniform(0.05, 0.6, (2, SIZE, DIM))
    return means[0], variances[0], means[1], variances[1]


def vectors(mean_u, variance_u, mean_v, variance_v):
    """The same on the active words, as the solver holds them."""
    active = [torch.as_tensor(array[ACTIVE]) for array in (mean_u, variance_u, mean_v, variance_v)]
    return Vectors(*active[:2]), Vectors(*active[2:])


def in_vocabulary(gradient):
    """g and h of active words, placed among zeros for all others."""
    whole = np.zeros((2, SIZE, DIM))
    whole[:, ACTIVE] = gradient.g.numpy(), gradient.h.numpy()
    return whole


def agree(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def test_gradients_equal_those_of_the_dense_vocabulary(computing):
    found = PreparedSlice(part(), computing, None).gradients(*vectors(*moments()), GENERATOR)
    expected = natural.pair_gradients(COUNTS, NEGATIVES, *moments())
    for gradient, twin in zip(found, expected, strict=True):
        agree(in_vocabulary(gradient), np.array(twin), 1e-12)


def test_the_dense_vocabulary_gives_nothing_to_words_that_are_absent():
    absent = [word for word in range(SIZE) if word not in ACTIVE]
    for g, h in natural.pair_gradients(COUNTS, NEGATIVES, *moments()):
        assert (g[absent] == 0.0).all()
        assert (h[absent] == 0.0).all()


def test_blocks_of_rows_change_nothing(computing, monkeypatch):
    whole = PreparedSlice(part(), computing, None)
    expected = [in_vocabulary(gradient) for gradient in whole.gradients(*vectors(*moments()), GENERATOR)]
    monkeypatch.setattr(dense_pairs, "_BLOCK", 3 * len(ACTIVE))
    for gradient, twin in zip(whole.gradients(*vectors(*moments()), GENERATOR), expected, strict=True):
        agree(in_vocabulary(gradient), twin, 1e-12)


@pytest.mark.parametrize("contexts", [None, 4])
def test_compiled_sums_over_pairs_equal_tensor_sums(alone, monkeypatch, contexts):
    fused = PreparedSlice(part(), alone, contexts)
    expected = [
        in_vocabulary(gradient)
        for gradient in fused.gradients(*vectors(*moments()), np.random.default_rng(5))
    ]
    monkeypatch.setattr(positives, "_CHUNK", 7)
    fused.positives = PositivePairs(fused.part, alone, fused=False)
    unfused = fused.gradients(*vectors(*moments()), np.random.default_rng(5))
    for gradient, twin in zip(unfused, expected, strict=True):
        agree(in_vocabulary(gradient), twin, 1e-12)


@pytest.mark.parametrize("fused", [True, False])
def test_likelihood_of_points_is_the_log_likelihood(computing, fused):
    slice = PreparedSlice(part(), computing, None)
    slice.positives = PositivePairs(slice.part, computing, fused)
    mean_u, variance_u, mean_v, variance_v = moments(spread=0.0)
    expected = dense.log_likelihood(COUNTS, NEGATIVES, mean_u, mean_v)
    found = slice.expected_log_likelihood(*vectors(mean_u, variance_u, mean_v, variance_v), GENERATOR)
    assert found == pytest.approx(float(expected), rel=1e-12)


def test_gradients_of_points_are_those_of_the_log_likelihood(alone):
    slice = PreparedSlice(part(), alone, None)
    u, v = vectors(*moments(spread=0.0))
    expected = gradients(ActiveSlice.of(slice.part, np.float64), u.mean.numpy(), v.mean.numpy())
    for gradient, gamma in zip(slice.gradients(u, v, GENERATOR), expected, strict=True):
        agree(gradient.g.numpy(), gamma, 1e-12)


@pytest.mark.parametrize("m", [-3.0, 0.0, 0.7, 4.0])
@pytest.mark.parametrize("deviation", [0.1, 1.0, 2.0])
def test_quadrature_is_the_gaussian_integral(m, deviation):
    x = m + deviation * np.linspace(-12.0, 12.0, 20001)
    density = np.exp(-0.5 * ((x - m) / deviation) ** 2)
    integral = (density * np.logaddexp(0.0, x)).sum() / density.sum()
    found = expected_softplus(
        torch.tensor([m], dtype=torch.float64), torch.tensor([deviation**2], dtype=torch.float64)
    )
    assert float(found) == pytest.approx(
        integral, abs=5e-4
    )  # eight nodes; the kink at 0 costs most at deviation 2


def test_quadrature_of_pairs_agrees_with_samples_of_the_vectors(alone):
    """x = u . v is not Gaussian: products of Gaussians have heavier tails. Its fourth cumulant is what quadrature misses."""
    slice = PreparedSlice(part(), alone, None)
    u, v = vectors(*moments(spread=0.5))
    found = slice.expected_log_likelihood(u, v, GENERATOR) / slice.part.pairs
    sides = (GaussianVectors(side.mean.numpy(), side.variance.numpy()) for side in (u, v))
    active = ActiveSlice.of(slice.part, np.float64)
    sampled, error = expected_log_likelihood(active, *sides, 20000, np.random.default_rng(2))
    assert found == pytest.approx(sampled / slice.part.pairs, abs=4 * error / slice.part.pairs + 2e-3)


def finite_difference(slice, arrays, place, width):
    """The central difference of the quadrature ELBO by one number of the moments (the array, word and coordinate `place`)."""
    which, word, k = place
    sides = []
    for sign in (1.0, -1.0):
        moved = [array.copy() for array in arrays]
        moved[which][word, k] += sign * width
        sides.append(slice.expected_log_likelihood(*vectors(*moved), GENERATOR))
    return (sides[0] - sides[1]) / (2 * width)


def largest_errors(which, arrays):
    """How far g and h may be from the derivatives, (L, d): kappa's errors per pair (below), carried through the sums."""
    error_of_p, error_of_r = 0.02, 0.007
    mean_u, variance_u, mean_v, variance_v = arrays
    pairs = COUNTS + NEGATIVES
    if which >= 2:
        pairs, mean_u, mean_v, variance_v = pairs.T, mean_v, mean_u, variance_u
    g = error_of_p * pairs @ np.abs(mean_v) + error_of_r * np.abs(mean_u) * (pairs @ variance_v)
    return {"g": g, "h": error_of_r * pairs @ (mean_v**2 + variance_v)}


@pytest.mark.parametrize(
    ("deviation", "m"), [(d, m) for d in (0.3, 1.0, 2.0, 5.0) for m in (0.0, 0.5, 1.0, 2.0, 5.0)]
)
def test_kappa_errs_by_at_most_so_much_for_one_pair(deviation, m):
    noise = np.linspace(-12.0, 12.0, 4001)
    weight = np.exp(-0.5 * noise**2) / np.exp(-0.5 * noise**2).sum()
    probability = natural.sigmoid(m + deviation * noise)
    kappa = 1.0 / np.sqrt(1.0 + np.pi * deviation**2 / 8.0)
    p = natural.sigmoid(kappa * m)
    assert p == pytest.approx(weight @ probability, abs=0.02)
    assert kappa * p * (1.0 - p) == pytest.approx(weight @ (probability * (1.0 - probability)), abs=0.007)


@pytest.mark.parametrize(("which", "name"), [(0, "g"), (2, "g"), (1, "h"), (3, "h")])
def test_gradients_with_variances_are_derivatives_up_to_the_error_of_kappa(alone, which, name):
    slice = PreparedSlice(part(), alone, None)
    arrays = moments(spread=0.5)
    found = getattr(slice.gradients(*vectors(*arrays), GENERATOR)[which // 2], name).numpy()
    factor = 1.0 if name == "g" else -2.0  # h is minus twice the derivative by the variance
    expected = np.array(
        [
            [factor * finite_difference(slice, arrays, (which, word, k), 1e-4) for k in range(DIM)]
            for word in ACTIVE
        ]
    )
    assert (np.abs(found - expected) <= largest_errors(which, arrays)[name][ACTIVE]).all()
