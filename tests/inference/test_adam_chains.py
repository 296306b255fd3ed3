"""The parts of Algorithm 2: mirror ascent, update steps, noise, and gradients that vanish where they must."""

import numpy as np
import pytest
import torch

from wordtide.inference.paper.adam import AdamSteps, noise_generator
from wordtide.inference.paper.chains import ChainPrior, chain_gradients, mirror_ascent
from wordtide.model.prior import ProductPrior

CPU = torch.device("cpu")
DIFFUSION = ProductPrior(np.array([1800.0, 1801.0, 1804.0, 1805.0, 1811.0]), 0.05, 1.3)
STEPS = torch.tensor([-1e8, -1e4, -3.0, -1e-3, 0.0, 1e-3, 3.0, 1e4], dtype=torch.float64)


def test_mirror_ascent_keeps_nu_positive():
    assert (mirror_ascent(torch.full_like(STEPS, 0.7), STEPS) > 0).all()


def test_mirror_ascent_keeps_nu_positive_in_single_precision():
    assert (mirror_ascent(torch.full_like(STEPS, 0.7).float(), STEPS.float()) > 0).all()


def test_mirror_ascent_satisfies_its_defining_equation():
    nu = torch.full_like(STEPS, 0.7)
    after = mirror_ascent(nu, STEPS)
    torch.testing.assert_close(
        after / nu - nu / after, STEPS, rtol=1e-12, atol=1e-12
    )  # with c1 = nu and c2 = 1 / nu


def test_mirror_ascent_equals_the_printed_formula():
    nu, step = torch.full_like(STEPS, 0.7)[2:], STEPS[2:]
    printed = 0.5 * nu * step + ((0.5 * nu * step) ** 2 + nu**2).sqrt()
    torch.testing.assert_close(mirror_ascent(nu, step), printed, rtol=1e-12, atol=0.0)


def test_natural_basis_turns_white_noise_into_the_prior():
    prior = ChainPrior.of(DIFFUSION, CPU, torch.float64)
    basis = prior.mean(torch.eye(5, dtype=torch.float64)[:, :, None])[:, :, 0].numpy()  # the matrix A
    np.testing.assert_allclose(np.diag(basis @ basis.T), DIFFUSION.marginal, rtol=1e-10)
    pi = (
        np.diag(DIFFUSION.precision()[0])
        + np.diag(DIFFUSION.precision()[1], 1)
        + np.diag(DIFFUSION.precision()[1], -1)
    )
    np.testing.assert_allclose(basis @ basis.T @ pi, np.eye(5), atol=1e-10)


def expected_gradients_without_data(rho, nu, omega):
    """Exact expectations over the noise, trajectory (T,): moments of degree two are those of the T unit vectors and their
    negatives, scaled by sqrt(T).
    """
    size = len(rho)
    unit = np.sqrt(size) * torch.eye(size, dtype=torch.float64)
    noise = torch.cat([unit, -unit], dim=1)[:, :, None]
    spread = (part[:, None, None].expand(-1, 2 * size, 1) for part in (rho, nu, omega))
    found = chain_gradients(ChainPrior.of(DIFFUSION, CPU, torch.float64), *spread, noise, torch.zeros_like)
    return found.rho.mean(dim=1), found.nu.mean(dim=1), found.omega.mean(dim=1)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_without_data_the_expected_gradients_vanish_at_the_prior(which):
    prior = ChainPrior.of(DIFFUSION, CPU, torch.float64)
    found = expected_gradients_without_data(
        torch.zeros(5, dtype=torch.float64), prior.nu.flatten(), prior.omega.flatten()
    )
    assert found[which].abs().max() < 1e-10


@pytest.mark.parametrize("which", [0, 1, 2])
def test_without_data_the_expected_gradients_do_not_vanish_elsewhere(which):
    prior = ChainPrior.of(DIFFUSION, CPU, torch.float64)
    away = (torch.ones(5, dtype=torch.float64), 1.2 * prior.nu.flatten(), 0.8 * prior.omega.flatten())
    assert expected_gradients_without_data(*away)[which].abs().min() > 1e-3


def test_steps_for_all_words_are_those_of_adam():
    gradients = torch.randn(6, 3, 4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    steps = AdamSteps(gradients[0], (0.9, 0.999), 1e-8)
    moved = torch.zeros_like(gradients[0])
    twin = torch.zeros_like(moved)
    adam = torch.optim.Adam([twin], lr=0.01, betas=(0.9, 0.999), eps=1e-8, maximize=True)
    for count, gradient in enumerate(gradients):
        moved += steps.step(gradient.clone(), None, 0.01, count)
        twin.grad = gradient.clone()
        adam.step()
        torch.testing.assert_close(moved, twin, rtol=1e-12, atol=1e-14)


def test_steps_for_drawn_words_are_those_of_sparse_adam():
    generator = torch.Generator().manual_seed(0)
    slices, words = 3, 5
    steps = AdamSteps(torch.zeros(slices, words, 2, dtype=torch.float64), (0.9, 0.999), 1e-30)
    moved = torch.zeros(slices, words, 2, dtype=torch.float64)
    twin = torch.zeros(words, slices, 2, dtype=torch.float64)  # SparseAdam wants words first
    adam = torch.optim.SparseAdam([twin], lr=0.01, betas=(0.9, 0.999), eps=1e-30, maximize=True)
    for count in range(8):
        rows = torch.randperm(words, generator=generator)[:2].sort().values
        gradient = torch.randn(slices, 2, 2, generator=generator, dtype=torch.float64)
        moved.index_add_(1, rows, steps.step(gradient.clone(), rows, 0.01, count))
        values = gradient.transpose(0, 1).contiguous()
        twin.grad = torch.sparse_coo_tensor(rows[None], values, twin.shape, check_invariants=True)
        adam.step()
    torch.testing.assert_close(moved, twin.transpose(0, 1), rtol=1e-12, atol=1e-14)


def test_moments_of_words_not_drawn_stay():
    steps = AdamSteps(torch.zeros(2, 4, 1, dtype=torch.float64), (0.9, 0.999), 1e-8)
    steps.step(torch.ones(2, 2, 1, dtype=torch.float64), torch.tensor([0, 2]), 0.01, 0)
    assert (steps.first[:, [0, 2]] != 0).all()
    assert (steps.first[:, [1, 3]] == 0).all()


def test_noise_depends_on_the_place_alone():
    one, other = (torch.randn(5, generator=noise_generator(CPU, 1, 2, 3)) for _ in range(2))
    assert torch.equal(one, other)


@pytest.mark.parametrize("place", [(2, 2, 3), (1, 3, 3), (1, 2, 4), (3, 2, 1), (-1, 2, 3)])
def test_noise_differs_between_places(place):
    there = torch.randn(5, generator=noise_generator(CPU, *place))
    assert not torch.equal(torch.randn(5, generator=noise_generator(CPU, 1, 2, 3)), there)
