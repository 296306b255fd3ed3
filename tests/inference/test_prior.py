"""Laws of the prior: gaps compose, and the filter and the smoother see the same Gaussian process."""

import numpy as np
import pytest
from oracles import model as dense
from oracles import natural

from wordtide.errors import SettingsError
from wordtide.model.knots import Knots, prior_at_knots
from wordtide.model.prior import PRIORS, ProductPrior, StationaryPrior, Transition

TIMES = np.array([1800.0, 1801.0, 1801.5, 1805.0, 1806.0, 1813.0])
DIFFUSIONS = [
    prior(TIMES, *numbers) for prior in PRIORS.values() for numbers in ((0.05, 1.3), (1e-4, 1.0), (3.0, 0.4))
]
STATIONARY = StationaryPrior(TIMES, 0.05, 0.3)
LAST = len(TIMES) - 1


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_marginal_variances_are_the_diagonal_of_the_inverse_precision(diffusion):
    np.testing.assert_allclose(diffusion.marginal, np.diag(natural.prior_covariance(diffusion)), rtol=1e-10)


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_gains_and_noises_across_any_gap_are_those_of_the_dense_covariance(diffusion):
    covariance = natural.prior_covariance(diffusion)
    for start in range(len(TIMES)):
        for stop in range(start + 1, len(TIMES)):
            gain, noise = diffusion.slices[[start]].to(diffusion.slices[[stop]])
            expected = covariance[start, stop] / covariance[start, start]
            assert gain == pytest.approx([expected], rel=1e-9)
            assert noise == pytest.approx(
                [covariance[stop, stop] - expected * covariance[start, stop]], rel=1e-7
            )


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_a_gap_is_a_chain_of_single_steps(diffusion):
    gain, noise = 1.0, 0.0
    for t in range(1, 5):
        gain, noise = diffusion.gain[t] * gain, diffusion.gain[t] ** 2 * noise + diffusion.noise[t]
    assert diffusion.slices[[1]].to(diffusion.slices[[5]]) == (
        pytest.approx([gain], rel=1e-12),
        pytest.approx([noise], rel=1e-12),
    )


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_the_filters_transition_over_a_gap_is_a_chain_of_single_transitions(diffusion):
    expected = np.array([0.7]), np.array([0.2])
    for t in range(LAST):
        expected = diffusion.transition(TIMES[[t]], TIMES[[t + 1]]).predict(*expected)
    found = diffusion.transition(TIMES[[0]], TIMES[[LAST]]).predict(np.array([0.7]), np.array([0.2]))
    assert found == (pytest.approx(expected[0], rel=1e-12), pytest.approx(expected[1], rel=1e-12))


def test_a_transition_of_words_acts_on_all_their_coordinates():
    transition = Transition(np.array([0.5, 0.1]), np.array([0.9, 0.8]), np.array([0.01, 0.02]))
    mean, variance = transition.predict(
        np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.1, 0.2], [0.3, 0.4]])
    )
    alone = Transition(0.1, 0.8, 0.02).predict(4.0, 0.4)
    assert (mean[1, 1], variance[1, 1]) == (pytest.approx(alone[0]), pytest.approx(alone[1]))


def forward(diffusion, h, targets):
    """A filter's mean and variance at the last slice, given values `targets` with precision h, (T,) each."""
    mean, variance = 0.0, diffusion.prior_variance
    for t in range(len(diffusion)):
        if t > 0:
            mean, variance = diffusion.transition(TIMES[[t - 1]], TIMES[[t]]).predict(mean, variance)
        precision = 1.0 / variance + h[t]
        mean, variance = (mean / variance + h[t] * targets[t]) / precision, 1.0 / precision
    return mean, variance


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_with_gaussian_data_filter_and_smoother_agree_at_the_last_slice(diffusion):
    rng = np.random.default_rng(0)
    h, targets = rng.gamma(1.0, 5.0, len(TIMES)), rng.standard_normal(len(TIMES))
    h[3] = 0.0  # absent there
    mean, covariance = natural.chain_posterior(diffusion, range(len(TIMES)), h, h * targets)
    assert forward(diffusion, h, targets) == (
        pytest.approx(mean[-1], rel=1e-9),
        pytest.approx(covariance[-1, -1], rel=1e-9),
    )


def test_before_its_first_knot_a_word_has_the_priors_variance():
    knots = Knots(np.array([0, 2, 2, 3]), np.array([1, 4, 3], dtype=np.int32))
    _, _, first = prior_at_knots(knots, DIFFUSIONS[0])
    assert first[[0, 2]] == pytest.approx(DIFFUSIONS[0].marginal[[1, 3]])


def test_the_gap_between_two_knots_is_crossed_at_once():
    knots = Knots(np.array([0, 2, 2, 3]), np.array([1, 4, 3], dtype=np.int32))
    gain, noise, _ = prior_at_knots(knots, DIFFUSIONS[0])
    assert (gain[[1]], noise[[1]]) == DIFFUSIONS[0].slices[[1]].to(DIFFUSIONS[0].slices[[4]])


@pytest.mark.parametrize("prior", PRIORS.values())
def test_one_slice_has_the_prior_variance(prior):
    assert prior(np.array([1800.0]), 0.1, 1.7).marginal == pytest.approx([1.7])


@pytest.mark.parametrize("diffusion", DIFFUSIONS)
def test_the_precision_is_the_inverse_of_the_covariance(diffusion):
    precision = dense.tridiagonal(*diffusion.precision())
    np.testing.assert_allclose(precision @ natural.prior_covariance(diffusion), np.eye(len(TIMES)), atol=1e-8)


def correlation(diffusion, one, other):
    """The prior's correlation of a coordinate at any two times."""
    points = diffusion.at(np.array([one, other]))
    gain, _ = points[:1].to(points[1:])
    return float(gain[0] * np.sqrt(points.marginal[0] / points.marginal[1]))


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(TIMES[[0, 1, 3, 5]], id="without two slices"),
        pytest.param(np.sort(np.concatenate([TIMES, TIMES[:-1] + 0.1])), id="finer slices"),
        pytest.param(np.append(TIMES, [1820.0, 1900.0]), id="later slices"),
        pytest.param(np.concatenate([[1700.0], TIMES]), id="an earlier slice"),
    ],
)
@pytest.mark.parametrize("moments", [(1800.0, 1801.0), (1801.0, 1805.0), (1800.3, 1812.0), (1750.0, 1950.0)])
def test_slicing_leaves_the_stationary_prior_as_it_is(times, moments):
    other = STATIONARY.on(times)
    assert (other.marginal == 0.3).all()
    assert correlation(other, *moments) == pytest.approx(correlation(STATIONARY, *moments), rel=1e-12)


def test_an_empty_slice_changes_the_product_prior_which_is_why_it_is_not_the_default():
    with_it, without = ProductPrior(TIMES, 0.05, 0.3), ProductPrior(TIMES[[0, 5]], 0.05, 0.3)
    assert with_it.marginal[0] < 0.5 * without.marginal[0]


@pytest.mark.parametrize("gap", [1e-6, 1e-3, 1.0])
def test_short_steps_of_the_stationary_prior_have_the_papers_variance(gap):
    step = StationaryPrior(np.array([0.0, gap]), 1e-3, 0.3)
    assert step.noise == pytest.approx([1e-3 * gap], rel=2e-3 * gap + 1e-9)


def test_filter_and_smoother_use_the_same_stationary_prior():
    transition = STATIONARY.transition(TIMES[:-1], TIMES[1:])
    np.testing.assert_allclose(
        (transition.gain, transition.noise), (STATIONARY.gain, STATIONARY.noise), rtol=1e-12
    )
    assert not transition.pull.any()


def test_stationary_gaps_compose():
    steps = STATIONARY.transition(TIMES[:-1], TIMES[1:])
    whole = STATIONARY.transition(TIMES[[0]], TIMES[[LAST]])
    assert whole.gain == pytest.approx([np.prod(steps.gain)], rel=1e-14)


@pytest.mark.parametrize(
    ("times", "constant", "variance", "problem"),
    [
        ([1800.0, 1801.0], 0.0, 1.0, "diffusion constant 0.0"),
        ([1800.0, 1801.0], float("nan"), 1.0, "diffusion constant nan"),
        ([1800.0, 1801.0], 0.1, -1.0, "prior variance -1.0"),
        ([1800.0, 1800.0], 0.1, 1.0, "do not increase"),
        ([1800.0, float("nan")], 0.1, 1.0, "do not increase"),
        ([], 0.1, 1.0, "do not increase"),
    ],
)
@pytest.mark.parametrize("prior", PRIORS.values())
def test_an_invalid_prior_is_refused(prior, times, constant, variance, problem):
    with pytest.raises(SettingsError, match=problem):
        prior(np.array(times), constant, variance)
