"""Answers about small worlds of known truth: intervals hold it as stated, and planted words are found.

Vectors are drawn from the prior and symmetric counts from the likelihood; the models, with tied contexts, are
fitted to them. The bounds are wide enough for the narrowness of a mean field (docs/evidence.md), and no
wider.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from oracles import solvers, worlds
from scipy.linalg import block_diag, orthogonal_procrustes
from simulation.small_worlds import draw_slice, model_of_world

from wordtide.embeddings.posterior import Posterior
from wordtide.inference.compute import compute
from wordtide.inference.natural.eigen_start import signs_by_rule
from wordtide.inference.natural.schedule import Schedule
from wordtide.inference.natural.step import sign_blocks
from wordtide.inference.problem import Problem
from wordtide.inference.settings import FitSettings
from wordtide.model.prior import ProductPrior
from wordtide.questions.change import changed
from wordtide.questions.movement import halfway, movement
from wordtide.questions.neighbors import neighbors
from wordtide.questions.similarity import SIDES, similarity
from wordtide.questions.surprise import shift_of, surprises
from wordtide.questions.vectors import lengths_of, vectors_of

SIZE, DIM, SLICES = 90, 12, 12
SIGNS = signs_by_rule(DIM)
PRIOR = ProductPrior(np.arange(float(SLICES)), 0.02, 5.0)
SLOW = ProductPrior(np.arange(float(SLICES)), 0.001, 8.0)
JUMP, JUMPED = 5, (3, 40, 71)  # from slice 5 on these words are where others are
DECOYS = tuple(range(8, 32, 2))  # these stand still, and are ten times as frequent
FREQUENT = 8  # from this slice on
methods = pytest.mark.parametrize("method", ["smoothing", "filtering"])


@dataclass(frozen=True)
class Planted:
    """A world, and the models fitted to it by method."""

    world: worlds.World
    models: dict

    def true(self, model, vectors="sum"):
        """True vectors, (T, L, d), rotated into the axes of a model within the axes of a sign."""
        true = np.concatenate(self.world.u)
        found = np.concatenate([vectors_of(model, "word").means_at(float(time)) for time in model.times])
        rotations = [
            orthogonal_procrustes(true[:, axes], found[:, axes])[0] for axes in sign_blocks(SIGNS, DIM)
        ]
        return self.world.u @ block_diag(*rotations) * {"word": 1.0, "sum": 1.0 + SIGNS}[vectors]


def observed(rng, u, prior, frequency, negatives):
    """The world of vectors and frequencies (T, L); n- of ordered pairs sums to `negatives` per slice."""
    scores, frequency = (u * SIGNS) @ u.transpose(0, 2, 1), frequency / frequency.sum(axis=1, keepdims=True)
    slices = [draw_slice(rng, *one, negatives) for one in zip(scores, frequency, strict=True)]
    names = [f"w{n}" for n in range(SIZE)]
    problem = Problem(names, prior.times, [str(int(t)) for t in prior.times], slices)
    return worlds.World(u, SIGNS, prior, problem)


def fitted(world, method):
    with compute("float32", 1) as machine:
        if method == "smoothing":
            schedule = Schedule(25, 0.7, 0.1, 0.0, measure_every=25)
            solver = worlds.smoother(world, DIM, schedule, machine)
        else:
            schedule = Schedule(8, 0.7, 0.2, 0.0, measure_every=8)
            solver = solvers.sequential(
                world.problem, world.diffusion, DIM, schedule, machine, first_steps=30, tied=True
            )
        solvers.finish(solver)
    knots = world.problem.knots
    if method == "smoothing":
        (side,) = solvers.sides_of(solver)
        posterior = Posterior("smoother", knots, side.mean, precision_u=side.h, signs=SIGNS)
    else:
        (mean,), (variance,) = solver.mean, solver.variance
        posterior = Posterior("filter", knots, mean, variance_u=variance, signs=SIGNS)
    return model_of_world(world.problem, world.diffusion, posterior, FitSettings(method=method))


@pytest.fixture(scope="module")
def drifting():
    """Words that do no more than the prior."""
    rng = np.random.default_rng(11)
    u = worlds.trajectories(rng, PRIOR, SIZE, DIM)
    world = observed(rng, u, PRIOR, np.ones((SLICES, SIZE)), 0.5 * SIZE**2)
    return Planted(world, {"smoothing": fitted(world, "smoothing")})


@pytest.fixture(scope="module")
def shaken():
    """Words that hardly drift, three of which jump while twelve others become frequent.

    Each unordered pair is drawn once, so n- = 3 per ordered pair makes 1.5 L^2 observations in a slice.
    """
    rng = np.random.default_rng(12)
    u = worlds.trajectories(rng, SLOW, SIZE, DIM)
    frequency = np.ones((SLICES, SIZE))
    for word in JUMPED:
        u[JUMP:, word] = u[JUMP:, word + 1]
    for word in DECOYS:
        u[:, word] = u[0, word]
        frequency[FREQUENT:, word] = 10.0
    world = observed(rng, u, SLOW, frequency, 3.0 * SIZE**2)
    return Planted(world, {method: fitted(world, method) for method in ("smoothing", "filtering")})


@pytest.mark.parametrize("vectors", ["sum", "word"])
def test_nine_in_ten_intervals_of_similarity_hold_the_truth(drifting, vectors):
    model = drifting.models["smoothing"]
    true = drifting.true(model, vectors)[6]
    units, held = true / lengths_of(true)[:, None], []
    for word in range(0, SIZE, 6):
        others = [name for name in model.words if name != f"w{word}"]
        answer = similarity(model, f"w{word}", *others, times=[6.0], vectors=vectors).columns
        truth = units[[model.index[name] for name in answer["other"]]] @ units[word]
        held.append((np.array(answer["low"]) <= truth) & (truth <= np.array(answer["high"])))
    assert 0.75 < np.mean(held) < 0.95


def test_a_stated_probability_of_neighbours_is_about_the_share_that_is_true(drifting):
    model = drifting.models["smoothing"]
    true = drifting.true(model)[6]
    unit = true / lengths_of(true)[:, None]
    stated, hits = [], []
    for word in range(0, SIZE, 5):
        answer = neighbors(model, f"w{word}", 6.0, top=10).columns
        order = [n for n in np.argsort(-unit @ unit[word]) if n != word][:10]
        stated.extend(answer["probability"])
        hits.extend(model.index[name] in order for name in answer["word"])
    assert np.mean(stated) == pytest.approx(np.mean(hits), abs=0.15)
    assert np.mean(np.array(stated)[np.array(hits)]) > np.mean(np.array(stated)[~np.array(hits)]) + 0.1


def movement_along_the_means(planted, model, words):
    """How far words truly moved along their means between first and last slice, and that direction (n, d)."""
    true, chosen = planted.true(model), vectors_of(model)
    first, last = (chosen.means_at(float(time), words) for time in (model.times[0], model.times[-1]))
    first_length, last_length = lengths_of(first)[:, None], lengths_of(last)[:, None]
    direction = last / last_length - first / first_length
    direction /= lengths_of(direction)[:, None]
    return np.einsum(
        "nk,nk->n", true[-1, words] / last_length - true[0, words] / first_length, direction
    ), direction


def test_nine_in_ten_intervals_of_change_hold_the_cosine_distance(drifting):
    model = drifting.models["smoothing"]
    answer = changed(model, "first", "last", top=SIZE, by="change", min_occurrences=1).columns
    words = np.array([model.index[name] for name in answer["word"]])
    start, end = (drifting.true(model)[t][words] for t in (0, -1))
    moved = 1.0 - np.einsum("nk,nk->n", start, end) / (lengths_of(start) * lengths_of(end))
    assert len(words) > 0.9 * SIZE
    assert 0.85 < np.mean((answer["low"] <= moved) & (moved <= answer["high"])) < 0.99
    assert np.mean(moved < answer["low"]) < 0.03


def test_nine_in_ten_half_way_intervals_hold_the_crossing(drifting):
    model = drifting.models["smoothing"]
    words = np.arange(SIZE)
    _, direction = movement_along_the_means(drifting, model, words)
    past = np.einsum("tnk,nk->tn", drifting.true(model), direction) > 0
    once = np.flatnonzero((np.count_nonzero(past[1:] != past[:-1], axis=0) == 1) & past[-1])
    dates = halfway(model, vectors_of(model), once, 0.0, SLICES - 1.0)
    crossing = past[:, once].argmax(axis=0)
    held = [
        date.earliest <= slice - 1 and slice <= date.latest
        for date, slice in zip(dates, crossing, strict=True)
    ]
    assert len(once) > 25
    assert 0.8 < np.mean(held) < 1.0
    assert np.mean([date.latest - date.earliest for date in dates]) < 0.8 * (SLICES - 1)


def test_words_that_jumped_are_the_most_changed(shaken):
    answer = changed(shaken.models["smoothing"], top=3, min_occurrences=1)
    assert set(answer.columns["word"]) == {f"w{word}" for word in JUMPED}
    assert min(answer.columns["low"]) > 0.05


def test_the_half_way_interval_of_a_jump_is_short_and_has_the_step_where_it_was(shaken):
    answer = changed(shaken.models["smoothing"], top=3, min_occurrences=1).columns
    for earliest, latest in zip(answer["halfway_from"], answer["halfway_to"], strict=True):
        assert earliest <= JUMP - 1
        assert latest >= JUMP
        assert latest - earliest <= 3


def test_words_that_only_became_frequent_are_not_called_changed(shaken):
    """Noise chose the direction, along which nearly all of these words seem to have moved.

    The more axes noise can choose from, the further it goes: word vectors have all of them, sums the positive
    ones.
    """
    model = shaken.models["smoothing"]
    moved, moved_sums = (
        movement(vectors_of(model, name), np.array(DECOYS), 0.0, SLICES - 1.0) for name in ("word", "sum")
    )
    assert np.mean(np.sqrt(moved.squared) - SIDES * moved.spread > 0) > 0.8
    assert np.mean(moved.significant) < 0.1
    assert np.mean(moved_sums.significant) < 0.1


@methods
def test_words_that_jumped_are_the_first_surprises_of_their_slice(shaken, method):
    answer = surprises(shaken.models[method], float(JUMP), top=3).columns
    assert set(answer["word"]) == {f"w{word}" for word in JUMPED}
    assert min(answer["score"]) > 5.0


def series_of(model, word, column):
    """A column of a word's surprises, slice by slice; the first slice has none before it to compare with."""
    answers = [surprises(model, float(t), top=SIZE).columns for t in range(1, SLICES)]
    return [np.nan, *(answer[column][answer["word"].index(f"w{word}")] for answer in answers)]


@methods
@pytest.mark.parametrize("word", JUMPED)
def test_of_a_word_that_jumped_most_is_learned_at_its_slice(shaken, method, word):
    assert np.nanargmax(series_of(shaken.models[method], word, "information")) == JUMP


@methods
@pytest.mark.parametrize("word", JUMPED)
def test_a_word_that_jumped_did_not_surprise_before(shaken, method, word):
    """Later it goes on surprising for a while: a slow prior follows a jump by steps.

    The messages of a smoother know the future, so the slice just before a jump may surprise too
    (docs/mathematics.md).
    """
    scores = series_of(shaken.models[method], word, "score")
    before = scores[1 : JUMP - 1] if method == "smoothing" else scores[1:JUMP]
    assert max(before) < 0.5 * scores[JUMP]


@methods
def test_scores_of_words_to_which_nothing_happened_are_standard_normal(shaken, method):
    model = shaken.models[method]
    quiet = [f"w{word}" for word in range(SIZE) if word not in (*JUMPED, *DECOYS)]
    scores = []
    for t in range(2, SLICES):
        answer = surprises(model, float(t), top=SIZE).columns
        scores.extend(
            score for word, score in zip(answer["word"], answer["score"], strict=True) if word in quiet
        )
    assert np.mean(scores) == pytest.approx(0.0, abs=0.15)
    assert np.std(scores) == pytest.approx(1.0, abs=0.15)
    assert np.mean(np.array(scores) > 1.645) == pytest.approx(0.05, abs=0.03)


def test_the_mean_field_makes_shifts_shorter_than_an_exact_posterior_would(drifting):
    """Why words are measured against other words: of an exact posterior shifts would be chi-squares."""
    model = drifting.models["smoothing"]
    shifts = np.concatenate([shift_of(model.sides[0].beliefs(np.arange(SIZE), t)) for t in range(2, SLICES)])
    assert shifts.mean() < 0.95 * DIM
