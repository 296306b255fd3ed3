"""Simulation-based calibration: worlds obey the model's law, and coverage is right for posteriors that are
exactly known.
"""

import numpy as np
import pytest
from oracles.model import negative_matrix
from simulation.coverage import (
    DRAWS,
    coverage,
    histogram,
    is_covered,
    needed_factor,
    ranks_of,
    ranks_of_normal,
    uniformity,
)
from simulation.small_worlds import draw_small_world
from simulation.trajectories import draw_trajectories

from wordtide.errors import SettingsError
from wordtide.model.prior import ProductPrior


def known_gaussian(seed, spread, shift=0.0, worlds=60, cases=400):
    """Truths N(0, 1) seen with noise N(0, 1) have the posterior N(y / 2, 1 / 2): here with another spread,
    off by a shift.
    """
    rng = np.random.default_rng(seed)
    ranks, deviations = [], []
    for _ in range(worlds):
        truth = rng.standard_normal(cases)
        mean = (truth + rng.standard_normal(cases)) / 2 + shift
        draws = mean + spread * np.sqrt(0.5) * rng.standard_normal((DRAWS, cases))
        ranks.append(ranks_of(truth, draws))
        deviations.append((truth - mean) / (spread * np.sqrt(0.5)))
    return ranks, np.concatenate(deviations)


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
    worlds = [draw_small_world(seed, 2.0, words=60, slices=3, dim=2) for seed in range(10)]
    standardised, pairs = [], np.triu_indices(60, 1)
    for world in worlds:
        for part, u, v in zip(world.problem.slices, *world.vectors, strict=True):
            odds = np.exp(u @ v.T)[pairs]
            mean = negative_matrix(part)[pairs] * odds
            standardised.append((part.positive_matrix().toarray()[pairs] - mean) / np.sqrt(mean * (1 + odds)))
    z = np.concatenate(standardised)  # 53,100 of them
    assert abs(z.mean()) < 5 / np.sqrt(len(z))
    # Counts are skewed: fourth moments are large, so the error of the variance is taken from the sample.
    assert abs((z**2).mean() - 1) < 5 * (z**2).std() / np.sqrt(len(z))


def test_the_mean_number_of_negative_pairs_is_as_asked():
    part = draw_small_world(0, 2.0, words=40, tied=False).problem.slices[0]
    assert negative_matrix(part).sum() == pytest.approx(2.0 * 40**2)


def test_counts_are_symmetric_and_the_same_for_tied_and_separate_contexts_but_for_the_diagonal():
    tied, separate = (draw_small_world(3, 2.0, words=20, tied=tied) for tied in (True, False))
    for one, other in zip(tied.problem.slices, separate.problem.slices, strict=True):
        counts, whole = one.positive_matrix().toarray(), other.positive_matrix().toarray()
        assert np.array_equal(counts, counts.T)
        assert not counts.diagonal().any()
        assert whole.diagonal().any()
        assert np.array_equal(np.triu(counts, 1), np.triu(whole, 1))
        assert np.array_equal(whole, whole.T)


def test_the_seed_decides_a_world():
    one, same, other = (draw_small_world(seed, 1.0, words=5) for seed in (4, 4, 5))
    assert np.array_equal(one.vectors, same.vectors)
    assert np.array_equal(one.problem.slices[2].values, same.problem.slices[2].values)
    assert not np.array_equal(one.vectors, other.vectors)


def test_an_exact_posterior_holds_the_truth_as_often_as_it_says():
    ranks, deviations = known_gaussian(seed=1, spread=1.0)
    for level in (0.5, 0.9):
        share = coverage(ranks, level)
        assert share.value == pytest.approx(level, abs=5 * np.sqrt(level * (1 - level) / 24_000))
        assert share.error == pytest.approx(np.sqrt(level * (1 - level) / 24_000), rel=0.4)
    assert uniformity(ranks).p_value > 0.001
    assert needed_factor(deviations) == pytest.approx(1.0, abs=0.02)


def test_a_posterior_too_narrow_by_a_factor_is_found_out_and_the_factor_told():
    ranks, deviations = known_gaussian(seed=2, spread=1 / 1.3)
    # P(|z| < 1.645 / 1.3) = 0.794
    assert coverage(ranks, 0.9).value == pytest.approx(0.794, abs=0.015)
    assert needed_factor(deviations) == pytest.approx(1.3, abs=0.03)
    shares = histogram(ranks).mean(axis=0)
    assert shares[0] > 0.13
    assert shares[-1] > 0.13
    assert uniformity(ranks).p_value < 1e-6


def test_a_posterior_off_to_one_side_has_ranks_at_one_end():
    ranks, _ = known_gaussian(seed=3, spread=1.0, shift=0.3)
    shares = histogram(ranks).mean(axis=0)
    assert shares[0] > 2 * shares[-1]
    assert uniformity(ranks).p_value < 1e-6


def test_ranks_of_normals_are_those_of_many_draws():
    rng = np.random.default_rng(5)
    truth, mean, spread = rng.standard_normal(200), rng.standard_normal(200), np.exp(rng.standard_normal(200))
    many = (mean + spread * rng.standard_normal((20_000, 200)) < truth).mean(axis=0)
    assert np.abs(
        ranks_of_normal(truth, mean, spread) + 0.5 - 200 * many
    ).max() < 0.5 + 5 * 200 * 0.5 / np.sqrt(20_000)


def test_all_ranks_together_are_covered_exactly_as_often_as_the_level_says():
    for level in (0.5, 0.9):
        assert is_covered(np.arange(DRAWS + 1), level).mean() == level
    with pytest.raises(SettingsError, match="100 draws cannot tell"):
        is_covered(np.arange(101), 0.9, draws=100)


def test_errors_are_those_between_worlds_not_between_cases():
    whole = [np.full(1000, 100), np.full(1000, 0)]  # of one world all are held, of the other none
    assert coverage(whole, 0.9).value == 0.5
    assert coverage(whole, 0.9).error == pytest.approx(0.5)
    with pytest.raises(SettingsError, match="too few"):
        uniformity(whole)
