"""The likelihood on active words is the likelihood on all words, and its gradients are its derivatives."""

from itertools import combinations

import numpy as np
import pytest
from monte_carlo_elbo import expected_log_likelihood
from oracles import model as dense
from scipy.special import expit

from wordtide.errors import SettingsError
from wordtide.inference.problem import PairSettings, slice_data
from wordtide.model import likelihood
from wordtide.model.likelihood import (
    ActiveSlice,
    GaussianVectors,
    gradients,
    log_likelihood,
    minibatch_gradients,
)

SIZE, ACTIVE, DIM = 7, [0, 2, 3, 5, 6], 3


def world(seed=0, ratio=1.5, dtype=np.float64):
    rng = np.random.default_rng(seed)
    counts = dense.random_counts(rng, SIZE, ACTIVE)
    part = ActiveSlice.of(dense.problem_from([counts], [1800.0], ratio).slices[0], dtype)
    u, v = rng.normal(size=(2, SIZE, DIM)).astype(dtype)
    return counts, dense.negative_counts(counts, ratio), part, u, v


def dense_gamma(counts, negatives, u, v):
    """Gamma_u as the supplement prints it (Eq. S12), (L, d)."""
    return ((counts + negatives) * expit(-(u @ v.T)) - negatives) @ v


def test_log_likelihood_on_active_words_equals_the_dense_sum_over_all_words():
    counts, negatives, part, u, v = world()
    expected = dense.log_likelihood(counts, negatives, u, v)
    assert log_likelihood(part, u[ACTIVE], v[ACTIVE]) == pytest.approx(expected, rel=1e-12)


def test_log_likelihood_without_self_pairs_leaves_out_the_diagonal():
    counts, negatives, part, u, v = world()
    assert np.diag(counts).sum() > 0
    np.fill_diagonal(counts, 0.0)
    np.fill_diagonal(negatives, 0.0)
    expected = dense.log_likelihood(counts, negatives, u, v)
    found = log_likelihood(part, u[ACTIVE], v[ACTIVE], self_pairs=False)
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_shift_is_one_more_dimension_of_all_vectors():
    _, _, part, u, v = world()
    u, v = u[ACTIVE], v[ACTIVE]
    longer = np.column_stack([u, np.full(len(u), 0.7)]), np.column_stack([v, np.ones(len(v))])
    assert log_likelihood(part, u, v, shift=0.7) == pytest.approx(log_likelihood(part, *longer), rel=1e-12)


def test_log_likelihood_of_huge_scores_is_that_without_overflow():
    counts, negatives, part, u, v = world(dtype=np.float32)
    u, v = 1e3 * u, 1e3 * v
    scores = u.astype(np.float64) @ v.T.astype(np.float64)
    expected = -(counts * np.logaddexp(0, -scores) + negatives * np.logaddexp(0, scores)).sum()
    assert log_likelihood(part, u[ACTIVE], v[ACTIVE]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_rows_do_not_change_the_score(monkeypatch, dtype):
    _, _, part, u, v = world(dtype=dtype)
    u, v = u[ACTIVE], v[ACTIVE]
    whole = log_likelihood(part, u, v), *gradients(part, u, v)
    monkeypatch.setattr(likelihood, "_ELEMENTS", 13)
    monkeypatch.setattr(likelihood, "_FEWEST_ROWS", 1)
    close = {"rtol": 20 * np.finfo(dtype).eps, "atol": 50 * np.finfo(dtype).eps}
    for found, expected in zip((log_likelihood(part, u, v), *gradients(part, u, v)), whole, strict=True):
        np.testing.assert_allclose(found, expected, **close)


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_gradients_equal_the_printed_gamma_on_all_words(scale):
    counts, negatives, part, u, v = world()
    gamma_u, gamma_v = gradients(part, scale * u[ACTIVE], scale * v[ACTIVE])
    np.testing.assert_allclose(
        gamma_u, dense_gamma(counts, negatives, scale * u, scale * v)[ACTIVE], rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(
        gamma_v, dense_gamma(counts.T, negatives.T, scale * v, scale * u)[ACTIVE], rtol=1e-10, atol=1e-10
    )


def test_printed_gamma_vanishes_for_absent_words():
    counts, negatives, _, u, v = world()
    absent = [i for i in range(SIZE) if i not in ACTIVE]
    assert (dense_gamma(counts, negatives, u, v)[absent] == 0.0).all()


def test_gradients_are_the_derivatives_of_the_dense_likelihood():
    counts, negatives, part, u, v = world()
    by_u = dense.derivatives(lambda u: dense.log_likelihood(counts, negatives, u, v), u)
    by_v = dense.derivatives(lambda v: dense.log_likelihood(counts, negatives, u, v), v)
    gamma_u, gamma_v = gradients(part, u[ACTIVE], v[ACTIVE])
    np.testing.assert_allclose(gamma_u, by_u[ACTIVE], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(gamma_v, by_v[ACTIVE], rtol=1e-10, atol=1e-10)


def test_gradients_are_finite_differences_of_the_log_likelihood():
    _, _, part, u, v = world()
    u, v = u[ACTIVE], v[ACTIVE]
    gamma_u, _ = gradients(part, u, v)
    for place in np.ndindex(u.shape):
        step = np.zeros_like(u)
        step[place] = 1e-5
        slope = (log_likelihood(part, u + step, v) - log_likelihood(part, u - step, v)) / 2e-5
        assert gamma_u[place] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_gradients_in_single_precision_agree_with_double():
    _, _, part, u, v = world()
    single = world(dtype=np.float32)[2]
    expected = gradients(part, u[ACTIVE], v[ACTIVE])
    found = gradients(single, u[ACTIVE].astype(np.float32), v[ACTIVE].astype(np.float32))
    for side in range(2):
        assert found[side].dtype == np.float32
        np.testing.assert_allclose(found[side], expected[side], rtol=1e-5, atol=1e-4)


def test_minibatch_of_all_words_is_the_full_gradient():
    _, _, part, u, v = world()
    everyone = np.arange(len(ACTIVE))
    found = minibatch_gradients(part, everyone, everyone, u[ACTIVE], v[ACTIVE], scale=1.0)
    expected = gradients(part, u[ACTIVE], v[ACTIVE])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13, atol=1e-13)


def test_minibatch_follows_the_order_in_which_its_words_are_given():
    _, _, part, u, v = world()
    words, contexts = np.array([3, 0]), np.array([4, 1, 2])
    u, v = u[ACTIVE], v[ACTIVE]
    found = minibatch_gradients(part, words, contexts, u[words], v[contexts], scale=2.0)
    flipped, ascending = words[::-1].copy(), np.sort(contexts)
    ordered = minibatch_gradients(part, flipped, ascending, u[flipped], v[ascending], 2.0)
    np.testing.assert_allclose(found[0][::-1], ordered[0], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found[1][[1, 2, 0]], ordered[1], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("words", "contexts"), [([], [0, 1]), ([0, 1], []), ([], [])])
def test_a_minibatch_may_have_no_active_words_or_contexts(words, contexts):
    _, _, part, u, v = world()
    words, contexts = np.array(words, dtype=np.int64), np.array(contexts, dtype=np.int64)
    gamma_u, gamma_v = minibatch_gradients(part, words, contexts, u[words], v[contexts], scale=2.0)
    assert gamma_u.shape == (len(words), DIM)
    assert gamma_v.shape == (len(contexts), DIM)
    assert not gamma_u.any()
    assert not gamma_v.any()


def test_minibatch_gradients_average_to_the_full_gradient_over_all_minibatches():
    counts, negatives, part, u, v = world()
    drawn = 3  # L' of L, absent words included: they are drawn too, and have no place in the slice
    sums, times = np.zeros((2, len(ACTIVE), DIM)), np.zeros((2, len(ACTIVE), 1))
    batches = [
        np.array([ACTIVE.index(i) for i in batch if i in ACTIVE], dtype=np.int64)
        for batch in combinations(range(SIZE), drawn)
    ]
    for words in batches:
        for contexts in batches:
            found = minibatch_gradients(
                part, words, contexts, u[ACTIVE][words], v[ACTIVE][contexts], SIZE / drawn
            )
            for side, (places, gamma) in enumerate(zip((words, contexts), found, strict=True)):
                sums[side, places] += gamma
                times[side, places] += 1.0
    expected = dense_gamma(counts, negatives, u, v)[ACTIVE], dense_gamma(counts.T, negatives.T, v, u)[ACTIVE]
    np.testing.assert_allclose(sums / times, np.stack(expected), rtol=1e-10, atol=1e-10)


def test_expected_log_likelihood_agrees_with_quadrature():
    counts, negatives, part, _, _ = world()
    rng = np.random.default_rng(1)
    mean, variance = rng.normal(size=(2, SIZE)), rng.uniform(0.05, 0.5, size=(2, SIZE))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    exact = 0.0
    for i in ACTIVE:
        for j in ACTIVE:
            u, v = mean[0, i] + np.sqrt(variance[0, i]) * nodes, mean[1, j] + np.sqrt(variance[1, j]) * nodes
            scores = np.outer(u, v)
            values = -counts[i, j] * np.logaddexp(0, -scores) - negatives[i, j] * np.logaddexp(0, scores)
            exact += weights @ values @ weights / (2 * np.pi)
    sides = (GaussianVectors(mean[side][ACTIVE, None], variance[side][ACTIVE, None]) for side in range(2))
    found, error = expected_log_likelihood(part, *sides, samples=4000, generator=np.random.default_rng(0))
    assert abs(found - exact) < 3 * error < 0.05 * abs(exact)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expected_log_likelihood_without_variance_is_the_log_likelihood(dtype):
    _, _, part, u, v = world()
    u, v = u[ACTIVE].astype(dtype), v[ACTIVE].astype(dtype)
    sides = (GaussianVectors(mean, np.zeros_like(mean)) for mean in (u, v))
    found, error = expected_log_likelihood(part, *sides, samples=2, generator=np.random.default_rng())
    assert found == pytest.approx(log_likelihood(part, u, v), rel=1e-12)
    assert error == 0.0


def test_a_single_sample_is_refused_because_it_has_no_standard_error():
    _, _, part, u, v = world()
    sides = (GaussianVectors(mean[ACTIVE], mean[ACTIVE] ** 2) for mean in (u, v))
    with pytest.raises(SettingsError, match="at least 2 samples"):
        expected_log_likelihood(part, *sides, 1, np.random.default_rng())


def test_a_slice_without_negative_pairs_is_refused():
    counts = dense.random_counts(np.random.default_rng(0), SIZE, ACTIVE)
    with pytest.raises(SettingsError, match="ratio like 1"):
        ActiveSlice.of(slice_data(dense.sparse.csr_array(counts), PairSettings(0.0, 0.75)))
