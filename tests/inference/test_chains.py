"""Whole trajectories: the smoother pass on the knots is the dense algebra on all slices, compiled or by tensors."""

import numpy as np
import pytest
import torch
from oracles import model as dense
from oracles import natural

from wordtide.inference.compute import compute
from wordtide.inference.natural.chains import Chains, Trajectories
from wordtide.model.knots import Knots
from wordtide.model.prior import PRIORS, ProductPrior

TIMES = np.array([1800.0, 1801.0, 1801.5, 1805.0, 1806.0, 1813.0])
#: The slices of each word: always there, with gaps, once, never, late, at both ends.
SLICES = [[0, 1, 2, 3, 4, 5], [0, 3, 4], [2], [], [4, 5], [0, 5]]
KNOTS = Knots(np.cumsum([0, *map(len, SLICES)]), np.concatenate(SLICES).astype(np.int32))
DIFFUSIONS = [
    prior(TIMES, *numbers) for prior in PRIORS.values() for numbers in ((0.05, 1.3), (1e-4, 1.0), (3.0, 0.4))
]
DIM = 2
FAR = 1e6  # a cap that nothing reaches


@pytest.fixture(params=[(True, 1), (True, 3), (False, 1)], ids=["compiled", "threads", "tensors"])
def make(request):
    fused, threads = request.param
    with compute("cpu", "float64", threads) as computing:
        yield lambda diffusion: Chains(KNOTS, diffusion, computing, fused)


def drawn(seed=0):
    """Means, precisions and right-hand sides at the knots; some knots have no precision at all."""
    rng = np.random.default_rng(seed)
    h = rng.gamma(0.5, 20.0, (len(KNOTS), DIM)) * (rng.random((len(KNOTS), DIM)) < 0.8)
    mean, b = rng.standard_normal((2, len(KNOTS), DIM))
    return Trajectories(*(torch.as_tensor(array) for array in (mean, h, np.ones_like(h), 5 * b)))


def smoothed(chains, trajectories):
    """Move all the way, without a cap: means and variances are then the smoother's."""
    chains.move(trajectories, 1.0, FAR)
    return trajectories


def each_trajectory():
    """Slices and rows of every word, and coordinate."""
    for word, slices in enumerate(SLICES):
        for k in range(DIM):
            yield slices, KNOTS.rows_of(word), k


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_smoothed_means_are_those_of_the_dense_inverse(make, diffusion):
    before = drawn()
    found = smoothed(make(diffusion), drawn()).mean.numpy()
    for slices, rows, k in each_trajectory():
        mean, _ = natural.chain_posterior(
            diffusion, slices, before.h[rows, k].numpy(), before.b[rows, k].numpy()
        )
        np.testing.assert_allclose(found[rows, k], mean[slices], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_smoothed_variances_are_those_of_the_dense_inverse(make, diffusion):
    before = drawn()
    found = smoothed(make(diffusion), drawn()).variance.numpy()
    for slices, rows, k in each_trajectory():
        _, covariance = natural.chain_posterior(
            diffusion, slices, before.h[rows, k].numpy(), before.b[rows, k].numpy()
        )
        np.testing.assert_allclose(found[rows, k], np.diag(covariance)[slices], rtol=1e-9)


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_without_data_the_smoother_gives_the_prior_back(make, diffusion):
    trajectories = drawn()
    trajectories.h.zero_()
    trajectories.b.zero_()
    found = smoothed(make(diffusion), trajectories)
    prior = np.diag(natural.prior_covariance(diffusion))[KNOTS.slices]
    np.testing.assert_allclose(found.variance.numpy(), np.repeat(prior[:, None], DIM, axis=1), rtol=1e-9)
    assert (found.mean == 0.0).all()


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_divergence_is_the_dense_one_over_all_slices(make, diffusion):
    """Between knots q is the prior given the knots, so slices where a word is absent add nothing."""
    chains = make(diffusion)
    trajectories = smoothed(chains, drawn())
    prior = natural.prior_covariance(diffusion)
    expected = 0.0
    for slices, rows, k in each_trajectory():
        mean = np.zeros(len(TIMES))
        if slices:
            at_knots = trajectories.mean[rows, k].numpy()
            mean = prior[:, slices] @ np.linalg.solve(prior[np.ix_(slices, slices)], at_knots)
        h = trajectories.h[rows, k].numpy()
        _, covariance = natural.chain_posterior(diffusion, slices, h, np.zeros(len(slices)))
        expected += dense.gaussian_kl(mean, covariance, np.zeros(len(TIMES)), prior)
    assert chains.divergence(trajectories) == pytest.approx(expected, rel=1e-9)


def test_divergence_of_many_precise_knots_does_not_overflow():
    diffusion = ProductPrior(np.arange(40.0), 0.5, 1.0)
    knots = Knots(np.array([0, 40]), np.arange(40, dtype=np.int32))
    h = np.full((40, 1), 1e30)  # det(Pi + diag h) is about 1e1200, beyond any floating-point number
    mean, variance = torch.zeros(40, 1, dtype=torch.float64), torch.as_tensor(1 / h)
    precision = np.diag(h[:, 0]) + dense.prior_precision(diffusion.times, 0.5, 1.0)
    log_determinants = (
        np.linalg.slogdet(precision)[1] + np.linalg.slogdet(natural.prior_covariance(diffusion))[1]
    )
    with compute("cpu", "float64", 1) as computing:
        found = Chains(knots, diffusion, computing).divergence(
            Trajectories(mean, torch.as_tensor(h), variance, mean.clone())
        )
    assert found == pytest.approx(0.5 * (log_determinants - 40), rel=1e-9)


@pytest.mark.parametrize("other", [1.0, 0.2, 5.0])
@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_what_the_other_knots_say_is_the_dense_posterior_without_the_knots_own_message(
    make, diffusion, other
):
    """The messages are those under one prior; a prior with another constant puts them together."""
    chains, together = make(diffusion), diffusion.with_constant(other * diffusion.constant)
    trajectories = smoothed(chains, drawn())
    mean, h = trajectories.mean.numpy().copy(), trajectories.h.numpy().copy()
    chains.leave_out(trajectories, together)
    for slices, rows, k in each_trajectory():
        prior = natural.prior_covariance(diffusion)[np.ix_(slices, slices)]
        messages = (np.linalg.inv(prior) + np.diag(h[rows, k])) @ mean[rows, k]
        for place in range(len(slices)):
            rest = np.arange(len(slices)) != place
            others = [slices[n] for n in np.flatnonzero(rest)]
            center, covariance = natural.chain_posterior(together, others, h[rows, k][rest], messages[rest])
            row, t = rows.start + place, slices[place]
            assert trajectories.b[row, k] == pytest.approx(center[t], rel=1e-6, abs=1e-8)
            assert trajectories.variance[row, k] == pytest.approx(covariance[t, t], rel=1e-7)


def test_variances_come_back_after_leaving_out(make):
    chains = make(DIFFUSIONS[0])
    trajectories = smoothed(chains, drawn())
    before = trajectories.variance.clone()
    chains.leave_out(trajectories, DIFFUSIONS[0])
    assert not torch.equal(trajectories.variance, before)
    chains.restore_variances(trajectories)
    assert torch.allclose(trajectories.variance, before, rtol=1e-12)


def test_a_step_goes_the_rate_of_the_way(make):
    chains, trajectories, before = make(DIFFUSIONS[0]), drawn(), drawn().mean
    target = smoothed(make(DIFFUSIONS[0]), drawn()).mean
    chains.move(trajectories, 0.3, FAR)
    torch.testing.assert_close(trajectories.mean, before + 0.3 * (target - before), rtol=1e-12, atol=1e-12)


def test_a_word_whose_step_is_too_long_at_one_knot_is_slowed_as_a_whole(make):
    before, cap, rate = drawn().mean, 0.7, 0.5
    target = smoothed(make(DIFFUSIONS[0]), drawn()).mean
    trajectories = drawn()
    make(DIFFUSIONS[0]).move(trajectories, rate, cap)
    for word in range(len(SLICES)):
        rows = KNOTS.rows_of(word)
        step = (target - before)[rows]
        longest = max((float(length) for length in step.norm(dim=1)), default=0.0)
        shrink = min(1.0, cap / longest) if longest else 1.0
        torch.testing.assert_close(
            trajectories.mean[rows] - before[rows], rate * shrink * step, rtol=1e-9, atol=1e-12
        )


def test_steps_within_the_trust_region_are_not_shortened(make):
    target = smoothed(make(DIFFUSIONS[0]), drawn()).mean
    trajectories = drawn()
    trajectories.mean.copy_(target + 0.01)
    make(DIFFUSIONS[0]).move(trajectories, 1.0, 0.1)
    torch.testing.assert_close(trajectories.mean, target, rtol=1e-12, atol=1e-12)


def test_another_diffusion_is_used_from_then_on(make):
    chains = make(DIFFUSIONS[0])
    chains.set_diffusion(DIFFUSIONS[2])
    torch.testing.assert_close(
        smoothed(chains, drawn()).mean, smoothed(make(DIFFUSIONS[2]), drawn()).mean, rtol=0, atol=0
    )
