"""The start of tied vectors recovers a symmetric matrix of low rank, and a seed determines its bits."""

import numpy as np
import pytest
from oracles.model import negative_matrix
from scipy import sparse

from wordtide.inference.natural import eigen_start as module
from wordtide.inference.natural.eigen_start import eigen_start, signs_by_rule
from wordtide.inference.problem import PairSettings, slice_data


def part_of(scores, weight):
    """A slice whose log odds are about `scores` (L, L), with enough pairs to make shrinkage small."""
    counts = weight * np.exp(scores)
    np.fill_diagonal(counts, 0.0)
    return slice_data(sparse.csr_array(counts), PairSettings(1.0, 1.0, tied=True))


def low_rank(size, signs, seed=0):
    vectors = 0.2 * np.random.default_rng(seed).standard_normal((size, len(signs)))
    return vectors, (vectors * signs) @ vectors.T


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


@pytest.mark.parametrize("size", [80, 600], ids=["all eigenvectors", "the outermost ones"])
@pytest.mark.parametrize("signs", [[1.0, 1.0, -1.0, -1.0], [1.0, 1.0, 1.0], [-1.0, 1.0]])
def test_a_symmetric_matrix_of_low_rank_is_recovered(size, signs):
    signs = np.array(signs)
    _, scores = low_rank(size, signs)
    part = part_of(scores, weight=1e4)
    wanted = np.log(part.positive_matrix().toarray() + np.eye(size)) - np.log(
        negative_matrix(part) + np.eye(size)
    )
    found = eigen_start(part, signs)
    again = (found * signs) @ found.T / module._SCALE**2
    # Frequencies follow from the counts, so that the log odds are those of the matrix only up to row and
    # column effects.
    assert np.corrcoef(off_diagonal(again), off_diagonal(wanted))[0, 1] > 0.98


def test_axes_have_the_signs_of_their_eigenvalues_and_the_largest_come_first():
    signs = signs_by_rule(6)
    _, scores = low_rank(60, np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]))
    part = part_of(scores, 1e4)
    found = eigen_start(part, signs)
    matrix = module._log_odds(part, np.arange(60))
    values = (found * (matrix @ found)).sum(axis=0) / (found * found).sum(axis=0)
    assert np.array_equal(np.sign(values), signs)
    for sign in (1.0, -1.0):
        lengths = np.linalg.norm(found[:, signs == sign], axis=0)
        assert (np.diff(lengths) <= 0).all()


@pytest.mark.parametrize("size", [20, 600])
def test_the_same_seed_gives_the_same_bits(size):
    part, signs = part_of(low_rank(size, np.ones(3))[1], 10.0), signs_by_rule(5)
    assert np.array_equal(eigen_start(part, signs, 3), eigen_start(part, signs, 3))


def test_words_beyond_the_most_frequent_start_at_the_origin(monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORDS", 12)
    rng = np.random.default_rng(2)
    counts = np.outer(frequency := rng.gamma(1.0, size=30), frequency)
    part = slice_data(sparse.csr_array(counts), PairSettings(tied=True))
    frequent = np.argsort(-part.word_probability)[:12]
    assert np.array_equal(np.flatnonzero(eigen_start(part, signs_by_rule(4)).any(axis=1)), np.sort(frequent))


def test_a_slice_with_fewer_words_than_axes_has_its_eigenvectors_and_smaller_noise():
    part = slice_data(sparse.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]])), PairSettings(tied=True))
    signs = signs_by_rule(7)
    found = eigen_start(part, signs)
    assert found.shape == (2, 7)
    positive, negative = 0, int(np.argmin(signs))  # the first axis of each sign
    assert found[0, positive] == pytest.approx(found[1, positive])  # the eigenvectors of [[0, 2], [2, 0]]
    assert found[0, negative] == pytest.approx(-found[1, negative])
    assert np.abs(np.delete(found, [positive, negative], axis=1)).max() < np.abs(found[0, positive])


@pytest.mark.parametrize(("dim", "positive"), [(1, 1), (2, 1), (3, 2), (5, 4), (100, 70)])
def test_seven_tenths_of_the_signs_are_positive_and_come_first(dim, positive):
    assert signs_by_rule(dim).tolist() == [1.0] * positive + [-1.0] * (dim - positive)
