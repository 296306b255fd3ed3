"""The likelihood of an unseen slice: against explicit sums, and its invariances."""

import math
from fractions import Fraction

import numpy as np
import pytest
from oracles.model import negative_counts, random_counts
from scipy import sparse
from scipy.integrate import quad
from scipy.special import expit

from wordtide.evaluation.scores import (
    integrated_log_likelihood_per_pair,
    log_likelihood_per_pair,
)
from wordtide.inference.problem import PairSettings, slice_data
from wordtide.model import likelihood
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.logistic import log_expected_sigmoids


def slice_of(counts, ratio=1.0, exponent=0.75):
    return slice_data(sparse.csr_array(np.asarray(counts, dtype=float)), PairSettings(ratio, exponent))


def some_slice(seed=0, size=7):
    """A slice with an inactive word, its n+ and n-, and vectors of its active words."""
    rng = np.random.default_rng(seed)
    active = [i for i in range(size) if i != 2]
    counts = random_counts(rng, size, active)
    u, v = rng.standard_normal((2, len(active), 3))
    kept = np.ix_(active, active)
    return slice_of(counts), counts[kept], negative_counts(counts)[kept], u, v


def looped(positive, negative, probability):
    """Eq. 2 over the number of pairs, pair by pair."""
    total = 0.0
    for i in range(len(positive)):
        for j in range(len(positive)):
            total += positive[i, j] * math.log(probability(i, j)) + negative[i, j] * math.log(
                1.0 - probability(i, j)
            )
    return total / (positive.sum() + negative.sum())


def test_two_words_have_the_score_computed_by_hand():
    # n+ = [[0, 3], [3, 0]], so P = P' = (1/2, 1/2) and n- = 6 * 1/4 for each pair. u = (1, 0), v = (2, 1).
    part = slice_of([[0, 3], [3, 0]])
    on_diagonal = Fraction(6, 4)
    scores = {(0, 0): 2.0, (0, 1): 1.0, (1, 0): 0.0, (1, 1): 0.0}
    total = 3 * math.log(expit(scores[0, 1])) + 3 * math.log(expit(scores[1, 0]))
    total += sum(float(on_diagonal) * math.log(expit(-score)) for score in scores.values())
    found = log_likelihood_per_pair(part, np.array([[1.0], [0.0]]), np.array([[2.0], [1.0]]))
    assert found == pytest.approx(total / 12, rel=1e-6)


def test_zero_vectors_give_every_pair_probability_one_half():
    part = slice_of([[0, 3, 1], [3, 2, 0], [1, 0, 0]], ratio=2.5)
    assert log_likelihood_per_pair(part, np.zeros((3, 2)), np.zeros((3, 2))) == pytest.approx(
        math.log(0.5), rel=1e-6
    )


def test_a_slice_has_the_score_of_loops_over_all_pairs():
    part, positive, negative, u, v = some_slice()
    expected = looped(positive, negative, lambda i, j: expit(u[i] @ v[j]))
    assert log_likelihood_per_pair(part, u, v) == pytest.approx(expected, rel=1e-6)


def test_blocks_of_rows_do_not_change_the_score(monkeypatch):
    part, _, _, u, v = some_slice()
    whole = log_likelihood_per_pair(part, u, v)
    monkeypatch.setattr(likelihood, "_ELEMENTS", 13)
    monkeypatch.setattr(likelihood, "_FEWEST_ROWS", 1)
    assert log_likelihood_per_pair(part, u, v) == pytest.approx(whole, rel=1e-6)


def test_scores_beyond_the_range_of_exponentials_have_their_likelihood():
    part, positive, negative, u, v = some_slice()
    x = 1e4 * u @ v.T
    expected = -(positive * np.logaddexp(0.0, -x) + negative * np.logaddexp(0.0, x)).sum()
    found = log_likelihood_per_pair(part, 100 * u, 100 * v)
    assert found == pytest.approx(expected / (positive.sum() + negative.sum()), rel=1e-5)


def rotation(seed, dim=3):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]


def test_rotating_words_and_contexts_together_changes_nothing():
    part, _, _, u, v = some_slice()
    turn = rotation(1)
    assert log_likelihood_per_pair(part, u @ turn, v @ turn) == pytest.approx(
        log_likelihood_per_pair(part, u, v), rel=1e-5
    )


@pytest.mark.parametrize("side", ["words", "contexts"])
def test_rotating_only_one_side_changes_the_score(side):
    part, _, _, u, v = some_slice()
    turn = rotation(1)
    turned = (u @ turn, v) if side == "words" else (u, v @ turn)
    assert abs(log_likelihood_per_pair(part, *turned) - log_likelihood_per_pair(part, u, v)) > 0.01


def log_expected_sigmoid(mean, deviation):
    out = np.empty_like(mean)
    log_expected_sigmoids(mean.reshape(-1), (deviation**2).reshape(-1), 1.0, out.reshape(-1))
    return out


def expected_sigmoid(mean, deviation):
    """E[sigma(x)] by adaptive quadrature."""

    def density(z):
        return expit(mean + deviation * z) * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)

    return quad(density, -12, 12, points=[np.clip(-mean / deviation, -11, 11)], limit=300, epsabs=1e-15)[0]


@pytest.mark.parametrize(("deviation", "tolerance"), [(0.2, 1e-5), (1.0, 2e-5), (2.0, 2e-5), (4.0, 2e-3)])
@pytest.mark.parametrize("mean", [-9.0, -2.5, 0.0, 1.0, 6.0])
def test_the_expected_probability_is_that_of_adaptive_quadrature(mean, deviation, tolerance):
    found = log_expected_sigmoid(np.float32([mean]), np.float32([deviation]))
    assert found.item() == pytest.approx(math.log(expected_sigmoid(mean, deviation)), abs=tolerance)


def test_an_expected_probability_too_small_for_single_precision_has_a_logarithm():
    assert log_expected_sigmoid(np.float32([-120.0]), np.float32([0.1])).item() == pytest.approx(
        -120.0, abs=0.01
    )


def test_without_variance_the_integral_is_the_likelihood_itself():
    part, _, _, u, v = some_slice()
    none = np.zeros_like(u)
    found = integrated_log_likelihood_per_pair(part, GaussianVectors(u, none), GaussianVectors(v, none))
    assert found == pytest.approx(log_likelihood_per_pair(part, u, v), rel=1e-5)


def test_the_integrated_likelihood_is_that_of_loops_over_pairs_and_dimensions():
    part, positive, negative, u, v = some_slice()
    s, r = np.random.default_rng(4).gamma(1.0, 0.3, size=(2, *u.shape))

    def probability(i, j):
        variance = sum(u[i, k] ** 2 * r[j, k] + v[j, k] ** 2 * s[i, k] + s[i, k] * r[j, k] for k in range(3))
        return expected_sigmoid(u[i] @ v[j], math.sqrt(variance))

    found = integrated_log_likelihood_per_pair(part, GaussianVectors(u, s), GaussianVectors(v, r))
    assert found == pytest.approx(looped(positive, negative, probability), rel=1e-4)


def test_uncertainty_helps_where_the_mean_is_wrong():
    part = slice_of([[0, 3], [3, 0]])
    u, v = np.array([[3.0], [3.0]]), np.array([[-3.0], [-3.0]])
    doubt = np.ones_like(u)
    assert integrated_log_likelihood_per_pair(
        part, GaussianVectors(u, doubt), GaussianVectors(v, doubt)
    ) > log_likelihood_per_pair(part, u, v)


def test_expected_probabilities_in_double_precision_agree_with_single():
    rng = np.random.default_rng(0)
    mean, deviation = rng.normal(scale=3.0, size=(40, 70)), rng.gamma(1.0, 0.5, size=(40, 70))
    double = log_expected_sigmoid(mean, deviation)
    single = log_expected_sigmoid(mean.astype(np.float32), deviation.astype(np.float32))
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, double, rtol=2e-6, atol=2e-7)


def without_self_pairs(positive, negative):
    for counts in (positive, negative):
        np.fill_diagonal(counts, 0.0)
    return positive, negative


def test_without_self_pairs_a_slice_has_the_score_of_loops_over_the_other_pairs():
    part, positive, negative, u, v = some_slice()
    assert np.diag(positive).sum() > 0
    expected = looped(*without_self_pairs(positive, negative), lambda i, j: expit(u[i] @ v[j]))
    assert log_likelihood_per_pair(part, u, v, self_pairs=False) == pytest.approx(expected, rel=1e-6)


def test_without_self_pairs_the_integral_is_over_the_other_pairs():
    part, positive, negative, u, v = some_slice()
    none = np.zeros_like(u)
    expected = looped(*without_self_pairs(positive, negative), lambda i, j: expit(u[i] @ v[j]))
    found = integrated_log_likelihood_per_pair(
        part, GaussianVectors(u, none), GaussianVectors(v, none), self_pairs=False
    )
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_shift_changes_the_odds_of_all_pairs_by_one_factor():
    part, positive, negative, u, v = some_slice()
    expected = looped(positive, negative, lambda i, j: expit(u[i] @ v[j] + 0.4))
    none = np.zeros_like(u)
    assert log_likelihood_per_pair(part, u, v, 0.4) == pytest.approx(expected, rel=1e-6)
    found = integrated_log_likelihood_per_pair(part, GaussianVectors(u, none), GaussianVectors(v, none), 0.4)
    assert found == pytest.approx(expected, rel=1e-5)
