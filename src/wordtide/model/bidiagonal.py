"""Gaussians over time with a tridiagonal precision B^T B, where B is bidiagonal: every operation is linear in T.

Time is the first axis of every tensor, so that each step of a recursion reads and writes one contiguous block. B has the
diagonal `nu` (T, ...) and, above it, `omega` (T - 1, ...) (supplement, matrix B_u). The further axes (words, dimensions) are a
batch; those of `nu` and `omega` need only broadcast to those of the vectors, so that one prior (T, 1, 1) serves all words.
"""

import torch
from torch import Tensor


def cholesky(diagonal: Tensor, off_diagonal: Tensor) -> tuple[Tensor, Tensor]:
    """The (nu, omega) with B^T B equal to a tridiagonal matrix. `diagonal`: (T, ...), `off_diagonal`: (T - 1, ...)."""
    nu = torch.empty_like(diagonal)
    omega = torch.empty_like(off_diagonal)
    nu[0] = diagonal[0].sqrt()
    for t in range(len(omega)):
        omega[t] = off_diagonal[t] / nu[t]
        nu[t + 1] = (diagonal[t + 1] - omega[t].square()).sqrt()
    return nu, omega


def solve(nu: Tensor, omega: Tensor, right: Tensor) -> Tensor:
    """The x with B x = right, all (T, ...)."""
    x = torch.empty_like(right)
    x[-1] = right[-1] / nu[-1]
    for t in range(len(right) - 2, -1, -1):
        torch.addcmul(right[t], omega[t], x[t + 1], value=-1.0, out=x[t])
        x[t].div_(nu[t])
    return x


def solve_transposed(nu: Tensor, omega: Tensor, right: Tensor) -> Tensor:
    """The y with B^T y = right, all (T, ...)."""
    y = torch.empty_like(right)
    y[0] = right[0] / nu[0]
    for t in range(1, len(right)):
        torch.addcmul(right[t], omega[t - 1], y[t - 1], value=-1.0, out=y[t])
        y[t].div_(nu[t])
    return y


def multiply_tridiagonal(diagonal: Tensor, off_diagonal: Tensor, x: Tensor) -> Tensor:
    """The product of a symmetric tridiagonal matrix, like Pi, with x (T, ...)."""
    product = diagonal * x
    product[:-1].addcmul_(off_diagonal, x[1:])
    product[1:].addcmul_(off_diagonal, x[:-1])
    return product


def covariances(nu: Tensor, omega: Tensor) -> tuple[Tensor, Tensor]:
    """Of (B^T B)^-1 the diagonal (T, ...), the marginal variances, and the lag-one covariances beside it (T - 1, ...).

    A sample solves B x = noise, so x[t] = (noise[t] - omega[t] x[t + 1]) / nu[t]: moments follow backwards in time.
    """
    variance = torch.empty_like(nu)
    lag_one = torch.empty_like(omega)
    variance[-1] = nu[-1].pow(-2)
    for t in range(len(omega) - 1, -1, -1):
        slope = omega[t] / nu[t]
        torch.mul(slope, variance[t + 1], out=lag_one[t]).neg_()
        torch.addcmul(nu[t].pow(-2), slope, lag_one[t], value=-1.0, out=variance[t])
    return variance, lag_one
