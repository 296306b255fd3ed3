"""The factors of a calibration, their limits, and its record in the header."""

import numpy as np
import pytest

from wordtide.model.gaussians import Calibration


def test_variances_grow_with_the_dispersion_of_counts():
    variances = np.array([1e-4, 0.01, 0.1])
    even, supposed = (Calibration(dispersion).factors(variances, 0.4) for dispersion in (0.5, 1.0))
    assert np.allclose(supposed, 2.0 * even)
    assert (supposed > 1.0).all()  # a mean field does not count the errors that vectors share


def test_no_vector_is_less_certain_than_under_the_prior():
    variances = np.array([0.01, 0.2, 0.39])
    assert (Calibration(1e4).factors(variances, 0.4) * variances <= 0.4 + 1e-12).all()


def test_contexts_known_in_part_leave_errors_in_vectors_that_are_otherwise_known():
    variances = np.array([1e-6, 0.01, 0.4])
    known, unknown = (Calibration(variance=0.5, unknown=unknown) for unknown in (0.0, 0.4))
    added = (unknown.factors(variances, 0.4) - known.factors(variances, 0.4)) * variances
    assert added[0] == pytest.approx(0.45 * 0.4**2 * 0.2, rel=1e-4)  # of the corpus's own prior variance, 0.2
    assert added[1] == pytest.approx(added[0] * (1.0 - 0.01 / 0.4) ** 2, rel=1e-4)
    assert added[2] == 0.0


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"dispersion": 0.0},
        {"dispersion": True},
        {"dispersion": "1"},
        {"other": 1.0},
        {"dispersion": 1.0, "share": 0.5, "variance": 1.0},
        {"dispersion": 1.0, "share": -0.5},
        {"dispersion": 1.0, "share": 0.5, "variance": 0.0, "pace": 1.0},
        {"dispersion": 1.0, "share": 0.5, "variance": 1.0, "pace": 1.0, "closeness": -1.0},
        {"dispersion": 1.0, "share": 0.5, "variance": 1.0, "pace": 1.0, "unknown": 0.1},
        [1.0],
    ],
)
def test_a_damaged_record_is_refused(facts):
    with pytest.raises(ValueError, match="calibration"):
        Calibration.of_header(facts)


def test_the_record_of_a_header_is_read_and_older_models_have_none():
    assert Calibration.of_header({"dispersion": 0.5}) == Calibration(0.5)
    assert Calibration.of_header({"dispersion": 0.5, "share": 0.6}) == Calibration(0.5, 0.6)
    whole = {"dispersion": 0.5, "share": 0.6, "variance": 0.4, "pace": 2.0}
    assert Calibration.of_header(whole) == Calibration(0.5, 0.6, 0.4, 2.0)
    assert Calibration.of_header({**whole, "closeness": 0.0}) == Calibration(0.5, 0.6, 0.4, 2.0, 0.0)
    assert Calibration.of_header({**whole, "closeness": 7.5}) == Calibration(0.5, 0.6, 0.4, 2.0, 7.5)
    complete = {**whole, "closeness": 7.5, "unknown": 0.2}
    assert Calibration.of_header(complete) == Calibration(0.5, 0.6, 0.4, 2.0, 7.5, 0.2)
    assert Calibration.of_header(None) is None
