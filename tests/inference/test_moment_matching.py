"""From marginal variances to the precision h that the data add."""

import numpy as np
import pytest
from oracles import natural

from wordtide.inference.paper.gradients import matching_precision
from wordtide.model.knots import Knots
from wordtide.model.prior import ProductPrior

TIMES = np.array([1800.0, 1801.0, 1801.5, 1805.0, 1806.0, 1813.0, 1814.0, 1815.0])
SLICES = [[0, 1, 2, 3, 4, 5, 6, 7], [0, 3, 4], [2], [], [4, 5], [0, 7]]
KNOTS = Knots(np.cumsum([0, *map(len, SLICES)]), np.concatenate(SLICES).astype(np.int32))
DIM = 2


def variances(diffusion, h):
    """The marginal variances at the knots with precision h (K, d), by dense algebra."""
    found = np.zeros_like(h)
    for word, slices in enumerate(SLICES):
        rows = KNOTS.rows_of(word)
        for k in range(DIM):
            _, covariance = natural.chain_posterior(diffusion, slices, h[rows, k], np.zeros(len(slices)))
            found[rows, k] = np.diag(covariance)[slices]
    return found


def precisions(scale, seed=0):
    return np.random.default_rng(seed).gamma(1.0, scale, (len(KNOTS), DIM))


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("constant", [1e-3, 1e-2, 1.0])
def test_marginal_variances_are_matched_however_strongly_neighbors_are_coupled(constant, scale):
    diffusion = ProductPrior(TIMES, constant, 1.3)
    wanted = variances(diffusion, precisions(scale))
    found = variances(diffusion, matching_precision(wanted, KNOTS, diffusion).astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_the_precision_is_recovered_where_the_data_outweigh_the_neighbors():
    diffusion = ProductPrior(TIMES, 0.1, 1.3)
    h = precisions(30.0)
    np.testing.assert_allclose(
        matching_precision(variances(diffusion, h), KNOTS, diffusion), h, rtol=1e-3, atol=1e-3
    )


def test_the_prior_itself_needs_no_precision():
    diffusion = ProductPrior(TIMES, 0.1, 1.3)
    found = matching_precision(variances(diffusion, np.zeros((len(KNOTS), DIM))), KNOTS, diffusion)
    np.testing.assert_allclose(found, 0.0, atol=1e-9)


def test_variances_above_the_prior_get_no_precision():
    diffusion = ProductPrior(TIMES, 0.1, 1.3)
    found = matching_precision(10.0 * variances(diffusion, np.zeros((len(KNOTS), DIM))), KNOTS, diffusion)
    assert (found == 0.0).all()
