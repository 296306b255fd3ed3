"""Algebra in linear time agrees with dense linear algebra, trajectory by trajectory."""

import numpy as np
import pytest
from oracles import model as dense

from wordtide.model.gaussians import cholesky, covariances, multiply_tridiagonal, solve, solve_transposed

BATCH = (2, 3)


def chains(length, seed=0):
    rng = np.random.default_rng(seed)
    nu = rng.uniform(0.5, 2.0, size=(length, *BATCH))
    omega = rng.normal(size=(length - 1, *BATCH))
    right = rng.normal(size=(length, *BATCH))
    return nu, omega, right


def for_each(function, *arrays):
    """The results (T, ...) of a function of single trajectories (T,), put together to a batch."""
    found = [
        [function(*(array[:, i, j] for array in arrays)) for j in range(BATCH[1])] for i in range(BATCH[0])
    ]
    return np.moveaxis(np.array(found), -1, 0)


@pytest.mark.parametrize("length", [1, 2, 6])
def test_solve_agrees_with_a_dense_solve(length):
    nu, omega, right = chains(length)
    expected = for_each(
        lambda nu, omega, right: np.linalg.solve(dense.bidiagonal(nu, omega), right), nu, omega, right
    )
    np.testing.assert_allclose(solve(nu, omega, right), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 6])
def test_solve_transposed_agrees_with_a_dense_solve(length):
    nu, omega, right = chains(length)
    expected = for_each(
        lambda nu, omega, right: np.linalg.solve(dense.bidiagonal(nu, omega).T, right), nu, omega, right
    )
    np.testing.assert_allclose(solve_transposed(nu, omega, right), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("solver", [solve, solve_transposed])
def test_one_matrix_serves_a_whole_batch(solver):
    nu, omega, right = chains(5)
    nu, omega = nu[:, :1, :1], omega[:, :1, :1]
    expected = solver(np.broadcast_to(nu, right.shape), np.broadcast_to(omega, (4, *BATCH)), right)
    assert np.array_equal(solver(nu, omega, right), expected)


@pytest.mark.parametrize("length", [1, 2, 6])
def test_solve_transposed_is_the_adjoint_of_solve(length):
    nu, omega, right = chains(length)
    other = chains(length, seed=1)[2]
    forward = (solve(nu, omega, right) * other).sum()
    assert (right * solve_transposed(nu, omega, other)).sum() == pytest.approx(forward, rel=1e-12)


@pytest.mark.parametrize("length", [1, 2, 6])
def test_solving_twice_undoes_the_tridiagonal_product(length):
    diagonal, off_diagonal = 3.0 + chains(length)[0], 0.5 * chains(length)[1]
    x = chains(length)[2]
    nu, omega = cholesky(diagonal, off_diagonal)
    product = multiply_tridiagonal(diagonal, off_diagonal, x)
    found = solve(nu, omega, solve_transposed(nu, omega, product))  # (B^T B)^-1 = B^-1 B^-T
    np.testing.assert_allclose(found, x, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 6])
def test_cholesky_factorizes_a_tridiagonal_precision(length):
    nu, omega, _ = chains(length)
    diagonal = for_each(
        lambda nu, omega: np.diag(dense.bidiagonal(nu, omega).T @ dense.bidiagonal(nu, omega)), nu, omega
    )
    off_diagonal = for_each(
        lambda nu, omega: np.diag(dense.bidiagonal(nu, omega).T @ dense.bidiagonal(nu, omega), 1), nu, omega
    )
    found_nu, found_omega = cholesky(diagonal, off_diagonal)
    np.testing.assert_allclose(found_nu, nu, rtol=1e-10)
    np.testing.assert_allclose(found_omega, omega, rtol=1e-10)


@pytest.mark.parametrize("length", [1, 2, 6])
def test_tridiagonal_product_agrees_with_a_dense_product(length):
    diagonal, off_diagonal, x = chains(length)
    expected = for_each(lambda a, b, x: dense.tridiagonal(a, b) @ x, diagonal, off_diagonal, x)
    np.testing.assert_allclose(
        multiply_tridiagonal(diagonal, off_diagonal, x), expected, rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("length", [1, 2, 6])
@pytest.mark.parametrize("lag", [0, 1])
def test_covariances_agree_with_the_dense_inverse(length, lag):
    nu, omega, _ = chains(length)
    expected = for_each(
        lambda nu, omega: np.diag(
            np.linalg.inv(dense.bidiagonal(nu, omega).T @ dense.bidiagonal(nu, omega)), lag
        ),
        nu,
        omega,
    )
    np.testing.assert_allclose(
        covariances(nu, omega)[lag], expected.reshape(-1, *BATCH), rtol=1e-9, atol=1e-12
    )
