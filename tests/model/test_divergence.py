"""Divergences agree with the textbook formula on dense covariances, constants included."""

import numpy as np
import pytest
from oracles import model as dense

from wordtide.model.chain import filter_kl, smoothing_kl
from wordtide.model.gaussians import cholesky
from wordtide.model.prior import ProductPrior

TIMES = np.array([1800.0, 1801.0, 1803.5, 1810.0])
DIFFUSION = ProductPrior(TIMES, 0.01, 1.5)


def test_filter_divergence_equals_the_dense_formula():
    rng = np.random.default_rng(0)
    mean, prior_mean = rng.normal(size=(2, 3, 2))
    variance, prior_variance = rng.uniform(0.2, 3.0, size=(2, 3, 2))
    expected = dense.gaussian_kl(
        mean.ravel(), np.diag(variance.ravel()), prior_mean.ravel(), np.diag(prior_variance.ravel())
    )
    assert filter_kl(mean, variance, prior_mean, prior_variance) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_smoothing_divergence_equals_the_dense_formula(length):
    rng = np.random.default_rng(1)
    mu = rng.normal(size=(length, 3, 2))
    nu = rng.uniform(0.5, 9.0, size=(length, 3, 2))
    omega = rng.normal(size=(length - 1, 3, 2))
    prior = np.linalg.inv(dense.prior_precision(TIMES[:length], 0.01, 1.5))
    expected = 0.0
    for i in range(3):
        for k in range(2):
            b = dense.bidiagonal(nu[:, i, k], omega[:, i, k])
            expected += dense.gaussian_kl(mu[:, i, k], np.linalg.inv(b.T @ b), np.zeros(length), prior)
    assert smoothing_kl(mu, nu, omega, ProductPrior(TIMES[:length], 0.01, 1.5)) == pytest.approx(
        expected, rel=1e-10
    )


def test_smoothing_divergence_of_the_prior_from_itself_is_zero():
    nu, omega = cholesky(*(np.tile(part[:, None, None], (1, 2, 3)) for part in DIFFUSION.precision()))
    assert smoothing_kl(np.zeros_like(nu), nu, omega, DIFFUSION) == pytest.approx(0.0, abs=1e-10)


def test_on_one_slice_both_divergences_are_the_same():
    rng = np.random.default_rng(2)
    mean, nu = rng.normal(size=(1, 4, 2)), rng.uniform(0.5, 2.0, size=(1, 4, 2))
    alone = ProductPrior(TIMES[:1], 0.01, 1.5)
    expected = filter_kl(mean, nu**-2.0, np.zeros_like(mean), np.full_like(mean, 1.5))
    assert smoothing_kl(mean, nu, nu[:0], alone) == pytest.approx(expected, rel=1e-12)
