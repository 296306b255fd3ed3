"""Models with different eta, compared on the same pairs, against explicit sums."""

import math

import numpy as np
import pytest
from oracles.model import negative_counts
from scipy import sparse
from scipy.integrate import quad
from scipy.special import expit

from wordtide.evaluation.scores import integrated_log_likelihood_per_pair, log_likelihood_per_pair
from wordtide.inference.problem import PairSettings, slice_data
from wordtide.model.likelihood import GaussianVectors

SHIFT = math.log(5.0)


def dense_counts(seed=0, size=6):
    """Symmetric n+ without a zero."""
    counts = np.random.default_rng(seed).gamma(2.0, 3.0, size=(size, size)) + 0.5
    return counts + counts.T


def slice_of(counts, ratio=1.0):
    return slice_data(sparse.csr_array(counts), PairSettings(ratio, 0.75))


def looped(positive, negative, probability):
    """Eq. 2 over the number of pairs, pair by pair."""
    total = 0.0
    for i in range(len(positive)):
        for j in range(len(positive)):
            total += positive[i, j] * math.log(probability(i, j)) + negative[i, j] * math.log1p(
                -probability(i, j)
            )
    return total / (positive.sum() + negative.sum())


def perfect_vectors(counts, ratio):
    """Vectors whose scores are log(n+ / n-) under this eta: the most probable ones."""
    return np.log(counts / (ratio * negative_counts(counts))), np.eye(len(counts))


def test_the_shift_is_added_to_every_score():
    counts = dense_counts()
    u, v = np.random.default_rng(1).standard_normal((2, len(counts), 3))
    expected = looped(counts, negative_counts(counts), lambda i, j: expit(u[i] @ v[j] + SHIFT))
    assert log_likelihood_per_pair(slice_of(counts), u, v, SHIFT) == pytest.approx(expected, rel=1e-6)


def test_the_shift_is_added_to_the_mean_of_an_uncertain_score():
    counts = dense_counts(size=4)
    u, v = np.random.default_rng(1).standard_normal((2, 4, 2))
    s, r = np.random.default_rng(2).gamma(1.0, 0.3, size=(2, 4, 2))

    def probability(i, j):
        deviation = math.sqrt(
            sum(u[i, k] ** 2 * r[j, k] + v[j, k] ** 2 * s[i, k] + s[i, k] * r[j, k] for k in range(2))
        )
        return quad(lambda z: expit(u[i] @ v[j] + SHIFT + deviation * z) * math.exp(-z * z / 2), -12, 12)[
            0
        ] / math.sqrt(2 * math.pi)

    found = integrated_log_likelihood_per_pair(
        slice_of(counts), GaussianVectors(u, s), GaussianVectors(v, r), SHIFT
    )
    assert found == pytest.approx(looped(counts, negative_counts(counts), probability), rel=1e-4)


@pytest.mark.parametrize("ratio", [0.2, 5.0])
def test_perfect_models_of_any_eta_score_alike_on_the_same_pairs(ratio):
    counts = dense_counts()
    part = slice_of(counts)
    own, other = perfect_vectors(counts, 1.0), perfect_vectors(counts, ratio)
    assert log_likelihood_per_pair(part, *other, math.log(ratio)) == pytest.approx(
        log_likelihood_per_pair(part, *own), rel=1e-6
    )


def test_without_the_shift_the_other_eta_would_look_worse():
    counts = dense_counts()
    part = slice_of(counts)
    unshifted = log_likelihood_per_pair(part, *perfect_vectors(counts, 5.0))
    assert unshifted < log_likelihood_per_pair(part, *perfect_vectors(counts, 1.0)) - 0.1
