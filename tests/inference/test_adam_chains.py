"""The parts of Algorithm 2: mirror ascent, Adam, noise, and expected gradients at the prior."""

import numpy as np
import pytest
from oracles import model as dense

from wordtide.inference.paper.gradients import (
    Adam,
    ChainPrior,
    chain_gradients,
    mirror_ascent,
    noise_generator,
)
from wordtide.model.prior import ProductPrior

DIFFUSION = ProductPrior(np.array([1800.0, 1801.0, 1804.0, 1805.0, 1811.0]), 0.05, 1.3)
STEPS = np.array([-1e8, -1e4, -3.0, -1e-3, 0.0, 1e-3, 3.0, 1e4])


def test_mirror_ascent_keeps_nu_positive():
    assert (mirror_ascent(np.full_like(STEPS, 0.7), STEPS) > 0).all()


def test_mirror_ascent_keeps_nu_positive_in_single_precision():
    assert (mirror_ascent(np.full_like(STEPS, 0.7, dtype=np.float32), STEPS.astype(np.float32)) > 0).all()


def test_mirror_ascent_satisfies_its_defining_equation():
    nu = np.full_like(STEPS, 0.7)
    after = mirror_ascent(nu, STEPS)
    np.testing.assert_allclose(after / nu - nu / after, STEPS, rtol=1e-12, atol=1e-12)  # c1 = nu, c2 = 1 / nu


def test_mirror_ascent_equals_the_printed_formula():
    nu, step = np.full_like(STEPS, 0.7)[2:], STEPS[2:]
    printed = 0.5 * nu * step + np.sqrt((0.5 * nu * step) ** 2 + nu**2)
    np.testing.assert_allclose(mirror_ascent(nu, step), printed, rtol=1e-12)


def test_natural_basis_turns_white_noise_into_the_prior():
    prior = ChainPrior.of(DIFFUSION, np.float64)
    basis = prior.mean(np.eye(5)[:, :, None])[:, :, 0]  # the matrix A
    np.testing.assert_allclose(np.diag(basis @ basis.T), DIFFUSION.marginal, rtol=1e-10)
    pi = dense.tridiagonal(*DIFFUSION.precision())
    np.testing.assert_allclose(basis @ basis.T @ pi, np.eye(5), atol=1e-10)


def expected_gradients_without_data(rho, nu, omega):
    """Exact expectations over the noise, of trajectories (T,).

    Moments of degree two are those of the T unit vectors and their negatives, scaled by sqrt(T).
    """
    size = len(rho)
    unit = np.sqrt(size) * np.eye(size)
    noise = np.hstack([unit, -unit])[:, :, None]
    spread = (np.tile(part[:, None, None], (1, 2 * size, 1)) for part in (rho, nu, omega))
    found = chain_gradients(ChainPrior.of(DIFFUSION, np.float64), *spread, noise, np.zeros_like)
    return found.rho.mean(axis=1), found.nu.mean(axis=1), found.omega.mean(axis=1)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_without_data_the_expected_gradients_vanish_at_the_prior(which):
    prior = ChainPrior.of(DIFFUSION, np.float64)
    found = expected_gradients_without_data(np.zeros(5), prior.nu.ravel(), prior.omega.ravel())
    assert np.abs(found[which]).max() < 1e-10


@pytest.mark.parametrize("which", [0, 1, 2])
def test_without_data_the_expected_gradients_do_not_vanish_elsewhere(which):
    prior = ChainPrior.of(DIFFUSION, np.float64)
    away = (np.ones(5), 1.2 * prior.nu.ravel(), 0.8 * prior.omega.ravel())
    assert np.abs(expected_gradients_without_data(*away)[which]).min() > 1e-3


class TextbookAdam:
    """Algorithm 1 of Kingma and Ba (2015) for one number that is maximized."""

    def __init__(self, rate, betas, epsilon):
        self.rate, self.betas, self.epsilon = rate, betas, epsilon
        self.m = self.v = 0.0

    def step(self, gradient, t):
        self.m = self.betas[0] * self.m + (1 - self.betas[0]) * gradient
        self.v = self.betas[1] * self.v + (1 - self.betas[1]) * gradient**2
        m, v = self.m / (1 - self.betas[0] ** t), self.v / (1 - self.betas[1] ** t)
        return self.rate * m / (v**0.5 + self.epsilon)


@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("epsilon", [1e-8, 0.1])
def test_steps_for_all_words_are_those_of_the_textbook(dtype, close, epsilon):
    gradients = np.random.default_rng(0).normal(size=(6, 3, 4, 2)).astype(dtype)
    adam = Adam(gradients[0], (0.9, 0.999), epsilon)
    twins = {place: TextbookAdam(0.01, (0.9, 0.999), epsilon) for place in np.ndindex(3, 4, 2)}
    for count, gradient in enumerate(gradients):
        step = adam.step(gradient, 0.01)
        assert step.dtype == dtype
        for place, twin in twins.items():
            assert step[place] == pytest.approx(twin.step(float(gradient[place]), count + 1), rel=close)


def test_steps_for_drawn_words_leave_the_moments_of_others_and_count_for_all():
    rng = np.random.default_rng(0)
    adam = Adam(np.zeros((3, 5, 2)), (0.9, 0.999), 1e-8)
    twins = {place: TextbookAdam(0.01, (0.9, 0.999), 1e-8) for place in np.ndindex(3, 5, 2)}
    for count in range(8):
        rows = np.sort(rng.choice(5, 2, replace=False))
        gradient = rng.normal(size=(3, 2, 2))
        step = adam.step(gradient, 0.01, rows)
        for t, i, k in np.ndindex(step.shape):
            twin = twins[t, rows[i], k]
            assert step[t, i, k] == pytest.approx(twin.step(gradient[t, i, k], count + 1), rel=1e-12)
    np.testing.assert_allclose(adam.first, np.reshape([twin.m for twin in twins.values()], (3, 5, 2)))


def test_steps_do_not_depend_on_the_memory_layout_of_the_gradient():
    gradient = np.random.default_rng(0).normal(size=(3, 4, 2))
    transposed = np.asfortranarray(gradient)
    one, other = (Adam(layout, (0.9, 0.999), 1e-8).step(layout, 0.01) for layout in (gradient, transposed))
    assert np.array_equal(one, other)


def test_moments_of_words_not_drawn_stay():
    adam = Adam(np.zeros((2, 4, 1)), (0.9, 0.999), 1e-8)
    adam.step(np.ones((2, 2, 1)), 0.01, np.array([0, 2]))
    assert (adam.first[:, [0, 2]] != 0).all()
    assert (adam.first[:, [1, 3]] == 0).all()


def test_noise_depends_on_the_place_alone():
    one, other = (noise_generator(1, 2, 3).standard_normal(5) for _ in range(2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("place", [(2, 2, 3), (1, 3, 3), (1, 2, 4), (3, 2, 1), (-1, 2, 3)])
def test_noise_differs_between_places(place):
    there = noise_generator(*place).standard_normal(5)
    assert not np.array_equal(noise_generator(1, 2, 3).standard_normal(5), there)
