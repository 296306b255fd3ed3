"""Variances of a posterior as wide as its errors: the closed form against draws, its limits, and the header."""

import numpy as np
import pytest

from wordtide.model.gaussians import Calibration


@pytest.mark.parametrize("dispersion", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("learned", [0.3, 4.0, 50.0])
def test_the_factor_is_that_of_estimates_drawn_with_this_dispersion(dispersion, learned):
    """x ~ N(0, v), b = h x + noise of variance dispersion h; the mean b / (h + 1/v) is off by v' on average."""
    rng, v = np.random.default_rng(1), 0.4
    h = learned / v
    x = np.sqrt(v) * rng.standard_normal(400_000)
    message = h * x + np.sqrt(dispersion * h) * rng.standard_normal(len(x))
    variance = 1.0 / (h + 1.0 / v)
    error = np.mean((variance * message - x) ** 2)
    factor = Calibration(dispersion).factors(np.array([variance]), v)[0]
    assert factor * variance == pytest.approx(error, rel=0.01) or factor * variance == pytest.approx(v)


def test_counts_that_scatter_as_supposed_change_nothing():
    variances = np.array([1e-4, 0.1, 0.4, 0.7])
    assert np.allclose(Calibration(1.0).factors(variances, 0.4), 1.0)


def test_no_vector_is_less_certain_than_under_the_prior():
    variances = np.array([0.01, 0.2, 0.39])
    assert (Calibration(1e4).factors(variances, 0.4) * variances <= 0.4 + 1e-12).all()


@pytest.mark.parametrize(
    "facts", [{}, {"dispersion": 0.0}, {"dispersion": True}, {"dispersion": "1"}, {"other": 1.0}, [1.0]]
)
def test_a_damaged_record_is_refused(facts):
    with pytest.raises(ValueError, match="calibration"):
        Calibration.of_header(facts)


def test_the_record_of_a_header_is_read_and_older_models_have_none():
    assert Calibration.of_header({"dispersion": 0.5}) == Calibration(0.5)
    assert Calibration.of_header(None) is None
