"""The likelihood on active words is the likelihood on all words, and its gradients are its derivatives."""

from itertools import combinations

import numpy as np
import pytest
import torch
from oracles import model as dense
from scipy.special import expit

from wordtide.errors import SettingsError
from wordtide.inference.problem import slice_data
from wordtide.model.likelihood import (
    SliceTensors,
    expected_log_likelihood,
    gradients,
    log_likelihood,
    minibatch_gradients,
)

SIZE, ACTIVE, DIM = 7, [0, 2, 3, 5, 6], 3


def world(seed=0, ratio=1.5, dtype=torch.float64):
    rng = np.random.default_rng(seed)
    counts = dense.random_counts(rng, SIZE, ACTIVE)
    part = SliceTensors.of(dense.problem_from([counts], [1800.0], ratio).slices[0], dtype=dtype)
    u, v = torch.as_tensor(rng.normal(size=(2, SIZE, DIM)))
    return counts, dense.negative_counts(counts, ratio), part, u, v


def dense_gamma(counts, negatives, u, v):
    """Gamma_u as the supplement prints it, (L, d)."""
    return ((counts + negatives) * expit(-(u @ v.T).numpy()) - negatives) @ v.numpy()


def test_log_likelihood_on_active_words_equals_the_dense_sum_over_all_words():
    counts, negatives, part, u, v = world()
    expected = dense.log_likelihood(torch.as_tensor(counts), torch.as_tensor(negatives), u, v)
    assert float(log_likelihood(part, u[ACTIVE], v[ACTIVE])) == pytest.approx(float(expected), rel=1e-12)


def test_log_likelihood_stays_finite_for_huge_scores():
    _, _, part, u, v = world(dtype=torch.float32)
    assert torch.isfinite(log_likelihood(part, 1e3 * u[ACTIVE].float(), 1e3 * v[ACTIVE].float()))


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
    u.requires_grad_()
    v.requires_grad_()
    dense.log_likelihood(torch.as_tensor(counts), torch.as_tensor(negatives), u, v).backward()
    with torch.no_grad():
        gamma_u, gamma_v = gradients(part, u[ACTIVE], v[ACTIVE])
    np.testing.assert_allclose(gamma_u, u.grad[ACTIVE], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(gamma_v, v.grad[ACTIVE], rtol=1e-10, atol=1e-10)


def test_gradients_in_a_used_work_matrix_are_the_same_bits():
    _, _, part, u, v = world()
    work = torch.full((len(ACTIVE), len(ACTIVE)), torch.nan, dtype=torch.float64)
    for fresh, reused in zip(
        gradients(part, u[ACTIVE], v[ACTIVE]), gradients(part, u[ACTIVE], v[ACTIVE], work), strict=True
    ):
        assert torch.equal(fresh, reused)


def test_gradients_in_single_precision_agree_with_double():
    _, _, part, u, v = world()
    single = world(dtype=torch.float32)[2]
    expected, found = (
        gradients(part, u[ACTIVE], v[ACTIVE]),
        gradients(single, u[ACTIVE].float(), v[ACTIVE].float()),
    )
    torch.testing.assert_close(found[0].double(), expected[0], rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(found[1].double(), expected[1], rtol=1e-5, atol=1e-4)


def test_minibatch_of_all_words_is_the_full_gradient():
    _, _, part, u, v = world()
    everyone = torch.arange(len(ACTIVE))
    found = minibatch_gradients(part, everyone, everyone, u[ACTIVE], v[ACTIVE], scale=1.0)
    expected = gradients(part, u[ACTIVE], v[ACTIVE])
    torch.testing.assert_close(found[0], expected[0], rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(found[1], expected[1], rtol=1e-13, atol=1e-13)


def test_minibatch_follows_the_order_in_which_its_words_are_given():
    _, _, part, u, v = world()
    words, contexts = torch.tensor([3, 0]), torch.tensor([4, 1, 2])
    u, v = u[ACTIVE], v[ACTIVE]
    found = minibatch_gradients(part, words, contexts, u[words], v[contexts], scale=2.0)
    ordered = minibatch_gradients(
        part, words.flip(0), contexts.sort().values, u[words.flip(0)], v[contexts.sort().values], 2.0
    )
    torch.testing.assert_close(found[0].flip(0), ordered[0], rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(found[1][[1, 2, 0]], ordered[1], rtol=1e-13, atol=1e-13)


def test_minibatch_gradients_average_to_the_full_gradient_over_all_minibatches():
    counts, negatives, part, u, v = world()
    drawn = 3  # L' of L, absent words included: they are drawn too, and have no place in the slice
    sums = torch.zeros(2, len(ACTIVE), DIM, dtype=torch.float64)
    times = torch.zeros(2, len(ACTIVE), 1, dtype=torch.float64)
    batches = [
        torch.tensor([ACTIVE.index(i) for i in batch if i in ACTIVE])
        for batch in combinations(range(SIZE), drawn)
    ]
    for words in batches:
        for contexts in batches:
            found = minibatch_gradients(
                part, words, contexts, u[ACTIVE][words], v[ACTIVE][contexts], SIZE / drawn
            )
            for side, (places, gamma) in enumerate(zip((words, contexts), found, strict=True)):
                sums[side].index_add_(0, places, gamma)
                times[side].index_add_(0, places, torch.ones(len(places), 1, dtype=torch.float64))
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
    moments = (torch.as_tensor(part[ACTIVE, None]) for part in (mean[0], variance[0], mean[1], variance[1]))
    found, error = expected_log_likelihood(
        part, *moments, samples=4000, generator=torch.Generator().manual_seed(0)
    )
    assert abs(found - exact) < 3 * error < 0.05 * abs(exact)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_expected_log_likelihood_without_variance_is_the_log_likelihood(dtype):
    _, _, part, u, v = world()
    u, v = u[ACTIVE].to(dtype), v[ACTIVE].to(dtype)
    none = torch.zeros_like(u)
    found, error = expected_log_likelihood(part, u, none, v, none, samples=2, generator=torch.Generator())
    assert found == pytest.approx(float(log_likelihood(part, u.double(), v.double())), rel=1e-12)
    assert error == 0.0


def test_a_single_sample_is_refused_because_it_has_no_standard_error():
    _, _, part, u, v = world()
    with pytest.raises(SettingsError, match="at least 2 samples"):
        expected_log_likelihood(
            part, u[ACTIVE], u[ACTIVE] ** 2, v[ACTIVE], v[ACTIVE] ** 2, 1, torch.Generator()
        )


def test_a_slice_without_negative_pairs_is_refused():
    counts = dense.random_counts(np.random.default_rng(0), SIZE, ACTIVE)
    with pytest.raises(SettingsError, match="ratio like 1"):
        SliceTensors.of(slice_data(dense.sparse.csr_array(counts), ratio=0.0, exponent=0.75))
