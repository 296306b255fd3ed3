"""Evidence and offsets of groups against dense Gaussian algebra, and their laws."""

import numpy as np
import pytest

from wordtide.errors import SettingsError
from wordtide.model.verdicts import (
    VARIANCES,
    Groups,
    evidence_by_variance,
    group_evidence,
    log_bayes_factors,
    offsets_of,
)

LEVEL = 0.4


def drawn_messages(groups: int, words: int, dim: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    h = generator.gamma(2.0, 5.0, (groups, words, dim))
    return h * generator.normal(0.0, 0.3, h.shape), h


def factors(b: np.ndarray, h: np.ndarray) -> np.ndarray:
    return log_bayes_factors(evidence_by_variance(b, h, LEVEL))


def dense_evidence(b: np.ndarray, h: np.ndarray, w: float) -> float:
    """The log evidence of one coordinate from the covariance of the levels of all groups."""
    covariance = LEVEL * np.ones((len(b), len(b))) + w * np.eye(len(b))
    inner = np.eye(len(b)) + covariance @ np.diag(h)
    return float(0.5 * (b @ np.linalg.solve(inner, covariance @ b) - np.linalg.slogdet(inner)[1]))


@pytest.mark.parametrize("w", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("groups", [2, 5])
def test_evidence_is_that_of_the_joint_gaussian(groups: int, w: float) -> None:
    b, h = drawn_messages(groups, 3, 4)
    wanted = [sum(dense_evidence(b[:, n, k], h[:, n, k], w) for k in range(4)) for n in range(3)]
    np.testing.assert_allclose(group_evidence(b, h, LEVEL, w), wanted, rtol=1e-10)


def test_bayes_factor_averages_over_variances() -> None:
    b, h = drawn_messages(3, 6, 5)
    evidence = np.array([group_evidence(b, h, LEVEL, w) for w in VARIANCES])
    wanted = np.log(np.mean(np.exp(evidence - group_evidence(b, h, LEVEL, 0.0)), axis=0))
    np.testing.assert_allclose(factors(b, h), wanted, rtol=1e-8)


def test_groups_that_agree_are_evidence_against_a_difference() -> None:
    _, h = drawn_messages(2, 50, 20)
    assert (factors(0.3 * h, h) < 0.0).all()
    alike = offsets_of(0.3 * h, h, LEVEL)
    assert np.abs(alike.mean).max() < 0.02 * 0.3  # levels shrink by a little, and not equally


def test_offsets_of_opposite_groups_are_opposite_and_recovered() -> None:
    h = np.full((2, 1, 30), 400.0)
    truth = np.random.default_rng(1).normal(0.0, 0.3, (1, 30))
    b = np.stack([h[0] * truth, -h[1] * truth])
    assert factors(b, h)[0] > 100.0
    found = offsets_of(b, h, LEVEL)
    np.testing.assert_allclose(found.mean[0], -found.mean[1], atol=1e-12)
    np.testing.assert_allclose(found.mean[0], truth, atol=0.02)


def test_neither_the_order_of_groups_nor_a_group_without_messages_matters() -> None:
    b, h = drawn_messages(3, 4, 6)
    found, turned = offsets_of(b, h, LEVEL), offsets_of(b[::-1], h[::-1], LEVEL)
    np.testing.assert_allclose(factors(b, h), factors(b[::-1], h[::-1]), rtol=1e-10)
    np.testing.assert_allclose(found.mean, turned.mean[::-1], atol=1e-12)
    nothing = np.zeros((1, 4, 6))
    more = np.concatenate([b, nothing]), np.concatenate([h, nothing])
    np.testing.assert_allclose(factors(*more), factors(b, h), rtol=1e-10)
    assert not offsets_of(*more, LEVEL).mean[3].any()


def test_an_unknown_group_is_an_error_that_lists_the_known_ones() -> None:
    empty = np.zeros((2, 0, 3), dtype=np.float32)
    used = np.zeros((2, 4), np.int64)
    groups = Groups(
        ("D", "R"), np.zeros(0, np.int64), empty, empty, np.zeros(4), used, np.full((2, 4), np.inf)
    )
    assert groups.number("R") == 1
    with pytest.raises(SettingsError, match=r"(?s)There is no group 'X'.*The groups are D, R"):
        groups.number("X")
