"""Traps that other programs of this kind have fallen into, each with a test that we have not.

An alignment that does not match rows by word; something frozen that moves; random numbers where the data say
nothing; a gradient with the wrong sign. The gradients themselves are checked against derivatives in
tests/inference and tests/model.
"""

import numpy as np
import pytest
from monte_carlo_elbo import expected_log_likelihood
from oracles import model as dense
from oracles import solvers
from oracles.solvers import finish

import wordtide
from wordtide.errors import InputError
from wordtide.evaluation.scores import without_slices
from wordtide.inference.compute import compute
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.paper.filtering import AdamFilter, FilterOptions
from wordtide.inference.paper.smoothing import AdamSmoother, SmootherOptions
from wordtide.model.chain import filter_kl
from wordtide.model.likelihood import GaussianVectors
from wordtide.model.prior import ProductPrior

SIZE, DIM = 12, 3
TIMES = np.array([1800.0, 1801.0, 1804.0, 1805.0])
PRIOR = ProductPrior(TIMES, 0.05, 1.3)
#: Words come and go, so that the places of a word differ from slice to slice.
PRESENT = [
    [0, 1, 2, 4, 5, 7, 9, 10],
    [0, 2, 3, 4, 6, 7, 9, 11],
    [1, 2, 3, 4, 6, 8, 9],
    [0, 1, 2, 3, 5, 8, 9, 11],
]
COUNTS = [
    4 * dense.random_counts(np.random.default_rng(t), SIZE, present) for t, present in enumerate(PRESENT)
]
ORDER = np.random.default_rng(5).permutation(SIZE)
SEQUENTIAL = ["filtering", "warm-start", "independent"]
METHODS = ["smoothing", *SEQUENTIAL]
SETTINGS = {"dim": 3, "prior_variance": 1.0, "threads": 1}
TEXTS = [
    ("1900", "The mill stands by the old river. The river drives the mill. Alone."),
    ("1910", "The mill stands by the new road. Steam drives the mill. Alone."),
    ("1920", "The old road leads to the station. Steam drives the train. Alone."),
    ("1930", "The train leaves the station by the river. Alone."),
]


@pytest.fixture
def computing():
    with compute("float64", 1) as opened:
        yield opened


@pytest.fixture(scope="module")
def counts():
    return wordtide.count(TEXTS, workers=1)


def sequential(computing, method, matrices=COUNTS, names=range(SIZE)):
    """A solver whose words, called by `names`, start from vectors that belong to the name, not the row."""
    problem = dense.problem_from(matrices, TIMES)
    solver = solvers.sequential(problem, PRIOR, DIM, Schedule(8, 0.5, 0.2, 0.0), computing, method=method)
    table = 0.1 * np.random.default_rng(3).standard_normal((2, SIZE, DIM))
    inherited, names = solver._inherited, np.asarray(names)

    def by_name(part):
        words, (prior, start) = part.words, inherited(part)
        fresh = np.flatnonzero((solver.beliefs.last[words] < 0) | (method == "independent"))
        for kind in (0, 1):
            start[kind][fresh] = table[kind][names[words[fresh]]]
        return prior, start

    solver._inherited = by_name
    return solver


def by_word_and_slice(solver, names):
    """Word and context vectors on the grid of slices and names, (2, T * L, d); NaN where a word is absent."""
    grid = np.full((2, len(TIMES), SIZE, DIM), np.nan)
    knots = solver.problem.knots
    grid[:, knots.slices, np.asarray(names)[knots.words]] = solver.mean
    return grid.reshape(2, -1, DIM)


# Alignment that forgets to put rows into the same order


@pytest.mark.parametrize("method", SEQUENTIAL)
def test_the_order_of_the_vocabulary_changes_no_product_of_two_vectors_within_or_between_slices(
    computing, method
):
    plain = sequential(computing, method)
    shuffled = sequential(computing, method, [matrix[np.ix_(ORDER, ORDER)] for matrix in COUNTS], ORDER)
    for solver in (plain, shuffled):
        finish(solver)
    one, other = by_word_and_slice(plain, range(SIZE)), by_word_and_slice(shuffled, ORDER)
    for left, right in ((0, 0), (1, 1), (0, 1)):
        np.testing.assert_allclose(other[left] @ other[right].T, one[left] @ one[right].T, atol=1e-7)


def test_independent_slices_are_turned_by_the_words_that_both_slices_have(computing):
    """Against a twin that goes through the words one by one, by name."""
    solver = sequential(computing, "independent")
    while solver.number < 2:
        solver.advance()
    rng = np.random.default_rng(1)
    means = [rng.standard_normal((len(PRESENT[2]), DIM)) for _ in range(2)]
    here = dict(zip(PRESENT[2], means[0], strict=True))
    knots = solver.problem.knots
    before = {int(knots.words[row]): solver.mean[0][row] for row in knots.by_slice[1]}
    product = sum(np.outer(here[word], before[word]) for word in here if word in before)
    left, _, right = np.linalg.svd(product)
    turned = solver._aligned(means)
    for kind in (0, 1):
        np.testing.assert_allclose(turned[kind], means[kind] @ left @ right, atol=1e-12)


# What is frozen moves


@pytest.mark.parametrize("method", SEQUENTIAL)
def test_a_later_slice_does_not_change_a_bit_of_those_before(counts, method):
    # The prior variance is given, because `auto` depends on all slices.
    whole = wordtide.fit(counts, method=method, **SETTINGS).fitted.posterior
    shorter = wordtide.fit(without_slices(counts, [3]), method=method, **SETTINGS).fitted.posterior
    past = whole.knots.slices < 3
    assert 0 < past.sum() < len(whole.knots)
    for name, array in shorter.arrays().items():
        assert np.array_equal(whole.arrays()[name][past], array), name


def test_a_later_slice_does_not_change_a_bit_of_adam_s_filter_before():
    short = AdamFilter(
        dense.problem_from(COUNTS[:3], TIMES[:3]),
        ProductPrior(TIMES[:3], 0.05, 1.3),
        FilterOptions(DIM, 0, steps_per_slice=20),
    )
    whole = AdamFilter(dense.problem_from(COUNTS, TIMES), PRIOR, FilterOptions(DIM, 0, steps_per_slice=20))
    for solver in (short, whole):
        finish(solver)
    past = whole.problem.knots.slices < 3
    assert np.array_equal(whole.moments()[:, :, past], short.moments())


@pytest.mark.parametrize("method", ["warm-start", "independent"])
def test_a_word_that_is_absent_from_a_slice_does_not_move(counts, method):
    model = wordtide.fit(counts, method=method, **SETTINGS)
    kept, absent, back = (model.mean("river", float(counts.times[t])) for t in (0, 2, 3))
    assert np.array_equal(absent, kept)
    assert not np.array_equal(back, kept)


# Random numbers where the data say nothing


@pytest.mark.parametrize("method", [*METHODS, "static"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_word_without_any_pair_is_at_the_origin_whatever_the_seed(counts, method, seed):
    model = wordtide.fit(counts, method=method, seed=seed, **SETTINGS)
    for side in model.sides:
        means = side.word_means(counts.words.index("alone"), model.times)
        assert np.array_equal(means, np.zeros_like(means))


@pytest.mark.parametrize("seed", [0, 1])
def test_smoothing_gives_a_word_without_any_pair_the_variance_of_the_prior(counts, seed):
    model = wordtide.fit(counts, seed=seed, prior="product", **SETTINGS)
    precision = dense.prior_precision(counts.times, 1e-3, 1.0)
    for side in model.sides:
        variances = side.word_variances(counts.words.index("alone"), model.times)
        np.testing.assert_allclose(
            variances, np.diag(np.linalg.inv(precision))[:, None] * np.ones(3), rtol=1e-6
        )


@pytest.mark.parametrize("seed", [0, 1])
def test_filtering_gives_a_word_without_any_pair_the_prior_carried_on(counts, seed):
    """By Eq. 13 as printed, slice after slice."""
    model = wordtide.fit(counts, method="filtering", seed=seed, prior="product", **SETTINGS)
    expected = [1.0]
    for gap in np.diff(counts.times):
        expected.append(1.0 / (1.0 / (expected[-1] + 1e-3 * gap) + 1.0))
    for side in model.sides:
        variances = side.word_variances(counts.words.index("alone"), model.times)
        np.testing.assert_allclose(variances, np.array(expected)[:, None] * np.ones(3), rtol=1e-6)


@pytest.mark.parametrize("method", ["smoothing", "filtering"])
def test_under_the_stationary_prior_a_word_without_any_pair_has_its_variance_at_all_times(counts, method):
    model = wordtide.fit(counts, method=method, **SETTINGS)
    for side in model.sides:
        np.testing.assert_allclose(
            side.word_variances(counts.words.index("alone"), model.times), 1.0, rtol=1e-6
        )


@pytest.mark.parametrize("method", METHODS)
def test_a_word_without_any_pair_has_no_neighbours_rather_than_random_ones(counts, method):
    found = wordtide.fit(counts, method=method, **SETTINGS).similarity("alone", "mill")
    assert found["similarity"].isna().all()


@pytest.mark.parametrize("method", [*METHODS, "static"])
def test_a_slice_without_pairs_is_refused_by_name_and_not_filled(method):
    hollow = wordtide.count([*TEXTS, ("1940", "Alone. Alone.")], workers=1)
    with pytest.raises(InputError, match="no word pairs, the first is 1940"):
        wordtide.fit(hollow, method=method, **SETTINGS)


@pytest.mark.parametrize("seed", [0, 1])
def test_smoothing_of_slices_that_say_next_to_nothing_gives_the_prior_whatever_the_start(computing, seed):
    nothing = dense.problem_from([1e-9 * matrix for matrix in COUNTS], TIMES)
    start = np.random.default_rng(seed).standard_normal((2, SIZE, DIM))
    schedule = Schedule(60, 0.9, 0.9, 0.0, measure_every=60)
    solver = solvers.smoother(nothing, PRIOR, start, schedule, computing)
    finish(solver)
    for side in solvers.sides_of(solver):
        assert np.abs(side.mean).max() < 1e-6
        np.testing.assert_allclose(
            side.variance, PRIOR.marginal[nothing.knots.slices][:, None] * np.ones(DIM), rtol=1e-6
        )


# A gradient with the wrong sign


def open_fit(computing, method, t):
    """The fit of slice t at random vectors."""
    solver = sequential(computing, method)
    while solver.number < t:
        solver.advance()
    fit = solver._open()
    rng = np.random.default_rng(7)
    for kind in (0, 1):
        fit.mean[kind] = 0.7 * rng.standard_normal(fit.mean[kind].shape)
    return fit


def elbo(fit):
    return fit.elbo([0])


@pytest.mark.parametrize("method", SEQUENTIAL)
@pytest.mark.parametrize("t", [0, 2])
def test_a_natural_step_from_random_vectors_raises_the_elbo_of_the_slice(computing, method, t):
    fit = open_fit(computing, method, t)
    before = elbo(fit)
    fit.step(0.1, [0])
    assert elbo(fit) > before


@pytest.mark.parametrize("method", SEQUENTIAL)
def test_each_coordinate_steps_to_where_the_elbo_rises_by_finite_differences(computing, method):
    fit = open_fit(computing, method, 2)
    at = [mean.copy() for mean in fit.mean]
    slopes = [np.zeros_like(mean) for mean in at]
    for kind in (0, 1):
        for place in np.ndindex(*at[kind].shape):
            sides = []
            for change in (1e-5, -1e-5):
                fit.mean[kind] = at[kind].copy()
                fit.mean[kind][place] += change
                sides.append(elbo(fit))
            slopes[kind][place] = (sides[0] - sides[1]) / 2e-5
        fit.mean[kind] = at[kind].copy()
    fit.step(0.1, [0])
    for kind in (0, 1):
        # A filter's gradient is right up to the error of its approximation to E[sigma], so that the flattest
        # are left out.
        slope = np.abs(slopes[kind])
        steep = slope > (0.0 if method != "filtering" else 0.05 * slope.max())
        assert np.array_equal(np.sign(fit.mean[kind] - at[kind])[steep], np.sign(slopes[kind])[steep])


def adam_filter_elbo(solver):
    """The slice's ELBO with 400 samples of the likelihood, and its standard error."""
    mean, variance = solver.parameters[0], np.exp(2.0 * solver.parameters[1])
    sides = map(GaussianVectors, mean, variance)
    fit, error = expected_log_likelihood(solver._slice, *sides, 400, np.random.default_rng(0))
    return fit - filter_kl(mean, variance, solver._prior_mean, solver._prior_variance), error


def test_adam_s_filter_climbs_from_random_vectors():
    problem = dense.problem_from(COUNTS, TIMES)
    solver = AdamFilter(problem, PRIOR, FilterOptions(DIM, 0, steps_per_slice=100, dtype=np.float64))
    solver.parameters[0] = np.random.default_rng(2).normal(0.0, 0.7, solver.parameters[0].shape)
    before, _ = adam_filter_elbo(solver)
    for _ in range(60):
        solver.advance()
    after, error = adam_filter_elbo(solver)
    assert after > before + 4 * error


def test_adam_s_smoother_climbs_from_random_vectors():
    problem = dense.problem_from(COUNTS, TIMES)
    options = SmootherOptions(DIM, 0, minibatch_words=SIZE, minibatch_steps=200, dtype=np.float64)
    solver = AdamSmoother(problem, PRIOR, options)
    solver.rho[:] = np.random.default_rng(2).normal(0.0, 0.5, solver.rho.shape)

    def measured():
        """Its ELBO from one sample of all trajectories, a number of times with other noise."""
        step, values = solver._step, []
        for solver._step in range(1000, 1020):
            values.append(solver.elbo())
        solver._step = step
        return np.array(values)

    before = measured()
    for _ in range(60):
        solver.advance()
    gain = measured() - before
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))
