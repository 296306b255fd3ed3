"""The coupled posterior: its precision against differences of the log density, its spreads against the exact
posterior.
"""

import numpy as np
import pytest
from simulation import coupling
from simulation.coupling import couple, couple_problem, precision_of, rotations_of
from simulation.small_worlds import draw_small_world, fit_small_world

import wordtide
from wordtide.errors import SettingsError
from wordtide.inference.settings import FitSettings
from wordtide.questions.vectors import vectors_of

CONVERGED = FitSettings(negative_contexts=0, max_steps=100, tolerance=0.0)
both_contexts = pytest.mark.parametrize("tied", [True, False], ids=["tied", "separate"])


def log_joint(world, vectors, positives):
    """The plain sum over pairs, and the prior by its precision; vectors (n, sides, T, L, d)."""
    diagonal, beside = world.diffusion.precision()
    prior = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    total = -0.5 * np.einsum("nstik,tr,nsrik->n", vectors, prior, vectors)
    contexts = vectors[:, 0] * world.signs if world.tied else vectors[:, 1]
    for t, part in enumerate(world.problem.slices):
        x = vectors[:, 0, t] @ contexts[:, t].transpose(0, 2, 1)
        terms = positives[t] * np.logaddexp(0, -x) + part.negative_matrix() * np.logaddexp(0, x)
        total -= np.triu(terms).sum(axis=(1, 2)) if world.tied else terms.sum(axis=(1, 2))
    return total


def true_vectors(world):
    """The vectors that a model of a world has: (1, T, L, d) if contexts are tied, (2, T, L, d) otherwise."""
    return world.vectors[:1] if world.tied else world.vectors


def signs_of(world):
    return world.signs if world.tied else None


@both_contexts
def test_the_precision_is_minus_the_second_derivative_where_counts_are_as_expected(tied):
    world = draw_small_world(0, 2.0, words=3, slices=2, dim=3, tied=tied)
    mean, step = true_vectors(world), 1e-4
    # With n+ = n- exp(x) the first derivative by x vanishes, and the second derivative of the log joint is
    # the expected one.
    positives = [
        part.negative_matrix() * np.exp(u @ v.T)
        for part, u, v in zip(world.problem.slices, *world.vectors, strict=True)
    ]
    for part, expected in zip(world.problem.slices, positives, strict=True):
        part.values[:] = expected.ravel()
    shifts = step * np.eye(mean.size).reshape(mean.size, *mean.shape)

    def at(change):
        return log_joint(world, mean + change, positives)

    second = np.array(
        [at(shifts + one) - at(shifts - one) - at(one - shifts) + at(-shifts - one) for one in shifts]
    )
    found = precision_of(world.problem, world.diffusion, mean, signs_of(world))
    assert np.allclose(found, -second / (4 * step**2), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("signs", "planes"), [(None, 6), (np.array([1.0, 1.0, 1.0, -1.0]), 3)])
def test_rotations_leave_all_scores_as_they_are(signs, planes):
    vectors = np.random.default_rng(1).standard_normal((2 if signs is None else 1, 2, 5, 4))

    def contexts(some):
        return some[1] if signs is None else some[0] * signs

    rotations = rotations_of(vectors, signs)
    assert rotations.shape == (vectors.size, planes)
    for rotation in rotations.T.reshape(planes, *vectors.shape):
        change = rotation[0] @ contexts(vectors).transpose(0, 2, 1)
        change += vectors[0] @ contexts(rotation).transpose(0, 2, 1)
        assert np.abs(change).max() < 1e-12


def exact_draws(world, coupled, chains=400, steps=1200, seed=0):
    """Metropolis draws from the exact posterior, (n, sides, T, L, d): chains side by side, each from a draw
    of the coupled one.
    """
    rng = np.random.default_rng(seed)
    positives = [part.positive_matrix().toarray() for part in world.problem.slices]
    size = coupled.mean.size
    root = 1.7 / np.sqrt(size) * np.linalg.cholesky(coupled.covariance)
    at = coupled.sample(chains, seed)
    here, kept = log_joint(world, at, positives), []
    for step in range(steps):
        proposed = at + (rng.standard_normal((chains, size)) @ root.T).reshape(at.shape)
        there = log_joint(world, proposed, positives)
        moves = np.log(rng.random(chains)) < there - here
        at[moves], here[moves] = proposed[moves], there[moves]
        if step >= steps // 2 and step % 10 == 0:
            kept.append(at.copy())
    return np.concatenate(kept)


def test_spreads_are_those_of_the_exact_posterior_and_mean_field_ones_are_not():
    world = draw_small_world(
        5, 20.0, words=6, slices=1, dim=1, prior_variance=1.0
    )  # one axis: there are no turns
    model = fit_small_world(world, CONVERGED)
    coupled = couple_problem(model, world.problem)
    sums = exact_draws(world, coupled).sum(axis=1)[:, 0, :, 0]
    lengths = np.abs(coupled.mean.sum(axis=0)[0, :, 0])
    one, other = np.triu_indices(6, 1)
    exact = (sums[:, one] * sums[:, other]).std(axis=0) / (lengths[one] * lengths[other])
    _, stated = coupled.similarity_and_spread(0, one.tolist(), other.tolist())
    state = model.at(0.0)
    s = (state.U_variance + state.V_variance)[:, 0] / lengths**2
    factorised = np.sqrt(s[one] + s[other] + s[one] * s[other])
    # With six words the common stretch is wide, and the exact posterior bends along it; a Gaussian cannot
    # follow that.
    assert np.sqrt(np.mean(np.log(stated / exact) ** 2)) < 0.2
    assert np.sqrt(np.mean(np.log(factorised / exact) ** 2)) > 0.3


@both_contexts
def test_closed_form_spreads_are_those_of_draws(tied):
    world = draw_small_world(2, 1.0, words=8, slices=3, dim=3, tied=tied)
    coupled = couple_problem(fit_small_world(world, CONVERGED), world.problem)
    draws, means = coupled.sample(20_000, seed=1), coupled.mean[None]

    def chosen(vectors, of):
        contexts = of[:, 0] * world.signs if tied else of[:, 1]
        return {"sum": of[:, 0] + contexts, "word": of[:, 0], "context": contexts}[vectors]

    for vectors in ("sum", "word", "context"):
        lengths = np.linalg.norm(chosen(vectors, means)[0, 1], axis=1)
        drawn = chosen(vectors, draws)[:, 1]
        found = (drawn[:, 0] * drawn[:, 5]).sum(axis=1).std() / (lengths[0] * lengths[5])
        assert coupled.similarity_and_spread(1, [0], [5], vectors)[1][0] == pytest.approx(found, rel=0.03)


@both_contexts
def test_draws_have_no_common_rotation(tied):
    world = draw_small_world(2, 1.0, words=8, slices=3, dim=3, tied=tied)
    coupled = couple_problem(fit_small_world(world, CONVERGED), world.problem)
    rotations = rotations_of(coupled.mean, signs_of(world))
    assert np.abs(rotations.T @ coupled.covariance @ rotations).max() < 1e-8
    assert np.linalg.eigvalsh(coupled.covariance).min() > -1e-10


def test_coupling_holds_the_truth_more_often_where_mean_field_is_too_narrow():
    held, held_before = [], []
    one, other = np.triu_indices(16, 1)
    for seed in range(3):
        world = draw_small_world(seed, 10.0, words=16, slices=2, dim=3)
        model = fit_small_world(world, CONVERGED)
        coupled = couple_problem(model, world.problem)
        chosen = vectors_of(model, "sum")
        means, variances = chosen.means_at(1.0), chosen.variances_at(1.0)
        lengths = np.linalg.norm(means, axis=1)
        total = world.vectors.sum(axis=0)[-1]
        truth = (total[one] * total[other]).sum(axis=1) / (lengths[one] * lengths[other])
        mean, spread = coupled.similarity_and_spread(1, one.tolist(), other.tolist())
        held.append(np.mean(np.abs(truth - mean) < 1.645 * spread))
        x, s = means / lengths[:, None], variances / lengths[:, None] ** 2
        before = np.sqrt((x[one] ** 2 * s[other] + x[other] ** 2 * s[one] + s[one] * s[other]).sum(axis=1))
        held_before.append(np.mean(np.abs(truth - mean) < 1.645 * before))
    assert np.mean(held) > np.mean(held_before) + 0.15
    assert np.mean(held) > 0.8


def small_counts():
    texts = [
        (str(year), f"the {kind} mill stands by the river")
        for year in (1900, 1925, 1950)
        for kind in ("old", "new")
    ]
    return wordtide.count(texts * 5)


def test_a_model_of_texts_can_be_coupled_and_asked():
    counts = small_counts()
    model = wordtide.fit(counts, dim=2, threads=1, negative_contexts=0, max_steps=60)
    coupled = couple(model, counts)
    answer, plain = coupled.similarity("old", "new", "mill"), model.similarity("old", "new", "mill")
    assert answer.similarity.to_numpy() == pytest.approx(plain.similarity.to_numpy(), abs=1e-6)
    assert list(answer.other) == list(plain.other)
    assert ((answer.low <= answer.similarity) & (answer.similarity <= answer.high)).all()
    assert len(coupled.similarity("old", "new", times=["first"])) == 1


def test_what_cannot_be_coupled_is_refused_with_a_remedy(monkeypatch):
    counts = small_counts()
    model = wordtide.fit(counts, dim=2, threads=1)
    with pytest.raises(SettingsError, match="no posterior over all times"):
        couple(wordtide.fit(counts, dim=2, threads=1, method="filtering"), counts)
    with pytest.raises(SettingsError, match="other words or slices"):
        couple(model, wordtide.count([("1900", "another text altogether"), ("1901", "another text again")]))
    coupled = couple(model, counts)
    with pytest.raises(SettingsError, match="not the time of a slice"):
        coupled.similarity("old", "new", times=[1910.5])
    with pytest.raises(SettingsError, match="no vectors 'both'"):
        coupled.similarity("old", "new", vectors="both")
    monkeypatch.setattr(coupling, "MOST_NUMBERS", 41)  # of 42
    with pytest.raises(SettingsError, match="for 41 at most"):
        couple(model, counts)
