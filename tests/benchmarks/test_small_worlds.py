"""Trajectories have the covariance of their prior, and counts of slices the moments of their likelihood."""

import numpy as np
import pytest
from oracles.model import negative_matrix
from simulation.small_worlds import draw_slice
from simulation.trajectories import draw_trajectories

from wordtide.model.prior import ProductPrior


def drawn(seed, size, negatives=2.0, **options):
    """The scores of some words with a Zipf law, and a slice of counts drawn from them."""
    rng = np.random.default_rng(seed)
    vectors, signs = rng.standard_normal((size, 2)), np.array([1.0, -1.0])
    scores = (vectors * signs) @ vectors.T
    frequency = 1.0 / (np.arange(size) + 5.0)
    return scores, draw_slice(rng, scores, frequency / frequency.sum(), negatives * size**2, **options)


def test_trajectories_have_the_covariance_of_the_prior():
    prior = ProductPrior(np.array([0.0, 1.0, 3.0, 4.0]), 0.1, 2.0)
    drawn = draw_trajectories(np.random.default_rng(0), prior, (2, 20_000, 2))
    assert drawn.shape == (4, 2, 20_000, 2)
    diagonal, beside = prior.precision()
    expected = np.linalg.inv(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    # 80,000 trajectories: the standard error of a covariance is at most sqrt(2 / 80,000) of a variance.
    found = np.cov(drawn.reshape(4, -1))
    assert np.abs(found - expected).max() < 5 * np.sqrt(2 / 80_000) * expected.max()


def test_counts_have_mean_and_variance_of_the_negative_binomial():
    standardised, pairs = [], np.triu_indices(60, 1)
    for seed in range(30):
        scores, part = drawn(seed, 60)
        odds = np.exp(scores)[pairs]
        mean = negative_matrix(part)[pairs] * odds
        standardised.append((part.positive_matrix().toarray()[pairs] - mean) / np.sqrt(mean * (1 + odds)))
    z = np.concatenate(standardised)  # 53,100 of them
    assert abs(z.mean()) < 5 / np.sqrt(len(z))
    # Counts are skewed: fourth moments are large, so the error of the variance is taken from the sample.
    assert abs((z**2).mean() - 1) < 5 * (z**2).std() / np.sqrt(len(z))


def test_the_mean_number_of_negative_pairs_is_as_asked():
    _, part = drawn(0, 40, tied=False)
    assert negative_matrix(part).sum() == pytest.approx(2.0 * 40**2)


def test_counts_are_symmetric_and_the_same_for_tied_and_separate_contexts_but_for_the_diagonal():
    (_, one), (_, other) = (drawn(3, 20, tied=tied) for tied in (True, False))
    counts, whole = one.positive_matrix().toarray(), other.positive_matrix().toarray()
    assert np.array_equal(counts, counts.T)
    assert not counts.diagonal().any()
    assert whole.diagonal().any()
    assert np.array_equal(np.triu(counts, 1), np.triu(whole, 1))
    assert np.array_equal(whole, whole.T)
