"""Dynamic t-SNE against a dense twin written from the formula, and on worlds with known movement."""

import numpy as np
import pytest
from observers import RecordingObserver

from wordtide.errors import SettingsError
from wordtide.figures.dynamic_tsne import (
    SHARED_STEPS,
    affinities,
    descend,
    dynamic_tsne,
    joint_gradient,
    principal_start,
)

SLICES, WORDS, DIM = 3, 40, 6


def vectors_of(seed=0, slices=SLICES, words=WORDS):
    generator = np.random.default_rng(seed)
    first = generator.standard_normal((words, DIM))
    drift = 0.3 * np.cumsum(generator.standard_normal((slices, words, DIM)), axis=0)
    return first + drift


def dense_cost(layout, dense_p, penalty):
    """The joint cost by its formula: all pairs, nothing sparse, nothing approximate."""
    cost = 0.0
    for places, p in zip(layout, dense_p, strict=True):
        kernel = 1.0 / (1.0 + ((places[:, None] - places[None]) ** 2).sum(axis=2))
        np.fill_diagonal(kernel, 0.0)
        q, present = kernel / kernel.sum(), p > 0.0
        cost += (p[present] * np.log(p[present] / q[present])).sum()
    return cost + penalty / (2 * layout.shape[1]) * (np.diff(layout, axis=0) ** 2).sum()


def dense_affinities(vectors, perplexity):
    """Affinities by bisection on each word's width, over all pairs."""
    squared = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)
    conditional = np.zeros_like(squared)
    for i, row in enumerate(squared):
        others = np.delete(row, i)
        low, high = 1e-10, 1e10
        for _ in range(200):
            precision = np.sqrt(low * high)
            weights = np.exp(-precision * (others - others.min()))
            share = weights / weights.sum()
            entropy = -(share * np.log(np.maximum(share, 1e-300))).sum()
            low, high = (precision, high) if entropy > np.log(perplexity) else (low, precision)
        conditional[i, np.arange(len(row)) != i] = share
    return (conditional + conditional.T) / (2 * len(vectors))


def numerical_gradient(cost, layout, width=1e-5):
    gradient = np.zeros_like(layout)
    for place in np.ndindex(*layout.shape):
        shift = np.zeros_like(layout)
        shift[place] = width
        gradient[place] = (cost(layout + shift) - cost(layout - shift)) / (2 * width)
    return gradient


def three_clusters(per_cluster=40, slices=3, seed=3):
    """Vectors (T, N, d) of three tight clusters, and the cluster of each word (N,)."""
    generator = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(3), per_cluster)
    centers = 4.0 * np.eye(3, DIM)
    still = centers[cluster] + 0.5 * generator.standard_normal((len(cluster), DIM))
    return still + 0.02 * generator.standard_normal((slices, *still.shape)), cluster


def spread(layout):
    return np.sqrt(((layout - layout.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean())


@pytest.fixture(scope="module")
def joint():
    """The affinities of each slice of the small vectors."""
    return [affinities(slice_vectors, 10.0) for slice_vectors in vectors_of()]


@pytest.fixture(scope="module")
def start():
    """Where all slices of the small vectors start."""
    return np.repeat(principal_start(vectors_of().mean(axis=0), 0)[None], SLICES, axis=0)


@pytest.fixture(scope="module")
def layout():
    """The layout of the small vectors with seed 4."""
    return dynamic_tsne(vectors_of(), perplexity=10, seed=4)


@pytest.fixture(scope="module")
def moved():
    """The layout of three clusters whose first word goes to the last cluster, and the cluster of each word."""
    vectors, cluster = three_clusters()
    vectors[1:, 0] = vectors[1:, -1] + 0.1
    return dynamic_tsne(vectors, perplexity=20), cluster


def test_affinities_are_those_of_a_dense_bisection():
    vectors = vectors_of()[0]
    # all other words are neighbors at this perplexity, so nothing is cut off
    sparse_p = affinities(vectors, perplexity=(WORDS - 1) / 3)
    np.testing.assert_allclose(
        sparse_p.toarray(), dense_affinities(vectors, (WORDS - 1) / 3), rtol=1e-3, atol=1e-8
    )


@pytest.mark.parametrize("penalty", [0.0, 0.01, 3.0])
def test_the_gradient_is_that_of_the_joint_cost(penalty, joint):
    layout = np.random.default_rng(1).standard_normal((SLICES, WORDS, 2))
    dense_p = [p.toarray() for p in joint]
    expected = numerical_gradient(lambda places: dense_cost(places, dense_p, penalty), layout)
    np.testing.assert_allclose(joint_gradient(layout, joint, penalty), expected, atol=1e-8)


def test_the_gradient_by_interpolation_is_near_the_exact_one(monkeypatch):
    vectors = vectors_of(words=300)
    joint = [affinities(slice_vectors, 20.0) for slice_vectors in vectors]
    layout = 5.0 * np.random.default_rng(1).standard_normal((SLICES, 300, 2))
    exact = joint_gradient(layout, joint, 0.01)
    monkeypatch.setattr("wordtide.figures.dynamic_tsne._MOST_WORDS_EXACT", 0)
    interpolated = joint_gradient(layout, joint, 0.01)
    assert 0.0 < np.linalg.norm(interpolated - exact) < 0.03 * np.linalg.norm(exact)


def test_descent_lowers_the_joint_cost(joint, start):
    dense_p = [p.toarray() for p in joint]
    end = descend(start, joint, [0.01] * 100)
    assert dense_cost(end, dense_p, 0.01) < 0.8 * dense_cost(start, dense_p, 0.01)


def test_descent_ends_where_the_gradient_vanishes(joint, start):
    end = descend(start, joint, [0.01] * 5000)
    assert np.abs(joint_gradient(end, joint, 0.01)).max() < 1e-6


def test_with_a_huge_penalty_all_slices_coincide():
    layout = dynamic_tsne(vectors_of(), perplexity=10, penalty=1e6, decay=1.0)
    assert np.abs(np.diff(layout, axis=0)).max() < 1e-3 * spread(layout)


def test_a_larger_penalty_leaves_less_motion():
    motion = [
        np.linalg.norm(np.diff(dynamic_tsne(vectors_of(), perplexity=10, penalty=penalty, decay=1.0), axis=0))
        for penalty in (0.0, 0.1, 1.0, 10.0)
    ]
    assert motion == sorted(motion, reverse=True)


def test_without_a_penalty_every_slice_is_its_own_tsne(joint, start):
    together = descend(start, joint, [0.0] * 50)
    alone = [descend(start[t : t + 1], [joint[t]], [0.0] * 50)[0] for t in range(SLICES)]
    np.testing.assert_allclose(together, np.stack(alone), rtol=1e-9, atol=1e-9)


def test_slices_with_the_same_vectors_have_the_same_layout():
    layout = dynamic_tsne(np.repeat(vectors_of()[:1], 3, axis=0), perplexity=10)
    np.testing.assert_allclose(layout[1:], layout[:-1], atol=1e-9 * spread(layout))


def test_clusters_stay_clusters():
    vectors, cluster = three_clusters()
    for places in dynamic_tsne(vectors, perplexity=20):
        distances = np.linalg.norm(places[:, None] - places[None], axis=2)
        np.fill_diagonal(distances, np.inf)
        assert (cluster[distances.argmin(axis=1)] == cluster).all()


def test_the_word_that_changes_cluster_is_the_one_that_moves(moved):
    layout, _ = moved
    distances = np.linalg.norm(layout[1] - layout[0], axis=1)
    assert distances[0] > 10.0 * np.median(distances[1:])


def test_the_word_that_changes_cluster_arrives_in_it(moved):
    layout, cluster = moved
    centers = np.stack([layout[1][1:][cluster[1:] == number].mean(axis=0) for number in range(3)])
    assert np.linalg.norm(centers - layout[1][0], axis=1).argmin() == cluster[-1]


def test_the_same_seed_gives_the_same_bits(layout):
    assert (dynamic_tsne(vectors_of(), perplexity=10, seed=4) == layout).all()


def test_another_seed_gives_another_layout(layout):
    assert (dynamic_tsne(vectors_of(), perplexity=10, seed=5) != layout).any()


def test_the_number_of_threads_changes_nothing_that_can_be_seen(monkeypatch):
    monkeypatch.setattr("wordtide.figures.dynamic_tsne._MOST_WORDS_EXACT", 0)
    monkeypatch.setattr("wordtide.figures.dynamic_tsne.SHARED_STEPS", 10)
    one, two = (
        dynamic_tsne(vectors_of(words=200), perplexity=10, steps=3, threads=threads) for threads in (1, 2)
    )
    np.testing.assert_allclose(two, one, atol=1e-6 * spread(one))


def test_words_without_a_vector_are_laid_out_too():
    vectors = vectors_of(words=120)
    vectors[:, :70] = 0.0
    for places in dynamic_tsne(vectors, perplexity=30):
        without, known = places[:70], places[70:]
        apart = np.linalg.norm(known - without.mean(axis=0), axis=1)
        assert np.linalg.norm(without - without.mean(axis=0), axis=1).max() < np.median(apart)


def test_the_observer_counts_up_to_the_total():
    observer, vectors = RecordingObserver(), vectors_of()
    dynamic_tsne(vectors, perplexity=10, steps=5, observer=observer)
    steps = len(vectors) + SHARED_STEPS + 5
    assert observer.stages == [["mapping", steps, steps, 0]]


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((3, 40)),
        np.zeros((0, 40, 5)),
        np.zeros((3, 9, 5)),
        np.zeros((3, 40, 1)),
        np.full((3, 40, 5), np.nan),
    ],
    ids=["two axes", "no slice", "few words", "one dimension", "not finite"],
)
def test_vectors_that_make_no_map_are_refused(vectors):
    with pytest.raises(SettingsError):
        dynamic_tsne(vectors)


@pytest.mark.parametrize(
    "setting",
    [
        {"perplexity": 0.5},
        {"perplexity": np.nan},
        {"penalty": -0.1},
        {"penalty": np.inf},
        {"decay": 0.0},
        {"decay": 1.1},
        {"steps": 0},
        {"seed": -1},
        {"threads": 0},
    ],
    ids=str,
)
def test_settings_that_cannot_be_used_are_refused_with_a_remedy(setting):
    with pytest.raises(SettingsError) as refused:
        dynamic_tsne(vectors_of(), **setting)
    assert refused.value.remedy.startswith("Give ")
